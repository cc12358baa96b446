/* Floating point: exact instructions bit for bit against the C library, approximate ones within the ISA's
 * bounds. */
#include "ptx.h"

#include <fenv.h>
#include <math.h>
#include <stdio.h>

#define COUNT 4096

static const uint32_t edges[] = {
    0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x00800000, 0x80800000,
    0x3f800000, 0xbf800000, 0x3f800001, 0x40000000, 0x7f7fffff, 0xff7fffff, 0x7f800000,
    0xff800000, 0x7fc00000, 0xffc12345, 0x7f800001, 0x34000000, 0x4b000001,
};
#define EDGES (sizeof edges / sizeof *edges)

static struct ptx_case cases[COUNT];
static uint64_t out[COUNT];

/* All pairs of edge values, then random bits, then numbers of similar size */
static void make_cases(void)
{
    uint64_t state = 0x9e3779b97f4a7c15ull;
    for (size_t i = 0; i < COUNT; i++) {
        uint64_t r = next_random(&state), s = next_random(&state);
        if (i < EDGES * EDGES)
            cases[i] = (struct ptx_case){edges[i % EDGES], edges[i / EDGES], edges[(i * 7 + i / 11) % EDGES]};
        else if (i % 2)
            cases[i] = (struct ptx_case){(uint32_t)r, r >> 32, (uint32_t)s};
        else
            cases[i] = (struct ptx_case){0x3f000000 + (r & 0x1ffffff), 0xbf000000 - (r >> 40),
                                         0x3e000000 + (s & 0x3ffffff)};
    }
}

static uint32_t canonical(float x)
{
    return x != x ? 0x7fffffff : bits_of(x);
}
static float flush(float x)
{
    return fpclassify(x) == FP_SUBNORMAL ? copysignf(0, x) : x;
}

static void expect(const char *text, size_t i, uint64_t expected)
{
    if (out[i] != expected)
        fail_msg("%s on %#llx %#llx %#llx: %#llx, expected %#llx", text, (unsigned long long)cases[i].a,
                 (unsigned long long)cases[i].b, (unsigned long long)cases[i].c, (unsigned long long)out[i],
                 (unsigned long long)expected);
}

enum { ADD, SUB, MUL, DIV, FMA, SQRT, RCP, OPERATIONS };
static const char *const names[OPERATIONS] = {"add", "sub", "mul", "div", "fma", "sqrt", "rcp"};

static float compute(int operation, float x, float y, float z)
{
    volatile float a = x, b = y, c = z, r = 0;
    switch (operation) {
    case ADD:
        r = a + b;
        break;
    case SUB:
        r = a - b;
        break;
    case MUL:
        r = a * b;
        break;
    case DIV:
        r = a / b;
        break;
    case FMA:
        r = fmaf(a, b, c);
        break;
    case SQRT:
        r = sqrtf(a);
        break;
    case RCP:
        r = 1 / a;
        break;
    }
    return r;
}

static const char *operands(int operation)
{
    return operation == FMA ? "%d, %a, %b, %c" : operation >= SQRT ? "%d, %a" : "%d, %a, %b";
}

static void test_rounding(void **state)
{
    static const struct {
        const char *name;
        int mode;
    } modes[] = {{"rn", FE_TONEAREST}, {"rz", FE_TOWARDZERO}, {"rm", FE_DOWNWARD}, {"rp", FE_UPWARD}};
    (void)state;
    make_cases();
    for (int operation = 0; operation < OPERATIONS; operation++)
        for (int mode = 0; mode < 4; mode++) {
            char text[80];
            snprintf(text, sizeof text, "%s.%s.f32 %s;", names[operation], modes[mode].name,
                     operands(operation));
            ptx_run(text, 'd', cases, COUNT, out);
            for (size_t i = 0; i < COUNT; i++) {
                fesetround(modes[mode].mode);
                float r =
                    compute(operation, float_of(cases[i].a), float_of(cases[i].b), float_of(cases[i].c));
                fesetround(FE_TONEAREST);
                expect(text, i, canonical(r));
            }
        }
}

