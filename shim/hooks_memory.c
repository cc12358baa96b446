/* Allocation: from the core if it accepts, otherwise from the driver with a charge. */
#include "caller.h"
#include "capture.h"
#include "captured_memory.h"
#include "charge.h"
#include "base/test_hooks.h"
#include "core/runtime.h"
#include "driver.h"
#include "driver_status.h"
#include "memory.h"
#include "pools.h"
#include "session.h"

#define PITCH_BYTES 512 /* alignment that every device wants for rows of textures and copies */

bool sl_memory_status(enum sl_status status, CUresult *result)
{
    if (status != SL_OK && status != SL_ERR_NO_MEMORY) return false;
    *result = status == SL_OK ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    return true;
}

bool sl_memory_take(struct sl_call call, CUdeviceptr *address, uint64_t bytes, CUresult *result)
{
    uint64_t given;
    enum sl_status status = sl_runtime_alloc(bytes, sl_site_here(call.caller), 0, NULL, &given);
    if (status == SL_OK) *address = given;
    return sl_memory_status(status, result);
}

CUresult sl_memory_answer(struct sl_call call, CUresult result, uint64_t bytes)
{
    sl_runtime_driver_gave();
    if (result != CUDA_SUCCESS && sl_runtime_tracing())
        sl_runtime_failed(SL_ERROR_ALLOCATION, result, 0, bytes, sl_site_here(call.caller));
    return result;
}

static CUresult given(enum sl_status status, const struct sl_allocation *freed)
{
    if (status != SL_OK) return CUDA_ERROR_INVALID_VALUE;
    sl_pool_give(freed->tag & SL_TAG_POOL, freed->bytes);
    return CUDA_SUCCESS;
}

/* Waits for all work. Where no stream can be waited for, the context is, unless a stream captures. */
static CUresult finish(void)
{
    if (sl_runtime_finish() == SL_OK) return CUDA_SUCCESS;
    if (sl_captures_any()) return sl_driver_refusal_or(0, CUDA_ERROR_OUT_OF_MEMORY); /* for notes */
    struct sl_sync_mark before = sl_runtime_synchronizing();
    CUresult result = sl_driver_functions()->ctx_synchronize();
    if (result == CUDA_SUCCESS) sl_runtime_synchronized(before);
    return result;
}

/* The driver waits for all work before it frees memory of cuMemAlloc, and programs rely on this when they
 * read host memory that kernels have written; not so for memory of pools. Precondition: the context that owns
 * `address` is current. */
static CUresult give(CUdeviceptr address)
{
    struct sl_allocation freed = {0};
    enum sl_status status = sl_runtime_free_everywhere(address, SL_FREE_IDLE, &freed);
    if (status != SL_ERR_UNSUPPORTED) return given(status, &freed);
    bool waits = !(freed.tag & SL_TAG_POOL) && SL_GUARD(FREE_FINISHES);
    CUresult waited = waits ? finish() : CUDA_SUCCESS;
    if (waited != CUDA_SUCCESS) return waited; /* not freed */
    return given(sl_runtime_free_everywhere(address, SL_FREE_NOW, &freed), &freed);
}

/* Whether the free is in the order of another managed context's stream. */
static bool is_of_another_core(CUdeviceptr address)
{
    uint32_t owner;
    return sl_cores_are_several() && sl_cores_owner(address, &owner) && sl_thread_core != owner;
}

CUresult sl_memory_give_async(CUdeviceptr address, sl_stream stream)
{
    struct sl_allocation freed = {0};
    bool known = sl_session_on_stream(stream), elsewhere = !known || is_of_another_core(address), entered;
    /* No core follows the streams of a context that is not managed. */
    if (!known && sl_runtime_running() && sl_driver_functions()->stream_synchronize(stream) != CUDA_SUCCESS)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!sl_session_enter(address, &entered)) return CUDA_ERROR_INVALID_CONTEXT;
    enum sl_status status = elsewhere ? sl_runtime_free_everywhere(address, SL_FREE_NOW, &freed)
                                      : sl_runtime_free_async(address, stream, &freed);
    sl_session_leave(entered);
    return given(status, &freed);
}

/* Allocates from the core for cuMemAlloc*. False: ask the driver. */
static bool alloc_ours(struct sl_call call, CUdeviceptr *address, uint64_t bytes, CUresult *result)
{
    if (!address || !bytes || !sl_session_on_for_memory() || sl_runtime_records_only()) return false;
    if (sl_caller_shares_memory(call.caller)) return false;
    sl_captured_settle();
    *result = sl_driver_fault();
    if (*result == CUDA_SUCCESS) *result = sl_capture_forbids();
    return *result != CUDA_SUCCESS || sl_memory_take(call, address, bytes, result);
}

