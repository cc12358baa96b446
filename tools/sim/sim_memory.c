#include "tools/sim/sim_memory.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_ADDRESS ((uint64_t)1 << 40)
#define BLOCKS_PER_SLAB (SL_GIB / SL_BLOCK_BYTES)

enum block {
    NOTHING,
    ON_HOST,
    MAPPED,
    ON_DEVICE
}; /* where its content is; mapped: on the host, for the CPU */

void sl_sim_memory_init(struct sl_sim_memory *memory, uint64_t device_bytes)
{
    *memory = (struct sl_sim_memory){.next_address = FIRST_ADDRESS, .device_bytes = device_bytes};
}

void sl_sim_memory_close(struct sl_sim_memory *memory)
{
    for (int s = 0; s < SL_MAX_SLABS; s++) free(memory->slabs[s]);
    free(memory->order);
    memset(memory, 0, sizeof *memory);
}

enum sl_status sl_sim_slab_new(struct sl_sim_memory *memory, uint64_t bytes, bool pinned, uint64_t *address)
{
    uint64_t first = (memory->next_address - FIRST_ADDRESS) / SL_GIB, count = (bytes + SL_GIB - 1) / SL_GIB;
    if (first + count > SL_MAX_SLABS) return SL_ERR_NO_MEMORY;
    for (uint64_t s = first; s < first + count; s++) {
        if (!memory->slabs[s]) memory->slabs[s] = calloc(1, BLOCKS_PER_SLAB);
        if (!memory->slabs[s]) return SL_ERR_NO_MEMORY;
        memory->pinned[s] = pinned;
    }
    *address = memory->next_address;
    memory->next_address += count * SL_GIB;
    return SL_OK;
}

void sl_sim_slab_delete(struct sl_sim_memory *memory, uint64_t address, uint64_t bytes)
{
    for (uint64_t at = address; at < address + bytes; at += SL_GIB) {
        uint64_t s = (at - FIRST_ADDRESS) / SL_GIB;
        free(memory->slabs[s]);
        memory->slabs[s] = NULL;
    }
}

/* The slab of an address; SL_MAX_SLABS: none. */
static uint64_t slab_of(const struct sl_sim_memory *memory, uint64_t address)
{
    uint64_t s = (address - FIRST_ADDRESS) / SL_GIB;
    return address < FIRST_ADDRESS || s >= SL_MAX_SLABS || !memory->slabs[s] ? SL_MAX_SLABS : s;
}

bool sl_sim_is_pinned(const struct sl_sim_memory *memory, uint64_t address)
{
    uint64_t s = slab_of(memory, address);
    return s != SL_MAX_SLABS && memory->pinned[s];
}

static uint8_t *block_at(const struct sl_sim_memory *memory, uint64_t address)
{
    uint64_t s = slab_of(memory, address);
    return s == SL_MAX_SLABS ? NULL : &memory->slabs[s][address % SL_GIB / SL_BLOCK_BYTES];
}

static bool is_on_host(enum block block)
{
    return block == ON_HOST || block == MAPPED;
}

/* Returns the copied bytes. */
static uint64_t set_block(struct sl_sim_memory *memory, uint8_t *block, enum block to)
{
    enum block from = *block;
    if (from == to) return 0;
    if (to == ON_DEVICE) memory->resident_bytes += SL_BLOCK_BYTES;
    if (from == ON_DEVICE) memory->resident_bytes -= SL_BLOCK_BYTES;
    *block = (uint8_t)to;
    return (from == ON_DEVICE && is_on_host(to)) || (is_on_host(from) && to == ON_DEVICE) ? SL_BLOCK_BYTES
                                                                                          : 0;
}