static void test_flushing_and_saturation(void **state)
{
    (void)state;
    make_cases();
    for (int operation = 0; operation < OPERATIONS; operation++) {
        char text[80];
        snprintf(text, sizeof text, "%s.rn.ftz.f32 %s;", names[operation], operands(operation));
        ptx_run(text, 'd', cases, COUNT, out);
        for (size_t i = 0; i < COUNT; i++) {
            float r = compute(operation, flush(float_of(cases[i].a)), flush(float_of(cases[i].b)),
                              flush(float_of(cases[i].c)));
            expect(text, i, canonical(flush(r)));
        }
        if (operation == DIV || operation >= SQRT) continue;
        snprintf(text, sizeof text, "%s.rn.sat.f32 %s;", names[operation], operands(operation));
        ptx_run(text, 'd', cases, COUNT, out);
        for (size_t i = 0; i < COUNT; i++) {
            float r = compute(operation, float_of(cases[i].a), float_of(cases[i].b), float_of(cases[i].c));
            expect(text, i, r > 0 ? bits_of(r < 1 ? r : 1) : 0); /* NaN and -0 become +0 */
        }
    }
}

static uint32_t least(uint32_t a, uint32_t b, bool most)
{
    float x = float_of(a), y = float_of(b);
    if (x != x) return canonical(y);
    if (y != y) return a;
    if (x == y) return (a >> 31) == !most ? a : b;
    return (x < y) == !most ? a : b;
}

static void test_extremes(void **state)
{
    (void)state;
    make_cases();
    for (int most = 0; most < 2; most++) {
        const char *text = most ? "max.f32 %d, %a, %b;" : "min.f32 %d, %a, %b;";
        ptx_run(text, 'd', cases, COUNT, out);
        for (size_t i = 0; i < COUNT; i++)
            expect(text, i, least((uint32_t)cases[i].a, (uint32_t)cases[i].b, most));
        text = most ? "max.NaN.f32 %d, %a, %b;" : "min.NaN.f32 %d, %a, %b;";
        ptx_run(text, 'd', cases, COUNT, out);
        for (size_t i = 0; i < COUNT; i++) {
            bool nan = isnan(float_of(cases[i].a)) || isnan(float_of(cases[i].b));
            expect(text, i, nan ? 0x7fffffff : least((uint32_t)cases[i].a, (uint32_t)cases[i].b, most));
        }
    }
}

