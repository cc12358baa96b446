/* Copies and memsets, of memory and of symbols. */
#include "copy.h"

#include "module.h"
#include "state.h"

#include <string.h>

/* A copy has a direction; cudaMemcpyDefault leaves it to the driver, which knows every address. */
static cudaError_t copy(const struct sc_driver *driver, void *to, const void *from, size_t bytes,
                        enum cudaMemcpyKind kind)
{
    if (bytes == 0) return cudaSuccess;
    if (!to || !from) return cudaErrorInvalidValue;
    switch (kind) {
    case cudaMemcpyHostToDevice:
        return CALL(cuMemcpyHtoD, (CUdeviceptr)to, from, bytes);
    case cudaMemcpyDeviceToHost:
        return CALL(cuMemcpyDtoH, to, (CUdeviceptr)from, bytes);
    case cudaMemcpyDeviceToDevice:
        return CALL(cuMemcpyDtoD, (CUdeviceptr)to, (CUdeviceptr)from, bytes);
    case cudaMemcpyHostToHost:
    case cudaMemcpyDefault:
        return CALL(cuMemcpy, (CUdeviceptr)to, (CUdeviceptr)from, bytes);
    }
    return cudaErrorInvalidMemcpyDirection;
}

static cudaError_t copy_async(const struct sc_driver *driver, void *to, const void *from, size_t bytes,
                              enum cudaMemcpyKind kind, cudaStream_t stream)
{
    if (bytes == 0) return cudaSuccess;
    if (!to || !from) return cudaErrorInvalidValue;
    switch (kind) {
    case cudaMemcpyHostToDevice:
        return CALL(cuMemcpyHtoDAsync, (CUdeviceptr)to, from, bytes, stream);
    case cudaMemcpyDeviceToHost:
        return CALL(cuMemcpyDtoHAsync, to, (CUdeviceptr)from, bytes, stream);
    case cudaMemcpyDeviceToDevice:
        return CALL(cuMemcpyDtoDAsync, (CUdeviceptr)to, (CUdeviceptr)from, bytes, stream);
    case cudaMemcpyHostToHost:
    case cudaMemcpyDefault:
        return CALL(cuMemcpyAsync, (CUdeviceptr)to, (CUdeviceptr)from, bytes, stream);
    }
    return cudaErrorInvalidMemcpyDirection;
}

/* The driver's memory types of both sides of a copy. */
static cudaError_t memory_types(enum cudaMemcpyKind kind, CUmemorytype *to, CUmemorytype *from)
{
    switch (kind) {
    case cudaMemcpyHostToHost:
        *from = *to = CU_MEMORYTYPE_HOST;
        return cudaSuccess;
    case cudaMemcpyHostToDevice:
        *from = CU_MEMORYTYPE_HOST;
        *to = CU_MEMORYTYPE_DEVICE;
        return cudaSuccess;
    case cudaMemcpyDeviceToHost:
        *from = CU_MEMORYTYPE_DEVICE;
        *to = CU_MEMORYTYPE_HOST;
        return cudaSuccess;
    case cudaMemcpyDeviceToDevice:
        *from = *to = CU_MEMORYTYPE_DEVICE;
        return cudaSuccess;
    case cudaMemcpyDefault:
        *from = *to = CU_MEMORYTYPE_UNIFIED;
        return cudaSuccess;
    }
    return cudaErrorInvalidMemcpyDirection;
}

struct rectangle {
    void *to;
    size_t to_pitch;
    const void *from;
    size_t from_pitch, width, height;
};

static cudaError_t describe_2d(const struct rectangle *r, enum cudaMemcpyKind kind, CUDA_MEMCPY2D *out)
{
    CUmemorytype to = CU_MEMORYTYPE_UNIFIED, from = CU_MEMORYTYPE_UNIFIED;
    const cudaError_t status = memory_types(kind, &to, &from);
    if (status != cudaSuccess) return status;
    if (r->to_pitch < r->width || r->from_pitch < r->width) return cudaErrorInvalidPitchValue;
    if (!r->to || !r->from) return cudaErrorInvalidValue;
    *out = (CUDA_MEMCPY2D){
        .srcMemoryType = from,
        .srcHost = r->from,
        .srcDevice = (CUdeviceptr)r->from,
        .srcPitch = r->from_pitch,
        .dstMemoryType = to,
        .dstHost = r->to,
        .dstDevice = (CUdeviceptr)r->to,
        .dstPitch = r->to_pitch,
        .WidthInBytes = r->width,
        .Height = r->height,
    };
    return cudaSuccess;
}

static cudaError_t copy_2d(const struct sc_driver *driver, struct rectangle r, enum cudaMemcpyKind kind)
{
    CUDA_MEMCPY2D description;
    if (!r.width || !r.height) return cudaSuccess;
    const cudaError_t status = describe_2d(&r, kind, &description);
    return status == cudaSuccess ? CALL(cuMemcpy2DUnaligned, &description) : status;
}

