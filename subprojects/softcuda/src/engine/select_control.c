/* Branches, barriers, warp-wide instructions. (Calls are in call.c.) */
#include "atomics.h"
#include "build.h"

#include <string.h>

static bool select_bra(struct sc_build *build)
{
    struct sc_instruction *now = build->now;
    sc_has(build, "uni");
    if (now->count != 1 || now->operand[0].kind != SC_OPERAND_NAME)
        return sc_fail(build, now->line, "bra takes a label");
    uint32_t label = sc_find_label(build, now->operand[0].text, now->operand[0].bytes);
    struct sc_ir *ir = sc_emit(build, SC_OP_BRANCH);
    if (!ir) return false;
    ir->immediate = label;
    build->carry = 0;
    return true;
}

static bool select_brx(struct sc_build *build)
{
    struct sc_instruction *now = build->now;
    sc_has(build, "idx");
    sc_has(build, "uni");
    if (now->count != 2 || now->operand[1].kind != SC_OPERAND_NAME || now->guard)
        return sc_fail(build, now->line, "brx not understood");
    const struct sc_name *name = sc_names_find(&build->names, now->operand[1].text, now->operand[1].bytes);
    if (!name || name->kind != SC_NAME_TABLE || !name->count)
        return sc_fail(build, now->line, "brx needs .branchtargets");
    uint32_t first = name->index, count = name->count, index = sc_source(build, &now->operand[0], 4, 'b');
    struct sc_ir *ir = index ? sc_emit(build, SC_OP_BRANCH_INDEXED) : NULL;
    if (!ir) return false;
    ir->source[0] = index;
    ir->source_count = 1;
    ir->immediate = first;
    ir->table_count = count;
    build->carry = 0;
    return true;
}

static bool select_exit(struct sc_build *build)
{
    bool leave = sc_part_is(&build->now->part[0], "exit");
    sc_has(build, "uni");
    struct sc_ir *ir =
        sc_emit(build, !leave && build->return_label != UINT32_MAX ? SC_OP_BRANCH : SC_OP_EXIT);
    if (!ir) return false;
    if (ir->code == SC_OP_BRANCH) ir->immediate = build->return_label;
    build->carry = 0;
    return true;
}

static bool select_trap(struct sc_build *build)
{
    struct sc_ir *ir = sc_emit(build, SC_OP_TRAP);
    if (!ir) return false;
    ir->immediate = sc_part_is(&build->now->part[0], "brkpt") ? SC_TRAP_BREAKPOINT : SC_TRAP_PLAIN;
    return true;
}

/* bar, barrier: [.cta].sync|arrive|red[.popc|.and|.or][.aligned] */
static bool select_bar(struct sc_build *build)
{
    struct sc_instruction *now = build->now;
    struct sc_operand *operand = now->operand;
    unsigned count = now->count;
    sc_has(build, "cta");
    sc_has(build, "aligned");
    if (sc_has(build, "warp")) {
        sc_has(build, "sync");
        return build->status == SC_ENGINE_OK; /* warps run in lockstep; see sc_order_blocks */
    }
    bool reduce = sc_has(build, "red"), arrive = sc_has(build, "arrive");
    sc_has(build, "sync");
    enum sc_barrier_mode mode = arrive ? SC_BARRIER_ARRIVE : SC_BARRIER_SYNC;
    uint32_t result = 0, value = 0, threads = 0;
    if (reduce) {
        mode = sc_has(build, "popc")  ? SC_BARRIER_POPC
               : sc_has(build, "and") ? SC_BARRIER_AND
                                      : SC_BARRIER_OR;
        sc_has(build, "or");
        sc_type(build, 0);
        if (count < 3 || now->guard) return sc_fail(build, now->line, "bar.red not understood");
        result = sc_target(build, &operand[0], 4);
        value = sc_source(build, &operand[count - 1], 4, 'b');
        if (!result || !value) return false;
        operand++, count -= 2;
    }
    if (count < 1 || count > 2) return sc_fail(build, now->line, "wrong number of operands");
    uint32_t id = sc_source(build, &operand[0], 4, 'b');
    if (count == 2) threads = sc_source(build, &operand[1], 4, 'b');
    struct sc_ir *ir = id ? sc_emit(build, SC_OP_BARRIER) : NULL;
    if (!ir) return false;
    ir->barrier_mode = (uint8_t)mode;
    ir->source[0] = id, ir->source[1] = threads, ir->source[2] = value;
    ir->source_count = 3;
    ir->result[0] = result;
    ir->result_count = result != 0;
    build->carry = 0;
    return true;
}

