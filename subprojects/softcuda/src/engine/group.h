/* The state of a part of a block: `lanes` threads that execute in lockstep, with their register file.
 *
 * Register file: [uniform values and constants | special vectors | scratch | vector registers]. Lane i of a
 * 32-bit vector is at place + 4 i, of a 64-bit vector at place + 8 i. Masks hold 0 or ~0 for each lane.
 *
 * A lane is active (in the current basic block of the program), waiting at a basic block (lane_at holds it),
 * waiting at a barrier (SC_AT_BARRIER | the basic block that follows), or exited (SC_AT_EXIT). The active
 * lanes are those at the lowest basic block.
 */
#ifndef SOFTCUDA_ENGINE_GROUP_H
#define SOFTCUDA_ENGINE_GROUP_H

#include "program.h"

#define SC_AT_BARRIER 0x80000000u
#define SC_AT_REST 0x40000000u /* waiting at a basic block; runs after all lanes without this flag */
#define SC_AT_EXIT 0xffffffffu

/* An address range that the kernel may access; caches the last lookup. */
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
    /* The lanes that a SC_FLAG_MASKED function must use: the active ones that its guard selects */
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
    uint32_t *lane_at;       /* where the inactive lanes are; valid while `apart` or blocked */
    uint32_t *barrier_block; /* of lanes that wait at a barrier: the basic block that ends in it */
    uint32_t *guard_mask;
    uint32_t lanes;         /* live at the start; the remaining lanes of the last chunk never run */
    uint32_t current;       /* basic block of the active lanes */
    uint32_t others_at;     /* lowest basic block at which other lanes wait; SC_AT_EXIT if none do */
    uint32_t first_thread;  /* linear index of lane 0 */
    uint32_t waiting_at;    /* all live lanes wait at one barrier, and continue here; else SC_AT_EXIT */
    uint32_t waiting_block; /* the basic block that ends in that barrier */
    uint32_t live;          /* lanes that have not exited */
    bool apart;             /* some live lanes are not active */
    bool pristine;          /* the masks are as at the start of a thread block */
    bool rested;            /* lanes that rested have run again since this was cleared */
    bool yields;            /* the active lanes wait for other lanes: let those run first */
    uint32_t polls;         /* instructions that look like polling since lanes last diverged or converged */
    bool blocked;           /* no lane can run: all wait or have exited */
};

#endif
