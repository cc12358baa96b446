// Breaks if tiles in shared memory, fused multiply-add or two-dimensional grids give other sums than the
// host.
#include "check.h"

#include <cmath>
#include <vector>

const int TILE = 16;

template <typename T> __global__ void multiply(const T *a, const T *b, T *c, int rows, int inner, int columns)
{
    __shared__ T left[TILE][TILE + 1], right[TILE][TILE + 1];
    const int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    T sum = 0;
    for (int k = 0; k < inner; k += TILE) {
        left[threadIdx.y][threadIdx.x] =
            row < rows && k + threadIdx.x < inner ? a[row * inner + k + threadIdx.x] : T(0);
        right[threadIdx.y][threadIdx.x] =
            column < columns && k + threadIdx.y < inner ? b[(k + threadIdx.y) * columns + column] : T(0);
        __syncthreads();
        for (int i = 0; i < TILE; i++) sum = fma(left[threadIdx.y][i], right[i][threadIdx.x], sum);
        __syncthreads();
    }
    if (row < rows && column < columns) c[row * columns + column] = sum;
}

template <typename T> static void run(int rows, int inner, int columns)
{
    std::vector<T> a(rows * inner), b(inner * columns), c(rows * columns);
    for (size_t i = 0; i < a.size(); i++) a[i] = T((int)(i * 37 % 101) - 50) / 16;
    for (size_t i = 0; i < b.size(); i++) b[i] = T((int)(i * 53 % 97) - 48) / 7;
    T *da, *db, *dc;
    CUDA(cudaMalloc(&da, a.size() * sizeof(T)));
    CUDA(cudaMalloc(&db, b.size() * sizeof(T)));
    CUDA(cudaMalloc(&dc, c.size() * sizeof(T)));
    CUDA(cudaMemcpy(da, a.data(), a.size() * sizeof(T), cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(db, b.data(), b.size() * sizeof(T), cudaMemcpyHostToDevice));
    const dim3 grid((columns + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
    multiply<T><<<grid, dim3(TILE, TILE)>>>(da, db, dc, rows, inner, columns);
    CUDA(cudaGetLastError());
    CUDA(cudaMemcpy(c.data(), dc, c.size() * sizeof(T), cudaMemcpyDeviceToHost));
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) {
            T sum = 0;
            for (int k = 0; k < inner; k++) sum = std::fma(a[i * inner + k], b[k * columns + j], sum);
            CHECK(c[i * columns + j] == sum); /* the same roundings in the same order: the same bits */
        }
    CUDA(cudaFree(da));
    CUDA(cudaFree(db));
    CUDA(cudaFree(dc));
}

int main()
{
    run<float>(33, 65, 50);
    run<double>(17, 40, 70);
    return 0;
}
