#include "managed.h"

#include <stdlib.h>
#include <string.h>

#define GRANULE UINT64_C(65536)

void sc_managed_init(struct sc_managed *managed, uint64_t capacity_bytes)
{
    memset(managed, 0, sizeof *managed);
    managed->capacity_bytes = capacity_bytes;
    managed->order.previous = managed->order.next = &managed->order;
}

static void free_range(struct sc_managed_range *range)
{
    sc_timeline_destroy(&range->page_tables);
    free(range);
}

void sc_managed_destroy(struct sc_managed *managed)
{
    for (size_t i = 0; i < managed->range_count; i++) free_range(managed->ranges[i]);
    free(managed->ranges);
    sc_managed_init(managed, 0);
}

/* Index of the first range that begins above `address`. */
static size_t upper_bound(const struct sc_managed *managed, uint64_t address)
{
    size_t low = 0, high = managed->range_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (managed->ranges[middle]->begin <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool sc_managed_allocate(struct sc_managed *managed, uint64_t begin, uint64_t bytes)
{
    size_t block_count = (bytes + SC_BLOCK_BYTES - 1) >> SC_BLOCK_SHIFT;
    if (managed->range_count == managed->range_capacity) {
        size_t capacity = managed->range_capacity ? 2 * managed->range_capacity : 64;
        struct sc_managed_range **ranges = realloc(managed->ranges, capacity * sizeof *ranges);
        if (!ranges) return false;
        managed->ranges = ranges;
        managed->range_capacity = capacity;
    }
    struct sc_managed_range *range = calloc(1, sizeof *range + block_count * sizeof *range->blocks);
    if (!range) return false;
    range->begin = begin;
    range->bytes = bytes;
    range->block_count = block_count;
    for (size_t i = 0; i < block_count; i++) {
        uint64_t rest = bytes - i * SC_BLOCK_BYTES;
        if (rest > SC_BLOCK_BYTES) rest = SC_BLOCK_BYTES;
        range->blocks[i].bytes = (uint32_t)((rest + GRANULE - 1) & ~(GRANULE - 1));
    }
    size_t at = upper_bound(managed, begin);
    memmove(managed->ranges + at + 1, managed->ranges + at,
            (managed->range_count - at) * sizeof *managed->ranges);
    managed->ranges[at] = range;
    managed->range_count++;
    return true;
}

struct sc_managed_range *sc_managed_range_of(struct sc_managed *managed, uint64_t address)
{
    size_t at = upper_bound(managed, address);
    if (!at) return NULL;
    struct sc_managed_range *range = managed->ranges[at - 1];
    return (address - range->begin) >> SC_BLOCK_SHIFT < range->block_count ? range : NULL;
}

struct sc_managed_block *sc_managed_find(struct sc_managed *managed, uint64_t address)
{
    struct sc_managed_range *range = sc_managed_range_of(managed, address);
    return range ? &range->blocks[(address - range->begin) >> SC_BLOCK_SHIFT] : NULL;
}

static void append(struct sc_managed *managed, struct sc_managed_block *block)
{
    block->previous = managed->order.previous;
    block->next = &managed->order;
    block->previous->next = block;
    managed->order.previous = block;
}

static void unlink_block(struct sc_managed_block *block)
{
    block->previous->next = block->next;
    block->next->previous = block->previous;
    block->previous = block->next = NULL;
}

static void leave_device(struct sc_managed *managed, struct sc_managed_block *block, struct sc_effect *effect)
{
    if (!(block->residency & SC_ON_DEVICE)) return;
    block->residency &= (uint8_t)~SC_ON_DEVICE;
    block->hidden = false;
    managed->resident_bytes -= block->bytes;
    effect->lost_bytes += block->bytes;
    unlink_block(block);
}

static void evict(struct sc_managed *managed, struct sc_managed_block *block, struct sc_effect *effect)
{
    /* A read-mostly copy: the host has its content already. */
    if (!(block->residency & SC_ON_HOST)) effect->out[SC_CAUSE_EVICTION] += block->bytes;
    effect->evicted_bytes += block->bytes;
    leave_device(managed, block, effect);
    block->residency = SC_ON_HOST;
}

/* Evicts blocks in the order of the eviction list until `bytes` more fit. false: they do not fit. */
static bool make_room(struct sc_managed *managed, uint64_t bytes, struct sc_effect *effect)
{
    while (managed->allocated_bytes + managed->resident_bytes + bytes > managed->capacity_bytes) {
        if (managed->order.next == &managed->order) return false;
        evict(managed, managed->order.next, effect);
    }
    return true;
}

/* Takes a device frame; false if even eviction frees none. */
static bool enter_device(struct sc_managed *managed, struct sc_managed_block *block, struct sc_effect *effect)
{
    if (!make_room(managed, block->bytes, effect)) return false;
    block->residency |= SC_ON_DEVICE;
    if (!block->read_mostly) block->host_mapped = false;
    managed->resident_bytes += block->bytes;
    effect->gained_bytes += block->bytes;
    append(managed, block);
    return true;
}

void sc_managed_free(struct sc_managed *managed, uint64_t begin, struct sc_effect *effect)
{
    size_t at = upper_bound(managed, begin);
    if (!at || managed->ranges[at - 1]->begin != begin) return;
    struct sc_managed_range *range = managed->ranges[at - 1];
    for (size_t i = 0; i < range->block_count; i++) leave_device(managed, &range->blocks[i], effect);
    managed->range_count--;
    memmove(managed->ranges + at - 1, managed->ranges + at,
            (managed->range_count - (at - 1)) * sizeof *managed->ranges);
    free_range(range);
}

void sc_managed_charge(struct sc_managed *managed, int64_t bytes, struct sc_effect *effect)
{
    if (bytes < 0) {
        managed->allocated_bytes -= (uint64_t)-bytes;
        effect->lost_bytes += (uint64_t)-bytes;
        return;
    }
    make_room(managed, (uint64_t)bytes, effect);
    managed->allocated_bytes += (uint64_t)bytes;
    effect->gained_bytes += (uint64_t)bytes;
}

struct block_action {
    struct sc_effect *effect;
    enum sc_advice advice;
    enum sc_place place;
};

/* Calls act for each block that overlaps the range or, if `whole` is set, lies entirely in it. */
static void each_block(struct sc_managed *managed, uint64_t address, uint64_t bytes, bool whole,
                       void (*act)(struct sc_managed *, struct sc_managed_block *,
                                   const struct block_action *),
                       const struct block_action *action)
{
    uint64_t end = address + bytes;
    size_t at = upper_bound(managed, address);
    for (size_t i = at ? at - 1 : 0; i < managed->range_count && managed->ranges[i]->begin < end; i++) {
        struct sc_managed_range *range = managed->ranges[i];
        uint64_t from = address > range->begin ? address : range->begin;
        uint64_t to = end < range->begin + range->bytes ? end : range->begin + range->bytes;
        if (from >= to) continue;
        uint64_t first = (from - range->begin) >> SC_BLOCK_SHIFT;
        uint64_t last = (to - 1 - range->begin) >> SC_BLOCK_SHIFT;
        if (whole && ((from - range->begin) & (SC_BLOCK_BYTES - 1))) first++;
        if (whole && to != range->begin + range->bytes && ((to - range->begin) & (SC_BLOCK_BYTES - 1))) {
            if (!last) continue;
            last--;
        }
        for (uint64_t b = first; b <= last && b < range->block_count; b++)
            act(managed, &range->blocks[b], action);
    }
}

static bool is_duplicated(const struct sc_managed_block *block)
{
    return block->residency == (SC_ON_HOST | SC_ON_DEVICE);
}

/* The device's copy is the only one from now on. */
static void leave_host(struct sc_managed_block *block)
{
    block->residency = SC_ON_DEVICE;
    block->hidden = block->host_mapped = false;
}

/* When read-mostly is unset, one copy remains: the one at the preferred location, else the device's. Nothing
 * is copied, and the CPU gets no page-table entries. */
static void collapse(struct sc_managed *managed, struct sc_managed_block *block, struct sc_effect *effect)
{
    if (!is_duplicated(block)) return;
    if (block->preferred == SC_HOST)
        leave_device(managed, block, effect);
    else
        leave_host(block);
}

/* The device writes to a block that it has: where the host has a copy, that is a fault, which ends the copy
 * before the write goes on. */
static void write_on_device(struct sc_managed *managed, struct sc_managed_block *block,
                            struct sc_effect *effect)
{
    if (!is_duplicated(block)) return;
    if (managed->hide_write && !--managed->hide_write) {
        block->hidden = true;
        return;
    }
    effect->faults++;
    effect->collapses++;
    effect->collapsed_bytes += block->bytes;
    if (block->host_mapped) effect->unmapped_bytes += block->bytes;
    leave_host(block);
}

static void advise_block(struct sc_managed *managed, struct sc_managed_block *block,
                         const struct block_action *action)
{
    switch (action->advice) {
    case SC_ADVISE_READ_MOSTLY:
        block->read_mostly = true;
        break;
    case SC_ADVISE_NOT_READ_MOSTLY:
        block->read_mostly = false;
        collapse(managed, block, action->effect);
        break;
    case SC_ADVISE_PREFERRED:
        block->preferred = (uint8_t)action->place;
        break;
    case SC_ADVISE_ACCESSED_BY:
    case SC_ADVISE_NOT_ACCESSED_BY:
        if (action->place == SC_DEVICE)
            block->accessed_by_device = action->advice == SC_ADVISE_ACCESSED_BY;
        else
            block->accessed_by_host = action->advice == SC_ADVISE_ACCESSED_BY;
        break;
    }
}

void sc_managed_advise(struct sc_managed *managed, uint64_t address, uint64_t bytes, enum sc_advice advice,
                       enum sc_place place, struct sc_effect *effect)
{
    each_block(managed, address, bytes, false, advise_block,
               &(struct block_action){.effect = effect, .advice = advice, .place = place});
}

static void prefetch_block(struct sc_managed *managed, struct sc_managed_block *block,
                           const struct block_action *action)
{
    block->last_prefetch = (uint8_t)action->place;
    if (action->place == SC_DEVICE) {
        if (block->residency & SC_ON_DEVICE) { /* moves to the end of the eviction order */
            unlink_block(block);
            append(managed, block);
            return;
        }
        bool copied = block->residency & SC_ON_HOST;
        if (!enter_device(managed, block, action->effect)) return;
        if (copied) action->effect->in[SC_CAUSE_PREFETCH] += block->bytes;
        if (!block->read_mostly) block->residency = SC_ON_DEVICE;
        return;
    }
    if (block->residency == SC_ON_DEVICE) action->effect->out[SC_CAUSE_PREFETCH] += block->bytes;
    /* A read-mostly copy on the device survives a prefetch to the host. */
    if (!block->read_mostly) leave_device(managed, block, action->effect);
    block->residency |= SC_ON_HOST;
    block->host_mapped = true;
}

void sc_managed_prefetch(struct sc_managed *managed, uint64_t address, uint64_t bytes, enum sc_place to,
                         struct sc_effect *effect)
{
    each_block(managed, address, bytes, false, prefetch_block,
               &(struct block_action){.effect = effect, .place = to});
}

void sc_managed_take_home(struct sc_managed *managed, uint64_t address, struct sc_effect *effect)
{
    struct sc_managed_block *block = sc_managed_find(managed, address);
    if (block->residency == SC_ON_DEVICE) effect->out[SC_CAUSE_FAULT] += block->bytes;
    leave_device(managed, block, effect);
    block->residency |= SC_ON_HOST;
}

static void discard_block(struct sc_managed *managed, struct sc_managed_block *block,
                          const struct block_action *action)
{
    leave_device(managed, block, action->effect);
    block->residency = 0;
    block->host_mapped = false;
}

void sc_managed_discard(struct sc_managed *managed, uint64_t address, uint64_t bytes,
                        struct sc_effect *effect)
{
    each_block(managed, address, bytes, true, discard_block, &(struct block_action){.effect = effect});
}

static void access_remotely(uint64_t bytes_read, uint64_t bytes_written, struct sc_effect *effect)
{
    effect->in[SC_CAUSE_REMOTE] += bytes_read;
    effect->out[SC_CAUSE_REMOTE] += bytes_written;
}

void sc_managed_touch(struct sc_managed *managed, uint64_t address, uint64_t bytes_read,
                      uint64_t bytes_written, struct sc_effect *effect)
{
    struct sc_managed_block *block = sc_managed_find(managed, address);
    if (!block) {
        access_remotely(bytes_read, bytes_written, effect);
        return;
    }
    bool written = bytes_written != 0;
    if (block->residency & SC_ON_DEVICE) {
        if (written) write_on_device(managed, block, effect);
        return;
    }
    /* Read-mostly overrides accessed-by: a miss duplicates the block. */
    bool remote = block->residency ? (block->accessed_by_device || block->preferred == SC_HOST) &&
                                         block->preferred != SC_DEVICE && !block->read_mostly
                                   : block->accessed_by_device && block->preferred == SC_HOST;
    bool copied = block->residency & SC_ON_HOST;
    if (remote || !enter_device(managed, block, effect)) {
        block->residency |= SC_ON_HOST;
        access_remotely(bytes_read, bytes_written, effect);
        return;
    }
    effect->faults++;
    if (copied) effect->in[SC_CAUSE_FAULT] += block->bytes;
    if (!block->read_mostly || written) leave_host(block);
}

static void populate_block(struct sc_managed *managed, struct sc_managed_block *block,
                           const struct block_action *action)
{
    if (block->residency) {
        write_on_device(managed, block, action->effect);
        return;
    }
    bool on_host = block->accessed_by_device && block->preferred == SC_HOST;
    if (on_host || !enter_device(managed, block, action->effect)) block->residency = SC_ON_HOST;
}

void sc_managed_populate(struct sc_managed *managed, uint64_t address, uint64_t bytes,
                         struct sc_effect *effect)
{
    each_block(managed, address, bytes, false, populate_block, &(struct block_action){.effect = effect});
}

uint64_t sc_managed_resident(struct sc_managed *managed, uint64_t address, uint64_t bytes)
{
    uint64_t resident = 0;
    for (uint64_t at = address; at < address + bytes;) {
        uint64_t next = (at | (SC_BLOCK_BYTES - 1)) + 1;
        if (next > address + bytes) next = address + bytes;
        struct sc_managed_block *block = sc_managed_find(managed, at);
        if (block && (block->residency & SC_ON_DEVICE)) resident += next - at;
        at = next;
    }
    return resident;
}
