/* Integers, instruction by instruction, against 128-bit arithmetic in plain C. */
#include "reference.h"

#include <stdio.h>

typedef unsigned __int128 wide;
typedef __int128 signed_wide;

/* What a row computes: of operands that are extended to 128 bits by their sign, or by zeros. The result is
 * cut to the destination's width. */
typedef wide compute_function(wide a, wide b, wide c, unsigned bits, bool is_signed, bool *open);

enum { SIZE_16 = 1, SIZE_32 = 2, SIZE_64 = 4, ANY_SIZE = 7 };
enum { KIND_B = 1, KIND_U = 2, KIND_S = 4, KIND_US = 6 };

/* In `text` $t stands for the type, $d $a $b $c for registers of its width, $w $v for destination and source
 * of twice the width. */
struct row {
    const char *text;
    compute_function *compute;
    unsigned sizes, kinds;
    unsigned result_bits; /* 0: as the operands, 1: twice */
};

struct instance {
    const struct row *row;
    unsigned bits, b_bits, c_bits, result_bits;
    bool is_signed;
};

#define COMPUTE(name, ...)                                                                                   \
    static wide name(wide a, wide b, wide c, unsigned bits, bool is_signed, bool *open)                      \
    {                                                                                                        \
        (void)a, (void)b, (void)c, (void)bits, (void)is_signed, (void)open;                                  \
        __VA_ARGS__                                                                                          \
    }

static bool less(wide a, wide b, bool is_signed)
{
    return is_signed ? (signed_wide)a < (signed_wide)b : a < b;
}

static wide cut(wide a, unsigned bits)
{
    return bits < 128 ? a & (((wide)1 << bits) - 1) : a;
}

static wide saturate(wide a)
{
    signed_wide x = (signed_wide)a;
    return (wide)(x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : x);
}

/* The upper half of a product of 2 x bits bits */
static wide high(wide a, wide b, unsigned bits)
{
    return a * b >> bits;
}

static wide extend(wide a, unsigned bits, bool is_signed)
{
    a = cut(a, bits);
    return is_signed && a >> (bits - 1) & 1 ? a - ((wide)1 << bits) : a;
}

COMPUTE(compute_add, return a + b;)
COMPUTE(compute_sub, return a - b;)
COMPUTE(compute_mul, return a * b;)
COMPUTE(compute_mul_hi, return high(a, b, bits);)
COMPUTE(compute_mad, return a * b + c;)
COMPUTE(compute_mad_hi, return high(a, b, bits) + c;)
COMPUTE(compute_add_sat, return saturate(a + b);)
COMPUTE(compute_sub_sat, return saturate(a - b);)
COMPUTE(compute_mad_hi_sat, return saturate(extend(high(a, b, bits), bits, true) + c);)
COMPUTE(compute_mul24, return extend(a, 24, is_signed) * extend(b, 24, is_signed);)
COMPUTE(compute_mul24_hi, return extend(a, 24, is_signed) * extend(b, 24, is_signed) >> 16;)
COMPUTE(compute_mad24, return extend(a, 24, is_signed) * extend(b, 24, is_signed) + c;)
COMPUTE(compute_mad24_hi, return (extend(a, 24, is_signed) * extend(b, 24, is_signed) >> 16) + c;)
COMPUTE(compute_mad24_hi_sat,
        return saturate(extend(extend(a, 24, true) * extend(b, 24, true) >> 16, 32, true) + c);)
COMPUTE(compute_sad, return c + (less(a, b, is_signed) ? b - a : a - b);)
COMPUTE(
    compute_div,
    if (b == 0) {
        *open = true;
        return 0;
    } return is_signed
        ? (wide)((signed_wide)a / (signed_wide)b)
        : a / b;)
COMPUTE(
    compute_rem,
    if (b == 0) {
        *open = true;
        return 0;
    } return is_signed
        ? (wide)((signed_wide)a % (signed_wide)b)
        : a % b;)
