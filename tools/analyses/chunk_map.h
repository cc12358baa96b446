/* A map of the chunks over time: which are on the device, move, or hold only dead memory. */
#ifndef SLUICE_TOOL_CHUNK_MAP_H
#define SLUICE_TOOL_CHUNK_MAP_H

#include "tools/model/model.h"

enum { CHUNK_MAP_ROWS = 192 }; /* at most: each is for as many neighbouring chunks as needed */

/* Of a row in one interval. */
struct chunk_cell {
    uint32_t resident; /* chunks on the device at its end */
    uint32_t live;     /* chunks with live memory at its end, on the device or on the host */
    uint8_t moved;     /* bits: 1 << enum sl_action_kind of the movements issued in it */
};

struct chunk_map {
    struct chunk_cell *cells; /* row by row */
    uint32_t rows, columns;
    uint32_t first, per_row, chunks; /* the first chunk; chunks in a row; chunks in all */
    bool placed;                     /* the trace has the places of allocations: `live` is known */
};

/* The chunks that move or hold memory at any time in the trace, in `columns` equal intervals of
 * [begin_ns, end_ns), as in a timeline of as many intervals. False: out of memory. The caller frees *out with
 * chunk_map_free in any case. */
bool chunk_map_make(const struct model *model, uint64_t begin_ns, uint64_t end_ns, uint32_t columns,
                    struct chunk_map *out);
void chunk_map_free(struct chunk_map *map);

#endif
