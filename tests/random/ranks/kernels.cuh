/* The kernels, which the host computes as well. */
#ifndef RANKS_KERNELS_CUH
#define RANKS_KERNELS_CUH

#include "plan.cuh"

static __host__ __device__ inline uint32_t scrambled(uint32_t x)
{
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}

/* Word `i` of `count`. */
static __host__ __device__ inline uint32_t word_of(Kernel kernel, const uint32_t *to, const uint32_t *from,
                                                   size_t count, size_t i, uint32_t value)
{
    switch (kernel) {
    case KERNEL_MIX:
        return to[i] * 0x9e3779b1u + (from[i] ^ value);
    case KERNEL_REVERSE:
        return from[count - 1 - i] + value;
    default:
        return scrambled(value + (uint32_t)i);
    }
}

#define RANKS_KERNEL(name, kernel)                                                                           \
    extern "C" __global__ void name(uint32_t *to, const uint32_t *from, size_t count, uint32_t value)        \
    {                                                                                                        \
        size_t threads = gridDim.x * (size_t)blockDim.x;                                                     \
        for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += threads)              \
            to[i] = word_of(kernel, to, from, count, i, value);                                              \
    }
RANKS_KERNEL(fill_words, KERNEL_FILL)
RANKS_KERNEL(mix_words, KERNEL_MIX)
RANKS_KERNEL(reverse_words, KERNEL_REVERSE)
#undef RANKS_KERNEL

static inline void compute(Kernel kernel, uint32_t *to, const uint32_t *from, size_t count, uint32_t value)
{
    for (size_t i = 0; i < count; i++) to[i] = word_of(kernel, to, from, count, i, value);
}

#endif
