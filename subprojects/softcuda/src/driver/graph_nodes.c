/* The API that adds, reads and changes nodes of graphs. */
#include <stdlib.h>
#include <string.h>

#include "graph.h"
#include "work.h"

static bool is_inside(const struct sc_graph *graph, const struct sc_graph *outer)
{
    while (graph && graph != outer) graph = graph->owner ? graph->owner->graph : NULL;
    return graph == outer;
}

/* Drops a payload after a failure; a graph that the program moved into it stays the program's. */
static void drop(struct sc_payload *payload)
{
    if (payload->type == CU_GRAPH_NODE_TYPE_GRAPH && payload->child->moved) {
        payload->child->moved = false;
        payload->child = NULL;
    }
    sc_payload_drop(payload);
}

static CUresult enter_add(const void *out, CUgraph graph)
{
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter(SC_NEED_INIT);
    if (result) return result;
    return sc_graph_find(graph) ? CUDA_SUCCESS : sc_leave(CUDA_ERROR_INVALID_VALUE);
}

/* Adds a payload; `made` is the result of its creation. pre: enter_add succeeded. */
static CUresult add(CUgraphNode *out, CUgraph graph_handle, const CUgraphNode *after,
                    const CUgraphEdgeData *data, size_t count, struct sc_payload *payload, CUresult made)
{
    if (made) return sc_leave(made);
    struct sc_graph *graph = sc_graph_find(graph_handle);
    struct sc_node *node = NULL;
    bool inside = payload->type == CU_GRAPH_NODE_TYPE_GRAPH && is_inside(graph, payload->child);
    CUresult result =
        inside ? CUDA_ERROR_INVALID_VALUE : sc_node_add(graph, after, data, count, payload, &node);
    if (result)
        drop(payload);
    else
        *out = (CUgraphNode)node;
    return sc_leave(result);
}

/* Enters and finds a node of a graph or, if `in_exec`, its copy in the executable graph. */
static CUresult enter_set(CUgraphExec exec_handle, bool in_exec, CUgraphNode handle, struct sc_node **out)
{
    CUresult result = sc_enter(SC_NEED_INIT);
    if (result) return result;
    struct sc_node *node = sc_node_find(handle);
    if (node && in_exec) {
        bool known = sc_handle_is(exec_handle, SC_HANDLE_EXEC);
        node = known ? sc_node_copy_of(((struct sc_exec *)exec_handle)->graph, node->id) : NULL;
    }
    *out = node;
    return node ? CUDA_SUCCESS : sc_leave(CUDA_ERROR_INVALID_VALUE);
}

