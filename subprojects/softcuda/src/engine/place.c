/* Assigns a place in the register file to every value and writes the program.
 *
 * Uniform values have places of their own. Vector values share slots of two sizes. A value that is live where
 * lanes may have diverged keeps its slot from its first to its last position in the program, and is written
 * under the mask. Other vector values live within one basic block. They use separate slots, so that they can
 * be written for all lanes.
 */
#include "ir.h"
#include "rows.h"
#include "ops.h"
#include "order.h"

#include <string.h>

#define NONE UINT32_MAX

struct interval {
    uint32_t value, begin, end;
};

struct placing {
    struct sc_ir_function *function;
    struct sc_program *program;
    uint32_t *begin, *end; /* by value: first and last position; `begin` is NONE if the value is never used */
    uint32_t *slot;        /* by value: index among the slots of its size */
    uint32_t count[2];     /* number of slots of 4 and of 8 bytes */
    sc_vec(struct interval) intervals;
    sc_vec(uint32_t) free_slots[2];
    sc_vec(struct sc_op) ops, pending;
    sc_vec(uint32_t) places;
    sc_vec(struct sc_constant) constants;
    uint32_t pinned_bytes;
};

static unsigned size_class(const struct sc_value *value)
{
    return value->bytes == 8;
}

static bool needs_slot(const struct sc_value *value)
{
    return value->kind == SC_VALUE_REGISTER && !value->uniform;
}

static void touch(struct placing *p, uint32_t value, uint32_t position)
{
    if (!value) return;
    if (p->begin[value] == NONE || position < p->begin[value]) p->begin[value] = position;
    if (p->end[value] == NONE || position > p->end[value]) p->end[value] = position;
}

static void find_intervals(struct placing *p)
{
    struct sc_ir_function *function = p->function;
    uint32_t position = 0;
    for (uint32_t v = 0; v < function->values.count; v++) p->begin[v] = p->end[v] = p->slot[v] = NONE;
    for (uint32_t o = 0; o < function->order.count; o++) {
        const struct sc_ir_block *block = &function->blocks.at[function->order.at[o]];
        uint32_t last = position + (block->end - block->begin) * 2;
        for (uint32_t w = 0; w < function->live_words; w++) {
            for (uint64_t set = block->live_in[w]; set; set &= set - 1)
                touch(p, w * 64 + (uint32_t)__builtin_ctzll(set), position);
            for (uint64_t set = block->live_out[w]; set; set &= set - 1)
                touch(p, w * 64 + (uint32_t)__builtin_ctzll(set), last);
        }
        for (uint32_t i = block->begin; i < block->end; i++, position += 2) {
            const struct sc_ir *ir = &function->code.at[i];
            touch(p, ir->guard, position);
            for (unsigned k = 0; k < ir->source_count; k++) touch(p, ir->source[k], position);
            for (unsigned k = 0; k < ir->result_count; k++) touch(p, ir->result[k], position + 1);
        }
        position = last + 1;
    }
}

static int by_begin(const void *a, const void *b)
{
    const struct interval *x = a, *y = b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return x->value < y->value ? -1 : x->value > y->value;
}

static bool take_slot(struct placing *p, uint32_t value)
{
    unsigned kind = size_class(&p->function->values.at[value]);
    if (p->free_slots[kind].count)
        p->slot[value] = p->free_slots[kind].at[--p->free_slots[kind].count];
    else
        p->slot[value] = p->count[kind]++;
    return true;
}

static bool give_slot(struct placing *p, uint32_t value)
{
    unsigned kind = size_class(&p->function->values.at[value]);
    return sc_vec_push(&p->free_slots[kind], p->slot[value]);
}

/* Linear scan over intervals sorted by their begin; `across` selects the values. A result may take the slot
 * of a source of the same size that ends there, because instructions read a chunk before they write it. */
