/* Graph nodes. Only the descriptions of kernels, copies and memsets differ from the driver's. */
#include "copy.h"
#include "module.h"
#include "state.h"

_Static_assert(sizeof(struct cudaHostNodeParams) == sizeof(CUDA_HOST_NODE_PARAMS), "handed on as they are");
_Static_assert(sizeof(struct cudaMemAllocNodeParams) == sizeof(CUDA_MEM_ALLOC_NODE_PARAMS),
               "handed on as they are");
_Static_assert(sizeof(cudaLaunchAttributeValue) == sizeof(CUkernelNodeAttrValue), "handed on as they are");

/* The destination of a description: a new node of a graph, an existing node, or that node's copy in an
 * executable graph. */
struct place {
    cudaGraphNode_t *added; /* a new node if set; it depends on `count` others */
    cudaGraph_t graph;
    const cudaGraphNode_t *after;
    size_t count;
    cudaGraphExec_t exec; /* if set, `node` is changed only in this executable graph */
    cudaGraphNode_t node;
};

#define NEW_NODE cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count
#define IN_GRAPH ((struct place){.added = node, .graph = graph, .after = after, .count = count})
#define OF_NODE ((struct place){.node = node})
#define OF_EXEC ((struct place){.exec = exec, .node = node})

/* Makes the call that `at` requires. `set` is a complete call, because it takes no context while the others
 * do. */
#define PUT(at, add, set, exec_set, ...)                                                                     \
    ((at).added  ? CALL(add, (at).added, (at).graph, (at).after, (at).count, __VA_ARGS__)                    \
     : (at).exec ? CALL(exec_set, (at).exec, (at).node, __VA_ARGS__)                                         \
                 : set)

