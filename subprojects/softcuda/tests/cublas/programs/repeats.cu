// The same products again and again. Breaks if products that are made at the same time disturb each other.
#include "blas.h"

#include <algorithm>
#include <vector>

int main()
{
    const int batch = 16;
    const Shape s = shape_of(CUBLAS_OP_T, CUBLAS_OP_N, 128, 128, 512, 0);
    const float alpha = 1, beta = 0;
    Array<float> a(s.a_count() * batch, 1), b(s.b_count() * batch, 2), c(s.c_count() * batch, 3);
    cublasHandle_t handle;
    BLAS(cublasCreate(&handle));
    std::vector<float> first;
    for (int i = 0; i < 1000; i++) {
        BLAS(cublasSgemmStridedBatched(handle, s.ta, s.tb, s.m, s.n, s.k, &alpha, a.device, s.lda,
                                       s.a_count(), b.device, s.ldb, s.b_count(), &beta, c.device, s.ldc,
                                       s.c_count(), batch));
        auto got = c.down();
        if (i == 0) first.assign(got.begin(), got.end());
        CHECK(std::equal(first.begin(), first.end(), got.begin()));
    }
    BLAS(cublasDestroy(handle));
    return 0;
}