static bool scan(struct placing *p, bool across)
{
    struct sc_ir_function *function = p->function;
    sc_vec(struct interval) active = {0};
    bool ok = true;
    p->intervals.count = p->free_slots[0].count = p->free_slots[1].count = 0;
    for (uint32_t v = 1; ok && v < function->values.count; v++) {
        const struct sc_value *value = &function->values.at[v];
        if (p->begin[v] == NONE || !needs_slot(value) || (value->across != 0) != across) continue;
        ok = sc_vec_push(&p->intervals, (struct interval){v, p->begin[v], p->end[v]});
    }
    if (ok && p->intervals.count)
        qsort(p->intervals.at, p->intervals.count, sizeof *p->intervals.at, by_begin);
    for (uint32_t i = 0; ok && i < p->intervals.count; i++) {
        struct interval now = p->intervals.at[i];
        for (uint32_t k = 0; ok && k < active.count;) {
            if (active.at[k].end < now.begin) {
                ok = give_slot(p, active.at[k].value);
                active.at[k] = active.at[--active.count];
            } else {
                k++;
            }
        }
        ok = ok && take_slot(p, now.value) && sc_vec_push(&active, now);
    }
    sc_vec_free(&active);
    return ok;
}

static uint32_t pin(struct placing *p, uint32_t bytes)
{
    uint32_t place = p->pinned_bytes;
    p->pinned_bytes += bytes;
    return place;
}

/* Assigns places in this order: uniform values, constants and special registers, scratch, slots */
static bool assign_places(struct placing *p)
{
    struct sc_ir_function *function = p->function;
    struct sc_program *program = p->program;
    p->pinned_bytes = 64; /* place 0 means none */
    for (uint32_t v = 1; v < function->values.count; v++) {
        struct sc_value *value = &function->values.at[v];
        if (p->begin[v] == NONE || !value->uniform) continue;
        value->place = pin(p, value->bytes * SC_CHUNK);
        if (value->kind == SC_VALUE_SPECIAL) program->special[value->bits] = value->place;
        if (value->kind == SC_VALUE_CONSTANT &&
            !sc_vec_push(&p->constants, (struct sc_constant){value->place, value->bytes, value->bits}))
            return false;
    }
    uint32_t units = p->count[0] + 2 * p->count[1];
    program->lanes = units * 256 * 4 <= 28 * 1024 ? 256 : 128;
    /* The extra 64 bytes distribute slots over the cache's sets. */
    uint32_t slot_bytes[2] = {program->lanes * 4 + 64, program->lanes * 8 + 64};
    for (uint32_t v = 1; v < function->values.count; v++) {
        struct sc_value *value = &function->values.at[v];
        if (p->begin[v] == NONE || value->kind != SC_VALUE_SPECIAL || value->uniform) continue;
        value->place = pin(p, slot_bytes[size_class(value)]);
        program->special[value->bits] = value->place;
    }
    program->temporary = pin(p, slot_bytes[1]);
    uint32_t first[2];
    first[0] = p->pinned_bytes;
    first[1] = first[0] + p->count[0] * slot_bytes[0];
    program->file_bytes = first[1] + p->count[1] * slot_bytes[1];
    for (uint32_t v = 1; v < function->values.count; v++) {
        struct sc_value *value = &function->values.at[v];
        if (p->slot[v] == NONE) continue;
        unsigned kind = size_class(value);
        value->place = first[kind] + p->slot[v] * slot_bytes[kind];
    }
    program->registers = units < 255 ? units : 255;
    return true;
}

static uint8_t stride_of(const struct sc_value *value)
{
    return value->uniform ? 0 : value->bytes / 4;
}

static bool is_uniform_op(const struct sc_ir_function *function, const struct sc_ir *ir)
{
    if (ir->code >= SC_OP_LANE_COUNT && ir->code != SC_OP_LOAD) return false;
    return ir->result[0] && function->values.at[ir->result[0]].uniform;
}

static bool add_places(struct placing *p, const uint32_t *value, unsigned count)
{
    for (unsigned k = 0; k < count; k++) {
        const struct sc_value *v = &p->function->values.at[value[k]];
        if (!sc_vec_push(&p->places, v->place) || !sc_vec_push(&p->places, stride_of(v))) return false;
    }
    return true;
}

static bool is_wide(uint16_t code)
{
    return code >= SC_OP_MATRIX && code < SC_OP_BATCH;
}

