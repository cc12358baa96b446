// What the test programs share. They are ordinary CUDA programs: the same binaries also run on a GPU.
// A program returns 0 when all is well, 1 at the first thing that is not, 77 where the device cannot do it.
#pragma once

#include <cstdio>
#include <cstdlib>

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                             \
            std::exit(1);                                                                                    \
        }                                                                                                    \
    } while (0)

#define CUDA(call) cuda_is(call, cudaSuccess, #call, __FILE__, __LINE__)
#define CUDA_IS(call, expected) cuda_is(call, expected, #call, __FILE__, __LINE__)

inline void cuda_is(cudaError_t got, cudaError_t expected, const char *call, const char *file, int line)
{
    if (got == expected) return;
    std::fprintf(stderr, "%s:%d: %s: %s (%s) instead of %s\n", file, line, call, cudaGetErrorName(got),
                 cudaGetErrorString(got), cudaGetErrorName(expected));
    std::exit(1);
}

inline void skip(const char *why)
{
    std::printf("skipped: %s\n", why);
    std::exit(77);
}
