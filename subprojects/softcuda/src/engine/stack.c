/* Calls that are not expanded in place: of functions that are recursive, large, or called through a pointer.
 *
 * Such a function is compiled once into the program of every entry that may reach it. All its activations
 * share its registers; each has a frame in local memory:
 *
 *   +0   index of the call to return to (32 bits)
 *   +8   the caller's frame
 *   +16  results and parameters, each aligned to 16 bytes, then variables
 *
 * A recursive function saves its registers in its frame around every call. A function's address is a number
 * outside of all memory, so that loads from it fault. */
#include "build.h"

#include <string.h>

#include "module.h"

#define FRAME_HEADER 16u
#define STACK_BYTES (128u << 10) /* per thread, if the depth is not known */

uint32_t sc_frame_base(struct sc_build *build)
{
    return build->part ? build->frame : sc_special_value(build, SC_SPECIAL_LOCAL);
}

static uint32_t align16(uint64_t x)
{
    return (uint32_t)((x + 15) & ~15ull);
}

static uint32_t row(struct sc_build *build, const char *name, unsigned bytes, uint32_t a, uint32_t b)
{
    uint32_t result = sc_new_value(build, bytes);
    return sc_emit_row(build, name, result, a, b, 0, 0) ? result : 0;
}

/* A constant whose value is known only when the whole program has been read */
static uint32_t later(struct sc_build *build, enum sc_late_kind kind, uint32_t part)
{
    struct sc_value value = {.kind = SC_VALUE_CONSTANT, .bytes = 8};
    if (!sc_vec_push(&build->ir.values, value) ||
        !sc_vec_push(&build->late, (struct sc_late){build->ir.values.count - 1, kind, part}))
        return sc_fail_memory(build);
    return build->ir.values.count - 1;
}

static bool move(struct sc_build *build, uint16_t code, uint32_t base, uint64_t offset, unsigned bytes,
                 uint32_t value)
{
    struct sc_ir *ir = base && value ? sc_emit(build, code) : NULL;
    if (!ir) return false;
    ir->access = (struct sc_access){SC_SPACE_LOCAL, (uint8_t)bytes, 1, 8, 0, 0, bytes == 8 ? 8 : 4, 0};
    ir->immediate = (int64_t)offset;
    ir->guard = 0;
    ir->source[0] = base, ir->source_count = 1;
    if (code == SC_OP_LOAD)
        ir->result[0] = value, ir->result_count = 1;
    else
        ir->source[1] = value, ir->source_count = 2;
    return true;
}

static uint32_t load(struct sc_build *build, uint32_t base, uint64_t offset, unsigned bytes)
{
    uint32_t value = sc_new_value(build, bytes == 8 ? 8 : 4);
    return move(build, SC_OP_LOAD, base, offset, bytes, value) ? value : 0;
}

static bool copy(struct sc_build *build, uint32_t to, uint64_t to_offset, uint32_t from, uint64_t from_offset,
                 uint64_t bytes)
{
    bool ok = true;
    for (uint64_t at = 0, piece; ok && at < bytes; at += piece) {
        for (piece = 8; (from_offset + at) % piece || (to_offset + at) % piece || at + piece > bytes;
             piece /= 2)
            continue;
        uint32_t value = load(build, from, from_offset + at, (unsigned)piece);
        ok = move(build, SC_OP_STORE, to, to_offset + at, (unsigned)piece, value);
    }
    return ok;
}

static bool check_stack(struct sc_build *build, uint32_t top)
{
    uint32_t base = sc_special_value(build, SC_SPECIAL_LOCAL);
    uint32_t limit = row(build, "add_b64", 8, base, later(build, SC_LATE_LIMIT, 0));
    uint32_t over = row(build, "setp_gt_u64", 4, top, limit), under = row(build, "setp_lt_u64", 4, top, base);
    over = row(build, "or_b32", 4, over, under);
    struct sc_ir *ir = over ? sc_emit(build, SC_OP_TRAP) : NULL;
    if (!ir) return false;
    ir->guard = over;
    ir->negated = 0;
    ir->immediate = SC_TRAP_STACK;
    return true;
}

