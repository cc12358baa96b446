#include "memory/inner_tensors.h"

#include <string.h>

#include "base/grow.h"

#define MAX_INTERIOR 65536u

static uint32_t interior_from(const struct sl_slot *slot, uint64_t offset)
{
    uint32_t low = 0, high = slot->interior_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (slot->interior[middle] < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool sl_slot_learn(struct sl_slot *slot, uint64_t offset)
{
    if (!offset) {
        bool is_new = slot->mapped && !slot->begins;
        slot->begins |= slot->mapped;
        return is_new;
    }
    uint32_t at = interior_from(slot, offset);
    if (at < slot->interior_count && slot->interior[at] == offset) return false;
    if (slot->interior_count == MAX_INTERIOR ||
        !sl_grow(&slot->interior, &slot->interior_capacity, slot->interior_count, sizeof *slot->interior))
        return false;
    memmove(&slot->interior[at + 1], &slot->interior[at],
            (slot->interior_count - at) * sizeof *slot->interior);
    slot->interior[at] = offset;
    slot->interior_count++;
    return true;
}

uint64_t sl_slot_extent_end(const struct sl_slot *slot, uint64_t offset)
{
    uint32_t at = interior_from(slot, offset + 1);
    return at < slot->interior_count ? slot->interior[at] : slot->bytes;
}

const struct sl_slot *sl_place_next(const struct sl_placement *placement, const struct sl_slot *slot)
{
    if (!slot->live || !slot->mapped) return NULL;
    uint64_t end = slot->address + slot->bytes;
    uint32_t s = sl_place_find(placement, end);
    if (s == SL_NONE || !placement->slots[s].mapped) return NULL;
    sl_chunk last = sl_arena_chunk(placement->arena, end - 1), next = sl_arena_chunk(placement->arena, end);
    return next - last <= 1 ? &placement->slots[s] : NULL; /* not beyond the end of the reservation */
}

uint64_t sl_place_extent_end(const struct sl_placement *placement, const struct sl_slot *slot,
                             uint64_t offset)
{
    uint64_t end = sl_slot_extent_end(slot, offset), before = 0;
    while (end == before + slot->bytes) {
        const struct sl_slot *next = sl_place_next(placement, slot);
        if (!next || next->begins) break;
        before = end;
        end += sl_slot_extent_end(next, 0);
        slot = next;
    }
    return end;
}

uint64_t sl_place_reach(const struct sl_placement *placement, const struct sl_slot *slot, uint64_t end)
{
    uint64_t before = 0;
    for (; slot && end > before + slot->bytes; slot = sl_place_next(placement, slot)) before += slot->bytes;
    return slot ? end : before;
}
