/* Floating-point arithmetic by MPFR, rounded to the formats of PTX: the reference that engine instructions
 * are compared with. Not thread-safe. */
#ifndef SOFTCUDA_TEST_REFERENCE_NUMBER_H
#define SOFTCUDA_TEST_REFERENCE_NUMBER_H

#include <mpfr.h>
#include <stdbool.h>
#include <stdint.h>

struct number_format {
    const char *name;
    unsigned bits, precision; /* precision counts the leading one */
    long least, most; /* exponents as MPFR counts them: of the least subnormal and of the largest number */
    uint64_t nan;     /* what PTX gives for every NaN */
    char result, operands[3]; /* registers of ptx_run */
};

enum { F16, BF16, F32, F64, NUMBER_FORMATS };
extern const struct number_format number_formats[NUMBER_FORMATS];

enum number_operation {
    NUMBER_ADD,
    NUMBER_SUB,
    NUMBER_MUL,
    NUMBER_FMA,
    NUMBER_DIV,
    NUMBER_RCP,
    NUMBER_SQRT,
    NUMBER_OPERATIONS
};

/* The result of an operation, rounded once. */
uint64_t number_compute(const struct number_format *format, enum number_operation operation,
                        mpfr_rnd_t rounding, uint64_t a, uint64_t b, uint64_t c);

/* The number that the bits stand for; `out` needs the format's precision. */
void number_read(mpfr_t out, const struct number_format *format, uint64_t bits);

/* Rounds a number that MPFR rounded with the ternary value `inexact` to the format's precision, and no
 * exponent range; gives its bits. */
uint64_t number_write(mpfr_t number, int inexact, const struct number_format *format, mpfr_rnd_t rounding);

/* Bits of one format in another */
uint64_t number_convert(const struct number_format *to, const struct number_format *from, mpfr_rnd_t rounding,
                        uint64_t bits);

bool number_is_nan(const struct number_format *format, uint64_t bits);

/* .ftz: subnormal numbers to zero of the same sign */
uint64_t number_flush(const struct number_format *format, uint64_t bits);

/* .sat: to [0, 1], NaN to +0 */
uint64_t number_saturate(const struct number_format *format, uint64_t bits);

/* Values at which something happens: zeros, subnormals, ones, halfway cases, the largest, infinities, NaNs.
 * Gives how many. */
#define NUMBER_EDGES_MAX 64
unsigned number_edges(const struct number_format *format, uint64_t *out);

struct reference_cases;

/* Edges with edges, then with random numbers, then numbers of similar size, then c near -(a x b). */
void number_fill(struct reference_cases *cases, const struct number_format *format);

#endif
