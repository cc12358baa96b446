/* Budgets: a few on each side of the run's own one, and then some between the best of them and its neighbour.
 */
#include <stdio.h>

#include "base/text.h"
#include "tools/advise/advise_settings.h"

enum {
    FEWER = 5,  /* smaller budgets that are tried first */
    PAIR = 2,   /* of them, that are tried at once */
    MORE = 4,   /* larger ones */
    POINTS = 3, /* budgets between two that are tried at once */
    ROUNDS = 2,
    MOST_POINTS = FEWER + MORE + POINTS * ROUNDS,
};

struct search {
    const struct situation *situation;
    struct trial trials[MOST_POINTS];
    struct advice_point points[MOST_POINTS];
    size_t count;
};

/* The chunk size of the run, or a smaller one if that is usual for this budget. */
static uint64_t chunk_for(const struct search *search, uint64_t budget_bytes)
{
    uint64_t chunk = search->situation->setting.chunk_bytes, usual = replay_automatic_chunk(budget_bytes);
    return usual < chunk ? usual : chunk;
}

/* Adds a budget between two others, excluding these. */
static void add(struct search *search, uint64_t bytes, uint64_t above, uint64_t below)
{
    uint64_t chunk = chunk_for(search, bytes);
    bytes = bytes / chunk * chunk;
    if (bytes < replay_least_budget()) bytes = replay_least_budget();
    if (bytes <= above || bytes >= below || search->count == MOST_POINTS) return;
    for (size_t i = 0; i < search->count; i++)
        if (search->points[i].budget_bytes == bytes) return;
    search->trials[search->count].setting = search->situation->setting;
    search->trials[search->count].setting.budget_bytes = bytes;
    search->trials[search->count].setting.chunk_bytes = chunk;
    search->points[search->count++] = (struct advice_point){bytes, 0};
}

static bool try_from(struct search *search, size_t first)
{
    if (!trials_run(&search->situation->job->job, search->trials + first, search->count - first))
        return false;
    for (size_t i = first; i < search->count; i++)
        if (search->trials[i].result.status == SL_OK)
            search->points[i].step_ns = search->trials[i].result.steady.took_ns;
    return true;
}

/* The largest budget below that of `point` that was tried, but at least `low`. */
static uint64_t next_lower(const struct search *search, size_t point, uint64_t low)
{
    for (size_t i = 0; i < search->count; i++)
        if (search->points[i].budget_bytes < search->points[point].budget_bytes &&
            search->points[i].budget_bytes > low)
            low = search->points[i].budget_bytes;
    return low;
}

/* Tries budgets below a good one, down to the next that was tried. False: an error was printed. */
static bool refine(struct search *search, size_t point, uint64_t low)
{
    uint64_t high = search->points[point].budget_bytes;
    size_t first = search->count;
    low = next_lower(search, point, low);
    for (uint64_t i = 1; i <= POINTS; i++) add(search, low + (high - low) * i / (POINTS + 1), low, high);
    return try_from(search, first);
}

static struct advice *note(const struct search *search, size_t point, struct advice_list *list,
                           const char *kind)
{
    const struct situation *s = search->situation;
    const struct trial *trial = &search->trials[point];
    struct advice *advice = advice_add(list, kind, ADVICE_SIMULATED);
    advice->before_ns = situation_step(s);
    advice->after_ns = trial->result.steady.took_ns;
    advice->before_bytes = s->fits ? s->need_bytes : s->setting.budget_bytes;
    advice->after_bytes = trial->setting.budget_bytes;
    advice->before_moved = moved_bytes(&s->now);
    advice->after_moved = moved_bytes(&trial->result);
    snprintf(advice->line, sizeof(advice->line), "SLUICE_DEVICE_BUDGET=%lluM SLUICE_CHUNK=%lluM",
             (unsigned long long)(trial->setting.budget_bytes / SL_MIB),
             (unsigned long long)(trial->setting.chunk_bytes / SL_MIB));
    return advice;
}

