/* Comparisons, least and greatest, signs and classes of numbers in every format, from their bits alone. */
#include "reference.h"
#include "reference_number.h"

#include <stdio.h>

static struct reference_cases cases;

struct row {
    const struct number_format *format;
    unsigned which, form;
    bool flush, nan, greatest, xorsign;
};

static uint64_t flushed(const struct row *row, uint64_t bits)
{
    return row->flush ? number_flush(row->format, bits) : bits;
}

static bool is_negative(const struct number_format *format, uint64_t bits)
{
    return bits >> (format->bits - 1) & 1;
}

/* An integer that is ordered as the numbers are; both zeros are 0. */
static int64_t place(const struct number_format *format, uint64_t bits)
{
    uint64_t sign = 1ull << (format->bits - 1);
    return is_negative(format, bits) ? -(int64_t)(bits & (sign - 1)) : (int64_t)bits;
}

static const char *const comparisons[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                                          "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};

static bool compare(const struct row *row, uint64_t a, uint64_t b)
{
    a = flushed(row, a), b = flushed(row, b);
    bool nan = number_is_nan(row->format, a) || number_is_nan(row->format, b);
    if (row->which >= 12) return nan == (row->which == 13);
    if (nan) return row->which >= 6;
    int64_t x = place(row->format, a), y = place(row->format, b);
    bool results[] = {x == y, x != y, x<y, x <= y, x> y, x >= y};
    return results[row->which % 6];
}

static uint64_t right_comparison(const struct ptx_case *in, const void *what, bool *open)
{
    const struct row *row = what;
    bool r = compare(row, in->a, in->b), s = in->c & 1;
    (void)open;
    switch (row->form) {
    case 1:
        return r != s;
    case 2:
        return !r && s; /* the second result */
    case 3:
        return r ? UINT32_MAX : 0;
    case 4:
        return r ? 0x3f800000 : 0;
    default:
        return r;
    }
}

static void test_comparisons(void **state)
{
    static const char *const forms[] = {
        "setp.%1$s%2$s.%3$s %%t, %%%4$c, %%%5$c;", "setp.%1$s.xor%2$s.%3$s %%t, %%%4$c, %%%5$c, %%s;",
        "setp.%1$s.and%2$s.%3$s %%p|%%t, %%%4$c, %%%5$c, %%s;", "set.%1$s%2$s.u32.%3$s %%d, %%%4$c, %%%5$c;",
        "set.%1$s%2$s.f32.%3$s %%d, %%%4$c, %%%5$c;"};
    (void)state;
    for (unsigned format = 0; format < NUMBER_FORMATS; format++) {
        number_fill(&cases, &number_formats[format]);
        for (unsigned which = 0; which < 14; which++)
            for (unsigned form = 0; form < 10; form++) {
                struct row row = {&number_formats[format], which, form / 2, .flush = form % 2};
                char text[96];
                if (row.flush && (format == BF16 || format == F64)) continue;
                if (form / 2 == 4 && format != F32 && format != F64) continue;
                snprintf(text, sizeof text, forms[form / 2], comparisons[which], row.flush ? ".ftz" : "",
                         row.format->name, row.format->operands[0], row.format->operands[1]);
                reference_check(&cases, text, form < 6 ? 't' : 'd', right_comparison, &row);
            }
    }
    reference_end();
}

/* A number beats a NaN; -0 is less than +0. .NaN: a NaN wins. .xorsign.abs: the sizes are compared, and the
 * sign is that of the product. */
static uint64_t right_extreme(const struct ptx_case *in, const void *what, bool *open)
{
    const struct row *row = what;
    const struct number_format *format = row->format;
    uint64_t a = flushed(row, in->a), b = flushed(row, in->b), sign = 1ull << (format->bits - 1);
    uint64_t signs = row->xorsign ? (a ^ b) & sign : 0;
    bool a_nan = number_is_nan(format, a), b_nan = number_is_nan(format, b);
    (void)open;
    if (row->xorsign) a &= ~sign, b &= ~sign;
    if ((a_nan && b_nan) || (row->nan && (a_nan || b_nan))) return format->nan;
    if (a_nan) return b | signs;
    if (b_nan) return a | signs;
    int64_t x = place(format, a), y = place(format, b);
    bool first = x != y ? x < y : is_negative(format, a);
    return (first != row->greatest ? a : b) | signs;
}

static void test_extremes(void **state)
{
    (void)state;
    for (unsigned format = 0; format < NUMBER_FORMATS; format++) {
        number_fill(&cases, &number_formats[format]);
        for (unsigned form = 0; form < 16; form++) {
            struct row row = {.format = &number_formats[format],
                              .greatest = form & 1,
                              .flush = form & 2,
                              .nan = form & 4,
                              .xorsign = form & 8};
            char text[96];
            if (format == F64 && form > 1) continue;
            if (format == BF16 && row.flush) continue;
            snprintf(text, sizeof text, "%s%s%s%s.%s %%%c, %%%c, %%%c;", row.greatest ? "max" : "min",
                     row.flush ? ".ftz" : "", row.nan ? ".NaN" : "", row.xorsign ? ".xorsign.abs" : "",
                     row.format->name, row.format->result, row.format->operands[0], row.format->operands[1]);
            reference_check(&cases, text, row.format->result, right_extreme, &row);
        }
    }
    reference_end();
}

enum { ABS, NEG, COPYSIGN, SIGNS };

/* A NaN stays one, with whatever payload. */
static uint64_t right_sign(const struct ptx_case *in, const void *what, bool *open)
{
    const struct row *row = what;
    uint64_t a = flushed(row, in->a), sign = 1ull << (row->format->bits - 1);
    *open = row->which != COPYSIGN && number_is_nan(row->format, a);
    return row->which == ABS ? a & ~sign : row->which == NEG ? a ^ sign : (in->b & ~sign) | (a & sign);
}

static void test_signs(void **state)
{
    static const char *const names[SIGNS] = {"abs", "neg", "copysign"};
    (void)state;
    for (unsigned format = 0; format < NUMBER_FORMATS; format++) {
        number_fill(&cases, &number_formats[format]);
        for (unsigned form = 0; form < 2 * SIGNS; form++) {
            struct row row = {.format = &number_formats[format], .which = form / 2, .flush = form & 1};
            char text[96];
            if (row.flush && (format == F64 || format == BF16 || row.which == COPYSIGN)) continue;
            if (row.which == COPYSIGN && format < F32) continue;
            snprintf(text, sizeof text, "%s%s.%s %%%c, %%%c%s%c;", names[row.which], row.flush ? ".ftz" : "",
                     row.format->name, row.format->result, row.format->operands[0],
                     row.which == COPYSIGN ? ", %" : ";",
                     row.which == COPYSIGN ? row.format->operands[1] : ' ');
            reference_check(&cases, text, row.format->result, right_sign, &row);
        }
    }
    reference_end();
}

static const char *const classes[] = {"finite", "infinite", "number", "notanumber", "normal", "subnormal"};

static uint64_t right_class(const struct ptx_case *in, const void *what, bool *open)
{
    const struct row *row = what;
    const struct number_format *format = row->format;
    uint64_t size = in->a & ((1ull << (format->bits - 1)) - 1), step = 1ull << (format->precision - 1);
    uint64_t infinity = (1ull << (format->bits - 1)) - step;
    (void)open;
    /* The ISA counts the zeros as subnormal: what is finite is one or the other. */
    bool results[] = {size<infinity, size == infinity, size <= infinity, size> infinity,
                      size >= step && size < infinity, size < step};
    return results[row->which];
}

static void test_classes(void **state)
{
    (void)state;
    for (unsigned format = F32; format <= F64; format++) {
        number_fill(&cases, &number_formats[format]);
        for (unsigned which = 0; which < 6; which++) {
            struct row row = {.format = &number_formats[format], .which = which};
            char text[96];
            snprintf(text, sizeof text, "testp.%s.%s %%t, %%%c;", classes[which], row.format->name,
                     row.format->operands[0]);
            reference_check(&cases, text, 't', right_class, &row);
        }
    }
    reference_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_comparisons),
        cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_signs),
        cmocka_unit_test(test_classes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
