#include <stdlib.h>
#include <string.h>

#include "gemm.h"
#include "touch.h"
#include "vector.h"

/* Elements of y per piece; also the rows of A that are processed at a time. */
#define PIECE 512

struct run {
    const struct sc_gemv *gemv;
    double alpha, beta;
    uint32_t pieces; /* per matrix */
};

struct operands {
    const char *a, *x;
    char *y;
};

static int64_t length_of_x(const struct sc_gemv_shape *shape)
{
    return shape->transpose ? shape->m : shape->n;
}

static int64_t length_of_y(const struct sc_gemv_shape *shape)
{
    return shape->transpose ? shape->n : shape->m;
}

static void read_scalars(const struct sc_gemv *gemv, double *alpha, double *beta)
{
    uint8_t type = gemv->shape.type_scalar;
    *alpha = gemv->alpha ? sc_load_one(type, (const void *)gemv->alpha) : gemv->shape.alpha;
    *beta = gemv->beta ? sc_load_one(type, (const void *)gemv->beta) : gemv->shape.beta;
}

static bool describe(struct sc_native_launch *launch)
{
    const struct sc_gemv *gemv = launch->parameters;
    const struct sc_gemv_shape *shape = &gemv->shape;
    uint64_t scalar = sc_type_bytes(shape->type_scalar), array = shape->batch * sizeof(uint64_t);
    if (gemv->alpha && !sc_touch_bytes(launch, gemv->alpha, scalar, SC_READ)) return false;
    if (gemv->beta && !sc_touch_bytes(launch, gemv->beta, scalar, SC_READ)) return false;
    if (shape->by_pointer && (!sc_touch_bytes(launch, gemv->a, array, SC_READ) ||
                              !sc_touch_bytes(launch, gemv->x, array, SC_READ) ||
                              !sc_touch_bytes(launch, gemv->y, array, SC_READ)))
        return false;
    double alpha, beta;
    read_scalars(gemv, &alpha, &beta);
    for (uint32_t i = 0; i < shape->batch; i++) {
        uint64_t a = sc_gemm_matrix(shape->by_pointer, gemv->a, shape->stride_a, shape->type_a, i);
        uint64_t x = sc_gemm_matrix(shape->by_pointer, gemv->x, shape->stride_x, shape->type_x, i);
        uint64_t y = sc_gemm_matrix(shape->by_pointer, gemv->y, shape->stride_y, shape->type_y, i);
        if (alpha != 0 &&
            (!sc_touch_matrix(launch, a, shape->m, shape->n, shape->lda, shape->type_a, SC_READ) ||
             !sc_touch_vector(launch, x, length_of_x(shape), shape->incx, shape->type_x, SC_READ)))
            return false;
        if (!sc_touch_vector(launch, y, length_of_y(shape), shape->incy, shape->type_y,
                             beta != 0 ? SC_READ | SC_WRITE : SC_WRITE))
            return false;
    }
    launch->flops += 2 * (uint64_t)shape->m * (uint64_t)shape->n * shape->batch;
    return true;
}

static struct operands operands_of(const struct sc_gemv *gemv, uint32_t index)
{
    const struct sc_gemv_shape *shape = &gemv->shape;
    uint64_t a = sc_gemm_matrix(shape->by_pointer, gemv->a, shape->stride_a, shape->type_a, index);
    uint64_t x = sc_gemm_matrix(shape->by_pointer, gemv->x, shape->stride_x, shape->type_x, index);
    uint64_t y = sc_gemm_matrix(shape->by_pointer, gemv->y, shape->stride_y, shape->type_y, index);
    x = sc_vector_first(x, length_of_x(shape), shape->incx, shape->type_x);
    y = sc_vector_first(y, length_of_y(shape), shape->incy, shape->type_y);
    return (struct operands){(const char *)a, (const char *)x, (char *)y};
}

static double element_of_x(const struct sc_gemv_shape *shape, const char *x, int64_t index)
{
    return sc_load_one(shape->type_x, x + (uint64_t)(index * shape->incx) * sc_type_bytes(shape->type_x));
}

