/* Several numbers in one register: pairs (f16x2, s16x2, f32x2) and the SIMD video instructions. */
#include "build.h"

#include <stdio.h>
#include <string.h>

static uint32_t row(struct sc_build *build, const char *name, unsigned bytes, uint32_t a, uint32_t b,
                    uint32_t c)
{
    uint32_t result = sc_new_value(build, bytes);
    return sc_emit_row(build, name, result, a, b, c, 0) ? result : 0;
}

/* The type in a row's name: integers for which signs do not matter have an untyped one, b16 or b32. */
static const char *row_type(const char *stem, const char *type, bool flush)
{
    bool sum = strcmp(stem, "add") == 0 || strcmp(stem, "sub") == 0 || strcmp(stem, "neg") == 0;
    if (sum && type[1] == '1' && type[0] != 'f') return "b16";
    if (sum && type[1] == '3' && type[0] != 'f') return "b32";
    if (flush && strcmp(type, "f16") == 0) return "f16z";
    return flush && strcmp(type, "f32") == 0 ? "f32z" : type;
}

/* Computes one number: one row, or two rows for a minimum or maximum of three operands */
static uint32_t compute(struct sc_build *build, const struct sc_parts *parts, const char *type,
                        const uint32_t in[3], unsigned sources)
{
    char name[48];
    bool minimum = parts->stem[0] == 'm' && parts->stem[1] != 'u';
    uint32_t x = in[0], y = in[1], sign = 0;
    uint32_t top = strchr(type, '3') ? 0x80000000u : 0x8000u;
    if (parts->cross_sign) {
        sign = row(build, "xor_b32", 4, x, y, 0);
        sign = row(build, "and_b32", 4, sign, sc_constant(build, 4, top), 0);
        x = row(build, "and_b32", 4, x, sc_constant(build, 4, top - 1), 0);
        y = row(build, "and_b32", 4, y, sc_constant(build, 4, top - 1), 0);
    }
    snprintf(name, sizeof name, "%s_%s", parts->stem, row_type(parts->stem, type, parts->flush));
    uint32_t before = build->ir.code.count;
    uint32_t result = row(build, name, 4, x, y, sources == 3 && !minimum ? in[2] : 0);
    if (sources == 3 && minimum) result = row(build, name, 4, result, in[2], 0);
    for (uint32_t i = before; parts->rounding && i < build->ir.code.count; i++)
        build->ir.code.at[i].rounding = parts->rounding;
    if (parts->cross_sign) { /* NaN gets no sign */
        snprintf(name, sizeof name, "setp_num_%s", type);
        sign = row(build, "and_b32", 4, sign, row(build, name, 4, result, result, 0), 0);
        result = row(build, "or_b32", 4, result, sign, 0);
    }
    snprintf(name, sizeof name, "%s_%s", parts->saturate ? "sat" : "relu", type);
    return parts->saturate || parts->relu ? row(build, name, 4, result, 0, 0) : result;
}

bool sc_emit_parts(struct sc_build *build, const struct sc_parts *parts)
{
    struct sc_instruction *now = build->now;
    char type[8];
    const char *x = strchr(parts->type, 'x');
    snprintf(type, sizeof type, "%.*s", x ? (int)(x - parts->type) : 7, parts->type);
    bool wide = x && type[1] == '3';
    unsigned sources = now->count - 1, bytes = wide ? 8 : 4;
    uint32_t part[2] = {0}, target = sc_target(build, &now->operand[0], bytes);
    if (now->count < 2 || now->count > 4) return sc_fail(build, now->line, "wrong number of operands");
    if (!x && sc_type_bits(type) == 64) return sc_fail(build, now->line, "modifier not built");
    for (unsigned half = 0; half < (x ? 2u : 1u); half++) {
        uint32_t in[3] = {0};
        for (unsigned i = 0; i < sources; i++) {
            in[i] = sc_source(build, &now->operand[i + 1], bytes, strcmp(type, "f32") == 0 && !x ? 'f' : 'b');
            if (x)
                in[i] = row(build, wide ? "unpack_b32" : "unpack_b16", 4, in[i],
                            sc_constant(build, 4, half * bytes * 4), 0);
        }
        part[half] = compute(build, parts, type, in, sources);
        if (!part[half]) return false;
    }
    if (x) return sc_emit_row(build, wide ? "pack_b64" : "pack_b32", target, part[0], part[1], 0, 0);
    return sc_emit_row(build, "mov_b32", target, part[0], 0, 0, 0);
}

