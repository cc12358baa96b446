// Products of single matrices. Breaks if an operand is read in the wrong order or beyond its edges, if alpha,
// beta or the pointer mode are misread, if memory that a factor of 0 excludes is looked at, or if C's
// surroundings change.
#include "blas.h"

static cublasStatus_t gemm(cublasHandle_t h, const Shape &s, const float *alpha, const float *a,
                           const float *b, const float *beta, float *c)
{
    return cublasSgemm(h, s.ta, s.tb, s.m, s.n, s.k, alpha, a, s.lda, b, s.ldb, beta, c, s.ldc);
}

static cublasStatus_t gemm(cublasHandle_t h, const Shape &s, const double *alpha, const double *a,
                           const double *b, const double *beta, double *c)
{
    return cublasDgemm(h, s.ta, s.tb, s.m, s.n, s.k, alpha, a, s.lda, b, s.ldb, beta, c, s.ldc);
}

template <class T> static void one(cublasHandle_t handle, const Shape &s, T alpha, T beta, bool on_device)
{
    Array<T> a(s.a_count(), 3), b(s.b_count(), 5), c(s.c_count(), 7), scalars(2);
    const T nan = std::numeric_limits<T>::quiet_NaN();
    if (beta == 0) c.fill(nan);
    if (alpha == 0) a.fill(nan);
    scalars.host = {alpha, beta};
    scalars.up();
    BLAS(cublasSetPointerMode(handle, on_device ? CUBLAS_POINTER_MODE_DEVICE : CUBLAS_POINTER_MODE_HOST));
    BLAS(gemm(handle, s, on_device ? scalars.device : &alpha, a.device, b.device,
              on_device ? scalars.device + 1 : &beta, c.device));
    BLAS(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST));
    check_product<T, T, T>(s, a.host.data(), b.host.data(), c.host.data(), c.down().data(), alpha, beta);
}

template <class T> static void all(cublasHandle_t handle)
{
    const cublasOperation_t operations[] = {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C};
    const int sizes[][3] = {{1, 1, 1},    {1, 7, 3},    {5, 1, 9},     {17, 3, 1},
                            {33, 65, 31}, {64, 64, 64}, {100, 129, 77}};
    const double factors[][2] = {{1, 0}, {1, 1}, {-0.5, 2}, {0, 0}, {0, 0.5}};
    for (auto ta : operations)
        for (auto tb : operations)
            for (auto &size : sizes)
                for (auto &factor : factors)
                    one<T>(handle, shape_of(ta, tb, size[0], size[1], size[2], (size[0] + size[1]) % 3),
                           (T)factor[0], (T)factor[1], size[0] == 17);
    // More than one tile in each direction, and a depth of more than one panel.
    one<T>(handle, shape_of(CUBLAS_OP_N, CUBLAS_OP_N, 530, 270, 20, 1), (T)1, (T)0, false);
    one<T>(handle, shape_of(CUBLAS_OP_T, CUBLAS_OP_T, 1050, 519, 9, 0), (T)0.25, (T)1, true);
    one<T>(handle, shape_of(CUBLAS_OP_T, CUBLAS_OP_N, 40, 30, 2100, 3), (T)1, (T)-1, false);
    // Without depth only beta counts.
    one<T>(handle, shape_of(CUBLAS_OP_N, CUBLAS_OP_N, 20, 10, 0, 2), (T)1, (T)0.5, false);
    one<T>(handle, shape_of(CUBLAS_OP_N, CUBLAS_OP_N, 20, 10, 0, 2), (T)1, (T)0, false);
}

// A product follows what was submitted to its stream, and what comes after sees it.
__global__ void fill(float *x, int n, float value)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = value;
}

static void in_streams(cublasHandle_t handle)
{
    const int n = 96;
    const float one = 1, zero = 0;
    cudaStream_t streams[2], current;
    Array<float> a(n * n), b(n * n), c(n * n), d(n * n);
    for (auto &stream : streams) CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDA(cudaDeviceSynchronize());
    for (int round = 0; round < 3; round++) {
        BLAS(cublasSetStream(handle, streams[0]));
        BLAS(cublasGetStream(handle, &current));
        CHECK(current == streams[0]);
        fill<<<n, n, 0, streams[0]>>>(a.device, n * n, 1 + round);
        fill<<<n, n, 0, streams[0]>>>(b.device, n * n, 2);
        BLAS(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a.device, n, b.device, n, &zero,
                         c.device, n));
        cudaEvent_t made;
        CUDA(cudaEventCreate(&made));
        CUDA(cudaEventRecord(made, streams[0]));
        CUDA(cudaStreamWaitEvent(streams[1], made, 0));
        BLAS(cublasSetStream(handle, streams[1]));
        BLAS(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, c.device, n, b.device, n, &zero,
                         d.device, n));
        CUDA(cudaStreamSynchronize(streams[1]));
        for (float x : d.down()) CHECK(x == n * (1 + round) * 2 * n * 2.f);
        CUDA(cudaEventDestroy(made));
    }
    BLAS(cublasSetStream(handle, nullptr));
    for (auto stream : streams) CUDA(cudaStreamDestroy(stream));
}

int main()
{
    cublasHandle_t handle;
    BLAS(cublasCreate(&handle));
    all<float>(handle);
    all<double>(handle);
    in_streams(handle);
    BLAS(cublasDestroy(handle));
    return 0;
}
