/* cvt between every pair of types that programs use: rounding, saturation, flushing, and the 16-bit formats.
 */
#include "ptx.h"

#include <fenv.h>
#include <math.h>
#include <stdio.h>

#define COUNT 2048

static struct ptx_case cases[COUNT];
static uint64_t out[COUNT];

static const struct {
    const char *name;
    int mode;
} modes[] = {{"n", FE_TONEAREST}, {"z", FE_TOWARDZERO}, {"m", FE_DOWNWARD}, {"p", FE_UPWARD}};

static void make_floats(void)
{
    static const uint32_t edges[] = {0,          0x80000000, 1,          0x3f000000, 0xbf000000, 0x3fc00000,
                                     0x40200000, 0xbfc00000, 0x4effffff, 0x4f000000, 0xcf000000, 0x4f7fffff,
                                     0x4f800000, 0x5effffff, 0x5f000000, 0x5f800000, 0xdf000000, 0x7f800000,
                                     0xff800000, 0x7fc00000, 0x437f0000, 0x42fe0000};
    uint64_t random = 99;
    for (size_t i = 0; i < COUNT; i++) {
        uint64_t r = next_random(&random);
        uint32_t exponent = 100 + (uint32_t)(r >> 40) % 100;
        uint32_t bits = i < 22 ? edges[i] : ((uint32_t)r & 0x807fffff) | exponent << 23;
        cases[i] = (struct ptx_case){bits, 0, 0};
    }
}

/* NaN gives 0, of 64 bits the top bit alone. */
static uint64_t clamp(long double x, long double low, long double high)
{
    if (x != x) return high >= 0x1p63L - 1 ? 1ull << 63 : 0;
    if (x <= low) return (uint64_t)(int64_t)low;
    if (x >= high) return high > 0x1p63L ? UINT64_MAX : high == 0x1p63L - 1 ? INT64_MAX : (uint64_t)high;
    return x < 0 ? (uint64_t)(int64_t)x : (uint64_t)x;
}

static void test_floats_to_integers(void **state)
{
    static const struct {
        const char *type;
        char result;
        long double low, high;
        uint64_t mask;
    } types[] = {
        {"s32", 'd', -0x1p31L, 0x1p31L - 1, UINT32_MAX},
        {"u32", 'd', 0, 0x1p32L - 1, UINT32_MAX},
        {"s16", 'w', -0x1p15L, 0x1p15L - 1, 0xffff},
        {"u16", 'w', 0, 0xffff, 0xffff},
        {"u8", 'd', 0, 255, UINT32_MAX},
        {"s8", 'd', -128, 127, UINT32_MAX},
        {"s64", 'D', -0x1p63L, 0x1p63L - 1, UINT64_MAX},
        {"u64", 'D', 0, 0x1p64L - 1, UINT64_MAX},
    };
    (void)state;
    make_floats();
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (int m = 0; m < 4; m++) {
            char text[80];
            snprintf(text, sizeof text, "cvt.r%si.%s.f32 %%%c, %%a;", modes[m].name, types[t].type,
                     types[t].result);
            ptx_run(text, types[t].result, cases, COUNT, out);
            for (size_t i = 0; i < COUNT; i++) {
                fesetround(modes[m].mode);
                long double whole = rintl((long double)float_of(cases[i].a));
                fesetround(FE_TONEAREST);
                uint64_t expected = clamp(whole, types[t].low, types[t].high) & types[t].mask;
                if (out[i] != expected)
                    fail_msg("%s on %a: %#llx, expected %#llx", text, float_of(cases[i].a),
                             (unsigned long long)out[i], (unsigned long long)expected);
            }
        }
    assert_int_equal(ptx_one("cvt.rzi.s32.f64 %d, %A;", 'd', bits_of_double(-3.99), 0, 0), 0xfffffffd);
    assert_int_equal(ptx_one("cvt.rni.ftz.s32.f32 %d, %a;", 'd', 1, 0, 0), 0);
    assert_int_equal(ptx_one("cvt.rpi.s32.f32 %d, %a;", 'd', 1, 0, 0), 1);
    assert_int_equal(ptx_one("cvt.rpi.ftz.s32.f32 %d, %a;", 'd', 1, 0, 0), 0);
}

