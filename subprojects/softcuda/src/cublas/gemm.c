#include "gemm.h"

#include <stdlib.h>
#include <string.h>

#include "epilogue.h"
#include "openblas.h"
#include "touch.h"

#define DEPTH 1024 /* elements along k that are converted to single precision at a time */
#define WORTHWHILE_FLOPS 1000000

/* The tiles of D depend on its size only, so results do not depend on which worker computes a tile. */
struct run {
    const struct sc_gemm *gemm;
    double alpha, beta;
    int64_t tile_rows, tile_columns;
    uint32_t tiles_down, tiles_across;
    uint32_t tiles, tiles_at_once;
    bool no_memory; /* atomic */
};

static void read_scalars(const struct sc_gemm *gemm, double *alpha, double *beta)
{
    const struct sc_gemm_shape *shape = &gemm->shape;
    *alpha = gemm->alpha ? sc_load_one(shape->scalar_type, (const void *)gemm->alpha) : shape->alpha;
    *beta = gemm->beta ? sc_load_one(shape->scalar_type, (const void *)gemm->beta) : shape->beta;
}

static bool touch_extras(struct sc_native_launch *launch, const struct sc_gemm *gemm, uint32_t matrix)
{
    const struct sc_gemm_shape *shape = &gemm->shape;
    uint32_t steps = shape->epilogue;
    const uint32_t gradients = SC_EPILOGUE_BGRAD | SC_EPILOGUE_BGRADA | SC_EPILOGUE_BGRADB;
    if (steps & (SC_EPILOGUE_BIAS | gradients)) {
        bool across = steps & SC_EPILOGUE_BGRADB || (steps & SC_EPILOGUE_BIAS && shape->bias_along_columns);
        uint64_t size = sc_type_bytes(shape->bias_type);
        uint64_t at = gemm->bias + (uint64_t)((int64_t)matrix * shape->bias_stride) * size;
        if (!sc_touch_bytes(launch, at, (uint64_t)(across ? shape->n : shape->m) * size,
                            steps & gradients ? SC_WRITE : SC_READ))
            return false;
    }
    bool reads = steps & (SC_EPILOGUE_DRELU | SC_EPILOGUE_DGELU);
    if (!reads && !(steps & SC_EPILOGUE_AUX)) return true;
    if (steps & (SC_EPILOGUE_GELU | SC_EPILOGUE_DGELU)) {
        uint64_t at =
            gemm->aux + (uint64_t)((int64_t)matrix * shape->aux_stride) * sc_type_bytes(shape->aux_type);
        return sc_touch_matrix(launch, at, shape->m, shape->n, shape->aux_ld, shape->aux_type,
                               reads ? SC_READ : SC_WRITE);
    }
    uint64_t first = (uint64_t)((int64_t)matrix * shape->aux_stride) / 8;
    struct sc_native_access bits = {gemm->aux + first,
                                    ((uint64_t)shape->m + 7) / 8,
                                    (uint64_t)shape->aux_ld / 8,
                                    (uint64_t)shape->n,
                                    .reads = true,
                                    .writes = !reads};
    return launch->touch(launch, &bits);
}

static bool touch_batch(struct sc_native_launch *launch, const struct sc_gemm *gemm, uint32_t matrix,
                        bool product, bool old)
{
    const struct sc_gemm_shape *shape = &gemm->shape;
    uint64_t a = sc_gemm_matrix(shape->by_pointer, gemm->a, shape->stride_a, shape->type_a, matrix);
    uint64_t b = sc_gemm_matrix(shape->by_pointer, gemm->b, shape->stride_b, shape->type_b, matrix);
    uint64_t c = sc_gemm_matrix(shape->by_pointer, gemm->c, shape->stride_c, shape->type_c, matrix);
    uint64_t d = sc_gemm_matrix(shape->by_pointer, gemm->d, shape->stride_d, shape->type_d, matrix);
    bool ta = shape->transpose_a, tb = shape->transpose_b;
    if (product && (!sc_touch_matrix(launch, a, ta ? shape->k : shape->m, ta ? shape->m : shape->k,
                                     shape->lda, shape->type_a, SC_READ) ||
                    !sc_touch_matrix(launch, b, tb ? shape->n : shape->k, tb ? shape->k : shape->n,
                                     shape->ldb, shape->type_b, SC_READ)))
        return false;
    if (old && !sc_touch_matrix(launch, c, shape->m, shape->n, shape->ldc, shape->type_c, SC_READ))
        return false;
    return sc_touch_matrix(launch, d, shape->m, shape->n, shape->ldd, shape->type_d, SC_WRITE) &&
           touch_extras(launch, gemm, matrix);
}