static cudaError_t copy_2d_async(const struct sc_driver *driver, struct rectangle r, enum cudaMemcpyKind kind,
                                 cudaStream_t stream)
{
    CUDA_MEMCPY2D description;
    if (!r.width || !r.height) return cudaSuccess;
    const cudaError_t status = describe_2d(&r, kind, &description);
    return status == cudaSuccess ? CALL(cuMemcpy2DAsync, &description, stream) : status;
}

cudaError_t sc_describe_3d(const struct cudaMemcpy3DParms *p, CUDA_MEMCPY3D *out)
{
    if (!p) return cudaErrorInvalidValue;
    if (p->srcArray || p->dstArray) return cudaErrorNotSupported; /* this device has no arrays */
    CUmemorytype to = CU_MEMORYTYPE_UNIFIED, from = CU_MEMORYTYPE_UNIFIED;
    const cudaError_t status = memory_types(p->kind, &to, &from);
    if (status != cudaSuccess) return status;
    if (!p->srcPtr.ptr || !p->dstPtr.ptr) return cudaErrorInvalidValue;
    *out = (CUDA_MEMCPY3D){
        .srcXInBytes = p->srcPos.x,
        .srcY = p->srcPos.y,
        .srcZ = p->srcPos.z,
        .srcMemoryType = from,
        .srcHost = p->srcPtr.ptr,
        .srcDevice = (CUdeviceptr)p->srcPtr.ptr,
        .srcPitch = p->srcPtr.pitch,
        .srcHeight = p->srcPtr.ysize,
        .dstXInBytes = p->dstPos.x,
        .dstY = p->dstPos.y,
        .dstZ = p->dstPos.z,
        .dstMemoryType = to,
        .dstHost = p->dstPtr.ptr,
        .dstDevice = (CUdeviceptr)p->dstPtr.ptr,
        .dstPitch = p->dstPtr.pitch,
        .dstHeight = p->dstPtr.ysize,
        .WidthInBytes = p->extent.width,
        .Height = p->extent.height,
        .Depth = p->extent.depth,
    };
    return cudaSuccess;
}

static enum cudaMemcpyKind kind_of(CUmemorytype to, CUmemorytype from)
{
    if (to == CU_MEMORYTYPE_UNIFIED || from == CU_MEMORYTYPE_UNIFIED) return cudaMemcpyDefault;
    if (to == CU_MEMORYTYPE_HOST)
        return from == CU_MEMORYTYPE_HOST ? cudaMemcpyHostToHost : cudaMemcpyDeviceToHost;
    return from == CU_MEMORYTYPE_HOST ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToDevice;
}

void sc_describe_runtime_3d(const CUDA_MEMCPY3D *p, struct cudaMemcpy3DParms *out)
{
    void *from = p->srcMemoryType == CU_MEMORYTYPE_HOST ? (void *)p->srcHost : (void *)p->srcDevice;
    void *to = p->dstMemoryType == CU_MEMORYTYPE_HOST ? p->dstHost : (void *)p->dstDevice;
    *out = (struct cudaMemcpy3DParms){
        .srcPos = {p->srcXInBytes, p->srcY, p->srcZ},
        .srcPtr = {from, p->srcPitch, p->WidthInBytes, p->srcHeight},
        .dstPos = {p->dstXInBytes, p->dstY, p->dstZ},
        .dstPtr = {to, p->dstPitch, p->WidthInBytes, p->dstHeight},
        .extent = {p->WidthInBytes, p->Height, p->Depth},
        .kind = kind_of(p->dstMemoryType, p->srcMemoryType),
    };
}

cudaError_t sc_copy_3d(const struct sc_driver *driver, const struct cudaMemcpy3DParms *p)
{
    CUDA_MEMCPY3D description;
    const cudaError_t status = sc_describe_3d(p, &description);
    return status == cudaSuccess ? CALL(cuMemcpy3D, &description) : status;
}

cudaError_t sc_copy_3d_async(const struct sc_driver *driver, const struct cudaMemcpy3DParms *p,
                             cudaStream_t stream)
{
    CUDA_MEMCPY3D description;
    const cudaError_t status = sc_describe_3d(p, &description);
    return status == cudaSuccess ? CALL(cuMemcpy3DAsync, &description, stream) : status;
}

cudaError_t sc_symbol_part(const struct sc_driver *driver, const void *symbol, size_t bytes, size_t offset,
                           void **out)
{
    CUdeviceptr address = 0;
    size_t size = 0;
    const cudaError_t status = sc_symbol_find(driver, symbol, &address, &size);
    if (status != cudaSuccess) return status;
    if (offset > size || bytes > size - offset) return cudaErrorInvalidValue;
    *out = (void *)(address + offset);
    return cudaSuccess;
}

static cudaError_t to_symbol(const struct sc_driver *driver, const void *symbol, const void *from,
                             size_t bytes, size_t offset, enum cudaMemcpyKind kind, bool async,
                             cudaStream_t stream)
{
    void *to = NULL;
    if (kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToHost)
        return cudaErrorInvalidMemcpyDirection;
    const cudaError_t status = sc_symbol_part(driver, symbol, bytes, offset, &to);
    if (status != cudaSuccess) return status;
    return async ? copy_async(driver, to, from, bytes, kind, stream) : copy(driver, to, from, bytes, kind);
}

