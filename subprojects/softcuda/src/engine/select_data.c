/* mov, cvt, cvta, isspacep. */
#include "build.h"

#include <stdio.h>
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

/* mov.b32 %r, {%rs, %rs} and its like */
static bool pack(struct sc_build *build, unsigned bits)
{
    struct sc_instruction *now = build->now;
    const struct sc_operand *vector = &now->operand[1];
    uint32_t part[4] = {0}, count = vector->count;
    if (!((bits == 32 && count == 2) || (bits == 64 && (count == 2 || count == 4))))
        return sc_fail(build, now->line, "a vector of this shape is not built");
    for (unsigned i = 0; i < count; i++) part[i] = element_source(build, vector, i, 4);
    uint32_t target = sc_target(build, &now->operand[0], bits / 8);
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
    if (!((bits == 32 && count == 2) || (bits == 64 && (count == 2 || count == 4))))
        return sc_fail(build, now->line, "a vector of this shape is not built");
    const char *row = bits == 32 ? "unpack_b16" : count == 2 ? "unpack_b32" : "unpack_b64b16";
    uint32_t whole = sc_source(build, &now->operand[1], bits / 8, 'b'), part[4];
    for (unsigned i = 0; i < count; i++) { /* all parts first: one of them may be the source's register */
        part[i] = sc_new_value(build, 4);
        sc_emit_row(build, row, part[i], whole, sc_constant(build, 4, i * bits / count), 0, 0);
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
    /* A 32-bit special register may be read as 64 bits and the other way round. */
    if (now->operand[1].kind == SC_OPERAND_VALUE && build->ir.values.at[now->operand[1].value].bytes == 8 &&
        bytes == 4 && build->ir.values.at[now->operand[1].value].kind == SC_VALUE_CONSTANT)
        now->operand[1].value = sc_constant(build, 4, build->ir.values.at[now->operand[1].value].bits);
    return sc_emit_row(build, bytes == 8 ? "mov_b64" : "mov_b32", sc_target(build, &now->operand[0], bytes),
                       sc_source(build, &now->operand[1], bytes, strchr(type, 'f') && bits >= 32 ? 'f' : 'b'),
                       0, 0, 0);
}

/* cvt.rn.f16x2.f32 d, a, b: a becomes the upper half */
static bool convert_pair(struct sc_build *build, const char *to)
{
    struct sc_instruction *now = build->now;
    char name[32];
    if (now->count != 3) return sc_fail(build, now->line, "cvt takes 3 operands here");
    bool zero = sc_has(build, "rz");
    sc_has(build, "rn");
    bool relu = sc_has(build, "relu");
    snprintf(name, sizeof name, "cvt_%s_f32%s", to[0] == 'b' ? "bf16" : "f16", zero ? "_rz" : "");
    uint32_t half[2];
    for (unsigned i = 0; i < 2; i++) {
        uint32_t source = sc_source(build, &now->operand[2 - i], 4, 'f');
        if (relu) {
            uint32_t positive = sc_new_value(build, 4);
            sc_emit_row(build, "relu_f32", positive, source, 0, 0, 0);
            source = positive;
        }
        half[i] = sc_new_value(build, 4);
        sc_emit_row(build, name, half[i], source, 0, 0, 0);
    }
    return sc_emit_row(build, "pack_b32", sc_target(build, &now->operand[0], 4), half[0], half[1], 0, 0);
}

/* A source in a 16-bit format or a result in one goes by way of f32. */
static bool convert_by_single(struct sc_build *build, const char *to, const char *from, const char *mode)
{
    struct sc_instruction *now = build->now;
    char name[48];
    uint32_t single = sc_new_value(build, 4);
    unsigned from_bytes = sc_type_bits(from) == 64 ? 8 : 4, to_bytes = sc_type_bits(to) == 64 ? 8 : 4;
    uint32_t source = sc_source(build, &now->operand[1], from_bytes, 'b');
    bool from_half = strcmp(from, "f16") == 0 || strcmp(from, "bf16") == 0;
    if (!from_half && strcmp(from, "f32") != 0 && sc_type_bits(from) > 16)
        return sc_fail(build, now->line, "conversion not built: %s to %s", from, to);
    snprintf(name, sizeof name, "cvt_f32_%s", from);
    sc_emit_row(build, name, single, source, 0, 0, 0);
    uint32_t target = sc_target(build, &now->operand[0], to_bytes);
    if (strcmp(to, "f32") == 0) return sc_emit_row(build, "mov_b32", target, single, 0, 0, 0);
    if (*mode && mode[2] == 'i' && strchr(to, 'f')) { /* round to an integer, then back */
        uint32_t whole = sc_new_value(build, 4);
        snprintf(name, sizeof name, "cvt_f32_f32_%s", mode);
        sc_emit_row(build, name, whole, single, 0, 0, 0);
        single = whole;
        mode = "";
    }
    snprintf(name, sizeof name, "cvt_%s_f32%s%s", to, *mode ? "_" : "", mode);
    return sc_emit_row(build, name, target, single, 0, 0, 0);
}

static bool is_half(const char *type)
{
    return strcmp(type, "f16") == 0 || strcmp(type, "bf16") == 0;
}

/* The name of the row that converts; `mode` is rni, rzi, rmi, rpi or "" */
static void convert_name(char name[48], const char *to, const char *from, const char *mode, bool flush,
                         bool saturate)
{
    bool from_float = strchr(from, 'f') != NULL, to_float = strchr(to, 'f') != NULL;
    if (!from_float && !to_float) {
        snprintf(name, 48, "cvt%s_%s_%s", saturate ? "sat" : "", to, from);
    } else {
        bool narrowing = strcmp(to, "f32") == 0 && strcmp(from, "f64") == 0;
        snprintf(name, 48, "cvt_%s%s_%s%s%s%s", to, flush && narrowing ? "z" : "", from,
                 flush && strcmp(from, "f32") == 0 ? "z" : "", *mode ? "_" : "", mode);
    }
}

static bool select_cvt(struct sc_build *build)
{
    struct sc_instruction *now = build->now;
    static const char *const whole[] = {"rni", "rzi", "rmi", "rpi"};
    const char *from = sc_type(build, 0), *to = sc_type(build, 1), *mode = "";
    if (strcmp(to, "f16x2") == 0 || strcmp(to, "bf16x2") == 0) return convert_pair(build, to);
    if (now->count != 2 || !*from || !*to) return sc_fail(build, now->line, "cvt not understood");
    bool flush = sc_has(build, "ftz"), saturate = sc_has(build, "sat");
    for (unsigned i = 0; i < 4; i++)
        if (sc_has(build, whole[i])) mode = whole[i];
    uint8_t rounding = sc_has(build, "rz")   ? 0x60
                       : sc_has(build, "rm") ? 0x20
                       : sc_has(build, "rp") ? 0x40
                                             : 0;
    sc_has(build, "rn");
    bool to_float = strchr(to, 'f') != NULL, from_float = strchr(from, 'f') != NULL;
    if (is_half(from) || is_half(to)) {
        if (is_half(to) && rounding) mode = rounding == 0x60 && strcmp(from, "f32") == 0 ? "rz" : "unknown";
        if (saturate && to_float) return sc_fail(build, now->line, "modifier not built");
        return convert_by_single(build, to, from, mode);
    }
    char name[48];
    if (from_float && !to_float && !*mode) mode = "rzi";
    /* Saturation of an integer that already fits does nothing. */
    if (saturate && !to_float && !from_float &&
        sc_type_bits(to) >= sc_type_bits(from) + (from[0] == 'u' && to[0] == 's') &&
        (to[0] == from[0] || from[0] == 'u'))
        saturate = false;
    convert_name(name, to, from, mode, flush, saturate);
    unsigned to_bytes = sc_type_bits(to) == 64 ? 8 : 4;
    uint32_t before = build->ir.code.count;
    /* Registers wider than a narrow result hold it extended; the wider container does so by a second
     * conversion. */
    const struct sc_operand *target = &now->operand[0];
    if (to_bytes == 4 && target->kind == SC_OPERAND_VALUE && build->ir.values.at[target->value].bytes == 8) {
        uint32_t narrow = sc_new_value(build, 4);
        unsigned bytes = sc_type_bits(from) == 64 ? 8 : 4;
        sc_emit_row(build, name, narrow, sc_source(build, &now->operand[1], bytes, from_float ? 'f' : 'b'), 0,
                    0, 0);
        snprintf(name, sizeof name, "cvt_%s_%s", to[0] == 's' ? "s64" : "u64", to);
        return sc_emit_row(build, name, target->value, narrow, 0, 0, 0);
    }
    const struct sc_operand *source = &now->operand[1];
    if (sc_type_bits(from) < 64 && source->kind == SC_OPERAND_VALUE &&
        build->ir.values.at[source->value].bytes == 8 && !from_float) { /* the low part of a wider register */
        uint32_t low = sc_new_value(build, 4);
        sc_emit_row(build, "cvt_u32_u64", low, source->value, 0, 0, 0);
        now->operand[1].value = low;
    }
    if (!sc_emit_operands(build, name, saturate && to_float)) return false;
    if (rounding)
        for (uint32_t i = before; i < build->ir.code.count; i++) build->ir.code.at[i].rounding = rounding;
    return true;
}

/* Generic addresses are host addresses, and so are those of .global, .const, .local and .param. Those of
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
    {"cvt", select_cvt},
    {"cvta", select_cvta},
    {NULL, NULL},
};
