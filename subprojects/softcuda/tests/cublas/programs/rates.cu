// Products that tensor cores compute, and ones that they do not: by type, by what cuBLAS may round to, and in a kernel of one's own.
#include "blas.h"

#include <mma.h>

constexpr int N = 512;

static void multiply(cublasHandle_t handle, cudaDataType type, cublasComputeType_t compute, void *data)
{
    float one = 1, zero = 0;
    BLAS(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, N, N, N, &one, data, type, N, data, type, N, &zero,
                      static_cast<char *>(data) + 4 * N * N, CUDA_R_32F, N, compute, CUBLAS_GEMM_DEFAULT));
}

// One tile of 16 by 16 for each warp.
__global__ void fragments(const __half *a, float *c)
{
    using namespace nvcuda::wmma;
    fragment<matrix_a, 16, 16, 16, __half, row_major> left;
    fragment<matrix_b, 16, 16, 16, __half, row_major> right;
    fragment<accumulator, 16, 16, 16, float> sum;
    fill_fragment(sum, 0.0f);
    load_matrix_sync(left, a, 16);
    load_matrix_sync(right, a, 16);
    for (int i = 0; i < 1000; i++) mma_sync(sum, left, right, sum);
    store_matrix_sync(c, sum, 16, mem_row_major);
}

int main()
{
    void *data;
    cublasHandle_t handle;
    CUDA(cudaMalloc(&data, 8 * N * N));
    CUDA(cudaMemset(data, 0, 8 * N * N));
    BLAS(cublasCreate(&handle));
    multiply(handle, CUDA_R_32F, CUBLAS_COMPUTE_32F, data);
    multiply(handle, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, data);
    multiply(handle, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_16F, data);
    multiply(handle, CUDA_R_16F, CUBLAS_COMPUTE_32F, data);
    multiply(handle, CUDA_R_16F, CUBLAS_COMPUTE_32F_PEDANTIC, data);
    BLAS(cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH));
    multiply(handle, CUDA_R_32F, CUBLAS_COMPUTE_32F, data);
    fragments<<<1, 32>>>(static_cast<const __half *>(data), static_cast<float *>(data));
    CUDA(cudaDeviceSynchronize());
    BLAS(cublasDestroy(handle));
    CUDA(cudaFree(data));
    return 0;
}
