// Batches, by stride and by arrays of pointers, and products with vectors. Breaks if a matrix of the batch is
// skipped, taken twice or looked for in the wrong place, or if a vector is walked in the wrong direction.
#include "blas.h"

static void strided(cublasHandle_t handle)
{
    const int batch = 7;
    const Shape s = shape_of(CUBLAS_OP_T, CUBLAS_OP_N, 19, 11, 23, 2);
    const long long a_step = s.a_count() + 5, b_step = 0, c_step = s.c_count() + 3; // one B for all
    const float alpha = 0.75f, beta = -1;
    Array<float> a(a_step * batch, 1), b(s.b_count(), 2), c(c_step * batch, 3);
    BLAS(cublasSgemmStridedBatched(handle, s.ta, s.tb, s.m, s.n, s.k, &alpha, a.device, s.lda, a_step,
                                   b.device, s.ldb, b_step, &beta, c.device, s.ldc, c_step, batch));
    auto got = c.down();
    for (int i = 0; i < batch; i++)
        check_product<float, float, float>(s, &a.host[i * a_step], b.host.data(), &c.host[i * c_step],
                                           &got[i * c_step], alpha, beta);
    for (int i = 0; i < batch; i++)
        for (int k = s.c_count(); k < c_step; k++) CHECK(got[i * c_step + k] == c.host[i * c_step + k]);
}

static void strided_by_type(cublasHandle_t handle)
{
    const int batch = 5;
    const Shape s = shape_of(CUBLAS_OP_N, CUBLAS_OP_T, 16, 24, 32, 0);
    const float alpha = 1, beta = 0;
    Array<__nv_bfloat16> a(s.a_count() * batch, 1), b(s.b_count() * batch, 2), c(s.c_count() * batch, 3);
    BLAS(cublasGemmStridedBatchedEx(handle, s.ta, s.tb, s.m, s.n, s.k, &alpha, a.device, CUDA_R_16BF, s.lda,
                                    s.a_count(), b.device, CUDA_R_16BF, s.ldb, s.b_count(), &beta, c.device,
                                    CUDA_R_16BF, s.ldc, s.c_count(), batch, CUBLAS_COMPUTE_32F,
                                    CUBLAS_GEMM_DEFAULT));
    auto got = c.down();
    for (int i = 0; i < batch; i++)
        check_product<__nv_bfloat16, __nv_bfloat16, float>(s, &a.host[i * s.a_count()],
                                                           &b.host[i * s.b_count()], &c.host[i * s.c_count()],
                                                           &got[i * s.c_count()], alpha, beta);
}

// An array of pointers on the device, in the order opposite to that of the matrices.
struct Pointers {
    void **device = nullptr;
    template <class T> Pointers(T *base, long long step, int count)
    {
        std::vector<void *> host;
        for (int i = 0; i < count; i++) host.push_back(base + step * (count - 1 - i));
        CUDA(cudaMalloc(&device, count * sizeof(void *)));
        CUDA(cudaMemcpy(device, host.data(), count * sizeof(void *), cudaMemcpyHostToDevice));
    }
    ~Pointers() { cudaFree(device); }
};

