/* Graphs: what their nodes touch is noted when they are instantiated and changed, and is what a launch of
 * them touches. */
#include "driver.h"
#include "graph_memory.h"
#include "graph_walk.h"
#include "graphs.h"
#include "hold.h"
#include "work.h"

static CUresult note_made(CUresult result, const CUgraphExec *exec, CUgraph graph)
{
    if (result == CUDA_SUCCESS && *exec && sl_session_on()) sl_graphs_made(*exec, graph);
    return result;
}

CUresult sl_hook_cuGraphInstantiate(struct sl_call call, sl_fn_cuGraphInstantiate *real, CUgraphExec *exec,
                                    CUgraph graph, CUgraphNode *node, char *text, size_t text_bytes)
{
    (void)call;
    return note_made(real(exec, graph, node, text, text_bytes), exec, graph);
}

CUresult sl_hook_cuGraphInstantiate_v2(struct sl_call call, sl_fn_cuGraphInstantiate_v2 *real,
                                       CUgraphExec *exec, CUgraph graph, CUgraphNode *node, char *text,
                                       size_t text_bytes)
{
    (void)call;
    return note_made(real(exec, graph, node, text, text_bytes), exec, graph);
}

CUresult sl_hook_cuGraphInstantiateWithFlags(struct sl_call call, sl_fn_cuGraphInstantiateWithFlags *real,
                                             CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
    (void)call;
    return note_made(real(exec, graph, flags), exec, graph);
}

CUresult sl_hook_cuGraphInstantiateWithParams(struct sl_call call, sl_fn_cuGraphInstantiateWithParams *real,
                                              CUgraphExec *exec, CUgraph graph,
                                              CUDA_GRAPH_INSTANTIATE_PARAMS *parameters)
{
    (void)call;
    return note_made(real(exec, graph, parameters), exec, graph);
}

CUresult sl_hook_cuGraphExecDestroy(struct sl_call call, sl_fn_cuGraphExecDestroy *real, CUgraphExec exec)
{
    (void)call;
    sl_graphs_forget(exec);
    CUresult result = real(exec);
    sl_graph_memory_settle();
    return result;
}

CUresult sl_hook_cuDeviceGraphMemTrim(struct sl_call call, sl_fn_cuDeviceGraphMemTrim *real, CUdevice device)
{
    (void)call;
    CUresult result = real(device);
    sl_graph_memory_settle();
    return result;
}

static CUresult note_updated(CUresult result, CUgraphExec exec, CUgraph graph)
{
    if (result == CUDA_SUCCESS && sl_session_on()) sl_graphs_updated(exec, graph);
    return result;
}

CUresult sl_hook_cuGraphExecUpdate(struct sl_call call, sl_fn_cuGraphExecUpdate *real, CUgraphExec exec,
                                   CUgraph graph, CUgraphNode *node, CUgraphExecUpdateResult *outcome)
{
    (void)call;
    return note_updated(real(exec, graph, node, outcome), exec, graph);
}

CUresult sl_hook_cuGraphExecUpdate_v2(struct sl_call call, sl_fn_cuGraphExecUpdate_v2 *real, CUgraphExec exec,
                                      CUgraph graph, CUgraphExecUpdateResultInfo *info)
{
    (void)call;
    return note_updated(real(exec, graph, info), exec, graph);
}

static CUresult note_child(CUresult result, CUgraphExec exec, CUgraphNode node, CUgraph graph)
{
    if (result == CUDA_SUCCESS && sl_session_on()) sl_graphs_child_updated(exec, node, graph);
    return result;
}

CUresult sl_hook_cuGraphExecChildGraphNodeSetParams(struct sl_call call,
                                                    sl_fn_cuGraphExecChildGraphNodeSetParams *real,
                                                    CUgraphExec exec, CUgraphNode node, CUgraph graph)
{
    (void)call;
    return note_child(real(exec, node, graph), exec, node, graph);
}

/* `launch` is what the node does from now on, if the driver took it. */
static CUresult note(CUresult result, CUgraphExec exec, CUgraphNode node, const struct sl_launch *launch)
{
    if (result == CUDA_SUCCESS && sl_session_on()) sl_graphs_node_set(exec, node, launch);
    return result;
}

