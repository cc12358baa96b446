/* The running state of a part of a block: `lanes` threads that execute together, with their register file.
 *
 * Register file: [uniform values and constants | special vectors | scratch | vector registers]. Lane i of a
 * 32-bit vector is at place + 4 i, of a 64-bit vector at place + 8 i. Masks hold 0 or ~0 for each lane.
 *
 * A lane is active (in the current block of the program), waiting at a block (lane_at holds it), waiting at a
 * barrier (SC_AT_BARRIER | the block that follows), or gone (SC_AT_EXIT). The active lanes are those at the
 * lowest block.
 */
#ifndef SOFTCUDA_ENGINE_GROUP_H
#define SOFTCUDA_ENGINE_GROUP_H

#include "program.h"

#define SC_AT_BARRIER 0x80000000u
#define SC_AT_REST 0x40000000u /* waiting at a block, after all that do not rest */
#define SC_AT_EXIT 0xffffffffu

/* A range of addresses that the kernel may access, as last looked up. */
struct sc_window {
    uint64_t begin, end;
    uint32_t kind; /* enum sc_range_kind, or SC_WINDOW_ON_CHIP */
};
#define SC_WINDOW_ON_CHIP 8u /* shared, local, param: not counted as memory traffic */

struct sc_worker;
struct sc_mask_functions;

struct sc_group {
    unsigned char *file;
    uint32_t *mask;               /* active lanes, as words */
    uint32_t first_chunk, chunks; /* chunks that hold all active lanes */
    uint32_t active;              /* number of active lanes */
    bool full;                    /* every lane of [first_chunk, first_chunk + chunks) is active */
    uint8_t slow_flags;           /* instructions with one of these flags need the masked path */
    /* What a SC_FLAG_MASKED function obeys: the above, narrowed by its guard */
    const uint32_t *use_mask;
    bool use_full;
    struct sc_window *caches; /* one for each memory instruction */
    struct sc_worker *worker;
    const struct sc_program *program;
    const struct sc_mask_functions *masks;
    unsigned char *shared;
    /* fault */
    uint8_t fault_kind;
    uint32_t fault_lane;
    uint64_t fault_address;
    /* scheduling */
    uint32_t *lane_at;       /* where lanes that are not active are; valid while `apart` or blocked */
    uint32_t *barrier_block; /* of lanes that wait at a barrier: the block that ends in it */
    uint32_t *guard_mask;
    uint32_t lanes;         /* live at the start; the rest of the last chunk never runs */
    uint32_t current;       /* block of the active lanes */
    uint32_t others_at;     /* lowest block at which others wait; SC_AT_EXIT when none do */
    uint32_t first_thread;  /* linear index of lane 0 */
    uint32_t waiting_at;    /* all live lanes wait at one barrier, and go on here; else SC_AT_EXIT */
    uint32_t waiting_block; /* the block that ends in that barrier */
    uint32_t live;          /* lanes not gone */
    bool apart;             /* lanes live but not active exist */
    bool pristine;          /* masks are as at the start of a block of threads */
    bool rested;            /* since it was last cleared, lanes that rested run again */
    bool yields;            /* the active lanes wait for others: let these run before */
    uint32_t polls;         /* instructions since lanes last parted or met that look like waiting */
    bool blocked;           /* no lane can run: all wait or are gone */
};

#endif
