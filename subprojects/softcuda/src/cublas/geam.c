#include <string.h>

#include "touch.h"
#include "vector.h"

#define ROWS 128
#define COLUMNS 64 /* per piece */

struct run {
    const struct sc_geam *geam;
    double alpha, beta;
};

static void read_scalars(const struct sc_geam *geam, double *alpha, double *beta)
{
    *alpha = geam->alpha ? sc_load_one(geam->shape.type, (const void *)geam->alpha) : geam->shape.alpha;
    *beta = geam->beta ? sc_load_one(geam->shape.type, (const void *)geam->beta) : geam->shape.beta;
}

static bool touch_operand(struct sc_native_launch *launch, const struct sc_geam_shape *shape,
                          uint64_t address, bool transposed, int64_t ld)
{
    return sc_touch_matrix(launch, address, transposed ? shape->n : shape->m,
                           transposed ? shape->m : shape->n, ld, shape->type, SC_READ);
}

static bool describe(struct sc_native_launch *launch)
{
    const struct sc_geam *geam = launch->parameters;
    const struct sc_geam_shape *shape = &geam->shape;
    uint64_t scalar = sc_type_bytes(shape->type);
    if (geam->alpha && !sc_touch_bytes(launch, geam->alpha, scalar, SC_READ)) return false;
    if (geam->beta && !sc_touch_bytes(launch, geam->beta, scalar, SC_READ)) return false;
    double alpha, beta;
    read_scalars(geam, &alpha, &beta);
    launch->flops += 3 * (uint64_t)shape->m * (uint64_t)shape->n;
    if (alpha != 0 && !touch_operand(launch, shape, geam->a, shape->transpose_a, shape->lda)) return false;
    if (beta != 0 && !touch_operand(launch, shape, geam->b, shape->transpose_b, shape->ldb)) return false;
    return sc_touch_matrix(launch, geam->c, shape->m, shape->n, shape->ldc, shape->type, SC_WRITE);
}

static void load(const struct sc_geam_shape *shape, uint64_t base, bool transposed, int64_t ld, int64_t row,
                 int64_t column, double *to, int64_t count)
{
    int64_t at = transposed ? column + row * ld : row + column * ld;
    const char *from = (const char *)base + (uint64_t)at * sc_type_bytes(shape->type);
    sc_load_doubles(shape->type, from, transposed ? ld : 1, to, (size_t)count);
}

static void do_columns(void *context, uint32_t index)
{
    const struct run *run = context;
    const struct sc_geam *geam = run->geam;
    const struct sc_geam_shape *shape = &geam->shape;
    int64_t begin = (int64_t)index * COLUMNS, end = shape->n < begin + COLUMNS ? shape->n : begin + COLUMNS;
    for (int64_t row = 0; row < shape->m; row += ROWS)
        for (int64_t column = begin; column < end; column++) {
            int64_t count = shape->m - row < ROWS ? shape->m - row : ROWS;
            double a[ROWS] = {0}, b[ROWS] = {0};
            if (run->alpha != 0) load(shape, geam->a, shape->transpose_a, shape->lda, row, column, a, count);
            if (run->beta != 0) load(shape, geam->b, shape->transpose_b, shape->ldb, row, column, b, count);
            for (int64_t i = 0; i < count; i++) a[i] = run->alpha * a[i] + run->beta * b[i];
            char *to = (char *)geam->c + (uint64_t)(row + column * shape->ldc) * sc_type_bytes(shape->type);
            sc_store_doubles(shape->type, a, to, 1, (size_t)count);
        }
}

static bool run_geam(struct sc_native_launch *launch)
{
    const struct sc_geam *geam = launch->parameters;
    struct run run = {.geam = geam};
    read_scalars(geam, &run.alpha, &run.beta);
    launch->parallel(launch, (uint32_t)((geam->shape.n + COLUMNS - 1) / COLUMNS), do_columns, &run);
    return true;
}

static const struct sc_parameter parameters[] = {
    {offsetof(struct sc_geam, a), 8},    {offsetof(struct sc_geam, b), 8},
    {offsetof(struct sc_geam, c), 8},    {offsetof(struct sc_geam, alpha), 8},
    {offsetof(struct sc_geam, beta), 8}, {offsetof(struct sc_geam, shape), sizeof(struct sc_geam_shape)},
};

const struct sc_native_kernel sc_geam_kernel = {
    "softcuda_geam", parameters, 6, sizeof(struct sc_geam), describe, run_geam,
};
