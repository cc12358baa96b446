/* Numbers of 16 bits and fewer: arithmetic, conversions in every direction, pairs. The reference rounds in
 * long double, to the precision and least exponent of the format. */
#include "ptx.h"

#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define COUNT 4096

static struct ptx_case cases[COUNT];
static uint64_t out[COUNT];

struct format {
    const char *name;
    int precision, least, bias, mantissa; /* bits with the hidden one; exponent of the least normal number */
    long double largest;
    unsigned nan;
};
static const struct format f16 = {"f16", 11, -14, 15, 10, 65504.0L, 0x7fff};
static const struct format bf16 = {"bf16", 8, -126, 127, 7, 0x1.fep127L, 0x7fff};
static const struct format e4m3 = {"e4m3", 4, -6, 7, 3, 448.0L, 0x7f};
static const struct format e5m2 = {"e5m2", 3, -14, 15, 2, 57344.0L, 0x7f};

static unsigned sign_bit(const struct format *f)
{
    return f->name[0] == 'e' ? 0x80 : 0x8000;
}

static long double value_of(const struct format *f, unsigned bits)
{
    unsigned rest = bits & (sign_bit(f) - 1), exponent = rest >> f->mantissa;
    unsigned fraction = rest & ((1u << f->mantissa) - 1);
    bool special = f == &e4m3 ? rest == 0x7f : exponent == (sign_bit(f) - 1) >> f->mantissa;
    long double x = special    ? (f != &e4m3 && !fraction ? INFINITY : NAN)
                    : exponent ? ldexpl(1 + ldexpl(fraction, -f->mantissa), (int)exponent - f->bias)
                               : ldexpl(fraction, f->least - f->mantissa);
    return bits & sign_bit(f) ? -x : x;
}

/* What x becomes in the format, in the host's present rounding direction */
static long double rounded(const struct format *f, long double x, bool finite)
{
    if (x != x || x == 0) return x;
    if (!isfinite(x)) return finite ? copysignl(f->largest, x) : x;
    int exponent = ilogbl(x) < f->least ? f->least : ilogbl(x);
    long double r = ldexpl(rintl(ldexpl(x, f->precision - 1 - exponent)), exponent - f->precision + 1);
    if (fabsl(r) <= f->largest) return copysignl(r, x);
    bool inward = fegetround() == FE_TOWARDZERO || (fegetround() == FE_DOWNWARD && x > 0) ||
                  (fegetround() == FE_UPWARD && x < 0);
    return copysignl(finite || inward ? f->largest : (long double)INFINITY, x);
}

static void expect(const struct format *f, const char *text, size_t i, unsigned got, long double wanted)
{
    long double is = value_of(f, got);
    bool same = wanted != wanted ? got == f->nan : is == wanted && signbit(is) == signbit(wanted);
    if (!same)
        fail_msg("%s case %zu (%#llx, %#llx, %#llx): %#x is %Lg, expected %Lg", text, i,
                 (unsigned long long)cases[i].a, (unsigned long long)cases[i].b,
                 (unsigned long long)cases[i].c, got, is, wanted);
}

static void make_halves(void)
{
    static const uint16_t edges[] = {0,      0x8000, 1,      0x8001, 0x3ff,  0x400,  0x3c00, 0xbc00,
                                     0x7bff, 0x7c00, 0xfc00, 0x7e00, 0x7f80, 0xff80, 0x7f7f, 0x80};
    uint64_t random = 7;
    for (size_t i = 0; i < COUNT; i++) {
        uint64_t r = next_random(&random);
        cases[i] = (struct ptx_case){r & 0xffff, r >> 16 & 0xffff, r >> 32 & 0xffff};
        if (i < 256) cases[i].a = edges[i / 16], cases[i].b = edges[i % 16];
    }
}

static long double pick_max(long double a, long double b)
{
    if (a != a) return b;
    if (b != b) return a;
    if (a == b) return signbit(a) ? b : a;
    return a > b ? a : b;
}

