#include "tools/analyses/pieces.h"

#include <stdlib.h>

#include "tools/analyses/chunk_at.h"

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