static void test_integers_to_floats(void **state)
{
    uint64_t random = 5;
    (void)state;
    for (size_t i = 0; i < COUNT; i++) cases[i] = (struct ptx_case){next_random(&random) >> (i % 64), 0, 0};
    for (int m = 0; m < 4; m++)
        for (int t = 0; t < 4; t++) {
            static const char *const types[] = {"s32 %d, %a;", "u32 %d, %a;", "s64 %d, %A;", "u64 %d, %A;"};
            char text[80];
            snprintf(text, sizeof text, "cvt.r%s.f32.%s", modes[m].name, types[t]);
            ptx_run(text, 'd', cases, COUNT, out);
            for (size_t i = 0; i < COUNT; i++) {
                uint64_t a = cases[i].a;
                volatile long double exact = t == 0   ? (long double)(int32_t)a
                                             : t == 1 ? (long double)(uint32_t)a
                                             : t == 2 ? (long double)(int64_t)a
                                                      : (long double)a;
                fesetround(modes[m].mode);
                volatile float expected = (float)exact;
                fesetround(FE_TONEAREST);
                if (out[i] != bits_of(expected))
                    fail_msg("%s on %#llx: %#llx, expected %a", text, (unsigned long long)a,
                             (unsigned long long)out[i], expected);
            }
        }
}

static void test_integers_to_integers(void **state)
{
    static const struct {
        const char *text;
        char result;
        uint64_t a, expected;
    } list[] = {
        {"cvt.s64.s32 %D, %a;", 'D', 0x80000000, 0xffffffff80000000},
        {"cvt.u64.u32 %D, %a;", 'D', 0x80000000, 0x80000000},
        {"cvt.s32.s16 %d, %x;", 'd', 0x8000, 0xffff8000},
        {"cvt.u32.u16 %d, %x;", 'd', 0x18000, 0x8000},
        {"cvt.s32.s8 %d, %a;", 'd', 0x1ff, 0xffffffff},
        {"cvt.u32.u8 %d, %a;", 'd', 0x1ff, 0xff},
        {"cvt.s8.s32 %d, %a;", 'd', 0x180, 0xffffff80},
        {"cvt.u16.u32 %w, %a;", 'w', 0x12345, 0x2345},
        {"cvt.sat.u8.s32 %d, %a;", 'd', 0xffffffff, 0},
        {"cvt.sat.u8.s32 %d, %a;", 'd', 256, 255},
        {"cvt.sat.s8.s32 %d, %a;", 'd', 128, 127},
        {"cvt.sat.s32.s64 %d, %A;", 'd', 1ull << 40, 0x7fffffff},
        {"cvt.sat.u32.s32 %d, %a;", 'd', 0x80000000, 0},
        {"cvt.u32.u64 %d, %A;", 'd', 0x123456789, 0x23456789},
        {"cvt.s64.s8 %D, %A;", 'D', 0x80, 0xffffffffffffff80},
        {"cvt.sat.s16.u32 %w, %a;", 'w', 70000, 32767},
    };
    (void)state;
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        uint64_t got = ptx_one(list[i].text, list[i].result, list[i].a, 0, 0);
        if (got != list[i].expected)
            fail_msg("%s on %#llx: %#llx", list[i].text, (unsigned long long)list[i].a,
                     (unsigned long long)got);
    }
}

static void test_float_to_float(void **state)
{
    (void)state;
    make_floats();
    for (int m = 0; m < 4; m++) {
        char text[80];
        snprintf(text, sizeof text, "cvt.r%si.f32.f32 %%d, %%a;", modes[m].name);
        ptx_run(text, 'd', cases, COUNT, out);
        for (size_t i = 0; i < COUNT; i++) {
            fesetround(modes[m].mode);
            float expected = rintf(float_of(cases[i].a));
            fesetround(FE_TONEAREST);
            assert_int_equal(out[i], expected != expected ? 0x7fffffff : bits_of(expected));
        }
        snprintf(text, sizeof text,
                 "cvt.f64.f32 %%D, %%a; mul.f64 %%D, %%D, 0d3ff0000010000001; cvt.r%s.f32.f64 %%d, %%D;",
                 modes[m].name);
        ptx_run(text, 'd', cases, COUNT, out);
        for (size_t i = 0; i < COUNT; i++) {
            volatile double wide = (double)float_of(cases[i].a) * double_of(0x3ff0000010000001);
            fesetround(modes[m].mode);
            volatile float expected = (float)wide;
            fesetround(FE_TONEAREST);
            assert_int_equal(out[i], expected != expected ? 0x7fffffff : bits_of(expected));
        }
    }
    assert_int_equal(ptx_one("cvt.sat.f32.f32 %d, %a;", 'd', 0x7fc00000, 0, 0), 0);
    assert_int_equal(ptx_one("cvt.sat.f32.f32 %d, %a;", 'd', 0x40000000, 0, 0), 0x3f800000);
    assert_int_equal(ptx_one("cvt.rn.ftz.f32.f64 %d, %A;", 'd', bits_of_double(0x1p-140), 0, 0), 0);
}

