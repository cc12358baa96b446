/* Graphs as data structures: their lifetime, nodes and edges. */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

static uint64_t next_id = 1; /* of graphs and nodes */

struct sc_graph *sc_graph_find(CUgraph handle)
{
    return sc_handle_is(handle, SC_HANDLE_GRAPH) ? (struct sc_graph *)handle : NULL;
}

struct sc_node *sc_node_find(CUgraphNode handle)
{
    return sc_handle_is(handle, SC_HANDLE_NODE) ? (struct sc_node *)handle : NULL;
}

struct sc_graph *sc_graph_new(void)
{
    struct sc_graph *graph = calloc(1, sizeof *graph);
    if (!graph || !sc_handle_add(graph, SC_HANDLE_GRAPH)) {
        free(graph);
        return NULL;
    }
    graph->id = next_id++;
    return graph;
}

static void node_free(struct sc_node *node)
{
    sc_handle_remove(node);
    sc_payload_drop(&node->payload);
    free(node->in);
    free(node->out);
    free(node);
}

void sc_graph_free(struct sc_graph *graph)
{
    if (!graph) return;
    for (struct sc_node *node = graph->first, *next; node; node = next) {
        next = node->next;
        node_free(node);
    }
    free(graph->order);
    sc_user_set_unref(graph->users);
    sc_handle_remove(graph);
    free(graph);
}

static void unlink_node(struct sc_node *node)
{
    struct sc_graph *graph = node->graph;
    while (node->in_count) sc_edge_remove(node->in[node->in_count - 1].from, node);
    while (node->out_count) sc_edge_remove(node, node->out[node->out_count - 1]);
    *(node->previous ? &node->previous->next : &graph->first) = node->next;
    *(node->next ? &node->next->previous : &graph->last) = node->previous;
    graph->count--;
}

/* A new node without edges. Only the payload's type is set; the payload follows when nothing can fail any
 * more. */
static struct sc_node *node_new(struct sc_graph *graph, CUgraphNodeType type)
{
    struct sc_node *node = calloc(1, sizeof *node);
    if (!node || !sc_handle_add(node, SC_HANDLE_NODE)) {
        free(node);
        return NULL;
    }
    node->graph = graph;
    node->id = next_id++;
    node->payload.type = type;
    node->previous = graph->last;
    *(graph->last ? &graph->last->next : &graph->first) = node;
    graph->last = node;
    graph->count++;
    return node;
}

static void give_payload(struct sc_node *node, struct sc_payload *payload)
{
    node->payload = *payload;
    if (payload->type == CU_GRAPH_NODE_TYPE_GRAPH) payload->child->owner = node;
}

CUresult sc_node_add(struct sc_graph *graph, const CUgraphNode *after, const CUgraphEdgeData *data,
                     size_t count, struct sc_payload *payload, struct sc_node **out)
{
    if (count && !after) return CUDA_ERROR_INVALID_VALUE;
    struct sc_node *node = node_new(graph, payload->type);
    CUresult result = node ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < count && !result; i++) {
        struct sc_node *from = sc_node_find(after[i]);
        result = from ? sc_edge_add(from, node, data ? &data[i] : NULL) : CUDA_ERROR_INVALID_VALUE;
    }
    if (!result) result = sc_graph_memory_join(graph, payload);
    if (!result) {
        give_payload(node, payload);
        *out = node;
    } else if (node) {
        unlink_node(node);
        node->payload = (struct sc_payload){.type = CU_GRAPH_NODE_TYPE_EMPTY};
        node_free(node);
    }
    return result;
}

