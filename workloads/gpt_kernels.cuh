/* The GPT trainer's kernels other than matrix products: embedding, layer normalisation, attention's softmax,
 * GELU, cross entropy, reductions over rows, and AdamW in one launch or in elementary sweeps.
 *
 * No float atomics: every sum is taken by one warp or block in a fixed order, so a run's bits do not depend
 * on scheduling. Kernels that work on rows give each row to one warp: ROWS_PER_BLOCK rows a block, no
 * barriers. */
#ifndef GPT_KERNELS_CUH
#define GPT_KERNELS_CUH

#include <stddef.h>

enum { WARP = 32, BLOCK = 256, ROWS_PER_BLOCK = BLOCK / WARP, VOCABULARY = 256 };

__device__ __forceinline__ float warp_sum(float value)
{
#pragma unroll
    for (int offset = WARP / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
    return value;
}

__device__ __forceinline__ float warp_max(float value)
{
#pragma unroll
    for (int offset = WARP / 2; offset > 0; offset /= 2)
        value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
    return value;
}

__device__ __forceinline__ size_t element_index()
{
    return blockIdx.x * (size_t)BLOCK + threadIdx.x;
}
__device__ __forceinline__ int row_index()
{
    return blockIdx.x * ROWS_PER_BLOCK + threadIdx.x / WARP;
}

/* --- Embedding --- */

/* x[row] = token_table[tokens[row]] + position_table[row % context] */
extern "C" __global__ void embedding_forward(float *x, const float *token_table, const float *position_table,
                                             const int *tokens, int rows, int context, int width)
{
    const size_t i = element_index();
    if (i >= (size_t)rows * width) return;
    const int row = (int)(i / width), column = (int)(i % width);
    x[i] = token_table[(size_t)tokens[row] * width + column] +
           position_table[(size_t)(row % context) * width + column];
}

/* One block for each row of the token table. The rows that hold token v are order[first[v]] … order[first[v +
 * 1] - 1], sorted by the host, so that the sum has one order and each row of dx is read once. */
extern "C" __global__ void embedding_backward_tokens(float *d_table, const float *dx, const int *order,
                                                     const int *first, int width)
{
    const int token = blockIdx.x, begin = first[token], end = first[token + 1];
    if (begin == end) return;
    for (int column = threadIdx.x; column < width; column += BLOCK) {
        float sum = 0.0f;
        for (int i = begin; i < end; i++) sum += dx[(size_t)order[i] * width + column];
        d_table[(size_t)token * width + column] += sum;
    }
}

/* d_table[position] += the sum of dx over the batch */
extern "C" __global__ void embedding_backward_positions(float *d_table, const float *dx, int batch,
                                                        int context, int width)
{
    const size_t i = element_index(), stride = (size_t)context * width;
    if (i >= stride) return;
    float sum = 0.0f;
    for (int b = 0; b < batch; b++) sum += dx[b * stride + i];
    d_table[i] += sum;
}

/* --- Layer normalisation --- */

/* y = (x - mean) * rstd * gain + bias for each row; keeps mean in stats[row], 1 / deviation in stats[rows +
 * row]. */
extern "C" __global__ void layernorm_forward(float *y, float *stats, const float *x, const float *gain,
                                             const float *bias, int rows, int width)
{
    const int row = row_index(), lane = threadIdx.x % WARP;
    if (row >= rows) return;
    const float *in = x + (size_t)row * width;
    float sum = 0.0f;
    for (int i = lane; i < width; i += WARP) sum += in[i];
    const float mean = warp_sum(sum) / width;
    float squares = 0.0f;
    for (int i = lane; i < width; i += WARP) {
        const float d = in[i] - mean;
        squares += d * d;
    }
    const float rstd = 1.0f / sqrtf(warp_sum(squares) / width + 1e-5f);
    for (int i = lane; i < width; i += WARP)
        y[(size_t)row * width + i] = (in[i] - mean) * rstd * gain[i] + bias[i];
    if (lane == 0) {
        stats[row] = mean;
        stats[rows + row] = rstd;
    }
}

/* dx = the gradient through the normalisation + addend (the residual path; may be dx itself, or NULL) */
extern "C" __global__ void layernorm_backward_input(float *dx, const float *addend, const float *dy,
                                                    const float *x, const float *stats, const float *gain,
                                                    int rows, int width)
{
    const int row = row_index(), lane = threadIdx.x % WARP;
    if (row >= rows) return;
    const size_t base = (size_t)row * width;
    const float mean = stats[row], rstd = stats[rows + row];
    float sum = 0.0f, sum_normal = 0.0f;
    for (int i = lane; i < width; i += WARP) {
        const float d = dy[base + i] * gain[i];
        sum += d;
        sum_normal += d * ((x[base + i] - mean) * rstd);
    }
    const float average = warp_sum(sum) / width, average_normal = warp_sum(sum_normal) / width;
    for (int i = lane; i < width; i += WARP) {
        const float normal = (x[base + i] - mean) * rstd;
        const float d = rstd * (dy[base + i] * gain[i] - average - normal * average_normal);
        dx[base + i] = addend ? d + addend[base + i] : d;
    }
}

/* Adds up `partial` over the block's ROWS_PER_BLOCK groups of rows; the first group gets the result. */
__device__ __forceinline__ float sum_row_groups(float partial, float *scratch)
{
    const int group = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    scratch[threadIdx.x] = partial;
    __syncthreads();
    float sum = 0.0f;
    if (group == 0) {
        for (int g = 0; g < ROWS_PER_BLOCK; g++) sum += scratch[g * WARP + lane];
    }
    __syncthreads();
    return sum;
}

/* d_gain, d_bias += sums over all rows; a block has 32 columns and walks the rows in eight interleaved
 * groups. */
extern "C" __global__ void layernorm_backward_parameters(float *d_gain, float *d_bias, const float *dy,
                                                         const float *x, const float *stats, int rows,
                                                         int width)
{
    __shared__ float scratch[BLOCK];
    const int group = threadIdx.x / WARP, column = blockIdx.x * WARP + threadIdx.x % WARP;
    float gain = 0.0f, bias = 0.0f;
    if (column < width) {
        for (int row = group; row < rows; row += ROWS_PER_BLOCK) {
            const size_t at = (size_t)row * width + column;
            gain += dy[at] * ((x[at] - stats[row]) * stats[rows + row]);
            bias += dy[at];
        }
    }
    gain = sum_row_groups(gain, scratch);
    bias = sum_row_groups(bias, scratch);
    if (group == 0 && column < width) {
        d_gain[column] += gain;
        d_bias[column] += bias;
    }
}

/* d_bias[column] += the sum of dy over all rows: the gradient of a bias that was added to every row */
extern "C" __global__ void bias_backward(float *d_bias, const float *dy, int rows, int width)
{
    __shared__ float scratch[BLOCK];
    const int group = threadIdx.x / WARP, column = blockIdx.x * WARP + threadIdx.x % WARP;
    float sum = 0.0f;
    if (column < width) {
        for (int row = group; row < rows; row += ROWS_PER_BLOCK) sum += dy[(size_t)row * width + column];
    }
    sum = sum_row_groups(sum, scratch);
    if (group == 0 && column < width) d_bias[column] += sum;
}

/* --- Attention's softmax, causal: row r of a context x context matrix sees columns 0 … r --- */

extern "C" __global__ void softmax_forward(float *scores, float scale, int rows, int context)
{
    const int row = row_index(), lane = threadIdx.x % WARP;
    if (row >= rows) return;
    const int visible = row % context + 1;
    float *s = scores + (size_t)row * context;
    float highest = -3.0e38f;
    for (int i = lane; i < visible; i += WARP) highest = fmaxf(highest, s[i]);
    highest = warp_max(highest);
    float sum = 0.0f;
    for (int i = lane; i < visible; i += WARP) {
        const float e = __expf((s[i] - highest) * scale);
        s[i] = e;
        sum += e;
    }
    const float normal = 1.0f / warp_sum(sum);
    for (int i = lane; i < context; i += WARP) s[i] = i < visible ? s[i] * normal : 0.0f;
}

/* In place: the gradient of the probabilities becomes that of the scores before scaling. */
extern "C" __global__ void softmax_backward(float *gradient, const float *probabilities, float scale,
                                            int rows, int context)
{
    const int row = row_index(), lane = threadIdx.x % WARP;
    if (row >= rows) return;
    const int visible = row % context + 1;
    const float *p = probabilities + (size_t)row * context;
    float *d = gradient + (size_t)row * context;
    float dot = 0.0f;
    for (int i = lane; i < visible; i += WARP) dot += p[i] * d[i];
    dot = warp_sum(dot);
    for (int i = lane; i < context; i += WARP) d[i] = i < visible ? scale * p[i] * (d[i] - dot) : 0.0f;
}

/* --- GELU, tanh form: x/2 (1 + tanh(u)) = x * sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x^3) --- */

__device__ __forceinline__ float gelu_sigmoid(float x)
{
    return 1.0f / (1.0f + __expf(-1.5957691216f * (x + 0.044715f * x * x * x)));
}

extern "C" __global__ void gelu_forward(float *y, const float *x, size_t count)
{
    const size_t i = element_index();
    if (i < count) y[i] = x[i] * gelu_sigmoid(x[i]);
}

/* In place: the gradient of the output becomes that of the input `x`. */
extern "C" __global__ void gelu_backward(float *gradient, const float *x, size_t count)
{
    const size_t i = element_index();
    if (i >= count) return;
    const float v = x[i], s = gelu_sigmoid(v);
    gradient[i] *= s + v * s * (1.0f - s) * 1.5957691216f * (1.0f + 0.134145f * v * v);
}

/* --- Loss --- */

/* losses[row] = -log softmax(logits[row])[target]; the logits become their gradient times `scale`. */
extern "C" __global__ void cross_entropy(float *logits, float *losses, const int *targets, float scale,
                                         int rows)
{
    const int row = row_index(), lane = threadIdx.x % WARP;
    if (row >= rows) return;
    float *z = logits + (size_t)row * VOCABULARY;
    const int target = targets[row];
    float highest = -3.0e38f;
    for (int i = lane; i < VOCABULARY; i += WARP) highest = fmaxf(highest, z[i]);
    highest = warp_max(highest);
    float sum = 0.0f;
    for (int i = lane; i < VOCABULARY; i += WARP) sum += __expf(z[i] - highest);
    sum = warp_sum(sum);
    if (lane == 0) losses[row] = __logf(sum) + highest - z[target];
    __syncwarp();
    for (int i = lane; i < VOCABULARY; i += WARP)
        z[i] = scale * (__expf(z[i] - highest) / sum - (i == target ? 1.0f : 0.0f));
}

/* *total += scale * the sum of the losses; one block */
extern "C" __global__ void sum_losses(float *total, const float *losses, float scale, int rows)
{
    __shared__ float scratch[ROWS_PER_BLOCK];
    float sum = 0.0f;
    for (int row = threadIdx.x; row < rows; row += BLOCK) sum += losses[row];
    sum = warp_sum(sum);
    if (threadIdx.x % WARP == 0) scratch[threadIdx.x / WARP] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        float all = 0.0f;
        for (int i = 0; i < ROWS_PER_BLOCK; i++) all += scratch[i];
        *total += scale * all;
    }
}

