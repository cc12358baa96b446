/* Allocation in stream order. Memory of suitable pools is ours: the core makes a stream that reuses memory
 * wait for the streams that used it before. While a stream captures, the memory belongs to its graph but is
 * still ours (captured_memory.h). */
#include "captured_memory.h"
#include "charge.h"
#include "driver.h"
#include "driver_status.h"
#include "memory.h"
#include "pools.h"
#include "stream_state.h"
#include "work.h"

/* Charges what the driver's pool holds beyond the individually charged allocations. */
static void charge_reserve(CUmemoryPool pool)
{
    const struct sl_cuda_driver *driver = sl_driver_functions();
    cuuint64_t reserved, used;
    bool known =
        driver && driver->pool_get_attribute &&
        driver->pool_get_attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved) == CUDA_SUCCESS &&
        driver->pool_get_attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used) == CUDA_SUCCESS;
    if (!known) return;
    if (reserved > used)
        sl_charge(SL_CHARGE_POOL, (uintptr_t)pool, reserved - used);
    else
        sl_uncharge(SL_CHARGE_POOL, (uintptr_t)pool);
}

/* Whether memory from the driver lies on a managed device, whose core is then selected for the thread: pools
 * may be anywhere. */
static bool on_our_device(CUdeviceptr address)
{
    const struct sl_cuda_driver *driver = sl_driver_functions();
    unsigned type = 0;
    int ordinal = -1;
    return driver->pointer_get_attribute &&
           driver->pointer_get_attribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) == CUDA_SUCCESS &&
           driver->pointer_get_attribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address) ==
               CUDA_SUCCESS &&
           type == CU_MEMORYTYPE_DEVICE && sl_session_turn_to_device(ordinal);
}

static CUmemoryPool pool_of(CUdeviceptr address)
{
    const struct sl_cuda_driver *driver = sl_driver_functions();
    CUmemoryPool pool = NULL;
    bool known =
        driver && driver->pointer_get_attribute &&
        driver->pointer_get_attribute(&pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, address) == CUDA_SUCCESS;
    return known ? pool : NULL;
}

/* False: ask the driver. `pool` NULL: the device's current one. */
static bool take_ours(struct sl_call call, CUdeviceptr *address, size_t bytes, CUmemoryPool pool,
                      CUstream stream, CUresult *result)
{
    uint32_t number = sl_runtime_records_only() ? 0 : pool ? sl_pool_number(pool) : sl_pool_current();
    if (!number) return false;
    *result = CUDA_ERROR_OUT_OF_MEMORY;
    if (number == SL_NONE) return true;
    *result = sl_driver_fault();
    if (*result != CUDA_SUCCESS) return true;
    *result = CUDA_ERROR_OUT_OF_MEMORY;
    sl_captured_settle();
    struct sl_answer captures = sl_stream_captures(sl_work_stream(call, stream), NULL);
    if (sl_is_yes(captures))
        return sl_captured_alloc(call, sl_work_stream(call, stream), bytes, address, result);
    if (!sl_is_no(captures)) return false; /* the driver knows what it is */
    if (!sl_pool_take(number, bytes)) return true;
    uint64_t given;
    enum sl_status status = sl_runtime_alloc(bytes, sl_site_here(call.caller), number,
                                             &(sl_stream){sl_work_stream(call, stream)}, &given);
    if (status == SL_OK)
        *address = given;
    else
        sl_pool_give(number, bytes);
    return sl_memory_status(status, result);
}

/* What a capture allocates is charged with its graph. */
static void charge_driver_s(struct sl_call call, CUdeviceptr address, size_t bytes, CUstream stream)
{
    if (!sl_session_charges() || sl_is_yes(sl_stream_captures(sl_work_stream(call, stream), NULL)) ||
        !on_our_device(address))
        return;
    CUmemoryPool pool = pool_of(address);
    sl_charge(SL_CHARGE_ADDRESS, address, bytes);
    if (pool) charge_reserve(pool);
    sl_memory_note(call, address, bytes);
}

CUresult sl_hook_cuMemAllocAsync(struct sl_call call, sl_fn_cuMemAllocAsync *real, CUdeviceptr *address,
                                 size_t bytes, CUstream stream)
{
    CUresult result;
    bool on = address && bytes && sl_session_on_for_memory() && sl_session_on_stream(stream);
    if (on && take_ours(call, address, bytes, NULL, stream, &result))
        return sl_memory_answer(call, result, bytes);
    result = real(address, bytes, stream);
    if (result == CUDA_SUCCESS) charge_driver_s(call, *address, bytes, stream);
    return sl_memory_answer(call, result, bytes);
}

CUresult sl_hook_cuMemAllocFromPoolAsync(struct sl_call call, sl_fn_cuMemAllocFromPoolAsync *real,
                                         CUdeviceptr *address, size_t bytes, CUmemoryPool pool,
                                         CUstream stream)
{
    CUresult result;
    bool on = address && bytes && pool && sl_session_on_for_memory() && sl_session_on_stream(stream);
    if (on && take_ours(call, address, bytes, pool, stream, &result))
        return sl_memory_answer(call, result, bytes);
    result = real(address, bytes, pool, stream);
    if (result == CUDA_SUCCESS) charge_driver_s(call, *address, bytes, stream);
    return sl_memory_answer(call, result, bytes);
}