static void by_pointer(cublasHandle_t handle)
{
    const int batch = 6;
    const Shape s = shape_of(CUBLAS_OP_N, CUBLAS_OP_N, 21, 9, 13, 1);
    const double alpha = 1.5, beta = 0;
    Array<double> a(s.a_count() * batch, 1), b(s.b_count() * batch, 2), c(s.c_count() * batch, 3);
    Pointers at_a(a.device, s.a_count(), batch), at_b(b.device, s.b_count(), batch),
        at_c(c.device, s.c_count(), batch);
    BLAS(cublasDgemmBatched(handle, s.ta, s.tb, s.m, s.n, s.k, &alpha, (const double *const *)at_a.device,
                            s.lda, (const double *const *)at_b.device, s.ldb, &beta,
                            (double *const *)at_c.device, s.ldc, batch));
    auto got = c.down();
    for (int i = 0; i < batch; i++)
        check_product<double, double, double>(s, &a.host[i * s.a_count()], &b.host[i * s.b_count()],
                                              &c.host[i * s.c_count()], &got[i * s.c_count()], alpha, beta);
    Array<__half> ha(s.a_count() * batch, 1), hb(s.b_count() * batch, 2), hc(s.c_count() * batch, 3);
    Pointers at_ha(ha.device, s.a_count(), batch), at_hb(hb.device, s.b_count(), batch),
        at_hc(hc.device, s.c_count(), batch);
    const float one = 1, two = 2;
    BLAS(cublasGemmBatchedEx(handle, s.ta, s.tb, s.m, s.n, s.k, &one, at_ha.device, CUDA_R_16F, s.lda,
                             at_hb.device, CUDA_R_16F, s.ldb, &two, at_hc.device, CUDA_R_16F, s.ldc, batch,
                             CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    auto halves = hc.down();
    for (int i = 0; i < batch; i++)
        check_product<__half, __half, float>(s, &ha.host[i * s.a_count()], &hb.host[i * s.b_count()],
                                             &hc.host[i * s.c_count()], &halves[i * s.c_count()], 1, 2);
}

static cublasStatus_t gemv(cublasHandle_t h, cublasOperation_t op, int m, int n, const float *alpha,
                           const float *a, int lda, const float *x, int incx, const float *beta, float *y,
                           int incy)
{
    return cublasSgemv(h, op, m, n, alpha, a, lda, x, incx, beta, y, incy);
}

static cublasStatus_t gemv(cublasHandle_t h, cublasOperation_t op, int m, int n, const double *alpha,
                           const double *a, int lda, const double *x, int incx, const double *beta, double *y,
                           int incy)
{
    return cublasDgemv(h, op, m, n, alpha, a, lda, x, incx, beta, y, incy);
}

// Where element i of a vector of `count` lies: with a negative increment the last comes first.
static size_t place(int i, int count, int inc)
{
    return inc > 0 ? (size_t)i * inc : (size_t)(count - 1 - i) * -inc;
}

template <class T>
static void with_vector(cublasHandle_t handle, cublasOperation_t op, int m, int n, int incx, int incy,
                        T alpha, T beta)
{
    const int lda = m + 3, in = op == CUBLAS_OP_N ? n : m, out = op == CUBLAS_OP_N ? m : n;
    Array<T> a((size_t)lda * n, 1), x((size_t)in * std::abs(incx), 2), y((size_t)out * std::abs(incy), 3);
    if (beta == 0) y.fill(std::numeric_limits<float>::quiet_NaN());
    BLAS(gemv(handle, op, m, n, &alpha, a.device, lda, x.device, incx, &beta, y.device, incy));
    auto got = y.down();
    for (int i = 0; i < out; i++) {
        double sum = 0, size = 0;
        for (int j = 0; j < in; j++) {
            double left = op == CUBLAS_OP_N ? a.host[i + (size_t)j * lda] : a.host[j + (size_t)i * lda];
            double right = x.host[place(j, in, incx)];
            sum += left * right;
            size += std::fabs(left * right);
        }
        double before = beta != 0 ? beta * y.host[place(i, out, incy)] : 0;
        double expected = alpha * sum + before;
        CHECK(std::fabs(got[place(i, out, incy)] - expected) <=
              (in + 2) * rounding<T>() * (std::fabs(alpha) * size + std::fabs(before)) +
                  rounding<T>() * std::fabs(expected));
    }
}

template <class T> static void vectors(cublasHandle_t handle)
{
    for (auto op : {CUBLAS_OP_N, CUBLAS_OP_T})
        for (int incx : {1, 3, -2})
            for (int incy : {1, 2, -1}) {
                with_vector<T>(handle, op, 37, 21, incx, incy, 1, 0);
                with_vector<T>(handle, op, 1, 600, incx, incy, (T)0.5, 2);
                with_vector<T>(handle, op, 1100, 5, incx, incy, -1, 1);
            }
}

static void outer_product(cublasHandle_t handle)
{
    const int m = 13, n = 9, lda = 15;
    const float alpha = 2;
    Array<float> x(m * 2, 1), y(n * 3, 2), a(lda * n, 3);
    BLAS(cublasSger(handle, m, n, &alpha, x.device, 2, y.device, 3, a.device, lda));
    auto got = a.down();
    for (int j = 0; j < n; j++)
        for (int i = 0; i < lda; i++) {
            double expected = a.host[i + j * lda] + (i < m ? 2.0 * x.host[i * 2] * y.host[j * 3] : 0);
            CHECK(std::fabs(got[i + j * lda] - expected) <= 1e-6);
        }
}

static void matrix_sums(cublasHandle_t handle)
{
    const int m = 150, n = 70;
    const float alpha = 2, beta = -0.5f, zero = 0;
    for (auto ta : {CUBLAS_OP_N, CUBLAS_OP_T})
        for (auto tb : {CUBLAS_OP_N, CUBLAS_OP_T}) {
            const int lda = (ta == CUBLAS_OP_N ? m : n) + 1, ldb = (tb == CUBLAS_OP_N ? m : n) + 2, ldc = m;
            Array<float> a(lda * (ta == CUBLAS_OP_N ? n : m), 1), b(ldb * (tb == CUBLAS_OP_N ? n : m), 2),
                c(ldc * n, 3);
            BLAS(cublasSgeam(handle, ta, tb, m, n, &alpha, a.device, lda, &beta, b.device, ldb, c.device,
                             ldc));
            auto got = c.down();
            for (int j = 0; j < n; j++)
                for (int i = 0; i < m; i++) {
                    float left = ta == CUBLAS_OP_N ? a.host[i + j * lda] : a.host[j + i * lda];
                    float right = tb == CUBLAS_OP_N ? b.host[i + j * ldb] : b.host[j + i * ldb];
                    CHECK(std::fabs(got[i + j * ldc] - (2 * left - 0.5 * right)) <= 1e-6);
                }
        }
    // The way to transpose: B does not exist.
    Array<float> a(m * n, 1), c(m * n, 2);
    const float one = 1;
    BLAS(cublasSgeam(handle, CUBLAS_OP_T, CUBLAS_OP_N, n, m, &one, a.device, m, &zero, nullptr, n, c.device,
                     n));
    auto got = c.down();
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) CHECK(got[j + i * n] == a.host[i + j * m]);
}

int main()
{
    cublasHandle_t handle;
    BLAS(cublasCreate(&handle));
    strided(handle);
    strided_by_type(handle);
    by_pointer(handle);
    vectors<float>(handle);
    vectors<double>(handle);
    outer_product(handle);
    matrix_sums(handle);
    BLAS(cublasDestroy(handle));
    return 0;
}