static void test_comparisons(void **state)
{
    static const char *const comparisons[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                                              "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
    (void)state;
    make_cases();
    for (int k = 0; k < 14; k++) {
        char text[80];
        snprintf(text, sizeof text, "setp.%s.f32 %%t, %%a, %%b;", comparisons[k]);
        ptx_run(text, 't', cases, COUNT, out);
        for (size_t i = 0; i < COUNT; i++) {
            float a = float_of(cases[i].a), b = float_of(cases[i].b);
            bool nan = a != a || b != b;
            bool plain[6] = {a == b, !nan && a != b, a<b, a <= b, a> b, a >= b};
            expect(text, i, k == 12 ? !nan : k == 13 ? nan : k < 6 ? plain[k] : nan || plain[k - 6]);
        }
    }
    assert_int_equal(ptx_one("setp.eq.ftz.f32 %t, %a, %b;", 't', 1, 0x80000002, 0), 1);
}

/* f: the function; bound: of the absolute error where |result| is at most `scale`, relative above */
struct approximate {
    const char *text;
    long double (*function)(long double);
    float low, high;
    long double absolute, relative;
};

static long double reverse_root(long double x)
{
    return 1 / sqrtl(x);
}
static long double reciprocal(long double x)
{
    return 1 / x;
}

static void test_approximations(void **state)
{
    static const struct approximate list[] = {
        {"ex2.approx.f32 %d, %a;", exp2l, -126, 127, 0, 0x1p-22L},
        {"ex2.approx.f32 %d, %a;", exp2l, -149, -126, 0x1p-149L, 0},
        {"ex2.approx.ftz.f32 %d, %a;", exp2l, -1, 1, 0, 0x1p-22L},
        {"lg2.approx.f32 %d, %a;", log2l, 0.5f, 2, 0x1p-22L, 0},
        {"lg2.approx.f32 %d, %a;", log2l, 2, 1e38f, 0, 0x1p-22L},
        {"lg2.approx.f32 %d, %a;", log2l, 1e-44f, 0.5f, 0, 0x1p-22L},
        {"sin.approx.f32 %d, %a;", sinl, -6.28f, 6.28f, 0x1p-20L, 0},
        {"cos.approx.f32 %d, %a;", cosl, -6.28f, 6.28f, 0x1p-20L, 0},
        {"cos.approx.f32 %d, %a;", cosl, -314, 314, 0x1p-20L, 0},
        {"tanh.approx.f32 %d, %a;", tanhl, -12, 12, 0, 0x1p-11L},
        {"rsqrt.approx.f32 %d, %a;", reverse_root, 1e-38f, 1e38f, 0, 0x1.2p-23L},
        {"rcp.approx.ftz.f32 %d, %a;", reciprocal, 1e-37f, 1e37f, 0, 0x1p-23L},
        {"sqrt.approx.f32 %d, %a;", sqrtl, 1e-38f, 1e38f, 0, 0x1p-23L},
    };
    (void)state;
    for (size_t t = 0; t < sizeof list / sizeof *list; t++) {
        uint64_t random = 77 + t;
        for (size_t i = 0; i < COUNT; i++) {
            double part = (double)(next_random(&random) >> 11) * 0x1p-53;
            bool wide = list[t].low > 0 && list[t].high / list[t].low > 100;
            double x = wide ? list[t].low * pow((double)list[t].high / list[t].low, part)
                            : list[t].low + part * ((double)list[t].high - list[t].low);
            cases[i] = (struct ptx_case){bits_of((float)x), 0, 0};
        }
        ptx_run(list[t].text, 'd', cases, COUNT, out);
        for (size_t i = 0; i < COUNT; i++) {
            long double exact = list[t].function((long double)float_of(cases[i].a));
            long double error = fabsl((long double)float_of(out[i]) - exact);
            if (error > list[t].absolute + list[t].relative * fabsl(exact))
                fail_msg("%s on %a: %a, exactly %La", list[t].text, float_of(cases[i].a), float_of(out[i]),
                         exact);
        }
    }
}

static void test_approximations_at_the_edges(void **state)
{
    static const struct {
        const char *text;
        uint32_t a, expected;
    } list[] = {
        {"ex2.approx.f32 %d, %a;", 0x7f800000, 0x7f800000},
        {"ex2.approx.f32 %d, %a;", 0xff800000, 0},
        {"ex2.approx.f32 %d, %a;", 0x80000000, 0x3f800000},
        {"ex2.approx.f32 %d, %a;", 0x7fc00000, 0x7fffffff},
        {"ex2.approx.f32 %d, %a;", 0x43000000, 0x7f800000},
        {"ex2.approx.ftz.f32 %d, %a;", 0xc3010000, 0},
        {"ex2.approx.f32 %d, %a;", 0xc3150000, 0x00000001},
        {"lg2.approx.f32 %d, %a;", 0, 0xff800000},
        {"lg2.approx.f32 %d, %a;", 0x80000000, 0xff800000},
        {"lg2.approx.f32 %d, %a;", 0xbf800000, 0x7fffffff},
        {"lg2.approx.f32 %d, %a;", 0x7f800000, 0x7f800000},
        {"lg2.approx.ftz.f32 %d, %a;", 1, 0xff800000},
        {"lg2.approx.f32 %d, %a;", 0x3f800000, 0},
        {"sin.approx.f32 %d, %a;", 0x7f800000, 0x7fffffff},
        {"sin.approx.f32 %d, %a;", 0x80000000, 0x80000000},
        {"cos.approx.f32 %d, %a;", 0, 0x3f800000},
        {"rsqrt.approx.f32 %d, %a;", 0, 0x7f800000},
        {"rsqrt.approx.f32 %d, %a;", 0x80000000, 0xff800000},
        {"rsqrt.approx.f32 %d, %a;", 0x7f800000, 0},
        {"rsqrt.approx.f32 %d, %a;", 0xbf800000, 0x7fffffff},
        {"rcp.approx.ftz.f32 %d, %a;", 1, 0x7f800000},
        {"rcp.approx.f32 %d, %a;", 0xff800000, 0x80000000},
        {"tanh.approx.f32 %d, %a;", 0x7f800000, 0x3f800000},
        {"tanh.approx.f32 %d, %a;", 0x80000000, 0x80000000},
        {"tanh.approx.f32 %d, %a;", 0xff800000, 0xbf800000},
        {"sqrt.approx.f32 %d, %a;", 0xbf800000, 0x7fffffff},
    };
    (void)state;
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        uint64_t got = ptx_one(list[i].text, 'd', list[i].a, 0, 0);
        if (got != list[i].expected)
            fail_msg("%s on %#x: %#llx, expected %#x", list[i].text, list[i].a, (unsigned long long)got,
                     list[i].expected);
    }
}

