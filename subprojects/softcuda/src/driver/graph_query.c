/* Queries of a graph's structure: lists of nodes and edges. */
#include "graph.h"

/* An output list of the API, with room from the caller. It receives as many entries as fit, NULL in the rest,
 * and the count. */
struct list {
    CUgraphNode *first, *second; /* NULL: only the count is requested; `second` only for edges */
    CUgraphEdgeData *data;       /* NULL: edges must be plain */
    size_t room, count;
    bool lossy;
};

static void put(struct list *list, struct sc_node *first, struct sc_node *second, const CUgraphEdgeData *data)
{
    size_t at = list->count++;
    if (!list->first || at >= list->room) return;
    list->first[at] = (CUgraphNode)first;
    if (list->second) list->second[at] = (CUgraphNode)second;
    if (list->data)
        list->data[at] = data ? *data : (CUgraphEdgeData){0};
    else if (!sc_edge_is_plain(data))
        list->lossy = true;
}

static CUresult finish(struct list *list, size_t *count)
{
    if (list->lossy) return CUDA_ERROR_LOSSY_QUERY;
    if (!list->first) {
        *count = list->count;
        return CUDA_SUCCESS;
    }
    for (size_t i = list->count; i < list->room; i++) {
        list->first[i] = NULL;
        if (list->second) list->second[i] = NULL;
    }
    *count = list->count < list->room ? list->count : list->room;
    return CUDA_SUCCESS;
}

static CUresult enter_graph(CUgraph handle, const size_t *count, struct sc_graph **out)
{
    if (!count) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter(SC_NEED_INIT);
    if (result) return result;
    *out = sc_graph_find(handle);
    return *out ? CUDA_SUCCESS : sc_leave(CUDA_ERROR_INVALID_VALUE);
}

static CUresult enter_node(CUgraphNode handle, const void *wanted, struct sc_node **out)
{
    if (!wanted) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter(SC_NEED_INIT);
    if (result) return result;
    *out = sc_node_find(handle);
    return *out ? CUDA_SUCCESS : sc_leave(CUDA_ERROR_INVALID_VALUE);
}

CUresult CUDAAPI cuGraphGetNodes(CUgraph handle, CUgraphNode *nodes, size_t *count)
{
    struct sc_graph *graph;
    CUresult result = enter_graph(handle, count, &graph);
    if (result) return result;
    struct list list = {.first = nodes, .room = *count};
    for (struct sc_node *node = graph->first; node; node = node->next) put(&list, node, NULL, NULL);
    return sc_leave(finish(&list, count));
}

CUresult CUDAAPI cuGraphGetRootNodes(CUgraph handle, CUgraphNode *nodes, size_t *count)
{
    struct sc_graph *graph;
    CUresult result = enter_graph(handle, count, &graph);
    if (result) return result;
    struct list list = {.first = nodes, .room = *count};
    for (struct sc_node *node = graph->first; node; node = node->next)
        if (!node->in_count) put(&list, node, NULL, NULL);
    return sc_leave(finish(&list, count));
}

CUresult CUDAAPI cuGraphGetEdges_v2(CUgraph handle, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *data,
                                    size_t *count)
{
    if (!from != !to || (data && !from)) return CUDA_ERROR_INVALID_VALUE;
    struct sc_graph *graph;
    CUresult result = enter_graph(handle, count, &graph);
    if (result) return result;
    struct list list = {from, to, data, *count, 0, false};
    for (struct sc_node *node = graph->first; node; node = node->next)
        for (size_t i = 0; i < node->in_count; i++) put(&list, node->in[i].from, node, &node->in[i].data);
    return sc_leave(finish(&list, count));
}

CUresult CUDAAPI cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *count)
{
    return cuGraphGetEdges_v2(graph, from, to, NULL, count);
}

CUresult CUDAAPI cuGraphNodeGetDependencies_v2(CUgraphNode handle, CUgraphNode *nodes, CUgraphEdgeData *data,
                                               size_t *count)
{
    if (data && !nodes) return CUDA_ERROR_INVALID_VALUE;
    struct sc_node *node;
    CUresult result = enter_node(handle, count, &node);
    if (result) return result;
    struct list list = {nodes, NULL, data, *count, 0, false};
    for (size_t i = 0; i < node->in_count; i++) put(&list, node->in[i].from, NULL, &node->in[i].data);
    return sc_leave(finish(&list, count));
}

CUresult CUDAAPI cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *nodes, size_t *count)
{
    return cuGraphNodeGetDependencies_v2(node, nodes, NULL, count);
}

static const CUgraphEdgeData *edge_data(const struct sc_node *from, const struct sc_node *to)
{
    for (size_t i = 0; i < to->in_count; i++)
        if (to->in[i].from == from) return &to->in[i].data;
    return NULL;
}

CUresult CUDAAPI cuGraphNodeGetDependentNodes_v2(CUgraphNode handle, CUgraphNode *nodes,
                                                 CUgraphEdgeData *data, size_t *count)
{
    if (data && !nodes) return CUDA_ERROR_INVALID_VALUE;
    struct sc_node *node;
    CUresult result = enter_node(handle, count, &node);
    if (result) return result;
    struct list list = {nodes, NULL, data, *count, 0, false};
    for (size_t i = 0; i < node->out_count; i++)
        put(&list, node->out[i], NULL, edge_data(node, node->out[i]));
    return sc_leave(finish(&list, count));
}

CUresult CUDAAPI cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *nodes, size_t *count)
{
    return cuGraphNodeGetDependentNodes_v2(node, nodes, NULL, count);
}

CUresult CUDAAPI cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType *type)
{
    struct sc_node *node;
    CUresult result = enter_node(handle, type, &node);
    if (result) return result;
    *type = node->payload.type;
    return sc_leave(CUDA_SUCCESS);
}
