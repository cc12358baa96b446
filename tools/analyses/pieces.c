#include "tools/analyses/pieces.h"

#include <stdlib.h>

enum { PIECES_MAX = 1 << 22 };

static void add_piece(struct pieces *pieces, struct piece piece)
{
    if (pieces->count == pieces->room) {
        size_t room = pieces->room ? 2 * pieces->room : 1024;
        struct piece *larger = room <= PIECES_MAX ? realloc(pieces->at, room * sizeof(*larger)) : NULL;
        if (!larger) {
            pieces->no_memory = true;
            return;
        }
        pieces->at = larger;
        pieces->room = room;
    }
    pieces->at[pieces->count++] = piece;
}

/* The chunk at `address`, and its end. */
static uint32_t chunk_at(const struct model *model, uint64_t address, uint64_t *end)
{
    *end = UINT64_MAX;
    for (size_t i = 0; i < model->slabs.count && model->chunk_bytes; i++) {
        const struct model_slab *slab = &model->slabs.at[i];
        if (address < slab->address || address - slab->address >= slab->bytes) continue;
        uint64_t index = (address - slab->address) / model->chunk_bytes;
        uint64_t chunk_end = slab->address + (index + 1) * model->chunk_bytes;
        if (chunk_end <= address) continue; /* not a figure that sluice wrote */
        *end = chunk_end;
        return slab->chunk + (uint32_t)index;
    }
    return SL_NONE;
}

void pieces_add_life(const struct model *model, const struct phases *phases, const struct model_life *life,
                     struct pieces *pieces)
{
    const struct segments *segments = &phases->segments;
    const struct model_slot *slot = &model->slots.at[life->slot];
    if (slot->bytes > UINT64_MAX - slot->address) return;
    for (uint32_t s = segments->first_of_slot[life->slot]; s < segments->first_of_slot[life->slot + 1]; s++) {
        const struct segment *segment = &segments->at[s];
        if (segment->offset > slot->bytes || segment->bytes > slot->bytes - segment->offset) continue;
        uint64_t at = slot->address + segment->offset, end = at + segment->bytes;
        while (at < end && !pieces->no_memory) {
            uint64_t chunk_end;
            uint32_t chunk = chunk_at(model, at, &chunk_end);
            uint64_t next = chunk_end < end ? chunk_end : end;
            add_piece(pieces,
                      (struct piece){life->born_ns, life->died_ns, next - at, chunk, phases->class_of[s]});
            at = next;
        }
    }
}

void pieces_free(struct pieces *pieces)
{
    free(pieces->at);
    *pieces = (struct pieces){0};
}
