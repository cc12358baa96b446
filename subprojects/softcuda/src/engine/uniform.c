/* Finds the values that are equal in all lanes of a group.
 *
 * A value is varying if it is computed from a varying value, or if lanes that diverged merge different
 * definitions of it. The second case is analysed for each branch with a varying predicate. Between the branch
 * and the block where all paths meet again, a value is varying if it is defined on one path and live on the
 * other, or live where they meet. This relies on lanes never overtaking each other within a loop
 * (sc_ir_function.regular). Without that, only values with one definition, computed from the launch and the
 * block alone, count as uniform.
 */
#include "ir.h"

#include <string.h>

#define NONE UINT32_MAX

struct analysis {
    struct sc_ir_function *function;
    unsigned char *reach1, *reach2; /* by position in the order */
    uint64_t *live, *defined1, *defined2;
    uint64_t work; /* steps done */
};

#define WORK_MAX 1000000000u /* one or two seconds; then undecided values count as varying */

static bool is_varying(const struct sc_ir_function *function, uint32_t value)
{
    return value && !function->values.at[value].uniform;
}

/* Instructions whose result may differ between lanes even if their operands do not */
static bool makes_varying(const struct sc_ir *ir)
{
    switch (ir->code) {
    case SC_OP_LOAD:
        return ir->access.space == SC_SPACE_LOCAL;
    case SC_OP_ATOMIC:
    case SC_OP_SHUFFLE:
    case SC_OP_VOTE:
    case SC_OP_MATCH:
    case SC_OP_REDUX:
    case SC_OP_ACTIVE_MASK:
    case SC_OP_CLOCK:
    case SC_OP_PRINT:
    case SC_OP_MATRIX:
    case SC_OP_FRAGMENT_LOAD:
    case SC_OP_ROWS_LOAD:
    case SC_OP_TRANSPOSE:
    case SC_OP_MBARRIER:
    case SC_OP_HEAP:
        return true;
    default:
        return false;
    }
}

static bool set_varying(struct sc_ir_function *function, uint32_t value)
{
    struct sc_value *v = &function->values.at[value];
    if (!v->uniform || v->kind != SC_VALUE_REGISTER) return false;
    v->uniform = 0;
    return true;
}

static bool by_operands(struct sc_ir_function *function)
{
    bool changed = false;
    for (uint32_t o = 0; o < function->order.count; o++) {
        const struct sc_ir_block *block = &function->blocks.at[function->order.at[o]];
        for (uint32_t i = block->begin; i < block->end; i++) {
            const struct sc_ir *ir = &function->code.at[i];
            bool varying = makes_varying(ir) || is_varying(function, ir->guard);
            if (ir->code != SC_OP_BARRIER)
                for (unsigned k = 0; k < ir->source_count; k++)
                    varying |= is_varying(function, ir->source[k]);
            /* The results of one instruction are either all uniform or all vectors. */
            for (unsigned k = 0; k < ir->result_count; k++) varying |= is_varying(function, ir->result[k]);
            for (unsigned k = 0; varying && k < ir->result_count; k++)
                if (ir->result[k]) changed |= set_varying(function, ir->result[k]);
        }
    }
    return changed;
}

/* Without a regular order: values with several definitions, or loaded from memory, are varying. */
static void by_caution(struct sc_ir_function *function)
{
    for (uint32_t i = 0; i < function->code.count; i++) {
        const struct sc_ir *ir = &function->code.at[i];
        bool memory = ir->code == SC_OP_LOAD && ir->access.space != SC_SPACE_PARAM;
        for (unsigned k = 0; k < ir->result_count; k++)
            if (ir->result[k] && (memory || ir->guard || ir->code == SC_OP_BARRIER ||
                                  function->values.at[ir->result[k]].definitions > 1))
                set_varying(function, ir->result[k]);
    }
}

static uint32_t order_of(const struct sc_ir_function *function, uint32_t block)
{
    return block == NONE ? NONE : function->blocks.at[block].order;
}

