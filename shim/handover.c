#include "handover.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/log.h"
#include "base/text.h"
#include "capture.h"
#include "core/runtime.h"
#include "device/cuda_call.h"
#include "driver.h"
#include "physical.h"
#include "session.h"

/* An allocation and the driver's memory that replaces it. */
struct copy {
    struct sl_mapped from;
    CUmemGenericAllocationHandle to;
    bool held; /* the program holds a handle to it */
};

struct copies {
    struct copy *list;
    uint32_t count, capacity;
};

static CUresult refuse(const char *why)
{
    sl_warn_once("the program maps memory of cuMemCreate at a second place, beside shared memory, or shares "
                 "it after it was mapped, and the driver cannot take it over (%s): the call fails",
                 why);
    return CUDA_ERROR_NOT_SUPPORTED;
}

void sl_memory_end(const struct sl_memory_end *end)
{
    uint64_t address = end->address ? end->address : end->reserved;
    if (address) {
        bool entered, able = sl_session_enter(address, &entered);
        if (able && end->address) sl_runtime_free(end->address, NULL);
        if (able && end->reserved) sl_runtime_unreserve(end->reserved, end->reserved_bytes);
        sl_session_leave(entered);
    }
    if (end->promised_bytes && sl_session_turn_to_device(end->device))
        sl_runtime_unpromise(end->promised_bytes);
    if (end->drivers) {
        /* Recorded before the driver's call, because after it another thread may get the same number. */
        sl_physical_released(end->drivers);
        sl_real.f_cuMemRelease(end->drivers);
    }
}

/* --- content */

static CUresult allow(CUdeviceptr address, uint64_t bytes, CUdevice device, unsigned long long access)
{
    const CUmemAccessDesc wanted = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device},
                                    .flags = (CUmemAccess_flags)access};
    return sl_real.f_cuMemSetAccess(address, bytes, &wanted, 1);
}