static int find_mode(struct sc_build *build, const char *const *names, int count)
{
    for (int i = 0; i < count; i++)
        if (sc_has(build, names[i])) return i;
    return -1;
}

/* The second result of d|p, or 0 */
static uint32_t second_target(struct sc_build *build, const struct sc_operand *operand)
{
    if (!operand->second_given || !operand->second) return 0;
    struct sc_operand second = {.kind = SC_OPERAND_VALUE, .value = operand->second};
    return sc_target(build, &second, 4);
}

static bool select_shfl(struct sc_build *build)
{
    static const char *const modes[] = {"up", "down", "bfly", "idx"};
    struct sc_instruction *now = build->now;
    bool sync = sc_has(build, "sync");
    int mode = find_mode(build, modes, 4);
    sc_type(build, 0);
    if (mode < 0 || now->count != (sync ? 5u : 4u)) return sc_fail(build, now->line, "shfl not understood");
    uint32_t result = sc_target(build, &now->operand[0], 4), second = second_target(build, &now->operand[0]);
    uint32_t source[3];
    for (unsigned i = 0; i < 3; i++) source[i] = sc_source(build, &now->operand[i + 1], 4, 'b');
    struct sc_ir *ir = sc_emit(build, SC_OP_SHUFFLE);
    if (!ir) return false;
    memcpy(ir->source, source, sizeof source);
    ir->source_count = 3;
    ir->result[0] = result, ir->result[1] = second;
    ir->result_count = second ? 2 : 1;
    ir->access.operation = (uint8_t)mode;
    return true;
}

/* The mask of the participating lanes: the third operand, which the forms without .sync lack */
static uint32_t member_mask(struct sc_build *build)
{
    struct sc_instruction *now = build->now;
    return now->count > 2 ? sc_source(build, &now->operand[2], 4, 'b') : sc_constant(build, 4, UINT32_MAX);
}

static bool select_vote(struct sc_build *build)
{
    static const char *const modes[] = {"all", "any", "uni", "ballot"};
    struct sc_instruction *now = build->now;
    bool sync = sc_has(build, "sync");
    int mode = find_mode(build, modes, 4);
    sc_type(build, 0);
    if (mode < 0 || now->count != (sync ? 3u : 2u)) return sc_fail(build, now->line, "vote not understood");
    uint32_t result = sc_target(build, &now->operand[0], 4),
             value = sc_source(build, &now->operand[1], 4, 'b'), mask = member_mask(build);
    struct sc_ir *ir = value && mask ? sc_emit(build, SC_OP_VOTE) : NULL;
    if (!ir) return false;
    ir->source[0] = value, ir->source[1] = mask, ir->source_count = 2;
    ir->result[0] = result, ir->result_count = 1;
    ir->access.operation = (uint8_t)mode;
    return true;
}

