/* Graphs. Handles are the driver's; what differs is how kernels and copies are described. */
#include "copy.h"
#include "module.h"
#include "state.h"

_Static_assert(sizeof(cudaGraphInstantiateParams) == sizeof(CUDA_GRAPH_INSTANTIATE_PARAMS),
               "handed on as they are");
_Static_assert(sizeof(cudaGraphExecUpdateResultInfo) == sizeof(CUgraphExecUpdateResultInfo),
               "handed on as they are");
_Static_assert(sizeof(struct cudaHostNodeParams) == sizeof(CUDA_HOST_NODE_PARAMS), "handed on as they are");

static cudaError_t kernel_node(const struct sc_driver *driver, const struct cudaKernelNodeParams *from,
                               CUDA_KERNEL_NODE_PARAMS *to)
{
    CUkernel kernel = NULL;
    const cudaError_t status = from ? sc_kernel_find(driver, from->func, &kernel) : cudaErrorInvalidValue;
    if (status != cudaSuccess) return status;
    *to = (CUDA_KERNEL_NODE_PARAMS){
        .gridDimX = from->gridDim.x,
        .gridDimY = from->gridDim.y,
        .gridDimZ = from->gridDim.z,
        .blockDimX = from->blockDim.x,
        .blockDimY = from->blockDim.y,
        .blockDimZ = from->blockDim.z,
        .sharedMemBytes = from->sharedMemBytes,
        .kernelParams = from->kernelParams,
        .extra = from->extra,
        .kern = kernel,
    };
    return cudaSuccess;
}

static cudaError_t add_kernel(const struct sc_driver *driver, cudaGraphNode_t *node, cudaGraph_t graph,
                              const cudaGraphNode_t *after, size_t count,
                              const struct cudaKernelNodeParams *p)
{
    CUDA_KERNEL_NODE_PARAMS converted;
    const cudaError_t status = kernel_node(driver, p, &converted);
    return status == cudaSuccess ? CALL(cuGraphAddKernelNode, node, graph, after, count, &converted) : status;
}

static cudaError_t set_kernel(const struct sc_driver *driver, cudaGraphNode_t node,
                              const struct cudaKernelNodeParams *p)
{
    CUDA_KERNEL_NODE_PARAMS converted;
    const cudaError_t status = kernel_node(driver, p, &converted);
    return status == cudaSuccess ? CALL(cuGraphKernelNodeSetParams, node, &converted) : status;
}

static cudaError_t set_exec_kernel(const struct sc_driver *driver, cudaGraphExec_t graph,
                                   cudaGraphNode_t node, const struct cudaKernelNodeParams *p)
{
    CUDA_KERNEL_NODE_PARAMS converted;
    const cudaError_t status = kernel_node(driver, p, &converted);
    return status == cudaSuccess ? CALL(cuGraphExecKernelNodeSetParams, graph, node, &converted) : status;
}

static cudaError_t add_memcpy(const struct sc_driver *driver, cudaGraphNode_t *node, cudaGraph_t graph,
                              const cudaGraphNode_t *after, size_t count, const struct cudaMemcpy3DParms *p)
{
    CUDA_MEMCPY3D converted;
    CUcontext context = NULL;
    cudaError_t status = sc_describe_3d(p, &converted);
    if (status == cudaSuccess) status = CALL(cuCtxGetCurrent, &context);
    return status == cudaSuccess ? CALL(cuGraphAddMemcpyNode, node, graph, after, count, &converted, context)
                                 : status;
}

static cudaError_t add_memcpy_1d(const struct sc_driver *driver, cudaGraphNode_t *node, cudaGraph_t graph,
                                 const cudaGraphNode_t *after, size_t count, struct cudaMemcpy3DParms p)
{
    return add_memcpy(driver, node, graph, after, count, &p);
}

