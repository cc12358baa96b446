#include "plan/linear.h"

#include <stdlib.h>
#include <string.h>

#define STEP 0.99     /* part of the longest step that converges */
#define SOLVED 1e-3   /* relative error of the cost, and of each row */
#define MUCH_LESS 0.2 /* part of the error at the last restart that triggers a restart at once */
#define LESS 0.8      /* part below which a restart happens, if the last one was long ago */
enum { CHECK = 64, LEAST_BETWEEN_RESTARTS = 2000 };

struct entry {
    uint32_t at; /* the variable or the row */
    double coefficient;
};

struct term {
    uint32_t row, variable;
    double coefficient;
};

/* A point: values of the variables, multipliers of the rows, and sums of the rows. */
struct point {
    double *x, *y, *sums;
};

struct sl_linear {
    size_t variable_count, row_count, term_count, variable_room, row_room, term_room;
    double *upper, *cost, *right;
    bool *equal;
    struct term *terms;
    bool lacks_memory, closed, solved;
    /* After sl_linear_close; everything is scaled by rows and variables. */
    double *memory, *variable_scale;
    struct entry *entries;
    uint32_t *row_begin, *variable_begin; /* indices of entries; the variables' entries follow the rows' */
    struct point now, sum, from;          /* sum: of the `count` points since `from`, the last restart */
    size_t count, iterations;
    double weight; /* multiplies the steps of y and divides those of x */
    double error;  /* at the last restart */
};

/* Newton's method, from above. The C library's sqrt would need libm. */
static double root(double square)
{
    double root = square > 1 ? square : 1, next;
    if (square <= 0) return 0;
    while ((next = (root + square / root) / 2) < root) root = next;
    return root;
}

static double size_of(double value)
{
    return value < 0 ? -value : value;
}

struct sl_linear *sl_linear_new(void)
{
    return calloc(1, sizeof(struct sl_linear));
}

void sl_linear_delete(struct sl_linear *l)
{
    if (!l) return;
    free(l->upper);
    free(l->cost);
    free(l->right);
    free(l->equal);
    free(l->terms);
    free(l->memory);
    free(l->entries);
    free(l->row_begin);
    free(l);
}

static bool grow(struct sl_linear *l, void **array, size_t room, size_t size)
{
    void *larger = realloc(*array, room * size);
    if (larger) *array = larger;
    l->lacks_memory |= !larger;
    return larger;
}

uint32_t sl_linear_variable(struct sl_linear *l, double upper, double cost)
{
    if (l->variable_count == l->variable_room) {
        size_t room = 2 * l->variable_room + 256;
        if (!grow(l, (void **)&l->upper, room, sizeof *l->upper) ||
            !grow(l, (void **)&l->cost, room, sizeof *l->cost))
            return 0;
        l->variable_room = room;
    }
    l->upper[l->variable_count] = upper;
    l->cost[l->variable_count] = cost;
    return (uint32_t)l->variable_count++;
}

uint32_t sl_linear_row(struct sl_linear *l, bool equal, double right)
{
    if (l->row_count == l->row_room) {
        size_t room = 2 * l->row_room + 256;
        if (!grow(l, (void **)&l->right, room, sizeof *l->right) ||
            !grow(l, (void **)&l->equal, room, sizeof *l->equal))
            return 0;
        l->row_room = room;
    }
    l->right[l->row_count] = right;
    l->equal[l->row_count] = equal;
    return (uint32_t)l->row_count++;
}

void sl_linear_term(struct sl_linear *l, uint32_t row, uint32_t variable, double coefficient)
{
    if (l->term_count == l->term_room) {
        size_t room = 2 * l->term_room + 1024;
        if (!grow(l, (void **)&l->terms, room, sizeof *l->terms)) return;
        l->term_room = room;
    }
    l->terms[l->term_count++] = (struct term){row, variable, coefficient};
}

/* Divides rows and variables by the square roots of their sums of coefficients, so that a step of length 1
 * converges. */
