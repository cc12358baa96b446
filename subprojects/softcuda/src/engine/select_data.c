/* mov, cvta. */
#include "build.h"

#include <string.h>

static uint32_t element_source(struct sc_build *build, const struct sc_operand *vector, unsigned i,
                               unsigned bytes)
{
    struct sc_operand element = {.kind = vector->element[i].kind,
                                 .value = vector->element[i].value,
                                 .bits = vector->element[i].bits,
                                 .literal_kind = vector->element[i].literal_kind};
    return sc_source(build, &element, bytes, 'b');
}

static uint32_t element_target(struct sc_build *build, const struct sc_operand *vector, unsigned i,
                               unsigned bytes)
{
    struct sc_operand element = {.kind = vector->element[i].kind, .value = vector->element[i].value};
    return sc_target(build, &element, bytes);
}

static bool known_shape(unsigned bits, unsigned count)
{
    return (bits == 16 && count == 2) || (bits == 32 && (count == 2 || count == 4)) ||
           (bits == 64 && (count == 2 || count == 4));
}

/* Packs bytes into a register, the lowest first */
static uint32_t pack_bytes(struct sc_build *build, const uint32_t *part, unsigned count)
{
    uint32_t all = sc_constant(build, 4, 0), byte = sc_constant(build, 4, 8);
    for (unsigned i = 0; i < count; i++) {
        uint32_t joined = sc_new_value(build, 4);
        sc_emit_row(build, "bfi_b32", joined, part[i], all, sc_constant(build, 4, i * 8), byte);
        all = joined;
    }
    return all;
}

/* mov.b32 %r, {%rs, %rs} and similar forms */
static bool pack(struct sc_build *build, unsigned bits)
{
    struct sc_instruction *now = build->now;
    const struct sc_operand *vector = &now->operand[1];
    uint32_t part[4] = {0}, count = vector->count;
    if (!known_shape(bits, count)) return sc_fail(build, now->line, "a vector of this shape is not built");
    for (unsigned i = 0; i < count; i++) part[i] = element_source(build, vector, i, 4);
    uint32_t target = sc_target(build, &now->operand[0], bits == 64 ? 8 : 4);
    if (bits / count == 8)
        return sc_emit_row(build, "mov_b32", target, pack_bytes(build, part, count), 0, 0, 0);
    return sc_emit_row(build,
                       bits == 32   ? "pack_b32"
                       : count == 2 ? "pack_b64"
                                    : "pack4_b64",
                       target, part[0], part[1], part[2], part[3]);
}

static bool unpack(struct sc_build *build, unsigned bits)
{
    struct sc_instruction *now = build->now;
    const struct sc_operand *vector = &now->operand[0];
    uint32_t count = vector->count;
    if (!known_shape(bits, count)) return sc_fail(build, now->line, "a vector of this shape is not built");
    const char *row = bits <= 32 ? "unpack_b16" : count == 2 ? "unpack_b32" : "unpack_b64b16";
    uint32_t whole = sc_source(build, &now->operand[1], bits == 64 ? 8 : 4, 'b'), part[4];
    for (unsigned i = 0; i < count; i++) { /* one target may be the source's register */
        part[i] = sc_new_value(build, 4);
        sc_emit_row(build, row, part[i], whole, sc_constant(build, 4, i * bits / count), 0, 0);
        if (bits / count != 8) continue;
        uint32_t byte = sc_new_value(build, 4);
        sc_emit_row(build, "and_b32", byte, part[i], sc_constant(build, 4, 255), 0, 0);
        part[i] = byte;
    }
    for (unsigned i = 0; i < count; i++)
        if (vector->element[i].kind != SC_OPERAND_SINK &&
            !sc_emit_row(build, "mov_b32", element_target(build, vector, i, 4), part[i], 0, 0, 0))
            return false;
    return build->status == SC_ENGINE_OK;
}

static bool select_mov(struct sc_build *build)
{
    struct sc_instruction *now = build->now;
    const char *type = sc_type(build, 0);
    unsigned bits = sc_type_bits(type), bytes = bits == 64 ? 8 : 4;
    if (now->count != 2 || !bits) return sc_fail(build, now->line, "mov not understood");
    if (now->operand[1].kind == SC_OPERAND_VECTOR) return pack(build, bits);
    if (now->operand[0].kind == SC_OPERAND_VECTOR) return unpack(build, bits);
    /* A 64-bit special register may be read as 32 bits, and a 32-bit one as 64 bits. */
    if (now->operand[1].kind == SC_OPERAND_VALUE && build->ir.values.at[now->operand[1].value].bytes == 8 &&
        bytes == 4 && build->ir.values.at[now->operand[1].value].kind == SC_VALUE_CONSTANT)
        now->operand[1].value = sc_constant(build, 4, build->ir.values.at[now->operand[1].value].bits);
    return sc_emit_row(build, bytes == 8 ? "mov_b64" : "mov_b32", sc_target(build, &now->operand[0], bytes),
                       sc_source(build, &now->operand[1], bytes, strchr(type, 'f') && bits >= 32 ? 'f' : 'b'),
                       0, 0, 0);
}

/* Generic addresses are host addresses, and so are those of .global, .const, .local and .param. Addresses of
 * .shared are offsets. */
static bool select_cvta(struct sc_build *build)
{
    struct sc_instruction *now = build->now;
    static const char *const others[] = {"global", "local", "const", "param", "param::entry"};
    bool to = sc_has(build, "to"), shared = sc_has(build, "shared"), other = false;
    shared |= sc_has(build, "shared::cta");
    for (unsigned i = 0; i < sizeof others / sizeof *others; i++) other |= sc_has(build, others[i]);
    const char *type = sc_type(build, 0);
    if (now->count != 2 || sc_type_bits(type) != 64 || shared == other)
        return sc_fail(build, now->line, "cvta not understood");
    uint32_t target = sc_target(build, &now->operand[0], 8),
             source = sc_source(build, &now->operand[1], 8, 'b');
    if (!shared) return sc_emit_row(build, "mov_b64", target, source, 0, 0, 0);
    return sc_emit_row(build, to ? "sub_b64" : "add_b64", target, source,
                       sc_special_value(build, SC_SPECIAL_SHARED_BASE), 0, 0);
}

const struct sc_selector_entry sc_select_data[] = {
    {"mov", select_mov},
    {"cvta", select_cvta},
    {NULL, NULL},
};