static void charge_address(struct sl_call call, CUresult result, const CUdeviceptr *address, uint64_t bytes)
{
    if (result != CUDA_SUCCESS || !sl_session_charges()) return;
    sl_charge(SL_CHARGE_ADDRESS, *address, bytes);
    sl_memory_note(call, *address, bytes);
}

CUresult sl_hook_cuMemAlloc_v2(struct sl_call call, sl_fn_cuMemAlloc_v2 *real, CUdeviceptr *address,
                               size_t bytes)
{
    CUresult result;
    if (alloc_ours(call, address, bytes, &result)) return sl_memory_answer(call, result, bytes);
    result = real(address, bytes);
    charge_address(call, result, address, bytes);
    return sl_memory_answer(call, result, bytes);
}

CUresult sl_hook_cuMemAllocPitch_v2(struct sl_call call, sl_fn_cuMemAllocPitch_v2 *real, CUdeviceptr *address,
                                    size_t *pitch, size_t width_bytes, size_t height, unsigned element_bytes)
{
    CUresult result;
    uint64_t row = ((uint64_t)width_bytes + PITCH_BYTES - 1) / PITCH_BYTES * PITCH_BYTES, bytes;
    bool valid = pitch && (element_bytes == 4 || element_bytes == 8 || element_bytes == 16) &&
                 row >= width_bytes && !__builtin_mul_overflow(row, (uint64_t)height, &bytes);
    if (valid && alloc_ours(call, address, bytes, &result)) {
        if (result == CUDA_SUCCESS) *pitch = row;
        return sl_memory_answer(call, result, bytes);
    }
    result = real(address, pitch, width_bytes, height, element_bytes);
    if (result == CUDA_SUCCESS) charge_address(call, result, address, (uint64_t)*pitch * height);
    return sl_memory_answer(call, result, row * height);
}

static CUresult give_entered(CUdeviceptr address)
{
    CUresult result = sl_driver_fault();
    if (result == CUDA_SUCCESS) result = sl_capture_forbids();
    if (result != CUDA_SUCCESS) return result;
    if (!sl_captured_free(address, NULL, &result)) return give(address);
    return result == CUDA_SUCCESS ? finish() : result;
}

/* As with the driver, any context may be current, or none. */
static CUresult give_ours(CUdeviceptr address)
{
    bool entered;
    CUresult result = CUDA_SUCCESS;
    /* A context that is not managed may have work that uses the memory. */
    if (sl_runtime_running() && !sl_session_has_context() && !sl_captures_any())
        result = sl_driver_functions()->ctx_synchronize();
    bool none = result == CUDA_ERROR_INVALID_CONTEXT || result == CUDA_ERROR_CONTEXT_IS_DESTROYED;
    if (result != CUDA_SUCCESS && !none) return result; /* not freed */
    result = sl_session_enter(address, &entered) ? give_entered(address) : CUDA_ERROR_INVALID_CONTEXT;
    sl_session_leave(entered);
    return result;
}

CUresult sl_hook_cuMemFree_v2(struct sl_call call, sl_fn_cuMemFree_v2 *real, CUdeviceptr address)
{
    (void)call;
    if (sl_session_owns(address)) return give_ours(address);
    struct sl_noted noted;
    bool known = sl_runtime_note_free(address, &noted);
    uint64_t bytes = sl_uncharge(SL_CHARGE_ADDRESS, address);
    uint64_t began_ns = known ? sl_runtime_wait_begins() : 0;
    CUresult result = real(address);
    if (result == CUDA_SUCCESS && known) sl_runtime_wait_ended(began_ns, SL_SYNC_CONTEXT, 0);
    if (result != CUDA_SUCCESS) sl_charge(SL_CHARGE_ADDRESS, address, bytes);
    if (result != CUDA_SUCCESS && known) sl_runtime_note_alloc(noted.address, noted.bytes, noted.site);
    return result;
}

/* The program's own managed memory stays under the driver's control. */
CUresult sl_hook_cuMemAllocManaged(struct sl_call call, sl_fn_cuMemAllocManaged *real, CUdeviceptr *address,
                                   size_t bytes, unsigned flags)
{
    CUresult result = real(address, bytes, flags);
    charge_address(call, result, address, bytes);
    return sl_memory_answer(call, result, bytes);
}

/* The driver is asked first: it knows whether the call is valid. */
CUresult sl_hook_cuMemGetInfo_v2(struct sl_call call, sl_fn_cuMemGetInfo_v2 *real, size_t *free_bytes,
                                 size_t *total_bytes)
{
    uint64_t available, total;
    (void)call;
    CUresult result = real(free_bytes, total_bytes);
    if (result != CUDA_SUCCESS || !sl_session_on_for_memory()) return result;
    sl_captured_settle();
    if (!sl_runtime_memory_info(&available, &total)) return result;
    if (free_bytes) *free_bytes = available;
    if (total_bytes) *total_bytes = total;
    return CUDA_SUCCESS;
}
