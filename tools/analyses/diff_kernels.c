/* The kernels of two traces side by side. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "tools/analyses/diff.h"

enum { HASH_DIGITS = 8 };

struct values { /* of one row in one iteration */
    uint64_t time_ns, launches, stall_ns, stalls;
};

/* How much the measured times of equal launches differ. */
struct jitter {
    double apart_ns, sum_ns; /* distances from the mean, and the times */
    uint64_t measured, launches;
};

struct joining {
    struct diff *diff;
    struct sl_map rows; /* by kind and name */
    size_t room;
    uint32_t *row_of_shape[DIFF_SIDES];
    struct values *values[DIFF_SIDES]; /* iteration by iteration, a row each */
    struct jitter *jitter[DIFF_SIDES]; /* of each row */
};

/* The end of a hash that the compiler makes of a file's content, behind `at`; or `at`. */
static const char *skip_hash(const char *at)
{
    for (unsigned i = 0; i < HASH_DIGITS; i++)
        if (!isxdigit((unsigned char)at[i])) return at;
    return at + HASH_DIGITS;
}

/* A hash of the kernel's name. Names of kernels in anonymous namespaces have hashes of their source file in
 * them ("_GLOBAL__N__47aea187_12_layers_cu_9c5ada8a"), and are the same kernel after a change in that file.
 */
static uint64_t name_key(const char *name, uint8_t kind)
{
    static const char begin[] = "_GLOBAL__N__", middle[] = "_cu_";
    bool anonymous = false;
    uint64_t hash = kind + 1U;
    for (const char *at = name; *at;) {
        hash = sl_hash_word(hash, (unsigned char)*at);
        bool begins = !strncmp(at, begin, sizeof(begin) - 1);
        size_t skipped = begins ? sizeof(begin) - 1 : sizeof(middle) - 1;
        if (begins || (anonymous && !strncmp(at, middle, sizeof(middle) - 1))) {
            anonymous = begins;
            at = skip_hash(at + skipped);
        } else {
            at++;
        }
    }
    return hash | 1;
}

static bool add_row(struct joining *j, const char *name, uint8_t kind, uint32_t *out)
{
    struct diff *diff = j->diff;
    uint64_t key = name_key(name, kind);
    *out = sl_map_get(&j->rows, key);
    if (*out != SL_NONE) return true;
    if (diff->kernel_count == j->room) {
        size_t room = j->room ? 2 * j->room : 64;
        struct diff_kernel *larger = realloc(diff->kernels, room * sizeof(*larger));
        if (!larger) return false;
        diff->kernels = larger;
        j->room = room;
    }
    *out = (uint32_t)diff->kernel_count;
    diff->kernels[diff->kernel_count++] = (struct diff_kernel){.name = name, .kind = kind};
    return sl_map_put(&j->rows, key, *out);
}

static bool make_rows(struct joining *j)
{
    for (unsigned s = 0; s < DIFF_SIDES; s++) {
        const struct model *model = j->diff->sides[s].model;
        j->row_of_shape[s] = calloc(model->shapes.count + 1, sizeof(*j->row_of_shape[s]));
        if (!j->row_of_shape[s]) return false;
        for (size_t i = 0; i < model->shapes.count; i++) {
            const struct model_shape *shape = &model->shapes.at[i];
            const char *name =
                shape->kind == SL_LAUNCH_KERNEL ? kernel_name(&model->kernels, shape->kernel) : NULL;
            if (!add_row(j, name ? name : launch_kind_name(shape->kind), shape->kind, &j->row_of_shape[s][i]))
                return false;
        }
    }
    return true;
}

static struct values *values_of_launch(struct joining *j, unsigned s, uint32_t iteration, uint32_t launch)
{
    uint32_t shape = j->diff->sides[s].model->launches.at[launch].shape;
    return &j->values[s][iteration * j->diff->kernel_count + j->row_of_shape[s][shape]];
}

static bool count_launches(struct joining *j, unsigned s)
{
    const struct diff_side *side = &j->diff->sides[s];
    const struct model *model = side->model;
    struct launch_clock clock;
    bool good = launch_clock_make(model, &clock);
    for (uint32_t l = 0; good && l < model->launches.count; l++)
        j->diff->kernels[j->row_of_shape[s][model->launches.at[l].shape]].all[s]++;
    for (uint32_t i = 0; good && i < side->steady.count; i++) {
        for (uint32_t l = side->steady.at[i].begin; l < side->steady.at[i].end; l++) {
            uint32_t shape = model->launches.at[l].shape;
            struct values *values = values_of_launch(j, s, i, l);
            struct jitter *jitter = &j->jitter[s][j->row_of_shape[s][shape]];
            values->time_ns += clock.ns[l];
            values->launches++;
            jitter->launches++;
            if (clock.source[l] != TIME_MEASURED) continue;
            jitter->measured++;
            jitter->sum_ns += (double)clock.ns[l];
            jitter->apart_ns += clock.ns[l] > clock.shape_ns[shape]
                                    ? (double)(clock.ns[l] - clock.shape_ns[shape])
                                    : (double)(clock.shape_ns[shape] - clock.ns[l]);
        }
    }
    for (size_t i = 0; good && i < model->stalls.count; i++) {
        uint32_t launch = model_find_launch(model, model->stalls.at[i].launch);
        uint32_t at = launch == SL_NONE ? SL_NONE : steady_of_launch(&side->steady, launch);
        if (at == SL_NONE) continue;
        values_of_launch(j, s, at, launch)->stalls++;
        values_of_launch(j, s, at, launch)->stall_ns += model->stalls.at[i].took_ns;
    }
    launch_clock_free(&clock);
    return good;
}

