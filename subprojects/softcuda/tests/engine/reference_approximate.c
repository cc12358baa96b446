/* The .approx and .full functions against MPFR: within the error bounds of the PTX ISA, over dense samples;
 * exact where it says what comes out (zeros, infinities, NaN, beyond the range). */
#include "reference.h"
#include "reference_number.h"

#include <math.h>
#include <stdio.h>

#define SAMPLES 65536u
#define SAMPLES_LONG 24576u /* of the formats of 32 and 64 bits */

static struct ptx_case cases[SAMPLES];
static uint64_t out[SAMPLES];
static unsigned wrong;

enum bound_kind { ULPS, RELATIVE, ABSOLUTE };
enum { WITH_FLUSH = 1, TWO_OPERANDS = 2 };

struct function {
    const char *name; /* without type */
    unsigned format, flags;
    int (*compute)(mpfr_t, const mpfr_t, const mpfr_t);
    enum bound_kind kind;
    double bound; /* where not `lower` < |b or a| < `upper`, any number will do */
    double lower, upper;
    double range; /* samples are dense in [-range, range] */
};

#define COMPUTE(name, ...)                                                                                   \
    static int name(mpfr_t r, const mpfr_t x, const mpfr_t y)                                                \
    {                                                                                                        \
        (void)y;                                                                                             \
        return __VA_ARGS__;                                                                                  \
    }
COMPUTE(ex2, mpfr_exp2(r, x, MPFR_RNDN))
COMPUTE(lg2, mpfr_log2(r, x, MPFR_RNDN))
COMPUTE(sine, mpfr_sin(r, x, MPFR_RNDN))
COMPUTE(cosine, mpfr_cos(r, x, MPFR_RNDN))
COMPUTE(tangent, mpfr_tanh(r, x, MPFR_RNDN))
COMPUTE(reciprocal, mpfr_ui_div(r, 1, x, MPFR_RNDN))
COMPUTE(root, mpfr_sqrt(r, x, MPFR_RNDN))
COMPUTE(quotient, mpfr_div(r, x, y, MPFR_RNDN))

/* As IEEE 754 has it, of -0 too */
static int reciprocal_root(mpfr_t r, const mpfr_t x, const mpfr_t y)
{
    (void)y;
    int inexact = mpfr_rec_sqrt(r, x, MPFR_RNDN);
    if (mpfr_zero_p(x)) mpfr_set_inf(r, mpfr_signbit(x) ? -1 : 1);
    return inexact;
}

/* 2^126 < |b| < 2^128: the quotient of an infinity is NaN, any other is 0. */
static int rough_quotient(mpfr_t r, const mpfr_t x, const mpfr_t y)
{
    int inexact = mpfr_div(r, x, y, MPFR_RNDN);
    if (!mpfr_number_p(y) || mpfr_cmpabs_ui(y, 1) < 0 || mpfr_get_exp(y) < 127) return inexact;
    if (mpfr_get_exp(y) == 127 && fabs(mpfr_get_d(y, MPFR_RNDN)) == 0x1p126) return inexact;
    if (mpfr_inf_p(x))
        mpfr_set_nan(r);
    else if (mpfr_number_p(x))
        mpfr_set_zero(r, mpfr_signbit(x) != mpfr_signbit(y) ? -1 : 1);
    return inexact;
}