static sc_op_function *function_of(const struct sc_ir *ir)
{
    static sc_op_function *const others[] = {
        [SC_OP_ATOMIC] = sc_run_atomic,
        [SC_OP_SHUFFLE] = sc_run_shuffle,
        [SC_OP_VOTE] = sc_run_vote,
        [SC_OP_MATCH] = sc_run_match,
        [SC_OP_REDUX] = sc_run_redux,
        [SC_OP_ACTIVE_MASK] = sc_run_active_mask,
        [SC_OP_CLOCK] = sc_run_clock,
        [SC_OP_TRAP] = sc_run_trap,
        [SC_OP_YIELD] = sc_run_yield,
        [SC_OP_HEAP] = sc_run_heap,
        [SC_OP_PRINT] = sc_run_print,
        [SC_OP_ASSERT] = sc_run_assert,
        [SC_OP_FRAGMENT_LOAD] = sc_run_fragment_load,
        [SC_OP_FRAGMENT_STORE] = sc_run_fragment_store,
        [SC_OP_ROWS_LOAD] = sc_run_rows_load,
        [SC_OP_ROWS_STORE] = sc_run_rows_store,
        [SC_OP_TRANSPOSE] = sc_run_transpose,
        [SC_OP_COPY] = sc_run_copy,
        [SC_OP_MBARRIER] = sc_run_mbarrier,
    };
    const struct sc_isa *isa = sc_isa();
    if (ir->code < SC_OP_LANE_COUNT) return isa->lane[ir->code];
    if (ir->code == SC_OP_LOAD && ir->polls) return sc_run_polling_load;
    if ((ir->code == SC_OP_LOAD || ir->code == SC_OP_STORE) && sc_touches_wanted()) return sc_run_touching;
    if (ir->code == SC_OP_LOAD) return isa->load(&ir->access);
    if (ir->code == SC_OP_STORE) return isa->store(&ir->access);
    if (ir->code == SC_OP_MATRIX) return *isa->product;
    return others[ir->code];
}

static bool encode(struct placing *p, const struct sc_ir *ir)
{
    const struct sc_ir_function *function = p->function;
    struct sc_op op = {.run = function_of(ir),
                       .code = ir->code,
                       .rounding = ir->rounding,
                       .access = ir->access,
                       .immediate = ir->immediate,
                       .line = ir->line,
                       .advance = 1};
    const struct sc_value *result = &function->values.at[ir->result[0]];
    uint32_t *place[4] = {&op.a, &op.b, &op.c, &op.e};
    uint8_t *stride[4] = {&op.stride_a, &op.stride_b, &op.stride_c, &op.stride_e};
    bool memory = ir->code == SC_OP_LOAD || ir->code == SC_OP_STORE, lane_wise = ir->code < SC_OP_LANE_COUNT;
    unsigned sources = memory ? 1 : ir->source_count < 4 ? ir->source_count : 4;
    for (unsigned k = 0; k < sources; k++) {
        const struct sc_value *value = &function->values.at[ir->source[k]];
        *place[k] = value->place;
        *stride[k] = ir->source[k] ? stride_of(value) : 0;
    }
    if (ir->result_count) {
        op.d = result->place;
        op.stride_d = stride_of(result);
    }
    if (ir->code == SC_OP_CLOCK) op.access.result_bytes = result->bytes;
    if (!lane_wise && !memory && ir->result_count > 1) op.e = function->values.at[ir->result[1]].place;
    if (memory) {
        op.extra = p->places.count;
        bool load = ir->code == SC_OP_LOAD;
        if (!add_places(p, load ? ir->result : ir->source + 1, ir->access.count)) return false;
    }
    if (is_wide(ir->code)) {
        op.extra = p->places.count;
        if (!add_places(p, ir->result, ir->result_count) || !add_places(p, ir->source, ir->source_count))
            return false;
    }
    if (memory || ir->code == SC_OP_ATOMIC || ir->code == SC_OP_PRINT || is_wide(ir->code))
        op.cache = (uint16_t)(p->program->cache_count < UINT16_MAX ? p->program->cache_count++ : UINT16_MAX);
    if (is_uniform_op(function, ir))
        op.flags |= SC_FLAG_UNIFORM;
    else if (lane_wise && result->across)
        op.flags |= SC_FLAG_BLEND;
    if (!lane_wise) op.flags |= SC_FLAG_MASKED;
    if (ir->access.turn != SC_TURN_FREE) op.flags |= SC_FLAG_ORDERED;
    if (ir->rounding) op.flags |= SC_FLAG_ROUNDED;
    if (ir->guard) {
        const struct sc_value *guard = &function->values.at[ir->guard];
        op.flags |= SC_FLAG_GUARDED | (ir->negated ? SC_FLAG_NEGATED : 0);
        op.guard = guard->place;
        op.stride_guard = stride_of(guard);
    }
    return sc_vec_push(&p->ops, op);
}

