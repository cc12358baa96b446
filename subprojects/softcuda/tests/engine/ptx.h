/* Runs small pieces of PTX and gives back what they computed. */
#ifndef SOFTCUDA_TEST_PTX_H
#define SOFTCUDA_TEST_PTX_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine.h"

/* An instruction on the registers %a %b %c (32 bits), %A %B %C (64), %x %y %z (16), %p %q %s (predicates: bit
 * 0 of a, b, c), which writes %d, %D, %w or %t of the same sizes. */
struct ptx_case {
    uint64_t a, b, c;
};

/* Runs `text` once for each case, in as many lanes, and stores the result named by `result` ('d', 'D', 'w',
 * 't'). Fails the test if the PTX does not load or faults. */
void ptx_run(const char *text, char result, const struct ptx_case *cases, size_t count, uint64_t *out);

/* Would ptx_run load it? If not, *diagnostic says why. */
bool ptx_accepts(const char *text, char result, struct sc_diagnostic *diagnostic);

/* The same for one case. */
uint64_t ptx_one(const char *text, char result, uint64_t a, uint64_t b, uint64_t c);

/* Whole modules. Allocations of one test live until ptx_reset. */
struct ptx_launch {
    const char *kernel;
    uint32_t grid, grid_y, grid_z, block, block_y, shared, workers, sample_over;
    uint64_t watchdog, heap, heap_bytes, sample_instructions;
    bool cooperative;
    void (*scrap)(uint64_t address, uint64_t bytes);
};
const struct sc_module_memory *ptx_memory(void); /* for sc_module_link */
struct sc_module *ptx_load(const char *text);    /* fails the test if it does not load */
enum sc_engine_status ptx_try(const char *text, struct sc_diagnostic *diagnostic);
void *ptx_allocate(size_t bytes, enum sc_range_kind kind); /* zeroed; exactly `bytes` are accessible */
enum sc_engine_status ptx_launch(const struct sc_module *module, const struct ptx_launch *launch,
                                 void *const *parameters, struct sc_cost *cost, struct sc_fault *fault);
/* Launches, expects success and drops the cost. */
void ptx_good(const struct sc_module *module, const struct ptx_launch *launch, void *const *parameters);
void ptx_reset(void);

#define PTX_HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"

static inline uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, 4);
    return bits;
}

static inline float float_of(uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    float x;
    memcpy(&x, &low, 4);
    return x;
}

static inline uint64_t bits_of_double(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, 8);
    return bits;
}

static inline double double_of(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, 8);
    return x;
}

/* A fixed sequence of numbers that look random (xorshift) */
static inline uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

#endif
