/* Updates of executable graphs: the same nodes and edges with other payloads. */
#include <stdlib.h>

#include "graph.h"

static bool is_line(const struct sc_copy_work *copy)
{
    return copy->height == 1 && copy->depth == 1;
}

static CUgraphExecUpdateResult copy_may_replace(const struct sc_payload *old, const struct sc_payload *from)
{
    const struct sc_copy_work *a = &old->copy.work, *b = &from->copy.work;
    bool same_sides = a->to == b->to && a->from == b->from;
    bool same_types = old->copy.parameters.srcMemoryType == from->copy.parameters.srcMemoryType &&
                      old->copy.parameters.dstMemoryType == from->copy.parameters.dstMemoryType;
    bool same_shape = is_line(a) == is_line(b);
    return same_sides && same_types && same_shape ? CU_GRAPH_EXEC_UPDATE_SUCCESS
                                                  : CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
}

static CUgraphExecUpdateResult set_may_replace(const struct sc_payload *old, const struct sc_payload *from)
{
    const struct sc_set_work *a = &old->set.work, *b = &from->set.work;
    bool same = a->height == b->height && a->to == b->to;
    if (a->height > 1)
        same = same && a->width == b->width && a->pitch == b->pitch && a->element_bytes == b->element_bytes;
    return same ? CU_GRAPH_EXEC_UPDATE_SUCCESS : CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
}

CUgraphExecUpdateResult sc_payload_may_replace(const struct sc_payload *old, const struct sc_payload *from)
{
    if (old->type != from->type) return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
    switch (old->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        return old->context == from->context ? CU_GRAPH_EXEC_UPDATE_SUCCESS
                                             : CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return copy_may_replace(old, from);
    case CU_GRAPH_NODE_TYPE_MEMSET:
        return set_may_replace(old, from);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        return CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED;
    default:
        return CU_GRAPH_EXEC_UPDATE_SUCCESS;
    }
}

static bool fail(CUgraphExecUpdateResultInfo *info, CUgraphExecUpdateResult result, struct sc_node *node,
                 struct sc_node *from)
{
    *info = (CUgraphExecUpdateResultInfo){result, (CUgraphNode)node, (CUgraphNode)from};
    return false;
}

static bool pair(struct sc_node *old, struct sc_node *node)
{
    if (old->partner || node->partner) return old->partner == node && node->partner == old;
    old->partner = node;
    node->partner = old;
    return true;
}

/* Pairs the nodes without dependents in their order, and then dependencies in the order of their edges. */
static bool pair_all(struct sc_graph *graph, struct sc_graph *from, CUgraphExecUpdateResultInfo *info)
{
    const CUgraphExecUpdateResult changed = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    if (graph->count != from->count) return fail(info, changed, NULL, NULL);
    struct sc_node *old = graph->first, *node = from->first;
    for (struct sc_node *any = graph->first; any; any = any->next) any->partner = NULL;
    for (struct sc_node *any = from->first; any; any = any->next) any->partner = NULL;
    for (; node; node = node->next) {
        if (node->out_count) continue;
        while (old && old->out_count) old = old->next;
        if (!old) return fail(info, changed, node, NULL);
        pair(old, node);
        old = old->next;
    }
    while (old && old->out_count) old = old->next;
    if (old) return fail(info, changed, NULL, NULL);
    /* In reverse topological order, so that a node is paired before its dependencies are. */
    for (size_t i = graph->count; i > 0; i--) {
        old = graph->order[i - 1];
        node = old->partner;
        if (!node) return fail(info, changed, NULL, NULL);
        if (old->in_count != node->in_count) return fail(info, changed, node, NULL);
        for (size_t k = 0; k < old->in_count; k++)
            if (!pair(old->in[k].from, node->in[k].from)) return fail(info, changed, node, node->in[k].from);
    }
    return true;
}

static bool may_update(struct sc_graph *graph, struct sc_graph *from, CUgraphExecUpdateResultInfo *info)
{
    if (!pair_all(graph, from, info)) return false;
    for (struct sc_node *old = graph->first; old; old = old->next) {
        struct sc_node *node = old->partner;
        CUgraphExecUpdateResult result = sc_payload_may_replace(&old->payload, &node->payload);
        if (result) return fail(info, result, node, NULL);
        if (node->payload.type == CU_GRAPH_NODE_TYPE_GRAPH &&
            !may_update(old->payload.child, node->payload.child, info))
            return false;
    }
    return true;
}

/* The new payloads of a graph and its children, before they are applied. */
struct changes {
    struct {
        struct sc_node *node;
        struct sc_payload payload;
    } * list;
    size_t count, capacity;
};

static bool collect(struct changes *changes, struct sc_graph *graph)
{
    for (struct sc_node *old = graph->first; old; old = old->next) {
        const struct sc_payload *from = &old->partner->payload;
        if (from->type == CU_GRAPH_NODE_TYPE_GRAPH) {
            if (!collect(changes, old->payload.child)) return false;
            continue;
        }
        if (changes->count == changes->capacity) {
            size_t capacity = changes->capacity ? 2 * changes->capacity : 64;
            void *list = realloc(changes->list, capacity * sizeof *changes->list);
            if (!list) return false;
            changes->list = list;
            changes->capacity = capacity;
        }
        if (sc_payload_clone(from, &changes->list[changes->count].payload)) return false;
        changes->list[changes->count++].node = old;
    }
    return true;
}

CUresult sc_graph_update(struct sc_graph *graph, struct sc_graph *from, CUgraphExecUpdateResultInfo *info)
{
    *info = (CUgraphExecUpdateResultInfo){.result = CU_GRAPH_EXEC_UPDATE_SUCCESS};
    if (!may_update(graph, from, info)) return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    struct changes changes = {0};
    bool ok = collect(&changes, graph);
    for (size_t i = 0; i < changes.count; i++) {
        struct sc_payload old = changes.list[i].node->payload;
        if (ok) {
            changes.list[i].node->payload = changes.list[i].payload;
            changes.list[i].payload = old;
        }
        sc_payload_drop(&changes.list[i].payload);
    }
    free(changes.list);
    if (ok) return CUDA_SUCCESS;
    info->result = CU_GRAPH_EXEC_UPDATE_ERROR;
    return CUDA_ERROR_OUT_OF_MEMORY;
}

static struct sc_exec *find_exec(CUgraphExec handle)
{
    return sc_handle_is(handle, SC_HANDLE_EXEC) ? (struct sc_exec *)handle : NULL;
}

CUresult CUDAAPI cuGraphExecUpdate_v2(CUgraphExec handle, CUgraph graph_handle,
                                      CUgraphExecUpdateResultInfo *info)
{
    if (!info) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter(SC_NEED_INIT);
    if (result) return result;
    struct sc_exec *exec = find_exec(handle);
    struct sc_graph *graph = sc_graph_find(graph_handle);
    if (!exec || !graph || graph->moved) {
        *info = (CUgraphExecUpdateResultInfo){.result = CU_GRAPH_EXEC_UPDATE_ERROR};
        return sc_leave(CUDA_ERROR_INVALID_VALUE);
    }
    return sc_leave(sc_graph_update(exec->graph, graph, info));
}

CUresult CUDAAPI cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode *node,
                                   CUgraphExecUpdateResult *outcome)
{
    if (!node || !outcome) return CUDA_ERROR_INVALID_VALUE;
    CUgraphExecUpdateResultInfo info = {.result = CU_GRAPH_EXEC_UPDATE_ERROR};
    CUresult result = cuGraphExecUpdate_v2(exec, graph, &info);
    *node = info.errorNode;
    *outcome = info.result;
    return result;
}
