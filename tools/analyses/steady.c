#include "tools/analyses/steady.h"

#include <string.h>

#include "tools/analyses/info.h"

#define SOFTWARE_DEVICE "softcuda"

enum {
    CLOCK_ERROR_NS = 1000000, /* work may appear to begin too early by this much */
    EARLY_SHARE = 20,         /* one in this many may be earlier */
};

/* The iterations of a kind, numbered from 0: their number, and each one. */
static uint32_t count_of(const struct model *model, const struct phases *phases, enum steady_kind kind)
{
    if (kind == STEADY_STEPS) return phases->step_count;
    return kind == STEADY_REPETITIONS ? (uint32_t)model->iterations.count : 1;
}

static struct step nth(const struct model *model, const struct phases *phases, enum steady_kind kind,
                       uint32_t n)
{
    if (kind == STEADY_STEPS) return phases->steps[n];
    if (kind == STEADY_RUN) return (struct step){0, (uint32_t)model->launches.count, true};
    uint64_t before = n ? model->iterations.at[n - 1].tick : 0, last = model->iterations.at[n].tick;
    /* The first one has what the program does before it repeats itself. */
    return (struct step){model_launches_to_tick(model, before), model_launches_to_tick(model, last), n > 0};
}

static bool is_usable(const struct model *model, enum steady_kind kind, struct step step)
{
    return step.whole && step.begin < step.end && (kind == STEADY_RUN || step.end < model->launches.count);
}

static uint32_t count_usable(const struct model *model, const struct phases *phases, enum steady_kind kind)
{
    uint32_t usable = 0;
    for (uint32_t n = 0; n < count_of(model, phases, kind); n++)
        usable += is_usable(model, kind, nth(model, phases, kind, n));
    return usable;
}

enum steady_kind steady_kind_of(const struct model *model, const struct phases *phases, enum steady_kind from)
{
    unsigned kind = from;
    while (kind < STEADY_RUN && !count_usable(model, phases, kind)) kind++;
    return kind;
}

void steady_find(const struct model *model, const struct phases *phases, enum steady_kind kind,
                 struct steady *out)
{
    uint32_t usable = count_usable(model, phases, kind), skipped = usable / 2, seen = 0;
    if (usable - skipped > STEADY_MOST) skipped = usable - STEADY_MOST;
    *out = (struct steady){.kind = kind, .total = count_of(model, phases, kind)};
    for (uint32_t n = 0; n < out->total; n++) {
        struct step step = nth(model, phases, kind, n);
        bool overlaps = out->count && step.begin < out->at[out->count - 1].end;
        if (!is_usable(model, kind, step) || seen++ < skipped || overlaps) continue;
        if (!out->count) out->first = n + 1;
        out->at[out->count++] = step;
    }
}

uint32_t steady_of_launch(const struct steady *steady, uint32_t launch)
{
    uint32_t from = 0, to = steady->count;
    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        if (steady->at[middle].end <= launch)
            from = middle + 1;
        else
            to = middle;
    }
    return from < steady->count && steady->at[from].begin <= launch ? from : SL_NONE;
}

uint32_t steady_of_tick(const struct model *model, const struct steady *steady, uint64_t tick)
{
    uint32_t behind = model_launches_to_tick(model, tick);
    return behind ? steady_of_launch(steady, behind - 1) : SL_NONE;
}

static bool is_early(const struct model *model, uint64_t tick, uint64_t began_ns)
{
    uint32_t launch = model_find_launch(model, tick);
    if (launch == SL_NONE || began_ns >= UINT64_MAX - CLOCK_ERROR_NS) return false;
    return began_ns + CLOCK_ERROR_NS < model->launches.at[launch].time_ns;
}

bool has_own_clock(const struct model *model)
{
    const char *device = model_metadata(model, "device");
    if (device && !strncmp(device, SOFTWARE_DEVICE, strlen(SOFTWARE_DEVICE))) return true;
    size_t early = 0, timed = 0;
    for (size_t i = 0; i < model->durations.count; i++) {
        const struct model_duration *duration = &model->durations.at[i];
        if (!duration->began_ns) continue;
        timed++;
        early += is_early(model, duration->tick, duration->began_ns);
    }
    for (size_t i = 0; i < model->transfers.count; i++, timed++)
        early += is_early(model, model->transfers.at[i].tick, model->transfers.at[i].began_ns);
    return early * EARLY_SHARE > timed;
}