static bool describe(struct sc_native_launch *launch)
{
    const struct sc_gemm *gemm = launch->parameters;
    const struct sc_gemm_shape *shape = &gemm->shape;
    uint64_t scalar = sc_type_bytes(shape->scalar_type), array = shape->batch * sizeof(uint64_t);
    if (gemm->alpha && !sc_touch_bytes(launch, gemm->alpha, scalar, SC_READ)) return false;
    if (gemm->beta && !sc_touch_bytes(launch, gemm->beta, scalar, SC_READ)) return false;
    if (shape->by_pointer && (!sc_touch_bytes(launch, gemm->a, array, SC_READ) ||
                              !sc_touch_bytes(launch, gemm->b, array, SC_READ) ||
                              !sc_touch_bytes(launch, gemm->c, array, SC_READ) ||
                              !sc_touch_bytes(launch, gemm->d, array, SC_READ)))
        return false;
    double alpha, beta;
    read_scalars(gemm, &alpha, &beta);
    bool gradient = shape->epilogue & (SC_EPILOGUE_BGRADA | SC_EPILOGUE_BGRADB);
    bool product = (alpha != 0 && shape->k > 0) || gradient;
    for (uint32_t i = 0; i < shape->batch; i++)
        if (!touch_batch(launch, gemm, i, product, beta != 0)) return false;
    if (!product) return true;
    launch->product = (struct sc_matrix_work){shape->rate, (uint64_t)shape->m, (uint64_t)shape->n,
                                              (uint64_t)shape->k, shape->batch};
    launch->flops += 2 * launch->product.m * launch->product.n * launch->product.k * shape->batch;
    return true;
}

static bool fits_int(const struct sc_gemm_shape *shape)
{
    return shape->lda <= INT32_MAX && shape->ldb <= INT32_MAX && shape->ldd <= INT32_MAX &&
           shape->k <= INT32_MAX;
}

/* Whether OpenBLAS can use the operands without conversion. */
static bool is_plain(const struct sc_gemm_shape *shape, uint8_t type)
{
    return shape->type_a == type && shape->type_b == type && shape->type_c == type && shape->type_d == type &&
           !(shape->epilogue & ~(uint32_t)(SC_EPILOGUE_BGRAD | SC_EPILOGUE_BGRADA | SC_EPILOGUE_BGRADB)) &&
           fits_int(shape);
}

/* The address of the element of op(X) at (row, column). */
static const char *element(uint64_t base, bool transposed, int64_t row, int64_t column, int64_t ld,
                           uint8_t type)
{
    int64_t at = transposed ? column + row * ld : row + column * ld;
    return (const char *)base + (uint64_t)at * sc_type_bytes(type);
}

static void bring_old(uint64_t c, uint64_t d, const struct sc_gemm_shape *shape, const struct sc_tile *tile)
{
    size_t size = sc_type_bytes(shape->type_d);
    if (c == d && shape->ldc == shape->ldd) return;
    for (int64_t j = tile->column; j < tile->column + tile->columns; j++)
        memcpy((char *)d + (uint64_t)(j * shape->ldd + tile->row) * size,
               (const char *)c + (uint64_t)(j * shape->ldc + tile->row) * size, (uint64_t)tile->rows * size);
}

