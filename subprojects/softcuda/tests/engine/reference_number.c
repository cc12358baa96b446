#include "reference_number.h"

#include <math.h>
#include <string.h>

#include "reference.h"

const struct number_format number_formats[NUMBER_FORMATS] = {
    [F16] = {"f16", 16, 11, -23, 16, 0x7fff, 'w', {'x', 'y', 'z'}},
    [BF16] = {"bf16", 16, 8, -132, 128, 0x7fff, 'w', {'x', 'y', 'z'}},
    [F32] = {"f32", 32, 24, -148, 128, 0x7fffffff, 'd', {'a', 'b', 'c'}},
    [F64] = {"f64", 64, 53, -1073, 1024, 0x7fffffffffffffff, 'D', {'A', 'B', 'C'}},
};

static uint64_t sign_bit(const struct number_format *format)
{
    return 1ull << (format->bits - 1);
}

static uint64_t infinity(const struct number_format *format)
{
    return sign_bit(format) - (1ull << (format->precision - 1));
}

bool number_is_nan(const struct number_format *format, uint64_t bits)
{
    return (bits & (sign_bit(format) - 1)) > infinity(format);
}

uint64_t number_flush(const struct number_format *format, uint64_t bits)
{
    return bits & infinity(format) ? bits : bits & sign_bit(format);
}

uint64_t number_saturate(const struct number_format *format, uint64_t bits)
{
    uint64_t one = infinity(format) / 2 & infinity(format);
    if (number_is_nan(format, bits) || bits & sign_bit(format)) return 0;
    return bits > one ? one : bits;
}

void number_read(mpfr_t out, const struct number_format *format, uint64_t bits)
{
    unsigned fraction = format->precision - 1;
    uint64_t rest = bits & (sign_bit(format) - 1), exponent = rest >> fraction;
    uint64_t digits = rest & ((1ull << fraction) - 1);
    int sign = bits & sign_bit(format) ? -1 : 1;
    if (rest == infinity(format)) {
        mpfr_set_inf(out, sign);
    } else if (rest > infinity(format)) {
        mpfr_set_nan(out);
    } else {
        if (exponent) digits |= 1ull << fraction;
        mpfr_set_ui_2exp(out, digits, format->least - 1 + (exponent ? (long)exponent - 1 : 0), MPFR_RNDN);
        mpfr_setsign(out, out, sign < 0, MPFR_RNDN);
    }
}

uint64_t number_write(mpfr_t number, int inexact, const struct number_format *format, mpfr_rnd_t rounding)
{
    mpfr_exp_t least = mpfr_get_emin(), most = mpfr_get_emax();
    if (mpfr_nan_p(number)) return format->nan;
    mpfr_set_emin(format->least);
    mpfr_set_emax(format->most);
    inexact = mpfr_check_range(number, inexact, rounding);
    mpfr_subnormalize(number, inexact, rounding);
    mpfr_set_emin(least);
    mpfr_set_emax(most);
    uint64_t sign = mpfr_signbit(number) ? sign_bit(format) : 0;
    if (mpfr_inf_p(number)) return sign | infinity(format);
    if (mpfr_zero_p(number)) return sign;
    mpfr_t digits;
    mpfr_init2(digits, 64);
    mpfr_abs(digits, number, MPFR_RNDN);
    /* Numbers count up from the least subnormal: so many of its size, or an exponent more and half as many.
     */
    long exponent = mpfr_get_exp(number) - format->least - (long)format->precision + 1;
    if (exponent < 0) exponent = 0;
    mpfr_mul_2si(digits, digits, 1 - format->least - exponent, MPFR_RNDN);
    uint64_t count = mpfr_get_ui(digits, MPFR_RNDN);
    mpfr_clear(digits);
    return sign | (((uint64_t)exponent << (format->precision - 1)) + count);
}

uint64_t number_convert(const struct number_format *to, const struct number_format *from, mpfr_rnd_t rounding,
                        uint64_t bits)
{
    mpfr_t whole, rounded;
    mpfr_init2(whole, from->precision);
    mpfr_init2(rounded, to->precision);
    number_read(whole, from, bits);
    int inexact = mpfr_set(rounded, whole, rounding);
    uint64_t result = number_write(rounded, inexact, to, rounding);
    mpfr_clears(whole, rounded, (mpfr_ptr)NULL);
    return result;
}

