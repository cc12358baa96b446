/* Allocation, host memory, unified memory, and queries about pointers. */
#include "state.h"

_Static_assert(sizeof(struct cudaMemLocation) == sizeof(CUmemLocation), "handed on as they are");
_Static_assert(sizeof(cudaIpcMemHandle_t) == sizeof(CUipcMemHandle), "copied byte by byte");

static CUmemLocation driver_location(struct cudaMemLocation location)
{
    return (CUmemLocation){.type = (CUmemLocationType)location.type, .id = location.id};
}

static cudaError_t allocate(const struct sc_driver *driver, void **out, size_t bytes)
{
    if (!out) return cudaErrorInvalidValue;
    CUdeviceptr address = 0;
    const cudaError_t status = bytes ? CALL(cuMemAlloc, &address, bytes) : cudaSuccess;
    if (status == cudaSuccess) *out = (void *)address;
    return status;
}

static cudaError_t allocate_managed(const struct sc_driver *driver, void **out, size_t bytes, unsigned flags)
{
    if (!out || !bytes) return cudaErrorInvalidValue;
    CUdeviceptr address = 0;
    const cudaError_t status = CALL(cuMemAllocManaged, &address, bytes, flags);
    if (status == cudaSuccess) *out = (void *)address;
    return status;
}

static cudaError_t allocate_pitch(const struct sc_driver *driver, void **out, size_t *pitch, size_t width,
                                  size_t height)
{
    if (!out || !pitch) return cudaErrorInvalidValue;
    CUdeviceptr address = 0;
    size_t row = 0;
    /* 4 is the smallest element size that the driver accepts. */
    const cudaError_t status =
        width && height ? CALL(cuMemAllocPitch, &address, &row, width, height, 4) : cudaSuccess;
    if (status != cudaSuccess) return status;
    *out = (void *)address;
    *pitch = row;
    return cudaSuccess;
}

static cudaError_t allocate_3d(const struct sc_driver *driver, struct cudaPitchedPtr *out,
                               struct cudaExtent extent)
{
    if (!out) return cudaErrorInvalidValue;
    void *address = NULL;
    size_t pitch = 0, rows = 0;
    if (__builtin_mul_overflow(extent.height, extent.depth, &rows)) return cudaErrorMemoryAllocation;
    const cudaError_t status = allocate_pitch(driver, &address, &pitch, extent.width, rows);
    if (status != cudaSuccess) return status;
    *out = (struct cudaPitchedPtr){
        .ptr = address, .pitch = pitch, .xsize = extent.width, .ysize = extent.height};
    return cudaSuccess;
}

static cudaError_t allocate_host(const struct sc_driver *driver, void **out, size_t bytes, unsigned flags)
{
    if (!out) return cudaErrorInvalidValue;
    void *address = NULL;
    const cudaError_t status = bytes ? CALL(cuMemHostAlloc, &address, bytes, flags) : cudaSuccess;
    if (status == cudaSuccess) *out = address;
    return status;
}

static cudaError_t open_ipc(const struct sc_driver *driver, void **out, cudaIpcMemHandle_t handle,
                            unsigned flags)
{
    if (!out) return cudaErrorInvalidValue;
    CUdeviceptr address = 0;
    CUipcMemHandle converted;
    __builtin_memcpy(&converted, &handle, sizeof converted);
    const cudaError_t status = CALL(cuIpcOpenMemHandle, &address, converted, flags);
    if (status == cudaSuccess) *out = (void *)address;
    return status;
}

static cudaError_t pointer_attributes(const struct sc_driver *driver, struct cudaPointerAttributes *out,
                                      const void *pointer)
{
    if (!out || !pointer) return cudaErrorInvalidValue;
    unsigned type = 0, managed = 0;
    int ordinal = cudaInvalidDeviceId;
    CUdeviceptr device = 0;
    void *host = NULL;
    CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                   CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
                                   CU_POINTER_ATTRIBUTE_HOST_POINTER};
    void *values[] = {&type, &managed, &ordinal, &device, &host};
    const cudaError_t status =
        CALL(cuPointerGetAttributes, sizeof names / sizeof names[0], names, values, (CUdeviceptr)pointer);
    if (status != cudaSuccess) return status;
    if (type == 0 && !managed) { /* the address is unknown to the driver */
        *out = (struct cudaPointerAttributes){.type = cudaMemoryTypeUnregistered,
                                              .device = cudaInvalidDeviceId,
                                              .hostPointer = (void *)pointer};
        return cudaSuccess;
    }
    *out = (struct cudaPointerAttributes){
        .type = managed                        ? cudaMemoryTypeManaged
                : type == CU_MEMORYTYPE_DEVICE ? cudaMemoryTypeDevice
                                               : cudaMemoryTypeHost,
        .device = ordinal,
        .devicePointer = (void *)device,
        .hostPointer = host,
    };
    return cudaSuccess;
}

