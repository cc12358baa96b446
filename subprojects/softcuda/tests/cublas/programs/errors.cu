// What is refused, and how. Breaks if a bad argument is taken, or taken for another error, or if a product
// that reaches beyond its memory does anything but fail as a kernel would.
#include <thread>

#include "blas.h"

static const int n = 8;
static const float one = 1, zero = 0;

static void arguments(cublasHandle_t handle)
{
    Array<float> a(n * n);
    auto gemm = [&](cublasOperation_t op, int m, int k, int lda, int ldb, int ldc) {
        return cublasSgemm(handle, op, CUBLAS_OP_N, m, n, k, &one, a.device, lda, a.device, ldb, &zero,
                           a.device, ldc);
    };
    BLAS_IS(gemm(CUBLAS_OP_N, -1, n, n, n, n), CUBLAS_STATUS_INVALID_VALUE);
    BLAS_IS(gemm(CUBLAS_OP_N, n, -1, n, n, n), CUBLAS_STATUS_INVALID_VALUE);
    BLAS_IS(gemm(CUBLAS_OP_N, n, n, n - 1, n, n), CUBLAS_STATUS_INVALID_VALUE);
    BLAS_IS(gemm(CUBLAS_OP_T, n, n + 1, n, n + 1, n), CUBLAS_STATUS_INVALID_VALUE);
    BLAS_IS(gemm(CUBLAS_OP_N, n, n, n, n - 1, n), CUBLAS_STATUS_INVALID_VALUE);
    BLAS_IS(gemm(CUBLAS_OP_N, n, n, n, n, n - 1), CUBLAS_STATUS_INVALID_VALUE);
    BLAS_IS(gemm((cublasOperation_t)77, n, n, n, n, n), CUBLAS_STATUS_INVALID_VALUE);
    BLAS(gemm(CUBLAS_OP_N, 0, n, n, n, n));
    BLAS_IS(cublasSgemv(handle, CUBLAS_OP_N, n, n, &one, a.device, n, a.device, 0, &zero, a.device, 1),
            CUBLAS_STATUS_INVALID_VALUE);
    BLAS_IS(cublasSetVector(1, 0, &one, 1, a.device, 1), CUBLAS_STATUS_INVALID_VALUE);
    BLAS_IS(cublasSetMatrix(2, 1, 4, &one, 1, a.device, 2), CUBLAS_STATUS_INVALID_VALUE);
    BLAS_IS(cublasSgemm(nullptr, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a.device, n, a.device, n, &zero,
                        a.device, n),
            CUBLAS_STATUS_NOT_INITIALIZED);
    BLAS_IS(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a.device, CUDA_R_64F, n, a.device,
                         CUDA_R_32F, n, &zero, a.device, CUDA_R_16F, n, CUBLAS_COMPUTE_32F,
                         CUBLAS_GEMM_DEFAULT),
            CUBLAS_STATUS_NOT_SUPPORTED);
}

static void settings(cublasHandle_t handle)
{
    cublasPointerMode_t pointers;
    cublasMath_t math;
    cublasAtomicsMode_t atomics;
    int version = 0;
    BLAS(cublasGetPointerMode(handle, &pointers));
    CHECK(pointers == CUBLAS_POINTER_MODE_HOST);
    BLAS(cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH));
    BLAS(cublasGetMathMode(handle, &math));
    CHECK(math == CUBLAS_TF32_TENSOR_OP_MATH);
    BLAS(cublasSetMathMode(handle, CUBLAS_DEFAULT_MATH));
    BLAS(cublasSetAtomicsMode(handle, CUBLAS_ATOMICS_ALLOWED));
    BLAS(cublasGetAtomicsMode(handle, &atomics));
    CHECK(atomics == CUBLAS_ATOMICS_ALLOWED);
    BLAS(cublasGetVersion(handle, &version));
    CHECK(version >= 120000);
    CHECK(!std::strcmp(cublasGetStatusName(CUBLAS_STATUS_NOT_SUPPORTED), "CUBLAS_STATUS_NOT_SUPPORTED"));
    CHECK(*cublasGetStatusString(CUBLAS_STATUS_ALLOC_FAILED));
}

// A thread that has not used CUDA yet may use the handle.
static void another_thread(cublasHandle_t handle)
{
    Array<float> a(n * n), c(n * n);
    a.fill(1);
    std::thread([&] {
        BLAS(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a.device, n, a.device, n, &zero,
                         c.device, n));
        CUDA(cudaDeviceSynchronize());
    }).join();
    for (float x : c.down()) CHECK(x == n);
}

// Last: the context is lost.
static void out_of_bounds(cublasHandle_t handle)
{
    Array<float> a(n * n), c(n * n);
    float result;
    BLAS(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, (float *)64, n, a.device, n, &zero,
                     c.device, n));
    CUDA_IS(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    CHECK(cublasSdot(handle, n, a.device, 1, a.device, 1, &result) != CUBLAS_STATUS_SUCCESS);
}

int main()
{
    cublasHandle_t handle;
    BLAS_IS(cublasCreate(nullptr), CUBLAS_STATUS_INVALID_VALUE);
    BLAS(cublasCreate(&handle));
    arguments(handle);
    settings(handle);
    another_thread(handle);
    out_of_bounds(handle);
    return 0;
}
