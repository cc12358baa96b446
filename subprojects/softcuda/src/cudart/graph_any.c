/* Handles the structure that describes nodes of all types. */
#include "copy.h"
#include "module.h"
#include "state.h"

_Static_assert(sizeof(struct cudaHostNodeParamsV2) == sizeof(CUDA_HOST_NODE_PARAMS_v2),
               "handed on as they are");
_Static_assert(sizeof(struct cudaChildGraphNodeParams) == sizeof(CUDA_CHILD_GRAPH_NODE_PARAMS),
               "handed on as they are");
_Static_assert(sizeof(struct cudaMemAllocNodeParamsV2) == sizeof(CUDA_MEM_ALLOC_NODE_PARAMS_v2),
               "handed on as they are");
_Static_assert(sizeof(struct cudaGraphNodeParams) == sizeof(CUgraphNodeParams), "the same type field");

static cudaError_t describe_kernel(const struct sc_driver *driver, const struct cudaKernelNodeParamsV2 *p,
                                   CUDA_KERNEL_NODE_PARAMS_v3 *out)
{
    CUkernel kernel = NULL;
    const cudaError_t status = sc_kernel_find(driver, p->func, &kernel);
    if (status != cudaSuccess) return status;
    *out = (CUDA_KERNEL_NODE_PARAMS_v3){
        .gridDimX = p->gridDim.x,
        .gridDimY = p->gridDim.y,
        .gridDimZ = p->gridDim.z,
        .blockDimX = p->blockDim.x,
        .blockDimY = p->blockDim.y,
        .blockDimZ = p->blockDim.z,
        .sharedMemBytes = p->sharedMemBytes,
        .kernelParams = p->kernelParams,
        .extra = p->extra,
        .kern = kernel,
    };
    return cudaSuccess;
}

static void describe_fill(const struct cudaMemsetParamsV2 *p, CUcontext context,
                          CUDA_MEMSET_NODE_PARAMS_v2 *out)
{
    *out = (CUDA_MEMSET_NODE_PARAMS_v2){.dst = (CUdeviceptr)p->dst,
                                        .pitch = p->pitch,
                                        .value = p->value,
                                        .elementSize = p->elementSize,
                                        .width = p->width,
                                        .height = p->height,
                                        .ctx = context};
}

/* Types with equal layout are passed through unchanged; the driver reports what it does not support. */
static cudaError_t describe(const struct sc_driver *driver, const struct cudaGraphNodeParams *p,
                            CUgraphNodeParams *out)
{
    CUcontext context = NULL;
    if (!p) return cudaErrorInvalidValue;
    cudaError_t status = CALL(cuCtxGetCurrent, &context);
    if (status != cudaSuccess) return status;
    *out = (CUgraphNodeParams){.type = (CUgraphNodeType)p->type};
    switch (p->type) {
    case cudaGraphNodeTypeKernel:
        return describe_kernel(driver, &p->kernel, &out->kernel);
    case cudaGraphNodeTypeMemcpy:
        out->memcpy.flags = p->memcpy.flags;
        out->memcpy.copyCtx = context;
        return sc_describe_3d(&p->memcpy.copyParams, &out->memcpy.copyParams);
    case cudaGraphNodeTypeMemset:
        describe_fill(&p->memset, context, &out->memset);
        return cudaSuccess;
    default:
        for (size_t i = 0; i < sizeof p->reserved1 / sizeof *p->reserved1; i++)
            out->reserved1[i] = p->reserved1[i];
        return cudaSuccess;
    }
}

static cudaError_t add(const struct sc_driver *driver, cudaGraphNode_t *node, cudaGraph_t graph,
                       const cudaGraphNode_t *after, const cudaGraphEdgeData *edges, size_t count,
                       struct cudaGraphNodeParams *p)
{
    CUgraphNodeParams converted;
    cudaError_t status = describe(driver, p, &converted);
    if (status == cudaSuccess)
        status = CALL_OR_OLDER(cuGraphAddNode,
                               (node, graph, after, (const CUgraphEdgeData *)edges, count, &converted), 12020,
                               !edges, (node, graph, after, count, &converted));
    if (status == cudaSuccess && p->type == cudaGraphNodeTypeMemAlloc)
        p->alloc.dptr = (void *)converted.alloc.dptr;
    return status;
}

static cudaError_t set(const struct sc_driver *driver, cudaGraphExec_t exec, bool in_exec,
                       cudaGraphNode_t node, const struct cudaGraphNodeParams *p)
{
    CUgraphNodeParams converted;
    const cudaError_t status = describe(driver, p, &converted);
    if (status != cudaSuccess) return status;
    return in_exec ? CALL(cuGraphExecNodeSetParams, exec, node, &converted)
                   : CALL(cuGraphNodeSetParams, node, &converted);
}

SC_API(cudaGraphAddNode,
       (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t *after,
        const cudaGraphEdgeData *edges, size_t count, struct cudaGraphNodeParams *p),
       add(driver, node, graph, after, edges, count, p))
SC_API(cudaGraphNodeSetParams, (cudaGraphNode_t node, struct cudaGraphNodeParams *p),
       set(driver, NULL, false, node, p))
SC_API(cudaGraphExecNodeSetParams,
       (cudaGraphExec_t exec, cudaGraphNode_t node, struct cudaGraphNodeParams *p),
       set(driver, exec, true, node, p))