static bool select_match(struct sc_build *build)
{
    static const char *const modes[] = {"any", "all"};
    struct sc_instruction *now = build->now;
    sc_has(build, "sync");
    int mode = find_mode(build, modes, 2);
    unsigned bytes = sc_type_bits(sc_type(build, 0)) == 64 ? 8 : 4;
    if (mode < 0 || now->count != 3) return sc_fail(build, now->line, "match not understood");
    uint32_t result = sc_target(build, &now->operand[0], 4), second = second_target(build, &now->operand[0]);
    uint32_t value = sc_source(build, &now->operand[1], bytes, 'b'), mask = member_mask(build);
    struct sc_ir *ir = value && mask ? sc_emit(build, SC_OP_MATCH) : NULL;
    if (!ir) return false;
    ir->source[0] = value, ir->source[1] = mask, ir->source_count = 2;
    ir->result[0] = result, ir->result[1] = second;
    ir->result_count = second ? 2 : 1;
    ir->access.operation = (uint8_t)mode;
    ir->access.element_bytes = (uint8_t)bytes;
    return true;
}

static bool select_redux(struct sc_build *build)
{
    static const char *const modes[] = {"add", "min", "max", "and", "or", "xor"};
    struct sc_instruction *now = build->now;
    sc_has(build, "sync");
    int mode = find_mode(build, modes, 6);
    const char *type = sc_type(build, 0);
    if (mode < 0 || now->count != 3 || strchr(type, 'f')) return sc_fail(build, now->line, "redux not built");
    uint32_t result = sc_target(build, &now->operand[0], 4),
             value = sc_source(build, &now->operand[1], 4, 'b'), mask = member_mask(build);
    struct sc_ir *ir = value && mask ? sc_emit(build, SC_OP_REDUX) : NULL;
    if (!ir) return false;
    ir->source[0] = value, ir->source[1] = mask, ir->source_count = 2;
    ir->result[0] = result, ir->result_count = 1;
    ir->access.operation = (uint8_t)mode;
    ir->access.type = (uint8_t)type[0];
    return true;
}

static bool select_activemask(struct sc_build *build)
{
    sc_type(build, 0);
    if (build->now->count != 1) return sc_fail(build, build->now->line, "activemask takes 1 operand");
    uint32_t result = sc_target(build, &build->now->operand[0], 4);
    struct sc_ir *ir = result ? sc_emit(build, SC_OP_ACTIVE_MASK) : NULL;
    if (!ir) return false;
    ir->result[0] = result, ir->result_count = 1;
    return true;
}

/* elect.sync d|p, mask: the lowest active lane is elected. */
static bool select_elect(struct sc_build *build)
{
    struct sc_instruction *now = build->now;
    sc_has(build, "sync");
    if (now->count != 2) return sc_fail(build, now->line, "elect takes 2 operands");
    uint32_t leader = sc_target(build, &now->operand[0], 4), chosen = second_target(build, &now->operand[0]);
    uint32_t active = sc_new_value(build, 4), reversed = sc_new_value(build, 4),
             lane = sc_new_value(build, 4);
    struct sc_ir *ir = leader ? sc_emit(build, SC_OP_ACTIVE_MASK) : NULL;
    if (!ir) return false;
    ir->result[0] = active, ir->result_count = 1;
    sc_emit_row(build, "brev_b32", reversed, active, 0, 0, 0);
    sc_emit_row(build, "clz_b32", lane, reversed, 0, 0, 0);
    if (chosen)
        sc_emit_row(build, "setp_eq_u32", chosen, lane, sc_special_value(build, SC_SPECIAL_LANE), 0, 0);
    return sc_emit_row(build, "mov_b32", leader, lane, 0, 0, 0);
}

const struct sc_selector_entry sc_select_control[] = {
    {"bra", select_bra},
    {"brx", select_brx},
    {"ret", select_exit},
    {"exit", select_exit},
    {"trap", select_trap},
    {"brkpt", select_trap},
    {"bar", select_bar},
    {"barrier", select_bar},
    {"shfl", select_shfl},
    {"vote", select_vote},
    {"match", select_match},
    {"redux", select_redux},
    {"activemask", select_activemask},
    {"elect", select_elect},
    {NULL, NULL},
};
