/* Functions of libcudart.so.12 whose name, parameters or structure layouts CUDA 13 changed. Each is the older
 * form of the function with its name in the header. */
#include "names12.h"

#include "once.h"
#include "refused.h"
#include "state.h"

#include <stddef.h>
#include <string.h>

/* Defines the exported function `name`, and its per-thread form if there is one. */
#define OLD(name, parameters, work)                                                                          \
    SC_EXPORT cudaError_t sc_12_##name parameters __asm__(#name);                                            \
    cudaError_t sc_12_##name parameters                                                                      \
    {                                                                                                        \
        return work;                                                                                         \
    }
#define OLD_REFUSED(name)                                                                                    \
    SC_EXPORT int sc_12_##name(void) __asm__(#name);                                                         \
    int sc_12_##name(void)                                                                                   \
    {                                                                                                        \
        sc_log_once(#name, #name " is not supported by this device");                                        \
        return sc_refuse(cudaErrorNotSupported);                                                             \
    }

/* The header declares per-thread forms only for programs that are built with per-thread streams. */
extern cudaError_t cudaMemPrefetchAsync_ptsz(const void *, size_t, struct cudaMemLocation, unsigned,
                                             cudaStream_t);
extern cudaError_t cudaStreamGetCaptureInfo_ptsz(cudaStream_t, enum cudaStreamCaptureStatus *,
                                                 unsigned long long *, cudaGraph_t *,
                                                 const cudaGraphNode_t **, const cudaGraphEdgeData **,
                                                 size_t *);
extern cudaError_t cudaStreamUpdateCaptureDependencies_ptsz(cudaStream_t, cudaGraphNode_t *,
                                                            const cudaGraphEdgeData *, size_t, unsigned);
extern cudaError_t cudaMemcpyBatchAsync_ptsz(void *const *, const void *const *, const size_t *, size_t,
                                             struct cudaMemcpyAttributes *, size_t *, size_t, cudaStream_t);
extern cudaError_t cudaMemcpy3DBatchAsync_ptsz(size_t, struct cudaMemcpy3DBatchOp *, unsigned long long,
                                               cudaStream_t);

struct properties_12 {
#define KEPT(type, field, array) type field array;
#define GONE(field, attribute) int field;
#include "properties12.def"
#undef KEPT
#undef GONE
    int reserved[63];
};
_Static_assert(sizeof(struct properties_12) == 1032, "the layout of CUDA 12");

/* CUDA 11 has the fields up to this one. */
#define PROPERTIES_11_BYTES offsetof(struct properties_12, hostRegisterSupported)

static cudaError_t get_properties(void *out, size_t bytes, int device)
{
    struct cudaDeviceProp got;
    struct properties_12 old;
    memset(&old, 0, sizeof old);
    if (!out) return sc_finish(cudaErrorInvalidValue);
    cudaError_t status = cudaGetDeviceProperties(&got, device);
    if (status != cudaSuccess) return status;
#define KEPT(type, field, array)                                                                             \
    _Static_assert(sizeof old.field == sizeof got.field, "the same field");                                  \
    memcpy(&old.field, &got.field, sizeof old.field);
#define GONE(field, attribute)                                                                               \
    status =                                                                                                 \
        cudaDeviceGetAttribute(&old.field, (enum cudaDeviceAttr)CU_DEVICE_ATTRIBUTE_##attribute, device);    \
    if (status != cudaSuccess) return status;
#include "properties12.def"
#undef KEPT
#undef GONE
    memcpy(out, &old, bytes);
    return cudaSuccess;
}

OLD(cudaGetDeviceProperties_v2, (void *out, int device),
    get_properties(out, sizeof(struct properties_12), device))
OLD(cudaGetDeviceProperties, (void *out, int device), get_properties(out, PROPERTIES_11_BYTES, device))

/* CUDA 13 has additional reserved fields at the end. */
static cudaError_t get_attributes(void *out, const void *pointer)
{
    struct cudaPointerAttributes got;
    const cudaError_t status =
        out ? cudaPointerGetAttributes(&got, pointer) : sc_finish(cudaErrorInvalidValue);
    if (status == cudaSuccess) memcpy(out, &got, offsetof(struct cudaPointerAttributes, reserved));
    return status;
}

OLD(cudaPointerGetAttributes, (void *out, const void *pointer), get_attributes(out, pointer))

static struct cudaMemLocation location_of(int device)
{
    if (device == cudaCpuDeviceId) return (struct cudaMemLocation){.type = cudaMemLocationTypeHost};
    return (struct cudaMemLocation){.type = cudaMemLocationTypeDevice, .id = device};
}

OLD(cudaMemAdvise, (const void *address, size_t bytes, enum cudaMemoryAdvise advice, int device),
    cudaMemAdvise(address, bytes, advice, location_of(device)))
OLD(cudaMemPrefetchAsync, (const void *address, size_t bytes, int device, cudaStream_t stream),
    cudaMemPrefetchAsync(address, bytes, location_of(device), 0, stream))
OLD(cudaMemPrefetchAsync_ptsz, (const void *address, size_t bytes, int device, cudaStream_t stream),
    cudaMemPrefetchAsync_ptsz(address, bytes, location_of(device), 0, stream))

#define CAPTURE_1 (cudaStream_t stream, enum cudaStreamCaptureStatus * status, unsigned long long *id)
#define CAPTURE_2                                                                                            \
    (cudaStream_t stream, enum cudaStreamCaptureStatus * status, unsigned long long *id, cudaGraph_t *graph, \
     const cudaGraphNode_t **nodes, size_t *count)
OLD(cudaStreamGetCaptureInfo, CAPTURE_1, cudaStreamGetCaptureInfo(stream, status, id, NULL, NULL, NULL, NULL))
OLD(cudaStreamGetCaptureInfo_ptsz, CAPTURE_1,
    cudaStreamGetCaptureInfo_ptsz(stream, status, id, NULL, NULL, NULL, NULL))
OLD(cudaStreamGetCaptureInfo_v2, CAPTURE_2,
    cudaStreamGetCaptureInfo(stream, status, id, graph, nodes, NULL, count))
OLD(cudaStreamGetCaptureInfo_v2_ptsz, CAPTURE_2,
    cudaStreamGetCaptureInfo_ptsz(stream, status, id, graph, nodes, NULL, count))
OLD(cudaStreamUpdateCaptureDependencies,
    (cudaStream_t stream, cudaGraphNode_t *nodes, size_t count, unsigned int flags),
    cudaStreamUpdateCaptureDependencies(stream, nodes, NULL, count, flags))
OLD(cudaStreamUpdateCaptureDependencies_ptsz,
    (cudaStream_t stream, cudaGraphNode_t *nodes, size_t count, unsigned int flags),
    cudaStreamUpdateCaptureDependencies_ptsz(stream, nodes, NULL, count, flags))

/* Edges without data. */
OLD(cudaGraphGetEdges, (cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, size_t *count),
    cudaGraphGetEdges(graph, from, to, NULL, count))
OLD(cudaGraphNodeGetDependencies, (cudaGraphNode_t node, cudaGraphNode_t *nodes, size_t *count),
    cudaGraphNodeGetDependencies(node, nodes, NULL, count))
OLD(cudaGraphNodeGetDependentNodes, (cudaGraphNode_t node, cudaGraphNode_t *nodes, size_t *count),
    cudaGraphNodeGetDependentNodes(node, nodes, NULL, count))
OLD(cudaGraphAddDependencies,
    (cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to, size_t count),
    cudaGraphAddDependencies(graph, from, to, NULL, count))
OLD(cudaGraphRemoveDependencies,
    (cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to, size_t count),
    cudaGraphRemoveDependencies(graph, from, to, NULL, count))

OLD(cudaGraphAddNode,
    (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t *dependencies, size_t count,
     struct cudaGraphNodeParams *parameters),
    cudaGraphAddNode(node, graph, dependencies, NULL, count, parameters))

/* The older form could return the index of the copy that failed; it is not known here. */
static cudaError_t without_index(size_t *failed, cudaError_t status)
{
    if (failed) *failed = SIZE_MAX;
    return status;
}

#define BATCH                                                                                                \
    (void **to, void **from, size_t *bytes, size_t count, struct cudaMemcpyAttributes *attributes,           \
     size_t *indices, size_t attribute_count, size_t *failed, cudaStream_t stream)
#define BATCH_3D                                                                                             \
    (size_t count, struct cudaMemcpy3DBatchOp * list, size_t * failed, unsigned long long flags,             \
     cudaStream_t stream)
OLD(cudaMemcpyBatchAsync, BATCH,
    without_index(failed, cudaMemcpyBatchAsync(to, (const void *const *)from, bytes, count, attributes,
                                               indices, attribute_count, stream)))
OLD(cudaMemcpyBatchAsync_ptsz, BATCH,
    without_index(failed, cudaMemcpyBatchAsync_ptsz(to, (const void *const *)from, bytes, count, attributes,
                                                    indices, attribute_count, stream)))
OLD(cudaMemcpy3DBatchAsync, BATCH_3D,
    without_index(failed, cudaMemcpy3DBatchAsync(count, list, flags, stream)))
OLD(cudaMemcpy3DBatchAsync_ptsz, BATCH_3D,
    without_index(failed, cudaMemcpy3DBatchAsync_ptsz(count, list, flags, stream)))

/* Second names of functions. */
OLD(cudaEventElapsedTime_v2, (float *milliseconds, cudaEvent_t start, cudaEvent_t end),
    cudaEventElapsedTime(milliseconds, start, end))
OLD(cudaThreadExit, (void), cudaDeviceReset())
OLD(cudaThreadSynchronize, (void), cudaDeviceSynchronize())
OLD(cudaThreadSetLimit, (enum cudaLimit limit, size_t value), cudaDeviceSetLimit(limit, value))
OLD(cudaThreadGetLimit, (size_t * value, enum cudaLimit limit), cudaDeviceGetLimit(value, limit))
OLD(cudaThreadGetCacheConfig, (enum cudaFuncCache * cache), cudaDeviceGetCacheConfig(cache))
OLD(cudaThreadSetCacheConfig, (enum cudaFuncCache cache), cudaDeviceSetCacheConfig(cache))

/* The device supports doubles, so nothing has to be converted. */
OLD(cudaSetDoubleForDevice, (double *value), ((void)value, cudaSuccess))
OLD(cudaSetDoubleForHost, (double *value), ((void)value, cudaSuccess))

OLD_REFUSED(cudaLaunchCooperativeKernelMultiDevice)
OLD_REFUSED(cudaSignalExternalSemaphoresAsync)
OLD_REFUSED(cudaSignalExternalSemaphoresAsync_ptsz)
OLD_REFUSED(cudaWaitExternalSemaphoresAsync)
OLD_REFUSED(cudaWaitExternalSemaphoresAsync_ptsz)