static void multiply_plain(const struct run *run, const struct sc_tile *tile)
{
    const struct sc_gemm *gemm = run->gemm;
    const struct sc_gemm_shape *shape = &gemm->shape;
    uint8_t type = shape->type_d;
    bool batch = shape->by_pointer;
    uint64_t a = sc_gemm_matrix(batch, gemm->a, shape->stride_a, type, tile->matrix);
    uint64_t b = sc_gemm_matrix(batch, gemm->b, shape->stride_b, type, tile->matrix);
    uint64_t c = sc_gemm_matrix(batch, gemm->c, shape->stride_c, type, tile->matrix);
    uint64_t d = sc_gemm_matrix(batch, gemm->d, shape->stride_d, type, tile->matrix);
    if (run->beta != 0) bring_old(c, d, shape, tile);
    /* If alpha or the depth is 0, A and B need not exist. */
    int64_t depth = run->alpha == 0 ? 0 : shape->k;
    const char *at_a = element(a, shape->transpose_a, tile->row, 0, shape->lda, type);
    const char *at_b = element(b, shape->transpose_b, 0, tile->column, shape->ldb, type);
    char *at_d = (char *)element(d, false, tile->row, tile->column, shape->ldd, type);
    if (type == SC_F64)
        sc_dgemm(shape->transpose_a, shape->transpose_b, tile->rows, tile->columns, depth, run->alpha,
                 (const double *)at_a, shape->lda, (const double *)at_b, shape->ldb, run->beta,
                 (double *)at_d, shape->ldd);
    else
        sc_sgemm(shape->transpose_a, shape->transpose_b, tile->rows, tile->columns, depth, (float)run->alpha,
                 (const float *)at_a, shape->lda, (const float *)at_b, shape->ldb, (float)run->beta,
                 (float *)at_d, shape->ldd);
}

/* A part of op(X) in single precision, in its memory layout; *ld is set to the elements between columns. */
static const float *single(uint64_t base, bool transposed, int64_t row, int64_t column, int64_t rows,
                           int64_t columns, int64_t *ld, uint8_t type, float *buffer)
{
    const char *from = element(base, transposed, row, column, *ld, type);
    if (type == SC_F32 && *ld <= INT32_MAX) return (const float *)from;
    int64_t length = transposed ? columns : rows, count = transposed ? rows : columns;
    for (int64_t i = 0; i < count; i++)
        sc_load_floats(type, from + (uint64_t)(i * *ld) * sc_type_bytes(type), buffer + i * length,
                       (size_t)length);
    *ld = length;
    return buffer;
}

/* `buffer` has room for the sums and for a part of each operand. */
static void multiply_converted(const struct run *run, const struct sc_tile *tile, float *buffer)
{
    const struct sc_gemm *gemm = run->gemm;
    const struct sc_gemm_shape *shape = &gemm->shape;
    uint64_t a = sc_gemm_matrix(shape->by_pointer, gemm->a, shape->stride_a, shape->type_a, tile->matrix);
    uint64_t b = sc_gemm_matrix(shape->by_pointer, gemm->b, shape->stride_b, shape->type_b, tile->matrix);
    float *sums = buffer, *part_a = sums + tile->rows * tile->columns, *part_b = part_a + tile->rows * DEPTH;
    int64_t depth = run->alpha == 0 ? 0 : shape->k;
    if (!depth) memset(sums, 0, (size_t)(tile->rows * tile->columns) * sizeof *sums);
    for (int64_t at = 0; at < depth; at += DEPTH) {
        int64_t count = depth - at < DEPTH ? depth - at : DEPTH, lda = shape->lda, ldb = shape->ldb;
        const float *left =
            single(a, shape->transpose_a, tile->row, at, tile->rows, count, &lda, shape->type_a, part_a);
        const float *right = single(b, shape->transpose_b, at, tile->column, count, tile->columns, &ldb,
                                    shape->type_b, part_b);
        sc_sgemm(shape->transpose_a, shape->transpose_b, tile->rows, tile->columns, count, 1, left, lda,
                 right, ldb, at ? 1 : 0, sums, tile->rows);
    }
    sc_epilogue_store(gemm, tile, (float)run->alpha, (float)run->beta, sums);
}