/* The operation of vadd2, vset4 and similar instructions on one number, given as 32-bit integers */
static uint32_t video_number(struct sc_build *build, const char *opcode, bool is_signed, uint32_t a,
                             uint32_t b)
{
    static const char *const comparisons[] = {"eq", "ne", "lt", "le", "gt", "ge"};
    char name[32];
    if (strncmp(opcode, "vadd", 4) == 0) return row(build, "add_b32", 4, a, b, 0);
    if (strncmp(opcode, "vsub", 4) == 0) return row(build, "sub_b32", 4, a, b, 0);
    if (strncmp(opcode, "vmin", 4) == 0) return row(build, "min_s32", 4, a, b, 0);
    if (strncmp(opcode, "vmax", 4) == 0) return row(build, "max_s32", 4, a, b, 0);
    if (strncmp(opcode, "vabsdiff", 8) == 0) return row(build, "sad_s32", 4, a, b, sc_constant(build, 4, 0));
    if (strncmp(opcode, "vavrg", 5) == 0) { /* rounds half away from zero */
        uint32_t one = sc_constant(build, 4, 1), sum = row(build, "add_b32", 4, a, b, 0);
        uint32_t below = row(build, "shr_u32", 4, sum, sc_constant(build, 4, 31), 0);
        uint32_t more = row(build, "sub_b32", 4, one, is_signed ? below : sc_constant(build, 4, 0), 0);
        sum = row(build, "add_b32", 4, sum, more, 0);
        return row(build, "shr_s32", 4, sum, one, 0);
    }
    for (unsigned i = 0; i < 6; i++) {
        if (!sc_has(build, comparisons[i])) continue;
        snprintf(name, sizeof name, "setp_%s_s32", comparisons[i]);
        return row(build, "and_b32", 4, row(build, name, 4, a, b, 0), sc_constant(build, 4, 1), 0);
    }
    return 0;
}

static uint32_t take_number(struct sc_build *build, uint32_t word, unsigned at, unsigned bits,
                            const char *type)
{
    uint32_t position = sc_constant(build, 4, at * bits), length = sc_constant(build, 4, bits);
    return row(build, type[0] == 's' ? "bfe_s32" : "bfe_u32", 4, word, position, length);
}

/* Saturates to the range of `bits` bits. */
static uint32_t saturate_number(struct sc_build *build, uint32_t x, unsigned bits, const char *type)
{
    bool is_signed = type[0] == 's';
    uint32_t high = is_signed ? (1u << (bits - 1)) - 1 : (1u << bits) - 1, low = is_signed ? ~high : 0;
    x = row(build, "min_s32", 4, x, sc_constant(build, 4, high), 0);
    return row(build, "max_s32", 4, x, sc_constant(build, 4, low), 0);
}

/* v....2|4.dtype.atype.btype[.sat][.add] d, a, b, c: number by number. With .add all results are added to c.
 * Otherwise c would supply the numbers that a mask excludes; only the full mask is supported, so c has no
 * effect. */
static bool select_video(struct sc_build *build)
{
    struct sc_instruction *now = build->now;
    const struct sc_part *part = &now->part[0];
    char opcode[16];
    if (part->bytes > 15 || now->count != 4) return false;
    snprintf(opcode, sizeof opcode, "%.*s", (int)part->bytes, part->text);
    unsigned count = (unsigned)(opcode[part->bytes - 1] - '0'), bits = 32 / count;
    bool add = sc_has(build, "add"), saturate = sc_has(build, "sat");
    const char *type[3] = {"", "", ""};
    unsigned types = 0;
    for (unsigned i = 1; i < now->part_count && types < 3; i++)
        if (sc_part_is(&now->part[i], "u32") || sc_part_is(&now->part[i], "s32")) {
            now->used |= 1u << i;
            type[types++] = now->part[i].text;
        }
    bool set = strncmp(opcode, "vset", 4) == 0;
    if (types != (set ? 2u : 3u)) return false;
    const char *result_type = set ? "u32" : type[0], *a_type = type[set ? 0 : 1], *b_type = type[set ? 1 : 2];
    bool is_signed = a_type[0] == 's' || b_type[0] == 's';
    uint32_t a = sc_source(build, &now->operand[1], 4, 'b'), b = sc_source(build, &now->operand[2], 4, 'b');
    uint32_t c = sc_source(build, &now->operand[3], 4, 'b'), target = sc_target(build, &now->operand[0], 4);
    uint32_t all = add ? c : sc_constant(build, 4, 0);
    for (unsigned i = 0; i < count; i++) {
        uint32_t x = take_number(build, a, i, bits, a_type), y = take_number(build, b, i, bits, b_type);
        uint32_t result = video_number(build, opcode, is_signed, x, y);
        if (!result) return false;
        if (saturate) result = saturate_number(build, result, bits, result_type);
        if (add) {
            all = row(build, "add_b32", 4, all, result, 0);
        } else {
            uint32_t joined = sc_new_value(build, 4);
            sc_emit_row(build, "bfi_b32", joined, result, all, sc_constant(build, 4, i * bits),
                        sc_constant(build, 4, bits));
            all = joined;
        }
    }
    return sc_emit_row(build, "mov_b32", target, all, 0, 0, 0);
}

const struct sc_selector_entry sc_select_packed[] = {
    {"vadd2", select_video},     {"vadd4", select_video},     {"vsub2", select_video},
    {"vsub4", select_video},     {"vmin2", select_video},     {"vmin4", select_video},
    {"vmax2", select_video},     {"vmax4", select_video},     {"vset2", select_video},
    {"vset4", select_video},     {"vavrg2", select_video},    {"vavrg4", select_video},
    {"vabsdiff2", select_video}, {"vabsdiff4", select_video}, {NULL, NULL},
};
