/* cvt between all pairs of types, with every rounding, .ftz and .sat, against MPFR and 128-bit integers. */
#include "reference.h"
#include "reference_number.h"

#include <stdio.h>

typedef __int128 wide;

static struct reference_cases cases;

struct integer_type {
    const char *name;
    unsigned bits;
    bool is_signed;
};

static const struct integer_type integers[] = {{"u8", 8, false},   {"s8", 8, true},    {"u16", 16, false},
                                               {"s16", 16, true},  {"u32", 32, false}, {"s32", 32, true},
                                               {"u64", 64, false}, {"s64", 64, true}};
#define INTEGERS (sizeof integers / sizeof *integers)

static const struct {
    const char *name;
    mpfr_rnd_t mode;
} roundings[] = {{"rn", MPFR_RNDN}, {"rz", MPFR_RNDZ}, {"rm", MPFR_RNDD}, {"rp", MPFR_RNDU}};

struct row {
    const struct integer_type *from_integer, *to_integer;
    const struct number_format *from, *to;
    mpfr_rnd_t rounding;
    bool flush, saturate, whole, relu;
};

static wide read_integer(const struct integer_type *type, uint64_t bits)
{
    wide x = bits;
    x &= ((wide)1 << type->bits) - 1;
    return type->is_signed && x >> (type->bits - 1) & 1 ? x - ((wide)1 << type->bits) : x;
}

static wide least(const struct integer_type *type)
{
    return type->is_signed ? -((wide)1 << (type->bits - 1)) : 0;
}

static wide most(const struct integer_type *type)
{
    return ((wide)1 << (type->bits - type->is_signed)) - 1;
}

/* What the register holds: 8 and 16 bits are extended to 32. */
static uint64_t write_integer(const struct integer_type *type, wide x)
{
    uint64_t cut = (uint64_t)(x & (((wide)1 << type->bits) - 1));
    if (type->bits == 64) return cut;
    return (uint32_t)(int32_t)read_integer(type, cut);
}

static uint64_t integer_to_integer(const struct ptx_case *in, const void *what, bool *open)
{
    const struct row *row = what;
    wide x = read_integer(row->from_integer, in->a);
    (void)open;
    if (row->saturate && x < least(row->to_integer)) x = least(row->to_integer);
    if (row->saturate && x > most(row->to_integer)) x = most(row->to_integer);
    return write_integer(row->to_integer, x);
}

static uint64_t integer_to_number(const struct ptx_case *in, const void *what, bool *open)
{
    const struct row *row = what;
    wide x = read_integer(row->from_integer, in->a);
    mpfr_t whole, rounded;
    (void)open;
    mpfr_init2(whole, 64);
    mpfr_init2(rounded, row->to->precision);
    mpfr_set_ui(whole, (uint64_t)(x < 0 ? -x : x), MPFR_RNDN);
    if (x < 0) mpfr_neg(whole, whole, MPFR_RNDN);
    int inexact = mpfr_set(rounded, whole, row->rounding);
    uint64_t bits = number_write(rounded, inexact, row->to, row->rounding);
    mpfr_clears(whole, rounded, (mpfr_ptr)NULL);
    return row->saturate ? number_saturate(row->to, bits) : bits;
}

static uint64_t number_to_integer(const struct ptx_case *in, const void *what, bool *open)
{
    const struct row *row = what;
    uint64_t bits = row->flush ? number_flush(row->from, in->a) : in->a;
    const struct integer_type *to = row->to_integer;
    (void)open;
    if (number_is_nan(row->from, bits)) {
        /* 0; with 64 bits on either side the integer with its top bit alone */
        bool zero = row->from->bits < 64 && to->bits < 64;
        return zero ? 0 : write_integer(to, (wide)1 << (to->bits - 1));
    }
    mpfr_t x;
    mpfr_init2(x, 1200);
    number_read(x, row->from, bits);
    mpfr_rint(x, x, row->rounding);
    wide value;
    if (mpfr_cmp_d(x, 0x1p64) >= 0)
        value = most(to);
    else if (mpfr_cmp_d(x, -0x1p63) < 0)
        value = least(to);
    else if (mpfr_sgn(x) < 0)
        value = mpfr_get_sj(x, MPFR_RNDN);
    else
        value = mpfr_get_uj(x, MPFR_RNDN);
    mpfr_clear(x);
    if (value < least(to)) value = least(to);
    if (value > most(to)) value = most(to);
    return write_integer(to, value);
}

