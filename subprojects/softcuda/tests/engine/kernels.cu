/* Kernels for bench.c: what a training step spends its time in. */
#include <cstddef>

enum { TILE = 64, DEPTH = 16, PITCH = 68 };

/* c = a b, square, row-major, n a multiple of 64: blocks of 256 threads, 4x4 elements a thread */
extern "C" __global__ void __launch_bounds__(256) product(const float *a, const float *b, float *c, int n)
{
    __shared__ __align__(16) float a_tile[DEPTH][PITCH];
    __shared__ __align__(16) float b_tile[DEPTH][PITCH];
    const int t = threadIdx.x, tx = t % 16, ty = t / 16, row = blockIdx.y * TILE, column = blockIdx.x * TILE;
    float sum[4][4] = {};
    for (int k0 = 0; k0 < n; k0 += DEPTH) {
        for (int j = 0; j < 4; j++) {
            a_tile[t % 16][t / 16 + 16 * j] = a[(row + t / 16 + 16 * j) * n + k0 + t % 16];
            b_tile[t / 64 + 4 * j][t % 64] = b[(k0 + t / 64 + 4 * j) * n + column + t % 64];
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < DEPTH; k++) {
            const float4 x = *(const float4 *)&a_tile[k][ty * 4], y = *(const float4 *)&b_tile[k][tx * 4];
            const float xs[4] = {x.x, x.y, x.z, x.w}, ys[4] = {y.x, y.y, y.z, y.w};
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) sum[i][j] = fmaf(xs[i], ys[j], sum[i][j]);
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) c[(row + ty * 4 + i) * n + column + tx * 4 + j] = sum[i][j];
}

extern "C" __global__ void adamw(float *weight, const float *gradient, float *m, float *v, size_t count,
                                 float rate, float beta1, float beta2, float epsilon, float decay)
{
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const float g = gradient[i];
    const float mean = beta1 * m[i] + (1 - beta1) * g, square = beta2 * v[i] + (1 - beta2) * g * g;
    m[i] = mean;
    v[i] = square;
    weight[i] -= rate * (mean / (sqrtf(square) + epsilon) + decay * weight[i]);
}
