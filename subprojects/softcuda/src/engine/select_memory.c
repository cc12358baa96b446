/* Loads, stores, atomics, prefetches. */
#include "atomics.h"
#include "build.h"
#include "order.h"

#include <string.h>

static enum sc_space space_of(struct sc_build *build)
{
    if (sc_has(build, "global")) return SC_SPACE_GLOBAL;
    if (sc_has(build, "shared") || sc_has(build, "shared::cta")) return SC_SPACE_SHARED;
    if (sc_has(build, "local")) return SC_SPACE_LOCAL;
    if (sc_has(build, "const")) return SC_SPACE_CONST;
    if (sc_has(build, "param") || sc_has(build, "param::entry") || sc_has(build, "param::func"))
        return SC_SPACE_PARAM;
    return SC_SPACE_GENERIC;
}

/* Consumes modifiers for caching and ordering, which a memory without caches satisfies anyway */
static void skip_hints(struct sc_build *build)
{
    static const char *const hints[] = {
        "nc",
        "ca",
        "cg",
        "cs",
        "lu",
        "cv",
        "wb",
        "wt",
        "weak",
        "relaxed",
        "acquire",
        "release",
        "acq_rel",
        "volatile",
        "cta",
        "gpu",
        "sys",
        "cluster",
        "mmio",
        "L1::evict_normal",
        "L1::evict_unchanged",
        "L1::evict_first",
        "L1::evict_last",
        "L1::no_allocate",
        "L2::64B",
        "L2::128B",
        "L2::256B",
        "L2::evict_last",
        "L2::evict_normal",
        "L2::evict_first",
        "noftz",
        "sc",
        "aligned",
        "sync",
        "L1",
        "L2",
        "L2::cache_hint",
        "L2::evict_unchanged",
        "unified",
        "tensormap",
    };
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++) sc_has(build, hints[i]);
}

/* Loads by which a kernel may observe other blocks */
static bool watches_others(struct sc_build *build)
{
    return sc_has(build, "volatile") || sc_has(build, "relaxed") || sc_has(build, "acquire") ||
           sc_has(build, "mmio") || sc_has(build, "cv");
}

/* Accesses of two threads to one location that may happen concurrently, according to the memory model */
static bool is_strong(struct sc_build *build)
{
    return sc_has(build, "volatile") || sc_has(build, "relaxed") || sc_has(build, "acquire") ||
           sc_has(build, "release") || sc_has(build, "mmio");
}

/* Sets an address operand as source 0, with its offset; absolute addresses become a constant. */
static bool set_address(struct sc_build *build, const struct sc_operand *operand, struct sc_access *access,
                        uint32_t *base, int64_t *offset)
{
    if (operand->kind != SC_OPERAND_ADDRESS) return sc_fail(build, build->now->line, "an address is missing");
    *offset = operand->offset;
    if (operand->value) {
        *base = operand->value;
    } else if (operand->text) {
        const struct sc_name *name = sc_names_find(&build->names, operand->text, operand->bytes);
        if (access->space == SC_SPACE_PARAM && name && name->kind == SC_NAME_MESSAGE)
            access->space = SC_SPACE_LOCAL;
        if (access->space == SC_SPACE_GENERIC && name &&
            (name->kind == SC_NAME_SHARED || name->kind == SC_NAME_DYNAMIC))
            access->space = SC_SPACE_SHARED;
        if (name && name->kind == SC_NAME_PARAM) {
            /* parameters: a uniform base and a constant offset */
            if (operand->offset < 0 || (uint64_t)operand->offset >= name->size)
                return sc_fail(build, build->now->line, "outside the parameter");
            *base = sc_special_value(build, SC_SPECIAL_PARAM_BASE);
            *offset += (int64_t)name->offset;
        } else {
            struct sc_operand plain = *operand;
            plain.offset = 0;
            *base = sc_name_value(build, &plain, access->space == SC_SPACE_SHARED ? 4 : 8);
        }
    } else {
        *base = sc_constant(build, 8, 0);
    }
    if (!*base) return false;
    access->address_bytes = build->ir.values.at[*base].bytes;
    if (access->address_bytes == 4 && access->space != SC_SPACE_SHARED) {
        uint32_t wide = sc_new_value(build, 8);
        if (!sc_emit_row(build, "cvt_u64_u32", wide, *base, 0, 0, 0)) return false;
        *base = wide;
        access->address_bytes = 8;
    }
    return true;
}

