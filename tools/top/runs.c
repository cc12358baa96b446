#include "tools/top/runs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/grow.h"
#include "base/text.h"

struct search {
    struct runs *runs;
    char **names;
    size_t name_count;
};

static bool is_wanted(const struct search *search, const struct sl_monitor_record *record)
{
    char id[24];
    snprintf(id, sizeof(id), "%" PRIu64, record->process);
    for (size_t i = 0; i < search->name_count; i++)
        if (!strcmp(search->names[i], id) || !strcmp(search->names[i], record->program)) return true;
    return search->name_count == 0;
}

static void defuse(struct sl_monitor_record *record)
{
    sl_defuse(record->program);
    sl_defuse(record->rank);
    for (uint32_t d = 0; d < record->devices; d++) {
        struct sl_stats *figures = &record->figures[d];
        sl_defuse(figures->policy);
        sl_defuse(figures->daemon);
        sl_defuse(figures->expected);
        sl_defuse(figures->came);
    }
}

static void add(const char *path, void *context)
{
    struct search *search = context;
    struct runs *runs = search->runs;
    if (!sl_grow(&runs->all, &runs->room, runs->count, sizeof(*runs->all))) {
        runs->no_memory = true;
        return;
    }
    struct sl_monitor_record *record = &runs->all[runs->count];
    enum sl_status status = sl_monitor_read(path, record);
    if (status == SL_ERR_VERSION && !search->name_count) runs->others++;
    if (status != SL_OK || !is_wanted(search, record)) return;
    defuse(record);
    runs->count++;
}

static int by_process(const void *a, const void *b)
{
    const struct sl_monitor_record *x = a, *y = b;
    return (x->process > y->process) - (x->process < y->process);
}

bool runs_look(struct runs *runs, const char *folder, char **names, size_t name_count)
{
    struct search search = {runs, names, name_count};
    runs->count = runs->others = 0;
    runs->no_memory = false;
    sl_monitor_list(folder, add, &search);
    if (runs->count) qsort(runs->all, runs->count, sizeof(*runs->all), by_process);
    runs->looked_ns = sl_clock_ns(CLOCK_MONOTONIC);
    past_note(&runs->past, runs->all, runs->count, runs->looked_ns);
    return !runs->no_memory;
}

void runs_free(struct runs *runs)
{
    free(runs->all);
    past_free(&runs->past);
    *runs = (struct runs){0};
}

bool run_has_step(const struct sl_stats *figures)
{
    return figures->step_time_ns != 0;
}

uint64_t run_other_ns(const struct sl_stats *figures)
{
    return figures->device_step_ns > figures->device_stall_ns
               ? figures->device_step_ns - figures->device_stall_ns
               : 0;
}

double run_speed(const struct sl_stats *figures, bool in)
{
    bool by_device = figures->device_step_ns && figures->recent_ns;
    const struct sl_counts *counts = by_device ? &figures->recent : &figures->step;
    uint64_t ns = by_device ? figures->recent_ns : figures->step_time_ns;
    return ns ? 1e9 * (double)sl_stats_bytes(in ? counts->bytes_in : counts->bytes_out) / (double)ns : 0;
}

const char *run_plan_text(const struct sl_stats *figures)
{
    static const char *const texts[] = {
        [SL_PLAN_STATE_NOT_NEEDED] = "not needed",  [SL_PLAN_STATE_LEARNING] = "learning",
        [SL_PLAN_STATE_MAKING] = "being made",      [SL_PLAN_STATE_FOLLOWED] = "followed",
        [SL_PLAN_STATE_DEVIATED] = "deviated from", [SL_PLAN_STATE_NOT_MADE] = "none by this policy",
    };
    return figures->plan_state < sizeof(texts) / sizeof(*texts) ? texts[figures->plan_state] : "unknown";
}