/* Marks in `reach` the positions that are reachable from position `start` without passing `stop`. */
static void flood(const struct sc_ir_function *function, uint32_t start, uint32_t stop, unsigned char *reach)
{
    memset(reach, 0, function->order.count);
    if (start == NONE || start == stop) return;
    reach[start] = 1;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t o = 0; o < function->order.count; o++) {
            if (!reach[o]) continue;
            const struct sc_ir_block *block = &function->blocks.at[function->order.at[o]];
            for (uint32_t k = 0; k < 2 + block->target_count; k++) {
                uint32_t to = k < 2 ? block->successor[k] : function->targets.at[block->targets + k - 2];
                uint32_t at = order_of(function, to);
                if (at == NONE || at == stop || reach[at]) continue;
                reach[at] = 1;
                changed |= at < o;
            }
        }
    }
}

/* The position where lanes that diverge at `from` converge again: simulates the scheduler, lowest block
 * first, until one block is left. */
static uint32_t meeting_place(const struct sc_ir_function *function, uint32_t from, unsigned char *pending,
                              unsigned char *seen)
{
    const struct sc_ir_block *block = &function->blocks.at[function->order.at[from]];
    uint32_t waiting = 0, lowest = function->order.count;
    memset(pending, 0, function->order.count);
    memset(seen, 0, function->order.count);
    for (;;) {
        for (uint32_t k = 0; k < 2 + block->target_count; k++) {
            uint32_t to = k < 2 ? block->successor[k] : function->targets.at[block->targets + k - 2];
            uint32_t at = order_of(function, to);
            if (at == NONE || seen[at] || pending[at]) continue;
            pending[at] = 1;
            waiting++;
            if (at < lowest) lowest = at;
        }
        while (lowest < function->order.count && !pending[lowest]) lowest++;
        if (lowest == function->order.count) return NONE;
        if (waiting == 1 && lowest > from) return lowest;
        pending[lowest] = 0;
        seen[lowest] = 1;
        waiting--;
        block = &function->blocks.at[function->order.at[lowest]];
    }
}

static void definitions_in(const struct sc_ir_function *function, const unsigned char *reach, uint64_t *out)
{
    memset(out, 0, function->live_words * sizeof *out);
    for (uint32_t o = 0; o < function->order.count; o++) {
        if (!reach[o]) continue;
        const struct sc_ir_block *block = &function->blocks.at[function->order.at[o]];
        for (uint32_t i = block->begin; i < block->end; i++) {
            const struct sc_ir *ir = &function->code.at[i];
            for (unsigned k = 0; k < ir->result_count; k++)
                if (ir->result[k]) out[ir->result[k] >> 6] |= 1ull << (ir->result[k] & 63);
        }
    }
}

static const uint64_t *live_in(const struct sc_ir_function *function, uint32_t order)
{
    return function->blocks.at[function->order.at[order]].live_in;
}

static bool part_ways(struct analysis *a, uint32_t from, uint32_t way1, uint32_t way2)
{
    struct sc_ir_function *function = a->function;
    uint32_t words = function->live_words;
    bool changed = false;
    if (way1 == way2) return false;
    uint32_t meet = meeting_place(function, from, a->reach1, a->reach2);
    flood(function, way1, meet, a->reach1);
    flood(function, way2, meet, a->reach2);
    definitions_in(function, a->reach1, a->defined1);
    definitions_in(function, a->reach2, a->defined2);
    memset(a->live, 0, words * sizeof *a->live);
    a->work += function->order.count * 4u + function->code.count;
    for (uint32_t o = 0; o < function->order.count; o++) {
        if (!(a->reach1[o] && a->reach2[o]) && o != meet) continue;
        for (uint32_t w = 0; w < words; w++) a->live[w] |= live_in(function, o)[w];
        a->work += words;
    }
    for (uint32_t w = 0; w < words; w++) {
        uint64_t set = (a->defined1[w] | a->defined2[w]) & a->live[w];
        if (way2 != NONE) set |= a->defined1[w] & live_in(function, way2)[w];
        if (way1 != NONE) set |= a->defined2[w] & live_in(function, way1)[w];
        for (; set; set &= set - 1) changed |= set_varying(function, w * 64 + (uint32_t)__builtin_ctzll(set));
    }
    return changed;
}