#define ALWAYS 0, INFINITY
static const struct function functions[] = {
    {"ex2.approx", F32, WITH_FLUSH, ex2, ULPS, 2, ALWAYS, 160},
    {"lg2.approx", F32, WITH_FLUSH, lg2, ABSOLUTE, 0x1p-22, 0.5, 2, 2},
    {"lg2.approx", F32, WITH_FLUSH, lg2, RELATIVE, 0x1p-22, 2, INFINITY, 1000},
    {"lg2.approx", F32, WITH_FLUSH, lg2, RELATIVE, 0x1p-22, 0, 0.5, 0.5},
    {"sin.approx", F32, WITH_FLUSH, sine, ABSOLUTE, 0x1.1p-21, 0, 6.2831853, 6.2831853}, /* 2^-20.9 */
    {"sin.approx", F32, WITH_FLUSH, sine, ABSOLUTE, 0x1.3p-15, 0, 314.15926, 314.15926}, /* 2^-14.7 */
    {"cos.approx", F32, WITH_FLUSH, cosine, ABSOLUTE, 0x1.1p-21, 0, 6.2831853, 6.2831853},
    {"cos.approx", F32, WITH_FLUSH, cosine, ABSOLUTE, 0x1.3p-15, 0, 314.15926, 314.15926},
    {"tanh.approx", F32, 0, tangent, RELATIVE, 0x1p-11, ALWAYS, 12},
    {"rcp.approx", F32, WITH_FLUSH, reciprocal, ULPS, 1, ALWAYS, 4},
    {"rsqrt.approx", F32, WITH_FLUSH, reciprocal_root, RELATIVE, 0x1.1p-23, ALWAYS, 4}, /* 2^-22.9 */
    {"sqrt.approx", F32, WITH_FLUSH, root, RELATIVE, 0x1p-23, ALWAYS, 4},
    {"div.full", F32, WITH_FLUSH | TWO_OPERANDS, quotient, ULPS, 2, ALWAYS, 100},
    {"div.approx", F32, WITH_FLUSH | TWO_OPERANDS, rough_quotient, ULPS, 2, 0x1p-126, INFINITY, 100},
    {"rsqrt.approx", F64, 0, reciprocal_root, RELATIVE, 0x1p-51, ALWAYS, 4},
    {"ex2.approx", F16, 0, ex2, RELATIVE, 0x1.12p-10, ALWAYS, 0}, /* 2^-9.9 */
    {"ex2.approx.ftz", BF16, 0, ex2, RELATIVE, 0x1p-7, ALWAYS, 0},
    {"tanh.approx", F16, 0, tangent, ABSOLUTE, 0x1.02p-11, ALWAYS, 0}, /* 2^-10.987 */
    {"tanh.approx", BF16, 0, tangent, ABSOLUTE, 0x1p-8, ALWAYS, 0},
};

static unsigned samples(const struct function *function)
{
    return function->format < F32 ? SAMPLES : SAMPLES_LONG;
}

/* Every 16-bit number; of the others the edges, random bits, and numbers of the range */
static void fill(const struct function *function)
{
    const struct number_format *format = &number_formats[function->format];
    uint64_t edges[NUMBER_EDGES_MAX], state = 0x9e3779b97f4a7c15ull;
    unsigned count = number_edges(format, edges);
    for (unsigned i = 0; i < samples(function); i++) {
        double number = (((double)(next_random(&state) >> 11) * 0x1p-52) - 1) * function->range;
        uint64_t random = next_random(&state), other = next_random(&state), bits = bits_of_double(number);
        if (function->format == F32) bits = bits_of((float)number), random >>= 32, other >>= 32;
        if (function->format < F32)
            bits = i;
        else if (i < count * count)
            bits = edges[i % count];
        else if (i % 4 == 0)
            bits = random;
        cases[i] = (struct ptx_case){bits, i < count * count ? edges[i / count] : other, 0};
    }
}

/* Is the result within the bound? */
static bool near(const struct function *function, const mpfr_t exact, uint64_t bits)
{
    const struct number_format *format = &number_formats[function->format];
    mpfr_t error, scale, got;
    mpfr_inits2(128, error, scale, (mpfr_ptr)NULL);
    mpfr_init2(got, format->precision);
    number_read(got, format, bits);
    long exponent = mpfr_get_exp(exact) - (long)format->precision;
    if (exponent < format->least - 1) exponent = format->least - 1;
    if (mpfr_inf_p(got)) { /* stands for the first number that is too large */
        mpfr_set_ui_2exp(error, 1, format->most, MPFR_RNDN);
        mpfr_setsign(error, error, mpfr_signbit(got), MPFR_RNDN);
        if (mpfr_cmpabs(exact, error) > 0) mpfr_set(error, exact, MPFR_RNDN);
    } else {
        mpfr_set(error, got, MPFR_RNDN);
    }
    mpfr_sub(error, error, exact, MPFR_RNDN);
    mpfr_set_d(scale, function->bound, MPFR_RNDN);
    if (function->kind == ULPS) mpfr_mul_2si(scale, scale, exponent, MPFR_RNDN);
    if (function->kind == RELATIVE) mpfr_mul(scale, scale, exact, MPFR_RNDN);
    bool is_near = mpfr_cmpabs(error, scale) <= 0;
    /* A subnormal result is rounded to what there is. */
    mpfr_set_ui_2exp(scale, 1, format->least - 1, MPFR_RNDN);
    is_near |= mpfr_cmpabs(error, scale) <= 0;
    mpfr_clears(error, scale, got, (mpfr_ptr)NULL);
    return is_near;
}

