#include "mapping.h"

#include <pthread.h>
#include <string.h>

#include "base/grow.h"
#include "base/map.h"
#include "core/runtime.h"

#define MOST_GENERATIONS 0x7fffffffu
#define MOST_GUESTS 64

enum { LIVE, ENDED };

struct memory {
    uint64_t bytes;
    CUmemAllocationProp properties;
    CUmemGenericAllocationHandle drivers; /* the driver's handle that replaces it; 0: none */
    uint64_t address, mapped_bytes;       /* address of the allocation; 0: none was made */
    uint32_t handles;                     /* held by the program */
    uint32_t generation;                  /* part of the handles' number */
    uint32_t next_free;
    unsigned long long access;
    uint64_t guests; /* other devices that have access, as bits */
    bool mapped;
    bool lost; /* it ended with its context */
};

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER; /* outermost: taken before any other lock */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct memory *memories;
static uint32_t count, capacity, first_free = SL_NONE;
static struct sl_ranges reservations; /* and whether the program has freed them: LIVE, ENDED */
static struct sl_ranges places;       /* allocations, mapped or kept, and their index in `memories` */

static CUmemGenericAllocationHandle handle_of(uint32_t index)
{
    return SL_OUR_HANDLES | (uint64_t)memories[index].generation << 32 | index;
}

/* Precondition: the lock is held, here and below. */
static struct memory *find(CUmemGenericAllocationHandle handle)
{
    uint32_t index = (uint32_t)handle;
    if (!sl_handle_is_ours(handle) || index >= count) return NULL;
    struct memory *memory = &memories[index];
    return memory->handles && handle_of(index) == handle ? memory : NULL;
}

static struct memory *mapped_at(uint64_t address)
{
    uint32_t index = sl_ranges_find(&places, address);
    return index != SL_NONE && memories[index].mapped ? &memories[index] : NULL;
}

static void forget(struct memory *memory)
{
    uint32_t index = (uint32_t)(memory - memories);
    *memory =
        (struct memory){.generation = memory->generation % MOST_GENERATIONS + 1, .next_free = first_free};
    first_free = index;
}

int sl_mappings_turn(void)
{
    int before;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    pthread_mutex_lock(&turn);
    return before;
}

void sl_mappings_turn_end(int before)
{
    pthread_mutex_unlock(&turn);
    pthread_setcancelstate(before, NULL);
}

/* --- addresses */

bool sl_reservation_made(uint64_t address, uint64_t bytes)
{
    pthread_mutex_lock(&lock);
    bool noted = sl_ranges_put(&reservations, address, address + bytes, LIVE);
    pthread_mutex_unlock(&lock);
    return noted;
}

/* The reservation that holds [address, address + bytes), or NULL. */
static struct sl_range *reservation_of(uint64_t address, uint64_t bytes)
{
    for (uint32_t i = 0; i < reservations.count; i++) {
        struct sl_range *range = &reservations.ranges[i];
        if (address >= range->begin && address < range->end)
            return bytes <= range->end - address ? range : NULL;
    }
    return NULL;
}

bool sl_reservation_holds(uint64_t address)
{
    pthread_mutex_lock(&lock);
    bool holds = sl_ranges_find(&reservations, address) == LIVE;
    pthread_mutex_unlock(&lock);
    return holds;
}

bool sl_reservation_find(uint64_t address, uint64_t *begin, uint64_t *bytes)
{
    pthread_mutex_lock(&lock);
    const struct sl_range *range = reservation_of(address, 1);
    if (range) {
        *begin = range->begin;
        *bytes = range->end - range->begin;
    }
    pthread_mutex_unlock(&lock);
    return range != NULL;
}

void sl_reservation_forget(uint64_t begin)
{
    pthread_mutex_lock(&lock);
    sl_ranges_remove(&reservations, begin);
    pthread_mutex_unlock(&lock);
}