bool sc_wide_address_in(struct sc_build *build, const struct sc_operand *operand, struct sc_access *access,
                        uint32_t *base)
{
    int64_t offset = 0;
    if (!set_address(build, operand, access, base, &offset)) return false;
    if (!offset) return true;
    unsigned bytes = access->address_bytes;
    uint32_t sum = sc_new_value(build, bytes);
    bool ok = sc_emit_row(build, bytes == 8 ? "add_b64" : "add_b32", sum, *base,
                          sc_constant(build, bytes, (uint64_t)offset), 0, 0);
    *base = sum;
    return ok;
}

bool sc_wide_address(struct sc_build *build, const struct sc_operand *operand, struct sc_access *access,
                     uint32_t *base)
{
    access->space = (uint8_t)space_of(build);
    return sc_wide_address_in(build, operand, access, base);
}

static unsigned vector_count(struct sc_build *build)
{
    return sc_has(build, "v8") ? 8 : sc_has(build, "v4") ? 4 : sc_has(build, "v2") ? 2 : 1;
}

static bool set_elements(struct sc_build *build, const struct sc_operand *operand, struct sc_access *access,
                         const char *type, uint32_t value[4], bool target)
{
    unsigned bits = sc_type_bits(type);
    if (bits < 8) return sc_fail(build, build->now->line, "this type cannot be in memory");
    access->element_bytes = (uint8_t)(bits / 8);
    access->extend_signed = type[0] == 's' && bits < 64;
    unsigned count = access->count;
    if (count == 1 && operand->kind == SC_OPERAND_VECTOR && operand->count == 1)
        count = 0; /* {%r}: a vector
                      of one */
    if (count != 1 && (operand->kind != SC_OPERAND_VECTOR || operand->count != access->count))
        return sc_fail(build, build->now->line, "a vector of %u is missing", access->count);
    for (unsigned i = 0; i < access->count; i++) {
        struct sc_operand one = *operand;
        if (count != 1) {
            one = (struct sc_operand){.kind = operand->element[i].kind,
                                      .value = operand->element[i].value,
                                      .bits = operand->element[i].bits,
                                      .literal_kind = operand->element[i].literal_kind};
        }
        unsigned bytes = bits == 64 ? 8 : 4;
        if (one.kind == SC_OPERAND_VALUE && bytes == 4 && build->ir.values.at[one.value].bytes == 8)
            bytes = 8;
        value[i] = target ? sc_target(build, &one, bytes)
                          : sc_source(build, &one, bytes, strchr(type, 'f') && bits >= 32 ? 'f' : 'b');
        if (!value[i]) return false;
        if (i && access->result_bytes != bytes)
            return sc_fail(build, build->now->line, "registers of different sizes");
        access->result_bytes = (uint8_t)bytes;
    }
    if (access->element_bytes == access->result_bytes) access->extend_signed = false;
    return true;
}

static bool select_ld(struct sc_build *build);
static bool select_st(struct sc_build *build);

/* Splits a v8 access into two of v4 */
static bool split_access(struct sc_build *build, bool store)
{
    struct sc_instruction *now = build->now;
    struct sc_operand *vector = &now->operand[store], *address = &now->operand[!store];
    if (now->count < 2 || vector->kind != SC_OPERAND_VECTOR || vector->count != 8)
        return sc_fail(build, now->line, "a vector of 8 is missing");
    struct sc_operand high = *vector;
    memcpy(high.element, vector->element + 4, 4 * sizeof *high.element);
    high.count = vector->count = 4;
    for (unsigned i = 1; i < now->part_count; i++)
        if (sc_part_is(&now->part[i], "v8")) now->part[i] = (struct sc_part){"v4", 2};
    uint32_t line_bytes = 4 * sc_type_bits(sc_type(build, 0)) / 8, base = address->value;
    for (unsigned i = 0; !store && i < 4; i++) /* a half that overwrites the address is loaded last */
        if (base && vector->element[i].value == base) {
            struct sc_operand first = *vector;
            *vector = high, high = first;
            address->offset += line_bytes;
            return (select_ld(build)) && (address->offset -= line_bytes, *vector = high, true) &&
                   select_ld(build);
        }
    if (!(store ? select_st(build) : select_ld(build))) return false;
    address->offset += line_bytes;
    *vector = high;
    return store ? select_st(build) : select_ld(build);
}

static bool select_ld(struct sc_build *build)
{
    struct sc_instruction *now = build->now;
    const char *type = sc_type(build, 0);
    struct sc_access access = {.space = (uint8_t)space_of(build), .count = (uint8_t)vector_count(build)};
    uint32_t value[8], base = 0;
    int64_t offset = 0;
    if (watches_others(build)) access.turn = SC_TURN_WAIT;
    access.strong = is_strong(build);
    skip_hints(build);
    if (access.count == 8) return split_access(build, false);
    if (now->count < 2) return sc_fail(build, now->line, "ld takes 2 operands");
    if (!set_elements(build, &now->operand[0], &access, type, value, true) ||
        !set_address(build, &now->operand[1], &access, &base, &offset))
        return false;
    struct sc_ir *ir = sc_emit(build, SC_OP_LOAD);
    if (!ir) return false;
    ir->access = access;
    ir->polls = access.turn == SC_TURN_WAIT;
    ir->immediate = offset;
    ir->source[0] = base;
    ir->source_count = 1;
    ir->result_count = access.count;
    memcpy(ir->result, value, access.count * sizeof *value);
    return true;
}