COMPUTE(compute_abs, return (signed_wide)a < 0 ? 0 - a : a;)
COMPUTE(compute_neg, return 0 - a;)
COMPUTE(compute_min, return less(a, b, is_signed) ? a : b;)
COMPUTE(compute_max, return less(a, b, is_signed) ? b : a;)
COMPUTE(compute_and, return a & b;)
COMPUTE(compute_or, return a | b;)
COMPUTE(compute_xor, return a ^ b;)
COMPUTE(compute_not, return ~a;)
COMPUTE(compute_cnot, return cut(a, bits) == 0;)
COMPUTE(compute_brev, wide r = 0; for (unsigned i = 0; i < bits; i++) r |= (a >> i & 1) << (bits - 1 - i);
        return r;)
COMPUTE(compute_popc, wide n = 0; for (unsigned i = 0; i < bits; i++) n += a >> i & 1; return n;)
COMPUTE(compute_clz, wide n = 0; while (n < bits && !(a >> (bits - 1 - n) & 1)) n++; return n;)
COMPUTE(compute_bfind, wide x = is_signed && (signed_wide)a < 0 ? ~a : a; wide n = 0 - (wide)1;
        for (unsigned i = 0; i < bits; i++) if (x >> i & 1) n = i; return n;)
COMPUTE(compute_bfind_shift, wide top = compute_bfind(a, b, c, bits, is_signed, open);
        return top == 0 - (wide)1 ? top : bits - 1 - top;)

/* Shift amounts are 32 bits without sign whatever the type, and clamp. */
COMPUTE(compute_shl, uint32_t n = (uint32_t)b; return n >= bits ? 0 : a << n;)
COMPUTE(compute_shr, uint32_t n = (uint32_t)b; if (n > bits) n = bits;
        return is_signed ? (wide)((signed_wide)a >> n) : a >> n;)
COMPUTE(compute_shf_l_wrap, return (cut(b, 32) << 32 | cut(a, 32)) << (c & 31) >> 32;)
COMPUTE(compute_shf_l_clamp, uint32_t n = (uint32_t)c > 32 ? 32 : (uint32_t)c;
        return (cut(b, 32) << 32 | cut(a, 32)) << n >> 32;)
COMPUTE(compute_shf_r_wrap, return (cut(b, 32) << 32 | cut(a, 32)) >> (c & 31);)
COMPUTE(compute_shf_r_clamp, uint32_t n = (uint32_t)c > 32 ? 32 : (uint32_t)c;
        return (cut(b, 32) << 32 | cut(a, 32)) >> n;)

/* bit by bit, as the ISA defines them */
COMPUTE(compute_bfe, unsigned position = b & 255, length = c & 255, last = position + length - 1; wide r = 0;
        if (last > bits - 1) last = bits - 1; wide sign = is_signed && length ? a >> last & 1 : 0;
        for (unsigned i = 0; i < bits; i++) r |=
        (i < length && position + i < bits ? a >> (position + i) & 1 : sign) << i;
        return r;)

static wide insert(wide field, wide base, unsigned position, unsigned length, unsigned bits)
{
    for (unsigned i = 0; i < length && position + i < bits; i++) {
        base &= ~((wide)1 << (position + i));
        base |= (field >> i & 1) << (position + i);
    }
    return base;
}
COMPUTE(compute_bfi, return insert(a, b, c & 255, c >> 8 & 255, bits);)