static bool any_mapped(uint64_t begin, uint64_t end)
{
    for (uint32_t i = 0; i < places.count; i++)
        if (places.ranges[i].begin < end && places.ranges[i].end > begin &&
            memories[places.ranges[i].number].mapped)
            return true;
    return false;
}

bool sl_reservation_end(uint64_t address, uint64_t bytes, bool *empty)
{
    pthread_mutex_lock(&lock);
    struct sl_range *range = reservation_of(address, bytes);
    bool ends = range && range->number == LIVE && range->begin == address && range->end == address + bytes &&
                !any_mapped(address, address + bytes);
    *empty = ends && sl_ranges_overlap(&places, address, address + bytes) == SL_NONE;
    if (*empty)
        sl_ranges_remove(&reservations, address);
    else if (ends)
        range->number = ENDED;
    pthread_mutex_unlock(&lock);
    return ends;
}

/* Removes the allocation, and with the last one its reservation if that has ended. */
static void end_place(uint64_t address, struct sl_memory_end *end)
{
    const struct sl_range *range = reservation_of(address, 1);
    end->address = address;
    sl_ranges_remove(&places, address);
    if (!range || range->number != ENDED || sl_ranges_overlap(&places, range->begin, range->end) != SL_NONE)
        return;
    end->reserved = range->begin;
    end->reserved_bytes = range->end - range->begin;
    sl_ranges_remove(&reservations, range->begin);
}

/* --- memory */

bool sl_memory_made(uint64_t bytes, const CUmemAllocationProp *properties,
                    CUmemGenericAllocationHandle *handle)
{
    pthread_mutex_lock(&lock);
    uint32_t index = first_free;
    if (index != SL_NONE) {
        first_free = memories[index].next_free;
    } else if (sl_grow(&memories, &capacity, count, sizeof *memories)) {
        index = count++;
        memories[index] = (struct memory){.generation = 1};
    }
    if (index != SL_NONE) {
        memories[index] = (struct memory){.bytes = bytes,
                                          .properties = *properties,
                                          .handles = 1,
                                          .generation = memories[index].generation};
        *handle = handle_of(index);
    }
    pthread_mutex_unlock(&lock);
    return index != SL_NONE;
}

bool sl_memory_retained(uint64_t address, CUmemGenericAllocationHandle *handle)
{
    pthread_mutex_lock(&lock);
    struct memory *memory = mapped_at(address);
    if (memory) {
        memory->handles++;
        *handle = handle_of((uint32_t)(memory - memories));
    }
    pthread_mutex_unlock(&lock);
    return memory != NULL;
}

bool sl_memory_properties(CUmemGenericAllocationHandle handle, CUmemAllocationProp *properties)
{
    pthread_mutex_lock(&lock);
    const struct memory *memory = find(handle);
    if (memory) *properties = memory->properties;
    pthread_mutex_unlock(&lock);
    return memory != NULL;
}

bool sl_memory_released(CUmemGenericAllocationHandle handle, struct sl_memory_end *end)
{
    *end = (struct sl_memory_end){0};
    pthread_mutex_lock(&lock);
    struct memory *memory = find(handle);
    if (memory && --memory->handles == 0 && !memory->mapped) {
        if (memory->drivers) {
            end->drivers = memory->drivers;
        } else if (memory->lost) {
            /* nothing is left */
        } else if (!memory->address) {
            end->promised_bytes = memory->bytes;
            end->device = memory->properties.location.id;
        } else {
            end_place(memory->address, end);
        }
        forget(memory);
    }
    pthread_mutex_unlock(&lock);
    return memory != NULL;
}

bool sl_memory_standing(CUmemGenericAllocationHandle handle, struct sl_memory_standing *standing)
{
    pthread_mutex_lock(&lock);
    const struct memory *memory = find(handle);
    if (memory)
        *standing =
            (struct sl_memory_standing){.drivers = memory->drivers,
                                        .may_become = !memory->drivers && !memory->address && !memory->lost,
                                        .address = memory->address,
                                        .mapped = memory->mapped,
                                        .bytes = memory->bytes,
                                        .properties = memory->properties};
    pthread_mutex_unlock(&lock);
    return memory != NULL;
}

