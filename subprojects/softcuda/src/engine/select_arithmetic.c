/* Arithmetic, logic, shifts, bit fields and comparisons: PTX instructions that map directly to rows of
 * ops.def. */
#include "build.h"

#include <stdio.h>
#include <string.h>

#define SC_MXCSR_RM 0x20 /* rounding control (bits 13 and 14 of MXCSR) shifted right by 8 */
#define SC_MXCSR_RP 0x40
#define SC_MXCSR_RZ 0x60

static bool emit(struct sc_build *build, const char *stem, const char *type, bool flush, bool saturate)
{
    char name[64];
    snprintf(name, sizeof name, "%s_%s%s", stem, type, flush ? "z" : "");
    return sc_emit_operands(build, name, saturate);
}

static bool is_float(const char *type)
{
    return strchr(type, 'f') != NULL;
}

static uint8_t rounding_of(struct sc_build *build)
{
    if (sc_has(build, "rn")) return 0;
    return sc_has(build, "rz")   ? SC_MXCSR_RZ
           : sc_has(build, "rm") ? SC_MXCSR_RM
           : sc_has(build, "rp") ? SC_MXCSR_RP
                                 : 0;
}

static bool select_float(struct sc_build *build, const char *stem, const char *type)
{
    uint8_t rounding = rounding_of(build);
    bool flush = sc_has(build, "ftz"), saturate = sc_has(build, "sat"), relu = sc_has(build, "relu");
    bool approximate = sc_has(build, "approx"), full = sc_has(build, "full"),
         cross = sc_has(build, "xorsign");
    bool packed = strchr(type, 'x') != NULL, half = !packed && sc_type_bits(type) == 16;
    bool three = build->now->count == 4 && stem[0] == 'm' && type[1] != '6'; /* min, max */
    char name[32];
    snprintf(name, sizeof name, "%s%s", stem, sc_has(build, "NaN") ? "nan" : "");
    if (packed || cross || three || (half && (relu || saturate)))
        return sc_emit_parts(build, &(struct sc_parts){.stem = name,
                                                       .type = type,
                                                       .flush = flush,
                                                       .saturate = saturate,
                                                       .relu = relu,
                                                       .cross_sign = cross && sc_has(build, "abs"),
                                                       .rounding = rounding});
    if (relu) return sc_fail(build, build->now->line, "modifier not built");
    if (strcmp(type, "f64") == 0 && flush && (approximate || full)) {
        snprintf(name, sizeof name, "%sftz", stem);
        flush = false;
    }
    if (approximate && strcmp(name, "div") == 0 && strcmp(type, "f32") == 0)
        snprintf(name, sizeof name, "divrough");
    uint32_t before = build->ir.code.count;
    flush = flush && type[0] == 'f' && type[1] != '6';
    if (!emit(build, name, type, flush, saturate)) return false;
    if (rounding)
        for (uint32_t i = before; i < build->ir.code.count; i++) build->ir.code.at[i].rounding = rounding;
    return true;
}

static bool select_carry(struct sc_build *build, const char *opcode, const char *type);

static bool opcode_of(struct sc_build *build, char out[16])
{
    const struct sc_part *part = &build->now->part[0];
    if (part->bytes > 15) return false;
    memcpy(out, part->text, part->bytes);
    out[part->bytes] = 0;
    return true;
}