static void check_arithmetic(const struct format *f)
{
    static const char *const operations[] = {"add.rn",      "sub.rn", "mul.rn",         "fma.rn",
                                             "fma.rn.relu", "max",    "max.NaN",        "fma.rn.sat",
                                             "neg",         "abs",    "min.xorsign.abs"};
    for (int o = 0; o < 11; o++) {
        char text[80];
        if (f == &bf16 && o == 7) continue;
        bool three = o == 3 || o == 4 || o == 7, one = o == 8 || o == 9;
        snprintf(text, sizeof text, "%s.%s %%w, %%x%s%s;", operations[o], f->name, one ? "" : ", %y",
                 three ? ", %z" : "");
        make_halves();
        ptx_run(text, 'w', cases, COUNT, out);
        for (size_t i = 0; i < COUNT; i++) {
            long double a = value_of(f, (unsigned)cases[i].a), b = value_of(f, (unsigned)cases[i].b);
            long double c = value_of(f, (unsigned)cases[i].c), r = 0;
            if (o == 0) r = a + b;
            if (o == 1) r = a - b;
            if (o == 2) r = a * b;
            /* Exact sums of far-apart numbers need more than long double: these are left out. */
            if (three && a * b != 0 && c != 0 && isfinite(a * b) && isfinite(c) &&
                abs(ilogbl(a * b) - ilogbl(c)) > 40)
                continue;
            if (three) r = a * b + c;
            if (o == 4) r = r != r ? r : r > 0 ? r : 0;
            if (o == 7) r = r > 0 ? (r < 1 ? r : 1) : 0;
            if (o == 5 || o == 6) r = o == 6 && (a != a || b != b) ? NAN : pick_max(a, b);
            if (o == 10) {
                bool negative = !!signbit(a) != !!signbit(b);
                if (a != a || b != b) continue;
                r = copysignl(fminl(fabsl(a), fabsl(b)), negative ? -1.0L : 1.0L);
            }
            if (o == 8 || o == 9) {
                if (a != a) continue;
                r = o == 8 ? -a : fabsl(a);
            }
            expect(f, text, i, (unsigned)out[i], rounded(f, r, false));
        }
    }
}

static void test_arithmetic(void **state)
{
    (void)state;
    check_arithmetic(&f16);
    check_arithmetic(&bf16);
}

static const struct {
    const char *name;
    int mode;
} modes[] = {{"rn", FE_TONEAREST}, {"rz", FE_TOWARDZERO}, {"rm", FE_DOWNWARD}, {"rp", FE_UPWARD}};

/* Near the halves: numbers that lie between two of them, or exactly on one, or in the middle */
static float make_single(uint64_t r)
{
    static const float edges[] = {0,        -0.0f,     INFINITY, -INFINITY, 65519.9f, 65520,
                                  0x1p-25f, 0x1p-149f, 448,      464,       465};
    if (r % 16 == 0) return edges[r / 16 % 11];
    uint32_t bits = (uint32_t)(r >> 8) & 0x80ffffff, tail = (r >> 40) % 4;
    uint32_t exponent = r % 3 == 0 ? (uint32_t)(r >> 48) % 255 : 100 + (uint32_t)(r >> 48) % 50;
    bits = (bits & 0x807fffff) | exponent << 23;
    bits &= tail == 0 ? ~0xfffu : tail == 1 ? ~0xffffu : ~0u;
    return float_of(bits);
}

static void test_from_single(void **state)
{
    const struct format *formats[] = {&f16, &bf16};
    uint64_t random = 3;
    (void)state;
    for (int f = 0; f < 2; f++)
        for (int m = 0; m < 4; m++) {
            char text[80];
            for (size_t i = 0; i < COUNT; i++) cases[i].a = bits_of(make_single(next_random(&random)));
            snprintf(text, sizeof text, "cvt.%s.%s.f32 %%w, %%a;", modes[m].name, formats[f]->name);
            ptx_run(text, 'w', cases, COUNT, out);
            fesetround(modes[m].mode);
            for (size_t i = 0; i < COUNT; i++)
                expect(formats[f], text, i, (unsigned)out[i],
                       rounded(formats[f], float_of(cases[i].a), false));
            fesetround(FE_TONEAREST);
        }
}

