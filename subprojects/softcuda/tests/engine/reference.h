/* What the reference tests share: the instructions of PTX, one after another, on many operands, every result
 * compared with an independent computation. */
#ifndef SOFTCUDA_TEST_REFERENCE_H
#define SOFTCUDA_TEST_REFERENCE_H

#include "ptx.h"

#define REFERENCE_CASES 6144

struct reference_cases {
    struct ptx_case in[REFERENCE_CASES];
    uint64_t out[REFERENCE_CASES];
};

/* Fills `cases`: first every value with every other one as a and b, with c going round; then values with
 * random numbers; then random numbers of `bits` bits. */
void reference_fill(struct reference_cases *cases, const uint64_t *values, size_t count, unsigned bits);

/* The same with integers that are interesting in 8 to 64 bits. */
void reference_fill_integers(struct reference_cases *cases);

/* Random numbers of every length: of `bits` bits at most, with the upper ones often clear or all set. */
uint64_t reference_random(uint64_t *state, unsigned bits);

/* The right result of one case. `what` is the row of the test's table. Where the ISA leaves the result open
 * it sets *open. */
typedef uint64_t reference_function(const struct ptx_case *in, const void *what, bool *open);

/* Runs `text`, as ptx_run does, and compares. Tells the first case that is wrong, or why the instruction is
 * refused, and goes on. */
void reference_check(struct reference_cases *cases, const char *text, char result, reference_function *right,
                     const void *what);

/* Ends a test: fails it if anything was wrong. */
void reference_end(void);

#endif
