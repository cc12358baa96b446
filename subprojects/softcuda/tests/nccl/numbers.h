/* Buffers of numbers that tell where they come from. */
#ifndef NUMBERS_H
#define NUMBERS_H

#include "ranks.h"

#define COUNT 300000 /* ints of a large message: many pieces */

static inline int value(int from, int to, int i)
{
    return from * 1000003 + to * 10007 + i * 31;
}

static inline CUdeviceptr allocate(size_t ints)
{
    CUdeviceptr memory;
    OK(cuMemAlloc(&memory, ints * sizeof(int) + 1));
    OK(cuMemsetD8(memory, 0xee, ints * sizeof(int) + 1));
    OK(cuCtxSynchronize()); /* the streams here do not wait for the legacy one */
    return memory;
}

static inline CUdeviceptr filled(size_t ints, int from, int to)
{
    int *numbers = malloc(ints * sizeof *numbers);
    CHECK(numbers);
    for (size_t i = 0; i < ints; i++) numbers[i] = value(from, to, (int)i);
    CUdeviceptr memory = allocate(ints);
    OK(cuMemcpyHtoD(memory, numbers, ints * sizeof *numbers));
    free(numbers);
    return memory;
}

/* Waits for the stream that the memory was written in. */
static inline void has(CUdeviceptr memory, size_t ints, int from, int to, CUstream stream)
{
    int *numbers = malloc(ints * sizeof *numbers);
    CHECK(numbers);
    OK(cuStreamSynchronize(stream));
    OK(cuMemcpyDtoH(numbers, memory, ints * sizeof *numbers));
    for (size_t i = 0; i < ints; i++)
        if (numbers[i] != value(from, to, (int)i)) {
            fprintf(stderr, "int %zu from %d to %d is %d, not %d\n", i, from, to, numbers[i],
                    value(from, to, (int)i));
            exit(1);
        }
    free(numbers);
    OK(cuMemFree(memory));
}

static inline void *at(CUdeviceptr memory, size_t ints)
{
    return (void *)(memory + ints * sizeof(int));
}

#endif