/* Frees memory of ours. False: ask the driver, which refuses: during a capture it accepts memory of graphs
 * only. Where it is not known whether the stream captures, the memory is kept. */
static bool free_ours(CUdeviceptr address, CUstream stream, CUresult *result)
{
    struct sl_answer captures = sl_stream_captures(stream, result);
    if (sl_is_yes(captures)) return sl_captured_free_in_order(address, stream, result);
    if (!sl_is_no(captures)) return true;
    if (!sl_captured_free(address, &stream, result)) *result = sl_memory_give_async(address, stream);
    return true;
}

/* The driver accepts cuMemAlloc's memory here too, but not managed memory. */
CUresult sl_hook_cuMemFreeAsync(struct sl_call call, sl_fn_cuMemFreeAsync *real, CUdeviceptr address,
                                CUstream stream)
{
    CUresult freed;
    if (sl_session_owns(address)) {
        CUresult refusal = sl_driver_refusal(address);
        if (refusal != CUDA_SUCCESS) return refusal;
        return free_ours(address, sl_work_stream(call, stream), &freed) ? freed : real(address, stream);
    }
    CUmemoryPool pool = sl_runtime_running() ? pool_of(address) : NULL;
    struct sl_noted noted;
    bool known = sl_runtime_note_free(address, &noted);
    uint64_t bytes = sl_uncharge(SL_CHARGE_ADDRESS, address);
    CUresult result = real(address, stream);
    if (result != CUDA_SUCCESS && known) sl_runtime_note_alloc(noted.address, noted.bytes, noted.site);
    if (result != CUDA_SUCCESS)
        sl_charge(SL_CHARGE_ADDRESS, address, bytes);
    else if (pool && bytes) /* it was charged, so it was on a managed device */
        charge_reserve(pool);
    return result;
}

/* Memory that other processes can open, or that hardware decompresses into, is the driver's; so are pools of
 * host and of managed memory. */
static bool can_be_ours(const CUmemPoolProps *properties)
{
#if CUDA_VERSION >= 12080
    if (properties->usage) return false;
#endif
    return properties->allocType == CU_MEM_ALLOCATION_TYPE_PINNED &&
           properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
           properties->handleTypes == CU_MEM_HANDLE_TYPE_NONE;
}

CUresult sl_hook_cuMemPoolCreate(struct sl_call call, sl_fn_cuMemPoolCreate *real, CUmemoryPool *pool,
                                 const CUmemPoolProps *properties)
{
    (void)call;
    CUresult result = real(pool, properties);
    if (result != CUDA_SUCCESS || !can_be_ours(properties) ||
        sl_pool_made(*pool, properties->location.id, properties->maxSize))
        return result;
    sl_real.f_cuMemPoolDestroy(*pool);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult sl_hook_cuMemPoolDestroy(struct sl_call call, sl_fn_cuMemPoolDestroy *real, CUmemoryPool pool)
{
    (void)call;
    CUresult result = real(pool);
    if (result != CUDA_SUCCESS) return result;
    sl_pool_destroyed(pool);
    sl_uncharge(SL_CHARGE_POOL, (uintptr_t)pool);
    return result;
}

CUresult sl_hook_cuDeviceSetMemPool(struct sl_call call, sl_fn_cuDeviceSetMemPool *real, CUdevice device,
                                    CUmemoryPool pool)
{
    (void)call;
    CUresult result = real(device, pool);
    sl_pool_current_changed();
    return result;
}

CUresult sl_hook_cuMemSetMemPool(struct sl_call call, sl_fn_cuMemSetMemPool *real, CUmemLocation *location,
                                 CUmemAllocationType type, CUmemoryPool pool)
{
    (void)call;
    CUresult result = real(location, type, pool);
    sl_pool_current_changed();
    return result;
}

/* Freed memory of ours is not kept in the pool, so only the driver's memory is trimmed. */
CUresult sl_hook_cuMemPoolTrimTo(struct sl_call call, sl_fn_cuMemPoolTrimTo *real, CUmemoryPool pool,
                                 size_t keep_bytes)
{
    (void)call;
    CUresult result = real(pool, keep_bytes);
    if (result == CUDA_SUCCESS && sl_uncharge(SL_CHARGE_POOL, (uintptr_t)pool)) charge_reserve(pool);
    return result;
}

CUresult sl_hook_cuMemPoolGetAttribute(struct sl_call call, sl_fn_cuMemPoolGetAttribute *real,
                                       CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
    (void)call;
    CUresult result = real(pool, attribute, value);
    if (result != CUDA_SUCCESS || !sl_runtime_running()) return result;
    uint64_t ours = sl_pool_bytes(pool, attribute);
    if (ours) *(cuuint64_t *)value += ours;
    return result;
}

CUresult sl_hook_cuMemPoolSetAttribute(struct sl_call call, sl_fn_cuMemPoolSetAttribute *real,
                                       CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
    (void)call;
    CUresult result = real(pool, attribute, value);
    if (result == CUDA_SUCCESS) sl_pool_reset_high(pool, attribute);
    return result;
}
