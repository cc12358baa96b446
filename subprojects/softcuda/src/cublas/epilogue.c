#include "epilogue.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/half.h"

#define GELU_SCALE 0.7978845608028654f /* sqrt(2 / pi) */
#define GELU_CUBE 0.044715f

/* e^x for |x| <= 87, within 2 units in the last place: 2^n from the bits of n, the remainder by a polynomial.
 * Without a branch, so that loops over it vectorise. */
static inline float exponential(float x)
{
    float turns = x * 1.44269504f + 12582912.0f; /* rounds to an integer in the low bits */
    uint32_t n = sc_bits_of(turns) - sc_bits_of(12582912.0f);
    turns -= 12582912.0f;
    float r = x - turns * 0.693359375f;
    r += turns * 2.12194440e-4f;
    float p = 1.0f / 5040;
    p = p * r + 1.0f / 720;
    p = p * r + 1.0f / 120;
    p = p * r + 1.0f / 24;
    p = p * r + 1.0f / 6;
    p = p * r + 0.5f;
    p = p * r * r + r + 1.0f;
    return sc_float_of(sc_bits_of(p) + (n << 23));
}

/* The hyperbolic tangent, with an absolute error of one unit in the last place of 1. */
static inline float tangent(float x)
{
    float twice = 2 * x;
    twice = twice > 30 ? 30 : twice < -30 ? -30 : twice; /* preserves NaN */
    return 1 - 2 / (exponential(twice) + 1);
}

static inline float gelu(float x)
{
    return 0.5f * x * (1 + tangent(GELU_SCALE * (x + GELU_CUBE * x * x * x)));
}

static inline float gelu_derivative(float x)
{
    float t = tangent(GELU_SCALE * (x + GELU_CUBE * x * x * x));
    return 0.5f * (1 + t) + 0.5f * x * (1 - t * t) * GELU_SCALE * (1 + 3 * GELU_CUBE * x * x);
}

static void add_scaled(float *sums, float alpha, float beta, const float *c, int64_t rows)
{
    if (beta == 0) {
        if (alpha != 1)
            for (int64_t i = 0; i < rows; i++) sums[i] *= alpha;
        return;
    }
    for (int64_t i = 0; i < rows; i++) sums[i] = alpha * sums[i] + beta * c[i];
}

/* One bit per element; the first element has the lowest bit. */
static void store_signs(const float *values, unsigned char *bits, int64_t first, int64_t rows)
{
    for (int64_t i = 0; i < rows; i++) {
        unsigned char mask = (unsigned char)(1u << ((first + i) & 7)), *byte = &bits[(first + i) >> 3];
        *byte = (unsigned char)(values[i] > 0 ? *byte | mask : *byte & ~mask);
    }
}

static void keep_positive(float *values, const unsigned char *bits, int64_t first, int64_t rows)
{
    for (int64_t i = 0; i < rows; i++)
        if (!(bits[(first + i) >> 3] >> ((first + i) & 7) & 1)) values[i] = 0;
}

/* pre: rows <= SC_TILE_ROWS */
static void activate(const struct sc_gemm *gemm, const struct sc_tile *tile, int64_t column, float *values)
{
    const struct sc_gemm_shape *shape = &gemm->shape;
    uint32_t steps = shape->epilogue;
    int64_t rows = tile->rows,
            at = (int64_t)tile->matrix * shape->aux_stride + column * shape->aux_ld + tile->row;
    float kept[SC_TILE_ROWS];
    void *aux = (char *)gemm->aux + (uint64_t)at * sc_type_bytes(shape->aux_type);
    if (steps & SC_EPILOGUE_GELU) {
        if (steps & SC_EPILOGUE_AUX) sc_store_floats(shape->aux_type, values, aux, (size_t)rows);
        for (int64_t i = 0; i < rows; i++) values[i] = gelu(values[i]);
    } else if (steps & SC_EPILOGUE_RELU) {
        if (steps & SC_EPILOGUE_AUX) store_signs(values, (unsigned char *)gemm->aux, at, rows);
        for (int64_t i = 0; i < rows; i++) values[i] = values[i] < 0 ? 0 : values[i]; /* preserves NaN */
    } else if (steps & SC_EPILOGUE_DGELU) {
        sc_load_floats(shape->aux_type, aux, kept, (size_t)rows);
        for (int64_t i = 0; i < rows; i++) values[i] *= gelu_derivative(kept[i]);
    } else if (steps & SC_EPILOGUE_DRELU) {
        keep_positive(values, (const unsigned char *)gemm->aux, at, rows);
    }
}

static void add_bias(const struct sc_gemm *gemm, const struct sc_tile *tile, int64_t column, float *values)
{
    const struct sc_gemm_shape *shape = &gemm->shape;
    float bias[SC_TILE_ROWS];
    int64_t first =
        (int64_t)tile->matrix * shape->bias_stride + (shape->bias_along_columns ? column : tile->row);
    const char *from = (const char *)gemm->bias + (uint64_t)first * sc_type_bytes(shape->bias_type);
    sc_load_floats(shape->bias_type, from, bias, shape->bias_along_columns ? 1 : (size_t)tile->rows);
    if (shape->bias_along_columns)
        for (int64_t i = 0; i < tile->rows; i++) values[i] += bias[0];
    else
        for (int64_t i = 0; i < tile->rows; i++) values[i] += bias[i];
}

