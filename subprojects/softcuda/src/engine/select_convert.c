/* cvt. Formats of 16 bits and fewer, and tf32, are converted by way of f32, which represents them exactly.
 * Numbers that f32 cannot represent are rounded to odd first. */
#include "build.h"

#include <stdio.h>
#include <string.h>

static bool is_narrow(const char *type)
{
    return strcmp(type, "f16") == 0 || strcmp(type, "bf16") == 0 || strcmp(type, "tf32") == 0;
}

static uint32_t row1(struct sc_build *build, const char *name, unsigned bytes, uint32_t source)
{
    uint32_t result = sc_new_value(build, bytes);
    return sc_emit_row(build, name, result, source, 0, 0, 0) ? result : 0;
}

/* Converts an operand of any type to f32; 0 on failure */
static uint32_t single_of(struct sc_build *build, const char *from, const struct sc_operand *operand)
{
    char name[32];
    unsigned bits = sc_type_bits(from);
    uint32_t source = sc_source(build, operand, bits == 64 ? 8 : 4, strcmp(from, "f32") == 0 ? 'f' : 'b');
    if (!source || strcmp(from, "f32") == 0) return source;
    if (strchr(from, 'f') == NULL && bits == 32) {
        snprintf(name, sizeof name, "cvt_f64_%s", from);
        source = row1(build, name, 8, source);
        return row1(build, "odd_f64", 4, source);
    }
    snprintf(name, sizeof name, "%s_%s", bits == 64 ? "odd" : "cvt_f32", from);
    return row1(build, name, 4, source);
}

/* The suffix of the row's name for the rounding mode of a conversion to a narrow format */
static const char *narrow_mode(struct sc_build *build)
{
    static const char *const modes[] = {"rz", "rm", "rp", "rna"};
    for (unsigned i = 0; i < 4; i++)
        if (sc_has(build, modes[i])) return modes[i];
    sc_has(build, "rn");
    return "";
}

/* Converts f32 to a narrow format and returns its bits; 0 on failure */
static uint32_t narrow(struct sc_build *build, const char *to, uint32_t single)
{
    char name[32];
    const char *mode = narrow_mode(build);
    bool byte = to[0] == 'e';
    if (sc_has(build, "relu")) single = row1(build, "relu_f32", 4, single);
    if (sc_has(build, "satfinite") && !byte) {
        snprintf(name, sizeof name, "finite_%s", strcmp(to, "tf32") == 0 ? "f32" : to);
        single = row1(build, name, 4, single);
    }
    snprintf(name, sizeof name, "cvt_%s_f32%s%s", to, *mode ? "_" : "", mode);
    return row1(build, name, 4, single);
}

static bool from_single(struct sc_build *build, const char *to, const char *mode, bool saturate,
                        uint32_t single)
{
    struct sc_instruction *now = build->now;
    char name[48];
    uint32_t target = sc_target(build, &now->operand[0], sc_type_bits(to) == 64 ? 8 : 4);
    bool to_float = strchr(to, 'f') != NULL;
    if (saturate && to_float) single = row1(build, "sat_f32", 4, single);
    if (*mode && to_float) { /* rounds to an integer that stays in floating point */
        snprintf(name, sizeof name, "cvt_f32_f32_%s", mode);
        single = row1(build, name, 4, single);
    }
    if (strcmp(to, "f32") == 0)
        return sc_emit_row(build, sc_has(build, "ftz") ? "cvt_f32_f32z" : "mov_b32", target, single, 0, 0, 0);
    if (is_narrow(to)) {
        uint32_t bits = narrow(build, to, single);
        return bits && sc_emit_row(build, "mov_b32", target, bits, 0, 0, 0);
    }
    if (!to_float && !*mode) mode = "rzi";
    snprintf(name, sizeof name, "cvt_%s_f32%s%s", to, to_float ? "" : "_", to_float ? "" : mode);
    return sc_emit_row(build, name, target, single, 0, 0, 0);
}

/* Converts two numbers into one register: d, a, b of f32 (a becomes the upper half), or one pair into
 * another */
static bool convert_pairs(struct sc_build *build, const char *to, const char *from)
{
    struct sc_instruction *now = build->now;
    char element[8], name[32];
    uint32_t part[2];
    const char *x = strchr(to, 'x');
    bool bytes = to[0] == 'e', from_bytes = from[0] == 'e', two = strcmp(from, "f32") == 0;
    if (!x || now->count != (two ? 3u : 2u) || (!two && !strchr(from, 'x')) || (from_bytes && bytes))
        return sc_fail(build, now->line, "conversion not built: %s to %s", from, to);
    snprintf(element, sizeof element, "%.*s", (int)(x - to), to);
    sc_has(build, "ftz");
    for (unsigned i = 0; i < 2; i++) {
        uint32_t source = sc_source(build, &now->operand[two ? 2 - i : 1], 4, two ? 'f' : 'b');
        if (!two) {
            uint32_t half = sc_new_value(build, 4);
            uint32_t shift = sc_constant(build, 4, i * (from_bytes ? 8 : 16));
            sc_emit_row(build, "unpack_b16", half, source, shift, 0, 0);
            snprintf(name, sizeof name, "cvt_f16_%.4s", from);
            source = from_bytes ? row1(build, name, 4, half) : half;
            source = row1(build, from[0] == 'b' ? "cvt_f32_bf16" : "cvt_f32_f16", 4, source);
        }
        part[i] = narrow(build, element, source);
        if (!part[i]) return false;
    }
    uint32_t target = sc_target(build, &now->operand[0], 4);
    if (!bytes) return sc_emit_row(build, "pack_b32", target, part[0], part[1], 0, 0);
    uint32_t high = sc_new_value(build, 4);
    sc_emit_row(build, "shl_b32", high, part[1], sc_constant(build, 4, 8), 0, 0);
    return sc_emit_row(build, "or_b32", target, part[0], high, 0, 0);
}