/* Every half: to single precision and back; and every tie between two halves goes to the even one */
static void test_halves(void **state)
{
    static struct ptx_case all[65536];
    static uint64_t single[65536], back[65536];
    (void)state;
    for (size_t i = 0; i < 65536; i++) all[i] = (struct ptx_case){i, 0, 0};
    ptx_run("cvt.f32.f16 %d, %x;", 'd', all, 65536, single);
    for (size_t i = 0; i < 65536; i++) {
        int exponent = (int)(i >> 10 & 31), fraction = (int)(i & 1023);
        double expected = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
        if (exponent == 31) expected = fraction ? (double)NAN : (double)INFINITY;
        if (i & 0x8000) expected = -expected;
        if (expected != expected)
            assert_int_equal(single[i], 0x7fffffff);
        else
            assert_int_equal(single[i], bits_of((float)expected));
        all[i].a = single[i];
    }
    ptx_run("cvt.rn.f16.f32 %w, %a;", 'w', all, 65536, back);
    for (size_t i = 0; i < 65536; i++) assert_int_equal(back[i], (i & 0x7fff) > 0x7c00 ? 0x7fff : i);
    for (size_t i = 0; i < 0x7bff; i++)
        all[i].a =
            bits_of((float_of(single[i]) + float_of(single[i + 1])) / 2); /* exact in single precision */
    ptx_run("cvt.rn.f16.f32 %w, %a;", 'w', all, 0x7bff, back);
    for (size_t i = 0; i < 0x7bff; i++) assert_int_equal(back[i], i + (i & 1));
    ptx_run("cvt.rz.f16.f32 %w, %a;", 'w', all, 0x7bff, back);
    for (size_t i = 0; i < 0x7bff; i++) assert_int_equal(back[i], i);
    assert_int_equal(ptx_one("cvt.rn.f16.f32 %w, %a;", 'w', bits_of(65520), 0, 0), 0x7c00);
    assert_int_equal(ptx_one("cvt.rn.bf16.f32 %w, %a;", 'w', 0x3f808000, 0, 0), 0x3f80);
    assert_int_equal(ptx_one("cvt.rn.bf16.f32 %w, %a;", 'w', 0x3f818000, 0, 0), 0x3f82);
    assert_int_equal(ptx_one("cvt.rn.bf16.f32 %w, %a;", 'w', 0x7f800001, 0, 0), 0x7fff);
    assert_int_equal(ptx_one("cvt.rn.bf16x2.f32 %d, %a, %b;", 'd', bits_of(1), bits_of(2), 0), 0x3f804000);
    assert_int_equal(ptx_one("cvt.rn.f16x2.f32 %d, %a, %b;", 'd', bits_of(1), bits_of(2), 0), 0x3c004000);
}

static void test_half_arithmetic(void **state)
{
    (void)state;
    assert_int_equal(ptx_one("add.f16 %w, %x, %y;", 'w', 0x3c00, 0x3c00, 0), 0x4000);
    assert_int_equal(ptx_one("mul.bf16 %w, %x, %y;", 'w', 0x4000, 0x4040, 0), 0x40c0);
    assert_int_equal(ptx_one("fma.rn.f16 %w, %x, %y, %z;", 'w', 0x4000, 0x4200, 0x3c00), 0x4700);
    assert_int_equal(ptx_one("fma.rn.f16x2 %d, %a, %b, %c;", 'd', 0x40003c00, 0x42004000, 0x3c000000),
                     0x47004000);
    /* 1 + 2^-11 + 2^-24 is just above a tie: rounding in two steps would give 1. */
    assert_int_equal(ptx_one("fma.rn.f16 %w, %x, %y, %z;", 'w', 0x0001, 0x3c00, 0x3c00), 0x3c00);
    assert_int_equal(ptx_one("fma.rn.f16 %w, %x, %y, %z;", 'w', 0x1001, 0x3c01, 0x3c00), 0x3c01);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_floats_to_integers),
        cmocka_unit_test(test_integers_to_floats),
        cmocka_unit_test(test_integers_to_integers),
        cmocka_unit_test(test_float_to_float),
        cmocka_unit_test(test_halves),
        cmocka_unit_test(test_half_arithmetic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
