/* Graphs: the memory of their nodes is recorded when they are instantiated or changed. A launch touches this
 * memory. */
#include "captured_memory.h"
#include "device/cuda_call.h"
#include "driver.h"
#include "driver_status.h"
#include "graph_memory.h"
#include "graph_walk.h"
#include "graphs.h"
#include "hold.h"
#include "work.h"

static CUresult note_made(CUresult result, CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
    if (result != CUDA_SUCCESS || !*exec || !sl_session_on()) return result;
    if (sl_graphs_made(*exec, graph, flags)) return result;
    sl_driver_functions()->graph_exec_destroy(*exec);
    *exec = NULL;
    return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult sl_hook_cuGraphInstantiate(struct sl_call call, sl_fn_cuGraphInstantiate *real, CUgraphExec *exec,
                                    CUgraph graph, CUgraphNode *node, char *text, size_t text_bytes)
{
    (void)call;
    return note_made(real(exec, graph, node, text, text_bytes), exec, graph, 0);
}

CUresult sl_hook_cuGraphInstantiate_v2(struct sl_call call, sl_fn_cuGraphInstantiate_v2 *real,
                                       CUgraphExec *exec, CUgraph graph, CUgraphNode *node, char *text,
                                       size_t text_bytes)
{
    (void)call;
    return note_made(real(exec, graph, node, text, text_bytes), exec, graph, 0);
}

CUresult sl_hook_cuGraphInstantiateWithFlags(struct sl_call call, sl_fn_cuGraphInstantiateWithFlags *real,
                                             CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
    (void)call;
    return note_made(real(exec, graph, flags), exec, graph, flags);
}

CUresult sl_hook_cuGraphInstantiateWithParams(struct sl_call call, sl_fn_cuGraphInstantiateWithParams *real,
                                              CUgraphExec *exec, CUgraph graph,
                                              CUDA_GRAPH_INSTANTIATE_PARAMS *parameters)
{
    (void)call;
    unsigned long long flags = parameters ? parameters->flags : 0;
    return note_made(real(exec, graph, parameters), exec, graph, flags);
}

CUresult sl_hook_cuGraphDestroy(struct sl_call call, sl_fn_cuGraphDestroy *real, CUgraph graph)
{
    (void)call;
    sl_captured_graph_destroyed(graph);
    return real(graph);
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

/* `launch` is the node's work from this call on, if the driver accepted it. */
static CUresult note(CUresult result, CUgraphExec exec, CUgraphNode node, const struct sl_launch *launch,
                     const struct sl_graph_change *change)
{
    if (result == CUDA_SUCCESS && sl_session_on()) sl_graphs_node_set(exec, node, launch, change);
    return result;
}

static CUresult note_any(CUresult result, CUgraphExec exec, CUgraphNode node, const struct sl_launch *launch,
                         const CUgraphNodeParams *parameters)
{
    struct sl_graph_change change = {0};
    CUDA_KERNEL_NODE_PARAMS_v2 kernel = sl_graph_kernel_of(parameters);
    CUDA_MEMSET_NODE_PARAMS set = sl_graph_set_of(parameters);
    if (launch->kind == SL_LAUNCH_KERNEL) {
        change.kernel = &kernel;
    } else if (launch->kind == SL_LAUNCH_COPY) {
        change.copy = &parameters->memcpy.copyParams;
        change.context = parameters->memcpy.copyCtx;
    } else {
        change.set = &set;
        change.context = parameters->memset.ctx;
    }
    return note(result, exec, node, launch, &change);
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
    return note(result, exec, node, &launch, &(struct sl_graph_change){.kernel = &same});
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
    return note(result, exec, node, &launch, &(struct sl_graph_change){.kernel = parameters});
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
    struct sl_graph_change change = {.copy = copy, .context = context};
    return note(real(exec, node, copy, context), exec, node, &launch, &change);
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
    struct sl_graph_change change = {.set = set, .context = context};
    return note(real(exec, node, set, context), exec, node, &launch, &change);
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
    if (works) return note_any(result, exec, node, &launch, parameters);
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

/* One launch for the core: a whole graph, or a piece of one. */
static CUresult launch_one(struct sl_call call, sl_fn_cuGraphLaunch *real, CUgraphExec exec, CUstream stream,
                           const struct sl_footprint *footprint, bool holds)
{
    struct sl_work work = {
        .seen = true,
        .launch = {.kind = SL_LAUNCH_GRAPH, .stream = sl_work_stream(call, stream), .footprint = footprint}};
    sl_runtime_launch_begin(&work.launch);
    struct sl_held *held = holds ? sl_hold(call, stream) : NULL;
    return sl_work_end(&work, sl_let_go_behind(call, stream, held, real(exec, stream)));
}

/* Launches the graph in as many pieces as it needs, or whole if it fits the current budget. */
static CUresult launch_pieces(struct sl_call call, sl_fn_cuGraphLaunch *real, CUgraphExec exec,
                              CUstream stream, struct sl_graph_pieces *pieces)
{
    const struct sl_footprint *footprint = sl_graphs_footprint(exec);
    struct sl_fit fit = footprint ? sl_runtime_fit(footprint) : (struct sl_fit){0};
    size_t count = fit.bytes > fit.budget_bytes ? sl_graph_pieces_cut(pieces, fit.budget_bytes) : 0;
    CUresult result = CUDA_SUCCESS;
    if (!sl_graph_pieces_begin(pieces, sl_work_stream(call, stream)))
        return sl_driver_refusal_or(0, CUDA_ERROR_UNKNOWN);
    if (!count) result = launch_one(call, real, exec, stream, footprint, sl_graphs_wait(exec));
    for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++)
        result = launch_one(call, real, sl_graph_pieces_exec(pieces, i), stream,
                            sl_graph_pieces_footprint(pieces, i), false);
    sl_graph_pieces_end(pieces, sl_work_stream(call, stream));
    return result;
}

CUresult sl_hook_cuGraphLaunch(struct sl_call call, sl_fn_cuGraphLaunch *real, CUgraphExec exec,
                               CUstream stream)
{
    if (!sl_session_on_stream(stream)) {
        struct sl_work work = {.seen = false};
        return sl_work_end(&work, real(exec, stream));
    }
    const struct sl_footprint *footprint = sl_graphs_footprint(exec);
    CUresult result = CUDA_SUCCESS;
    struct sl_answer captures =
        sl_cuda_capturing(sl_driver_functions(), sl_work_stream(call, stream), &result);
    if (sl_is_yes(captures)) return launch_one(call, real, exec, stream, footprint, sl_graphs_wait(exec));
    if (sl_is_no(captures)) result = sl_graphs_launch(exec, sl_work_stream(call, stream));
    if (result != CUDA_SUCCESS) return result;
    struct sl_graph_pieces *pieces = sl_graphs_pieces(exec);
    result = pieces ? launch_pieces(call, real, exec, stream, pieces)
                    : launch_one(call, real, exec, stream, footprint, sl_graphs_wait(exec));
    sl_graphs_launched(exec, result);
    return result;
}
