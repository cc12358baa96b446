/* The program's advice about memory. To the program its memory comes from cuMemAlloc, for which the driver
 * refuses advice. Underneath it is managed memory; advice or a prefetch there would move data that only the
 * core may move. The program's own managed memory passes through. */
#include "core/runtime.h"
#include "driver.h"
#include "driver_status.h"
#include "session.h"

/* The driver's error for advice on device memory, if it would get so far. */
static CUresult refuse(CUdeviceptr address)
{
    return sl_driver_refusal_or(address, CUDA_ERROR_INVALID_VALUE);
}

static bool any_is_ours(const CUdeviceptr *addresses, const size_t *bytes, size_t count)
{
    if (!addresses || !bytes || !sl_runtime_running()) return false;
    for (size_t i = 0; i < count; i++)
        if (sl_session_owns_part(addresses[i], bytes[i])) return true;
    return false;
}

CUresult sl_hook_cuMemAdvise(struct sl_call call, sl_fn_cuMemAdvise *real, CUdeviceptr address, size_t bytes,
                             CUmem_advise advice, CUdevice device)
{
    (void)call;
    return sl_session_owns_part(address, bytes) ? refuse(address) : real(address, bytes, advice, device);
}

CUresult sl_hook_cuMemAdvise_v2(struct sl_call call, sl_fn_cuMemAdvise_v2 *real, CUdeviceptr address,
                                size_t bytes, CUmem_advise advice, CUmemLocation location)
{
    (void)call;
    return sl_session_owns_part(address, bytes) ? refuse(address) : real(address, bytes, advice, location);
}

CUresult sl_hook_cuMemPrefetchAsync(struct sl_call call, sl_fn_cuMemPrefetchAsync *real, CUdeviceptr address,
                                    size_t bytes, CUdevice device, CUstream stream)
{
    (void)call;
    return sl_session_owns_part(address, bytes) ? refuse(address) : real(address, bytes, device, stream);
}

CUresult sl_hook_cuMemPrefetchAsync_v2(struct sl_call call, sl_fn_cuMemPrefetchAsync_v2 *real,
                                       CUdeviceptr address, size_t bytes, CUmemLocation location,
                                       unsigned flags, CUstream stream)
{
    (void)call;
    return sl_session_owns_part(address, bytes) ? refuse(address)
                                                : real(address, bytes, location, flags, stream);
}

CUresult sl_hook_cuMemPrefetchBatchAsync(struct sl_call call, sl_fn_cuMemPrefetchBatchAsync *real,
                                         CUdeviceptr *addresses, size_t *bytes, size_t count,
                                         CUmemLocation *locations, size_t *location_starts,
                                         size_t location_count, unsigned long long flags, CUstream stream)
{
    (void)call;
    if (any_is_ours(addresses, bytes, count)) return refuse(0);
    return real(addresses, bytes, count, locations, location_starts, location_count, flags, stream);
}

CUresult sl_hook_cuMemDiscardBatchAsync(struct sl_call call, sl_fn_cuMemDiscardBatchAsync *real,
                                        CUdeviceptr *addresses, size_t *bytes, size_t count,
                                        unsigned long long flags, CUstream stream)
{
    (void)call;
    if (any_is_ours(addresses, bytes, count)) return refuse(0);
    return real(addresses, bytes, count, flags, stream);
}

CUresult sl_hook_cuMemDiscardAndPrefetchBatchAsync(struct sl_call call,
                                                   sl_fn_cuMemDiscardAndPrefetchBatchAsync *real,
                                                   CUdeviceptr *addresses, size_t *bytes, size_t count,
                                                   CUmemLocation *locations, size_t *location_starts,
                                                   size_t location_count, unsigned long long flags,
                                                   CUstream stream)
{
    (void)call;
    if (any_is_ours(addresses, bytes, count)) return refuse(0);
    return real(addresses, bytes, count, locations, location_starts, location_count, flags, stream);
}

CUresult sl_hook_cuMemRangeGetAttribute(struct sl_call call, sl_fn_cuMemRangeGetAttribute *real, void *value,
                                        size_t value_bytes, CUmem_range_attribute attribute,
                                        CUdeviceptr address, size_t bytes)
{
    (void)call;
    return sl_session_owns_part(address, bytes) ? refuse(address)
                                                : real(value, value_bytes, attribute, address, bytes);
}

CUresult sl_hook_cuMemRangeGetAttributes(struct sl_call call, sl_fn_cuMemRangeGetAttributes *real,
                                         void **values, size_t *value_bytes,
                                         CUmem_range_attribute *attributes, size_t count, CUdeviceptr address,
                                         size_t bytes)
{
    (void)call;
    return sl_session_owns_part(address, bytes)
               ? refuse(address)
               : real(values, value_bytes, attributes, count, address, bytes);
}

CUresult sl_hook_cuStreamAttachMemAsync(struct sl_call call, sl_fn_cuStreamAttachMemAsync *real,
                                        CUstream stream, CUdeviceptr address, size_t bytes, unsigned flags)
{
    (void)call;
    return sl_session_owns_part(address, bytes) ? refuse(address) : real(stream, address, bytes, flags);
}