/* An indexed branch: everything that is defined before the paths meet counts as varying. */
static bool part_many_ways(struct analysis *a, uint32_t from, const struct sc_ir_block *block)
{
    struct sc_ir_function *function = a->function;
    uint32_t meet = meeting_place(function, from, a->reach1, a->reach2);
    bool changed = false;
    for (uint32_t i = 0; i < block->target_count && a->work < WORK_MAX; i++) {
        flood(function, order_of(function, function->targets.at[block->targets + i]), meet, a->reach1);
        a->work += function->order.count + function->code.count;
        definitions_in(function, a->reach1, a->defined1);
        for (uint32_t w = 0; w < function->live_words; w++)
            for (uint64_t set = a->defined1[w]; set; set &= set - 1)
                changed |= set_varying(function, w * 64 + (uint32_t)__builtin_ctzll(set));
    }
    return changed;
}

static bool by_branches(struct analysis *a)
{
    struct sc_ir_function *function = a->function;
    bool changed = false;
    for (uint32_t o = 0; o < function->order.count && a->work < WORK_MAX; o++) {
        const struct sc_ir_block *block = &function->blocks.at[function->order.at[o]];
        const struct sc_ir *last = &function->code.at[block->end - 1];
        if (last->code == SC_OP_BRANCH && is_varying(function, last->guard))
            changed |= part_ways(a, o, order_of(function, block->successor[1]),
                                 order_of(function, block->successor[0]));
        if (last->code == SC_OP_BRANCH_INDEXED && is_varying(function, last->source[0]))
            changed |= part_many_ways(a, o, block);
    }
    return changed;
}

/* Marks instructions that depend on the launch only, have no predicate and cannot fault: they run once per
 * worker. */
static void find_once(struct sc_ir_function *function, unsigned char *fixed)
{
    for (uint32_t v = 1; v < function->values.count; v++) {
        const struct sc_value *value = &function->values.at[v];
        fixed[v] = value->kind == SC_VALUE_CONSTANT ||
                   (value->kind == SC_VALUE_SPECIAL && value->uniform && value->bits < SC_SPECIAL_PER_BLOCK);
    }
    for (uint32_t o = 0; o < function->order.count; o++) {
        const struct sc_ir_block *block = &function->blocks.at[function->order.at[o]];
        for (uint32_t i = block->begin; i < block->end; i++) {
            struct sc_ir *ir = &function->code.at[i];
            bool lane_wise = ir->code < SC_OP_LANE_COUNT;
            bool parameter =
                ir->code == SC_OP_LOAD && ir->access.space == SC_SPACE_PARAM && ir->result_count == 1;
            if (!(lane_wise || parameter) || ir->guard || !ir->result[0]) continue;
            const struct sc_value *result = &function->values.at[ir->result[0]];
            bool all = result->uniform && result->definitions == 1;
            for (unsigned k = 0; k < ir->source_count; k++) all = all && fixed[ir->source[k]];
            if (parameter && all) all = function->values.at[ir->source[0]].kind == SC_VALUE_SPECIAL;
            if (!all) continue;
            ir->once = 1;
            fixed[ir->result[0]] = 1;
        }
    }
}

#define BRANCHES_MAX 2048u /* above this by_caution is used: the search would take too long */

bool sc_find_uniform(struct sc_ir_function *function)
{
    uint32_t blocks = function->order.count, words = function->live_words;
    struct analysis a = {.function = function};
    a.reach1 = malloc(((size_t)blocks + 1) * 2 + function->values.count);
    a.live = malloc((size_t)words * 3 * sizeof *a.live + 8);
    bool ok = a.reach1 && a.live;
    if (ok) {
        a.reach2 = a.reach1 + blocks + 1;
        a.defined1 = a.live + words;
        a.defined2 = a.defined1 + words;
        for (uint32_t v = 1; v < function->values.count; v++) {
            struct sc_value *value = &function->values.at[v];
            value->uniform = value->kind != SC_VALUE_SPECIAL || value->bits >= SC_SPECIAL_VECTORS;
            value->definitions = 0;
        }
        for (uint32_t i = 0; i < function->code.count; i++)
            for (unsigned k = 0; k < function->code.at[i].result_count; k++)
                function->values.at[function->code.at[i].result[k]].definitions++;
        bool regular = function->regular && blocks <= BRANCHES_MAX;
        if (!regular) by_caution(function);
        while (a.work < WORK_MAX && (by_operands(function) || (regular && by_branches(&a))))
            a.work += function->code.count * 4u;
        for (uint32_t v = 1; a.work >= WORK_MAX && v < function->values.count; v++) set_varying(function, v);
        find_once(function, a.reach2 + blocks + 1);
    }
    free(a.reach1);
    free(a.live);
    return ok;
}
