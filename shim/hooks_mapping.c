/* Virtual memory management. Device memory that the program maps at addresses of ours belongs to the core
 * (mapping.h). All other memory is the driver's and is charged to the budget while it exists (physical.h):
 * memory of other devices, the host and other processes, memory that libraries make in order to share it, and
 * memory that is exported, bound, or mapped at several places (handover.h). None of these functions needs a
 * current context, but the current one shows for which device addresses are wanted. */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "caller.h"
#include "driver.h"
#include "handover.h"
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

/* --- addresses */

/* Reservations of ours are aligned to 1 GiB. As with the driver, the address is only a hint. The addresses
 * are ours if the managed context is current and no handle holds unmapped memory of the driver that may need
 * them, since that can be mapped at the driver's addresses only. */
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

static CUresult free_ours(CUdeviceptr address, size_t bytes)
{
    bool empty;
    int before = sl_mappings_turn();
    bool ends = sl_reservation_end(address, bytes, &empty);
    if (empty) sl_runtime_unreserve(address, bytes);
    sl_mappings_turn_end(before);
    return ends ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult sl_hook_cuMemAddressFree(struct sl_call call, sl_fn_cuMemAddressFree *real, CUdeviceptr address,
                                  size_t bytes)
{
    (void)call;
    return sl_reservation_holds(address) ? free_ours(address, bytes) : real(address, bytes);
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

/* The driver's handle for a call of the driver: the program's own or, for one of ours, the one that replaces
 * it. */
struct drivers_handle {
    CUmemGenericAllocationHandle ours, drivers;
    uint64_t promised_bytes; /* of memory that became the driver's for this call */
    CUdevice device;
};

/* Precondition: the caller has its turn. If the driver refuses the call, end_use undoes this. */
static CUresult begin_use(CUmemGenericAllocationHandle handle, struct drivers_handle *use)
{
    struct sl_memory_standing standing;
    *use = (struct drivers_handle){.ours = handle, .drivers = handle};
    if (!sl_handle_is_ours(handle)) return CUDA_SUCCESS;
    if (!sl_memory_standing(handle, &standing)) return CUDA_ERROR_INVALID_VALUE;
    if (standing.address) {
        CUresult result = sl_hand_over_memory(&standing);
        if (result != CUDA_SUCCESS) return result;
        if (!sl_memory_standing(handle, &standing)) return CUDA_ERROR_INVALID_VALUE;
    }
    use->drivers = standing.drivers;
    if (standing.drivers) return CUDA_SUCCESS;
    CUresult result = sl_real.f_cuMemCreate(&use->drivers, standing.bytes, &standing.properties, 0);
    if (result != CUDA_SUCCESS) return result;
    if (!sl_memory_becomes(handle, use->drivers)) {
        sl_real.f_cuMemRelease(use->drivers);
        return CUDA_ERROR_INVALID_VALUE;
    }
    use->promised_bytes = standing.bytes;
    use->device = standing.properties.location.id;
    sl_physical_made(use->drivers, standing.bytes);
    return CUDA_SUCCESS;
}

/* Memory that a refused call would have made the driver's stays as it was: it can be mapped at addresses of
 * ours. */
static CUresult end_use(const struct drivers_handle *use, CUresult result)
{
    struct sl_memory_end end = {0};
    if (use->promised_bytes && result == CUDA_SUCCESS) {
        end = (struct sl_memory_end){.promised_bytes = use->promised_bytes, .device = use->device};
    } else if (use->promised_bytes) {
        sl_memory_stays(use->ours);
        end.drivers = use->drivers;
    }
    sl_memory_end(&end);
    return result;
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
    int before = sl_mappings_turn();
    bool released = sl_memory_released(handle, &end);
    if (released) sl_memory_end(&end);
    sl_mappings_turn_end(before);
    return released ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
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
    struct drivers_handle use;
    (void)call;
    if (!sl_handle_is_ours(handle)) return real(shared, handle, type, flags);
    int before = sl_mappings_turn();
    CUresult result = begin_use(handle, &use);
    if (result == CUDA_SUCCESS) result = end_use(&use, real(shared, use.drivers, type, flags));
    sl_mappings_turn_end(before);
    return result;
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

struct range { /* of cuMemMap */
    CUdeviceptr address;
    size_t bytes, offset;
    unsigned long long flags;
};

/* Memory is placed on the device for which its addresses were reserved, which may differ from the device that
 * the memory was created for. */
static bool map_on_owner(struct sl_call call, const struct range *range, CUmemGenericAllocationHandle handle,
                         uint64_t promised_bytes)
{
    CUmemAllocationProp properties;
    CUdevice owner = sl_session_device_of(range->address);
    bool moves = sl_cores_are_several() && sl_memory_properties(handle, &properties) &&
                 properties.location.id != owner;
    if (moves && (!sl_session_turn_to_device(owner) || sl_runtime_promise(promised_bytes) != SL_OK))
        return false;
    bool mapped = sl_runtime_map(range->address, range->bytes, promised_bytes, sl_site_here(call.caller),
                                 SL_TAG_MAPPING) == SL_OK;
    if (moves && !mapped) sl_runtime_unpromise(promised_bytes);
    if (moves && mapped)
        sl_memory_end(
            &(struct sl_memory_end){.promised_bytes = promised_bytes, .device = properties.location.id});
    return mapped;
}

/* Maps the driver's memory, or memory that becomes the driver's, at the driver's addresses. Precondition: the
 * caller has its turn, if the handle is ours. */
static CUresult map_drivers(struct sl_call call, sl_fn_cuMemMap *real, const struct range *range,
                            CUmemGenericAllocationHandle handle)
{
    struct drivers_handle use;
    CUresult result = begin_use(handle, &use);
    if (result == CUDA_SUCCESS)
        result = end_use(&use, real(range->address, range->bytes, range->offset, use.drivers, range->flags));
    if (result == CUDA_SUCCESS && sl_physical_mapped(range->address, range->bytes, use.drivers))
        sl_memory_note(call, range->address, range->bytes);
    return result;
}

/* The driver knows the handle. */
static bool is_handle(CUmemGenericAllocationHandle handle)
{
    CUmemAllocationProp properties;
    const struct sl_cuda_driver *driver = sl_driver_functions();
    return sl_handle_is_ours(handle) || !driver->mem_get_properties ||
           driver->mem_get_properties(&properties, handle) == CUDA_SUCCESS;
}

/* The memory of the handle lies at a place. */
static bool is_placed(CUmemGenericAllocationHandle handle)
{
    struct sl_memory_standing standing;
    return sl_memory_standing(handle, &standing) && standing.address;
}

/* Precondition: the caller has its turn. */
static CUresult map_ours(struct sl_call call, sl_fn_cuMemMap *real, const struct range *range,
                         CUmemGenericAllocationHandle handle)
{
    uint64_t promised_bytes = 0;
    enum sl_mapping mapping = sl_mapping_begin(range->address, range->bytes, handle, &promised_bytes);
    if (mapping == SL_MAPPING_SECOND && !is_placed(handle)) {
        CUresult result = sl_hand_over_kept(range->address, range->bytes);
        if (result != CUDA_SUCCESS) return result;
        mapping = sl_mapping_begin(range->address, range->bytes, handle, &promised_bytes);
    }
    switch (mapping) {
    case SL_MAPPING_NEW:
        break;
    case SL_MAPPING_AGAIN:
        sl_runtime_tag(range->address, SL_TAG_UNMAPPED, 0);
        return CUDA_SUCCESS;
    case SL_MAPPING_SECOND:
    case SL_MAPPING_FOREIGN: {
        CUresult result =
            is_handle(handle) ? sl_hand_over_addresses(range->address) : CUDA_ERROR_INVALID_VALUE;
        return result == CUDA_SUCCESS ? map_drivers(call, real, range, handle) : result;
    }
    case SL_MAPPING_UNNOTED:
        return CUDA_ERROR_OUT_OF_MEMORY;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (map_on_owner(call, range, handle, promised_bytes)) return CUDA_SUCCESS;
    sl_mapping_failed(range->address);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult sl_hook_cuMemMap(struct sl_call call, sl_fn_cuMemMap *real, CUdeviceptr address, size_t bytes,
                          size_t offset, CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    const struct range range = {address, bytes, offset, flags};
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    if (!sl_reservation_holds(address) && !sl_handle_is_ours(handle))
        return map_drivers(call, real, &range, handle);
    int before = sl_mappings_turn();
    bool valid = bytes && address % GRANULARITY == 0 && bytes % GRANULARITY == 0 && !offset && !flags;
    if (!sl_reservation_holds(address))
        result = map_drivers(call, real, &range, handle);
    else if (valid)
        result = map_ours(call, real, &range, handle);
    sl_mappings_turn_end(before);
    return result;
}

/* Precondition: the caller has its turn. */
static CUresult unmap_ours(CUdeviceptr address, size_t bytes)
{
    if (!sl_mappings_fill(address, bytes)) return CUDA_ERROR_INVALID_VALUE;
    for (uint64_t at = address, length; at < address + bytes; at += length) {
        if (sl_mapping_end(at, &length))
            sl_memory_end(&(struct sl_memory_end){.address = at});
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
    if (sl_reservation_holds(address)) {
        int before = sl_mappings_turn();
        bool ours = sl_reservation_holds(address); /* the driver may have taken it over */
        CUresult unmapped = ours ? unmap_ours(address, bytes) : CUDA_SUCCESS;
        sl_mappings_turn_end(before);
        if (ours) return unmapped;
    }
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

/* Every device can read and write memory of ours: the access is recorded for queries, not enforced.
 * Precondition: the caller has its turn. */
static CUresult allow_ours(CUdeviceptr address, size_t bytes, const CUmemAccessDesc *wanted, size_t count)
{
    CUdevice device = sl_session_device_of(address);
    if (!wanted || !count) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) {
        CUresult wrong = judge_access(&wanted[i], device);
        if (wrong != CUDA_SUCCESS) return wrong;
    }
    if (!sl_mappings_fill(address, bytes)) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++)
        if (wanted[i].location.id == device)
            sl_mappings_allow(address, bytes, wanted[i].flags);
        else
            sl_mappings_let_in(address, bytes, wanted[i].location.id, wanted[i].flags != 0);
    return CUDA_SUCCESS;
}

CUresult sl_hook_cuMemSetAccess(struct sl_call call, sl_fn_cuMemSetAccess *real, CUdeviceptr address,
                                size_t bytes, const CUmemAccessDesc *wanted, size_t count)
{
    (void)call;
    if (!sl_reservation_holds(address)) return real(address, bytes, wanted, count);
    int before = sl_mappings_turn();
    CUresult result = sl_reservation_holds(address) ? allow_ours(address, bytes, wanted, count)
                                                    : real(address, bytes, wanted, count);
    sl_mappings_turn_end(before);
    return result;
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

/* Replaces handles of ours in the list. *uses: as many as were begun, which end with the call's result. */
static CUresult translate(CUarrayMapInfo *list, unsigned count, struct drivers_handle *uses, unsigned *begun)
{
    CUresult result = CUDA_SUCCESS;
    for (*begun = 0; *begun < count && result == CUDA_SUCCESS; *begun += result == CUDA_SUCCESS) {
        CUarrayMapInfo *info = &list[*begun];
        uses[*begun] = (struct drivers_handle){0};
        if (info->memHandleType != CU_MEM_HANDLE_TYPE_GENERIC) continue;
        result = begin_use(info->memHandle.memHandle, &uses[*begun]);
        info->memHandle.memHandle = uses[*begun].drivers;
    }
    return result;
}

CUresult sl_hook_cuMemMapArrayAsync(struct sl_call call, sl_fn_cuMemMapArrayAsync *real, CUarrayMapInfo *list,
                                    unsigned count, CUstream stream)
{
    (void)call;
    bool any = false;
    for (unsigned i = 0; list && i < count && sl_runtime_running(); i++)
        any |= list[i].memHandleType == CU_MEM_HANDLE_TYPE_GENERIC &&
               sl_handle_is_ours(list[i].memHandle.memHandle);
    if (!any) return real(list, count, stream);
    CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
    CUarrayMapInfo *translated = malloc(count * sizeof *translated);
    struct drivers_handle *uses = malloc(count * sizeof *uses);
    unsigned begun = 0;
    int before = sl_mappings_turn();
    if (translated && uses) {
        memcpy(translated, list, count * sizeof *translated);
        result = translate(translated, count, uses, &begun);
        if (result == CUDA_SUCCESS) result = real(translated, count, stream);
    }
    while (begun) end_use(&uses[--begun], result);
    sl_mappings_turn_end(before);
    free(translated);
    free(uses);
    return result;
}

CUresult sl_hook_cuMulticastBindMem(struct sl_call call, sl_fn_cuMulticastBindMem *real,
                                    CUmemGenericAllocationHandle multicast, size_t multicast_offset,
                                    CUmemGenericAllocationHandle handle, size_t offset, size_t bytes,
                                    unsigned long long flags)
{
    struct drivers_handle use;
    (void)call;
    if (!sl_handle_is_ours(handle)) return real(multicast, multicast_offset, handle, offset, bytes, flags);
    int before = sl_mappings_turn();
    CUresult result = begin_use(handle, &use);
    if (result == CUDA_SUCCESS)
        result = end_use(&use, real(multicast, multicast_offset, use.drivers, offset, bytes, flags));
    sl_mappings_turn_end(before);
    return result;
}