/* Saves the registers of this activation in its frame, or restores them */
static bool save_registers(struct sc_build *build, bool restore, uint32_t base)
{
    uint64_t at = build->save_at;
    for (uint32_t i = build->first_range; i < build->ranges.count; i++)
        for (uint32_t k = 0; k < build->ranges.at[i].count; k++, at += 8) {
            uint32_t value = build->ranges.at[i].first + k;
            if (!move(build, restore ? SC_OP_LOAD : SC_OP_STORE, base, at, build->ir.values.at[value].bytes,
                      value))
                return false;
        }
    return !build->top || move(build, restore ? SC_OP_LOAD : SC_OP_STORE, base, at, 8, build->top);
}

static bool reserve_save(struct sc_build *build)
{
    uint64_t bytes = 8;
    for (uint32_t i = build->first_range; i < build->ranges.count; i++)
        bytes += 8ull * build->ranges.at[i].count;
    if (bytes <= build->save_bytes) return true;
    if (bytes > (1u << 18)) return sc_fail(build, build->token.line, "too many registers to save");
    build->save_at = align16(build->ir.local_bytes);
    build->save_bytes = (uint32_t)bytes;
    build->ir.local_bytes = build->save_at + build->save_bytes;
    return true;
}

/* The number of the program's part for this function; the part is read later if it is new */
static uint32_t part_of(struct sc_build *build, uint32_t function)
{
    for (uint32_t i = 0; i < build->outlined.count; i++)
        if (build->outlined.at[i].function == function) return i + 1;
    struct sc_outlined made = {.function = function, .label = sc_new_label(build)};
    if (!sc_vec_push(&build->outlined, made)) return sc_fail_memory(build);
    if (!build->frame) build->frame = sc_new_value(build, 8);
    const struct sc_device_function *callee = &build->functions.at[function];
    build->deep |= callee->recursive || callee->stack;
    return build->outlined.count;
}

static bool link_parts(struct sc_build *build, uint32_t part)
{
    return sc_vec_push(&build->ir.edges, (struct sc_ir_edge){build->part, part}) || sc_fail_memory(build);
}

/* Branches to one of the functions whose address is taken, or to a trap. */
static bool jump(struct sc_build *build, uint32_t pointer)
{
    uint32_t functions = build->functions.count;
    for (uint32_t i = 0; i < functions; i++) {
        if (!build->functions.at[i].defined || !build->functions.at[i].address_taken) continue;
        uint32_t part = part_of(build, i);
        if (!part || !link_parts(build, part)) return false;
    }
    if (!build->frame) build->frame = sc_new_value(build, 8);
    uint32_t offset = row(build, "sub_b64", 8, pointer, sc_constant(build, 8, build->module->function_base));
    uint32_t low = row(build, "shr_u64", 8, offset, sc_constant(build, 4, 4));
    uint32_t high = row(build, "shl_b64", 8, offset, sc_constant(build, 4, 60)); /* nonzero off a boundary */
    uint32_t number = row(build, "or_b64", 8, low, high);
    number = row(build, "min_u64", 8, number, sc_constant(build, 8, functions));
    uint32_t index = row(build, "cvt_u32_u64", 4, number, 0);
    struct sc_ir *ir = index ? sc_emit(build, SC_OP_BRANCH_INDEXED) : NULL;
    if (!ir) return false;
    ir->source[0] = index, ir->source_count = 1;
    ir->transfer = SC_TRANSFER_CALL;
    return sc_vec_push(&build->jumps, build->ir.code.count - 1) || sc_fail_memory(build);
}

static bool branch(struct sc_build *build, uint32_t label, enum sc_transfer transfer)
{
    struct sc_ir *ir = sc_emit(build, SC_OP_BRANCH);
    if (!ir) return false;
    ir->immediate = label;
    ir->transfer = transfer;
    return true;
}

