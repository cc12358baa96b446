// Products of 16-bit types, with sums in single precision. Breaks if a value is converted or rounded wrongly,
// if sums are rounded on the way, or if a combination of types is taken for another.
#include "blas.h"

template <class T, class U, class S>
static void one(cublasHandle_t handle, const Shape &s, cublasComputeType_t compute, S alpha, S beta)
{
    Array<T> a(s.a_count(), 3), b(s.b_count(), 5);
    Array<U> c(s.c_count(), 7);
    if (number(beta) == 0) c.fill(std::numeric_limits<float>::quiet_NaN());
    BLAS(cublasGemmEx(handle, s.ta, s.tb, s.m, s.n, s.k, &alpha, a.device, type_of<T>(), s.lda, b.device,
                      type_of<T>(), s.ldb, &beta, c.device, type_of<U>(), s.ldc, compute,
                      CUBLAS_GEMM_DEFAULT));
    check_product<T, U, S>(s, a.host.data(), b.host.data(), c.host.data(), c.down().data(), number(alpha),
                           number(beta));
}

template <class T, class U, class S> static void all(cublasHandle_t handle, cublasComputeType_t compute)
{
    for (auto ta : {CUBLAS_OP_N, CUBLAS_OP_T})
        for (auto tb : {CUBLAS_OP_N, CUBLAS_OP_T})
            for (int more : {0, 1}) {
                one<T, U, S>(handle, shape_of(ta, tb, 1, 1, 1, more), compute, S(1), S(0));
                one<T, U, S>(handle, shape_of(ta, tb, 33, 17, 65, more), compute, S(0.5f), S(2));
                one<T, U, S>(handle, shape_of(ta, tb, 64, 48, 96, more), compute, S(1), S(0));
            }
    one<T, U, S>(handle, shape_of(CUBLAS_OP_T, CUBLAS_OP_N, 520, 260, 24, 0), compute, S(1), S(1));
    one<T, U, S>(handle, shape_of(CUBLAS_OP_N, CUBLAS_OP_N, 24, 16, 1100, 0), compute, S(1), S(0));
}

// 1 and 2048 small numbers: sums of 16 bits would lose all of these.
template <class T> static void keeps_precision(cublasHandle_t handle)
{
    const int k = 2049;
    const float one = 1, zero = 0;
    Array<T> a(k), b(k), c(1);
    for (int i = 0; i < k; i++) {
        a.host[i] = T(i ? 0x1p-11f : 1.f);
        b.host[i] = T(1.f);
    }
    a.up();
    b.up();
    BLAS(cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, 1, 1, k, &one, a.device, type_of<T>(), k, b.device,
                      type_of<T>(), k, &zero, c.device, type_of<T>(), 1, CUBLAS_COMPUTE_32F,
                      CUBLAS_GEMM_DEFAULT));
    CHECK((float)c.down()[0] == 2);
}

// What lies in the middle of two neighbours goes to the even one; what is too large becomes infinite.
static void rounds_to_even(cublasHandle_t handle)
{
    const float one = 1, zero = 0;
    const float sums[][2] = {{256, 1}, {256, 3}, {-256, -1}, {3.3895314e38f, 2e36f}};
    const float wanted[] = {256, 260, -256, std::numeric_limits<float>::infinity()};
    for (int i = 0; i < 4; i++) {
        Array<__nv_bfloat16> a(2), b(2), c(1);
        a.host = {__nv_bfloat16(sums[i][0]), __nv_bfloat16(sums[i][1])};
        b.host = {__nv_bfloat16(1.f), __nv_bfloat16(1.f)};
        a.up();
        b.up();
        BLAS(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 2, &one, a.device, CUDA_R_16BF, 1, b.device,
                          CUDA_R_16BF, 2, &zero, c.device, CUDA_R_16BF, 1, CUBLAS_COMPUTE_32F,
                          CUBLAS_GEMM_DEFAULT));
        CHECK((float)c.down()[0] == wanted[i]);
    }
}

static void half_precision(cublasHandle_t handle)
{
    const Shape s = shape_of(CUBLAS_OP_N, CUBLAS_OP_T, 40, 24, 16, 0);
    const __half alpha = 2.f, beta = 0.5f;
    Array<__half> a(s.a_count(), 1), b(s.b_count(), 2), c(s.c_count(), 3);
    BLAS(cublasHgemm(handle, s.ta, s.tb, s.m, s.n, s.k, &alpha, a.device, s.lda, b.device, s.ldb, &beta,
                     c.device, s.ldc));
    check_product<__half, __half, __half>(s, a.host.data(), b.host.data(), c.host.data(), c.down().data(), 2,
                                          0.5);
}

static void single_by_type(cublasHandle_t handle)
{
    const Shape s = shape_of(CUBLAS_OP_N, CUBLAS_OP_N, 20, 30, 40, 0);
    const float alpha = 1, beta = 0;
    Array<__nv_bfloat16> a(s.a_count(), 1), b(s.b_count(), 2);
    Array<float> c(s.c_count(), 3);
    BLAS(cublasSgemmEx(handle, s.ta, s.tb, s.m, s.n, s.k, &alpha, a.device, CUDA_R_16BF, s.lda, b.device,
                       CUDA_R_16BF, s.ldb, &beta, c.device, CUDA_R_32F, s.ldc));
    check_product<__nv_bfloat16, float, float>(s, a.host.data(), b.host.data(), c.host.data(),
                                               c.down().data(), 1, 0);
}

int main()
{
    cublasHandle_t handle;
    BLAS(cublasCreate(&handle));
    all<float, float, float>(handle, CUBLAS_COMPUTE_32F);
    all<double, double, double>(handle, CUBLAS_COMPUTE_64F);
    all<__half, __half, float>(handle, CUBLAS_COMPUTE_32F);
    all<__half, float, float>(handle, CUBLAS_COMPUTE_32F);
    all<__half, __half, __half>(handle, CUBLAS_COMPUTE_16F);
    all<__nv_bfloat16, __nv_bfloat16, float>(handle, CUBLAS_COMPUTE_32F);
    all<__nv_bfloat16, float, float>(handle, CUBLAS_COMPUTE_32F);
    keeps_precision<__half>(handle);
    keeps_precision<__nv_bfloat16>(handle);
    rounds_to_even(handle);
    half_precision(handle);
    single_by_type(handle);
    BLAS(cublasDestroy(handle));
    return 0;
}