static bool is_right(const struct function *function, const struct ptx_case *in, bool flush, uint64_t bits)
{
    const struct number_format *format = &number_formats[function->format];
    mpfr_t x, y, exact, rounded;
    bool right;
    mpfr_inits2(format->precision, x, y, rounded, (mpfr_ptr)NULL);
    mpfr_init2(exact, 128);
    number_read(x, format, flush ? number_flush(format, in->a) : in->a);
    number_read(y, format, flush ? number_flush(format, in->b) : in->b);
    function->compute(exact, x, y);
    double size = fabs(mpfr_get_d(function->flags & TWO_OPERANDS ? y : x, MPFR_RNDN));
    int inexact = mpfr_set(rounded, exact, MPFR_RNDN);
    uint64_t expected = number_write(rounded, inexact, format, MPFR_RNDN);
    if (!mpfr_regular_p(exact) && !mpfr_zero_p(exact))
        right = bits == expected;
    else if (mpfr_zero_p(exact) && function->kind != ABSOLUTE)
        right = bits == expected;
    else if (number_is_nan(format, bits))
        right = false;
    else if (size <= function->lower || size >= function->upper)
        right = true;
    else if (mpfr_zero_p(exact))
        right = bits == expected;
    else
        right = near(function, exact, bits) || (flush && number_flush(format, expected) == bits);
    mpfr_clears(x, y, exact, rounded, (mpfr_ptr)NULL);
    return right;
}

static void check(const struct function *function, bool flush)
{
    const struct number_format *format = &number_formats[function->format];
    struct sc_diagnostic diagnostic;
    char text[96], second[8] = "";
    if (function->flags & TWO_OPERANDS) snprintf(second, sizeof second, ", %%%c", format->operands[1]);
    snprintf(text, sizeof text, "%s%s.%s %%%c, %%%c%s;", function->name, flush ? ".ftz" : "", format->name,
             format->result, format->operands[0], second);
    if (!ptx_accepts(text, format->result, &diagnostic)) {
        wrong++;
        print_error("%s: %s\n", text, diagnostic.text);
        return;
    }
    ptx_run(text, format->result, cases, samples(function), out);
    for (unsigned i = 0; i < samples(function); i++) {
        if (is_right(function, &cases[i], flush, out[i])) continue;
        print_error("%s on %#llx %#llx: %#llx is too far off\n", text, (unsigned long long)cases[i].a,
                    (unsigned long long)cases[i].b, (unsigned long long)out[i]);
        wrong++;
        return;
    }
}

static void test_bounds(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        fill(&functions[i]);
        check(&functions[i], false);
        if (functions[i].flags & WITH_FLUSH) check(&functions[i], true);
    }
    if (wrong) fail_msg("%u instructions are wrong", wrong);
}

/* rcp and rsqrt.approx.ftz.f64 look at the upper word only, and give only an upper word. */
static void test_upper_words(void **state)
{
    static const struct function rough[] = {
        {"rcp.approx.ftz", F64, 0, reciprocal, RELATIVE, 0x1p-18, ALWAYS, 4},
        {"rsqrt.approx.ftz", F64, 0, reciprocal_root, RELATIVE, 0x1p-18, ALWAYS, 4},
    };
    (void)state;
    for (unsigned f = 0; f < 2; f++) {
        const struct function *function = &rough[f];
        fill(function);
        for (unsigned i = 0; i < samples(function); i++) cases[i].a &= 0xffffffff00000000;
        char text[64];
        snprintf(text, sizeof text, "%s.f64 %%D, %%A;", function->name);
        ptx_run(text, 'D', cases, samples(function), out);
        for (unsigned i = 0; i < samples(function); i++) {
            double exact = f ? 1 / sqrt(double_of(cases[i].a)) : 1 / double_of(cases[i].a);
            if (out[i] & 0xffffffff && !isnan(exact))
                fail_msg("%s: the lower word of %#llx is not 0", text, (unsigned long long)out[i]);
            if (!isnormal(exact) || !isnormal(double_of(cases[i].a)) ||
                is_right(function, &cases[i], false, out[i]))
                continue;
            fail_msg("%s on %#llx: %#llx is too far off", text, (unsigned long long)cases[i].a,
                     (unsigned long long)out[i]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bounds), cmocka_unit_test(test_upper_words)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