static void test_double(void **state)
{
    static const char *const texts[] = {"add.f64 %D, %A, %B;", "mul.f64 %D, %A, %B;",
                                        "div.rn.f64 %D, %A, %B;", "fma.rn.f64 %D, %A, %B, %C;",
                                        "sqrt.rn.f64 %D, %A;"};
    uint64_t random = 1234567;
    (void)state;
    for (size_t i = 0; i < COUNT; i++)
        cases[i] = (struct ptx_case){next_random(&random), next_random(&random), next_random(&random)};
    for (int t = 0; t < 5; t++) {
        ptx_run(texts[t], 'D', cases, COUNT, out);
        for (size_t i = 0; i < COUNT; i++) {
            double a = double_of(cases[i].a), b = double_of(cases[i].b), c = double_of(cases[i].c);
            double r = t == 0 ? a + b : t == 1 ? a * b : t == 2 ? a / b : t == 3 ? fma(a, b, c) : sqrt(a);
            if (r != r)
                assert_true(isnan(double_of(out[i])));
            else
                expect(texts[t], i, bits_of_double(r));
        }
    }
}

static void test_bits_of_numbers(void **state)
{
    (void)state;
    assert_int_equal(ptx_one("neg.f32 %d, %a;", 'd', 0, 0, 0), 0x80000000);
    assert_int_equal(ptx_one("abs.f32 %d, %a;", 'd', 0xff800000, 0, 0), 0x7f800000);
    assert_int_equal(ptx_one("abs.ftz.f32 %d, %a;", 'd', 0x80000001, 0, 0), 0);
    assert_int_equal(ptx_one("copysign.f32 %d, %a, %b;", 'd', 0x80000000, 0x3f800000, 0), 0xbf800000);
    assert_int_equal(ptx_one("copysign.f64 %D, %A, %B;", 'D', 1ull << 63, 0x3ff0000000000000, 0),
                     0xbff0000000000000);
    assert_int_equal(ptx_one("testp.finite.f32 %t, %a;", 't', 0x7f800000, 0, 0), 0);
    assert_int_equal(ptx_one("testp.subnormal.f32 %t, %a;", 't', 1, 0, 0), 1);
    assert_int_equal(ptx_one("testp.notanumber.f64 %t, %A;", 't', 0x7ff8000000000000, 0, 0), 1);
    assert_int_equal(ptx_one("add.f32 %d, %a, 0f3F800000;", 'd', 0x3f800000, 0, 0), 0x40000000);
    assert_int_equal(ptx_one("mul.f64 %D, %A, 0d4000000000000000;", 'D', 0x3ff0000000000000, 0, 0),
                     0x4000000000000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rounding),       cmocka_unit_test(test_flushing_and_saturation),
        cmocka_unit_test(test_extremes),       cmocka_unit_test(test_comparisons),
        cmocka_unit_test(test_approximations), cmocka_unit_test(test_approximations_at_the_edges),
        cmocka_unit_test(test_double),         cmocka_unit_test(test_bits_of_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