/* --- AdamW (Loshchilov, Hutter 2017). Bias corrections come from the host: step_size = rate / (1 - beta1^t),
 * root_correction = 1 / sqrt(1 - beta2^t). --- */

extern "C" __global__ void adamw(float *weight, const float *gradient, float *m, float *v, size_t count,
                                 float keep, float beta1, float beta2, float step_size, float root_correction,
                                 float epsilon)
{
    const size_t i = element_index();
    if (i >= count) return;
    const float g = gradient[i];
    const float mean = m[i] + (1.0f - beta1) * (g - m[i]);
    const float square = beta2 * v[i] + (1.0f - beta2) * g * g;
    m[i] = mean;
    v[i] = square;
    weight[i] = keep * weight[i] - step_size * mean / (sqrtf(square) * root_correction + epsilon);
}

/* The same in elementary operations, as frameworks without a fused optimizer launch them. */
extern "C" __global__ void sweep_scale(float *x, float factor, size_t count)
{
    const size_t i = element_index();
    if (i < count) x[i] *= factor;
}

extern "C" __global__ void sweep_lerp(float *x, const float *y, float part, size_t count)
{
    const size_t i = element_index();
    if (i < count) x[i] += part * (y[i] - x[i]);
}

extern "C" __global__ void sweep_add_square(float *x, const float *y, float factor, size_t count)
{
    const size_t i = element_index();
    if (i < count) x[i] += factor * y[i] * y[i];
}

extern "C" __global__ void sweep_root(float *y, const float *x, size_t count)
{
    const size_t i = element_index();
    if (i < count) y[i] = sqrtf(x[i]);
}

extern "C" __global__ void sweep_add_constant(float *x, float constant, size_t count)
{
    const size_t i = element_index();
    if (i < count) x[i] += constant;
}

extern "C" __global__ void sweep_subtract_ratio(float *x, const float *above, const float *below,
                                                float factor, size_t count)
{
    const size_t i = element_index();
    if (i < count) x[i] -= factor * (above[i] / below[i]);
}

#endif
