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

__device__ float warp_sum(float x)
{
    for (int distance = 16; distance; distance /= 2) x += __shfl_xor_sync(~0u, x, distance);
    return x;
}

__device__ float warp_max(float x)
{
    for (int distance = 16; distance; distance /= 2) x = fmaxf(x, __shfl_xor_sync(~0u, x, distance));
    return x;
}

/* A warp for each row */
extern "C" __global__ void layernorm(float *out, const float *in, const float *scale, const float *shift, int rows,
                                     int columns)
{
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    const float *x = in + (size_t)row * columns;
    float sum = 0, square = 0;
    for (int i = lane; i < columns; i += 32) sum += x[i];
    const float mean = warp_sum(sum) / columns;
    for (int i = lane; i < columns; i += 32) square += (x[i] - mean) * (x[i] - mean);
    const float inverse = rsqrtf(warp_sum(square) / columns + 1e-5f);
    for (int i = lane; i < columns; i += 32)
        out[(size_t)row * columns + i] = (x[i] - mean) * inverse * scale[i] + shift[i];
}

/* A block for each row */
extern "C" __global__ void softmax(float *out, const float *in, int columns)
{
    __shared__ float part[32];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
    const float *x = in + (size_t)blockIdx.x * columns;
    float *y = out + (size_t)blockIdx.x * columns, largest = -INFINITY, sum = 0;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) largest = fmaxf(largest, x[i]);
    largest = warp_max(largest);
    if (lane == 0) part[warp] = largest;
    __syncthreads();
    largest = warp_max(lane < warps ? part[lane] : -INFINITY);
    __syncthreads();
    for (int i = threadIdx.x; i < columns; i += blockDim.x) {
        const float e = __expf(x[i] - largest);
        y[i] = e;
        sum += e;
    }
    sum = warp_sum(sum);
    if (lane == 0) part[warp] = sum;
    __syncthreads();
    const float inverse = 1 / warp_sum(lane < warps ? part[lane] : 0);
    for (int i = threadIdx.x; i < columns; i += blockDim.x) y[i] *= inverse;
}

enum { HEAD = 32, KEYS = 32 };

/* Causal attention of one head for each block row, a query for each thread; rows of HEAD floats */
extern "C" __global__ void __launch_bounds__(128) attention(float *out, const float *query, const float *key,
                                                            const float *value, int length)
{
    __shared__ float keys[KEYS][HEAD], values[KEYS][HEAD];
    const size_t head = (size_t)blockIdx.y * length * HEAD;
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    float q[HEAD], sum[HEAD] = {}, largest = -INFINITY, total = 0;
    for (int i = 0; i < HEAD; i++) q[i] = query[head + (size_t)row * HEAD + i] * 0.17677669f;
    for (int first = 0; first < (int)((blockIdx.x + 1) * blockDim.x); first += KEYS) {
        for (int i = threadIdx.x; i < KEYS * HEAD; i += blockDim.x) {
            keys[i / HEAD][i % HEAD] = key[head + (size_t)first * HEAD + i];
            values[i / HEAD][i % HEAD] = value[head + (size_t)first * HEAD + i];
        }
        __syncthreads();
        for (int k = 0; k < KEYS && first + k <= row; k++) {
            float score = 0;
#pragma unroll
            for (int i = 0; i < HEAD; i++) score = fmaf(q[i], keys[k][i], score);
            const float now = fmaxf(largest, score), rescale = __expf(largest - now), weight = __expf(score - now);
            total = total * rescale + weight;
            largest = now;
#pragma unroll
            for (int i = 0; i < HEAD; i++) sum[i] = fmaf(weight, values[k][i], sum[i] * rescale);
        }
        __syncthreads();
    }
    for (int i = 0; i < HEAD; i++) out[head + (size_t)row * HEAD + i] = sum[i] / total;
}

/* Integers: blocks need no order */
extern "C" __global__ void histogram(unsigned *bins, const unsigned *in, size_t count)
{
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x)
        atomicAdd(&bins[in[i] >> 20 & 1023], 1);
}

/* A float for each lane: applied in the order of blocks */
extern "C" __global__ void scatter(float *sums, const unsigned *index, const float *in, size_t count)
{
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) atomicAdd(&sums[index[i] >> 20 & 1023], in[i]);
}

/* A float for each block: much work, then one addition in the order of blocks */
extern "C" __global__ void total(float *sum, const float *in, size_t count)
{
    __shared__ float part[32];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    float mine = 0;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x)
        mine += in[i] * in[i];
    mine = warp_sum(mine);
    if (lane == 0) part[warp] = mine;
    __syncthreads();
    mine = warp_sum(lane < blockDim.x / 32 ? part[lane] : 0);
    if (threadIdx.x == 0) atomicAdd(sum, mine);
}

/* Lanes stay in the loop for different times. */
extern "C" __global__ void divergent(unsigned *out, unsigned limit)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long x = i + 1;
    unsigned steps = 0;
    while (x != 1 && steps < limit) {
        x = x % 2 ? 3 * x + 1 : x / 2;
        steps++;
    }
    out[i] = steps;
}

extern "C" __global__ void nothing(float *out)
{
    out[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}
