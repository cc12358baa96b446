// Operations on vectors. Breaks if an increment or a pointer mode is misread, if a result arrives too late or
// in the wrong place, if ties of amax are not broken towards the first, or if squares overflow in a norm.
#include "blas.h"

static const int counts[] = {0, 1, 2, 511, 513, 70000};

static size_t place(int i, int count, int inc)
{
    return inc >= 0 ? (size_t)i * inc : (size_t)(count - 1 - i) * -inc;
}

static size_t room(int count, int inc)
{
    return count ? (size_t)(count - 1) * std::abs(inc) + 1 : 1;
}

template <class T> struct Calls;
template <> struct Calls<float> {
    static constexpr auto axpy = cublasSaxpy;
    static constexpr auto scal = cublasSscal;
    static constexpr auto copy = cublasScopy;
    static constexpr auto swap = cublasSswap;
    static constexpr auto dot = cublasSdot;
    static constexpr auto nrm2 = cublasSnrm2;
    static constexpr auto asum = cublasSasum;
    static constexpr auto amax = cublasIsamax;
    static constexpr auto amin = cublasIsamin;
};
template <> struct Calls<double> {
    static constexpr auto axpy = cublasDaxpy;
    static constexpr auto scal = cublasDscal;
    static constexpr auto copy = cublasDcopy;
    static constexpr auto swap = cublasDswap;
    static constexpr auto dot = cublasDdot;
    static constexpr auto nrm2 = cublasDnrm2;
    static constexpr auto asum = cublasDasum;
    static constexpr auto amax = cublasIdamax;
    static constexpr auto amin = cublasIdamin;
};

template <class T> static void updates(cublasHandle_t handle, int n, int incx, int incy)
{
    const T alpha = (T)1.25;
    Array<T> x(room(n, incx), 1), y(room(n, incy), 2), factor(1);
    factor.host[0] = alpha;
    factor.up();
    BLAS(Calls<T>::axpy(handle, n, &alpha, x.device, incx, y.device, incy));
    auto got = y.down();
    for (int i = 0; i < n; i++) {
        T before = y.host[place(i, n, incy)], expected = std::fma(alpha, x.host[place(i, n, incx)], before);
        CHECK(std::fabs(got[place(i, n, incy)] - expected) <= 2 * rounding<T>() * std::fabs(expected));
    }
    BLAS(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE));
    if (incx > 0) BLAS(Calls<T>::scal(handle, n, factor.device, x.device, incx));
    BLAS(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST));
    auto scaled = x.down();
    for (size_t i = 0; i < scaled.size() && n; i++)
        CHECK(scaled[i] == (incx > 0 && i % incx == 0 ? alpha * x.host[i] : x.host[i]));
    BLAS(Calls<T>::swap(handle, n, x.device, incx, y.device, incy));
    auto x_after = x.down(), y_after = y.down();
    for (int i = 0; i < n; i++) {
        CHECK(x_after[place(i, n, incx)] == got[place(i, n, incy)]);
        CHECK(y_after[place(i, n, incy)] == scaled[place(i, n, incx)]);
    }
    BLAS(Calls<T>::copy(handle, n, x.device, incx, y.device, incy));
    y_after = y.down();
    for (int i = 0; i < n; i++) CHECK(y_after[place(i, n, incy)] == x_after[place(i, n, incx)]);
}

template <class T> static void reductions(cublasHandle_t handle, int n, int incx, int incy)
{
    Array<T> x(room(n, incx), 1), y(room(n, incy), 2), results(3);
    double dot = 0, norm = 0, sum = 0, size = 0;
    int largest = 0, smallest = 0;
    for (int i = 0; i < n; i++) {
        double a = x.host[place(i, n, incx)], b = y.host[place(i, n, incy)];
        dot += a * b;
        size += std::fabs(a * b);
        norm += a * a;
        sum += std::fabs(a);
        if (std::fabs(a) > std::fabs(x.host[place(largest, n, incx)])) largest = i;
        if (std::fabs(a) < std::fabs(x.host[place(smallest, n, incx)])) smallest = i;
    }
    T got_dot = 9, got_norm = 9, got_sum = 9;
    int got_largest = -1, got_smallest = -1;
    BLAS(Calls<T>::dot(handle, n, x.device, incx, y.device, incy, &got_dot));
    CHECK(std::fabs(got_dot - dot) <= (n + 2) * rounding<T>() * size);
    // On the device nothing is waited for.
    BLAS(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE));
    BLAS(Calls<T>::dot(handle, n, x.device, incx, y.device, incy, results.device));
    BLAS(Calls<T>::asum(handle, n, x.device, std::abs(incx), results.device + 1));
    BLAS(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST));
    auto on_device = results.down();
    CHECK(on_device[0] == got_dot);
    if (incx < 0) return; // no sum of one vector that runs backwards
    BLAS(Calls<T>::nrm2(handle, n, x.device, incx, &got_norm));
    BLAS(Calls<T>::asum(handle, n, x.device, incx, &got_sum));
    BLAS(Calls<T>::amax(handle, n, x.device, incx, &got_largest));
    BLAS(Calls<T>::amin(handle, n, x.device, incx, &got_smallest));
    CHECK(std::fabs(got_norm - std::sqrt(norm)) <= (n + 2) * rounding<T>() * std::sqrt(norm));
    CHECK(std::fabs(got_sum - sum) <= (n + 2) * rounding<T>() * sum);
    CHECK(on_device[1] == got_sum);
    CHECK(got_largest == (n ? largest + 1 : 0));
    CHECK(got_smallest == (n ? smallest + 1 : 0));
}

