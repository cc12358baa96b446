/* Kernels that reach memory in every way that a program knows: by pointer, by pointer into the middle, by
 * value in a structure, through a table of pointers, through a pointer that only the device ever saw. All
 * arithmetic is on integers and no result depends on the order of threads. */
#ifndef RANDOM_KERNELS_CUH
#define RANDOM_KERNELS_CUH

#include <stddef.h>
#include <stdint.h>

struct Sources {
    uint32_t salt;
    uint32_t *to;
    size_t count;
    const uint32_t *from[3];
    uint16_t turn;
};

static __device__ size_t index_of_thread()
{
    return blockIdx.x * (size_t)blockDim.x + threadIdx.x;
}

static __device__ size_t thread_count()
{
    return gridDim.x * (size_t)blockDim.x;
}

static __device__ uint32_t mixed(uint32_t a, uint32_t b)
{
    a = (a ^ b) * 0x9e3779b1u;
    return a ^ a >> 15;
}

extern "C" __global__ void fill(uint32_t *to, size_t count, uint32_t salt)
{
    for (size_t i = index_of_thread(); i < count; i += thread_count()) to[i] = mixed(salt, (uint32_t)i);
}

extern "C" __global__ void fold(uint32_t *to, const uint32_t *from, size_t count, uint32_t salt)
{
    for (size_t i = index_of_thread(); i < count; i += thread_count()) to[i] = mixed(to[i] + salt, from[i]);
}

extern "C" __global__ void fold_structure(Sources s)
{
    for (size_t i = index_of_thread(); i < s.count; i += thread_count()) {
        uint32_t value = s.to[i];
        for (int k = 0; k < 3; k++) value = mixed(value + s.salt, s.from[k][i]) + s.turn;
        s.to[i] = value;
    }
}

/* `table` holds `tables` pointers; the first is written. */
extern "C" __global__ void fold_table(uint32_t *const *table, int tables, size_t count, uint32_t salt)
{
    for (size_t i = index_of_thread(); i < count; i += thread_count()) {
        uint32_t value = table[0][i];
        for (int k = 1; k < tables; k++) value = mixed(value + salt, table[k][i]);
        table[0][i] = value;
    }
}

extern "C" __global__ void fold_eight(uint32_t *a, const uint32_t *b, const uint32_t *c, const uint32_t *d,
                                      const uint32_t *e, const uint32_t *f, const uint32_t *g,
                                      const uint32_t *h, size_t count)
{
    for (size_t i = index_of_thread(); i < count; i += thread_count())
        a[i] = mixed(a[i] + b[i], c[i]) + mixed(d[i], e[i]) * 3 + mixed(f[i] - g[i], h[i]);
}

/* Every `stride`-th word. */
extern "C" __global__ void touch(uint32_t *to, size_t count, size_t stride, uint32_t salt)
{
    for (size_t i = index_of_thread(); i * stride < count; i += thread_count())
        to[i * stride] = mixed(to[i * stride], salt);
}

extern "C" __global__ void tally(uint32_t *bins, const uint32_t *from, size_t count)
{
    for (size_t i = index_of_thread(); i < count; i += thread_count()) atomicAdd(&bins[from[i] % 64], 1);
}

/* Nobody but the device sees which pointer the cell holds. */
extern "C" __global__ void hide(uint32_t **cell, uint64_t half, uint64_t other_half)
{
    if (index_of_thread() == 0) *cell = (uint32_t *)(half + other_half);
}

extern "C" __global__ void fold_hidden(uint32_t *const *cell, size_t count, uint32_t salt)
{
    for (size_t i = index_of_thread(); i < count; i += thread_count()) (*cell)[i] = mixed((*cell)[i], salt);
}

#endif