static bool select_usual(struct sc_build *build)
{
    char opcode[16], stem[32];
    if (!opcode_of(build, opcode)) return false;
    const char *type = sc_type(build, 0);
    if (is_float(type)) return select_float(build, strcmp(opcode, "mad") == 0 ? "fma" : opcode, type);
    bool relu = sc_has(build, "relu");
    if (strchr(type, 'x') || relu)
        return sc_emit_parts(build, &(struct sc_parts){.stem = opcode, .type = type, .relu = relu});
    if (strcmp(opcode, "div") == 0 || strcmp(opcode, "rem") == 0 || strcmp(opcode, "min") == 0 ||
        strcmp(opcode, "max") == 0 || strcmp(opcode, "sad") == 0 || strcmp(opcode, "abs") == 0)
        return emit(build, opcode, type, false, false);
    if (sc_has(build, "cc")) return select_carry(build, opcode, type);
    bool saturate = sc_has(build, "sat");
    if (sc_has(build, "wide")) {
        snprintf(stem, sizeof stem, "%swide", opcode);
        return emit(build, stem, type, false, false);
    }
    if (sc_has(build, "hi")) {
        if (strcmp(opcode, "mul") == 0) return emit(build, "mulhi", type, false, false);
        if (saturate) return emit(build, "madhisat", type, false, false);
        struct sc_instruction *now = build->now;
        unsigned bytes = sc_type_bits(type) == 64 ? 8 : 4;
        if (now->count != 4) return sc_fail(build, now->line, "mad takes 4 operands");
        uint32_t high = sc_new_value(build, bytes), target = sc_target(build, &now->operand[0], bytes);
        snprintf(stem, sizeof stem, "mulhi_%s", type);
        sc_emit_row(build, stem, high, sc_source(build, &now->operand[1], bytes, 'b'),
                    sc_source(build, &now->operand[2], bytes, 'b'), 0, 0);
        snprintf(stem, sizeof stem, "add_%s", sc_untyped(type));
        return sc_emit_row(build, stem, target, high, sc_source(build, &now->operand[3], bytes, 'b'), 0, 0);
    }
    sc_has(build, "lo");
    if (saturate) {
        snprintf(stem, sizeof stem, "%ssat", opcode);
        return emit(build, stem, type, false, false);
    }
    return emit(build, opcode, sc_untyped(type), false, false);
}

/* mul24, mad24 */
static bool select_24(struct sc_build *build)
{
    struct sc_instruction *now = build->now;
    const char *type = sc_type(build, 0);
    char name[32];
    snprintf(name, sizeof name, "mul24%s_%s", sc_has(build, "hi") ? "hi" : "", type);
    sc_has(build, "lo");
    if (now->part[0].text[1] == 'u') return sc_emit_operands(build, name, false);
    if (now->count != 4) return sc_fail(build, now->line, "mad24 takes 4 operands");
    uint32_t product = sc_new_value(build, 4), target = sc_target(build, &now->operand[0], 4);
    sc_emit_row(build, name, product, sc_source(build, &now->operand[1], 4, 'b'),
                sc_source(build, &now->operand[2], 4, 'b'), 0, 0);
    return sc_emit_row(build, sc_has(build, "sat") ? "addsat_s32" : "add_b32", target, product,
                       sc_source(build, &now->operand[3], 4, 'b'), 0, 0);
}

/* add.cc, addc, sub.cc, subc, mad.cc, madc: CC.CF is a value of 0 or 1, used by later instructions of the
 * same straight-line code */
static bool select_carry(struct sc_build *build, const char *opcode, const char *type)
{
    struct sc_instruction *now = build->now;
    bool out = sc_has(build, "cc"), wide = sc_type_bits(type) == 64, subtract = opcode[0] == 's';
    bool in = strcmp(opcode, "addc") == 0 || strcmp(opcode, "subc") == 0 || strcmp(opcode, "madc") == 0;
    bool multiply = opcode[0] == 'm';
    unsigned bytes = wide ? 8 : 4;
    const char *bits = wide ? "b64" : "b32";
    char name[32];
    if (now->count != (multiply ? 4u : 3u)) return sc_fail(build, now->line, "wrong number of operands");
    if (now->guard) return sc_fail(build, now->line, "a carry chain under a predicate is not built");
    if (in && !build->carry) return sc_fail(build, now->line, "no carry is set here");
    uint32_t target = sc_target(build, &now->operand[0], bytes);
    uint32_t a = sc_source(build, &now->operand[1], bytes, 'b'),
             b = sc_source(build, &now->operand[2], bytes, 'b');
    if (multiply) {
        uint32_t product = sc_new_value(build, bytes);
        if (sc_has(build, "hi"))
            snprintf(name, sizeof name, "mulhi_%s", type);
        else
            snprintf(name, sizeof name, "mul_%s", bits), sc_has(build, "lo");
        sc_emit_row(build, name, product, a, b, 0, 0);
        a = product;
        b = sc_source(build, &now->operand[3], bytes, 'b');
    }
    uint32_t carry = build->carry, next = out ? sc_new_value(build, 4) : 0, sum = sc_new_value(build, bytes);
    if (out) { /* before the target is written, which may also be a source */
        snprintf(name, sizeof name, "%s%s_%s", subtract ? "borrow" : "carry", in ? "c" : "", bits);
        sc_emit_row(build, name, next, a, b, in ? carry : 0, 0);
    }
    snprintf(name, sizeof name, "%s%s_%s", subtract ? "sub" : "add", in ? "c" : "", bits);
    sc_emit_row(build, name, sum, a, b, in ? carry : 0, 0);
    if (out) build->carry = next;
    snprintf(name, sizeof name, "mov_%s", bits);
    return sc_emit_row(build, name, target, sum, 0, 0, 0);
}

