/* Allocations from three places, for check_sites.py and tests/tools/test_sites.py, which know these functions
 * by their names. The calls are no last things that the functions do: they stand in the call stack. */
#include <stdint.h>
#include <stdio.h>

#include "device.h"

#define WEIGHTS 3
#define STEPS 4

static volatile int weight_count = WEIGHTS, step_count = STEPS; /* so that no loop is unrolled */
static CUdeviceptr weights[WEIGHTS], step;

static __attribute__((noinline)) CUdeviceptr allocate(size_t bytes)
{
    CUdeviceptr address = 0;
    ok(cuMemAlloc(&address, bytes));
    return address;
}

static inline __attribute__((always_inline)) CUdeviceptr allocate_a_weight(void)
{
    return allocate(MIB);
}

static __attribute__((noinline)) void make_weights(void)
{
    for (int i = 0; i < weight_count; i++) weights[i] = allocate_a_weight();
}

static __attribute__((noinline)) void take_a_step(void)
{
    step = allocate(3 * MIB);
    ok(cuMemsetD8(step, 1, MIB));
    ok(cuMemsetD8(step, 2, MIB));
    ok(cuMemFree(step));
}

static __attribute__((noinline)) void ask_for_too_much(void)
{
    CUdeviceptr none;
    assert_int_equal(cuMemAlloc(&none, (size_t)5 << 30), CUDA_ERROR_OUT_OF_MEMORY);
}

int main(void)
{
    if (use_device(NULL)) return 1;
    make_weights();
    for (int i = 0; i < step_count; i++) take_a_step();
    ask_for_too_much();
    return cuMemFree(weights[0]) != CUDA_SUCCESS;
}
