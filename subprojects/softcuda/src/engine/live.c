/* Computes which values are live at the begin and end of basic blocks. */
#include "ir.h"

#include <string.h>

#define NONE UINT32_MAX

static void set_bit(uint64_t *set, uint32_t i)
{
    set[i >> 6] |= 1ull << (i & 63);
}
static void clear_bit(uint64_t *set, uint32_t i)
{
    set[i >> 6] &= ~(1ull << (i & 63));
}

static bool is_register(const struct sc_ir_function *function, uint32_t value)
{
    return value && function->values.at[value].kind == SC_VALUE_REGISTER;
}

/* The values that a block reads before it writes them, and those that it writes in all lanes */
static void sum_up(const struct sc_ir_function *function, const struct sc_ir_block *block, uint64_t *reads,
                   uint64_t *writes)
{
    for (uint32_t i = block->end; i-- > block->begin;) {
        const struct sc_ir *ir = &function->code.at[i];
        for (unsigned k = 0; !ir->guard && k < ir->result_count; k++) {
            if (!is_register(function, ir->result[k])) continue;
            clear_bit(reads, ir->result[k]);
            set_bit(writes, ir->result[k]);
        }
        for (unsigned k = 0; k < ir->source_count; k++)
            if (is_register(function, ir->source[k])) set_bit(reads, ir->source[k]);
        if (ir->guard) {
            if (is_register(function, ir->guard)) set_bit(reads, ir->guard);
            /* A guarded result keeps its old value in some lanes. */
            for (unsigned k = 0; k < ir->result_count; k++)
                if (is_register(function, ir->result[k])) set_bit(reads, ir->result[k]);
        }
    }
}

/* Updates live_out from the successors, and live_in from live_out. Returns whether live_in changed. */
static bool update_block(const struct sc_ir_function *function, const struct sc_ir_block *block,
                         const uint64_t *reads, const uint64_t *writes)
{
    uint32_t words = function->live_words;
    uint64_t changed = 0;
    for (uint32_t k = 0; k < sc_successor_count(block); k++) {
        uint32_t to = sc_successor_at(function, block, k);
        if (to == NONE) continue;
        const uint64_t *more = function->blocks.at[to].live_in;
        for (uint32_t w = 0; w < words; w++) block->live_out[w] |= more[w];
    }
    for (uint32_t w = 0; w < words; w++) {
        uint64_t live = reads[w] | (block->live_out[w] & ~writes[w]);
        changed |= live ^ block->live_in[w];
        block->live_in[w] = live;
    }
    return changed != 0;
}

#define LIVE_MAX_BYTES (256u << 20) /* far above the needs of any real function */

bool sc_find_liveness(struct sc_ir_function *function)
{
    uint32_t words = (function->values.count + 63) / 64, blocks = function->blocks.count;
    size_t set = (size_t)words * sizeof(uint64_t);
    function->live_words = words;
    if (((uint64_t)blocks * 2 + 1) * set > LIVE_MAX_BYTES) return false;
    function->live_bits = calloc((size_t)blocks * 2 + 1, set);
    uint64_t *own = calloc((size_t)blocks * 2 + 1, set); /* `reads` and `writes` of each block */
    if (!function->live_bits || !own) {
        free(own);
        return false;
    }
    for (uint32_t b = 0; b < blocks; b++) {
        struct sc_ir_block *block = &function->blocks.at[b];
        block->live_in = function->live_bits + (size_t)b * 2 * words;
        block->live_out = block->live_in + words;
        sum_up(function, block, own + (size_t)b * 2 * words, own + ((size_t)b * 2 + 1) * words);
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = function->order.count; i-- > 0;) {
            uint32_t b = function->order.at[i];
            const uint64_t *reads = own + (size_t)b * 2 * words;
            changed |= update_block(function, &function->blocks.at[b], reads, reads + words);
        }
    }
    uint64_t *across = own;
    memset(across, 0, set);
    for (uint32_t i = 0; i < function->order.count; i++) {
        const struct sc_ir_block *block = &function->blocks.at[function->order.at[i]];
        for (uint32_t w = 0; w < words; w++) across[w] |= block->live_out[w] | block->live_in[w];
    }
    for (uint32_t v = 1; v < function->values.count; v++)
        if (across[v >> 6] >> (v & 63) & 1) function->values.at[v].across = 1;
    free(own);
    return true;
}