uint64_t number_compute(const struct number_format *format, enum number_operation operation,
                        mpfr_rnd_t rounding, uint64_t a, uint64_t b, uint64_t c)
{
    mpfr_t x, y, z, r;
    int inexact = 0;
    mpfr_inits2(format->precision, x, y, z, r, (mpfr_ptr)NULL);
    number_read(x, format, a);
    number_read(y, format, b);
    number_read(z, format, c);
    switch (operation) {
    case NUMBER_ADD:
        inexact = mpfr_add(r, x, y, rounding);
        break;
    case NUMBER_SUB:
        inexact = mpfr_sub(r, x, y, rounding);
        break;
    case NUMBER_MUL:
        inexact = mpfr_mul(r, x, y, rounding);
        break;
    case NUMBER_FMA:
        inexact = mpfr_fma(r, x, y, z, rounding);
        break;
    case NUMBER_DIV:
        inexact = mpfr_div(r, x, y, rounding);
        break;
    case NUMBER_RCP:
        inexact = mpfr_ui_div(r, 1, x, rounding);
        break;
    case NUMBER_SQRT:
        inexact = mpfr_sqrt(r, x, rounding);
        break;
    case NUMBER_OPERATIONS:
        break;
    }
    uint64_t bits = number_write(r, inexact, format, rounding);
    mpfr_clears(x, y, z, r, (mpfr_ptr)NULL);
    return bits;
}

unsigned number_edges(const struct number_format *format, uint64_t *out)
{
    uint64_t ulp = 1, step = 1ull << (format->precision - 1), top = infinity(format), one = top / 2 & top;
    uint64_t list[] = {0,
                       ulp,
                       2 * ulp,
                       step / 2,
                       step - 1, /* the largest subnormal */
                       step,
                       step + 1,
                       2 * step + 1,
                       one - step, /* one half */
                       one - 1,
                       one,
                       one + 1,
                       one + step / 2,
                       one + step / 2 + 1,
                       one + step - 1,
                       one + step,
                       one + step + step / 2, /* 3 */
                       one + 2 * step,
                       one +
                           (format->precision - 1) * step, /* from here on one unit in the last place is 1 */
                       one + (format->precision - 1) * step + 1,
                       one + (format->precision - 2) * step + 1, /* something and a half */
                       one + (format->precision - 2) * step + 3,
                       one + (format->precision - 2) * step + step - 1,
                       one + format->precision * step,
                       top / 4 & top,
                       top - step,
                       top - 2,
                       top - 1,
                       top,
                       top + step / 2, /* NaNs, quiet and signalling */
                       top + 1};
    unsigned count = 0;
    for (unsigned i = 0; i < sizeof list / sizeof *list; i++) {
        out[count++] = list[i];
        out[count++] = list[i] | sign_bit(format);
    }
    return count;
}

void number_fill(struct reference_cases *cases, const struct number_format *format)
{
    uint64_t edges[NUMBER_EDGES_MAX], state = 0x2545f4914f6cdd1dull;
    uint64_t step = 1ull << (format->precision - 1), all = sign_bit(format) | (sign_bit(format) - 1);
    unsigned count = number_edges(format, edges);
    reference_fill(cases, edges, count, format->bits);
    for (size_t i = (size_t)count * count; i < REFERENCE_CASES; i++) {
        struct ptx_case *in = &cases->in[i];
        uint64_t near = in->a & ~(step - 1), r = next_random(&state);
        if (i % 8 == 3) in->b = (near + (r % 16 << (format->precision - 1)) + (r >> 20) % step) & all;
        if (i % 8 < 2) in->a = r & all, in->b = next_random(&state) & all, in->c = next_random(&state) & all;
        if (i % 8 > 4) {
            in->c = number_compute(format, NUMBER_MUL, MPFR_RNDN, in->a, in->b, 0) ^ sign_bit(format);
            if (i % 8 > 5 && !number_is_nan(format, in->c)) in->c = (in->c + (r & 3)) & all;
        }
    }
}
