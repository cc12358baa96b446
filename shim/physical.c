#include "physical.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/map.h"
#include "charge.h"

#define UNIT 65536u                     /* mappings are multiples of it */
#define GRANULARITY ((uint64_t)2 << 20) /* mappings of device memory are multiples of this */
#define LONGEST_MAPPING 65536u          /* maximum units of a device mapping that are searched */

/* The driver may reuse a handle's number while its memory is still mapped. So the charge is stored under this
 * index, to which the handle maps while it lives. */
struct memory {
    uint64_t bytes;
    uint32_t handles, mappings;
    uint32_t next_free;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct memory *memories;
static uint32_t count, capacity, first_free = SL_NONE;
static struct sl_map by_handle;                   /* handle to index */
static struct sl_map mapped_memory, mapped_units; /* by a mapping's address: the index, and the length */

/* SL_NONE: out of host memory; such memory is not charged. */
static uint32_t new_memory(void)
{
    uint32_t index = first_free;
    if (index != SL_NONE) {
        first_free = memories[index].next_free;
        return index;
    }
    if (count == capacity) {
        uint32_t wanted = capacity ? 2 * capacity : 64;
        struct memory *larger = realloc(memories, wanted * sizeof *larger);
        if (!larger) return SL_NONE;
        memories = larger;
        capacity = wanted;
    }
    return count++;
}

static void end_if_unheld(uint32_t index)
{
    struct memory *memory = &memories[index];
    if (memory->handles || memory->mappings) return;
    sl_uncharge(SL_CHARGE_PHYSICAL, index);
    memory->next_free = first_free;
    first_free = index;
}

void sl_physical_made(uint64_t handle, uint64_t bytes)
{
    pthread_mutex_lock(&lock);
    uint32_t index = new_memory();
    if (index != SL_NONE) {
        memories[index] = (struct memory){.bytes = bytes, .handles = 1};
        if (sl_map_put(&by_handle, handle, index)) {
            sl_charge(SL_CHARGE_PHYSICAL, index, bytes);
        } else {
            memories[index].handles = 0;
            end_if_unheld(index);
        }
    }
    pthread_mutex_unlock(&lock);
}

/* The mapping that holds the address: the index of its memory, or SL_NONE. */
static uint32_t mapped_at(uint64_t address)
{
    uint64_t at = address & ~(GRANULARITY - 1);
    for (uint32_t steps = 0; mapped_memory.count && steps < LONGEST_MAPPING; steps++, at -= GRANULARITY) {
        uint32_t index = at ? sl_map_get(&mapped_memory, at) : SL_NONE;
        if (index == SL_NONE) continue;
        uint64_t length = (uint64_t)sl_map_get(&mapped_units, at) * UNIT;
        return address - at < length ? index : SL_NONE;
    }
    return SL_NONE;
}

void sl_physical_retained(uint64_t handle, uint64_t address)
{
    pthread_mutex_lock(&lock);
    uint32_t index = mapped_at(address);
    if (index != SL_NONE && sl_map_put(&by_handle, handle, index)) memories[index].handles++;
    pthread_mutex_unlock(&lock);
}

void sl_physical_released(uint64_t handle)
{
    pthread_mutex_lock(&lock);
    uint32_t index = sl_map_get(&by_handle, handle);
    if (index != SL_NONE && --memories[index].handles == 0) {
        sl_map_remove(&by_handle, handle);
        end_if_unheld(index);
    }
    pthread_mutex_unlock(&lock);
}

bool sl_physical_any_unmapped(void)
{
    bool any = false;
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < count && !any; i++) any = memories[i].handles && !memories[i].mappings;
    pthread_mutex_unlock(&lock);
    return any;
}

bool sl_physical_mapped(uint64_t address, uint64_t bytes, uint64_t handle)
{
    pthread_mutex_lock(&lock);
    uint32_t index = sl_map_get(&by_handle, handle);
    uint64_t units = bytes / UNIT;
    if (index != SL_NONE && units && units < SL_NONE && sl_map_put(&mapped_units, address, (uint32_t)units)) {
        if (sl_map_put(&mapped_memory, address, index)) {
            struct memory *memory = &memories[index];
            memory->mappings++;
            if (bytes > memory->bytes) memory->bytes = bytes;
            sl_charge(SL_CHARGE_PHYSICAL, index, memory->bytes);
        } else {
            sl_map_remove(&mapped_units, address);
        }
    }
    pthread_mutex_unlock(&lock);
    return index != SL_NONE;
}

void sl_physical_unmapped(uint64_t address, uint64_t bytes)
{
    pthread_mutex_lock(&lock);
    for (uint64_t at = address, end = address + bytes; mapped_memory.count && at < end;) {
        uint32_t index = sl_map_get(&mapped_memory, at);
        if (index == SL_NONE) {
            at = (at | (GRANULARITY - 1)) + 1;
            continue;
        }
        uint64_t length = (uint64_t)sl_map_get(&mapped_units, at) * UNIT;
        sl_map_remove(&mapped_memory, at);
        sl_map_remove(&mapped_units, at);
        memories[index].mappings--;
        end_if_unheld(index);
        at += length;
    }
    pthread_mutex_unlock(&lock);
}

/* Frees nothing: another thread of the parent may have held the allocator's lock when the child was cloned.
 */
void sl_physical_after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    memories = NULL;
    count = capacity = 0;
    first_free = SL_NONE;
    by_handle = mapped_memory = mapped_units = (struct sl_map){0};
}