static const struct row rows[] = {
    {"add.$t $d, $a, $b;", compute_add, ANY_SIZE, KIND_US, 0},
    {"sub.$t $d, $a, $b;", compute_sub, ANY_SIZE, KIND_US, 0},
    {"mul.lo.$t $d, $a, $b;", compute_mul, ANY_SIZE, KIND_US, 0},
    {"mul.hi.$t $d, $a, $b;", compute_mul_hi, ANY_SIZE, KIND_US, 0},
    {"mul.wide.$t $w, $a, $b;", compute_mul, SIZE_16 | SIZE_32, KIND_US, 1},
    {"mad.lo.$t $d, $a, $b, $c;", compute_mad, ANY_SIZE, KIND_US, 0},
    {"mad.hi.$t $d, $a, $b, $c;", compute_mad_hi, ANY_SIZE, KIND_US, 0},
    {"mad.wide.$t $w, $a, $b, $v;", compute_mad, SIZE_16 | SIZE_32, KIND_US, 1},
    {"add.sat.$t $d, $a, $b;", compute_add_sat, SIZE_32, KIND_S, 0},
    {"sub.sat.$t $d, $a, $b;", compute_sub_sat, SIZE_32, KIND_S, 0},
    {"mad.hi.sat.$t $d, $a, $b, $c;", compute_mad_hi_sat, SIZE_32, KIND_S, 0},
    {"mul24.lo.$t $d, $a, $b;", compute_mul24, SIZE_32, KIND_US, 0},
    {"mul24.hi.$t $d, $a, $b;", compute_mul24_hi, SIZE_32, KIND_US, 0},
    {"mad24.lo.$t $d, $a, $b, $c;", compute_mad24, SIZE_32, KIND_US, 0},
    {"mad24.hi.$t $d, $a, $b, $c;", compute_mad24_hi, SIZE_32, KIND_US, 0},
    {"mad24.hi.sat.$t $d, $a, $b, $c;", compute_mad24_hi_sat, SIZE_32, KIND_S, 0},
    {"sad.$t $d, $a, $b, $c;", compute_sad, ANY_SIZE, KIND_US, 0},
    {"div.$t $d, $a, $b;", compute_div, ANY_SIZE, KIND_US, 0},
    {"rem.$t $d, $a, $b;", compute_rem, ANY_SIZE, KIND_US, 0},
    {"abs.$t $d, $a;", compute_abs, ANY_SIZE, KIND_S, 0},
    {"neg.$t $d, $a;", compute_neg, ANY_SIZE, KIND_S, 0},
    {"min.$t $d, $a, $b;", compute_min, ANY_SIZE, KIND_US, 0},
    {"max.$t $d, $a, $b;", compute_max, ANY_SIZE, KIND_US, 0},
    {"and.$t $d, $a, $b;", compute_and, ANY_SIZE, KIND_B, 0},
    {"or.$t $d, $a, $b;", compute_or, ANY_SIZE, KIND_B, 0},
    {"xor.$t $d, $a, $b;", compute_xor, ANY_SIZE, KIND_B, 0},
    {"not.$t $d, $a;", compute_not, ANY_SIZE, KIND_B, 0},
    {"cnot.$t $d, $a;", compute_cnot, ANY_SIZE, KIND_B, 0},
    {"shl.$t $d, $a, %b;", compute_shl, ANY_SIZE, KIND_B, 0},
    {"shr.$t $d, $a, %b;", compute_shr, ANY_SIZE, KIND_B | KIND_US, 0},
    {"shf.l.wrap.$t $d, $a, $b, $c;", compute_shf_l_wrap, SIZE_32, KIND_B, 0},
    {"shf.l.clamp.$t $d, $a, $b, $c;", compute_shf_l_clamp, SIZE_32, KIND_B, 0},
    {"shf.r.wrap.$t $d, $a, $b, $c;", compute_shf_r_wrap, SIZE_32, KIND_B, 0},
    {"shf.r.clamp.$t $d, $a, $b, $c;", compute_shf_r_clamp, SIZE_32, KIND_B, 0},
    {"bfe.$t $d, $a, %b, %c;", compute_bfe, SIZE_32 | SIZE_64, KIND_US, 0},
    {"shr.u32 %e, %c, 8;\nbfi.$t $d, $a, $b, %c, %e;", compute_bfi, SIZE_32 | SIZE_64, KIND_B, 0},
    {"brev.$t $d, $a;", compute_brev, SIZE_32 | SIZE_64, KIND_B, 0},
    {"popc.$t %d, $a;", compute_popc, SIZE_32 | SIZE_64, KIND_B, 32},
    {"clz.$t %d, $a;", compute_clz, SIZE_32 | SIZE_64, KIND_B, 32},
    {"bfind.$t %d, $a;", compute_bfind, SIZE_32 | SIZE_64, KIND_US, 32},
    {"bfind.shiftamt.$t %d, $a;", compute_bfind_shift, SIZE_32 | SIZE_64, KIND_US, 32},
};

static struct reference_cases cases;

static uint64_t right(const struct ptx_case *in, const void *what, bool *open)
{
    const struct instance *it = what;
    wide r =
        it->row->compute(extend(in->a, it->bits, it->is_signed), extend(in->b, it->b_bits, it->is_signed),
                         extend(in->c, it->c_bits, it->is_signed), it->bits, it->is_signed, open);
    return (uint64_t)cut(r, it->result_bits);
}

