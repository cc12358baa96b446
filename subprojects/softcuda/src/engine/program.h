/* A function ready to run: basic blocks of decoded instructions, whose operands are places in the register
 * file.
 *
 * A *place* is a byte offset in a group's register file (see group.h). A *stride* is the distance, in units
 * of 64 bytes, by which an operand advances for the next 16 lanes: 0 for uniform, 1 for 32-bit, 2 for 64-bit
 * operands. A *uniform* value is equal in all lanes: it is stored once (splatted over 16 lanes) and computed
 * once.
 */
#ifndef SOFTCUDA_ENGINE_PROGRAM_H
#define SOFTCUDA_ENGINE_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine.h"

#define SC_CHUNK 16u /* lanes that a loop iteration processes together; copies of a uniform value */

/* All instruction codes: the lane-wise rows of ops.def, then those with functions of their own. */
enum sc_code {
#define ROW1(flops, name, ...) SC_OP_##name,
#define ROW2(flops, name, ...) SC_OP_##name,
#define ROW3(flops, name, ...) SC_OP_##name,
#define ROW4(flops, name, ...) SC_OP_##name,
#include "ops.def"
#undef ROW1
#undef ROW2
#undef ROW3
#undef ROW4
    SC_OP_LANE_COUNT,
    SC_OP_LOAD = SC_OP_LANE_COUNT,
    SC_OP_STORE,
    SC_OP_ATOMIC,
    SC_OP_SHUFFLE,
    SC_OP_VOTE,
    SC_OP_MATCH,
    SC_OP_REDUX,
    SC_OP_ACTIVE_MASK,
    SC_OP_CLOCK,
    SC_OP_TRAP,
    SC_OP_YIELD, /* nanosleep */
    SC_OP_HEAP,  /* malloc, or free if `immediate` is 1 */
    SC_OP_PRINT,
    SC_OP_ASSERT,
    SC_OP_MATRIX,         /* mma, wmma.mma; their operands are in sc_program.places, results first */
    SC_OP_FRAGMENT_LOAD,  /* wmma.load */
    SC_OP_FRAGMENT_STORE, /* wmma.store */
    SC_OP_ROWS_LOAD,      /* ldmatrix */
    SC_OP_ROWS_STORE,     /* stmatrix */
    SC_OP_TRANSPOSE,      /* movmatrix */
    SC_OP_COPY,           /* cp.async */
    SC_OP_MBARRIER,
    SC_OP_BATCH, /* head of a run of single-precision instructions that may be executed in one call */
    SC_OP_CODE_COUNT,
    /* Terminators of basic blocks: they never reach the dispatch loop. */
    SC_OP_BRANCH = SC_OP_CODE_COUNT,
    SC_OP_BRANCH_INDEXED,
    SC_OP_EXIT,
    SC_OP_BARRIER,
};

enum sc_space {
    SC_SPACE_GENERIC,
    SC_SPACE_GLOBAL,
    SC_SPACE_SHARED,
    SC_SPACE_LOCAL,
    SC_SPACE_CONST,
    SC_SPACE_PARAM
};

/* sc_op.immediate of SC_OP_TRAP */
enum sc_trap { SC_TRAP_PLAIN, SC_TRAP_BREAKPOINT, SC_TRAP_STACK, SC_TRAP_ADDRESS };

struct sc_group;
struct sc_op;

/* Runs one instruction for the active lanes. false: a lane faulted; the group records where and why. */
typedef bool sc_op_function(struct sc_group *group, const struct sc_op *op);

enum sc_op_flags {
    SC_FLAG_GUARDED = 1,  /* has a predicate */
    SC_FLAG_BLEND = 2,    /* while lanes are diverged, inactive lanes must keep the destination's value */
    SC_FLAG_MASKED = 4,   /* its function handles the lane mask itself */
    SC_FLAG_UNIFORM = 8,  /* computed once; the destination is uniform */
    SC_FLAG_NEGATED = 16, /* runs if the predicate is false */
    SC_FLAG_ROUNDED = 32, /* rounds according to `rounding` */
    SC_FLAG_ORDERED = 64, /* access.turn says what a block must do first if it runs ahead */
};

/* How a memory instruction accesses memory: sc_op.access */
struct sc_access {
    uint8_t space;         /* enum sc_space */
    uint8_t element_bytes; /* 1, 2, 4, 8 */
    uint8_t count;         /* 1, 2, 4 */
    uint8_t address_bytes; /* 4 or 8 */
    uint8_t extend_signed; /* loads of narrow elements */
    uint8_t operation;     /* enum sc_atomic of an atomic; mode of shuffle and vote */
    uint8_t result_bytes;  /* container of the registers: 4 or 8 */
    uint8_t type;          /* atomics: 'u', 's', 'f', 'b', 'h' (two halves) */
    uint8_t turn;   /* enum sc_turn; in the selector's output, SC_TURN_WAIT marks a load that is volatile,
                       relaxed or acquire */
    uint8_t strong; /* a load or store that is volatile, relaxed, acquire or release */
};