static void make_tile(struct run *run, uint32_t index)
{
    const struct sc_gemm_shape *shape = &run->gemm->shape;
    uint32_t per_matrix = run->tiles_down * run->tiles_across, within = index % per_matrix;
    struct sc_tile tile = {
        .matrix = index / per_matrix,
        .row = (int64_t)(within % run->tiles_down) * run->tile_rows,
        .column = (int64_t)(within / run->tiles_down) * run->tile_columns,
    };
    tile.rows = shape->m - tile.row < run->tile_rows ? shape->m - tile.row : run->tile_rows;
    tile.columns = shape->n - tile.column < run->tile_columns ? shape->n - tile.column : run->tile_columns;
    if (is_plain(shape, shape->type_d) && (shape->type_d == SC_F32 || shape->type_d == SC_F64)) {
        multiply_plain(run, &tile);
        return;
    }
    size_t count = (size_t)(tile.rows * tile.columns + (tile.rows + tile.columns) * DEPTH);
    float *buffer = malloc(count * sizeof *buffer);
    if (buffer)
        multiply_converted(run, &tile, buffer);
    else
        __atomic_store_n(&run->no_memory, true, __ATOMIC_RELAXED);
    free(buffer);
}

static void make_tiles(void *context, uint32_t index)
{
    struct run *run = context;
    for (uint32_t i = 0; i < run->tiles_at_once && index * run->tiles_at_once + i < run->tiles; i++)
        make_tile(run, index * run->tiles_at_once + i);
}

/* Tiles per piece: passing a small tile to another worker costs more than computing it. */
static uint32_t tiles_at_once(const struct run *run)
{
    int64_t flops = 2 * run->tile_rows * run->tile_columns * (run->gemm->shape.k + 1);
    return flops < WORTHWHILE_FLOPS ? (uint32_t)(WORTHWHILE_FLOPS / flops) : 1;
}

static void sum_gradient(void *context, uint32_t index)
{
    struct run *run = context;
    if (!sc_epilogue_bias_gradient(run->gemm, index))
        __atomic_store_n(&run->no_memory, true, __ATOMIC_RELAXED);
}

/* Equal pieces of at most `limit`, in multiples of the vector width. */
static int64_t piece(int64_t size, int64_t limit)
{
    int64_t count = (size + limit - 1) / limit;
    int64_t each = (size + count - 1) / count;
    each = (each + 15) / 16 * 16;
    return each < limit ? each : limit;
}

static bool run_gemm(struct sc_native_launch *launch)
{
    const struct sc_gemm *gemm = launch->parameters;
    const struct sc_gemm_shape *shape = &gemm->shape;
    struct run run = {.gemm = gemm};
    read_scalars(gemm, &run.alpha, &run.beta);
    run.tile_rows = piece(shape->m, SC_TILE_ROWS);
    run.tile_columns = piece(shape->n, SC_TILE_COLUMNS);
    run.tiles_down = (uint32_t)((shape->m + run.tile_rows - 1) / run.tile_rows);
    run.tiles_across = (uint32_t)((shape->n + run.tile_columns - 1) / run.tile_columns);
    run.tiles = run.tiles_down * run.tiles_across * shape->batch;
    run.tiles_at_once = tiles_at_once(&run);
    launch->parallel(launch, (run.tiles - 1) / run.tiles_at_once + 1, make_tiles, &run);
    if (shape->epilogue & (SC_EPILOGUE_BGRAD | SC_EPILOGUE_BGRADA | SC_EPILOGUE_BGRADB))
        launch->parallel(launch, shape->batch, sum_gradient, &run);
    return !run.no_memory;
}

static const struct sc_parameter parameters[] = {
    {offsetof(struct sc_gemm, a), 8},
    {offsetof(struct sc_gemm, b), 8},
    {offsetof(struct sc_gemm, c), 8},
    {offsetof(struct sc_gemm, d), 8},
    {offsetof(struct sc_gemm, bias), 8},
    {offsetof(struct sc_gemm, aux), 8},
    {offsetof(struct sc_gemm, alpha), 8},
    {offsetof(struct sc_gemm, beta), 8},
    {offsetof(struct sc_gemm, shape), sizeof(struct sc_gemm_shape)},
};

const struct sc_native_kernel sc_gemm_kernel = {
    .name = "softcuda_gemm",
    .parameters = parameters,
    .parameter_count = sizeof parameters / sizeof *parameters,
    .parameter_bytes = sizeof(struct sc_gemm),
    .describe = describe,
    .run = run_gemm,
};