SC_API(cudaMalloc, (void **out, size_t bytes), allocate(driver, out, bytes))
SC_API(cudaMallocManaged, (void **out, size_t bytes, unsigned int flags),
       allocate_managed(driver, out, bytes, flags))
SC_API(cudaMallocPitch, (void **out, size_t *pitch, size_t width, size_t height),
       allocate_pitch(driver, out, pitch, width, height))
SC_API(cudaMalloc3D, (struct cudaPitchedPtr * out, struct cudaExtent extent),
       allocate_3d(driver, out, extent))
SC_API(cudaMallocHost, (void **out, size_t bytes), allocate_host(driver, out, bytes, 0))
SC_API(cudaHostAlloc, (void **out, size_t bytes, unsigned int flags),
       allocate_host(driver, out, bytes, flags))
SC_API(cudaFree, (void *address), address ? CALL(cuMemFree, (CUdeviceptr)address) : cudaSuccess)
SC_API(cudaFreeHost, (void *address), address ? CALL(cuMemFreeHost, address) : cudaSuccess)
SC_API(cudaHostRegister, (void *address, size_t bytes, unsigned int flags),
       CALL(cuMemHostRegister, address, bytes, flags))
SC_API(cudaHostUnregister, (void *address), CALL(cuMemHostUnregister, address))
SC_API(cudaHostGetDevicePointer, (void **device, void *host, unsigned int flags),
       CALL(cuMemHostGetDevicePointer, (CUdeviceptr *)device, host, flags))
SC_API(cudaHostGetFlags, (unsigned int *flags, void *host), CALL(cuMemHostGetFlags, flags, host))
SC_API(cudaMemGetInfo, (size_t * free_bytes, size_t *total_bytes),
       CALL(cuMemGetInfo, free_bytes, total_bytes))
SC_API(cudaPointerGetAttributes, (struct cudaPointerAttributes * attributes, const void *pointer),
       pointer_attributes(driver, attributes, pointer))

SC_API(cudaIpcGetMemHandle, (cudaIpcMemHandle_t * handle, void *address),
       CALL(cuIpcGetMemHandle, (CUipcMemHandle *)handle, (CUdeviceptr)address))
SC_API(cudaIpcOpenMemHandle, (void **out, cudaIpcMemHandle_t handle, unsigned int flags),
       open_ipc(driver, out, handle, flags))
SC_API(cudaIpcCloseMemHandle, (void *address), CALL(cuIpcCloseMemHandle, (CUdeviceptr)address))

SC_API(cudaMemAdvise,
       (const void *address, size_t bytes, enum cudaMemoryAdvise advice, struct cudaMemLocation location),
       CALL(cuMemAdvise, (CUdeviceptr)address, bytes, (CUmem_advise)advice, driver_location(location)))
SC_API(cudaMemRangeGetAttribute,
       (void *data, size_t data_bytes, enum cudaMemRangeAttribute attribute, const void *address,
        size_t bytes),
       CALL(cuMemRangeGetAttribute, data, data_bytes, (CUmem_range_attribute)attribute, (CUdeviceptr)address,
            bytes))
SC_API(cudaMemRangeGetAttributes,
       (void **data, size_t *data_bytes, enum cudaMemRangeAttribute *attributes, size_t count,
        const void *address, size_t bytes),
       CALL(cuMemRangeGetAttributes, data, data_bytes, (CUmem_range_attribute *)attributes, count,
            (CUdeviceptr)address, bytes))
SC_STREAM_API(cudaMemPrefetchAsync, _ptsz,
              (const void *address, size_t bytes, struct cudaMemLocation location, unsigned int flags,
               cudaStream_t stream),
              CALL(cuMemPrefetchAsync, (CUdeviceptr)address, bytes, driver_location(location), flags, stream))
SC_STREAM_API(cudaMemPrefetchBatchAsync, _ptsz,
              (void **addresses, size_t *bytes, size_t count, struct cudaMemLocation *locations,
               size_t *indices, size_t location_count, unsigned long long flags, cudaStream_t stream),
              CALL(cuMemPrefetchBatchAsync, (CUdeviceptr *)addresses, bytes, count,
                   (CUmemLocation *)locations, indices, location_count, flags, stream))
SC_STREAM_API(cudaMemDiscardBatchAsync, _ptsz,
              (void **addresses, size_t *bytes, size_t count, unsigned long long flags, cudaStream_t stream),
              CALL(cuMemDiscardBatchAsync, (CUdeviceptr *)addresses, bytes, count, flags, stream))
SC_STREAM_API(cudaMemDiscardAndPrefetchBatchAsync, _ptsz,
              (void **addresses, size_t *bytes, size_t count, struct cudaMemLocation *locations,
               size_t *indices, size_t location_count, unsigned long long flags, cudaStream_t stream),
              CALL(cuMemDiscardAndPrefetchBatchAsync, (CUdeviceptr *)addresses, bytes, count,
                   (CUmemLocation *)locations, indices, location_count, flags, stream))