static void test_from_others(void **state)
{
    const struct format *formats[] = {&f16, &bf16};
    static const char *const types[] = {"f64", "s32", "u32", "s64", "u64", "s16"};
    uint64_t random = 5;
    (void)state;
    for (int f = 0; f < 2; f++)
        for (int t = 0; t < 6; t++)
            for (int m = 0; m < 4; m++) {
                char text[80];
                for (size_t i = 0; i < COUNT; i++) {
                    uint64_t r = next_random(&random);
                    cases[i].a = t ? r >> (r % 61)
                                   : bits_of_double((double)make_single(r) * (1 + (double)(r % 3) * 0x1p-30));
                    if (t && r % 5 == 0) cases[i].a = (1ull << (r >> 20) % 40) + (1ull << (r >> 30) % 40);
                }
                snprintf(text, sizeof text, "cvt.%s.%s.%s %%w, %%%c;", modes[m].name, formats[f]->name,
                         types[t],
                         t == 5             ? 'x'
                         : t == 1 || t == 2 ? 'a'
                                            : 'A');
                ptx_run(text, 'w', cases, COUNT, out);
                fesetround(modes[m].mode);
                for (size_t i = 0; i < COUNT; i++) {
                    uint64_t a = cases[i].a;
                    long double x = t == 0   ? double_of(a)
                                    : t == 1 ? (int32_t)a
                                    : t == 2 ? (uint32_t)a
                                    : t == 3 ? (long double)(int64_t)a
                                    : t == 4 ? (long double)a
                                             : (int16_t)a;
                    expect(formats[f], text, i, (unsigned)out[i], rounded(formats[f], x, false));
                }
                fesetround(FE_TONEAREST);
            }
}

static void test_pairs_of_bytes(void **state)
{
    const struct format *formats[] = {&e4m3, &e5m2};
    uint64_t random = 11;
    (void)state;
    for (int f = 0; f < 2; f++) {
        char text[120];
        for (size_t i = 0; i < COUNT; i++) {
            float x = make_single(next_random(&random)), y = make_single(next_random(&random));
            cases[i] = (struct ptx_case){bits_of(x), bits_of(y), 0};
        }
        snprintf(text, sizeof text, "cvt.rn.satfinite.%sx2.f32 %%w, %%a, %%b;", formats[f]->name);
        ptx_run(text, 'w', cases, COUNT, out);
        for (size_t i = 0; i < COUNT; i++) {
            expect(formats[f], text, i, out[i] >> 8 & 255, rounded(formats[f], float_of(cases[i].a), true));
            expect(formats[f], text, i, out[i] & 255, rounded(formats[f], float_of(cases[i].b), true));
        }
        for (unsigned i = 0; i < 256; i++) cases[i] = (struct ptx_case){i | (255 - i) << 8, 0, 0};
        snprintf(text, sizeof text, "cvt.rn.f16x2.%sx2 %%d, %%x;", formats[f]->name);
        ptx_run(text, 'd', cases, 256, out);
        for (unsigned i = 0; i < 256; i++) {
            expect(&f16, text, i, out[i] & 0xffff, value_of(formats[f], i));
            expect(&f16, text, i, out[i] >> 16 & 0xffff, value_of(formats[f], 255 - i));
        }
    }
}