CUresult sl_hook_cuGraphExecKernelNodeSetParams(struct sl_call call,
                                                sl_fn_cuGraphExecKernelNodeSetParams *real, CUgraphExec exec,
                                                CUgraphNode node,
                                                const CUDA_KERNEL_NODE_PARAMS_v1 *parameters)
{
    (void)call;
    CUresult result = real(exec, node, parameters);
    if (result != CUDA_SUCCESS) return result;
    CUDA_KERNEL_NODE_PARAMS_v2 same = {.func = parameters->func,
                                       .gridDimX = parameters->gridDimX,
                                       .gridDimY = parameters->gridDimY,
                                       .gridDimZ = parameters->gridDimZ,
                                       .blockDimX = parameters->blockDimX,
                                       .blockDimY = parameters->blockDimY,
                                       .blockDimZ = parameters->blockDimZ,
                                       .sharedMemBytes = parameters->sharedMemBytes,
                                       .kernelParams = parameters->kernelParams,
                                       .extra = parameters->extra};
    struct sl_launch launch = sl_graph_kernel(&same);
    return note(result, exec, node, &launch);
}

CUresult sl_hook_cuGraphExecKernelNodeSetParams_v2(struct sl_call call,
                                                   sl_fn_cuGraphExecKernelNodeSetParams_v2 *real,
                                                   CUgraphExec exec, CUgraphNode node,
                                                   const CUDA_KERNEL_NODE_PARAMS_v2 *parameters)
{
    (void)call;
    CUresult result = real(exec, node, parameters);
    if (result != CUDA_SUCCESS) return result;
    struct sl_launch launch = sl_graph_kernel(parameters);
    return note(result, exec, node, &launch);
}

CUresult sl_hook_cuGraphExecMemcpyNodeSetParams(struct sl_call call,
                                                sl_fn_cuGraphExecMemcpyNodeSetParams *real, CUgraphExec exec,
                                                CUgraphNode node, const CUDA_MEMCPY3D *copy,
                                                CUcontext context)
{
    (void)call;
    if (!copy) return real(exec, node, copy, context);
    struct sl_launch launch = sl_graph_copy(copy);
    if (!sl_graph_stays_inside(&launch)) return CUDA_ERROR_INVALID_VALUE;
    return note(real(exec, node, copy, context), exec, node, &launch);
}

CUresult sl_hook_cuGraphExecMemsetNodeSetParams(struct sl_call call,
                                                sl_fn_cuGraphExecMemsetNodeSetParams *real, CUgraphExec exec,
                                                CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *set,
                                                CUcontext context)
{
    (void)call;
    if (!set) return real(exec, node, set, context);
    struct sl_launch launch = sl_graph_set(set);
    if (!sl_graph_stays_inside(&launch)) return CUDA_ERROR_INVALID_VALUE;
    return note(real(exec, node, set, context), exec, node, &launch);
}

CUresult sl_hook_cuGraphExecNodeSetParams(struct sl_call call, sl_fn_cuGraphExecNodeSetParams *real,
                                          CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *parameters)
{
    (void)call;
    if (!parameters) return real(exec, node, parameters);
    struct sl_launch launch;
    bool works = sl_graph_work(parameters, &launch);
    if (works && launch.kind != SL_LAUNCH_KERNEL && !sl_graph_stays_inside(&launch))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = real(exec, node, parameters);
    if (works) return note(result, exec, node, &launch);
    if (parameters->type == CU_GRAPH_NODE_TYPE_GRAPH)
        return note_child(result, exec, node, parameters->graph.graph);
    return result;
}

CUresult sl_hook_cuGraphNodeSetEnabled(struct sl_call call, sl_fn_cuGraphNodeSetEnabled *real,
                                       CUgraphExec exec, CUgraphNode node, unsigned enabled)
{
    (void)call;
    CUresult result = real(exec, node, enabled);
    if (result == CUDA_SUCCESS && sl_session_on()) sl_graphs_node_enabled(exec, node, enabled != 0);
    return result;
}

CUresult sl_hook_cuGraphLaunch(struct sl_call call, sl_fn_cuGraphLaunch *real, CUgraphExec exec,
                               CUstream stream)
{
    struct sl_work work;
    work.seen = sl_session_on();
    if (work.seen) {
        work.launch = (struct sl_launch){.kind = SL_LAUNCH_GRAPH,
                                         .stream = sl_work_stream(call, stream),
                                         .footprint = sl_graphs_footprint(exec)};
        sl_graphs_launched(exec);
        sl_runtime_launch_begin(&work.launch);
    }
    bool held = work.seen && sl_graphs_wait(exec) && sl_hold(call, stream);
    return sl_work_end(&work, sl_let_go_behind(call, stream, held, real(exec, stream)));
}
