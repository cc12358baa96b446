/* Virtual memory management. Device memory that the program maps at addresses of ours belongs to the core
 * (mapping.h). All other memory is the driver's and is charged to the budget while it exists (physical.h):
 * memory of other devices, the host and other processes, memory that libraries make in order to share it, and
 * memory that is exported or bound before it is mapped. None of these functions needs a current context, but
 * the current one shows for which device addresses are wanted. */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "caller.h"
#include "driver.h"
#include "mapping.h"
#include "memory.h"
#include "physical.h"
#include "session.h"

#define GRANULARITY ((uint64_t)2 << 20)

static bool on_managed_device(const CUmemLocation *location)
{
    return location->type == CU_MEM_LOCATION_TYPE_DEVICE &&
           (sl_runtime_running() || sl_session_on_for_memory()) && sl_session_turn_to_device(location->id);
}

static bool gives_memory(struct sl_call call)
{
    return (sl_runtime_running() || sl_session_on_for_memory()) && !sl_runtime_records_only() &&
           !sl_caller_shares_memory(call.caller);
}

static CUresult refuse_second(void)
{
    sl_warn_once(
        "the program maps memory of cuMemCreate at a second place, or shares it after it was mapped, "
        "which sluice's memory cannot do: the call fails with CUDA_ERROR_NOT_SUPPORTED");
    return CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult refuse_foreign(void)
{
    sl_warn_once("the program maps memory that is shared, or another device's, at addresses that it reserved "
                 "before: these are sluice's, and the call fails with CUDA_ERROR_NOT_SUPPORTED");
    return CUDA_ERROR_NOT_SUPPORTED;
}

/* --- addresses */

/* Reservations of ours are aligned to 1 GiB. As with the driver, the address is only a hint. The driver's
 * memory cannot be mapped at addresses of ours; any memory can be mapped at the driver's addresses. The
 * addresses are ours if the managed context is current and no handle holds unmapped memory of the driver that
 * may need them. */
CUresult sl_hook_cuMemAddressReserve(struct sl_call call, sl_fn_cuMemAddressReserve *real,
                                     CUdeviceptr *address, size_t bytes, size_t alignment, CUdeviceptr hint,
                                     unsigned long long flags)
{
    uint64_t given;
    bool plain = address && bytes && bytes % GRANULARITY == 0 && !(alignment & (alignment - 1)) &&
                 alignment <= SL_GIB && !flags;
    bool ours = plain && sl_session_on_for_memory() && gives_memory(call) && !sl_physical_any_unmapped();
    enum sl_status status = ours ? sl_runtime_reserve(bytes, &given) : SL_ERR_UNSUPPORTED;
    if (status == SL_OK && !sl_reservation_made(given, bytes)) {
        sl_runtime_unreserve(given, bytes);
        status = SL_ERR_NO_MEMORY;
    }
    if (status == SL_ERR_NO_MEMORY) return CUDA_ERROR_OUT_OF_MEMORY;
    if (status) return real(address, bytes, alignment, hint, flags);
    *address = given;
    return CUDA_SUCCESS;
}

/* Frees an allocation whose memory nobody holds any more. */
static void end_allocation(uint64_t address)
{
    bool entered = sl_session_enter(address);
    sl_runtime_free(address, NULL);
    sl_session_leave(entered);
}

CUresult sl_hook_cuMemAddressFree(struct sl_call call, sl_fn_cuMemAddressFree *real, CUdeviceptr address,
                                  size_t bytes)
{
    uint64_t kept;
    (void)call;
    if (!sl_reservation_holds(address)) return real(address, bytes);
    do {
        if (!sl_reservation_end(address, bytes, &kept)) return CUDA_ERROR_INVALID_VALUE;
        if (kept) end_allocation(kept);
    } while (kept);
    sl_runtime_unreserve(address, bytes);
    return CUDA_SUCCESS;
}

/* --- memory */

/* Asks the driver whether such memory is possible; its intended use must suit memory of ours. *result is an
 * error if the driver could not be asked. The hook then returns that error instead of creating a driver's
 * handle, which could not be mapped at addresses of ours. */
static bool can_be_ours(struct sl_call call, size_t bytes, const CUmemAllocationProp *properties,
                        CUresult *result)
{
    size_t granularity = 0;
    *result = CUDA_SUCCESS;
    if (!gives_memory(call) || properties->type != CU_MEM_ALLOCATION_TYPE_PINNED ||
        properties->allocFlags.usage || properties->allocFlags.compressionType ||
        !on_managed_device(&properties->location))
        return false;
    const struct sl_cuda_driver *driver = sl_driver_functions();
    if (!driver || !driver->mem_get_granularity) return false;
    *result = driver->mem_get_granularity(&granularity, properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    return granularity && bytes && bytes % granularity == 0 && bytes % GRANULARITY == 0;
}

/* False: ask the driver. */
static bool make_ours(CUmemGenericAllocationHandle *handle, size_t bytes,
                      const CUmemAllocationProp *properties, CUresult *result)
{
    enum sl_status status = sl_runtime_promise(bytes);
    if (status == SL_OK && !sl_memory_made(bytes, properties, handle)) {
        sl_runtime_unpromise(bytes);
        status = SL_ERR_NO_MEMORY;
    }
    return sl_memory_status(status, result);
}

CUresult sl_hook_cuMemCreate(struct sl_call call, sl_fn_cuMemCreate *real,
                             CUmemGenericAllocationHandle *handle, size_t bytes,
                             const CUmemAllocationProp *properties, unsigned long long flags)
{
    CUresult result = CUDA_SUCCESS;
    bool ours = handle && properties && !flags && can_be_ours(call, bytes, properties, &result);
    if (result != CUDA_SUCCESS) return result;
    if (ours && make_ours(handle, bytes, properties, &result)) return sl_memory_answer(call, result, bytes);
    result = real(handle, bytes, properties, flags);
    if (result == CUDA_SUCCESS && on_managed_device(&properties->location)) sl_physical_made(*handle, bytes);
    return sl_memory_answer(call, result, bytes);
}

/* Returns the promised bytes to the core of the device. */
static void unpromise(CUdevice device, uint64_t bytes)
{
    if (sl_session_turn_to_device(device)) sl_runtime_unpromise(bytes);
}

/* The driver's handle of a handle: the handle itself or, for one of ours, the handle that replaces it, which
 * is created if necessary. */
static CUresult drivers_handle(CUmemGenericAllocationHandle handle, CUmemGenericAllocationHandle *drivers)
{
    struct sl_memory_standing standing;
    *drivers = handle;
    if (!sl_handle_is_ours(handle)) return CUDA_SUCCESS;
    if (!sl_memory_standing(handle, &standing)) return CUDA_ERROR_INVALID_VALUE;
    *drivers = standing.drivers;
    if (standing.drivers) return CUDA_SUCCESS;
    if (!standing.may_become) return refuse_second();
    CUresult result = sl_real.f_cuMemCreate(drivers, standing.bytes, &standing.properties, 0);
    if (result != CUDA_SUCCESS) return result;
    if (!sl_memory_becomes(handle, *drivers)) {
        sl_real.f_cuMemRelease(*drivers);
        return refuse_second();
    }
    unpromise(standing.properties.location.id, standing.bytes);
    sl_physical_made(*drivers, standing.bytes);
    return CUDA_SUCCESS;
}

CUresult sl_hook_cuMemRetainAllocationHandle(struct sl_call call, sl_fn_cuMemRetainAllocationHandle *real,
                                             CUmemGenericAllocationHandle *handle, void *address)
{
    (void)call;
    if (handle && sl_reservation_holds((uintptr_t)address))
        return sl_memory_retained((uintptr_t)address, handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    CUresult result = real(handle, address);
    if (result == CUDA_SUCCESS) sl_physical_retained(*handle, (uintptr_t)address);
    return result;
}

/* Records the release of a driver's handle before the driver's call, because after it another thread may get
 * the same number. Invalid handles are unknown here, too. */
static CUresult release_drivers(sl_fn_cuMemRelease *real, CUmemGenericAllocationHandle handle)
{
    sl_physical_released(handle);
    return real(handle);
}

CUresult sl_hook_cuMemRelease(struct sl_call call, sl_fn_cuMemRelease *real,
                              CUmemGenericAllocationHandle handle)
{
    struct sl_memory_end end;
    (void)call;
    if (!sl_handle_is_ours(handle)) return release_drivers(real, handle);
    if (!sl_memory_released(handle, &end)) return CUDA_ERROR_INVALID_VALUE;
    if (end.address) end_allocation(end.address);
    if (end.promised_bytes) unpromise(end.device, end.promised_bytes);
    return end.drivers ? release_drivers(real, end.drivers) : CUDA_SUCCESS;
}

CUresult sl_hook_cuMemGetAllocationPropertiesFromHandle(struct sl_call call,
                                                        sl_fn_cuMemGetAllocationPropertiesFromHandle *real,
                                                        CUmemAllocationProp *properties,
                                                        CUmemGenericAllocationHandle handle)
{
    (void)call;
    if (!sl_handle_is_ours(handle)) return real(properties, handle);
    return properties && sl_memory_properties(handle, properties) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult sl_hook_cuMemExportToShareableHandle(struct sl_call call, sl_fn_cuMemExportToShareableHandle *real,
                                              void *shared, CUmemGenericAllocationHandle handle,
                                              CUmemAllocationHandleType type, unsigned long long flags)
{
    CUmemGenericAllocationHandle drivers;
    (void)call;
    CUresult result = drivers_handle(handle, &drivers);
    return result == CUDA_SUCCESS ? real(shared, drivers, type, flags) : result;
}

CUresult sl_hook_cuMemImportFromShareableHandle(struct sl_call call,
                                                sl_fn_cuMemImportFromShareableHandle *real,
                                                CUmemGenericAllocationHandle *handle, void *from,
                                                CUmemAllocationHandleType type)
{
    CUmemAllocationProp properties;
    (void)call;
    CUresult result = real(handle, from, type);
    const struct sl_cuda_driver *driver = result == CUDA_SUCCESS ? sl_driver_functions() : NULL;
    if (driver && driver->mem_get_properties &&
        driver->mem_get_properties(&properties, *handle) == CUDA_SUCCESS &&
        on_managed_device(&properties.location))
        sl_physical_made(*handle, 0);
    return result;
}

/* --- mappings */

/* Memory is placed on the device for which its addresses were reserved, which may differ from the device that
 * the memory was created for. */
static bool map_on_owner(struct sl_call call, CUdeviceptr address, size_t bytes,
                         CUmemGenericAllocationHandle handle, uint64_t promised_bytes)
{
    CUmemAllocationProp properties;
    CUdevice owner = sl_session_device_of(address);
    bool moves = sl_cores_are_several() && sl_memory_properties(handle, &properties) &&
                 properties.location.id != owner;
    if (moves && (!sl_session_turn_to_device(owner) || sl_runtime_promise(promised_bytes) != SL_OK))
        return false;
    bool mapped =
        sl_runtime_map(address, bytes, promised_bytes, sl_site_here(call.caller), SL_TAG_MAPPING) == SL_OK;
    if (moves && !mapped) sl_runtime_unpromise(promised_bytes);
    if (moves && mapped) unpromise(properties.location.id, promised_bytes);
    return mapped;
}

static CUresult map_ours(struct sl_call call, CUdeviceptr address, size_t bytes,
                         CUmemGenericAllocationHandle handle)
{
    uint64_t promised_bytes = 0;
    switch (sl_mapping_begin(address, bytes, handle, &promised_bytes)) {
    case SL_MAPPING_NEW:
        break;
    case SL_MAPPING_AGAIN:
        sl_runtime_tag(address, SL_TAG_UNMAPPED, 0);
        return CUDA_SUCCESS;
    case SL_MAPPING_SECOND:
        return refuse_second();
    case SL_MAPPING_FOREIGN:
        return refuse_foreign();
    case SL_MAPPING_UNNOTED:
        return CUDA_ERROR_OUT_OF_MEMORY;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (map_on_owner(call, address, bytes, handle, promised_bytes)) return CUDA_SUCCESS;
    sl_mapping_failed(address);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult sl_hook_cuMemMap(struct sl_call call, sl_fn_cuMemMap *real, CUdeviceptr address, size_t bytes,
                          size_t offset, CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    CUmemGenericAllocationHandle drivers;
    if (sl_reservation_holds(address)) {
        bool valid = bytes && address % GRANULARITY == 0 && bytes % GRANULARITY == 0 && !offset && !flags;
        return valid ? map_ours(call, address, bytes, handle) : CUDA_ERROR_INVALID_VALUE;
    }
    CUresult result = drivers_handle(handle, &drivers);
    if (result == CUDA_SUCCESS) result = real(address, bytes, offset, drivers, flags);
    if (result == CUDA_SUCCESS && sl_physical_mapped(address, bytes, drivers))
        sl_memory_note(call, address, bytes);
    return result;
}

static CUresult unmap_ours(CUdeviceptr address, size_t bytes)
{
    if (!sl_mappings_fill(address, bytes)) return CUDA_ERROR_INVALID_VALUE;
    for (uint64_t at = address, length; at < address + bytes; at += length) {
        if (sl_mapping_end(at, &length))
            end_allocation(at);
        else
            sl_runtime_tag(at, 0, SL_TAG_UNMAPPED);
        if (!length) break;
    }
    return CUDA_SUCCESS;
}

/* The addresses stay reserved, so nothing else can be mapped there meanwhile. */
CUresult sl_hook_cuMemUnmap(struct sl_call call, sl_fn_cuMemUnmap *real, CUdeviceptr address, size_t bytes)
{
    (void)call;
    if (sl_reservation_holds(address)) return unmap_ours(address, bytes);
    CUresult result = real(address, bytes);
    if (result != CUDA_SUCCESS) return result;
    sl_physical_unmapped(address, bytes);
    sl_runtime_note_unmap(address, bytes);
    return result;
}

/* Whether device memory allows such access. */
static CUresult judge_access(const CUmemAccessDesc *wanted, CUdevice device)
{
    int any;
    if (wanted->location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
    if (wanted->flags != CU_MEM_ACCESS_FLAGS_PROT_NONE && wanted->flags != CU_MEM_ACCESS_FLAGS_PROT_READ &&
        wanted->flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
        return CUDA_ERROR_INVALID_VALUE;
    if (wanted->location.id == device) return CUDA_SUCCESS;
    return sl_driver_functions()->device_get_attribute(&any, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                                                       wanted->location.id);
}

/* Every device can read and write memory of ours: the access is recorded for queries, not enforced. */
CUresult sl_hook_cuMemSetAccess(struct sl_call call, sl_fn_cuMemSetAccess *real, CUdeviceptr address,
                                size_t bytes, const CUmemAccessDesc *wanted, size_t count)
{
    (void)call;
    if (!sl_reservation_holds(address)) return real(address, bytes, wanted, count);
    if (!wanted || !count) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) {
        CUresult wrong = judge_access(&wanted[i], sl_session_device_of(address));
        if (wrong != CUDA_SUCCESS) return wrong;
    }
    if (!sl_mappings_fill(address, bytes)) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++)
        if (wanted[i].location.id == sl_session_device_of(address))
            sl_mappings_allow(address, bytes, wanted[i].flags);
    return CUDA_SUCCESS;
}

CUresult sl_hook_cuMemGetAccess(struct sl_call call, sl_fn_cuMemGetAccess *real, unsigned long long *flags,
                                const CUmemLocation *location, CUdeviceptr address)
{
    (void)call;
    if (!sl_reservation_holds(address)) return real(flags, location, address);
    if (!flags || !location) return CUDA_ERROR_INVALID_VALUE;
    const CUmemAccessDesc asked = {*location, CU_MEM_ACCESS_FLAGS_PROT_NONE};
    CUresult wrong = judge_access(&asked, sl_session_device_of(address));
    if (wrong != CUDA_SUCCESS) return wrong;
    unsigned long long access;
    if (!sl_mapping_access(address, &access)) return CUDA_ERROR_INVALID_VALUE;
    *flags = location->id == sl_session_device_of(address) ? access : CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return CUDA_SUCCESS;
}

/* --- other uses of a handle, which make the memory the driver's */

CUresult sl_hook_cuMemMapArrayAsync(struct sl_call call, sl_fn_cuMemMapArrayAsync *real, CUarrayMapInfo *list,
                                    unsigned count, CUstream stream)
{
    (void)call;
    bool any = false;
    for (unsigned i = 0; list && i < count && sl_runtime_running(); i++)
        any |= list[i].memHandleType == CU_MEM_HANDLE_TYPE_GENERIC &&
               sl_handle_is_ours(list[i].memHandle.memHandle);
    if (!any) return real(list, count, stream);
    CUarrayMapInfo *translated = malloc(count * sizeof *translated);
    if (!translated) return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(translated, list, count * sizeof *translated);
    CUresult result = CUDA_SUCCESS;
    for (unsigned i = 0; i < count && result == CUDA_SUCCESS; i++)
        if (list[i].memHandleType == CU_MEM_HANDLE_TYPE_GENERIC)
            result = drivers_handle(list[i].memHandle.memHandle, &translated[i].memHandle.memHandle);
    if (result == CUDA_SUCCESS) result = real(translated, count, stream);
    free(translated);
    return result;
}

CUresult sl_hook_cuMulticastBindMem(struct sl_call call, sl_fn_cuMulticastBindMem *real,
                                    CUmemGenericAllocationHandle multicast, size_t multicast_offset,
                                    CUmemGenericAllocationHandle handle, size_t offset, size_t bytes,
                                    unsigned long long flags)
{
    CUmemGenericAllocationHandle drivers;
    (void)call;
    CUresult result = drivers_handle(handle, &drivers);
    return result == CUDA_SUCCESS ? real(multicast, multicast_offset, drivers, offset, bytes, flags) : result;
}
