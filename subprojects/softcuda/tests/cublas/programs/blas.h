// What the cuBLAS programs share. They are ordinary CUDA programs: the same binaries also run on a GPU.
#pragma once

#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "../../cudart/programs/check.h"

#define BLAS(call) blas_is(call, CUBLAS_STATUS_SUCCESS, #call, __FILE__, __LINE__)
#define BLAS_IS(call, expected) blas_is(call, expected, #call, __FILE__, __LINE__)

inline void blas_is(cublasStatus_t got, cublasStatus_t expected, const char *call, const char *file, int line)
{
    if (got == expected) return;
    std::fprintf(stderr, "%s:%d: %s: %s instead of %s\n", file, line, call, cublasGetStatusName(got),
                 cublasGetStatusName(expected));
    std::exit(1);
}

template <class T> cudaDataType type_of();
template <> inline cudaDataType type_of<float>()
{
    return CUDA_R_32F;
}
template <> inline cudaDataType type_of<double>()
{
    return CUDA_R_64F;
}
template <> inline cudaDataType type_of<__half>()
{
    return CUDA_R_16F;
}
template <> inline cudaDataType type_of<__nv_bfloat16>()
{
    return CUDA_R_16BF;
}

// An array of the device with a copy on the host, filled with numbers in [-1, 1).
template <class T> struct Array {
    std::vector<T> host;
    T *device = nullptr;

    explicit Array(size_t count, uint32_t seed = 1) : host(count)
    {
        for (size_t i = 0; i < count; i++) {
            seed = seed * 1664525u + 1013904223u;
            host[i] = T((float)(int32_t)seed * 0x1p-31f);
        }
        CUDA(cudaMalloc(&device, (count ? count : 1) * sizeof(T)));
        up();
    }
    ~Array() { cudaFree(device); }
    Array(const Array &) = delete;
    void up() { CUDA(cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice)); }
    std::vector<T> down() const
    {
        std::vector<T> copy(host.size());
        CUDA(cudaMemcpy(copy.data(), device, copy.size() * sizeof(T), cudaMemcpyDeviceToHost));
        return copy;
    }
    void fill(float value)
    {
        for (auto &element : host) element = T(value);
        up();
    }
};

template <class T> double number(T value)
{
    return (double)(float)value;
}
inline double number(double value)
{
    return value;
}

// Half a unit in the last place, relative.
template <class T> double rounding();
template <> inline double rounding<float>()
{
    return 0x1p-24;
}
template <> inline double rounding<double>()
{
    return 0x1p-53;
}
template <> inline double rounding<__half>()
{
    return 0x1p-11;
}
template <> inline double rounding<__nv_bfloat16>()
{
    return 0x1p-8;
}

struct Shape {
    cublasOperation_t ta, tb;
    int m, n, k, lda, ldb, ldc;
    int a_count() const { return lda * (ta == CUBLAS_OP_N ? k : m); }
    int b_count() const { return ldb * (tb == CUBLAS_OP_N ? n : k); }
    int c_count() const { return ldc * n; }
};

inline Shape shape_of(cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, int more)
{
    return {ta,      tb, m, n, k, (ta == CUBLAS_OP_N ? m : k) + more, (tb == CUBLAS_OP_N ? k : n) + more,
            m + more};
}

// The product by three loops, in double precision, and the same of the absolute values, for the error's
// bound.
template <class T>
void product_of(const Shape &s, const T *a, const T *b, int i, int j, double *sum, double *size)
{
    *sum = *size = 0;
    for (int p = 0; p < s.k; p++) {
        double left = number(s.ta == CUBLAS_OP_N ? a[i + (size_t)p * s.lda] : a[p + (size_t)i * s.lda]);
        double right = number(s.tb == CUBLAS_OP_N ? b[p + (size_t)j * s.ldb] : b[j + (size_t)p * s.ldb]);
        *sum += left * right;
        *size += std::fabs(left * right);
    }
}

// Compares C with alpha op(A) op(B) + beta old, elements between the columns included: these must stay. S is
// the type in which sums are made.
template <class T, class U, class S>
void check_product(const Shape &s, const T *a, const T *b, const U *old, const U *c, double alpha,
                   double beta)
{
    for (int j = 0; j < s.n; j++)
        for (int i = 0; i < s.ldc; i++) {
            size_t at = i + (size_t)j * s.ldc;
            if (i >= s.m) {
                CHECK(!std::memcmp(&c[at], &old[at], sizeof(U)));
                continue;
            }
            double sum = 0, size = 0;
            if (alpha != 0) product_of(s, a, b, i, j, &sum, &size);
            double before = beta != 0 ? beta * number(old[at]) : 0;
            double expected = alpha * sum + before;
            double allowed = (s.k + 2) * rounding<S>() * (std::fabs(alpha) * size + std::fabs(before)) +
                             2 * rounding<U>() * std::fabs(expected) + 1e-7 * (sizeof(U) == 2);
            if (!(std::fabs(number(c[at]) - expected) <= allowed)) {
                std::fprintf(stderr,
                             "m %d n %d k %d ops %d %d alpha %g beta %g: (%d, %d) is %g instead of %g\n", s.m,
                             s.n, s.k, s.ta, s.tb, alpha, beta, i, j, number(c[at]), expected);
                std::exit(1);
            }
        }
}