bool sl_memory_becomes(CUmemGenericAllocationHandle handle, CUmemGenericAllocationHandle drivers)
{
    pthread_mutex_lock(&lock);
    struct memory *memory = find(handle);
    bool becomes = memory && !memory->drivers && !memory->address && !memory->lost;
    if (becomes) memory->drivers = drivers;
    pthread_mutex_unlock(&lock);
    return becomes;
}

void sl_memory_stays(CUmemGenericAllocationHandle handle)
{
    pthread_mutex_lock(&lock);
    struct memory *memory = find(handle);
    if (memory) memory->drivers = 0;
    pthread_mutex_unlock(&lock);
}

/* --- mappings */

bool sl_mapped_next(uint64_t from, uint64_t end, struct sl_mapped *found)
{
    bool any = false;
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < places.count && !any; i++) {
        const struct sl_range *range = &places.ranges[i];
        const struct memory *memory = &memories[range->number];
        any = range->end > from && range->begin < end;
        if (any)
            *found = (struct sl_mapped){.address = memory->address,
                                        .bytes = memory->mapped_bytes,
                                        .memory_bytes = memory->bytes,
                                        .properties = memory->properties,
                                        .access = memory->access,
                                        .guests = memory->guests,
                                        .mapped = memory->mapped};
    }
    pthread_mutex_unlock(&lock);
    return any;
}

void sl_mapped_becomes(uint64_t address, CUmemGenericAllocationHandle drivers, bool *held,
                       struct sl_memory_end *end)
{
    *end = (struct sl_memory_end){0};
    pthread_mutex_lock(&lock);
    uint32_t index = sl_ranges_find(&places, address);
    struct memory *memory = index == SL_NONE ? NULL : &memories[index];
    *held = memory && memory->handles;
    if (memory) end_place(address, end);
    if (memory && !*held) forget(memory);
    if (*held) {
        memory->drivers = drivers;
        memory->address = memory->mapped_bytes = 0;
        memory->mapped = false;
    }
    pthread_mutex_unlock(&lock);
}

static enum sl_mapping judge(uint64_t address, uint64_t bytes, const struct memory *memory)
{
    const struct sl_range *range = reservation_of(address, bytes);
    if (!range || range->number != LIVE || any_mapped(address, address + bytes)) return SL_MAPPING_WRONG;
    if (!memory || memory->drivers) return SL_MAPPING_FOREIGN;
    if (bytes > memory->bytes || memory->lost) return SL_MAPPING_WRONG;
    if (memory->address)
        return !memory->mapped && memory->address == address && memory->mapped_bytes == bytes
                   ? SL_MAPPING_AGAIN
                   : SL_MAPPING_SECOND;
    if (sl_ranges_overlap(&places, address, address + bytes) != SL_NONE) return SL_MAPPING_SECOND;
    return SL_MAPPING_NEW;
}

enum sl_mapping sl_mapping_begin(uint64_t address, uint64_t bytes, CUmemGenericAllocationHandle handle,
                                 uint64_t *promised_bytes)
{
    pthread_mutex_lock(&lock);
    struct memory *memory = find(handle);
    bool known = memory || !sl_handle_is_ours(handle);
    enum sl_mapping mapping = known ? judge(address, bytes, memory) : SL_MAPPING_WRONG;
    if (mapping == SL_MAPPING_NEW &&
        !sl_ranges_put(&places, address, address + bytes, (uint32_t)(memory - memories)))
        mapping = SL_MAPPING_UNNOTED;
    if (mapping == SL_MAPPING_NEW || mapping == SL_MAPPING_AGAIN) {
        memory->address = address;
        memory->mapped_bytes = bytes;
        memory->mapped = true;
        memory->access = CU_MEM_ACCESS_FLAGS_PROT_NONE;
        memory->guests = 0;
        *promised_bytes = memory->bytes;
    }
    pthread_mutex_unlock(&lock);
    return mapping;
}