static uint64_t number_to_number(const struct ptx_case *in, const void *what, bool *open)
{
    const struct row *row = what;
    uint64_t bits = row->flush && row->from->bits == 32 ? number_flush(row->from, in->a) : in->a;
    (void)open;
    if (row->whole) {
        mpfr_t x;
        mpfr_init2(x, row->from->precision);
        number_read(x, row->from, bits);
        mpfr_rint(x, x, row->rounding);
        bits = number_write(x, 0, row->from, row->rounding);
        mpfr_clear(x);
    }
    if (row->from != row->to)
        bits = number_convert(row->to, row->from, row->rounding, bits);
    else if (number_is_nan(row->from, bits))
        bits = row->from->nan;
    if (row->flush && row->to->bits == 32) bits = number_flush(row->to, bits);
    if (row->saturate) bits = number_saturate(row->to, bits);
    if (row->relu && bits >> (row->to->bits - 1)) bits = 0;
    return bits;
}

static char integer_source(const struct integer_type *type)
{
    return type->bits == 64 ? 'A' : type->bits == 32 ? 'a' : 'x';
}

static char integer_result(const struct integer_type *type)
{
    return type->bits == 64 ? 'D' : 'd';
}

static void test_integers(void **state)
{
    (void)state;
    reference_fill_integers(&cases);
    for (unsigned from = 0; from < INTEGERS; from++)
        for (unsigned to = 0; to < INTEGERS; to++)
            for (unsigned saturate = 0; saturate < 2; saturate++) {
                struct row row = {
                    .from_integer = &integers[from], .to_integer = &integers[to], .saturate = saturate};
                char text[80];
                snprintf(text, sizeof text, "cvt%s.%s.%s %%%c, %%%c;", saturate ? ".sat" : "",
                         integers[to].name, integers[from].name, integer_result(&integers[to]),
                         integer_source(&integers[from]));
                reference_check(&cases, text, integer_result(&integers[to]), integer_to_integer, &row);
            }
    reference_end();
}

static void test_integers_to_numbers(void **state)
{
    (void)state;
    reference_fill_integers(&cases);
    for (unsigned from = 0; from < INTEGERS; from++)
        for (unsigned to = 0; to < NUMBER_FORMATS; to++)
            for (unsigned form = 0; form < 8; form++) {
                const struct number_format *format = &number_formats[to];
                struct row row = {.from_integer = &integers[from],
                                  .to = format,
                                  .rounding = roundings[form % 4].mode,
                                  .saturate = form >= 4};
                char text[80];
                if (row.saturate && to == BF16) continue;
                snprintf(text, sizeof text, "cvt.%s%s.%s.%s %%%c, %%%c;", roundings[form % 4].name,
                         row.saturate ? ".sat" : "", format->name, integers[from].name, format->result,
                         integer_source(&integers[from]));
                reference_check(&cases, text, format->result, integer_to_number, &row);
            }
    reference_end();
}

/* Numbers of the format, and such as are integers and halves in the ranges of all integer types */
static void fill_numbers(const struct number_format *format)
{
    uint64_t state = 88172645463325252ull;
    number_fill(&cases, format);
    for (size_t i = 0; i < REFERENCE_CASES; i += 3) {
        uint64_t step = 1ull << (format->precision - 1), sign = 1ull << (format->bits - 1);
        uint64_t one = (sign - step) / 2 & ~(step - 1), r = next_random(&state);
        uint64_t bits = one - step + (r >> 8) % (67 * step);
        if (r & 1) bits &= ~(step - 1) >> 1; /* a power of two or one and a half */
        if (r & 2) bits |= (step - 1) & ~(uint64_t)(r >> 32);
        if (bits >= sign) bits = one;
        cases.in[i].a = bits | (r & 4 ? sign : 0);
    }
}