static cudaError_t put_kernel(const struct sc_driver *driver, struct place at,
                              const struct cudaKernelNodeParams *p)
{
    CUkernel kernel = NULL;
    const cudaError_t status = p ? sc_kernel_find(driver, p->func, &kernel) : cudaErrorInvalidValue;
    if (status != cudaSuccess) return status;
    const CUDA_KERNEL_NODE_PARAMS node = {
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
    return PUT(at, cuGraphAddKernelNode, CALL(cuGraphKernelNodeSetParams, at.node, &node),
               cuGraphExecKernelNodeSetParams, &node);
}

/* Returns the function as its host address or, if it has none, as the driver's handle, which launches also
 * accept. */
static cudaError_t get_kernel(const struct sc_driver *driver, cudaGraphNode_t node,
                              struct cudaKernelNodeParams *out)
{
    CUDA_KERNEL_NODE_PARAMS got;
    const cudaError_t status = out ? CALL(cuGraphKernelNodeGetParams, node, &got) : cudaErrorInvalidValue;
    if (status != cudaSuccess) return status;
    *out = (struct cudaKernelNodeParams){
        .func = got.kern ? (void *)sc_kernel_symbol(got.kern) : (void *)got.func,
        .gridDim = {got.gridDimX, got.gridDimY, got.gridDimZ},
        .blockDim = {got.blockDimX, got.blockDimY, got.blockDimZ},
        .sharedMemBytes = got.sharedMemBytes,
        .kernelParams = got.kernelParams,
        .extra = got.extra,
    };
    return cudaSuccess;
}

static cudaError_t put_copy(const struct sc_driver *driver, struct place at,
                            const struct cudaMemcpy3DParms *p)
{
    CUDA_MEMCPY3D node;
    CUcontext context = NULL;
    cudaError_t status = sc_describe_3d(p, &node);
    if (status == cudaSuccess) status = CALL(cuCtxGetCurrent, &context);
    if (status != cudaSuccess) return status;
    return PUT(at, cuGraphAddMemcpyNode, CALL(cuGraphMemcpyNodeSetParams, at.node, &node),
               cuGraphExecMemcpyNodeSetParams, &node, context);
}

static cudaError_t get_copy(const struct sc_driver *driver, cudaGraphNode_t node,
                            struct cudaMemcpy3DParms *out)
{
    CUDA_MEMCPY3D got;
    const cudaError_t status = out ? CALL(cuGraphMemcpyNodeGetParams, node, &got) : cudaErrorInvalidValue;
    if (status == cudaSuccess) sc_describe_runtime_3d(&got, out);
    return status;
}

static cudaError_t put_line(const struct sc_driver *driver, struct place at, void *to, const void *from,
                            size_t bytes, enum cudaMemcpyKind kind)
{
    const struct cudaMemcpy3DParms p = {
        .srcPtr = {.ptr = (void *)from, .pitch = bytes, .xsize = bytes, .ysize = 1},
        .dstPtr = {.ptr = to, .pitch = bytes, .xsize = bytes, .ysize = 1},
        .extent = {bytes, 1, 1},
        .kind = kind,
    };
    return put_copy(driver, at, &p);
}

static cudaError_t put_to_symbol(const struct sc_driver *driver, struct place at, const void *symbol,
                                 const void *from, size_t bytes, size_t offset, enum cudaMemcpyKind kind)
{
    void *to = NULL;
    const cudaError_t status = sc_symbol_part(driver, symbol, bytes, offset, &to);
    return status == cudaSuccess ? put_line(driver, at, to, from, bytes, kind) : status;
}

static cudaError_t put_from_symbol(const struct sc_driver *driver, struct place at, void *to,
                                   const void *symbol, size_t bytes, size_t offset, enum cudaMemcpyKind kind)
{
    void *from = NULL;
    const cudaError_t status = sc_symbol_part(driver, symbol, bytes, offset, &from);
    return status == cudaSuccess ? put_line(driver, at, to, from, bytes, kind) : status;
}

static cudaError_t put_fill(const struct sc_driver *driver, struct place at, const struct cudaMemsetParams *p)
{
    if (!p) return cudaErrorInvalidValue;
    CUcontext context = NULL;
    const CUDA_MEMSET_NODE_PARAMS node = {.dst = (CUdeviceptr)p->dst,
                                          .pitch = p->pitch,
                                          .value = p->value,
                                          .elementSize = p->elementSize,
                                          .width = p->width,
                                          .height = p->height};
    const cudaError_t status = CALL(cuCtxGetCurrent, &context);
    if (status != cudaSuccess) return status;
    return PUT(at, cuGraphAddMemsetNode, CALL(cuGraphMemsetNodeSetParams, at.node, &node),
               cuGraphExecMemsetNodeSetParams, &node, context);
}

static cudaError_t get_fill(const struct sc_driver *driver, cudaGraphNode_t node,
                            struct cudaMemsetParams *out)
{
    CUDA_MEMSET_NODE_PARAMS got;
    const cudaError_t status = out ? CALL(cuGraphMemsetNodeGetParams, node, &got) : cudaErrorInvalidValue;
    if (status != cudaSuccess) return status;
    *out = (struct cudaMemsetParams){.dst = (void *)got.dst,
                                     .pitch = got.pitch,
                                     .value = got.value,
                                     .elementSize = got.elementSize,
                                     .width = got.width,
                                     .height = got.height};
    return cudaSuccess;
}

static cudaError_t put_host(const struct sc_driver *driver, struct place at,
                            const struct cudaHostNodeParams *p)
{
    const CUDA_HOST_NODE_PARAMS *node = (const CUDA_HOST_NODE_PARAMS *)p;
    return PUT(at, cuGraphAddHostNode, CALL(cuGraphHostNodeSetParams, at.node, node),
               cuGraphExecHostNodeSetParams, node);
}

SC_API(cudaGraphAddKernelNode, (NEW_NODE, const struct cudaKernelNodeParams *p),
       put_kernel(driver, IN_GRAPH, p))
SC_API(cudaGraphKernelNodeSetParams, (cudaGraphNode_t node, const struct cudaKernelNodeParams *p),
       put_kernel(driver, OF_NODE, p))
SC_API(cudaGraphExecKernelNodeSetParams,
       (cudaGraphExec_t exec, cudaGraphNode_t node, const struct cudaKernelNodeParams *p),
       put_kernel(driver, OF_EXEC, p))
SC_API(cudaGraphKernelNodeGetParams, (cudaGraphNode_t node, struct cudaKernelNodeParams *p),
       get_kernel(driver, node, p))
SC_API(cudaGraphKernelNodeCopyAttributes, (cudaGraphNode_t to, cudaGraphNode_t from),
       CALL(cuGraphKernelNodeCopyAttributes, to, from))
SC_API(cudaGraphKernelNodeGetAttribute,
       (cudaGraphNode_t node, cudaLaunchAttributeID attribute, cudaLaunchAttributeValue *value),
       CALL(cuGraphKernelNodeGetAttribute, node, (CUkernelNodeAttrID)attribute,
            (CUkernelNodeAttrValue *)value))
SC_API(cudaGraphKernelNodeSetAttribute,
       (cudaGraphNode_t node, cudaLaunchAttributeID attribute, const cudaLaunchAttributeValue *value),
       CALL(cuGraphKernelNodeSetAttribute, node, (CUkernelNodeAttrID)attribute,
            (const CUkernelNodeAttrValue *)value))

SC_API(cudaGraphAddMemcpyNode, (NEW_NODE, const struct cudaMemcpy3DParms *p), put_copy(driver, IN_GRAPH, p))
SC_API(cudaGraphMemcpyNodeSetParams, (cudaGraphNode_t node, const struct cudaMemcpy3DParms *p),
       put_copy(driver, OF_NODE, p))
SC_API(cudaGraphExecMemcpyNodeSetParams,
       (cudaGraphExec_t exec, cudaGraphNode_t node, const struct cudaMemcpy3DParms *p),
       put_copy(driver, OF_EXEC, p))

SC_API(cudaGraphMemcpyNodeGetParams, (cudaGraphNode_t node, struct cudaMemcpy3DParms *p),
       get_copy(driver, node, p))

#define LINE void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind
SC_API(cudaGraphAddMemcpyNode1D, (NEW_NODE, LINE), put_line(driver, IN_GRAPH, to, from, bytes, kind))
SC_API(cudaGraphMemcpyNodeSetParams1D, (cudaGraphNode_t node, LINE),
       put_line(driver, OF_NODE, to, from, bytes, kind))
SC_API(cudaGraphExecMemcpyNodeSetParams1D, (cudaGraphExec_t exec, cudaGraphNode_t node, LINE),
       put_line(driver, OF_EXEC, to, from, bytes, kind))

#define TO_SYMBOL const void *symbol, const void *from, size_t bytes, size_t offset, enum cudaMemcpyKind kind
SC_API(cudaGraphAddMemcpyNodeToSymbol, (NEW_NODE, TO_SYMBOL),
       put_to_symbol(driver, IN_GRAPH, symbol, from, bytes, offset, kind))
SC_API(cudaGraphMemcpyNodeSetParamsToSymbol, (cudaGraphNode_t node, TO_SYMBOL),
       put_to_symbol(driver, OF_NODE, symbol, from, bytes, offset, kind))
SC_API(cudaGraphExecMemcpyNodeSetParamsToSymbol, (cudaGraphExec_t exec, cudaGraphNode_t node, TO_SYMBOL),
       put_to_symbol(driver, OF_EXEC, symbol, from, bytes, offset, kind))

#define FROM_SYMBOL void *to, const void *symbol, size_t bytes, size_t offset, enum cudaMemcpyKind kind
SC_API(cudaGraphAddMemcpyNodeFromSymbol, (NEW_NODE, FROM_SYMBOL),
       put_from_symbol(driver, IN_GRAPH, to, symbol, bytes, offset, kind))
SC_API(cudaGraphMemcpyNodeSetParamsFromSymbol, (cudaGraphNode_t node, FROM_SYMBOL),
       put_from_symbol(driver, OF_NODE, to, symbol, bytes, offset, kind))
SC_API(cudaGraphExecMemcpyNodeSetParamsFromSymbol, (cudaGraphExec_t exec, cudaGraphNode_t node, FROM_SYMBOL),
       put_from_symbol(driver, OF_EXEC, to, symbol, bytes, offset, kind))

SC_API(cudaGraphAddMemsetNode, (NEW_NODE, const struct cudaMemsetParams *p), put_fill(driver, IN_GRAPH, p))
SC_API(cudaGraphMemsetNodeSetParams, (cudaGraphNode_t node, const struct cudaMemsetParams *p),
       put_fill(driver, OF_NODE, p))
SC_API(cudaGraphExecMemsetNodeSetParams,
       (cudaGraphExec_t exec, cudaGraphNode_t node, const struct cudaMemsetParams *p),
       put_fill(driver, OF_EXEC, p))
SC_API(cudaGraphMemsetNodeGetParams, (cudaGraphNode_t node, struct cudaMemsetParams *p),
       get_fill(driver, node, p))

SC_API(cudaGraphAddHostNode, (NEW_NODE, const struct cudaHostNodeParams *p), put_host(driver, IN_GRAPH, p))
SC_API(cudaGraphHostNodeSetParams, (cudaGraphNode_t node, const struct cudaHostNodeParams *p),
       put_host(driver, OF_NODE, p))
SC_API(cudaGraphExecHostNodeSetParams,
       (cudaGraphExec_t exec, cudaGraphNode_t node, const struct cudaHostNodeParams *p),
       put_host(driver, OF_EXEC, p))
SC_API(cudaGraphHostNodeGetParams, (cudaGraphNode_t node, struct cudaHostNodeParams *p),
       CALL(cuGraphHostNodeGetParams, node, (CUDA_HOST_NODE_PARAMS *)p))

SC_API(cudaGraphAddChildGraphNode, (NEW_NODE, cudaGraph_t child),
       CALL(cuGraphAddChildGraphNode, node, graph, after, count, child))
SC_API(cudaGraphChildGraphNodeGetGraph, (cudaGraphNode_t node, cudaGraph_t *graph),
       CALL(cuGraphChildGraphNodeGetGraph, node, graph))
SC_API(cudaGraphExecChildGraphNodeSetParams, (cudaGraphExec_t exec, cudaGraphNode_t node, cudaGraph_t child),
       CALL(cuGraphExecChildGraphNodeSetParams, exec, node, child))
SC_API(cudaGraphAddEmptyNode, (NEW_NODE), CALL(cuGraphAddEmptyNode, node, graph, after, count))

#define EVENT_NODE(Kind)                                                                                     \
    SC_API(cudaGraphAddEvent##Kind##Node, (NEW_NODE, cudaEvent_t event),                                     \
           CALL(cuGraphAddEvent##Kind##Node, node, graph, after, count, event))                              \
    SC_API(cudaGraphEvent##Kind##NodeGetEvent, (cudaGraphNode_t node, cudaEvent_t * event),                  \
           CALL(cuGraphEvent##Kind##NodeGetEvent, node, event))                                              \
    SC_API(cudaGraphEvent##Kind##NodeSetEvent, (cudaGraphNode_t node, cudaEvent_t event),                    \
           CALL(cuGraphEvent##Kind##NodeSetEvent, node, event))                                              \
    SC_API(cudaGraphExecEvent##Kind##NodeSetEvent,                                                           \
           (cudaGraphExec_t exec, cudaGraphNode_t node, cudaEvent_t event),                                  \
           CALL(cuGraphExecEvent##Kind##NodeSetEvent, exec, node, event))
EVENT_NODE(Record)
EVENT_NODE(Wait)

SC_API(cudaGraphAddMemAllocNode, (NEW_NODE, struct cudaMemAllocNodeParams *p),
       CALL(cuGraphAddMemAllocNode, node, graph, after, count, (CUDA_MEM_ALLOC_NODE_PARAMS *)p))
SC_API(cudaGraphMemAllocNodeGetParams, (cudaGraphNode_t node, struct cudaMemAllocNodeParams *p),
       CALL(cuGraphMemAllocNodeGetParams, node, (CUDA_MEM_ALLOC_NODE_PARAMS *)p))
SC_API(cudaGraphAddMemFreeNode, (NEW_NODE, void *address),
       CALL(cuGraphAddMemFreeNode, node, graph, after, count, (CUdeviceptr)address))
SC_API(cudaGraphMemFreeNodeGetParams, (cudaGraphNode_t node, void *address),
       CALL(cuGraphMemFreeNodeGetParams, node, (CUdeviceptr *)address))
SC_API(cudaGraphNodeSetEnabled, (cudaGraphExec_t exec, cudaGraphNode_t node, unsigned int enabled),
       CALL(cuGraphNodeSetEnabled, exec, node, enabled))
SC_API(cudaGraphNodeGetEnabled, (cudaGraphExec_t exec, cudaGraphNode_t node, unsigned int *enabled),
       CALL(cuGraphNodeGetEnabled, exec, node, enabled))
