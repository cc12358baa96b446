/* What a trace says of each chunk: what lies in it, and how it came and went. */
#ifndef SLUICE_CHUNK_ROWS_H
#define SLUICE_CHUNK_ROWS_H

#include "tools/phases/phases.h"

struct chunk_row {
    uint32_t chunk;
    uint64_t address; /* 0: not known */
    uint64_t moves[MOVE_KINDS][MOVE_CAUSES];
    uint64_t in_bytes, out_bytes; /* copied: fetched, evicted */
    uint64_t resident_ns; /* from when it was fetched or populated to when it was evicted or dropped */
    size_t first_slot, slot_count; /* in chunk_rows.slots; the one with the most bytes in the chunk first */
};

struct chunk_slot {
    uint64_t offset, bytes; /* of it in the chunk */
    uint32_t slot;          /* in model->slots */
};

/* Slots lie where they lay last. */
struct chunk_rows {
    struct chunk_row *rows;
    size_t count;
    struct chunk_slot *slots;
    size_t slot_count;
    uint64_t span_ns; /* of the trace */
    bool placed;      /* the trace says where chunks lie */
    bool cut;         /* there are more slots in chunks than are listed */
};

/* Every chunk that moved or in which something lies. False when there is no memory. *out is released with
 * chunk_rows_free in any case. */
bool chunk_rows_make(const struct model *model, struct chunk_rows *out);
void chunk_rows_free(struct chunk_rows *rows);

/* Bytes in the chunk by lifetime class: of all slots that lay in it, at whatever time. */
void chunk_row_classes(const struct chunk_rows *rows, const struct chunk_row *row,
                       const struct phases *phases, uint64_t out[CLASS_COUNT]);

/* Moves of a kind, of all causes. */
uint64_t chunk_row_moves(const struct chunk_row *row, unsigned kind);

#endif