static void test_numbers_to_integers(void **state)
{
    (void)state;
    for (unsigned from = 0; from < NUMBER_FORMATS; from++) {
        const struct number_format *format = &number_formats[from];
        fill_numbers(format);
        for (unsigned to = 0; to < INTEGERS; to++)
            for (unsigned form = 0; form < 12; form++) {
                struct row row = {.from = format,
                                  .to_integer = &integers[to],
                                  .rounding = roundings[form % 4].mode,
                                  .flush = form / 4 == 1,
                                  .saturate = form / 4 == 2};
                char text[80];
                if (row.flush && from != F32) continue;
                snprintf(text, sizeof text, "cvt.%si%s%s.%s.%s %%%c, %%%c;", roundings[form % 4].name,
                         row.flush ? ".ftz" : "", row.saturate ? ".sat" : "", integers[to].name, format->name,
                         integer_result(&integers[to]), format->operands[0]);
                reference_check(&cases, text, integer_result(&integers[to]), number_to_integer, &row);
            }
    }
    reference_end();
}

static void check_numbers(const struct row *row, const char *rounding)
{
    char text[80];
    snprintf(text, sizeof text, "cvt%s%s%s%s%s%s.%s.%s %%%c, %%%c;", *rounding ? "." : "", rounding,
             row->whole ? "i" : "", row->flush ? ".ftz" : "", row->saturate ? ".sat" : "",
             row->relu ? ".relu" : "", row->to->name, row->from->name, row->to->result,
             row->from->operands[0]);
    reference_check(&cases, text, row->to->result, number_to_number, row);
}

/* Narrowing and what stays takes a rounding, widening none. */
static void test_numbers(void **state)
{
    (void)state;
    for (unsigned from = 0; from < NUMBER_FORMATS; from++) {
        fill_numbers(&number_formats[from]);
        for (unsigned to = 0; to < NUMBER_FORMATS; to++)
            for (unsigned form = 0; form < 4; form++) {
                struct row row = {.from = &number_formats[from],
                                  .to = &number_formats[to],
                                  .flush = form & 1,
                                  .saturate = form & 2};
                bool narrows = row.to->precision < row.from->precision || (from == BF16 && to == F16);
                if (row.flush && from != F32 && to != F32) continue;
                if (row.saturate && to == BF16) continue;
                for (unsigned mode = 0; narrows && mode < 4; mode++) {
                    row.rounding = roundings[mode].mode;
                    check_numbers(&row, roundings[mode].name);
                }
                if (!narrows && from != to) check_numbers(&row, "");
                for (unsigned mode = 0; from == to && mode < 4; mode++) {
                    row.rounding = roundings[mode].mode, row.whole = true;
                    check_numbers(&row, roundings[mode].name);
                }
                row = (struct row){.from = row.from, .to = row.to, .rounding = MPFR_RNDN, .relu = true};
                if (form == 0 && from == F32 && to < F32) {
                    check_numbers(&row, "rn");
                    row.rounding = MPFR_RNDZ;
                    check_numbers(&row, "rz");
                }
            }
    }
    reference_end();
}

static uint64_t right_pair(const struct ptx_case *in, const void *what, bool *open)
{
    struct ptx_case low = {in->b, 0, 0};
    return number_to_number(&low, what, open) | number_to_number(in, what, open) << 16;
}

static void test_pairs(void **state)
{
    (void)state;
    fill_numbers(&number_formats[F32]);
    for (unsigned to = F16; to <= BF16; to++)
        for (unsigned form = 0; form < 4; form++) {
            struct row row = {.from = &number_formats[F32],
                              .to = &number_formats[to],
                              .rounding = form & 1 ? MPFR_RNDZ : MPFR_RNDN,
                              .relu = form & 2};
            char text[80];
            snprintf(text, sizeof text, "cvt.%s%s.%sx2.f32 %%d, %%a, %%b;", form & 1 ? "rz" : "rn",
                     row.relu ? ".relu" : "", row.to->name);
            reference_check(&cases, text, 'd', right_pair, &row);
        }
    reference_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_integers_to_numbers),
        cmocka_unit_test(test_numbers_to_integers),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_pairs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
