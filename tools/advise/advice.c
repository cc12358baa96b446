#include "tools/advise/advice.h"

#include <stdlib.h>
#include <string.h>

struct advice *advice_add(struct advice_list *list, const char *kind, enum advice_basis basis)
{
    struct advice *next = &list->at[list->count < ADVICE_MAX ? list->count++ : ADVICE_MAX - 1];
    *next = (struct advice){.kind = kind, .basis = basis};
    return next;
}

static double saved_percent(uint64_t before, uint64_t after)
{
    return before ? 100 * ((double)before - (double)after) / (double)before : 0;
}

double advice_percent(const struct advice *advice)
{
    return saved_percent(advice->before_ns, advice->after_ns);
}

double advice_memory_percent(const struct advice *advice)
{
    return saved_percent(advice->before_bytes, advice->after_bytes);
}

bool advice_pays(uint64_t before_ns, uint64_t after_ns)
{
    return saved_percent(before_ns, after_ns) >= ADVICE_LEAST_PERCENT;
}

static int group(const struct advice *advice)
{
    if (advice->basis == ADVICE_FACT) return 0;
    if (advice->changes_training) return 4;
    if (advice->saves_memory) return 3;
    return advice->basis == ADVICE_SIMULATED ? 1 : 2;
}

static double gain(const struct advice *advice)
{
    return advice->saves_memory ? advice_memory_percent(advice) : advice_percent(advice);
}

static bool is_before(const struct advice *a, const struct advice *b)
{
    int x = group(a), y = group(b);
    return x != y ? x < y : x != 0 && gain(a) > gain(b);
}

/* An insertion sort: it is stable, and the list is short. */
void advice_rank(struct advice_list *list)
{
    for (size_t i = 1; i < list->count; i++) {
        struct advice moved = list->at[i];
        size_t at = i;
        for (; at && is_before(&moved, &list->at[at - 1]); at--) list->at[at] = list->at[at - 1];
        list->at[at] = moved;
    }
}

size_t advice_least_budget(const struct advice_point *points, size_t count, uint64_t most_ns)
{
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        if (!points[i].step_ns || points[i].step_ns > most_ns) continue;
        if (least == SIZE_MAX || points[i].budget_bytes < points[least].budget_bytes) least = i;
    }
    return least;
}

size_t advice_knee(const struct advice_point *points, size_t count, uint64_t before_ns)
{
    uint64_t shortest = UINT64_MAX;
    for (size_t i = 0; i < count; i++)
        if (points[i].step_ns && points[i].step_ns < shortest) shortest = points[i].step_ns;
    if (shortest == UINT64_MAX || !advice_pays(before_ns, shortest)) return SIZE_MAX;
    size_t knee = advice_least_budget(points, count, shortest + shortest / 100 * ADVICE_LOSS_PERCENT);
    return advice_pays(before_ns, points[knee].step_ns) ? knee : SIZE_MAX;
}

uint64_t advice_link_ns(uint64_t bytes, uint64_t in_bytes_per_s, uint64_t out_bytes_per_s,
                        unsigned both_percent)
{
    double in = (double)bytes * 1e9 / (double)in_bytes_per_s,
           out = (double)bytes * 1e9 / (double)out_bytes_per_s;
    double together = both_percent > 50 ? 2.0 * both_percent / 100 : 1; /* speed of both, of one alone */
    double ns = (in + out) / together;
    if (in > ns) ns = in;
    if (out > ns) ns = out;
    return ns < 1e18 ? (uint64_t)ns : UINT64_C(1000000000000000000);
}
