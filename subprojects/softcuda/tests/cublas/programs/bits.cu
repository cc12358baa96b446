// Prints a number that depends on every bit of the results of large products, in a chain in which each needs
// the one before. Other runs, with other numbers of threads, orders of work or memory, must print the same.
#include "blas.h"

static uint64_t mark = 0xcbf29ce484222325u; // FNV-1a (Fowler, Noll, Vo)

template <class T> static void add(const Array<T> &array)
{
    auto got = array.down();
    auto bytes = reinterpret_cast<const unsigned char *>(got.data());
    for (size_t i = 0; i < got.size() * sizeof(T); i++) mark = (mark ^ bytes[i]) * 0x100000001b3u;
}

int main()
{
    const int n = 700, rounds = 4;
    const float small = 0.04f, none = 0, some = 0.5f;
    cublasHandle_t handle;
    BLAS(cublasCreate(&handle));
    Array<float> a(n * n, 1), b(n * n, 2), c(n * n, 3), d(n * n, 4), x(n, 5), y(n, 6);
    Array<__nv_bfloat16> e(n * n, 7), f(n * n, 8), g(n * n, 9);
    for (int i = 0; i < rounds; i++) {
        BLAS(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_T, n, n, n, &small, a.device, n, b.device, n, &some,
                         c.device, n));
        BLAS(cublasSgemm(handle, CUBLAS_OP_T, CUBLAS_OP_N, n, n, n, &small, c.device, n, b.device, n, &none,
                         d.device, n));
        BLAS(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &small, e.device, CUDA_R_16BF, n,
                          f.device, CUDA_R_16BF, n, &some, g.device, CUDA_R_16BF, n, CUBLAS_COMPUTE_32F,
                          CUBLAS_GEMM_DEFAULT));
        BLAS(cublasSgemv(handle, CUBLAS_OP_T, n, n, &small, d.device, n, x.device, 1, &some, y.device, 1));
        float dot, norm;
        BLAS(cublasSdot(handle, n * n, d.device, 1, c.device, 1, &dot));
        BLAS(cublasSnrm2(handle, n * n, a.device, 1, &norm));
        dot /= norm * norm * norm;
        BLAS(cublasSaxpy(handle, n * n, &dot, d.device, 1, a.device, 1));
        CUDA(cudaMemcpy(e.device, g.device, n * n * sizeof(__nv_bfloat16), cudaMemcpyDeviceToDevice));
    }
    add(a);
    add(c);
    add(d);
    add(y);
    add(g);
    BLAS(cublasDestroy(handle));
    std::printf("%016llx\n", (unsigned long long)mark);
    return 0;
}