struct sc_op {
    sc_op_function *run;
    uint32_t d, a, b, c, e; /* places */
    uint8_t stride_d, stride_a, stride_b, stride_c, stride_e, stride_guard;
    uint8_t flags;
    uint8_t rounding; /* 0 to nearest; else the SSE control bits (MXCSR.RC << 13 >> 8) */
    uint32_t guard;   /* place of the predicate */
    uint32_t extra;   /* memory: index of its vector registers in sc_program.places; batch: 1 if all operands
                         are vectors */
    struct sc_access access;
    int64_t immediate; /* memory: offset of the address */
    uint32_t line;
    uint16_t code;
    uint16_t cache;  /* memory: its range cache */
    uint8_t advance; /* distance to the next instruction; more than 1 for the head of a batch */
    uint8_t weight;  /* instructions counted per active lane, if the basic block does not count them */
    uint16_t flops;  /* the same for flops */
};

enum sc_end { SC_END_FALL, SC_END_BRANCH, SC_END_INDEXED, SC_END_EXIT, SC_END_BARRIER };

/* Basic blocks are sorted so that a loop's blocks are adjacent and its exits follow it. Running the lanes
 * with the lowest block first then makes diverged lanes converge as early as possible. */
struct sc_block {
    uint32_t first_op, op_end;
    uint32_t next;   /* block that follows if the branch is not taken */
    uint32_t target; /* target of a taken branch; SC_END_INDEXED: first entry of the table */
    uint32_t guard;  /* place of the branch's predicate, if conditional */
    uint32_t index;  /* place of the index of SC_END_INDEXED */
    uint32_t table_size;
    uint32_t instructions, flops; /* of the unguarded instructions, per active lane */
    uint32_t line;
    uint8_t end; /* enum sc_end */
    uint8_t guard_stride;
    uint8_t conditional, negated;
    uint8_t index_stride;
    uint8_t barrier_mode;   /* enum sc_barrier_mode */
    uint32_t barrier_id;    /* places */
    uint32_t barrier_count; /* place, or 0: all threads */
    uint32_t barrier_value; /* bar.red: place of its predicate */
    uint8_t barrier_value_stride;
    uint32_t barrier_result; /* bar.red: place of its destination */
    uint8_t barrier_result_stride;
};

enum sc_barrier_mode { SC_BARRIER_SYNC, SC_BARRIER_ARRIVE, SC_BARRIER_POPC, SC_BARRIER_AND, SC_BARRIER_OR };

/* A value that every group's register file is initialised with. */
struct sc_constant {
    uint32_t place;
    uint32_t bytes; /* 4 or 8 */
    uint64_t value;
};

/* Places of special registers; 0 if the function does not use it. */
enum sc_special {
    SC_SPECIAL_TID_X,
    SC_SPECIAL_TID_Y,
    SC_SPECIAL_TID_Z,
    SC_SPECIAL_LANE,
    SC_SPECIAL_WARP,
    SC_SPECIAL_LANEMASK_EQ,
    SC_SPECIAL_LANEMASK_LE,
    SC_SPECIAL_LANEMASK_LT,
    SC_SPECIAL_LANEMASK_GE,
    SC_SPECIAL_LANEMASK_GT,
    SC_SPECIAL_LOCAL,   /* address of the lane's local memory */
    SC_SPECIAL_VECTORS, /* from here on: uniform */
    SC_SPECIAL_NTID_X = SC_SPECIAL_VECTORS,
    SC_SPECIAL_NTID_Y,
    SC_SPECIAL_NTID_Z,
    SC_SPECIAL_NCTAID_X,
    SC_SPECIAL_NCTAID_Y,
    SC_SPECIAL_NCTAID_Z,
    SC_SPECIAL_NWARP,
    SC_SPECIAL_DYNAMIC_SHARED,
    SC_SPECIAL_TOTAL_SHARED,
    SC_SPECIAL_SHARED_BASE,
    SC_SPECIAL_PARAM_BASE,
    SC_SPECIAL_ENVREG_1, /* the high and the low half of the address of the grid's barrier */
    SC_SPECIAL_ENVREG_2,
    SC_SPECIAL_PER_BLOCK, /* from here on: different in each block */
    SC_SPECIAL_CTAID_X = SC_SPECIAL_PER_BLOCK,
    SC_SPECIAL_CTAID_Y,
    SC_SPECIAL_CTAID_Z,
    SC_SPECIAL_SM,
    SC_SPECIAL_COUNT,
};

struct sc_program {
    struct sc_op *ops;
    struct sc_block *blocks;
    uint32_t *places;  /* vector operands of memory instructions: place and stride alternate */
    uint32_t *targets; /* of indexed branches */
    struct sc_constant *constants;
    uint32_t op_count, block_count, constant_count;
    uint32_t start;    /* the basic block where threads begin */
    uint32_t once_end; /* ops [0, once_end) depend on the launch only and run once per worker */
    uint32_t special[SC_SPECIAL_COUNT];
    uint32_t lanes;      /* lanes of a group: threads of a block that run in lockstep */
    uint32_t file_bytes; /* of a group's register file */
    uint32_t temporary;  /* place of scratch memory for masked instructions */
    uint32_t cache_count;
    uint32_t static_shared_bytes, local_bytes, registers;
    enum sc_matrix_rate rate; /* of its matrix products */
    bool heap;                /* uses malloc or free */
    bool ordered;             /* results depend on the order of blocks: see order.h */
    bool polls;               /* may wait in a loop for what other blocks write */
    bool computes;            /* has instructions that count flops */
};

void sc_program_free(struct sc_program *program);

#endif