static void test_pairs(void **state)
{
    (void)state;
    assert_int_equal(ptx_one("fma.rn.f16x2 %d, %a, %b, %c;", 'd', 0x3c004000, 0x42003c00, 0x3c003c00),
                     0x44004200);
    assert_int_equal(ptx_one("fma.rn.relu.bf16x2 %d, %a, %b, %c;", 'd', 0x3f80bf80, 0x40003f80, 0),
                     0x40000000);
    assert_int_equal(ptx_one("add.sat.f16x2 %d, %a, %b;", 'd', 0x3c00bc00, 0x3c003800, 0), 0x3c000000);
    assert_int_equal(ptx_one("add.s16x2 %d, %a, %b;", 'd', 0x7fff0001, 0x0001ffff, 0), 0x80000000);
    assert_int_equal(ptx_one("max.s16x2 %d, %a, %b;", 'd', 0x7fff8000, 0x0001ffff, 0), 0x7fffffff);
    assert_int_equal(ptx_one("max.u16x2 %d, %a, %b;", 'd', 0x7fff8000, 0x8001ffff, 0), 0x8001ffff);
    assert_int_equal(ptx_one("min.s16x2.relu %d, %a, %b;", 'd', 0x00058000, 0x00030001, 0), 0x00030000);
    assert_int_equal(ptx_one("max.s32.relu %d, %a, %b;", 'd', (uint32_t)-5, (uint32_t)-3, 0), 0);
    assert_int_equal(ptx_one("set.eq.f16x2.f16x2 %d, %a, %b;", 'd', 0x3c007e00, 0x3c007e00, 0), 0x3c000000);
    assert_int_equal(ptx_one("set.neu.u32.f16x2 %d, %a, %b;", 'd', 0x3c007e00, 0x3c007e00, 0), 0x0000ffff);
    assert_int_equal(
        ptx_one("setp.gt.f16x2 %t|%q, %a, %b; xor.pred %t, %t, %q;", 't', 0x40003c00, 0x3c003c00, 0), 1);
    assert_int_equal(ptx_one("fma.rn.f32x2 %D, %A, %B, %C;", 'D', 0x400000003f800000, 0x404000003f800000, 0),
                     0x40c000003f800000);
    assert_int_equal(ptx_one("max.f32 %d, %a, %b, %c;", 'd', bits_of(1), bits_of(-4), bits_of(3)),
                     bits_of(3));
    assert_int_equal(ptx_one("cvt.rn.f16x2.f32 %d, %a, %b;", 'd', bits_of(1), bits_of(2), 0), 0x3c004000);
    assert_int_equal(ptx_one("cvt.rn.relu.bf16x2.f32 %d, %a, %b;", 'd', bits_of(-1), bits_of(2), 0),
                     0x00004000);
    assert_int_equal(ptx_one("cvt.rna.tf32.f32 %d, %a;", 'd', 0x3f801000, 0, 0), 0x3f802000);
    assert_int_equal(ptx_one("cvt.rn.tf32.f32 %d, %a;", 'd', 0x3f801000, 0, 0), 0x3f800000);
    assert_int_equal(ptx_one("cvt.rn.satfinite.f16.f32 %w, %a;", 'w', bits_of(1e9f), 0, 0), 0x7bff);
    assert_int_equal(ptx_one("cvt.rni.f16.f16 %w, %x;", 'w', 0x3e01, 0, 0), 0x4000);
    assert_int_equal(ptx_one("cvt.rpi.s32.f16 %d, %x;", 'd', 0x3c01, 0, 0), 2);
    assert_int_equal(ptx_one("cvt.f64.f16 %D, %x;", 'D', 0x3c01, 0, 0), bits_of_double(1 + 0x1p-10));
    assert_int_equal(ptx_one("cvt.sat.f32.f16 %d, %x;", 'd', 0x4000, 0, 0), bits_of(1));
    assert_int_equal(ptx_one("cvt.sat.u16.s8 %w, %x;", 'w', 0x80, 0, 0), 0);
    assert_int_equal(ptx_one("{.reg.b8 p, q, r, s; mov.b32 {p, q, r, s}, %a; mov.b32 %d, {s, r, q, p};}", 'd',
                             0x12345678, 0, 0),
                     0x78563412);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arithmetic),  cmocka_unit_test(test_from_single),
        cmocka_unit_test(test_from_others), cmocka_unit_test(test_pairs_of_bytes),
        cmocka_unit_test(test_pairs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
