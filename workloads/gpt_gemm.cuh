/* Matrix products of the GPT trainer: C = op(A) op(B) + bias + addend, row-major, fp32.
 *
 * A block of 256 threads computes a 64x64 tile of C, 4x4 elements a thread, from 16-deep tiles of A and B in
 * shared memory. The depth is walked in order by one block, so results do not depend on scheduling. Rows and
 * columns beyond the matrix are clamped when read and left out when written; only a ragged depth needs zeros.
 */
#ifndef GPT_GEMM_CUH
#define GPT_GEMM_CUH

enum { GEMM_TILE = 64, GEMM_DEPTH = 16, GEMM_PITCH = 68, GEMM_THREADS = 256 };

/* One product, or a batch of outer x inner equal ones: number z works on a + (z / inner) * a_outer + (z %
 * inner) * a_inner, and so on. A batch of heads inside a batch of sequences needs both strides. */
struct Gemm {
    const float *a, *b;
    const float *bias;   /* n floats, or NULL */
    const float *addend; /* shaped and strided like c, may be c itself (accumulate), or NULL */
    float *c;
    int m, n, k;
    int lda, ldb, ldc; /* floats from one stored row to the next */
    long long inner;
    long long a_outer, a_inner, b_outer, b_inner, c_outer, c_inner;
};

/* The four elements a thread brings into a tile at every step along the depth. `DEPTH_CONTIGUOUS` tells how
 * the operand is stored: element (i, k) at [i * ld + k], or at [k * ld + i]. */
template <bool DEPTH_CONTIGUOUS> struct TileReader {
    const float *source[4];
    long long step;
    int depth, row;

    __device__ __forceinline__ void start(const float *base, int first, int extent, int ld)
    {
        const int t = threadIdx.x;
        depth = DEPTH_CONTIGUOUS ? t % GEMM_DEPTH : t / GEMM_TILE;
        row = DEPTH_CONTIGUOUS ? t / GEMM_DEPTH : t % GEMM_TILE;
        step = DEPTH_CONTIGUOUS ? GEMM_DEPTH : (long long)GEMM_DEPTH * ld;
#pragma unroll
        for (int j = 0; j < 4; j++) {
            const long long i = min(first + row + (DEPTH_CONTIGUOUS ? 16 * j : 0), extent - 1);
            const long long k = depth + (DEPTH_CONTIGUOUS ? 0 : 4 * j);
            source[j] = base + (DEPTH_CONTIGUOUS ? i * ld + k : k * ld + i);
        }
    }

    /* `left`: how much of the depth remains, less than GEMM_DEPTH only where RAGGED. */
    template <bool RAGGED> __device__ __forceinline__ void load(float tile[GEMM_DEPTH][GEMM_PITCH], int left)
    {
#pragma unroll
        for (int j = 0; j < 4; j++) {
            const int k = depth + (DEPTH_CONTIGUOUS ? 0 : 4 * j);
            const int i = row + (DEPTH_CONTIGUOUS ? 16 * j : 0);
            tile[k][i] = !RAGGED || k < left ? *source[j] : 0.0f;
            source[j] += step;
        }
    }
};

__device__ __forceinline__ void gemm_multiply(float sum[4][4], const float a_tile[GEMM_DEPTH][GEMM_PITCH],
                                              const float b_tile[GEMM_DEPTH][GEMM_PITCH], int ty, int tx)
{
#pragma unroll
    for (int k = 0; k < GEMM_DEPTH; k++) {
        const float4 a = *(const float4 *)&a_tile[k][ty * 4];
        const float4 b = *(const float4 *)&b_tile[k][tx * 4];
        const float av[4] = {a.x, a.y, a.z, a.w}, bv[4] = {b.x, b.y, b.z, b.w};
#pragma unroll
        for (int i = 0; i < 4; i++) {
#pragma unroll
            for (int j = 0; j < 4; j++) sum[i][j] = fmaf(av[i], bv[j], sum[i][j]);
        }
    }
}

template <bool TRANSPOSE_A, bool TRANSPOSE_B> __device__ __forceinline__ void gemm_tile(const Gemm &g)
{
    __shared__ __align__(16) float a_tile[GEMM_DEPTH][GEMM_PITCH];
    __shared__ __align__(16) float b_tile[GEMM_DEPTH][GEMM_PITCH];
    const long long outer = blockIdx.z / (int)g.inner, inner = blockIdx.z % (int)g.inner;
    const int row0 = blockIdx.y * GEMM_TILE, column0 = blockIdx.x * GEMM_TILE;
    const int ty = threadIdx.x / 16, tx = threadIdx.x % 16;
    TileReader<!TRANSPOSE_A> a;
    TileReader<TRANSPOSE_B> b;
    a.start(g.a + outer * g.a_outer + inner * g.a_inner, row0, g.m, g.lda);
    b.start(g.b + outer * g.b_outer + inner * g.b_inner, column0, g.n, g.ldb);
    float sum[4][4] = {};
    int left = g.k;
    for (; left >= GEMM_DEPTH; left -= GEMM_DEPTH) {
        a.template load<false>(a_tile, left);
        b.template load<false>(b_tile, left);
        __syncthreads();
        gemm_multiply(sum, a_tile, b_tile, ty, tx);
        __syncthreads();
    }
    if (left > 0) {
        a.template load<true>(a_tile, left);
        b.template load<true>(b_tile, left);
        __syncthreads();
        gemm_multiply(sum, a_tile, b_tile, ty, tx);
    }
    const long long c_base = outer * g.c_outer + inner * g.c_inner;
#pragma unroll
    for (int i = 0; i < 4; i++) {
#pragma unroll
        for (int j = 0; j < 4; j++) {
            const int row = row0 + ty * 4 + i, column = column0 + tx * 4 + j;
            if (row < g.m && column < g.n) {
                const long long at = c_base + (long long)row * g.ldc + column;
                float value = sum[i][j];
                if (g.bias) value += g.bias[column];
                if (g.addend) value += g.addend[at];
                g.c[at] = value;
            }
        }
    }
}

/* The letters tell whether A and B are taken as stored (n) or transposed (t). */
extern "C" __global__ void __launch_bounds__(GEMM_THREADS) gemm_nn(Gemm g)
{
    gemm_tile<false, false>(g);
}
extern "C" __global__ void __launch_bounds__(GEMM_THREADS) gemm_nt(Gemm g)
{
    gemm_tile<false, true>(g);
}
extern "C" __global__ void __launch_bounds__(GEMM_THREADS) gemm_tn(Gemm g)
{
    gemm_tile<true, false>(g);
}

#endif
