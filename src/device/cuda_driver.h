/* The vendor's driver as the backend and the shim call it: the real functions, so that their calls do not go
 * through the shim.
 *
 * One row for each function: field, ABI name in libcuda.so.1, first driver version (major * 1000 + minor *
 * 10), whether the backend requires it, prototype. The prototypes are written out because cuda.h maps the
 * plain names to different versions in different toolkits. Streams are the legacy kind: NULL is the legacy
 * default stream.
 */
#ifndef SLUICE_CUDA_DRIVER_H
#define SLUICE_CUDA_DRIVER_H

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>

/* clang-format off */
#define SL_CUDA_DRIVER_FUNCTIONS(X)                                                                                             \
    X(driver_get_version,    "cuDriverGetVersion",                2020,  true,  (int *version))                                 \
    X(get_error_name,        "cuGetErrorName",                    6000,  true,  (CUresult error, const char **name))            \
    X(device_get_attribute,  "cuDeviceGetAttribute",              2000,  true,  (int *value, CUdevice_attribute attribute, CUdevice device)) \
    X(device_get_uuid,       "cuDeviceGetUuid_v2",                11040, false, (CUuuid *uuid, CUdevice device))                  \
    X(device_get_name,       "cuDeviceGetName",                   2000,  false, (char *name, int bytes, CUdevice device))        \
    X(ctx_get_current,       "cuCtxGetCurrent",                   4000,  true,  (CUcontext *context))                           \
    X(ctx_set_current,       "cuCtxSetCurrent",                   4000,  true,  (CUcontext context))                            \
    X(ctx_push_current,      "cuCtxPushCurrent_v2",               4000,  true,  (CUcontext context))                            \
    X(ctx_pop_current,       "cuCtxPopCurrent_v2",                4000,  true,  (CUcontext *context))                           \
    X(ctx_get_device,        "cuCtxGetDevice",                    2000,  true,  (CUdevice *device))                             \
    X(ctx_synchronize,       "cuCtxSynchronize",                  2000,  true,  (void))                                         \
    X(mem_get_info,          "cuMemGetInfo_v2",                   3020,  true,  (size_t *free_bytes, size_t *total_bytes))      \
    X(mem_alloc_managed,     "cuMemAllocManaged",                 6000,  true,  (CUdeviceptr *address, size_t bytes, unsigned flags)) \
    X(mem_free,              "cuMemFree_v2",                      3020,  true,  (CUdeviceptr address))                          \
    X(mem_host_register,     "cuMemHostRegister_v2",              6050,  false, (void *address, size_t bytes, unsigned flags))       \
    X(mem_host_unregister,   "cuMemHostUnregister",               4000,  false, (void *address))                                \
    X(mem_host_get_device_pointer, "cuMemHostGetDevicePointer_v2", 3020, false, (CUdeviceptr *out, void *address, unsigned flags)) \
    X(mem_advise,            "cuMemAdvise_v2",                    12020, true,  (CUdeviceptr address, size_t bytes, CUmem_advise advice, CUmemLocation location)) \
    X(mem_prefetch,          "cuMemPrefetchAsync_v2",             12020, true,  (CUdeviceptr address, size_t bytes, CUmemLocation location, unsigned flags, CUstream stream)) \
    X(mem_discard_batch,     "cuMemDiscardBatchAsync",            13000, false, (CUdeviceptr *addresses, size_t *bytes, size_t count, unsigned long long flags, CUstream stream)) \
    X(stream_create,         "cuStreamCreateWithPriority",        5050,  true,  (CUstream *stream, unsigned flags, int priority)) \
    X(stream_destroy,        "cuStreamDestroy_v2",                4000,  true,  (CUstream stream))                              \
    X(stream_wait_event,     "cuStreamWaitEvent",                 3020,  true,  (CUstream stream, CUevent event, unsigned flags)) \
    X(stream_synchronize,    "cuStreamSynchronize",               2000,  true,  (CUstream stream))                              \
    X(stream_get_ctx,        "cuStreamGetCtx",                    9020,  false, (CUstream stream, CUcontext *context))               \
    X(stream_get_flags,      "cuStreamGetFlags",                  5000,  false, (CUstream stream, unsigned *flags))               \
    X(stream_is_capturing,   "cuStreamIsCapturing",               10000, true,  (CUstream stream, CUstreamCaptureStatus *status)) \
    X(stream_get_capture_info, "cuStreamGetCaptureInfo_v2",       11030, false, (CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph, const CUgraphNode **dependencies, size_t *count)) \
    X(stream_exchange_capture_mode, "cuThreadExchangeStreamCaptureMode", 10010, true, (CUstreamCaptureMode *mode))              \
    X(stream_get_id,         "cuStreamGetId",                     12000, false, (CUstream stream, unsigned long long *id))         \
    X(user_object_create,    "cuUserObjectCreate",                11030, false, (CUuserObject *object, void *pointer, CUhostFn destroy, unsigned references, unsigned flags)) \
    X(graph_retain_user_object, "cuGraphRetainUserObject",        11030, false, (CUgraph graph, CUuserObject object, unsigned references, unsigned flags)) \
    X(launch_host_func,      "cuLaunchHostFunc",                  10000, false, (CUstream stream, CUhostFn function, void *data))    \
    X(event_create,          "cuEventCreate",                     2000,  true,  (CUevent *event, unsigned flags))               \
    X(event_destroy,         "cuEventDestroy_v2",                 4000,  true,  (CUevent event))                                \
    X(event_record,          "cuEventRecord",                     2000,  true,  (CUevent event, CUstream stream))               \
    X(event_query,           "cuEventQuery",                      2000,  true,  (CUevent event))                                \
    X(event_synchronize,     "cuEventSynchronize",                2000,  true,  (CUevent event))                                \
    X(event_elapsed_time,    "cuEventElapsedTime",                2000,  true,  (float *milliseconds, CUevent start, CUevent end)) \
    X(func_get_name,         "cuFuncGetName",                     12030, false, (const char **name, CUfunction function))        \
    X(func_get_param_info,   "cuFuncGetParamInfo",                12040, false, (CUfunction function, size_t index, size_t *offset, size_t *bytes)) \
    X(func_get_module,       "cuFuncGetModule",                   11000, false, (CUmodule *module, CUfunction function))         \
    X(library_get_module,    "cuLibraryGetModule",                12000, false, (CUmodule *module, CUlibrary library))           \
    X(module_get_function_count, "cuModuleGetFunctionCount",      12040, false, (unsigned *count, CUmodule module))                 \
    X(library_get_kernel_count, "cuLibraryGetKernelCount",        12040, false, (unsigned *count, CUlibrary library))              \
    X(kernel_get_name,       "cuKernelGetName",                   12030, false, (const char **name, CUkernel kernel))            \
    X(kernel_get_param_info, "cuKernelGetParamInfo",              12040, false, (CUkernel kernel, size_t index, size_t *offset, size_t *bytes)) \
    X(device_get_default_pool, "cuDeviceGetDefaultMemPool",       11020, false, (CUmemoryPool *pool, CUdevice device))           \
    X(device_get_pool,       "cuDeviceGetMemPool",                11020, false, (CUmemoryPool *pool, CUdevice device))           \
    X(pool_get_attribute,    "cuMemPoolGetAttribute",             11020, false, (CUmemoryPool pool, CUmemPool_attribute attribute, void *value)) \
    X(pointer_get_attribute, "cuPointerGetAttribute",             4000,  false, (void *value, CUpointer_attribute attribute, CUdeviceptr address)) \
    X(mem_get_address_range, "cuMemGetAddressRange_v2",           3020,  false, (CUdeviceptr *base, size_t *bytes, CUdeviceptr address)) \
    X(mem_get_properties,    "cuMemGetAllocationPropertiesFromHandle", 10020, false, (CUmemAllocationProp *properties, CUmemGenericAllocationHandle handle)) \
    X(mem_get_granularity,   "cuMemGetAllocationGranularity",     10020, false, (size_t *granularity, const CUmemAllocationProp *properties, CUmemAllocationGranularity_flags option)) \
    X(device_get_graph_mem_attribute, "cuDeviceGetGraphMemAttribute", 11040, false, (CUdevice device, CUgraphMem_attribute attribute, void *value)) \
    X(kernel_get_function,   "cuKernelGetFunction",               12000, false, (CUfunction *function, CUkernel kernel))         \
    X(graph_get_nodes,       "cuGraphGetNodes",                   10000, true,  (CUgraph graph, CUgraphNode *nodes, size_t *count)) \
    X(graph_node_get_type,   "cuGraphNodeGetType",                10000, true,  (CUgraphNode node, CUgraphNodeType *type))       \
    X(graph_kernel_node_get_params, "cuGraphKernelNodeGetParams_v2", 12000, true, (CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v2 *parameters)) \
    X(graph_memcpy_node_get_params, "cuGraphMemcpyNodeGetParams", 10000, true,  (CUgraphNode node, CUDA_MEMCPY3D *parameters))   \
    X(graph_memset_node_get_params, "cuGraphMemsetNodeGetParams", 10000, true,  (CUgraphNode node, CUDA_MEMSET_NODE_PARAMS *parameters)) \
    X(graph_mem_alloc_node_get_params, "cuGraphMemAllocNodeGetParams", 11040, true, (CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS *parameters)) \
    X(graph_child_graph_node_get_graph, "cuGraphChildGraphNodeGetGraph", 10000, true, (CUgraphNode node, CUgraph *graph))       \
    X(graph_node_get_dependencies, "cuGraphNodeGetDependencies",  10000, true,  (CUgraphNode node, CUgraphNode *from, size_t *count)) \
    X(graph_node_get_dependencies_v2, "cuGraphNodeGetDependencies_v2", 12030, false, (CUgraphNode node, CUgraphNode *from, CUgraphEdgeData *edges, size_t *count)) \
    X(graph_clone,           "cuGraphClone",                      10000, true,  (CUgraph *copy, CUgraph graph))                 \
    X(graph_destroy,         "cuGraphDestroy",                    10000, true,  (CUgraph graph))                                \
    X(graph_destroy_node,    "cuGraphDestroyNode",                10000, true,  (CUgraphNode node))                             \
    X(graph_node_find_in_clone, "cuGraphNodeFindInClone",         10000, true,  (CUgraphNode *found, CUgraphNode node, CUgraph copy)) \
    X(graph_kernel_node_set_params, "cuGraphKernelNodeSetParams_v2", 12000, true, (CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v2 *parameters)) \
    X(graph_memcpy_node_set_params, "cuGraphMemcpyNodeSetParams", 10000, true,  (CUgraphNode node, const CUDA_MEMCPY3D *parameters)) \
    X(graph_memset_node_set_params, "cuGraphMemsetNodeSetParams", 10000, true,  (CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *parameters)) \
    X(graph_instantiate_with_flags, "cuGraphInstantiateWithFlags", 11040, true, (CUgraphExec *exec, CUgraph graph, unsigned long long flags)) \
    X(graph_exec_destroy,    "cuGraphExecDestroy",                10000, true,  (CUgraphExec exec))                             \
    X(graph_exec_kernel_node_set_params, "cuGraphExecKernelNodeSetParams_v2", 12000, true, (CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v2 *parameters)) \
    X(graph_exec_memcpy_node_set_params, "cuGraphExecMemcpyNodeSetParams", 10020, true, (CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D *parameters, CUcontext context)) \
    X(graph_exec_memset_node_set_params, "cuGraphExecMemsetNodeSetParams", 10020, true, (CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *parameters, CUcontext context)) \
    X(graph_node_set_enabled, "cuGraphNodeSetEnabled",            11060, true,  (CUgraphExec exec, CUgraphNode node, unsigned enabled))
/* clang-format on */

/* As cuDriverGetVersion says it: for cuMemAdvise_v2 and cuMemPrefetchAsync_v2. */
#define SL_OLDEST_DRIVER 12020

/* Fields whose row says `false` may be NULL if the driver is older; the others never are. */
struct sl_cuda_driver {
#define SL_FIELD(field, symbol, version, required, arguments) CUresult(CUDAAPI *field) arguments;
    SL_CUDA_DRIVER_FUNCTIONS(SL_FIELD)
#undef SL_FIELD
};

#endif