static void scale(struct sl_linear *l, double *row_scale)
{
    for (size_t i = 0; i < l->term_count; i++) {
        const struct term *t = &l->terms[i];
        row_scale[t->row] += size_of(t->coefficient);
        l->variable_scale[t->variable] += size_of(t->coefficient);
    }
    for (size_t i = 0; i < l->row_count; i++) row_scale[i] = row_scale[i] > 0 ? 1 / root(row_scale[i]) : 1;
    for (size_t i = 0; i < l->variable_count; i++)
        l->variable_scale[i] = l->variable_scale[i] > 0 ? 1 / root(l->variable_scale[i]) : 1;
    for (size_t i = 0; i < l->row_count; i++) l->right[i] *= row_scale[i];
    for (size_t i = 0; i < l->variable_count; i++) {
        l->upper[i] /= l->variable_scale[i];
        l->cost[i] *= l->variable_scale[i];
    }
}

/* Sorts by rows, and a second copy by variables. */
static void sort_terms(struct sl_linear *l, const double *row_scale)
{
    for (size_t i = 0; i < l->term_count; i++) {
        l->row_begin[l->terms[i].row + 1]++;
        l->variable_begin[l->terms[i].variable + 1]++;
    }
    for (size_t i = 0; i < l->row_count; i++) l->row_begin[i + 1] += l->row_begin[i];
    l->variable_begin[0] = (uint32_t)l->term_count;
    for (size_t i = 0; i < l->variable_count; i++) l->variable_begin[i + 1] += l->variable_begin[i];
    for (size_t i = 0; i < l->term_count; i++) {
        const struct term *t = &l->terms[i];
        double coefficient = t->coefficient * row_scale[t->row] * l->variable_scale[t->variable];
        l->entries[l->row_begin[t->row]++] = (struct entry){t->variable, coefficient};
        l->entries[l->variable_begin[t->variable]++] = (struct entry){t->row, coefficient};
    }
    memmove(l->row_begin + 1, l->row_begin, l->row_count * sizeof *l->row_begin);
    memmove(l->variable_begin + 1, l->variable_begin, l->variable_count * sizeof *l->variable_begin);
    l->row_begin[0] = 0;
    l->variable_begin[0] = (uint32_t)l->term_count;
}

static double norm(const double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += values[i] * values[i];
    return root(sum);
}

static void divide_memory(struct sl_linear *l)
{
    double *at = l->memory;
    struct point *points[] = {&l->now, &l->sum, &l->from};
    for (int i = 0; i < 3; i++) {
        points[i]->x = at;
        points[i]->y = points[i]->x + l->variable_count;
        points[i]->sums = points[i]->y + l->row_count;
        at = points[i]->sums + l->row_count;
    }
    l->variable_scale = at;
}

enum sl_status sl_linear_close(struct sl_linear *l)
{
    size_t words = 3 * (l->variable_count + 2 * l->row_count) + l->variable_count;
    double *row_scale = calloc(l->row_count + 1, sizeof *row_scale);
    l->memory = calloc(words + 1, sizeof *l->memory);
    l->entries = malloc((2 * l->term_count + 1) * sizeof *l->entries);
    l->row_begin = calloc(l->row_count + l->variable_count + 2, sizeof *l->row_begin);
    l->lacks_memory |= !row_scale || !l->memory || !l->entries || !l->row_begin;
    if (!l->lacks_memory) {
        l->variable_begin = l->row_begin + l->row_count + 1;
        divide_memory(l);
        scale(l, row_scale);
        sort_terms(l, row_scale);
        double costs = norm(l->cost, l->variable_count), rights = norm(l->right, l->row_count);
        l->weight = costs > 0 && rights > 0 ? costs / rights : 1;
        l->error = __builtin_inf();
        l->closed = true;
    }
    free(row_scale);
    free(l->terms);
    l->terms = NULL;
    return l->closed ? SL_OK : SL_ERR_NO_MEMORY;
}

static double row_sum(const struct sl_linear *l, size_t row, const double *x)
{
    double sum = 0;
    for (uint32_t i = l->row_begin[row]; i < l->row_begin[row + 1]; i++)
        sum += l->entries[i].coefficient * x[l->entries[i].at];
    return sum;
}

/* The change of the cost with a variable, at these multipliers. */
static double slope_at(const struct sl_linear *l, size_t variable, const double *y)
{
    double slope = l->cost[variable];
    for (uint32_t i = l->variable_begin[variable]; i < l->variable_begin[variable + 1]; i++)
        slope += l->entries[i].coefficient * y[l->entries[i].at];
    return slope;
}