static bool select_carry_in(struct sc_build *build)
{
    char opcode[16];
    return opcode_of(build, opcode) && select_carry(build, opcode, sc_type(build, 0));
}

static bool select_bits(struct sc_build *build)
{
    char opcode[16];
    if (!opcode_of(build, opcode)) return false;
    const char *type = sc_type(build, 0);
    if (strcmp(type, "pred") == 0 && strcmp(opcode, "not") == 0)
        return sc_emit_operands(build, "not_pred", false);
    const char *bits = sc_type_bits(type) == 64 ? "b64" : "b32";
    if (strcmp(opcode, "cnot") == 0) bits = sc_untyped(type);
    return emit(build, opcode, bits, false, false);
}

static bool select_shift(struct sc_build *build)
{
    char opcode[16];
    if (!opcode_of(build, opcode)) return false;
    const char *type = sc_type(build, 0);
    char unsigned_type[8];
    if (strcmp(opcode, "shl") == 0) return emit(build, opcode, sc_untyped(type), false, false);
    snprintf(unsigned_type, sizeof unsigned_type, "%c%u", type[0] == 's' ? 's' : 'u', sc_type_bits(type));
    return emit(build, opcode, unsigned_type, false, false);
}

static bool select_funnel(struct sc_build *build)
{
    bool left = sc_has(build, "l"), clamp = sc_has(build, "clamp");
    sc_has(build, "r");
    sc_has(build, "wrap");
    sc_type(build, 0);
    return sc_emit_operands(
        build, left ? (clamp ? "shflclamp" : "shflwrap") : (clamp ? "shfrclamp" : "shfrwrap"), false);
}

/* bfe, bfi, brev, popc, clz, bfind */
static bool select_field(struct sc_build *build)
{
    char opcode[16], name[32];
    if (!opcode_of(build, opcode)) return false;
    const char *type = sc_type(build, 0);
    if (!sc_has(build, "shiftamt")) return emit(build, opcode, type, false, false);
    struct sc_instruction *now = build->now;
    unsigned bytes = sc_type_bits(type) == 64 ? 8 : 4;
    if (now->count != 2) return sc_fail(build, now->line, "bfind takes 2 operands");
    uint32_t top = sc_new_value(build, 4), missing = sc_new_value(build, 4), amount = sc_new_value(build, 4);
    uint32_t target = sc_target(build, &now->operand[0], 4);
    snprintf(name, sizeof name, "bfind_%s", type);
    sc_emit_row(build, name, top, sc_source(build, &now->operand[1], bytes, 'b'), 0, 0, 0);
    sc_emit_row(build, "setp_eq_u32", missing, top, sc_constant(build, 4, UINT32_MAX), 0, 0);
    sc_emit_row(build, "sub_b32", amount, sc_constant(build, 4, bytes * 8 - 1), top, 0, 0);
    return sc_emit_row(build, "or_b32", target, amount, missing, 0, 0);
}

static bool select_permute(struct sc_build *build)
{
    static const char *const modes[] = {"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"};
    char name[32];
    sc_has(build, "b32"); /* the mode follows the type */
    for (unsigned i = 0; i < 6; i++)
        if (sc_has(build, modes[i])) {
            snprintf(name, sizeof name, "prmt_%s", modes[i]);
            return sc_emit_operands(build, name, false);
        }
    return sc_emit_operands(build, "prmt_b32", false);
}

static bool select_lop3(struct sc_build *build)
{
    sc_type(build, 0);
    return sc_emit_operands(build, "lop3_b32", false);
}