static bool select_st(struct sc_build *build)
{
    struct sc_instruction *now = build->now;
    const char *type = sc_type(build, 0);
    struct sc_access access = {.space = (uint8_t)space_of(build), .count = (uint8_t)vector_count(build)};
    uint32_t value[8], base = 0;
    int64_t offset = 0;
    access.strong = is_strong(build);
    skip_hints(build);
    if (access.count == 8) return split_access(build, true);
    if (now->count < 2) return sc_fail(build, now->line, "st takes 2 operands");
    if (!set_elements(build, &now->operand[1], &access, type, value, false) ||
        !set_address(build, &now->operand[0], &access, &base, &offset))
        return false;
    struct sc_ir *ir = sc_emit(build, SC_OP_STORE);
    if (!ir) return false;
    ir->access = access;
    ir->immediate = offset;
    ir->source[0] = base;
    ir->source_count = (uint8_t)(1 + access.count);
    memcpy(ir->source + 1, value, access.count * sizeof *value);
    return true;
}

static int find_operation(struct sc_build *build)
{
    static const char *const names[] = {"add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"};
    for (int i = 0; i < 10; i++)
        if (sc_has(build, names[i])) return i;
    return -1;
}

static bool select_atom_one(struct sc_build *build)
{
    struct sc_instruction *now = build->now;
    bool reduce = sc_part_is(&now->part[0], "red");
    const char *type = sc_type(build, 0);
    int operation = find_operation(build);
    unsigned bits = sc_type_bits(type), bytes = bits == 64 ? 8 : 4;
    struct sc_access access = {
        .space = (uint8_t)space_of(build), .count = 1, .operation = (uint8_t)operation};
    skip_hints(build);
    unsigned first = reduce ? 0 : 1, wanted = first + (operation == SC_ATOMIC_CAS ? 3 : 2);
    if (operation < 0 || bits < 16 || now->count < wanted)
        return sc_fail(build, now->line, "atomic operation not built");
    access.element_bytes = (uint8_t)(bits / 8);
    access.result_bytes = (uint8_t)bytes;
    access.type = (uint8_t)type[0];
    if (strcmp(type, "f16") == 0) access.type = 'h';
    if (strcmp(type, "bf16") == 0) access.type = 'g';
    if (strcmp(type, "f16x2") == 0) access.type = 'H';
    if (strcmp(type, "bf16x2") == 0) access.type = 'G';
    bool real = strchr("fhgHG", access.type) != NULL;
    if (real && operation != SC_ATOMIC_ADD && operation != SC_ATOMIC_EXCH)
        return sc_fail(build, now->line, "atomic operation not built");
    char literal = access.type == 'f' ? 'f' : 'b';
    uint32_t base, result = 0, c = 0;
    int64_t offset = 0;
    if (!reduce && now->operand[0].kind != SC_OPERAND_SINK)
        result = sc_target(build, &now->operand[0], bytes);
    uint32_t b = sc_source(build, &now->operand[first + 1], bytes, literal);
    if (operation == SC_ATOMIC_CAS) c = sc_source(build, &now->operand[first + 2], bytes, literal);
    if (!b || !set_address(build, &now->operand[first], &access, &base, &offset)) return false;
    struct sc_ir *ir = sc_emit(build, SC_OP_ATOMIC);
    if (!ir) return false;
    ir->access = access;
    ir->immediate = offset;
    ir->source[0] = base, ir->source[1] = b, ir->source[2] = c;
    ir->source_count = c ? 3 : 2;
    ir->result[0] = result;
    ir->result_count = result != 0;
    ir->flops = real;
    /* Whether the atomic's effect depends on the order of blocks; a result that is used depends on it too,
     * see sc_find_turns */
    if (access.space != SC_SPACE_SHARED &&
        (real || operation == SC_ATOMIC_EXCH || operation == SC_ATOMIC_INC || operation == SC_ATOMIC_DEC ||
         operation == SC_ATOMIC_CAS || access.element_bytes < 4))
        build->ir.ordered = true;
    return true;
}