static struct spread spread_over(const struct joining *j, unsigned s, size_t row, size_t member)
{
    uint64_t values[STEADY_MOST];
    uint32_t count = j->diff->sides[s].steady.count;
    for (uint32_t i = 0; i < count; i++)
        values[i] =
            *(const uint64_t *)((const char *)&j->values[s][i * j->diff->kernel_count + row] + member);
    return spread_of(values, count);
}

/* Where most launches are not measured, they have the mean of those that are, and iterations look more alike
 * than they are: then the measured launches tell how far times lie apart. */
static uint64_t time_width(const struct joining *j, unsigned s, size_t row, const struct spread *time)
{
    const struct jitter *jitter = &j->jitter[s][row];
    uint64_t width = spread_width(time);
    if (2 * jitter->measured >= jitter->launches || jitter->sum_ns <= 0) return width;
    double apart = 2 * jitter->apart_ns / jitter->sum_ns * (double)time->median;
    return apart > (double)width ? (uint64_t)apart : width;
}

static void compare(const struct joining *j, size_t row)
{
    struct diff *diff = j->diff;
    struct diff_kernel *kernel = &diff->kernels[row];
    uint64_t width = 0, whole = 0;
    bool known = true;
    for (unsigned s = 0; s < DIFF_SIDES; s++) {
        kernel->time.of[s] = spread_over(j, s, row, offsetof(struct values, time_ns));
        kernel->launches.of[s] = spread_over(j, s, row, offsetof(struct values, launches));
        kernel->stalled.of[s] = spread_over(j, s, row, offsetof(struct values, stall_ns));
        kernel->stalls[s] = spread_over(j, s, row, offsetof(struct values, stalls)).median;
        kernel->measured[s] = j->jitter[s][row].measured;
        uint64_t own = time_width(j, s, row, &kernel->time.of[s]);
        uint64_t all = diff->figures[diff_time(diff)].of[s].median;
        known = known && (kernel->time.of[s].median || !kernel->launches.of[s].median);
        width = own > width ? own : width;
        whole = all > whole ? all : whole;
    }
    uint64_t a = kernel->time.of[DIFF_A].median, b = kernel->time.of[DIFF_B].median;
    kernel->time.compared = known && diff->figures[FIGURE_KERNELS].compared;
    kernel->stalled.compared = diff->figures[FIGURE_STALLED].compared;
    kernel->launches.compared = true;
    if (kernel->time.compared) kernel->time.state = diff_compare(a, b, width, whole, diff->threshold);
    if (kernel->stalled.compared)
        kernel->stalled.state = diff_compare_spreads(kernel->stalled.of, whole, diff->threshold);
    kernel->launches.state = diff_compare_spreads(kernel->launches.of, 0, diff->threshold);
    const enum diff_state states[] = {kernel->time.state, kernel->stalled.state, kernel->launches.state};
    for (size_t i = sizeof(states) / sizeof(*states); i-- > 0;)
        if (diff_matters(states[i]) || kernel->state == DIFF_SAME) kernel->state = states[i];
    if (!kernel->all[DIFF_A]) kernel->state = DIFF_ADDED;
    if (!kernel->all[DIFF_B]) kernel->state = DIFF_GONE;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a < b ? b - a : a - b;
}

static int by_difference(const void *one, const void *other)
{
    const struct diff_kernel *kernels[] = {one, other};
    uint64_t keys[2];
    for (unsigned k = 0; k < 2; k++)
        keys[k] = distance(kernels[k]->time.of[DIFF_A].median, kernels[k]->time.of[DIFF_B].median) +
                  distance(kernels[k]->stalled.of[DIFF_A].median, kernels[k]->stalled.of[DIFF_B].median);
    if (keys[0] != keys[1]) return keys[0] > keys[1] ? -1 : 1;
    return strcmp(kernels[0]->name, kernels[1]->name);
}

/* Removes the rows without launches in the iterations. */
static void drop_unused(struct diff *diff)
{
    size_t kept = 0;
    for (size_t k = 0; k < diff->kernel_count; k++) {
        const struct diff_kernel *kernel = &diff->kernels[k];
        if (kernel->launches.of[DIFF_A].most || kernel->launches.of[DIFF_B].most)
            diff->kernels[kept++] = *kernel;
    }
    diff->kernel_count = kept;
    if (kept) qsort(diff->kernels, kept, sizeof(*diff->kernels), by_difference);
}

bool diff_find_kernels(struct diff *diff)
{
    struct joining j = {.diff = diff};
    bool good = make_rows(&j);
    for (unsigned s = 0; s < DIFF_SIDES && good; s++) {
        j.values[s] =
            calloc((size_t)diff->sides[s].steady.count * diff->kernel_count + 1, sizeof(struct values));
        j.jitter[s] = calloc(diff->kernel_count + 1, sizeof(struct jitter));
        good = j.values[s] && j.jitter[s] && count_launches(&j, s);
    }
    for (size_t row = 0; good && row < diff->kernel_count; row++) compare(&j, row);
    if (good) drop_unused(diff);
    for (unsigned s = 0; s < DIFF_SIDES; s++) {
        free(j.row_of_shape[s]);
        free(j.values[s]);
        free(j.jitter[s]);
    }
    sl_map_free(&j.rows);
    return good;
}