static bool select_dot(struct sc_build *build)
{
    struct sc_instruction *now = build->now;
    const char *second = sc_type(build, 0), *first = sc_type(build, 1);
    char name[32];
    snprintf(name, sizeof name, "%.4s_%s_%s", now->part[0].text, first, second);
    if (now->part[0].text[2] == '4') return sc_emit_operands(build, name, false);
    if (now->count != 4) return sc_fail(build, now->line, "dp2a takes 4 operands");
    uint32_t shift = sc_constant(build, 4, sc_has(build, "hi") ? 16 : 0);
    sc_has(build, "lo");
    return sc_emit_row(build, name, sc_target(build, &now->operand[0], 4),
                       sc_source(build, &now->operand[1], 4, 'b'), sc_source(build, &now->operand[2], 4, 'b'),
                       sc_source(build, &now->operand[3], 4, 'b'), shift);
}

/* Compares two values; the result is a predicate */
static uint32_t compare_values(struct sc_build *build, uint32_t a, uint32_t b, const char *type)
{
    struct sc_instruction *now = build->now;
    static const char *const names[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge", "equ", "neu", "ltu",
                                        "leu", "gtu", "geu", "num", "nan", "lo", "ls",  "hi",  "hs"};
    static const char *const same_as[] = {"lt", "le", "gt", "ge"}; /* synonyms of lo, ls, hi, hs */
    char name[40], kind[8];
    unsigned which = 0;
    while (which < 18 && !sc_has(build, names[which])) which++;
    if (which == 18) return sc_fail(build, now->line, "unknown comparison");
    bool flush = sc_has(build, "ftz");
    if (is_float(type))
        snprintf(kind, sizeof kind, "%s%s", type, flush && type[0] == 'f' && type[1] != '6' ? "z" : "");
    else
        snprintf(kind, sizeof kind, "%c%u", type[0] == 's' ? 's' : 'u', sc_type_bits(type));
    snprintf(name, sizeof name, "setp_%s_%s", which >= 14 ? same_as[which - 14] : names[which], kind);
    uint32_t result = sc_new_value(build, 4);
    return sc_emit_row(build, name, result, a, b, 0, 0) ? result : 0;
}

/* Compares operands `first` and `first + 1` */
static uint32_t compare(struct sc_build *build, unsigned first, const char *type)
{
    struct sc_instruction *now = build->now;
    unsigned bytes = sc_type_bits(type) == 64 ? 8 : 4;
    char literal = bytes == 8 || type[1] == '3' ? (is_float(type) ? 'f' : 'b') : 'b';
    uint32_t a = sc_source(build, &now->operand[first], bytes, literal);
    uint32_t b = sc_source(build, &now->operand[first + 1], bytes, literal);
    return a && b ? compare_values(build, a, b, type) : 0;
}

/* Compares half 0 or 1 of operands 1 and 2, which are pairs */
static uint32_t compare_half(struct sc_build *build, unsigned half, const char *type)
{
    struct sc_instruction *now = build->now;
    uint32_t in[2];
    for (unsigned i = 0; i < 2; i++) {
        uint32_t whole = sc_source(build, &now->operand[i + 1], 4, 'b');
        in[i] = sc_new_value(build, 4);
        sc_emit_row(build, "unpack_b16", in[i], whole, sc_constant(build, 4, half * 16), 0, 0);
    }
    return compare_values(build, in[0], in[1], type[0] == 'b' ? "bf16" : "f16");
}

/* .and, .or, .xor with another predicate */
static const char *combination(struct sc_build *build)
{
    return sc_has(build, "and")   ? "and_b32"
           : sc_has(build, "or")  ? "or_b32"
           : sc_has(build, "xor") ? "xor_b32"
                                  : NULL;
}

/* setp.eq.f16x2 p|q, a, b: p for the lower halves, q for the upper */
static bool select_setp_pair(struct sc_build *build, const char *type, const char *combine)
{
    struct sc_instruction *now = build->now;
    uint32_t result[2];
    for (unsigned half = 0; half < 2; half++) {
        result[half] = compare_half(build, half, type);
        if (!result[half]) return false;
        if (!combine) continue;
        uint32_t with = sc_source(build, &now->operand[3], 4, 'b'), both = sc_new_value(build, 4);
        sc_emit_row(build, combine, both, result[half], with, 0, 0);
        result[half] = both;
    }
    struct sc_operand second = {.kind = SC_OPERAND_VALUE, .value = now->operand[0].second};
    if (now->operand[0].second_given && second.value &&
        !sc_emit_row(build, "mov_b32", sc_target(build, &second, 4), result[1], 0, 0, 0))
        return false;
    return sc_emit_row(build, "mov_b32", sc_target(build, &now->operand[0], 4), result[0], 0, 0, 0);
}