/* Adds the product of row `first + i` of A and x to sums[i]. */
static void add_rows(const struct sc_gemv_shape *shape, const struct operands *on, int64_t first,
                     int64_t count, double *sums)
{
    double part[PIECE];
    size_t size = sc_type_bytes(shape->type_a);
    for (int64_t j = 0; j < shape->n; j++) {
        double x = element_of_x(shape, on->x, j);
        sc_load_doubles(shape->type_a, on->a + (uint64_t)(first + j * shape->lda) * size, 1, part,
                        (size_t)count);
        for (int64_t i = 0; i < count; i++) sums[i] += part[i] * x;
    }
}

/* Adds the product of column `first + i` of A and x to sums[i]. */
static void add_columns(const struct sc_gemv_shape *shape, const struct operands *on, int64_t first,
                        int64_t count, double *sums)
{
    double part[PIECE], x[PIECE];
    size_t size = sc_type_bytes(shape->type_a), size_x = sc_type_bytes(shape->type_x);
    for (int64_t row = 0; row < shape->m; row += PIECE) {
        int64_t rows = shape->m - row < PIECE ? shape->m - row : PIECE;
        sc_load_doubles(shape->type_x, on->x + (uint64_t)(row * shape->incx) * size_x, shape->incx, x,
                        (size_t)rows);
        for (int64_t i = 0; i < count; i++) {
            const char *from = on->a + (uint64_t)(row + (first + i) * shape->lda) * size;
            double lanes[8] = {0}; /* eight partial sums, always in this order */
            sc_load_doubles(shape->type_a, from, 1, part, (size_t)rows);
            memset(part + rows, 0, (size_t)(PIECE - rows) * sizeof *part);
            for (int64_t r = 0; r < (rows + 7) / 8 * 8; r += 8)
                for (int lane = 0; lane < 8; lane++)
                    lanes[lane] += part[r + lane] * (r + lane < rows ? x[r + lane] : 0);
            for (int lane = 0; lane < 8; lane++) sums[i] += lanes[lane];
        }
    }
}

static void do_piece(void *context, uint32_t index)
{
    const struct run *run = context;
    const struct sc_gemv_shape *shape = &run->gemv->shape;
    struct operands on = operands_of(run->gemv, index / run->pieces);
    int64_t first = (int64_t)(index % run->pieces) * PIECE, rest = length_of_y(shape) - first;
    int64_t count = rest < PIECE ? rest : PIECE;
    double sums[PIECE] = {0}, old[PIECE] = {0};
    if (run->alpha != 0) (shape->transpose ? add_columns : add_rows)(shape, &on, first, count, sums);
    char *y = on.y + (uint64_t)(first * shape->incy) * sc_type_bytes(shape->type_y);
    if (run->beta != 0) sc_load_doubles(shape->type_y, y, shape->incy, old, (size_t)count);
    for (int64_t i = 0; i < count; i++)
        sums[i] = run->beta != 0 ? run->alpha * sums[i] + run->beta * old[i] : run->alpha * sums[i];
    sc_store_doubles(shape->type_y, sums, y, shape->incy, (size_t)count);
}

static bool run_gemv(struct sc_native_launch *launch)
{
    const struct sc_gemv *gemv = launch->parameters;
    struct run run = {.gemv = gemv};
    read_scalars(gemv, &run.alpha, &run.beta);
    run.pieces = (uint32_t)((length_of_y(&gemv->shape) + PIECE - 1) / PIECE);
    launch->parallel(launch, run.pieces * gemv->shape.batch, do_piece, &run);
    return true;
}

static const struct sc_parameter parameters[] = {
    {offsetof(struct sc_gemv, a), 8},    {offsetof(struct sc_gemv, x), 8},
    {offsetof(struct sc_gemv, y), 8},    {offsetof(struct sc_gemv, alpha), 8},
    {offsetof(struct sc_gemv, beta), 8}, {offsetof(struct sc_gemv, shape), sizeof(struct sc_gemv_shape)},
};

const struct sc_native_kernel sc_gemv_kernel = {
    "softcuda_gemv", parameters, 6, sizeof(struct sc_gemv), describe, run_gemv,
};
