#include "vector.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "touch.h"

/* Vectors are divided into pieces of equal size, and these into parts that fit the cache. Sums are formed per
 * part and added in order. */
#define PIECE 65536
#define PART 512

struct partial {
    long double sum;
    double extreme;
    int64_t index; /* of the extreme, counted from 0 */
};

struct run {
    const struct sc_vector *vector;
    double alpha;
    uint64_t x, y; /* addresses of the first elements */
    struct partial *partials;
};

static bool has_result(uint8_t op)
{
    return op >= SC_DOT;
}

static bool uses_y(uint8_t op)
{
    return op == SC_AXPY || op == SC_COPY || op == SC_SWAP || op == SC_DOT;
}

static size_t result_bytes(const struct sc_vector_shape *shape)
{
    if (shape->op == SC_IAMAX || shape->op == SC_IAMIN) return shape->type_result == SC_F64 ? 8 : 4;
    return sc_type_bytes(shape->type_result);
}

static bool describe(struct sc_native_launch *launch)
{
    static const uint8_t x_uses[] = {
        SC_READ, SC_READ | SC_WRITE, SC_READ, SC_READ | SC_WRITE, SC_READ, SC_READ, SC_READ, SC_READ,
        SC_READ};
    static const uint8_t y_uses[] = {
        SC_READ | SC_WRITE, 0, SC_WRITE, SC_READ | SC_WRITE, SC_READ, 0, 0, 0, 0};
    const struct sc_vector *vector = launch->parameters;
    const struct sc_vector_shape *shape = &vector->shape;
    launch->flops += 2 * (uint64_t)(shape->n > 0 ? shape->n : 0);
    if (vector->alpha && !sc_touch_bytes(launch, vector->alpha, sc_type_bytes(shape->type_alpha), SC_READ))
        return false;
    if (has_result(shape->op) && !sc_touch_bytes(launch, vector->result, result_bytes(shape), SC_WRITE))
        return false;
    return sc_touch_vector(launch, vector->x, shape->n, shape->incx, shape->type_x, x_uses[shape->op]) &&
           (!uses_y(shape->op) ||
            sc_touch_vector(launch, vector->y, shape->n, shape->incy, shape->type_y, y_uses[shape->op]));
}

static void move(const struct run *run, int64_t first, int64_t count)
{
    const struct sc_vector_shape *shape = &run->vector->shape;
    size_t size = sc_type_bytes(shape->type_x);
    for (int64_t i = first; i < first + count; i++) {
        char *x = (char *)run->x + (uint64_t)(i * shape->incx) * size;
        char *y = (char *)run->y + (uint64_t)(i * shape->incy) * size;
        char kept[8];
        memcpy(kept, y, size);
        memmove(y, x, size);
        if (shape->op == SC_SWAP) memcpy(x, kept, size);
    }
}

static void fold_part(const struct sc_vector_shape *shape, const double *x, const double *y, int64_t first,
                      int64_t count, struct partial *partial)
{
    double sum = 0;
    switch (shape->op) {
    case SC_DOT:
        for (int64_t i = 0; i < count; i++) sum += x[i] * y[i];
        break;
    case SC_ASUM:
        for (int64_t i = 0; i < count; i++) sum += fabs(x[i]);
        break;
    case SC_NRM2:
        /* Squares of doubles may exceed the range of a double. */
        if (shape->type_x == SC_F64)
            for (int64_t i = 0; i < count; i++) partial->sum += (long double)x[i] * x[i];
        else
            for (int64_t i = 0; i < count; i++) sum += x[i] * x[i];
        break;
    default:
        for (int64_t i = 0; i < count; i++) {
            double size = fabs(x[i]);
            bool better = shape->op == SC_IAMAX ? size > partial->extreme : size < partial->extreme;
            if (partial->index >= 0 && !better) continue;
            partial->extreme = size;
            partial->index = first + i;
        }
        break;
    }
    partial->sum += sum;
}

