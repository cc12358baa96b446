/* Exact arithmetic and comparisons in every format, instruction by instruction, against MPFR. */
#include "reference.h"
#include "reference_number.h"

#include <stdio.h>

static struct reference_cases cases;

static const struct {
    const char *name;
    mpfr_rnd_t mode;
} roundings[] = {{"rn", MPFR_RNDN}, {"rz", MPFR_RNDZ}, {"rm", MPFR_RNDD}, {"rp", MPFR_RNDU}};

struct row {
    const struct number_format *format;
    enum number_operation operation;
    mpfr_rnd_t rounding;
    bool flush, saturate, relu;
};

static const char *const names[NUMBER_OPERATIONS] = {"add", "sub", "mul", "fma", "div", "rcp", "sqrt"};

static uint64_t flushed(const struct number_format *format, bool flush, uint64_t bits)
{
    return flush ? number_flush(format, bits) : bits;
}

static uint64_t right(const struct ptx_case *in, const void *what, bool *open)
{
    const struct row *row = what;
    const struct number_format *format = row->format;
    (void)open;
    uint64_t a = flushed(format, row->flush, in->a), b = flushed(format, row->flush, in->b),
             c = flushed(format, row->flush, in->c);
    uint64_t r = number_compute(format, row->operation, row->rounding, a, b, c);
    r = flushed(format, row->flush, r);
    if (row->saturate) r = number_saturate(format, r);
    if (row->relu && r >> (format->bits - 1)) r = 0;
    return r;
}

/* "%d, %a, %b" and so on */
static const char *write_operands(char out[32], const struct number_format *format, unsigned sources)
{
    snprintf(out, 32, "%%%c, %%%c%s%c%s%c", format->result, format->operands[0], sources > 1 ? ", %" : ";",
             sources > 1 ? format->operands[1] : ' ', sources > 2 ? ", %" : ";",
             sources > 2 ? format->operands[2] : ' ');
    if (sources == 3) strcat(out, ";");
    if (sources < 3) *(strchr(out, ';') + 1) = 0;
    return out;
}

static unsigned sources_of(enum number_operation operation)
{
    return operation == NUMBER_FMA ? 3 : operation >= NUMBER_RCP ? 1 : 2;
}

static void check_row(const struct row *row, const char *name, const char *rounding)
{
    char text[96], operands[32];
    snprintf(text, sizeof text, "%s%s%s%s%s%s.%s %s", name, *rounding ? "." : "", rounding,
             row->flush ? ".ftz" : "", row->saturate ? ".sat" : "", row->relu ? ".relu" : "",
             row->format->name, write_operands(operands, row->format, sources_of(row->operation)));
    reference_check(&cases, text, row->format->result, right, row);
}

/* Every operation in f32 and f64 with every rounding; f32 with .ftz and .sat as well */
static void test_rounding(void **state)
{
    (void)state;
    for (unsigned which = F32; which <= F64; which++) {
        number_fill(&cases, &number_formats[which]);
        for (enum number_operation operation = 0; operation < NUMBER_OPERATIONS; operation++)
            for (unsigned mode = 0; mode < 4; mode++)
                for (unsigned form = 0; form < (which == F64              ? 1u
                                                : operation <= NUMBER_FMA ? 4u
                                                                          : 2u);
                     form++) {
                    struct row row = {.format = &number_formats[which],
                                      .operation = operation,
                                      .rounding = roundings[mode].mode,
                                      .flush = form & 1,
                                      .saturate = form & 2};
                    check_row(&row, names[operation], roundings[mode].name);
                    if (operation == NUMBER_FMA) check_row(&row, "mad", roundings[mode].name);
                }
    }
    reference_end();
}

static void test_default_rounding(void **state)
{
    (void)state;
    for (unsigned which = F32; which <= F64; which++) {
        number_fill(&cases, &number_formats[which]);
        for (enum number_operation operation = NUMBER_ADD; operation <= NUMBER_MUL; operation++)
            check_row(&(struct row){.format = &number_formats[which], .operation = operation},
                      names[operation], "");
    }
    reference_end();
}

