/* Memory pools and stream-ordered allocation. */
#include "state.h"

_Static_assert(sizeof(struct cudaMemPoolProps) == sizeof(CUmemPoolProps), "handed on as they are");
_Static_assert(sizeof(struct cudaMemAccessDesc) == sizeof(CUmemAccessDesc), "handed on as they are");
_Static_assert(sizeof(struct cudaMemLocation) == sizeof(CUmemLocation), "handed on as they are");
_Static_assert(sizeof(struct cudaMemPoolPtrExportData) == sizeof(CUmemPoolPtrExportData),
               "handed on as they are");

static cudaError_t allocate_async(const struct sc_driver *driver, void **out, size_t bytes, CUmemoryPool pool,
                                  cudaStream_t stream)
{
    if (!out) return cudaErrorInvalidValue;
    CUdeviceptr address = 0;
    cudaError_t status = cudaSuccess;
    if (bytes)
        status = pool ? CALL(cuMemAllocFromPoolAsync, &address, bytes, pool, stream)
                      : CALL(cuMemAllocAsync, &address, bytes, stream);
    if (status == cudaSuccess) *out = (void *)address;
    return status;
}

SC_STREAM_API(cudaMallocAsync, _ptsz, (void **out, size_t bytes, cudaStream_t stream),
              allocate_async(driver, out, bytes, NULL, stream))
SC_STREAM_API(cudaMallocFromPoolAsync, _ptsz,
              (void **out, size_t bytes, cudaMemPool_t pool, cudaStream_t stream),
              pool ? allocate_async(driver, out, bytes, pool, stream) : cudaErrorInvalidValue)
SC_STREAM_API(cudaFreeAsync, _ptsz, (void *address, cudaStream_t stream),
              address ? CALL(cuMemFreeAsync, (CUdeviceptr)address, stream) : cudaSuccess)
SC_API(cudaMemPoolCreate, (cudaMemPool_t * pool, const struct cudaMemPoolProps *properties),
       CALL(cuMemPoolCreate, pool, (const CUmemPoolProps *)properties))
SC_API(cudaMemPoolDestroy, (cudaMemPool_t pool), CALL(cuMemPoolDestroy, pool))
SC_API(cudaMemPoolTrimTo, (cudaMemPool_t pool, size_t bytes), CALL(cuMemPoolTrimTo, pool, bytes))
SC_API(cudaMemPoolSetAttribute, (cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value),
       CALL(cuMemPoolSetAttribute, pool, (CUmemPool_attribute)attribute, value))
SC_API(cudaMemPoolGetAttribute, (cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value),
       CALL(cuMemPoolGetAttribute, pool, (CUmemPool_attribute)attribute, value))
SC_API(cudaMemPoolSetAccess, (cudaMemPool_t pool, const struct cudaMemAccessDesc *access, size_t count),
       CALL(cuMemPoolSetAccess, pool, (const CUmemAccessDesc *)access, count))
SC_API(cudaMemPoolGetAccess,
       (enum cudaMemAccessFlags * flags, cudaMemPool_t pool, struct cudaMemLocation *location),
       CALL(cuMemPoolGetAccess, (CUmemAccess_flags *)flags, pool, (CUmemLocation *)location))
SC_API(cudaMemPoolExportToShareableHandle,
       (void *handle, cudaMemPool_t pool, enum cudaMemAllocationHandleType type, unsigned int flags),
       CALL(cuMemPoolExportToShareableHandle, handle, pool, (CUmemAllocationHandleType)type, flags))
SC_API(cudaMemPoolImportFromShareableHandle,
       (cudaMemPool_t * pool, void *handle, enum cudaMemAllocationHandleType type, unsigned int flags),
       CALL(cuMemPoolImportFromShareableHandle, pool, handle, (CUmemAllocationHandleType)type, flags))
SC_API(cudaMemPoolExportPointer, (struct cudaMemPoolPtrExportData * data, void *address),
       CALL(cuMemPoolExportPointer, (CUmemPoolPtrExportData *)data, (CUdeviceptr)address))
SC_API(cudaMemPoolImportPointer, (void **address, cudaMemPool_t pool, struct cudaMemPoolPtrExportData *data),
       CALL(cuMemPoolImportPointer, (CUdeviceptr *)address, pool, (CUmemPoolPtrExportData *)data))
SC_API(cudaMemGetDefaultMemPool,
       (cudaMemPool_t * pool, struct cudaMemLocation *location, enum cudaMemAllocationType type),
       CALL(cuMemGetDefaultMemPool, pool, (CUmemLocation *)location, (CUmemAllocationType)type))
SC_API(cudaMemGetMemPool,
       (cudaMemPool_t * pool, struct cudaMemLocation *location, enum cudaMemAllocationType type),
       CALL(cuMemGetMemPool, pool, (CUmemLocation *)location, (CUmemAllocationType)type))
SC_API(cudaMemSetMemPool,
       (struct cudaMemLocation * location, enum cudaMemAllocationType type, cudaMemPool_t pool),
       CALL(cuMemSetMemPool, (CUmemLocation *)location, (CUmemAllocationType)type, pool))