/* Copies the content, by way of addresses that exist only for this. */
static CUresult fill(const struct copy *copy, CUdevice device)
{
    uint64_t bytes = copy->from.bytes;
    CUdeviceptr window;
    CUresult result = sl_real.f_cuMemAddressReserve(&window, bytes, 0, 0, 0);
    if (result != CUDA_SUCCESS) return result;
    result = sl_real.f_cuMemMap(window, bytes, 0, copy->to, 0);
    if (result == CUDA_SUCCESS) {
        result = allow(window, bytes, device, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
        if (result == CUDA_SUCCESS) result = sl_real.f_cuMemcpyDtoD_v2(window, copy->from.address, bytes);
        CUresult finished = sl_driver_functions()->ctx_synchronize();
        if (result == CUDA_SUCCESS) result = finished;
        sl_real.f_cuMemUnmap(window, bytes);
    }
    sl_real.f_cuMemAddressFree(window, bytes);
    return result;
}

static void drop(struct copies *copies)
{
    while (copies->count) sl_real.f_cuMemRelease(copies->list[--copies->count].to);
    free(copies->list);
}

/* Copies what lies in [address, address + bytes). Precondition: the context of the memory is current. */
static CUresult copy_all(struct copies *copies, uint64_t address, uint64_t bytes)
{
    CUdevice device = sl_session_device_of(address);
    CUresult result = sl_driver_functions()->ctx_synchronize();
    struct sl_mapped from;
    for (uint64_t at = address; result == CUDA_SUCCESS && sl_mapped_next(at, address + bytes, &from);
         at = from.address + from.bytes) {
        struct copy copy = {.from = from};
        if (!sl_grow(&copies->list, &copies->capacity, copies->count, sizeof copy))
            return CUDA_ERROR_OUT_OF_MEMORY;
        result = sl_real.f_cuMemCreate(&copy.to, from.memory_bytes, &from.properties, 0);
        if (result != CUDA_SUCCESS) break;
        copies->list[copies->count++] = copy;
        result = fill(&copy, device);
    }
    return result;
}

/* Ends the allocation; from here on the memory is the driver's. */
static void replace(struct copy *copy)
{
    struct sl_memory_end end;
    sl_mapped_becomes(copy->from.address, copy->to, &copy->held, &end);
    sl_memory_end(&end);
    sl_physical_made(copy->to, copy->from.memory_bytes);
}

/* --- addresses */

/* Reserves [begin, begin + bytes). */
static bool reserve_there(uint64_t begin, uint64_t bytes)
{
    CUdeviceptr given;
    if (SL_PERSIST(sl_real.f_cuMemAddressReserve(&given, bytes, 0, begin, 0)) != CUDA_SUCCESS) return false;
    if (given == begin) return true;
    sl_real.f_cuMemAddressFree(given, bytes);
    return false;
}

/* Whether the driver gives addresses again that it had for unified memory. Tried once, with addresses that
 * nobody uses. */
static bool gives_addresses_again(void)
{
    static _Atomic int known; /* 1: yes; -1: no */
    uint64_t begin;
    if (!atomic_load(&known) && sl_runtime_reserve(SL_GIB, &begin) == SL_OK) {
        sl_runtime_give_up(begin, SL_GIB);
        bool again = reserve_there(begin, SL_GIB);
        if (again) sl_real.f_cuMemAddressFree(begin, SL_GIB);
        atomic_store(&known, again ? 1 : -1);
    }
    return atomic_load(&known) > 0;
}

/* Maps at the driver's addresses what was mapped at ours, for which there is no way back. */
static CUresult map_again(const struct copy *copy, CUdevice device)
{
    const struct sl_mapped *from = &copy->from;
    CUresult result = SL_PERSIST(sl_real.f_cuMemMap(from->address, from->bytes, 0, copy->to, 0));
    if (result != CUDA_SUCCESS) return result;
    sl_physical_mapped(from->address, from->bytes, copy->to);
    if (from->access != CU_MEM_ACCESS_FLAGS_PROT_NONE)
        result = SL_PERSIST(allow(from->address, from->bytes, device, from->access));
    for (uint64_t rest = from->guests; rest && result == CUDA_SUCCESS; rest &= rest - 1)
        result = SL_PERSIST(
            allow(from->address, from->bytes, __builtin_ctzll(rest), CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
    return result;
}

/* Precondition: the copies are all that lies in the reservation. */
static CUresult exchange(const struct copies *copies, uint64_t begin, uint64_t bytes)
{
    CUdevice device = sl_session_device_of(begin);
    CUresult result = CUDA_SUCCESS;
    for (uint32_t i = 0; i < copies->count; i++) replace(&copies->list[i]);
    sl_runtime_give_up(begin, bytes);
    bool given = reserve_there(begin, bytes);
    if (given) sl_reservation_forget(begin);
    for (uint32_t i = 0; i < copies->count; i++) {
        const struct copy *copy = &copies->list[i];
        if (given && copy->from.mapped && result == CUDA_SUCCESS) result = map_again(copy, device);
        if (!copy->held) sl_memory_end(&(struct sl_memory_end){.drivers = copy->to});
    }
    if (given) return result;
    sl_log(SL_LOG_WARN, "the driver did not give [0x%llx, +%llu) again: what was mapped there is lost",
           (unsigned long long)begin, (unsigned long long)bytes);
    return CUDA_ERROR_NOT_SUPPORTED;
}

/* --- */

CUresult sl_hand_over_addresses(uint64_t address)
{
    struct copies copies = {0};
    uint64_t begin, bytes;
    char text[SL_BYTES_TEXT];
    if (!sl_reservation_find(address, &begin, &bytes)) return CUDA_ERROR_INVALID_VALUE;
    if (sl_captures_any()) return refuse("a stream captures");
    bool entered;
    if (!sl_session_enter(begin, &entered)) return refuse("its context is not available");
    CUresult result = gives_addresses_again() ? copy_all(&copies, begin, bytes)
                                              : refuse("it does not give the same addresses again");
    if (result == CUDA_SUCCESS) {
        result = exchange(&copies, begin, bytes);
        copies.count = 0;
    }
    drop(&copies);
    sl_session_leave(entered);
    if (result == CUDA_SUCCESS)
        sl_warn_once(
            "the program maps memory of cuMemCreate at a second place, beside shared memory, or "
            "shares it after it was mapped: the driver takes it over, with the %s of addresses around "
            "it, and it is not oversubscribed",
            sl_bytes_text(bytes, text));
    return result;
}

CUresult sl_hand_over_kept(uint64_t address, uint64_t bytes)
{
    struct copies copies = {0};
    if (sl_captures_any()) return refuse("a stream captures");
    bool entered;
    if (!sl_session_enter(address, &entered)) return refuse("its context is not available");
    CUresult result = copy_all(&copies, address, bytes);
    for (uint32_t i = 0; i < copies.count && result == CUDA_SUCCESS; i++) replace(&copies.list[i]);
    if (result == CUDA_SUCCESS) copies.count = 0;
    drop(&copies);
    sl_session_leave(entered);
    return result;
}

CUresult sl_hand_over_memory(const struct sl_memory_standing *standing)
{
    if (standing->mapped) return sl_hand_over_addresses(standing->address);
    return sl_hand_over_kept(standing->address, 1);
}