/* Handles vector forms element by element */
static bool select_atom(struct sc_build *build)
{
    struct sc_instruction *now = build->now;
    unsigned count = vector_count(build), first = !sc_part_is(&now->part[0], "red");
    unsigned bytes = sc_type_bits(sc_type(build, 0)) / 8;
    if (count == 1) return select_atom_one(build);
    struct sc_operand whole[3];
    if (now->count < first + 2 || now->operand[first].kind != SC_OPERAND_ADDRESS)
        return sc_fail(build, now->line, "atomic operation not built");
    memcpy(whole, now->operand, sizeof whole);
    for (unsigned i = 0; i < count; i++) {
        for (unsigned k = 0; k < first + 2; k++) {
            if (k == first) continue;
            if (whole[k].kind == SC_OPERAND_SINK) continue;
            if (whole[k].kind != SC_OPERAND_VECTOR || whole[k].count != count)
                return sc_fail(build, now->line, "a vector of %u is missing", count);
            now->operand[k] = (struct sc_operand){.kind = whole[k].element[i].kind,
                                                  .value = whole[k].element[i].value,
                                                  .bits = whole[k].element[i].bits,
                                                  .literal_kind = whole[k].element[i].literal_kind};
        }
        if (!select_atom_one(build)) return false;
        now->operand[first].offset += bytes;
    }
    return true;
}

static bool select_nothing(struct sc_build *build)
{
    build->now->used = UINT32_MAX;
    return build->status == SC_ENGINE_OK;
}

/* There is no cache, so the policy is an arbitrary number that has no effect. */
static bool select_createpolicy(struct sc_build *build)
{
    struct sc_instruction *now = build->now;
    now->used = UINT32_MAX;
    if (now->count < 1) return sc_fail(build, now->line, "createpolicy takes a register");
    uint32_t target = sc_target(build, &now->operand[0], 8);
    return target && sc_emit_row(build, "mov_b64", target, sc_constant(build, 8, 0), 0, 0, 0);
}

/* Simulated time does not advance within a kernel; other lanes run instead. */
static bool select_sleep(struct sc_build *build)
{
    build->now->used = UINT32_MAX;
    return sc_emit(build, SC_OP_YIELD) != NULL;
}

/* isspacep.shared p, a: whether the generic address is in the window of the space */
static bool select_isspacep(struct sc_build *build)
{
    struct sc_instruction *now = build->now;
    enum sc_space space = space_of(build);
    if (now->count != 2) return sc_fail(build, now->line, "isspacep takes 2 operands");
    uint32_t address = sc_source(build, &now->operand[1], 8, 'b'),
             target = sc_target(build, &now->operand[0], 4);
    uint32_t offset = sc_new_value(build, 8), inside = sc_new_value(build, 4);
    uint32_t shared_size = sc_new_value(build, 8);
    sc_emit_row(build, "sub_b64", offset, address, sc_special_value(build, SC_SPECIAL_SHARED_BASE), 0, 0);
    sc_emit_row(build, "cvt_u64_u32", shared_size, sc_special_value(build, SC_SPECIAL_TOTAL_SHARED), 0, 0, 0);
    sc_emit_row(build, "setp_lt_u64", inside, offset, shared_size, 0, 0);
    if (space == SC_SPACE_SHARED) return sc_emit_row(build, "mov_b32", target, inside, 0, 0, 0);
    /* A thread's local memory is contiguous, and only the thread itself can ask about it. */
    uint32_t in_local = sc_new_value(build, 4);
    sc_emit_row(build, "sub_b64", offset, address, sc_special_value(build, SC_SPECIAL_LOCAL), 0, 0);
    sc_emit_row(build, "setp_lt_u64", in_local, offset, sc_constant(build, 8, 1u << 20), 0, 0);
    if (space == SC_SPACE_LOCAL) return sc_emit_row(build, "mov_b32", target, in_local, 0, 0, 0);
    if (space != SC_SPACE_GLOBAL) return sc_fail(build, now->line, "isspacep of this space is not built");
    uint32_t either = sc_new_value(build, 4);
    sc_emit_row(build, "or_b32", either, inside, in_local, 0, 0);
    return sc_emit_row(build, "not_pred", target, either, 0, 0, 0);
}

const struct sc_selector_entry sc_select_memory[] = {
    {"ld", select_ld},
    {"ldu", select_ld},
    {"st", select_st},
    {"atom", select_atom},
    {"red", select_atom},
    {"prefetch", select_nothing},
    {"prefetchu", select_nothing},
    {"discard", select_nothing},
    {"applypriority", select_nothing},
    {"createpolicy", select_createpolicy},
    {"isspacep", select_isspacep},
    {"membar", select_nothing},
    {"fence", select_nothing},
    {"nanosleep", select_sleep},
    {"pmevent", select_nothing},
    {"griddepcontrol", select_nothing}, /* a launch begins only after the previous ones have ended */
    {NULL, NULL},
};