static void first_of_equals(cublasHandle_t handle)
{
    Array<float> x(70000);
    x.fill(1);
    x.host[3] = x.host[66000] = -4;
    x.host[20] = x.host[69999] = 0;
    x.up();
    int index;
    BLAS(cublasIsamax(handle, 70000, x.device, 1, &index));
    CHECK(index == 4);
    BLAS(cublasIsamin(handle, 70000, x.device, 1, &index));
    CHECK(index == 21);
    int64_t wide;
    BLAS(cublasIsamax_v2_64(handle, 70000, x.device, 1, &wide));
    CHECK(wide == 4);
}

static void norms_of_large_numbers(cublasHandle_t handle)
{
    Array<double> x(4);
    double norm;
    for (double size : {1e-200, 1e200}) {
        for (auto &element : x.host) element = size;
        x.up();
        BLAS(cublasDnrm2(handle, 4, x.device, 1, &norm));
        CHECK(std::fabs(norm - 2 * size) <= 1e-14 * size);
    }
}

static void by_type(cublasHandle_t handle)
{
    const int n = 100;
    const float alpha = 0.5f;
    Array<__half> x(n, 1), y(n, 2);
    BLAS(cublasAxpyEx(handle, n, &alpha, CUDA_R_32F, x.device, CUDA_R_16F, 1, y.device, CUDA_R_16F, 1,
                      CUDA_R_32F));
    auto got = y.down();
    for (int i = 0; i < n; i++)
        CHECK(std::fabs(number(got[i]) - (0.5 * number(x.host[i]) + number(y.host[i]))) <= 0x1p-10);
    BLAS(cublasScalEx(handle, n, &alpha, CUDA_R_32F, x.device, CUDA_R_16F, 1, CUDA_R_32F));
    auto scaled = x.down();
    for (int i = 0; i < n; i++) CHECK(std::fabs(number(scaled[i]) - 0.5 * number(x.host[i])) <= 0x1p-12);
    __half dot;
    double expected = 0;
    BLAS(cublasDotEx(handle, n, x.device, CUDA_R_16F, 1, y.device, CUDA_R_16F, 1, &dot, CUDA_R_16F,
                     CUDA_R_32F));
    for (int i = 0; i < n; i++) expected += number(scaled[i]) * number(got[i]);
    CHECK(std::fabs(number(dot) - expected) <= 0x1p-8 * (std::fabs(expected) + 1));
}

static void transfers()
{
    const int rows = 10, columns = 6, lda = 13;
    Array<float> matrix(rows * columns, 1);
    std::vector<float> host(lda * columns, -1.f), back(lda * columns, -1.f);
    for (int j = 0; j < columns; j++)
        for (int i = 0; i < rows; i++) host[i + j * lda] = i + 100 * j;
    BLAS(cublasSetMatrix(rows, columns, sizeof(float), host.data(), lda, matrix.device, rows));
    auto got = matrix.down();
    for (int i = 0; i < rows * columns; i++) CHECK(got[i] == i % rows + 100 * (i / rows));
    BLAS(cublasGetMatrix(rows, columns, sizeof(float), matrix.device, rows, back.data(), lda));
    CHECK(back == host);
    std::vector<float> every_second(9, -1.f);
    BLAS(cublasGetVector(5, sizeof(float), matrix.device, 3, every_second.data(), 2));
    for (int i = 0; i < 9; i++) CHECK(every_second[i] == (i % 2 ? -1 : got[i / 2 * 3]));
    cudaStream_t stream;
    CUDA(cudaStreamCreate(&stream));
    BLAS(cublasSetVectorAsync(5, sizeof(float), host.data(), 1, matrix.device, 2, stream));
    CUDA(cudaStreamSynchronize(stream));
    got = matrix.down();
    for (int i = 0; i < 5; i++) CHECK(got[2 * i] == host[i]);
    CUDA(cudaStreamDestroy(stream));
}

template <class T> static void all(cublasHandle_t handle)
{
    for (int n : counts)
        for (int incx : {1, 2, -3})
            for (int incy : {1, -2}) {
                updates<T>(handle, n, incx, incy);
                reductions<T>(handle, n, incx, incy);
            }
}

int main()
{
    cublasHandle_t handle;
    BLAS(cublasCreate(&handle));
    all<float>(handle);
    all<double>(handle);
    first_of_equals(handle);
    norms_of_large_numbers(handle);
    by_type(handle);
    transfers();
    BLAS(cublasDestroy(handle));
    return 0;
}