static bool select_setp(struct sc_build *build)
{
    struct sc_instruction *now = build->now;
    const char *type = sc_type(build, 0), *combine = combination(build);
    if (now->count != (combine ? 4u : 3u)) return sc_fail(build, now->line, "wrong number of operands");
    if (strchr(type, 'x')) return select_setp_pair(build, type, combine);
    bool plain = !combine && !now->operand[0].second_given;
    uint32_t target = sc_target(build, &now->operand[0], 4);
    if (plain && !now->guard && target < build->first_temporary) {
        /* the comparison itself can write the destination */
        uint32_t before = build->ir.code.count;
        uint32_t value = compare(build, 1, type);
        if (!value || build->ir.code.count == before) return false;
        build->ir.code.at[build->ir.code.count - 1].result[0] = target;
        return true;
    }
    uint32_t value = compare(build, 1, type), other = 0;
    if (!value) return false;
    if (now->operand[0].second_given) {
        other = sc_new_value(build, 4);
        sc_emit_row(build, "not_pred", other, value, 0, 0, 0);
    }
    uint32_t with = combine ? sc_source(build, &now->operand[3], 4, 'b') : 0;
    uint32_t first = value;
    if (combine) {
        first = sc_new_value(build, 4); /* both results are computed before the first is written, which may be
                                           `with` */
        sc_emit_row(build, combine, first, value, with, 0, 0);
        if (other) {
            uint32_t second = sc_new_value(build, 4);
            sc_emit_row(build, combine, second, other, with, 0, 0);
            other = second;
        }
    }
    if (other && build->ir.values.at[now->operand[0].second].kind == SC_VALUE_REGISTER &&
        build->ir.values.at[now->operand[0].second].bytes == 4)
        sc_emit_row(build, "mov_b32", now->operand[0].second, other, 0, 0, 0);
    return sc_emit_row(build, "mov_b32", target, first, 0, 0, 0);
}

/* set.cmp.dtype.stype: the true result is all ones or 1.0 */
static bool select_set(struct sc_build *build)
{
    struct sc_instruction *now = build->now;
    const char *type = sc_type(build, 0), *result = sc_type(build, 1), *combine = combination(build);
    if (now->count != (combine ? 4u : 3u)) return sc_fail(build, now->line, "wrong number of operands");
    bool pair = strchr(type, 'x') != NULL;
    uint32_t target = sc_target(build, &now->operand[0], 4), value[2];
    uint32_t ones = strcmp(result, "f32") == 0           ? 0x3f800000u
                    : strncmp(result, "f16", 3) == 0     ? 0x3c00u
                    : strncmp(result, "bf16", 4) == 0    ? 0x3f80u
                    : pair || sc_type_bits(result) == 16 ? 0xffffu
                                                         : UINT32_MAX;
    for (unsigned i = 0; i < 1u + pair; i++) {
        value[i] = pair ? compare_half(build, i, type) : compare(build, 1, type);
        if (!value[i]) return false;
        uint32_t chosen = sc_new_value(build, 4);
        if (combine) {
            uint32_t both = sc_new_value(build, 4);
            sc_emit_row(build, combine, both, value[i], sc_source(build, &now->operand[3], 4, 'b'), 0, 0);
            value[i] = both;
        }
        sc_emit_row(build, "and_b32", chosen, value[i], sc_constant(build, 4, ones), 0, 0);
        value[i] = chosen;
    }
    return sc_emit_row(build, pair ? "pack_b32" : "mov_b32", target, value[0], pair ? value[1] : 0, 0, 0);
}