static uint32_t order_of(const struct sc_ir_function *function, uint32_t block)
{
    return block == NONE ? NONE : function->blocks.at[block].order;
}

static void encode_end(struct placing *p, const struct sc_ir_block *block, const struct sc_ir *last,
                       struct sc_block *out)
{
    const struct sc_ir_function *function = p->function;
    const struct sc_value *values = function->values.at;
    out->line = last->line;
    out->next = order_of(function, block->successor[0]);
    out->target = order_of(function, block->successor[1]);
    out->end = SC_END_FALL;
    if (last->code == SC_OP_BRANCH) out->end = SC_END_BRANCH;
    if (last->code == SC_OP_EXIT) out->end = SC_END_EXIT;
    if (last->code == SC_OP_BARRIER) out->end = SC_END_BARRIER;
    if (last->code == SC_OP_BRANCH_INDEXED) out->end = SC_END_INDEXED;
    if (out->end == SC_END_FALL) return;
    if (last->guard) {
        out->conditional = 1;
        out->negated = last->negated;
        out->guard = values[last->guard].place;
        out->guard_stride = stride_of(&values[last->guard]);
    }
    if (out->end == SC_END_INDEXED) {
        out->index = values[last->source[0]].place;
        out->index_stride = stride_of(&values[last->source[0]]);
        out->target = block->targets;
        out->table_size = block->target_count;
    }
    if (out->end == SC_END_BARRIER) {
        out->barrier_mode = last->barrier_mode;
        out->barrier_id = values[last->source[0]].place;
        out->barrier_count = last->source[1] ? values[last->source[1]].place : 0;
        out->barrier_value = last->source[2] ? values[last->source[2]].place : 0;
        out->barrier_value_stride = last->source[2] ? stride_of(&values[last->source[2]]) : 0;
        out->barrier_result = last->result[0] ? values[last->result[0]].place : 0;
        out->barrier_result_stride = last->result[0] ? stride_of(&values[last->result[0]]) : 0;
    }
}

static bool fits_batch(const struct sc_op *op)
{
    bool kind = op->code == SC_OP_fma_f32 || op->code == SC_OP_add_f32 || op->code == SC_OP_sub_f32 ||
                op->code == SC_OP_mul_f32;
    return kind && !(op->flags & (SC_FLAG_GUARDED | SC_FLAG_ROUNDED | SC_FLAG_UNIFORM));
}

#define BATCH_MAX 200u

/* Inserts a head before every run of instructions, from `from` on, that can be executed in one call. While
 * lanes are diverged and a result must be blended, the head does nothing, and its instructions run one by
 * one. */
static bool add_batches(struct placing *p, uint32_t from)
{
    uint32_t end = p->ops.count;
    p->pending.count = 0;
    for (uint32_t i = from; i < end; i++)
        if (!sc_vec_push(&p->pending, p->ops.at[i])) return false;
    p->ops.count = from;
    for (uint32_t i = 0; i < p->pending.count;) {
        const struct sc_op *op = &p->pending.at[i];
        struct sc_op head = {.run = *sc_isa()->batch, .code = SC_OP_BATCH, .line = op->line};
        uint32_t run = 0;
        while (i + run < p->pending.count && run < BATCH_MAX && fits_batch(op + run))
            head.flags |= op[run++].flags;
        head.advance = (uint8_t)(run + 1);
        if (run > 1 && !sc_vec_push(&p->ops, head)) return false;
        if (run == 0) run = 1;
        for (uint32_t k = 0; k < run; k++) {
            struct sc_op one = op[k];
            if (run > 1)
                one.extra = one.stride_a && one.stride_b && (one.stride_c || one.code != SC_OP_fma_f32);
            if (!sc_vec_push(&p->ops, one)) return false;
        }
        i += run;
    }
    return true;
}