/* Writes the row's text for a type; gives the result's register. */
static char write_text(char *out, const struct row *row, char kind, unsigned bits)
{
    static const char registers[3][5] = {"wxyz", "dabc", "DABC"}; /* of 16, 32 and 64 bits */
    unsigned size = bits == 16 ? 0 : bits == 32 ? 1 : 2;
    char result = 'd';
    for (const char *in = row->text; *in; in++) {
        if (*in != '$') {
            *out++ = *in;
            continue;
        }
        char name = *++in;
        if (name == 't') {
            out += sprintf(out, "%c%u", kind, bits);
            continue;
        }
        bool twice = name == 'w' || name == 'v';
        unsigned which = name == 'd' || name == 'w' ? 0 : name == 'v' ? 3 : (unsigned)(name - 'a' + 1);
        *out++ = '%';
        *out++ = registers[size + twice][which];
        if (which == 0) result = out[-1];
    }
    *out = 0;
    return result;
}

static void test_rows(void **state)
{
    (void)state;
    reference_fill_integers(&cases);
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (unsigned size = 0; size < 3; size++)
            for (unsigned kind = 0; kind < 3; kind++) {
                const struct row *row = &rows[r];
                unsigned bits = 16u << size;
                if (!(row->sizes >> size & 1) || !(row->kinds >> kind & 1)) continue;
                struct instance it = {.row = row,
                                      .bits = bits,
                                      .b_bits = strstr(row->text, "%b") ? 32 : bits,
                                      .c_bits = row->result_bits == 1 ? 2 * bits : bits,
                                      .result_bits = row->result_bits > 1 ? row->result_bits : bits,
                                      .is_signed = kind == 2};
                if (row->result_bits == 1) it.result_bits = 2 * bits;
                char text[128];
                char result = write_text(text, row, "bus"[kind], bits);
                if (row->compute == compute_bfi) it.c_bits = 32;
                reference_check(&cases, text, result, right, &it);
            }
    reference_end();
}

/* setp and set: all comparisons of integers, with a predicate combined and both results */
struct comparison {
    unsigned bits, which, form;
    bool is_signed;
};

static const char *const comparisons[] = {"eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"};

static bool compare(const struct ptx_case *in, const struct comparison *it)
{
    wide a = extend(in->a, it->bits, it->is_signed), b = extend(in->b, it->bits, it->is_signed);
    unsigned which = it->which < 6 ? it->which : it->which - 4;
    bool below = less(a, b, it->is_signed), above = less(b, a, it->is_signed);
    bool results[] = {a == b, a != b, below, !above, above, !below};
    return results[which];
}

static uint64_t right_comparison(const struct ptx_case *in, const void *what, bool *open)
{
    const struct comparison *it = what;
    bool r = compare(in, it), s = in->c & 1;
    (void)open;
    switch (it->form) {
    case 1:
        return r && s;
    case 2:
        return !r || s; /* the second result */
    case 3:
        return r ? UINT32_MAX : 0;
    case 4:
        return r != s ? 0x3f800000 : 0;
    default:
        return r;
    }
}

static void test_comparisons(void **state)
{
    static const char *const forms[] = {
        "setp.%1$s.%2$s %%t, %%%3$c, %%%4$c;", "setp.%1$s.and.%2$s %%t, %%%3$c, %%%4$c, %%s;",
        "setp.%1$s.or.%2$s %%p|%%t, %%%3$c, %%%4$c, %%s;", "set.%1$s.u32.%2$s %%d, %%%3$c, %%%4$c;",
        "set.%1$s.xor.f32.%2$s %%d, %%%3$c, %%%4$c, %%s;"};
    static const char *const types[] = {"b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64"};
    (void)state;
    reference_fill_integers(&cases);
    for (unsigned type = 0; type < 9; type++)
        for (unsigned which = 0; which < 10; which++)
            for (unsigned form = 0; form < 5; form++) {
                struct comparison it = {16u << type % 3, which, form, type >= 6};
                if ((type < 3 && which >= 2) || (type >= 6 && which >= 6)) continue;
                char text[96];
                snprintf(text, sizeof text, forms[form], comparisons[which], types[type], "xaA"[type % 3],
                         "ybB"[type % 3]);
                reference_check(&cases, text, form < 3 ? 't' : 'd', right_comparison, &it);
            }
    reference_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows), cmocka_unit_test(test_comparisons)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