static cudaError_t from_symbol(const struct sc_driver *driver, void *to, const void *symbol, size_t bytes,
                               size_t offset, enum cudaMemcpyKind kind, bool async, cudaStream_t stream)
{
    void *from = NULL;
    if (kind == cudaMemcpyHostToDevice || kind == cudaMemcpyHostToHost)
        return cudaErrorInvalidMemcpyDirection;
    const cudaError_t status = sc_symbol_part(driver, symbol, bytes, offset, &from);
    if (status != cudaSuccess) return status;
    return async ? copy_async(driver, to, from, bytes, kind, stream) : copy(driver, to, from, bytes, kind);
}

static cudaError_t symbol_address(const struct sc_driver *driver, void **out, const void *symbol)
{
    CUdeviceptr address = 0;
    size_t bytes = 0;
    const cudaError_t status = out ? sc_symbol_find(driver, symbol, &address, &bytes) : cudaErrorInvalidValue;
    if (status == cudaSuccess) *out = (void *)address;
    return status;
}

static cudaError_t symbol_size(const struct sc_driver *driver, size_t *out, const void *symbol)
{
    CUdeviceptr address = 0;
    size_t bytes = 0;
    const cudaError_t status = out ? sc_symbol_find(driver, symbol, &address, &bytes) : cudaErrorInvalidValue;
    if (status == cudaSuccess) *out = bytes;
    return status;
}

#define RECTANGLE ((struct rectangle){to, to_pitch, from, from_pitch, width, height})

SC_STREAM_API(cudaMemcpy, _ptds, (void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind),
              copy(driver, to, from, bytes, kind))
SC_STREAM_API(cudaMemcpyAsync, _ptsz,
              (void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream),
              copy_async(driver, to, from, bytes, kind, stream))
/* Addresses are unified, so a copy between devices needs only the addresses. */
SC_API(cudaMemcpyPeer, (void *to, int to_device, const void *from, int from_device, size_t bytes),
       ((void)to_device, (void)from_device, copy(driver, to, from, bytes, cudaMemcpyDefault)))
SC_API(cudaMemcpyPeerAsync,
       (void *to, int to_device, const void *from, int from_device, size_t bytes, cudaStream_t stream),
       ((void)to_device, (void)from_device, copy_async(driver, to, from, bytes, cudaMemcpyDefault, stream)))
SC_STREAM_API(cudaMemcpy2D, _ptds,
              (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
               enum cudaMemcpyKind kind),
              copy_2d(driver, RECTANGLE, kind))
SC_STREAM_API(cudaMemcpy2DAsync, _ptsz,
              (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
               enum cudaMemcpyKind kind, cudaStream_t stream),
              copy_2d_async(driver, RECTANGLE, kind, stream))
SC_STREAM_API(cudaMemcpy3D, _ptds, (const struct cudaMemcpy3DParms *p), sc_copy_3d(driver, p))
SC_STREAM_API(cudaMemcpy3DAsync, _ptsz, (const struct cudaMemcpy3DParms *p, cudaStream_t stream),
              sc_copy_3d_async(driver, p, stream))
SC_STREAM_API(cudaMemcpyToSymbol, _ptds,
              (const void *symbol, const void *from, size_t bytes, size_t offset, enum cudaMemcpyKind kind),
              to_symbol(driver, symbol, from, bytes, offset, kind, false, NULL))
SC_STREAM_API(cudaMemcpyFromSymbol, _ptds,
              (void *to, const void *symbol, size_t bytes, size_t offset, enum cudaMemcpyKind kind),
              from_symbol(driver, to, symbol, bytes, offset, kind, false, NULL))
SC_STREAM_API(cudaMemcpyToSymbolAsync, _ptsz,
              (const void *symbol, const void *from, size_t bytes, size_t offset, enum cudaMemcpyKind kind,
               cudaStream_t stream),
              to_symbol(driver, symbol, from, bytes, offset, kind, true, stream))
SC_STREAM_API(cudaMemcpyFromSymbolAsync, _ptsz,
              (void *to, const void *symbol, size_t bytes, size_t offset, enum cudaMemcpyKind kind,
               cudaStream_t stream),
              from_symbol(driver, to, symbol, bytes, offset, kind, true, stream))
SC_API(cudaGetSymbolAddress, (void **address, const void *symbol), symbol_address(driver, address, symbol))
SC_API(cudaGetSymbolSize, (size_t * bytes, const void *symbol), symbol_size(driver, bytes, symbol))
SC_STREAM_API(cudaMemcpyBatchAsync, _ptsz,
              (void *const *to, const void *const *from, const size_t *bytes, size_t count,
               struct cudaMemcpyAttributes *attributes, size_t *indices, size_t attribute_count,
               cudaStream_t stream),
              CALL(cuMemcpyBatchAsync, (CUdeviceptr *)to, (CUdeviceptr *)from, (size_t *)bytes, count,
                   (CUmemcpyAttributes *)attributes, indices, attribute_count, stream))
