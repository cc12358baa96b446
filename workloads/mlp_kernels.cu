/* The kernels of the multi-layer perceptron. Every sum is added up in one order, so that results depend on
 * nothing but the inputs. Parameters are handed over as packed structures: see mlp_model.c. */

enum { TILE = 32, ROWS_APART = 8, PARTS = TILE / ROWS_APART };

/* How the operands of a product are stored, and what becomes of it. */
enum { A_TRANSPOSED = 1, B_TRANSPOSED = 2, RECTIFIED = 4 };

static __device__ float element(const float *matrix, int row, int column, int rows, int columns,
                                bool transposed)
{
    if (row >= rows || column >= columns) return 0.0f;
    return transposed ? matrix[(size_t)column * rows + row] : matrix[(size_t)row * columns + column];
}

/* C = op(A) op(B) + bias, m by n by k, row-major. Blocks of TILE by ROWS_APART threads; each thread has PARTS
 * elements of a column. */
extern "C" __global__ void product(const float *a, const float *b, const float *bias, float *c, int m, int n,
                                   int k, int form)
{
    __shared__ float a_tile[TILE][TILE + 1], b_tile[TILE][TILE + 1];
    const bool a_transposed = form & A_TRANSPOSED, b_transposed = form & B_TRANSPOSED;
    const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * TILE, column = blockIdx.x * TILE;
    float sum[PARTS] = {};
    for (int depth = 0; depth < k; depth += TILE) {
        for (int p = 0; p < PARTS; p++) { /* neighbouring threads read neighbouring words */
            const int q = y + p * ROWS_APART;
            if (a_transposed)
                a_tile[x][q] = element(a, row + x, depth + q, m, k, true);
            else
                a_tile[q][x] = element(a, row + q, depth + x, m, k, false);
            if (b_transposed)
                b_tile[x][q] = element(b, depth + x, column + q, k, n, true);
            else
                b_tile[q][x] = element(b, depth + q, column + x, k, n, false);
        }
        __syncthreads();
        for (int d = 0; d < TILE; d++)
            for (int p = 0; p < PARTS; p++) sum[p] += a_tile[y + p * ROWS_APART][d] * b_tile[d][x];
        __syncthreads();
    }
    for (int p = 0; p < PARTS; p++) {
        const int r = row + y + p * ROWS_APART;
        if (r >= m || column + x >= n) continue;
        float value = sum[p] + (bias ? bias[column + x] : 0.0f);
        if (form & RECTIFIED) value = fmaxf(value, 0.0f);
        c[(size_t)r * n + column + x] = value;
    }
}

/* sums[j] = the sum of column j. */
extern "C" __global__ void sum_columns(const float *matrix, float *sums, int rows, int columns)
{
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    if (j >= columns) return;
    for (int i = 0; i < rows; i++) sum += matrix[(size_t)i * columns + j];
    sums[j] = sum;
}

/* The gradient passes where the rectified output is positive. */
extern "C" __global__ void rectify_gradient(float *gradient, const float *output, size_t count)
{
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < count && !(output[i] > 0.0f)) gradient[i] = 0.0f;
}

/* A thread for each row of logits: its cross-entropy with the label, and the gradient of the mean of all. */
extern "C" __global__ void cross_entropy(const float *logits, const int *labels, float *losses,
                                         float *gradient, int rows, int classes)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows) return;
    const float *row = logits + (size_t)i * classes;
    float highest = row[0], sum = 0.0f;
    for (int j = 1; j < classes; j++) highest = fmaxf(highest, row[j]);
    for (int j = 0; j < classes; j++) sum += expf(row[j] - highest);
    losses[i] = logf(sum) - (row[labels[i]] - highest);
    for (int j = 0; j < classes; j++)
        gradient[(size_t)i * classes + j] = (expf(row[j] - highest) / sum - (j == labels[i])) / rows;
}

/* One thread. */
extern "C" __global__ void mean(const float *values, float *result, int count)
{
    float sum = 0.0f;
    for (int i = 0; i < count; i++) sum += values[i];
    *result = sum / count;
}

/* Adam (Kingma and Ba 2015); `first_bias` and `second_bias` are 1 - beta^step. */
extern "C" __global__ void adam(float *weights, const float *gradient, float *first, float *second,
                                size_t count, float rate, float first_bias, float second_bias)
{
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= count) return;
    const float g = gradient[i];
    const float m = first[i] = 0.9f * first[i] + 0.1f * g;
    const float v = second[i] = 0.999f * second[i] + 0.001f * g * g;
    weights[i] -= rate * (m / first_bias) / (sqrtf(v / second_bias) + 1e-8f);
}
