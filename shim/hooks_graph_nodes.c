/* Nodes that the program adds itself: a copy or memset must stay inside an allocation, as on a stream. Other
 * memory of nodes is examined when the graph is instantiated. */
#include "driver.h"
#include "graph_walk.h"
#include "work.h"

bool sl_graph_stays_inside(const struct sl_launch *launch)
{
    struct sl_work work = {0};
    for (uint32_t i = 0; i < launch->span_count; i++)
        if (!sl_work_inside(&work, launch->spans[i].address, launch->spans[i].bytes)) return false;
    return true;
}

static bool copy_stays_inside(const CUDA_MEMCPY3D *copy)
{
    if (!copy) return true; /* the driver refuses it */
    struct sl_launch launch = sl_graph_copy(copy);
    return sl_graph_stays_inside(&launch);
}

static bool set_stays_inside(const CUDA_MEMSET_NODE_PARAMS *set)
{
    if (!set) return true;
    struct sl_launch launch = sl_graph_set(set);
    return sl_graph_stays_inside(&launch);
}

static bool node_stays_inside(const CUgraphNodeParams *parameters)
{
    struct sl_launch launch;
    if (!parameters || !sl_graph_work(parameters, &launch)) return true;
    return launch.kind == SL_LAUNCH_KERNEL || sl_graph_stays_inside(&launch);
}

CUresult sl_hook_cuGraphAddMemcpyNode(struct sl_call call, sl_fn_cuGraphAddMemcpyNode *real,
                                      CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                      size_t count, const CUDA_MEMCPY3D *copy, CUcontext context)
{
    (void)call;
    if (!copy_stays_inside(copy)) return CUDA_ERROR_INVALID_VALUE;
    return real(node, graph, dependencies, count, copy, context);
}

CUresult sl_hook_cuGraphAddMemsetNode(struct sl_call call, sl_fn_cuGraphAddMemsetNode *real,
                                      CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                      size_t count, const CUDA_MEMSET_NODE_PARAMS *set, CUcontext context)
{
    (void)call;
    if (!set_stays_inside(set)) return CUDA_ERROR_INVALID_VALUE;
    return real(node, graph, dependencies, count, set, context);
}

CUresult sl_hook_cuGraphMemcpyNodeSetParams(struct sl_call call, sl_fn_cuGraphMemcpyNodeSetParams *real,
                                            CUgraphNode node, const CUDA_MEMCPY3D *copy)
{
    (void)call;
    return copy_stays_inside(copy) ? real(node, copy) : CUDA_ERROR_INVALID_VALUE;
}

CUresult sl_hook_cuGraphMemsetNodeSetParams(struct sl_call call, sl_fn_cuGraphMemsetNodeSetParams *real,
                                            CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *set)
{
    (void)call;
    return set_stays_inside(set) ? real(node, set) : CUDA_ERROR_INVALID_VALUE;
}

CUresult sl_hook_cuGraphAddNode(struct sl_call call, sl_fn_cuGraphAddNode *real, CUgraphNode *node,
                                CUgraph graph, const CUgraphNode *dependencies, size_t count,
                                CUgraphNodeParams *parameters)
{
    (void)call;
    if (!node_stays_inside(parameters)) return CUDA_ERROR_INVALID_VALUE;
    return real(node, graph, dependencies, count, parameters);
}

CUresult sl_hook_cuGraphAddNode_v2(struct sl_call call, sl_fn_cuGraphAddNode_v2 *real, CUgraphNode *node,
                                   CUgraph graph, const CUgraphNode *dependencies, const void *edges,
                                   size_t count, CUgraphNodeParams *parameters)
{
    (void)call;
    if (!node_stays_inside(parameters)) return CUDA_ERROR_INVALID_VALUE;
    return real(node, graph, dependencies, edges, count, parameters);
}

CUresult sl_hook_cuGraphNodeSetParams(struct sl_call call, sl_fn_cuGraphNodeSetParams *real, CUgraphNode node,
                                      CUgraphNodeParams *parameters)
{
    (void)call;
    return node_stays_inside(parameters) ? real(node, parameters) : CUDA_ERROR_INVALID_VALUE;
}