/* Builds the name of the conversion's row; `mode` is rni, rzi, rmi, rpi or "" */
static void convert_name(char name[48], const char *to, const char *from, const char *mode, bool flush,
                         bool saturate)
{
    bool from_float = strchr(from, 'f') != NULL, to_float = strchr(to, 'f') != NULL;
    if (!from_float && !to_float) {
        snprintf(name, 48, "cvt%s_%s_%s", saturate ? "sat" : "", to, from);
    } else {
        bool whole = *mode && strcmp(from, "f32") == 0;
        bool narrowing = strcmp(to, "f32") == 0 && (strcmp(from, "f64") == 0 || whole);
        snprintf(name, 48, "cvt_%s%s_%s%s%s%s", to, flush && narrowing ? "z" : "", from,
                 flush && strcmp(from, "f32") == 0 ? "z" : "", *mode ? "_" : "", mode);
    }
}

static bool select_cvt(struct sc_build *build)
{
    struct sc_instruction *now = build->now;
    static const char *const whole[] = {"rni", "rzi", "rmi", "rpi"};
    const char *from = sc_type(build, 0), *to = sc_type(build, 1), *mode = "";
    if (strchr(to, 'x') || strchr(from, 'x')) return convert_pairs(build, to, from);
    if (now->count != 2 || !*from || !*to) return sc_fail(build, now->line, "cvt not understood");
    bool flush = sc_has(build, "ftz"), saturate = sc_has(build, "sat");
    for (unsigned i = 0; i < 4; i++)
        if (sc_has(build, whole[i])) mode = whole[i];
    bool to_float = strchr(to, 'f') != NULL, from_float = strchr(from, 'f') != NULL;
    if (is_narrow(from) || is_narrow(to)) {
        uint32_t single = single_of(build, from, &now->operand[1]);
        if (single && flush && strcmp(from, "f32") == 0) single = row1(build, "cvt_f32_f32z", 4, single);
        return single && from_single(build, to, mode, saturate, single);
    }
    char name[48];
    if (from_float && !to_float && !*mode) mode = "rzi";
    /* Saturation has no effect if every source value fits. */
    if (saturate && !to_float && !from_float &&
        sc_type_bits(to) >= sc_type_bits(from) + (from[0] == 'u' && to[0] == 's') &&
        (to[0] == from[0] || from[0] == 'u'))
        saturate = false;
    if (saturate && !to_float && !from_float && from[0] == 's' && to[0] == 'u' &&
        (sc_type_bits(from) == 8 || sc_type_bits(to) > sc_type_bits(from)) && sc_type_bits(from) < 64) {
        /* only values below zero saturate: convert by way of s64 */
        uint32_t wide = sc_new_value(build, 8),
                 target = sc_target(build, &now->operand[0], sc_type_bits(to) == 64 ? 8 : 4);
        snprintf(name, sizeof name, "cvt_s64_%s", from);
        sc_emit_row(build, name, wide, sc_source(build, &now->operand[1], 4, 'b'), 0, 0, 0);
        snprintf(name, sizeof name, "cvtsat_%s_s64", to);
        return sc_emit_row(build, name, target, wide, 0, 0, 0);
    }
    convert_name(name, to, from, mode, flush, saturate);
    unsigned to_bytes = sc_type_bits(to) == 64 ? 8 : 4;
    uint8_t rounding = sc_has(build, "rz")   ? 0x60
                       : sc_has(build, "rm") ? 0x20
                       : sc_has(build, "rp") ? 0x40
                                             : 0;
    sc_has(build, "rn");
    uint32_t before = build->ir.code.count;
    /* A register that is wider than a narrow result holds it extended; a 64-bit container needs a second
     * conversion for that. */
    const struct sc_operand *target = &now->operand[0];
    if (to_bytes == 4 && target->kind == SC_OPERAND_VALUE && build->ir.values.at[target->value].bytes == 8) {
        uint32_t extended = sc_new_value(build, 4);
        unsigned bytes = sc_type_bits(from) == 64 ? 8 : 4;
        sc_emit_row(build, name, extended, sc_source(build, &now->operand[1], bytes, from_float ? 'f' : 'b'),
                    0, 0, 0);
        snprintf(name, sizeof name, "cvt_%s_%s", to[0] == 's' ? "s64" : "u64", to);
        return sc_emit_row(build, name, target->value, extended, 0, 0, 0);
    }
    const struct sc_operand *source = &now->operand[1];
    if (sc_type_bits(from) < 64 && source->kind == SC_OPERAND_VALUE &&
        build->ir.values.at[source->value].bytes == 8 && !from_float) { /* reads the low half only */
        uint32_t low = sc_new_value(build, 4);
        sc_emit_row(build, "cvt_u32_u64", low, source->value, 0, 0, 0);
        now->operand[1].value = low;
    }
    if (!sc_emit_operands(build, name, saturate && to_float)) return false;
    if (rounding)
        for (uint32_t i = before; i < build->ir.code.count; i++) build->ir.code.at[i].rounding = rounding;
    return true;
}

const struct sc_selector_entry sc_select_convert[] = {
    {"cvt", select_cvt},
    {NULL, NULL},
};