bool sc_call_outlined(struct sc_build *build, uint32_t function, uint32_t pointer,
                      const struct sc_arguments *in, const struct sc_arguments *out)
{
    uint32_t part = pointer ? 0 : part_of(build, function), site = sc_new_label(build);
    bool recursive =
        build->part && build->functions.at[build->outlined.at[build->part - 1].function].recursive;
    if (!pointer && (!part || !link_parts(build, part))) return false;
    if (!build->frame) build->frame = sc_new_value(build, 8);
    if (recursive && !reserve_save(build)) return false;
    uint32_t base = sc_frame_base(build);
    uint32_t frame = build->top ? row(build, "add_b64", 8, build->top, sc_constant(build, 8, 15))
                                : row(build, "add_b64", 8, base, later(build, SC_LATE_FRAME, build->part));
    if (build->top) frame = row(build, "and_b64", 8, frame, sc_constant(build, 8, ~15ull));
    if (!check_stack(build, frame)) return false;
    if (recursive && !save_registers(build, false, base)) return false;
    bool ok = move(build, SC_OP_STORE, frame, 0, 4, sc_constant(build, 4, build->sites.count)) &&
              move(build, SC_OP_STORE, frame, 8, 8, base);
    uint32_t at = FRAME_HEADER, first_result = FRAME_HEADER;
    for (unsigned i = 0; i < out->count; i++) at = align16((uint64_t)at + out->size[i]);
    for (unsigned i = 0; ok && i < in->count; i++) {
        ok = copy(build, frame, at, base, in->offset[i], in->size[i]);
        at = align16((uint64_t)at + in->size[i]);
    }
    ok = ok && sc_emit_row(build, "mov_b64", build->frame, frame, 0, 0, 0) &&
         (sc_vec_push(&build->sites, site) || sc_fail_memory(build)) &&
         (pointer ? jump(build, pointer)
                  : branch(build, build->outlined.at[part - 1].label, SC_TRANSFER_CALL)) &&
         sc_set_label(build, site);
    base = build->part ? load(build, build->frame, 8, 8) : base;
    for (unsigned i = 0; ok && i < out->count; i++) {
        ok = copy(build, base, out->offset[i], build->frame, first_result, out->size[i]);
        first_result = align16((uint64_t)first_result + out->size[i]);
    }
    if (ok && build->part) ok = sc_emit_row(build, "mov_b64", build->frame, base, 0, 0, 0);
    return ok && (!recursive || save_registers(build, true, build->frame));
}

bool sc_begin_stack(struct sc_build *build)
{
    build->top = sc_new_value(build, 8);
    build->deep = true;
    return sc_emit_row(build, "add_b64", build->top, sc_frame_base(build),
                       later(build, SC_LATE_FRAME, build->part), 0, 0);
}

/* Returns to the call whose index is in the frame. */
static bool leave(struct sc_build *build)
{
    uint32_t site = load(build, build->frame, 0, 4);
    struct sc_ir *ir = site ? sc_emit(build, SC_OP_BRANCH_INDEXED) : NULL;
    if (!ir) return false;
    ir->source[0] = site, ir->source_count = 1;
    ir->transfer = SC_TRANSFER_RETURN;
    return sc_vec_push(&build->returns, build->ir.code.count - 1) || sc_fail_memory(build);
}

static bool read_part(struct sc_build *build, uint32_t part)
{
    const struct sc_outlined outlined = build->outlined.at[part - 1];
    const struct sc_device_function function = build->functions.at[outlined.function];
    uint32_t end = sc_new_label(build);
    sc_go_to(build, function.at);
    build->part = part;
    build->top = 0;
    build->first_range = build->ranges.count;
    build->save_at = build->save_bytes = 0;
    build->return_label = end;
    build->ir.local_bytes = FRAME_HEADER;
    if (!sc_vec_push(&build->ir.parts, build->ir.code.count)) return sc_fail_memory(build);
    if (!sc_set_label(build, outlined.label)) return false;
    sc_names_enter(&build->names);
    sc_advance(build);
    bool ok = (!sc_token_is(&build->token, "(") || sc_bind(build, NULL));
    if (ok) sc_advance(build); /* its name */
    ok = ok && (!sc_token_is(&build->token, "(") || sc_bind(build, NULL));
    while (ok && build->token.kind != SC_TOKEN_END && !sc_token_is(&build->token, "{")) sc_advance(build);
    if (ok && function.stack) ok = sc_begin_stack(build);
    ok = ok && sc_read_body(build) && sc_set_label(build, end) && leave(build);
    sc_names_leave(&build->names);
    build->outlined.at[part - 1].frame_bytes = align16(build->ir.local_bytes);
    return ok;
}

