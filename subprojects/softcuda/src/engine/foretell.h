/* What the blocks of a grid that were executed say of the others. Private to sample.c and foretell.c. */
#ifndef SOFTCUDA_ENGINE_FORETELL_H
#define SOFTCUDA_ENGINE_FORETELL_H

#include "sample.h"

/* The blocks that were executed, by what they are for: at a corner, in the middle of a dimension, the last
 * one, another one that checks, the last ones of each dimension, SC_SPREAD that lie evenly in the grid, and
 * those that part a grid of one dimension into pieces. */
enum sc_role {
    SC_BASE,
    SC_MIDDLE_X,
    SC_MIDDLE_Y,
    SC_MIDDLE_Z,
    SC_LAST,
    SC_OTHER,
    SC_LAST_X,
    SC_LAST_Y,
    SC_LAST_Z,
    SC_FIRST_SPREAD,
    SC_SPREAD = 16,
    SC_FIRST_OF_PIECES = SC_FIRST_SPREAD + SC_SPREAD,
    SC_MOST_EXECUTED = 160
};

/* What one instruction did in one block. bytes[0]: read; bytes[1]: written. */
struct sc_footprint {
    uint64_t begin, end;
    uint64_t bytes[2];
    uint64_t seen; /* the 2 MiB blocks modulo 64 */
};

struct sc_counters {
    uint64_t instructions, flops;
};

/* Between two blocks next to each other among those that were executed, by role. */
struct sc_piece {
    uint32_t first, last;
};

struct sc_sample {
    const struct sc_launch *launch;
    uint64_t blocks;                               /* of the grid */
    uint64_t block[SC_MOST_EXECUTED];              /* by role; UINT64_MAX: none */
    struct sc_counters counters[SC_MOST_EXECUTED]; /* of the block */
    struct sc_counters before;                     /* of the worker, when the block began */
    uint32_t role, end; /* being executed; roles from `end` on are not wanted yet */
    bool begun, judged, fits, no_memory;
    bool spread;    /* the mean of those that lie evenly counts */
    bool in_pieces; /* the grid is linear in pieces only */
    struct sc_piece linear[SC_MOST_EXECUTED], open[SC_MOST_EXECUTED]; /* known to be, and not yet */
    uint32_t linear_count, open_count;
    struct sc_piece divided; /* by the block that is being executed */
    uint32_t *slot_of;       /* by instruction: its number among those that accessed memory, plus 1 */
    struct sc_footprint (*slots)[SC_MOST_EXECUTED];
    uint32_t slot_count, slot_capacity;
    uint32_t op; /* being executed */
    uint64_t read_before, written_before;
};

static inline bool sc_is_executed(const struct sc_sample *sample, uint32_t role)
{
    return sample->block[role] != UINT64_MAX;
}

/* The first role whose block is that of `role`: what was executed for it counts for both. */
static inline uint32_t sc_same_block(const struct sc_sample *sample, uint32_t role)
{
    uint32_t r = 0;
    while (sample->block[r] != sample->block[role]) r++;
    return r;
}

static inline bool sc_is_first_of_block(const struct sc_sample *sample, uint32_t role)
{
    return sc_is_executed(sample, role) && sc_same_block(sample, role) == role;
}

/* Whether the addresses of each instruction are affine functions of the block's coordinates, or it accesses
 * all between the least and the greatest one. */
bool sc_lie_as_foretold(const struct sc_sample *sample);
/* What the grid executes. Precondition: the sample fits. */
uint64_t sc_instructions_foretold(const struct sc_sample *sample);
/* Whether counters of the block with that role are what the others foretell. */
bool sc_count_as_foretold(const struct sc_sample *sample, uint32_t role);
/* Whether counters and addresses of the block with that role lie midway, in proportion, between those of the
 * piece's ends. */
bool sc_lies_between(const struct sc_sample *sample, const struct sc_piece *piece, uint32_t role);

#endif