static cudaError_t add_memset(const struct sc_driver *driver, cudaGraphNode_t *node, cudaGraph_t graph,
                              const cudaGraphNode_t *after, size_t count, const struct cudaMemsetParams *p)
{
    if (!p) return cudaErrorInvalidValue;
    CUcontext context = NULL;
    const CUDA_MEMSET_NODE_PARAMS converted = {.dst = (CUdeviceptr)p->dst,
                                               .pitch = p->pitch,
                                               .value = p->value,
                                               .elementSize = p->elementSize,
                                               .width = p->width,
                                               .height = p->height};
    const cudaError_t status = CALL(cuCtxGetCurrent, &context);
    return status == cudaSuccess ? CALL(cuGraphAddMemsetNode, node, graph, after, count, &converted, context)
                                 : status;
}

static struct cudaMemcpy3DParms line(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    return (struct cudaMemcpy3DParms){
        .srcPtr = {.ptr = (void *)from, .pitch = bytes, .xsize = bytes, .ysize = 1},
        .dstPtr = {.ptr = to, .pitch = bytes, .xsize = bytes, .ysize = 1},
        .extent = {bytes, 1, 1},
        .kind = kind,
    };
}

#define NODE cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count
#define EDGES                                                                                                \
    cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to, const cudaGraphEdgeData *data

SC_API(cudaGraphCreate, (cudaGraph_t * graph, unsigned int flags), CALL(cuGraphCreate, graph, flags))
SC_API(cudaGraphDestroy, (cudaGraph_t graph), CALL(cuGraphDestroy, graph))
SC_API(cudaGraphClone, (cudaGraph_t * clone, cudaGraph_t graph), CALL(cuGraphClone, clone, graph))
SC_API(cudaGraphNodeFindInClone, (cudaGraphNode_t * node, cudaGraphNode_t original, cudaGraph_t clone),
       CALL(cuGraphNodeFindInClone, node, original, clone))
SC_API(cudaGraphNodeGetType, (cudaGraphNode_t node, enum cudaGraphNodeType *type),
       CALL(cuGraphNodeGetType, node, (CUgraphNodeType *)type))
SC_API(cudaGraphGetNodes, (cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count),
       CALL(cuGraphGetNodes, graph, nodes, count))
SC_API(cudaGraphGetRootNodes, (cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count),
       CALL(cuGraphGetRootNodes, graph, nodes, count))
SC_API(cudaGraphGetEdges,
       (cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, cudaGraphEdgeData *data,
        size_t *count),
       CALL(cuGraphGetEdges, graph, from, to, (CUgraphEdgeData *)data, count))
SC_API(cudaGraphNodeGetDependencies,
       (cudaGraphNode_t node, cudaGraphNode_t *nodes, cudaGraphEdgeData *data, size_t *count),
       CALL(cuGraphNodeGetDependencies, node, nodes, (CUgraphEdgeData *)data, count))
SC_API(cudaGraphNodeGetDependentNodes,
       (cudaGraphNode_t node, cudaGraphNode_t *nodes, cudaGraphEdgeData *data, size_t *count),
       CALL(cuGraphNodeGetDependentNodes, node, nodes, (CUgraphEdgeData *)data, count))
SC_API(cudaGraphAddDependencies, (EDGES, size_t count),
       CALL(cuGraphAddDependencies, graph, from, to, (const CUgraphEdgeData *)data, count))
SC_API(cudaGraphRemoveDependencies, (EDGES, size_t count),
       CALL(cuGraphRemoveDependencies, graph, from, to, (const CUgraphEdgeData *)data, count))
SC_API(cudaGraphDestroyNode, (cudaGraphNode_t node), CALL(cuGraphDestroyNode, node))

SC_API(cudaGraphAddKernelNode, (NODE, const struct cudaKernelNodeParams *p),
       add_kernel(driver, node, graph, after, count, p))
SC_API(cudaGraphKernelNodeSetParams, (cudaGraphNode_t node, const struct cudaKernelNodeParams *p),
       set_kernel(driver, node, p))
SC_API(cudaGraphExecKernelNodeSetParams,
       (cudaGraphExec_t graph, cudaGraphNode_t node, const struct cudaKernelNodeParams *p),
       set_exec_kernel(driver, graph, node, p))
SC_API(cudaGraphAddMemcpyNode, (NODE, const struct cudaMemcpy3DParms *p),
       add_memcpy(driver, node, graph, after, count, p))