static bool exec_accepts(const struct sc_payload *old, const struct sc_payload *payload)
{
    if (payload->type == CU_GRAPH_NODE_TYPE_MEMCPY &&
        (old->copy.work.height * old->copy.work.depth != 1 ||
         payload->copy.work.height * payload->copy.work.depth != 1))
        return false;
    return sc_payload_may_replace(old, payload) == CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

/* Replaces a node's payload; `made` is the result of its creation. pre: enter_set succeeded. */
static CUresult set(struct sc_node *node, bool in_exec, struct sc_payload *payload, CUresult made)
{
    if (made) return sc_leave(made);
    struct sc_payload *old = &node->payload;
    if (old->type != payload->type || (in_exec && !exec_accepts(old, payload))) {
        drop(payload);
        return sc_leave(CUDA_ERROR_INVALID_VALUE);
    }
    if (payload->type == CU_GRAPH_NODE_TYPE_KERNEL) {
        made = sc_launch_cooperate(old->kernel.work.cooperative, &payload->kernel.work);
        if (made) {
            drop(payload);
            return sc_leave(made);
        }
        payload->kernel.attributes = old->kernel.attributes;
        payload->kernel.attributes_set = old->kernel.attributes_set;
        old->kernel.attributes = NULL;
    }
    sc_payload_drop(old);
    *old = *payload;
    return sc_leave(CUDA_SUCCESS);
}

static CUresult enter_get(CUgraphNode handle, CUgraphNodeType type, const void *out, struct sc_node **node)
{
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = enter_set(NULL, false, handle, node);
    if (result) return result;
    return (*node)->payload.type == type ? CUDA_SUCCESS : sc_leave(CUDA_ERROR_INVALID_VALUE);
}

/* In the macros below, the expression `made` creates the new payload in `payload`. */
#define ADD(name, parameters, made)                                                                          \
    CUresult CUDAAPI name(CUgraphNode *out, CUgraph graph, const CUgraphNode *after,                         \
                          size_t count parameters)                                                           \
    {                                                                                                        \
        struct sc_payload payload;                                                                           \
        CUresult result = enter_add(out, graph);                                                             \
        return result ? result : add(out, graph, after, NULL, count, &payload, made);                        \
    }
#define SET(name, parameters, made)                                                                          \
    CUresult CUDAAPI name(CUgraphNode handle parameters)                                                     \
    {                                                                                                        \
        struct sc_payload payload;                                                                           \
        struct sc_node *node;                                                                                \
        CUresult result = enter_set(NULL, false, handle, &node);                                             \
        return result ? result : set(node, false, &payload, made);                                           \
    }
#define SET_EXEC(name, parameters, made)                                                                     \
    CUresult CUDAAPI name(CUgraphExec exec, CUgraphNode handle parameters)                                   \
    {                                                                                                        \
        struct sc_payload payload;                                                                           \
        struct sc_node *node;                                                                                \
        CUresult result = enter_set(exec, true, handle, &node);                                              \
        return result ? result : set(node, true, &payload, made);                                            \
    }
#define GET(name, node_type, parameters, work)                                                               \
    CUresult CUDAAPI name(CUgraphNode handle, parameters *out)                                               \
    {                                                                                                        \
        struct sc_node *node;                                                                                \
        CUresult result = enter_get(handle, CU_GRAPH_NODE_TYPE_##node_type, out, &node);                     \
        if (result) return result;                                                                           \
        work;                                                                                                \
        return sc_leave(CUDA_SUCCESS);                                                                       \
    }
#define ALSO(...) , __VA_ARGS__ /* parameters after those that all functions of a kind have */

static CUresult kernel_v1(const CUDA_KERNEL_NODE_PARAMS_v1 *p, struct sc_payload *out)
{
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    CUDA_KERNEL_NODE_PARAMS parameters = {0};
    memcpy(&parameters, p, sizeof *p); /* the newer structure begins with the older one */
    return sc_payload_kernel(&parameters, out);
}

ADD(cuGraphAddKernelNode, ALSO(const CUDA_KERNEL_NODE_PARAMS_v1 *p), kernel_v1(p, &payload))
SET(cuGraphKernelNodeSetParams, ALSO(const CUDA_KERNEL_NODE_PARAMS_v1 *p), kernel_v1(p, &payload))
SET_EXEC(cuGraphExecKernelNodeSetParams, ALSO(const CUDA_KERNEL_NODE_PARAMS_v1 *p), kernel_v1(p, &payload))
ADD(cuGraphAddKernelNode_v2, ALSO(const CUDA_KERNEL_NODE_PARAMS *p), sc_payload_kernel(p, &payload))
SET(cuGraphKernelNodeSetParams_v2, ALSO(const CUDA_KERNEL_NODE_PARAMS *p), sc_payload_kernel(p, &payload))
SET_EXEC(cuGraphExecKernelNodeSetParams_v2, ALSO(const CUDA_KERNEL_NODE_PARAMS *p),
         sc_payload_kernel(p, &payload))
GET(cuGraphKernelNodeGetParams_v2, KERNEL, CUDA_KERNEL_NODE_PARAMS,
    sc_payload_kernel_parameters(&node->payload, out))

CUresult CUDAAPI cuGraphKernelNodeGetParams(CUgraphNode handle, CUDA_KERNEL_NODE_PARAMS_v1 *out)
{
    CUDA_KERNEL_NODE_PARAMS parameters;
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    struct sc_node *node;
    CUresult result = enter_get(handle, CU_GRAPH_NODE_TYPE_KERNEL, out, &node);
    if (result) return result;
    sc_payload_kernel_parameters(&node->payload, &parameters);
    /* The older structure has no CUkernel, so it returns a CUfunction. */
    parameters.func = (CUfunction)node->payload.kernel.work.func;
    memcpy(out, &parameters, sizeof *out);
    return sc_leave(CUDA_SUCCESS);
}

ADD(cuGraphAddMemcpyNode, ALSO(const CUDA_MEMCPY3D *p, CUcontext context),
    sc_payload_copy(p, context, &payload))
SET(cuGraphMemcpyNodeSetParams, ALSO(const CUDA_MEMCPY3D *p),
    sc_payload_copy(p, (CUcontext)node->payload.context, &payload))
SET_EXEC(cuGraphExecMemcpyNodeSetParams, ALSO(const CUDA_MEMCPY3D *p, CUcontext context),
         sc_payload_copy(p, context, &payload))
GET(cuGraphMemcpyNodeGetParams, MEMCPY, CUDA_MEMCPY3D, *out = node->payload.copy.parameters)

ADD(cuGraphAddMemsetNode, ALSO(const CUDA_MEMSET_NODE_PARAMS *p, CUcontext context),
    sc_payload_set(p, context, &payload))
SET(cuGraphMemsetNodeSetParams, ALSO(const CUDA_MEMSET_NODE_PARAMS *p),
    sc_payload_set(p, (CUcontext)node->payload.context, &payload))
SET_EXEC(cuGraphExecMemsetNodeSetParams, ALSO(const CUDA_MEMSET_NODE_PARAMS *p, CUcontext context),
         sc_payload_set(p, context, &payload))
GET(cuGraphMemsetNodeGetParams, MEMSET, CUDA_MEMSET_NODE_PARAMS, *out = node->payload.set.parameters)

ADD(cuGraphAddHostNode, ALSO(const CUDA_HOST_NODE_PARAMS *p), sc_payload_host(p, &payload))
SET(cuGraphHostNodeSetParams, ALSO(const CUDA_HOST_NODE_PARAMS *p), sc_payload_host(p, &payload))
SET_EXEC(cuGraphExecHostNodeSetParams, ALSO(const CUDA_HOST_NODE_PARAMS *p), sc_payload_host(p, &payload))
GET(cuGraphHostNodeGetParams, HOST, CUDA_HOST_NODE_PARAMS, *out = node->payload.host)

#define EVENT_NODE(Name, TYPE)                                                                               \
    ADD(cuGraphAddEvent##Name##Node, ALSO(CUevent event), sc_payload_event(TYPE, event, &payload))           \
    SET(cuGraphEvent##Name##NodeSetEvent, ALSO(CUevent event), sc_payload_event(TYPE, event, &payload))      \
    SET_EXEC(cuGraphExecEvent##Name##NodeSetEvent, ALSO(CUevent event),                                      \
             sc_payload_event(TYPE, event, &payload))
EVENT_NODE(Record, CU_GRAPH_NODE_TYPE_EVENT_RECORD)
EVENT_NODE(Wait, CU_GRAPH_NODE_TYPE_WAIT_EVENT)
GET(cuGraphEventRecordNodeGetEvent, EVENT_RECORD, CUevent, *out = (CUevent)node->payload.event)
GET(cuGraphEventWaitNodeGetEvent, WAIT_EVENT, CUevent, *out = (CUevent)node->payload.event)

ADD(cuGraphAddChildGraphNode, ALSO(CUgraph child), sc_payload_child(child, false, &payload))
GET(cuGraphChildGraphNodeGetGraph, GRAPH, CUgraph, *out = (CUgraph)node->payload.child)

ADD(cuGraphAddEmptyNode, , (payload = (struct sc_payload){.type = CU_GRAPH_NODE_TYPE_EMPTY}, CUDA_SUCCESS))
ADD(cuGraphAddMemAllocNode, ALSO(CUDA_MEM_ALLOC_NODE_PARAMS *p), sc_payload_allocate(p, &payload))
ADD(cuGraphAddMemFreeNode, ALSO(CUdeviceptr address), sc_payload_free(address, &payload))

CUresult CUDAAPI cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode handle, CUgraph child)
{
    struct sc_node *node;
    CUresult result = enter_set(exec, true, handle, &node);
    if (result) return result;
    struct sc_graph *graph = sc_graph_find(child);
    if (!graph || node->payload.type != CU_GRAPH_NODE_TYPE_GRAPH) return sc_leave(CUDA_ERROR_INVALID_VALUE);
    CUgraphExecUpdateResultInfo info;
    result = sc_graph_update(node->payload.child, graph, &info);
    return sc_leave(result == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE ? CUDA_ERROR_INVALID_VALUE : result);
}

/* Handles the structure that describes nodes of all types. */
static CUresult any(CUgraphNodeParams *p, struct sc_payload *out)
{
    switch (p->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
        _Static_assert(sizeof p->kernel == sizeof(CUDA_KERNEL_NODE_PARAMS), "the same fields");
        CUDA_KERNEL_NODE_PARAMS kernel;
        memcpy(&kernel, &p->kernel, sizeof kernel);
        return sc_payload_kernel(&kernel, out);
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return p->memcpy.flags ? CUDA_ERROR_INVALID_VALUE
                               : sc_payload_copy(&p->memcpy.copyParams, p->memcpy.copyCtx, out);
    case CU_GRAPH_NODE_TYPE_MEMSET: {
        CUDA_MEMSET_NODE_PARAMS parameters;
        memcpy(&parameters, &p->memset, sizeof parameters); /* the same fields, followed by a context */
        return sc_payload_set(&parameters, p->memset.ctx, out);
    }
    case CU_GRAPH_NODE_TYPE_HOST:
        return sc_payload_host(&(CUDA_HOST_NODE_PARAMS){p->host.fn, p->host.userData}, out);
    case CU_GRAPH_NODE_TYPE_GRAPH:
        return sc_payload_child(p->graph.graph, p->graph.ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE,
                                out);
    case CU_GRAPH_NODE_TYPE_EMPTY:
        *out = (struct sc_payload){.type = CU_GRAPH_NODE_TYPE_EMPTY};
        return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        return sc_payload_event(p->type, p->eventWait.event, out);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        return sc_payload_event(p->type, p->eventRecord.event, out);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: {
        _Static_assert(sizeof p->alloc == sizeof(CUDA_MEM_ALLOC_NODE_PARAMS), "the same fields");
        CUDA_MEM_ALLOC_NODE_PARAMS parameters;
        memcpy(&parameters, &p->alloc, sizeof parameters);
        CUresult result = sc_payload_allocate(&parameters, out);
        if (!result) p->alloc.dptr = parameters.dptr;
        return result;
    }
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        return sc_payload_free(p->free.dptr, out);
    default:
        return sc_refuse("cuGraphAddNode", "this type of node");
    }
}

CUresult CUDAAPI cuGraphAddNode_v2(CUgraphNode *out, CUgraph graph, const CUgraphNode *after,
                                   const CUgraphEdgeData *data, size_t count, CUgraphNodeParams *p)
{
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    struct sc_payload payload;
    CUresult result = enter_add(out, graph);
    return result ? result : add(out, graph, after, data, count, &payload, any(p, &payload));
}

CUresult CUDAAPI cuGraphAddNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *after, size_t count,
                                CUgraphNodeParams *p)
{
    return cuGraphAddNode_v2(out, graph, after, NULL, count, p);
}

/* Whether the payload of such a node cannot be changed. */
static bool is_fixed(const CUgraphNodeParams *p)
{
    return p->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || p->type == CU_GRAPH_NODE_TYPE_MEM_FREE;
}

CUresult CUDAAPI cuGraphNodeSetParams(CUgraphNode handle, CUgraphNodeParams *p)
{
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    if (is_fixed(p)) return CUDA_ERROR_NOT_SUPPORTED;
    if (p->type == CU_GRAPH_NODE_TYPE_GRAPH)
        return sc_refuse("cuGraphNodeSetParams", "another graph for a child node");
    struct sc_payload payload;
    struct sc_node *node;
    CUresult result = enter_set(NULL, false, handle, &node);
    return result ? result : set(node, false, &payload, any(p, &payload));
}

CUresult CUDAAPI cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode handle, CUgraphNodeParams *p)
{
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    if (is_fixed(p)) return CUDA_ERROR_NOT_SUPPORTED;
    if (p->type == CU_GRAPH_NODE_TYPE_GRAPH)
        return cuGraphExecChildGraphNodeSetParams(exec, handle, p->graph.graph);
    struct sc_payload payload;
    struct sc_node *node;
    CUresult result = enter_set(exec, true, handle, &node);
    return result ? result : set(node, true, &payload, any(p, &payload));
}
