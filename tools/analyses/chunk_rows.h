/* The contents and movements of each chunk in a trace. */
#ifndef SLUICE_CHUNK_ROWS_H
#define SLUICE_CHUNK_ROWS_H

#include "tools/phases/phases.h"

struct chunk_row {
    uint32_t chunk;
    uint64_t address; /* 0: unknown */
    uint64_t moves[MOVE_KINDS][MOVE_CAUSES];
    uint64_t in_bytes, out_bytes;  /* copied: fetched, evicted */
    uint64_t resident_ns;          /* from each fetch or population to the eviction or discard */
    size_t first_slot, slot_count; /* in chunk_rows.slots; largest part first */
};

struct chunk_slot {
    uint64_t offset, bytes; /* of its part in the chunk */
    uint32_t slot;          /* in model->slots */
};

/* A slot counts at its last place. */
struct chunk_rows {
    struct chunk_row *rows;
    size_t count;
    struct chunk_slot *slots;
    size_t slot_count;
    uint64_t span_ns; /* of the trace */
    bool placed;      /* the trace has the addresses of chunks */
    bool cut;         /* chunks hold more slots than are listed */
};

/* All chunks that moved or hold a slot. False: out of memory. The caller frees *out with chunk_rows_free in
 * any case. */
bool chunk_rows_make(const struct model *model, struct chunk_rows *out);
void chunk_rows_free(struct chunk_rows *rows);

/* Bytes in the chunk by lifetime class, over all slots that were in it at any time. */
void chunk_row_classes(const struct chunk_rows *rows, const struct chunk_row *row,
                       const struct phases *phases, uint64_t out[CLASS_COUNT]);

/* Moves of a kind, for all causes. */
uint64_t chunk_row_moves(const struct chunk_row *row, unsigned kind);

#endif
