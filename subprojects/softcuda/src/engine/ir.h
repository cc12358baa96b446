/* Intermediate form of a function between PTX and sc_program: a list of instructions on values.
 *
 * A *value* is a PTX register, a constant or a special register; values are numbered from 1, and 0 means
 * none. A *definition* is an instruction that writes a value; most PTX registers have one.
 */
#ifndef SOFTCUDA_ENGINE_IR_H
#define SOFTCUDA_ENGINE_IR_H

#include "program.h"
#include "vec.h"

enum sc_value_kind { SC_VALUE_REGISTER, SC_VALUE_CONSTANT, SC_VALUE_SPECIAL };

struct sc_value {
    uint8_t kind;
    uint8_t bytes;   /* of the container: 4 or 8 */
    uint8_t uniform; /* set by sc_find_uniform: equal in all lanes */
    uint8_t across;  /* live at the end of a basic block, or where lanes may diverge */
    uint32_t definitions;
    uint64_t bits; /* constant: its value; special: enum sc_special */
    uint32_t place;
};

enum sc_transfer { SC_TRANSFER_NONE, SC_TRANSFER_CALL, SC_TRANSFER_RETURN };

struct sc_ir_edge {
    uint32_t from, to; /* parts of the program: `from` calls `to` */
};

#define SC_IR_MAX_SOURCES 26 /* of a matrix product: three fragments of up to eight registers */
#define SC_IR_MAX_RESULTS 8

struct sc_ir {
    uint16_t code;
    uint8_t result_count, source_count;
    uint8_t negated;  /* guard */
    uint8_t rounding; /* as sc_op.rounding */
    uint8_t once;     /* set by sc_find_uniform: depends on the launch only */
    uint8_t barrier_mode;
    uint8_t polls;    /* a load that may be part of a polling loop */
    uint8_t transfer; /* enum sc_transfer: a branch from one part of the program into another */
    uint32_t guard;   /* value */
    uint32_t result[SC_IR_MAX_RESULTS];
    uint32_t source[SC_IR_MAX_SOURCES];
    struct sc_access access;
    int64_t immediate; /* memory: offset; branch: label; indexed branch: first entry of its table in
                          ir_function.targets */
    uint32_t line;
    uint32_t flops;
    uint32_t table_count; /* indexed branch: number of entries */
    uint32_t weight;      /* number of PTX instructions that it counts for: 0 or 1 */
};

/* A basic block: ends in a branch, a barrier or an exit, or before a label */
struct sc_ir_block {
    uint32_t begin, end;            /* instructions; the last may be the terminator */
    uint32_t successor[2];          /* basic blocks; UINT32_MAX: none. [0] is the fall-through, [1] the branch
                                       target */
    uint32_t targets, target_count; /* of an indexed branch: its entries in sc_ir_function.targets */
    uint32_t order;                 /* its number in the program */
    uint64_t *live_in, *live_out;   /* bit sets of values */
};

struct sc_ir_function {
    sc_vec(struct sc_value) values;
    sc_vec(struct sc_ir) code;
    sc_vec(uint32_t) labels;  /* instruction of each label; UINT32_MAX until the label is seen */
    sc_vec(uint32_t) targets; /* labels of indexed branches */
    sc_vec(struct sc_ir_block) blocks;
    sc_vec(uint32_t) order; /* basic blocks in the order of the program */
    uint64_t *live_bits;
    uint32_t live_words;
    bool regular;                    /* the order lets no lane pass another: see sc_order_blocks */
    sc_vec(uint32_t) parts;          /* first instructions of functions that are not expanded (see stack.c) */
    sc_vec(struct sc_ir_edge) edges; /* calls between parts, numbered from 1; 0 is the entry */
    uint32_t shared_bytes, local_bytes;
    enum sc_matrix_rate rate; /* of its matrix products; the last one's */
    bool ordered;
    bool polls; /* reads global memory by loads that are volatile, relaxed or acquire */
    bool heap;
};

/* The possible successors of a basic block; UINT32_MAX: none. */
static inline uint32_t sc_successor_count(const struct sc_ir_block *block)
{
    return 2 + block->target_count;
}

static inline uint32_t sc_successor_at(const struct sc_ir_function *function, const struct sc_ir_block *block,
                                       uint32_t i)
{
    return i < 2 ? block->successor[i] : function->targets.at[block->targets + i - 2];
}

void sc_ir_free(struct sc_ir_function *function);

/* flow.c, live.c: return false if there is no memory. */
bool sc_find_blocks(struct sc_ir_function *function);
bool sc_order_blocks(struct sc_ir_function *function);
bool sc_find_liveness(struct sc_ir_function *function);

/* uniform.c: finds the values that are equal in all lanes, and the instructions that depend on the launch
 * only. */
bool sc_find_uniform(struct sc_ir_function *function);

/* turns.c: sets sc_access.turn of an ordered function's instructions. false: no memory. */
bool sc_find_turns(struct sc_ir_function *function);

/* place.c: assigns a place to every value and builds the program. NULL: no memory. */
struct sc_program *sc_make_program(struct sc_ir_function *function);

#endif
