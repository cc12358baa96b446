/* The edges of graphs. */
#include <stdlib.h>
#include <string.h>

#include "graph.h"

bool sc_edge_is_plain(const CUgraphEdgeData *data)
{
    static const CUgraphEdgeData plain;
    return !data || !memcmp(data, &plain, sizeof plain);
}

/* A programmatic edge guarantees less than a full one, so it may be treated as a full one. */
static bool edge_is_valid(const struct sc_node *from, CUgraphNodeType to, const CUgraphEdgeData *data)
{
    static const unsigned char zero[sizeof data->reserved];
    if (sc_edge_is_plain(data)) return true;
    if (data->to_port || memcmp(data->reserved, zero, sizeof zero)) return false;
    if (data->from_port > CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER) return false;
    if (from->payload.type != CU_GRAPH_NODE_TYPE_KERNEL) return false;
    if (data->type == CU_GRAPH_DEPENDENCY_TYPE_DEFAULT) return data->from_port == 0;
    return data->type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC && data->from_port &&
           to == CU_GRAPH_NODE_TYPE_KERNEL;
}

static bool has_edge(const struct sc_node *from, const struct sc_node *to)
{
    for (size_t i = 0; i < to->in_count; i++)
        if (to->in[i].from == from) return true;
    return false;
}

CUresult sc_edge_add(struct sc_node *from, struct sc_node *to, const CUgraphEdgeData *data)
{
    if (from == to || from->graph != to->graph || has_edge(from, to) ||
        !edge_is_valid(from, to->payload.type, data))
        return CUDA_ERROR_INVALID_VALUE;
    struct sc_edge *in = realloc(to->in, (to->in_count + 1) * sizeof *in);
    if (in) to->in = in;
    struct sc_node **out = realloc(from->out, (from->out_count + 1) * sizeof *out);
    if (out) from->out = out;
    if (!in || !out) return CUDA_ERROR_OUT_OF_MEMORY;
    in[to->in_count++] = (struct sc_edge){.from = from};
    if (data) in[to->in_count - 1].data = *data;
    out[from->out_count++] = to;
    return CUDA_SUCCESS;
}

void sc_edge_remove(struct sc_node *from, struct sc_node *to)
{
    for (size_t i = 0; i < to->in_count; i++) {
        if (to->in[i].from != from) continue;
        memmove(to->in + i, to->in + i + 1, (--to->in_count - i) * sizeof *to->in);
        break;
    }
    for (size_t i = 0; i < from->out_count; i++) {
        if (from->out[i] != to) continue;
        memmove(from->out + i, from->out + i + 1, (--from->out_count - i) * sizeof(struct sc_node *));
        break;
    }
}

/* Looks up the two nodes of an edge; false unless both belong to the graph. */
static bool edge_ends(const struct sc_graph *graph, CUgraphNode from_handle, CUgraphNode to_handle,
                      struct sc_node **from, struct sc_node **to)
{
    *from = sc_node_find(from_handle);
    *to = sc_node_find(to_handle);
    return *from && *to && (*from)->graph == graph && (*to)->graph == graph;
}

CUresult CUDAAPI cuGraphAddDependencies_v2(CUgraph handle, const CUgraphNode *from, const CUgraphNode *to,
                                           const CUgraphEdgeData *data, size_t count)
{
    CUresult result = sc_enter(SC_NEED_INIT);
    if (result) return result;
    struct sc_graph *graph = sc_graph_find(handle);
    if (!graph || (count && (!from || !to))) return sc_leave(CUDA_ERROR_INVALID_VALUE);
    struct sc_node *a, *b;
    size_t done = 0;
    for (; done < count && !result; done++)
        result = edge_ends(graph, from[done], to[done], &a, &b) ? sc_edge_add(a, b, data ? &data[done] : NULL)
                                                                : CUDA_ERROR_INVALID_VALUE;
    /* On an error, removes the edges that were added: all or none. */
    for (size_t i = 0; result && i + 1 < done; i++)
        if (edge_ends(graph, from[i], to[i], &a, &b)) sc_edge_remove(a, b);
    return sc_leave(result);
}

CUresult CUDAAPI cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                        size_t count)
{
    return cuGraphAddDependencies_v2(graph, from, to, NULL, count);
}

static bool edge_matches(const struct sc_node *from, const struct sc_node *to, const CUgraphEdgeData *data)
{
    static const CUgraphEdgeData plain;
    for (size_t i = 0; i < to->in_count; i++)
        if (to->in[i].from == from) return !memcmp(&to->in[i].data, data ? data : &plain, sizeof plain);
    return false;
}

CUresult CUDAAPI cuGraphRemoveDependencies_v2(CUgraph handle, const CUgraphNode *from, const CUgraphNode *to,
                                              const CUgraphEdgeData *data, size_t count)
{
    CUresult result = sc_enter(SC_NEED_INIT);
    if (result) return result;
    struct sc_graph *graph = sc_graph_find(handle);
    if (!graph || (count && (!from || !to))) return sc_leave(CUDA_ERROR_INVALID_VALUE);
    if (count && graph->has_memory) return sc_leave(CUDA_ERROR_NOT_SUPPORTED);
    struct sc_node *a, *b;
    for (size_t i = 0; i < count; i++)
        if (!edge_ends(graph, from[i], to[i], &a, &b) || !edge_matches(a, b, data ? &data[i] : NULL))
            return sc_leave(CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0; i < count; i++)
        if (edge_ends(graph, from[i], to[i], &a, &b)) sc_edge_remove(a, b);
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                           size_t count)
{
    return cuGraphRemoveDependencies_v2(graph, from, to, NULL, count);
}