static void do_part(const struct run *run, int64_t first, int64_t count, struct partial *partial)
{
    const struct sc_vector_shape *shape = &run->vector->shape;
    double x[PART], y[PART];
    void *at_x = (char *)run->x + (uint64_t)(first * shape->incx) * sc_type_bytes(shape->type_x);
    void *at_y = (char *)run->y + (uint64_t)(first * shape->incy) * sc_type_bytes(shape->type_y);
    sc_load_doubles(shape->type_x, at_x, shape->incx, x, (size_t)count);
    if (uses_y(shape->op)) sc_load_doubles(shape->type_y, at_y, shape->incy, y, (size_t)count);
    if (shape->op == SC_AXPY) {
        for (int64_t i = 0; i < count; i++) y[i] += run->alpha * x[i];
        sc_store_doubles(shape->type_y, y, at_y, shape->incy, (size_t)count);
    } else if (shape->op == SC_SCAL) {
        for (int64_t i = 0; i < count; i++) x[i] *= run->alpha;
        sc_store_doubles(shape->type_x, x, at_x, shape->incx, (size_t)count);
    } else {
        fold_part(shape, x, y, first, count, partial);
    }
}

static void do_piece(void *context, uint32_t index)
{
    const struct run *run = context;
    const struct sc_vector_shape *shape = &run->vector->shape;
    int64_t begin = (int64_t)index * PIECE, end = shape->n < begin + PIECE ? shape->n : begin + PIECE;
    struct partial *partial = run->partials ? &run->partials[index] : NULL;
    if (partial) *partial = (struct partial){.index = -1};
    /* With a stride of 0, an element may depend on the previous one's result. */
    int64_t step = shape->incx == 0 || shape->incy == 0 ? 1 : PART;
    for (int64_t at = begin; at < end; at += step) {
        int64_t count = end - at < step ? end - at : step;
        if (shape->op == SC_COPY || shape->op == SC_SWAP)
            move(run, at, count);
        else
            do_part(run, at, count, partial);
    }
}

static void store_result(const struct run *run, uint32_t pieces)
{
    const struct sc_vector *vector = run->vector;
    const struct sc_vector_shape *shape = &vector->shape;
    struct partial total = {.index = -1};
    for (uint32_t i = 0; i < pieces; i++) {
        const struct partial *one = &run->partials[i];
        total.sum += one->sum;
        bool better = shape->op == SC_IAMAX ? one->extreme > total.extreme : one->extreme < total.extreme;
        if (one->index >= 0 && (total.index < 0 || better)) {
            total.index = one->index;
            total.extreme = one->extreme;
        }
    }
    if (shape->op == SC_IAMAX || shape->op == SC_IAMIN) {
        int64_t wide = total.index + 1;
        int32_t narrow = (int32_t)wide;
        size_t bytes = result_bytes(shape);
        memcpy((void *)vector->result, bytes == 8 ? (void *)&wide : (void *)&narrow, bytes);
        return;
    }
    double value = shape->op == SC_NRM2 ? (double)sqrtl(total.sum) : (double)total.sum;
    sc_store_doubles(shape->type_result, &value, (void *)vector->result, 1, 1);
}

static bool run_vector(struct sc_native_launch *launch)
{
    const struct sc_vector *vector = launch->parameters;
    const struct sc_vector_shape *shape = &vector->shape;
    int64_t n = shape->n > 0 ? shape->n : 0;
    struct run run = {
        .vector = vector,
        .alpha = vector->alpha ? sc_load_one(shape->type_alpha, (const void *)vector->alpha) : shape->alpha,
        .x = sc_vector_first(vector->x, n, shape->incx, shape->type_x),
        .y = sc_vector_first(vector->y, n, shape->incy, shape->type_y),
    };
    uint32_t pieces = (uint32_t)((n + PIECE - 1) / PIECE);
    if (has_result(shape->op)) {
        run.partials = malloc((pieces ? pieces : 1) * sizeof *run.partials);
        if (!run.partials) return false;
    }
    bool in_order = shape->incx == 0 || shape->incy == 0;
    for (uint32_t i = 0; in_order && i < pieces; i++) do_piece(&run, i);
    if (!in_order) launch->parallel(launch, pieces, do_piece, &run);
    if (run.partials) store_result(&run, pieces);
    free(run.partials);
    return true;
}

static const struct sc_parameter parameters[] = {
    {offsetof(struct sc_vector, x), 8},
    {offsetof(struct sc_vector, y), 8},
    {offsetof(struct sc_vector, alpha), 8},
    {offsetof(struct sc_vector, result), 8},
    {offsetof(struct sc_vector, shape), sizeof(struct sc_vector_shape)},
};

const struct sc_native_kernel sc_vector_kernel = {
    "softcuda_vector", parameters, 5, sizeof(struct sc_vector), describe, run_vector,
};