SC_API(cudaGraphAddMemcpyNode1D, (NODE, void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind),
       add_memcpy_1d(driver, node, graph, after, count, line(to, from, bytes, kind)))
SC_API(cudaGraphAddMemsetNode, (NODE, const struct cudaMemsetParams *p),
       add_memset(driver, node, graph, after, count, p))
SC_API(cudaGraphAddHostNode, (NODE, const struct cudaHostNodeParams *p),
       CALL(cuGraphAddHostNode, node, graph, after, count, (const CUDA_HOST_NODE_PARAMS *)p))
SC_API(cudaGraphAddChildGraphNode, (NODE, cudaGraph_t child),
       CALL(cuGraphAddChildGraphNode, node, graph, after, count, child))
SC_API(cudaGraphChildGraphNodeGetGraph, (cudaGraphNode_t node, cudaGraph_t *graph),
       CALL(cuGraphChildGraphNodeGetGraph, node, graph))
SC_API(cudaGraphAddEmptyNode, (NODE), CALL(cuGraphAddEmptyNode, node, graph, after, count))
SC_API(cudaGraphAddEventRecordNode, (NODE, cudaEvent_t event),
       CALL(cuGraphAddEventRecordNode, node, graph, after, count, event))
SC_API(cudaGraphAddEventWaitNode, (NODE, cudaEvent_t event),
       CALL(cuGraphAddEventWaitNode, node, graph, after, count, event))

SC_API(cudaGraphInstantiate, (cudaGraphExec_t * out, cudaGraph_t graph, unsigned long long flags),
       CALL(cuGraphInstantiateWithFlags, out, graph, flags))
SC_API(cudaGraphInstantiateWithFlags, (cudaGraphExec_t * out, cudaGraph_t graph, unsigned long long flags),
       CALL(cuGraphInstantiateWithFlags, out, graph, flags))
SC_STREAM_API(cudaGraphInstantiateWithParams, _ptsz,
              (cudaGraphExec_t * out, cudaGraph_t graph, cudaGraphInstantiateParams *p),
              CALL(cuGraphInstantiateWithParams, out, graph, (CUDA_GRAPH_INSTANTIATE_PARAMS *)p))
SC_API(cudaGraphExecGetFlags, (cudaGraphExec_t graph, unsigned long long *flags),
       CALL(cuGraphExecGetFlags, graph, (cuuint64_t *)flags))
SC_API(cudaGraphExecUpdate, (cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo *result),
       CALL(cuGraphExecUpdate, exec, graph, (CUgraphExecUpdateResultInfo *)result))
SC_STREAM_API(cudaGraphUpload, _ptsz, (cudaGraphExec_t graph, cudaStream_t stream),
              CALL(cuGraphUpload, graph, stream))
SC_STREAM_API(cudaGraphLaunch, _ptsz, (cudaGraphExec_t graph, cudaStream_t stream),
              CALL(cuGraphLaunch, graph, stream))
SC_API(cudaGraphExecDestroy, (cudaGraphExec_t graph), CALL(cuGraphExecDestroy, graph))
SC_API(cudaGraphDebugDotPrint, (cudaGraph_t graph, const char *path, unsigned int flags),
       CALL(cuGraphDebugDotPrint, graph, path, flags))

SC_API(cudaUserObjectCreate,
       (cudaUserObject_t * object, void *pointer, cudaHostFn_t destroy, unsigned int references,
        unsigned int flags),
       CALL(cuUserObjectCreate, object, pointer, destroy, references, flags))
SC_API(cudaUserObjectRetain, (cudaUserObject_t object, unsigned int count),
       CALL(cuUserObjectRetain, object, count))
SC_API(cudaUserObjectRelease, (cudaUserObject_t object, unsigned int count),
       CALL(cuUserObjectRelease, object, count))
SC_API(cudaGraphRetainUserObject,
       (cudaGraph_t graph, cudaUserObject_t object, unsigned int count, unsigned int flags),
       CALL(cuGraphRetainUserObject, graph, object, count, flags))
SC_API(cudaGraphReleaseUserObject, (cudaGraph_t graph, cudaUserObject_t object, unsigned int count),
       CALL(cuGraphReleaseUserObject, graph, object, count))