static void iterate(struct sl_linear *l)
{
    double step_x = STEP / l->weight, step_y = STEP * l->weight;
    for (size_t i = 0; i < l->variable_count; i++) {
        double x = l->now.x[i] - step_x * slope_at(l, i, l->now.y);
        x = x < 0 ? 0 : x > l->upper[i] ? l->upper[i] : x;
        l->now.x[i] = x;
        l->sum.x[i] += x;
    }
    for (size_t i = 0; i < l->row_count; i++) {
        double sum = row_sum(l, i, l->now.x);
        double y = l->now.y[i] + step_y * (2 * sum - l->now.sums[i] - l->right[i]);
        if (!l->equal[i] && y < 0) y = 0;
        l->now.y[i] = y;
        l->now.sums[i] = sum;
        l->sum.y[i] += y;
        l->sum.sums[i] += sum;
    }
    l->count++;
    l->iterations++;
}

struct errors {
    double rows, worst; /* errors of the rows: norm, and largest relative to the right side */
    double cost, dual;  /* the cost, and a lower bound for it if no row has an error */
};

/* Of the point divided by `count`. */
static struct errors errors_of(const struct sl_linear *l, const struct point *p, double count)
{
    struct errors e = {0};
    for (size_t i = 0; i < l->row_count; i++) {
        double off = p->sums[i] / count - l->right[i];
        if (l->equal[i] || off > 0) {
            e.rows += off * off;
            double share = size_of(off) / (1 + size_of(l->right[i]));
            if (share > e.worst) e.worst = share;
        }
        e.dual -= p->y[i] / count * l->right[i];
    }
    e.rows = root(e.rows);
    for (size_t i = 0; i < l->variable_count; i++) {
        double slope = l->cost[i];
        for (uint32_t k = l->variable_begin[i]; k < l->variable_begin[i + 1]; k++)
            slope += l->entries[k].coefficient * p->y[l->entries[k].at] / count;
        if (slope < 0) e.dual += slope * l->upper[i];
        e.cost += l->cost[i] * p->x[i] / count;
    }
    return e;
}

static double error_of(const struct sl_linear *l, const struct errors *e)
{
    double rows = l->weight * e->rows, costs = e->cost - e->dual;
    return root(rows * rows + costs * costs);
}

static double distance(const double *a, const double *b, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += (a[i] - b[i]) * (a[i] - b[i]);
    return root(sum);
}

static void restart(struct sl_linear *l, bool from_average, double error)
{
    size_t size = l->variable_count + 2 * l->row_count; /* of a point, which is one block of memory */
    if (from_average)
        for (size_t i = 0; i < size; i++) l->now.x[i] = l->sum.x[i] / (double)l->count;
    double x = distance(l->now.x, l->from.x, l->variable_count),
           y = distance(l->now.y, l->from.y, l->row_count);
    if (x > 1e-9 && y > 1e-9) l->weight = root(l->weight * y / x);
    memcpy(l->from.x, l->now.x, size * sizeof *l->from.x);
    memset(l->sum.x, 0, size * sizeof *l->sum.x);
    l->count = 0;
    l->error = error;
}

static void check(struct sl_linear *l)
{
    struct errors now = errors_of(l, &l->now, 1), average = errors_of(l, &l->sum, (double)l->count);
    double now_error = error_of(l, &now), average_error = error_of(l, &average);
    bool better = average_error < now_error;
    const struct errors *best = better ? &average : &now;
    double error = better ? average_error : now_error;
    l->solved = best->worst < SOLVED &&
                size_of(best->cost - best->dual) < SOLVED * (1 + size_of(best->cost) + size_of(best->dual));
    bool late = l->count > l->iterations / 3 && error < LESS * l->error;
    bool stuck = l->count > LEAST_BETWEEN_RESTARTS && l->count > l->iterations / 2;
    if (l->solved || error < MUCH_LESS * l->error || late || stuck) restart(l, better, error);
}

void sl_linear_improve(struct sl_linear *l, unsigned iterations)
{
    for (unsigned i = 0; i < iterations && !l->solved; i++) {
        iterate(l);
        if (l->iterations % CHECK == 0) check(l);
    }
}

bool sl_linear_is_solved(const struct sl_linear *l)
{
    return l->solved;
}

size_t sl_linear_size(const struct sl_linear *l)
{
    return l->term_count;
}

double sl_linear_value(const struct sl_linear *l, uint32_t variable)
{
    return (l->count ? l->sum.x[variable] / (double)l->count : l->now.x[variable]) *
           l->variable_scale[variable];
}