static void test_halves(void **state)
{
    (void)state;
    for (unsigned which = F16; which <= BF16; which++) {
        number_fill(&cases, &number_formats[which]);
        for (enum number_operation operation = NUMBER_ADD; operation <= NUMBER_FMA; operation++) {
            struct row row = {.format = &number_formats[which], .operation = operation};
            check_row(&row, names[operation], "rn");
            if (operation != NUMBER_FMA) check_row(&row, names[operation], "");
            for (unsigned form = 1; which == F16 && form < 4; form++) {
                row.flush = form & 1, row.saturate = form & 2;
                check_row(&row, names[operation], operation == NUMBER_FMA ? "rn" : "");
            }
            row = (struct row){.format = &number_formats[which], .operation = operation, .relu = true};
            if (operation == NUMBER_FMA) check_row(&row, names[operation], "rn");
        }
    }
    reference_end();
}

static uint64_t right_pair(const struct ptx_case *in, const void *what, bool *open)
{
    struct ptx_case low = {in->a & 0xffff, in->b & 0xffff, in->c & 0xffff};
    struct ptx_case high = {in->a >> 16, in->b >> 16, in->c >> 16};
    return right(&low, what, open) | right(&high, what, open) << 16;
}

static void test_pairs(void **state)
{
    (void)state;
    for (unsigned which = F16; which <= BF16; which++) {
        number_fill(&cases, &number_formats[which]);
        for (size_t i = 0, n = REFERENCE_CASES; i < n; i++) { /* each half goes with one of another case */
            struct ptx_case *in = &cases.in[i], *other = &cases.in[(i * 31 + 7) % n];
            in->a = (in->a & 0xffff) | (other->a & 0xffff) << 16;
            in->b = (in->b & 0xffff) | (other->b & 0xffff) << 16;
            in->c = (in->c & 0xffff) | (other->c & 0xffff) << 16;
        }
        for (enum number_operation operation = NUMBER_ADD; operation <= NUMBER_FMA; operation++)
            for (unsigned form = 0; form < (which == F16 ? 4 : 1); form++) {
                struct row row = {.format = &number_formats[which],
                                  .operation = operation,
                                  .flush = form & 1,
                                  .saturate = form & 2};
                char text[96];
                snprintf(text, sizeof text, "%s.rn%s%s.%sx2 %%d, %%a, %%b%s;", names[operation],
                         form & 1 ? ".ftz" : "", form & 2 ? ".sat" : "", row.format->name,
                         operation == NUMBER_FMA ? ", %c" : "");
                reference_check(&cases, text, 'd', right_pair, &row);
            }
    }
    reference_end();
}

/* Several in a row, which the engine runs in one go */
static uint64_t right_run(const struct ptx_case *in, const void *what, bool *open)
{
    const struct number_format *f = what;
    (void)open;
    uint64_t product = number_compute(f, NUMBER_MUL, MPFR_RNDN, in->a, in->b, 0);
    uint64_t sum = number_compute(f, NUMBER_ADD, MPFR_RNDN, product, in->c, 0);
    uint64_t difference = number_compute(f, NUMBER_SUB, MPFR_RNDN, sum, in->a, 0);
    return number_compute(f, NUMBER_FMA, MPFR_RNDN, difference, in->b, product);
}

static void test_runs(void **state)
{
    (void)state;
    number_fill(&cases, &number_formats[F32]);
    reference_check(
        &cases, "mul.f32 %d, %a, %b;\nadd.f32 %c, %d, %c;\nsub.f32 %e, %c, %a;\nfma.rn.f32 %d, %e, %b, %d;",
        'd', right_run, &number_formats[F32]);
    reference_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rounding), cmocka_unit_test(test_default_rounding),
        cmocka_unit_test(test_halves),   cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