uint64_t sl_sim_fetch(struct sl_sim_memory *memory, uint64_t address, uint64_t bytes,
                      struct sl_sim_moved *moved)
{
    struct sl_sim_moved all = {0};
    for (uint64_t at = address; at < address + bytes; at += SL_BLOCK_BYTES) {
        uint8_t *block = block_at(memory, at);
        if (!block) continue;
        all.unmapped += *block == MAPPED;
        all.copied += set_block(memory, block, ON_DEVICE) > 0;
    }
    if (moved) *moved = all;
    return all.copied * SL_BLOCK_BYTES;
}

uint64_t sl_sim_evict(struct sl_sim_memory *memory, uint64_t address, uint64_t bytes,
                      struct sl_sim_moved *moved)
{
    struct sl_sim_moved all = {0};
    for (uint64_t at = address; at < address + bytes; at += SL_BLOCK_BYTES) {
        uint8_t *block = block_at(memory, at);
        if (!block || *block == NOTHING) continue;
        all.remapped += *block == MAPPED;
        all.mapped += *block != MAPPED;
        all.copied += set_block(memory, block, MAPPED) > 0;
    }
    if (moved) *moved = all;
    return all.copied * SL_BLOCK_BYTES;
}

void sl_sim_discard(struct sl_sim_memory *memory, uint64_t address, uint64_t bytes)
{
    for (uint64_t at = address; at < address + bytes; at += SL_BLOCK_BYTES) {
        uint8_t *block = block_at(memory, at);
        if (block) set_block(memory, block, NOTHING);
    }
}

/* The part of [at, end) in the block of `at`. */
static uint64_t part_of_block(uint64_t at, uint64_t end)
{
    uint64_t next = (at | (SL_BLOCK_BYTES - 1)) + 1;
    return (next < end ? next : end) - at;
}

void sl_sim_use_remote(struct sl_sim_memory *memory, const struct sl_span *span, struct sl_sim_use *use)
{
    uint64_t bytes;
    for (uint64_t at = span->address, end = at + span->bytes; at < end; at += bytes) {
        uint8_t *block = block_at(memory, at);
        bytes = part_of_block(at, end);
        if (!block) return;
        if (*block == ON_DEVICE) continue;
        if (is_on_host(*block)) use->in += bytes;
        if (span->write) use->out += bytes;
        if (*block == NOTHING) set_block(memory, block, ON_HOST);
    }
}

static bool append(struct sl_sim_memory *memory, uint64_t address)
{
    if (memory->order_count == memory->order_room) {
        size_t room = memory->order_room ? 2 * memory->order_room : 1024;
        uint64_t *larger = calloc(room, sizeof *larger);
        if (!larger) return false;
        for (size_t i = 0; i < memory->order_count; i++)
            larger[i] = memory->order[(memory->order_first + i) & (memory->order_room - 1)];
        free(memory->order);
        memory->order = larger;
        memory->order_room = room;
        memory->order_first = 0;
    }
    memory->order[(memory->order_first + memory->order_count++) & (memory->order_room - 1)] = address;
    return true;
}

/* Evicts the oldest blocks until there is room for one more. */
static uint64_t make_room(struct sl_sim_memory *memory)
{
    uint64_t copied = 0;
    while (memory->order_count && memory->resident_bytes + SL_BLOCK_BYTES > memory->device_bytes) {
        uint8_t *block = block_at(memory, memory->order[memory->order_first]);
        memory->order_first = (memory->order_first + 1) & (memory->order_room - 1);
        memory->order_count--;
        if (block && *block == ON_DEVICE) copied += set_block(memory, block, ON_HOST);
    }
    return copied;
}

bool sl_sim_use_paged(struct sl_sim_memory *memory, const struct sl_span *span, struct sl_sim_use *use)
{
    for (uint64_t at = span->address, end = at + span->bytes; at < end; at += part_of_block(at, end)) {
        uint8_t *block = block_at(memory, at);
        if (!block) return true;
        if (*block == ON_DEVICE) continue;
        use->out += make_room(memory);
        use->in += set_block(memory, block, ON_DEVICE);
        use->faults++;
        if (!append(memory, at & ~(SL_BLOCK_BYTES - 1))) return false;
    }
    return true;
}
