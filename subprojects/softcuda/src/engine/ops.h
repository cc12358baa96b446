/* Functions that execute instructions. The lane-wise and memory functions are built once per instruction set
 * of the host (SC_ISA names the build); sc_isa picks the best build that this machine can run. */
#ifndef SOFTCUDA_ENGINE_OPS_H
#define SOFTCUDA_ENGINE_OPS_H

#include "group.h"
#include "ops_mask.h"

struct sc_isa {
    const char *name;
    sc_op_function *const *lane; /* by enum sc_code, SC_OP_LANE_COUNT entries */
    sc_op_function *(*load)(const struct sc_access *access);
    sc_op_function *(*store)(const struct sc_access *access);
    sc_op_function *const *product; /* mma, wmma.mma */
    sc_op_function *const *batch;   /* runs a SC_OP_BATCH and the instructions that follow it */
    const struct sc_mask_functions *mask;
};

/* The best build for this machine, or the one that SOFTCUDA_ISA names (for tests). Thread-safe. */
const struct sc_isa *sc_isa(void);

extern const struct sc_isa sc_isa_baseline, sc_isa_avx2, sc_isa_avx512;

sc_op_function sc_run_atomic, sc_run_shuffle, sc_run_vote, sc_run_match, sc_run_redux, sc_run_active_mask,
    sc_run_clock, sc_run_trap, sc_run_print, sc_run_assert, sc_run_fragment_load, sc_run_fragment_store,
    sc_run_rows_load, sc_run_rows_store, sc_run_transpose, sc_run_copy, sc_run_mbarrier, sc_run_yield,
    sc_run_polling_load, sc_run_heap, sc_run_touching;

/* Whether functions that are loaded from this point on record their accesses. */
bool sc_touches_wanted(void);
/* Records the memory that the active lanes of a load or store access, if requested. */
void sc_touch_lanes(struct sc_group *group, const struct sc_op *op);

/* Counts an instruction that may be part of a polling loop. After many of them without divergence or
 * convergence, the active lanes yield. */
void sc_poll(struct sc_group *group);

/* Applies an atomic without result to a memory cell that other threads may access concurrently. */
void sc_atomic_update(const struct sc_access *access, void *cell, uint64_t b);

/* Whether [address, address + bytes) is accessible in the space of `op`. On success *window is the range that
 * contains it; on failure the fault is recorded for `lane`. */
bool sc_check_address(struct sc_group *group, const struct sc_op *op, struct sc_window *window,
                      uint64_t address, uint32_t bytes, uint32_t lane);

/* Pointer to an operand's data, from chunk `first` on */
static inline __attribute__((always_inline)) unsigned char *
sc_operand(const struct sc_group *group, uint32_t place, uint32_t stride, uint32_t first)
{
    return group->file + place + (size_t)first * stride * 64;
}

#endif