void sl_mapping_failed(uint64_t address)
{
    pthread_mutex_lock(&lock);
    struct memory *memory = mapped_at(address);
    if (memory) {
        memory->mapped = false;
        memory->address = 0;
        sl_ranges_remove(&places, address);
    }
    pthread_mutex_unlock(&lock);
}

bool sl_mappings_fill(uint64_t address, uint64_t bytes)
{
    uint64_t at = address, end = address + bytes;
    pthread_mutex_lock(&lock);
    for (const struct memory *memory; at < end; at += memory->mapped_bytes) {
        memory = mapped_at(at);
        if (!memory || memory->address != at) break;
    }
    pthread_mutex_unlock(&lock);
    return bytes && at == end;
}

bool sl_mapping_end(uint64_t address, uint64_t *bytes)
{
    pthread_mutex_lock(&lock);
    struct memory *memory = mapped_at(address);
    bool ends = memory && !memory->handles;
    *bytes = memory ? memory->mapped_bytes : 0;
    if (memory) memory->mapped = false;
    if (ends) {
        sl_ranges_remove(&places, address);
        forget(memory);
    }
    pthread_mutex_unlock(&lock);
    return ends;
}

void sl_mappings_allow(uint64_t address, uint64_t bytes, unsigned long long access)
{
    pthread_mutex_lock(&lock);
    for (uint64_t at = address; at < address + bytes;) {
        struct memory *memory = mapped_at(at);
        if (!memory) break;
        memory->access = access;
        at = memory->address + memory->mapped_bytes;
    }
    pthread_mutex_unlock(&lock);
}

void sl_mappings_let_in(uint64_t address, uint64_t bytes, CUdevice guest, bool access)
{
    if (guest < 0 || guest >= MOST_GUESTS) return;
    pthread_mutex_lock(&lock);
    for (uint64_t at = address; at < address + bytes;) {
        struct memory *memory = mapped_at(at);
        if (!memory) break;
        uint64_t bit = (uint64_t)1 << guest;
        memory->guests = access ? memory->guests | bit : memory->guests & ~bit;
        at = memory->address + memory->mapped_bytes;
    }
    pthread_mutex_unlock(&lock);
}

bool sl_mapping_access(uint64_t address, unsigned long long *access)
{
    pthread_mutex_lock(&lock);
    const struct memory *memory = mapped_at(address);
    if (memory) *access = memory->access;
    pthread_mutex_unlock(&lock);
    return memory != NULL;
}

/* Handles stay valid until they are released, but name no memory any more. */
void sl_mappings_gone(uint32_t core, CUdevice device)
{
    uint32_t owner;
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < count; i++) {
        struct memory *memory = &memories[i];
        bool here = memory->address ? sl_cores_owner(memory->address, &owner) && owner == core
                                    : memory->handles && memory->properties.location.id == device;
        if (!here || memory->drivers || memory->lost) continue;
        if (memory->address) sl_ranges_remove(&places, memory->address);
        memory->address = 0;
        memory->lost = true;
        memory->mapped = false;
        if (!memory->handles) forget(memory);
    }
    for (uint32_t i = reservations.count; i-- > 0;)
        if (sl_cores_owner(reservations.ranges[i].begin, &owner) && owner == core)
            sl_ranges_remove(&reservations, reservations.ranges[i].begin);
    pthread_mutex_unlock(&lock);
}

/* Frees nothing: another thread of the parent may have held the allocator's lock when the child was cloned.
 */
void sl_mappings_after_fork(void)
{
    pthread_mutex_init(&turn, NULL);
    pthread_mutex_init(&lock, NULL);
    memories = NULL;
    count = capacity = 0;
    first_free = SL_NONE;
    reservations = places = (struct sl_ranges){0};
}