/* Tries smaller budgets than that, the largest first, until one is too little: smaller ones take longest.
 * *point: the least that is enough, or SIZE_MAX. False: an error was printed. */
static bool try_fewer(struct search *search, uint64_t used, uint64_t most_ns, size_t *point)
{
    static const unsigned percents[FEWER] = {90, 75, 60, 45, 30};
    for (int i = 0, end = PAIR; i < FEWER; end += PAIR) {
        size_t first = search->count;
        for (; i < end && i < FEWER; i++)
            add(search, used / 100 * percents[i], replay_least_budget() - 1, used);
        if (!try_from(search, first)) return false;
        *point = advice_least_budget(search->points, search->count, most_ns);
        if (*point + 1 != search->count) break;
    }
    return true;
}

/* *step_ns: with the budget that is advised; 0: none is. */
static bool advise_less(const struct situation *s, struct advice_list *list, uint64_t *step_ns)
{
    struct search search = {.situation = s};
    uint64_t used = s->fits ? s->need_bytes : s->setting.budget_bytes, least = replay_least_budget();
    uint64_t most_ns = situation_step(s) + situation_step(s) / 100 * ADVICE_LOSS_PERCENT;
    char less[SL_BYTES_TEXT], before[SL_BYTES_TEXT];
    *step_ns = 0;
    size_t point;
    if (!try_fewer(&search, used, most_ns, &point)) return false;
    for (int round = 0; round < ROUNDS && point != SIZE_MAX; round++) {
        if (!refine(&search, point, least - 1)) return false;
        point = advice_least_budget(search.points, search.count, most_ns);
    }
    if (point == SIZE_MAX) return true;
    struct advice *advice = note(&search, point, list, "budget-smaller");
    advice->saves_memory = true;
    if (advice_memory_percent(advice) < ADVICE_SAVED_PERCENT) {
        list->count--;
        return true;
    }
    snprintf(advice->what, sizeof(advice->what),
             "Give sluice %s of device memory instead of %s: the rest can be used for something else",
             sl_bytes_text(advice->after_bytes, less), sl_bytes_text(advice->before_bytes, before));
    *step_ns = advice->after_ns;
    return true;
}

/* `smaller_ns`: the step with the smaller budget that is advised, or 0. More memory is not advised if less is
 * as good. */
static bool advise_more(const struct situation *s, uint64_t smaller_ns, struct advice_list *list)
{
    struct search search = {.situation = s};
    uint64_t budget = s->setting.budget_bytes;
    uint64_t most = s->need_bytes < s->most_bytes ? s->need_bytes : s->most_bytes;
    char more[SL_BYTES_TEXT], before[SL_BYTES_TEXT];
    if (s->fits || most <= budget) return true;
    for (uint64_t i = 1; i <= MORE; i++)
        add(&search, budget + (most - budget) * i / MORE, budget, most + SL_BLOCK_BYTES);
    if (!try_from(&search, 0)) return false;
    size_t point = advice_knee(search.points, search.count, situation_step(s));
    for (int round = 0; round < ROUNDS && point != SIZE_MAX; round++) {
        if (!refine(&search, point, budget)) return false;
        point = advice_knee(search.points, search.count, situation_step(s));
    }
    if (point == SIZE_MAX) return true;
    if (smaller_ns && !advice_pays(smaller_ns, search.points[point].step_ns)) return true;
    struct advice *advice = note(&search, point, list, "budget-larger");
    snprintf(advice->what, sizeof(advice->what), "Give sluice %s of device memory instead of %s%s",
             sl_bytes_text(advice->after_bytes, more), sl_bytes_text(advice->before_bytes, before),
             s->most_bytes == UINT64_MAX ? ", if the device has as much" : "");
    advice->unseen = "whether other programs need that memory";
    return true;
}

bool advise_budgets(const struct situation *situation, struct advice_list *list)
{
    uint64_t smaller_ns;
    return advise_less(situation, list, &smaller_ns) && advise_more(situation, smaller_ns, list);
}