static bool ends_block(uint16_t code)
{
    return code >= SC_OP_CODE_COUNT;
}

static bool encode_all(struct placing *p)
{
    struct sc_ir_function *function = p->function;
    struct sc_program *program = p->program;
    for (uint32_t o = 0; o < function->order.count; o++) {
        const struct sc_ir_block *block = &function->blocks.at[function->order.at[o]];
        for (uint32_t i = block->begin; i < block->end; i++)
            if (function->code.at[i].once && !encode(p, &function->code.at[i])) return false;
    }
    program->once_end = p->ops.count;
    for (uint32_t o = 0; o < function->order.count; o++) {
        const struct sc_ir_block *block = &function->blocks.at[function->order.at[o]];
        struct sc_block *out = &program->blocks[o];
        out->first_op = p->ops.count;
        for (uint32_t i = block->begin; i < block->end; i++) {
            const struct sc_ir *ir = &function->code.at[i];
            if (!ir->guard || ends_block(ir->code)) {
                out->instructions += ir->weight;
                out->flops += ir->flops;
            }
            if (ir->once || ends_block(ir->code)) continue;
            if (!encode(p, ir)) return false;
            p->ops.at[p->ops.count - 1].weight = ir->guard ? (uint8_t)ir->weight : 0;
            p->ops.at[p->ops.count - 1].flops = ir->guard ? (uint16_t)ir->flops : 0;
        }
        if (!add_batches(p, out->first_op)) return false;
        out->op_end = p->ops.count;
        encode_end(p, block, &function->code.at[block->end - 1], out);
    }
    return true;
}

static void finish(struct placing *p)
{
    struct sc_ir_function *function = p->function;
    struct sc_program *program = p->program;
    program->block_count = function->order.count;
    program->start = function->blocks.at[0].order;
    program->ops = p->ops.at;
    program->op_count = p->ops.count;
    program->places = p->places.at;
    program->constants = p->constants.at;
    program->constant_count = p->constants.count;
    program->static_shared_bytes = function->shared_bytes;
    program->local_bytes = (function->local_bytes + 15) & ~15u;
    program->ordered = function->ordered;
    program->rate = function->rate;
    program->heap = function->heap;
    program->polls = function->polls;
    for (uint32_t i = 0; i < function->code.count; i++) program->computes |= function->code.at[i].flops > 0;
    p->ops.at = NULL;
    p->places.at = NULL;
    p->constants.at = NULL;
}

struct sc_program *sc_make_program(struct sc_ir_function *function)
{
    uint32_t values = function->values.count;
    struct placing p = {.function = function, .program = calloc(1, sizeof *p.program)};
    p.begin = malloc((size_t)values * 3 * sizeof *p.begin);
    bool ok = p.program && p.begin && sc_vec_push(&p.ops, (struct sc_op){0});
    p.ops.count = 0; /* makes sure that the array exists even if no instruction follows */
    if (ok) {
        p.end = p.begin + values;
        p.slot = p.end + values;
        p.program->blocks = calloc(function->order.count + 1, sizeof *p.program->blocks);
        p.program->targets = malloc(((size_t)function->targets.count + 1) * sizeof *p.program->targets);
        ok = p.program->blocks && p.program->targets;
    }
    if (ok) {
        for (uint32_t i = 0; i < function->targets.count; i++)
            p.program->targets[i] = order_of(function, function->targets.at[i]);
        find_intervals(&p);
        ok = scan(&p, true);
        p.intervals.count = 0;
        ok = ok && scan(&p, false) && assign_places(&p) && encode_all(&p);
    }
    if (ok) {
        finish(&p);
    } else {
        sc_program_free(p.program);
        p.program = NULL;
    }
    free(p.begin);
    sc_vec_free(&p.intervals);
    sc_vec_free(&p.free_slots[0]);
    sc_vec_free(&p.free_slots[1]);
    sc_vec_free(&p.ops);
    sc_vec_free(&p.pending);
    sc_vec_free(&p.places);
    sc_vec_free(&p.constants);
    return p.program;
}

void sc_program_free(struct sc_program *program)
{
    if (!program) return;
    free(program->ops);
    free(program->blocks);
    free(program->places);
    free(program->targets);
    free(program->constants);
    free(program);
}