static bool select_selp(struct sc_build *build)
{
    const char *type = sc_type(build, 0);
    struct sc_instruction *now = build->now;
    bool wide = sc_type_bits(type) == 64;
    unsigned bytes = wide ? 8 : 4;
    char literal = is_float(type) && sc_type_bits(type) >= 32 ? 'f' : 'b';
    if (now->count != 4) return sc_fail(build, now->line, "selp takes 4 operands");
    return sc_emit_row(build, wide ? "selp_b64" : "selp_b32", sc_target(build, &now->operand[0], bytes),
                       sc_source(build, &now->operand[1], bytes, literal),
                       sc_source(build, &now->operand[2], bytes, literal),
                       sc_source(build, &now->operand[3], 4, 'b'), 0);
}

static bool select_slct(struct sc_build *build)
{
    struct sc_instruction *now = build->now;
    const char *by = sc_type(build, 0), *type = sc_type(build, 1);
    bool wide = sc_type_bits(type) == 64;
    unsigned bytes = wide ? 8 : 4;
    char name[40], literal = is_float(type) ? 'f' : 'b';
    if (now->count != 4) return sc_fail(build, now->line, "slct takes 4 operands");
    snprintf(name, sizeof name, "slct_%s_%s%s", wide ? "b64" : "b32", by,
             sc_has(build, "ftz") && by[0] == 'f' ? "z" : "");
    return sc_emit_row(build, name, sc_target(build, &now->operand[0], bytes),
                       sc_source(build, &now->operand[1], bytes, literal),
                       sc_source(build, &now->operand[2], bytes, literal),
                       sc_source(build, &now->operand[3], 4, by[0] == 'f' ? 'f' : 'b'), 0);
}

static bool select_testp(struct sc_build *build)
{
    static const char *const tests[] = {"finite", "infinite", "number", "notanumber", "normal", "subnormal"};
    const char *type = sc_type(build, 0);
    char name[40];
    for (unsigned i = 0; i < 6; i++)
        if (sc_has(build, tests[i])) {
            snprintf(name, sizeof name, "testp_%s", tests[i]);
            return emit(build, name, type, false, false);
        }
    return sc_fail(build, build->now->line, "unknown test");
}

static bool select_copysign(struct sc_build *build)
{
    return emit(build, "copysign", sc_type(build, 0), false, false);
}

/* bmsk, szext: .wrap or .clamp */
static bool select_extent(struct sc_build *build)
{
    char opcode[16], name[32];
    if (!opcode_of(build, opcode)) return false;
    bool clamp = sc_has(build, "clamp");
    sc_has(build, "wrap");
    snprintf(name, sizeof name, "%s%s_%s", opcode, clamp ? "clamp" : "wrap", sc_type(build, 0));
    return sc_emit_operands(build, name, false);
}

static bool select_fns(struct sc_build *build)
{
    sc_type(build, 0);
    return sc_emit_operands(build, "fns_b32", false);
}

const struct sc_selector_entry sc_select_arithmetic[] = {
    {"add", select_usual},
    {"sub", select_usual},
    {"mul", select_usual},
    {"mad", select_usual},
    {"fma", select_usual},
    {"div", select_usual},
    {"rem", select_usual},
    {"min", select_usual},
    {"max", select_usual},
    {"abs", select_usual},
    {"neg", select_usual},
    {"sad", select_usual},
    {"sqrt", select_usual},
    {"rcp", select_usual},
    {"rsqrt", select_usual},
    {"ex2", select_usual},
    {"lg2", select_usual},
    {"sin", select_usual},
    {"cos", select_usual},
    {"tanh", select_usual},
    {"mul24", select_24},
    {"mad24", select_24},
    {"addc", select_carry_in},
    {"subc", select_carry_in},
    {"madc", select_carry_in},
    {"and", select_bits},
    {"or", select_bits},
    {"xor", select_bits},
    {"not", select_bits},
    {"cnot", select_bits},
    {"shl", select_shift},
    {"shr", select_shift},
    {"shf", select_funnel},
    {"bfe", select_field},
    {"bfi", select_field},
    {"brev", select_field},
    {"popc", select_field},
    {"clz", select_field},
    {"bfind", select_field},
    {"prmt", select_permute},
    {"lop3", select_lop3},
    {"dp4a", select_dot},
    {"dp2a", select_dot},
    {"setp", select_setp},
    {"set", select_set},
    {"selp", select_selp},
    {"slct", select_slct},
    {"testp", select_testp},
    {"copysign", select_copysign},
    {"bmsk", select_extent},
    {"szext", select_extent},
    {"fns", select_fns},
    {NULL, NULL},
};