void sc_epilogue_store(const struct sc_gemm *gemm, const struct sc_tile *tile, float alpha, float beta,
                       float *sums)
{
    const struct sc_gemm_shape *shape = &gemm->shape;
    uint64_t c = sc_gemm_matrix(shape->by_pointer, gemm->c, shape->stride_c, shape->type_c, tile->matrix);
    uint64_t d = sc_gemm_matrix(shape->by_pointer, gemm->d, shape->stride_d, shape->type_d, tile->matrix);
    float old[SC_TILE_ROWS];
    for (int64_t j = 0; j < tile->columns; j++) {
        float *values = sums + j * tile->rows;
        int64_t column = tile->column + j;
        int64_t in_c = column * shape->ldc + tile->row, in_d = column * shape->ldd + tile->row;
        if (beta != 0)
            sc_load_floats(shape->type_c, (const char *)c + (uint64_t)in_c * sc_type_bytes(shape->type_c),
                           old, (size_t)tile->rows);
        add_scaled(values, alpha, beta, old, tile->rows);
        if (shape->epilogue & SC_EPILOGUE_BIAS) add_bias(gemm, tile, column, values);
        activate(gemm, tile, column, values);
        sc_store_floats(shape->type_d, values, (char *)d + (uint64_t)in_d * sc_type_bytes(shape->type_d),
                        (size_t)tile->rows);
    }
}

/* The sums of the rows (sum_rows) or of the columns (sum_columns) of a matrix whose columns are
 * contiguous. */
static void sum_rows(const char *from, uint8_t type, int64_t rows, int64_t columns, int64_t ld, double *sums)
{
    float values[SC_TILE_ROWS];
    for (int64_t j = 0; j < columns; j++)
        for (int64_t i = 0; i < rows; i += SC_TILE_ROWS) {
            int64_t count = rows - i < SC_TILE_ROWS ? rows - i : SC_TILE_ROWS;
            sc_load_floats(type, from + (uint64_t)(j * ld + i) * sc_type_bytes(type), values, (size_t)count);
            for (int64_t r = 0; r < count; r++) sums[i + r] += values[r];
        }
}

static void sum_columns(const char *from, uint8_t type, int64_t rows, int64_t columns, int64_t ld,
                        double *sums)
{
    float values[SC_TILE_ROWS];
    for (int64_t j = 0; j < columns; j++)
        for (int64_t i = 0; i < rows; i += SC_TILE_ROWS) {
            int64_t count = rows - i < SC_TILE_ROWS ? rows - i : SC_TILE_ROWS;
            sc_load_floats(type, from + (uint64_t)(j * ld + i) * sc_type_bytes(type), values, (size_t)count);
            for (int64_t r = 0; r < count; r++) sums[j] += values[r];
        }
}

bool sc_epilogue_bias_gradient(const struct sc_gemm *gemm, uint32_t matrix)
{
    const struct sc_gemm_shape *shape = &gemm->shape;
    uint64_t a = sc_gemm_matrix(shape->by_pointer, gemm->a, shape->stride_a, shape->type_a, matrix);
    uint64_t b = sc_gemm_matrix(shape->by_pointer, gemm->b, shape->stride_b, shape->type_b, matrix);
    uint64_t d = sc_gemm_matrix(shape->by_pointer, gemm->d, shape->stride_d, shape->type_d, matrix);
    int64_t count = shape->epilogue & SC_EPILOGUE_BGRADB ? shape->n : shape->m;
    double *sums = calloc((size_t)count, sizeof *sums);
    if (!sums) return false;
    if (shape->epilogue & SC_EPILOGUE_BGRAD)
        sum_rows((const char *)d, shape->type_d, shape->m, shape->n, shape->ldd, sums);
    else if (shape->epilogue & SC_EPILOGUE_BGRADA && shape->transpose_a)
        sum_columns((const char *)a, shape->type_a, shape->k, shape->m, shape->lda, sums);
    else if (shape->epilogue & SC_EPILOGUE_BGRADA)
        sum_rows((const char *)a, shape->type_a, shape->m, shape->k, shape->lda, sums);
    else if (shape->transpose_b)
        sum_rows((const char *)b, shape->type_b, shape->n, shape->k, shape->ldb, sums);
    else
        sum_columns((const char *)b, shape->type_b, shape->k, shape->n, shape->ldb, sums);
    uint64_t to =
        gemm->bias + (uint64_t)((int64_t)matrix * shape->bias_stride) * sc_type_bytes(shape->bias_type);
    sc_store_doubles(shape->bias_type, sums, (void *)to, 1, (size_t)count);
    free(sums);
    return true;
}