static CUresult clone_into(const struct sc_graph *from, struct sc_graph *graph)
{
    for (struct sc_node *node = from->first; node; node = node->next) {
        struct sc_payload payload;
        CUresult result = sc_payload_clone(&node->payload, &payload);
        if (result) return result;
        struct sc_node *copy = node_new(graph, payload.type);
        if (!copy) {
            sc_payload_drop(&payload);
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
        give_payload(copy, &payload);
        copy->origin = node->id;
        copy->disabled = node->disabled;
        node->partner = copy;
    }
    CUresult result = CUDA_SUCCESS;
    for (struct sc_node *node = from->first; node && !result; node = node->next)
        for (size_t i = 0; i < node->in_count && !result; i++)
            result = sc_edge_add(node->in[i].from->partner, node->partner, &node->in[i].data);
    return result;
}

CUresult sc_graph_clone(const struct sc_graph *from, struct sc_graph **out)
{
    struct sc_graph *graph = sc_graph_new();
    if (!graph) return CUDA_ERROR_OUT_OF_MEMORY;
    graph->users = sc_user_set_ref(from->users);
    graph->has_memory = from->has_memory;
    CUresult result = clone_into(from, graph);
    if (result)
        sc_graph_free(graph);
    else
        *out = graph;
    return result;
}

struct sc_node *sc_node_copy_of(const struct sc_graph *graph, uint64_t id)
{
    for (struct sc_node *node = graph->first; node; node = node->next) {
        if (node->origin == id) return node;
        if (node->payload.type != CU_GRAPH_NODE_TYPE_GRAPH) continue;
        struct sc_node *inside = sc_node_copy_of(node->payload.child, id);
        if (inside) return inside;
    }
    return NULL;
}

/* Topological sort (Kahn 1962). `mark` counts the dependencies that are not in the order yet. */
CUresult sc_graph_sort(struct sc_graph *graph, struct sc_node **cycle)
{
    struct sc_node **order = malloc((graph->count + 1) * sizeof *order);
    if (!order) return CUDA_ERROR_OUT_OF_MEMORY;
    size_t done = 0, known = 0;
    for (struct sc_node *node = graph->first; node; node = node->next) {
        node->mark = node->in_count;
        if (!node->mark) order[known++] = node;
    }
    for (; done < known; done++)
        for (size_t i = 0; i < order[done]->out_count; i++)
            if (!--order[done]->out[i]->mark) order[known++] = order[done]->out[i];
    CUresult result = CUDA_SUCCESS;
    for (struct sc_node *node = graph->first; node && !result; node = node->next) {
        if (known < graph->count && node->mark) {
            *cycle = node;
            result = CUDA_ERROR_INVALID_VALUE;
        } else if (node->payload.type == CU_GRAPH_NODE_TYPE_GRAPH) {
            result = sc_graph_sort(node->payload.child, cycle);
        }
    }
    if (result) {
        free(order);
        return result;
    }
    free(graph->order);
    graph->order = order;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphCreate(CUgraph *out, unsigned int flags)
{
    if (!out || flags) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter(SC_NEED_INIT);
    if (result) return result;
    struct sc_graph *graph = sc_graph_new();
    if (graph) *out = (CUgraph)graph;
    return sc_leave(graph ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

CUresult CUDAAPI cuGraphDestroy(CUgraph handle)
{
    CUresult result = sc_enter(SC_NEED_INIT);
    if (result) return result;
    struct sc_graph *graph = sc_graph_find(handle);
    if (!graph || graph->owner || graph->captures) return sc_leave(CUDA_ERROR_INVALID_VALUE);
    sc_graph_free(graph);
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphClone(CUgraph *out, CUgraph handle)
{
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter(SC_NEED_INIT);
    if (result) return result;
    struct sc_graph *graph = sc_graph_find(handle), *copy;
    if (!graph) return sc_leave(CUDA_ERROR_INVALID_VALUE);
    if (graph->has_memory) return sc_leave(CUDA_ERROR_NOT_SUPPORTED);
    result = sc_graph_clone(graph, &copy);
    if (!result) *out = (CUgraph)copy;
    return sc_leave(result);
}

CUresult CUDAAPI cuGraphNodeFindInClone(CUgraphNode *out, CUgraphNode original, CUgraph clone)
{
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter(SC_NEED_INIT);
    if (result) return result;
    struct sc_node *node = sc_node_find(original), *found = NULL;
    struct sc_graph *graph = sc_graph_find(clone);
    if (node && graph) found = sc_node_copy_of(graph, node->id);
    if (found) *out = (CUgraphNode)found;
    return sc_leave(found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult CUDAAPI cuGraphDestroyNode(CUgraphNode handle)
{
    CUresult result = sc_enter(SC_NEED_INIT);
    if (result) return result;
    struct sc_node *node = sc_node_find(handle);
    if (!node || node->graph->captures) return sc_leave(CUDA_ERROR_INVALID_VALUE);
    if (node->graph->has_memory) return sc_leave(CUDA_ERROR_NOT_SUPPORTED);
    unlink_node(node);
    node_free(node);
    return sc_leave(CUDA_SUCCESS);
}
