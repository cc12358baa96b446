/* Finds where a function depends on the order of blocks, from how its addresses are computed.
 *
 * A *root* is where an address computation starts: a pointer parameter, a module variable, on-chip memory.
 *
 * Loads through a root that is also used by an atomic may see the atomic's effect, so they wait for the
 * block's turn; an unknown root may equal any other. So do loads with which a kernel observes other blocks.
 * Other loads could see an atomic's effect only in a data race; but two parameters may point to the same
 * bytes, so these loads are checked against the block's own log. */
#include "atomics.h"
#include "ir.h"
#include "order.h"

#include <string.h>

#define ROOTS 61u /* different parameters may have the same number */
#define ROOT_ON_CHIP (1ull << 61)
#define ROOT_UNKNOWN (1ull << 62) /* an address that was loaded from memory */

static uint64_t root_of_value(const struct sc_value *value)
{
    if (value->kind == SC_VALUE_CONSTANT && value->bytes == 8 && value->bits >> 32)
        return 1ull << (value->bits / 4 % ROOTS);
    if (value->kind == SC_VALUE_SPECIAL &&
        (value->bits == SC_SPECIAL_LOCAL || value->bits == SC_SPECIAL_SHARED_BASE))
        return ROOT_ON_CHIP;
    return 0;
}

static uint64_t root_of_result(const struct sc_ir_function *function, const struct sc_ir *ir, unsigned k,
                               const uint64_t *roots)
{
    uint64_t all = 0;
    if (ir->code == SC_OP_LOAD) {
        const struct sc_value *base = &function->values.at[ir->source[0]];
        if (ir->access.element_bytes < 8) return 0;
        if (ir->access.space == SC_SPACE_PARAM && base->kind == SC_VALUE_SPECIAL)
            return 1ull << ((uint64_t)(ir->immediate / 8 + k) % ROOTS);
        return ROOT_UNKNOWN;
    }
    if (ir->code == SC_OP_ATOMIC) return ir->access.element_bytes < 8 ? 0 : ROOT_UNKNOWN;
    for (unsigned s = 0; s < ir->source_count; s++) all |= roots[ir->source[s]];
    return all;
}

#define WORK_MAX 1000000000u /* steps, one or two seconds; above this, all addresses count as unknown */

static void find_roots(const struct sc_ir_function *function, uint64_t *roots)
{
    uint64_t work = 0;
    for (uint32_t v = 1; v < function->values.count; v++) roots[v] = root_of_value(&function->values.at[v]);
    for (bool changed = true; changed;) {
        changed = false;
        work += function->code.count;
        for (uint32_t v = 1; work > WORK_MAX && v < function->values.count; v++) roots[v] = UINT64_MAX;
        for (uint32_t i = 0; i < function->code.count; i++) {
            const struct sc_ir *ir = &function->code.at[i];
            for (unsigned k = 0; k < ir->result_count; k++) {
                uint64_t root = roots[ir->result[k]] | root_of_result(function, ir, k, roots);
                if (!ir->result[k] || root == roots[ir->result[k]]) continue;
                roots[ir->result[k]] = root;
                changed = true;
            }
        }
    }
}

static bool is_global(const struct sc_access *access)
{
    return access->space == SC_SPACE_GLOBAL || access->space == SC_SPACE_GENERIC;
}

static uint64_t address_root(const struct sc_ir *ir, const uint64_t *roots)
{
    uint64_t root = roots[ir->source[0]];
    return root ? root : ROOT_UNKNOWN;
}

static enum sc_turn turn_of(const struct sc_ir *ir, const uint64_t *roots, uint64_t atomics)
{
    uint64_t root;
    switch (ir->code) {
    case SC_OP_PRINT:
    case SC_OP_COPY:
    case SC_OP_HEAP:
        return SC_TURN_WAIT;
    case SC_OP_FRAGMENT_LOAD:
    case SC_OP_FRAGMENT_STORE:
    case SC_OP_ROWS_LOAD:
    case SC_OP_ROWS_STORE:
        return is_global(&ir->access) ? SC_TURN_WAIT : SC_TURN_FREE;
    case SC_OP_ATOMIC:
        if (!is_global(&ir->access)) return SC_TURN_FREE;
        return ir->result_count || ir->access.operation == SC_ATOMIC_CAS ? SC_TURN_WAIT : SC_TURN_LOG;
    case SC_OP_LOAD:
        root = address_root(ir, roots);
        if (!is_global(&ir->access)) return SC_TURN_FREE;
        if (ir->access.turn == SC_TURN_WAIT) return SC_TURN_WAIT;
        if (atomics && ((root | atomics) & ROOT_UNKNOWN || root & atomics)) return SC_TURN_WAIT;
        return SC_TURN_CHECK;
    case SC_OP_STORE:
        return is_global(&ir->access) ? SC_TURN_CHECK : SC_TURN_FREE;
    default:
        return SC_TURN_FREE;
    }
}

/* Compilers emit atom where red would do. */
static bool drop_unused_results(struct sc_ir_function *function)
{
    unsigned char *used = calloc(function->values.count, 1);
    if (!used) return false;
    for (uint32_t i = 0; i < function->code.count; i++) {
        const struct sc_ir *ir = &function->code.at[i];
        used[ir->guard] = 1;
        for (unsigned k = 0; k < ir->source_count; k++) used[ir->source[k]] = 1;
    }
    for (uint32_t i = 0; i < function->code.count; i++) {
        struct sc_ir *ir = &function->code.at[i];
        if (ir->code == SC_OP_ATOMIC && ir->result_count && !used[ir->result[0]])
            ir->result[0] = ir->result_count = 0;
    }
    free(used);
    return true;
}

static bool polls(const struct sc_ir *ir)
{
    return is_global(&ir->access) && ir->code == SC_OP_LOAD && ir->access.turn == SC_TURN_WAIT;
}

static bool learns_of_others(const struct sc_ir *ir)
{
    return polls(ir) || (is_global(&ir->access) && ir->code == SC_OP_ATOMIC && ir->result_count);
}

bool sc_find_turns(struct sc_ir_function *function)
{
    if (!drop_unused_results(function)) return false;
    uint64_t *roots = calloc(function->values.count, sizeof *roots), atomics = 0;
    if (!roots) return false;
    for (uint32_t i = 0; i < function->code.count; i++) {
        function->ordered |= learns_of_others(&function->code.at[i]);
        function->polls |= polls(&function->code.at[i]);
    }
    if (function->ordered) find_roots(function, roots);
    for (uint32_t i = 0; i < function->code.count; i++) {
        const struct sc_ir *ir = &function->code.at[i];
        if (ir->code == SC_OP_ATOMIC && is_global(&ir->access)) atomics |= address_root(ir, roots);
    }
    for (uint32_t i = 0; i < function->code.count; i++) {
        struct sc_ir *ir = &function->code.at[i];
        ir->access.turn = (uint8_t)(function->ordered ? turn_of(ir, roots, atomics) : SC_TURN_FREE);
    }
    free(roots);
    return true;
}