/* Fills the branch tables for returns and for calls through pointers */
static bool fill_tables(struct sc_build *build)
{
    struct sc_ir_function *ir = &build->ir;
    uint32_t sites = ir->targets.count, functions;
    for (uint32_t i = 0; i < build->sites.count; i++)
        if (!sc_vec_push(&ir->targets, build->sites.at[i])) return sc_fail_memory(build);
    functions = ir->targets.count;
    if (build->jumps.count) {
        uint32_t nowhere = sc_new_label(build);
        for (uint32_t i = 0; i <= build->functions.count; i++)
            if (!sc_vec_push(&ir->targets, nowhere)) return sc_fail_memory(build);
        for (uint32_t i = 0; i < build->outlined.count; i++)
            if (build->functions.at[build->outlined.at[i].function].address_taken)
                ir->targets.at[functions + build->outlined.at[i].function] = build->outlined.at[i].label;
        if (!sc_vec_push(&ir->parts, ir->code.count) || !sc_set_label(build, nowhere))
            return sc_fail_memory(build);
        struct sc_ir *trap = sc_emit(build, SC_OP_TRAP);
        if (!trap) return false;
        trap->immediate = SC_TRAP_ADDRESS;
        if (!sc_emit(build, SC_OP_EXIT)) return false;
    }
    for (uint32_t i = 0; i < build->returns.count; i++) {
        ir->code.at[build->returns.at[i]].immediate = sites;
        ir->code.at[build->returns.at[i]].table_count = build->sites.count;
    }
    for (uint32_t i = 0; i < build->jumps.count; i++) {
        ir->code.at[build->jumps.at[i]].immediate = functions;
        ir->code.at[build->jumps.at[i]].table_count = build->functions.count + 1;
    }
    return true;
}

bool sc_read_outlined(struct sc_build *build)
{
    uint32_t entry_bytes = align16(build->ir.local_bytes), largest = 0;
    uint64_t all = 0;
    if (!build->outlined.count && !build->top && !build->jumps.count) return true;
    for (uint32_t part = 1; part <= build->outlined.count; part++)
        if (!read_part(build, part)) return false;
    if ((build->outlined.count || build->jumps.count) && !fill_tables(build)) return false;
    for (uint32_t i = 0; i < build->outlined.count; i++) {
        uint32_t bytes = build->outlined.at[i].frame_bytes;
        all += bytes;
        largest = bytes > largest ? bytes : largest;
    }
    if (build->deep) all = STACK_BYTES > 2 * largest ? STACK_BYTES : 2ull * largest;
    if (entry_bytes + all > (1u << 19)) return sc_fail(build, build->token.line, "variables too large");
    build->ir.local_bytes = (uint32_t)(entry_bytes + all);
    for (uint32_t i = 0; i < build->late.count; i++) {
        const struct sc_late *one = &build->late.at[i];
        uint32_t frame = one->part ? build->outlined.at[one->part - 1].frame_bytes : entry_bytes;
        build->ir.values.at[one->value].bits =
            one->kind == SC_LATE_FRAME ? frame : build->ir.local_bytes - largest;
    }
    return true;
}

/* alloca.u64 p, size[, align] */
static bool select_alloca(struct sc_build *build)
{
    struct sc_instruction *now = build->now;
    sc_type(build, 0);
    uint64_t align = now->count == 3 && now->operand[2].kind == SC_OPERAND_LITERAL ? now->operand[2].bits : 8;
    if (now->count < 2 || !build->top || now->guard || align < 1 || align > 4096 || (align & (align - 1)))
        return sc_fail(build, now->line, "alloca not understood");
    uint32_t target = sc_target(build, &now->operand[0], 8),
             size = sc_source(build, &now->operand[1], 8, 'b');
    uint32_t from = row(build, "add_b64", 8, build->top, sc_constant(build, 8, align - 1));
    from = row(build, "and_b64", 8, from, sc_constant(build, 8, ~(align - 1)));
    uint32_t end = row(build, "add_b64", 8, from, size);
    return end && check_stack(build, end) && sc_emit_row(build, "mov_b64", build->top, end, 0, 0, 0) &&
           sc_emit_row(build, "mov_b64", target, from, 0, 0, 0);
}

static bool select_stack(struct sc_build *build)
{
    struct sc_instruction *now = build->now;
    bool save = sc_part_is(&now->part[0], "stacksave");
    sc_type(build, 0);
    if (now->count != 1 || !build->top) return sc_fail(build, now->line, "no stack here");
    if (save)
        return sc_emit_row(build, "mov_b64", sc_target(build, &now->operand[0], 8), build->top, 0, 0, 0);
    uint32_t value = sc_source(build, &now->operand[0], 8, 'b');
    return value && check_stack(build, value) && sc_emit_row(build, "mov_b64", build->top, value, 0, 0, 0);
}

const struct sc_selector_entry sc_select_stack[] = {
    {"alloca", select_alloca},
    {"stacksave", select_stack},
    {"stackrestore", select_stack},
    {NULL, NULL},
};
