#include "tools/analyses/figures.h"

#include <stdio.h>
#include <stdlib.h>

/* A figure of its own, or the first of several: one for each cause or class. */
static const struct row {
    unsigned first, count;
    const char *name;
    const char *(*part)(unsigned index); /* name of a cause or class */
} rows[] = {
    {FIGURE_HOST_TIME, 1, "time", NULL},
    {FIGURE_DEVICE_TIME, 1, "device time", NULL},
    {FIGURE_KERNELS, 1, "kernels", NULL},
    {FIGURE_STALLED, 1, "stalled", NULL},
    {FIGURE_STALLS, 1, "stalls", NULL},
    {FIGURE_LAUNCHES, 1, "launches", NULL},
    {FIGURE_MISPREDICTIONS, 1, "mispredictions", NULL},
    {FIGURE_MOVED, 1, "moved", NULL},
    {FIGURE_FETCHED, 1, "fetched", NULL},
    {FIGURE_FETCHED_BY, MOVE_CAUSES, "fetched", move_cause_name},
    {FIGURE_EVICTED, 1, "evicted", NULL},
    {FIGURE_EVICTED_BY, MOVE_CAUSES, "evicted", move_cause_name},
    {FIGURE_POPULATED, 1, "populated", NULL},
    {FIGURE_DISCARDED, 1, "discarded", NULL},
    {FIGURE_COPIED_IN, 1, "program's copies in", NULL},
    {FIGURE_COPIED_OUT, 1, "program's copies out", NULL},
    {FIGURE_FETCHED_OF, CLASS_COUNT, "fetched", class_name},
    {FIGURE_EVICTED_OF, CLASS_COUNT, "evicted", class_name},
    {FIGURE_PEAK, 1, "peak", NULL},
    {FIGURE_PEAK_OF, CLASS_COUNT, "peak", class_name},
    {FIGURE_MEAN, 1, "mean", NULL},
    {FIGURE_MEAN_OF, CLASS_COUNT, "mean", class_name},
    {FIGURE_NEED, 1, "live", NULL},
};

const char *figure_name(unsigned figure, char out[FIGURE_NAME])
{
    size_t r = 0;
    while (r + 1 < sizeof(rows) / sizeof(*rows) && figure >= rows[r].first + rows[r].count) r++;
    const char *part = rows[r].part ? rows[r].part(figure - rows[r].first) : NULL;
    snprintf(out, FIGURE_NAME, "%s%s%s", rows[r].name, part ? ", " : "", part ? part : "");
    return out;
}

enum figure_unit figure_unit(unsigned figure)
{
    if (figure <= FIGURE_STALLED) return FIGURE_IN_NS;
    return figure < FIGURE_MOVED ? FIGURE_IN_NUMBERS : FIGURE_IN_BYTES;
}

static void count_launch(const struct model_shape *shape, uint64_t ns, uint8_t source, uint64_t *figures,
                         struct launch_times *times)
{
    figures[FIGURE_LAUNCHES]++;
    figures[FIGURE_KERNELS] += ns;
    times->launches++;
    times->measured += source == TIME_MEASURED;
    times->alike += source == TIME_ALIKE;
    times->guessed += source == TIME_GUESSED;
    if (shape->kind != SL_LAUNCH_COPY) return;
    if (shape->direction == SL_COPY_IN) figures[FIGURE_COPIED_IN] += shape->size;
    if (shape->direction == SL_COPY_OUT) figures[FIGURE_COPIED_OUT] += shape->size;
}

static bool count_launches(const struct model *model, const struct steady *steady, struct figures *out)
{
    struct launch_clock clock;
    bool good = launch_clock_make(model, &clock);
    for (uint32_t i = 0; good && i < steady->count; i++) {
        const struct step *step = &steady->at[i];
        for (uint32_t l = step->begin; l < step->end; l++)
            count_launch(model_shape_of(model, &model->launches.at[l]), clock.ns[l], clock.source[l],
                         out->of[i], &out->times);
        uint64_t begin_ns = model->launches.at[step->begin].time_ns;
        uint64_t end_ns =
            step->end < model->launches.count ? model->launches.at[step->end].time_ns : model->last_ns;
        out->of[i][FIGURE_HOST_TIME] = end_ns > begin_ns ? end_ns - begin_ns : 0;
    }
    launch_clock_free(&clock);
    return good;
}

static void count_move(const struct model_move *move, uint64_t *figures)
{
    switch (move->kind) {
    case SL_ACTION_FETCH:
        figures[FIGURE_FETCHED] += move->bytes;
        figures[FIGURE_FETCHED_BY + move->cause] += move->bytes;
        break;
    case SL_ACTION_EVICT:
        figures[FIGURE_EVICTED] += move->bytes;
        figures[FIGURE_EVICTED_BY + move->cause] += move->bytes;
        break;
    case SL_ACTION_POPULATE:
        figures[FIGURE_POPULATED] += move->bytes;
        break;
    default:
        figures[FIGURE_DISCARDED] += move->bytes;
        break;
    }
}

static void count_events(const struct model *model, const struct steady *steady, struct figures *out)
{
    for (size_t i = 0; i < model->moves.count; i++) {
        uint32_t at = steady_of_tick(model, steady, model->moves.at[i].tick);
        if (at != SL_NONE) count_move(&model->moves.at[i], out->of[at]);
    }
    for (size_t i = 0; i < model->stalls.count; i++) {
        const struct model_stall *stall = &model->stalls.at[i];
        uint32_t at = steady_of_tick(model, steady, stall->launch ? stall->launch : stall->tick);
        if (at == SL_NONE) continue;
        out->of[at][FIGURE_STALLS]++;
        out->of[at][FIGURE_STALLED] += stall->took_ns;
    }
    for (size_t i = 0; i < model->mispredictions.count; i++) {
        uint32_t at = steady_of_tick(model, steady, model->mispredictions.at[i]);
        if (at != SL_NONE) out->of[at][FIGURE_MISPREDICTIONS]++;
    }
    for (uint32_t i = 0; i < out->count; i++) {
        uint64_t *figures = out->of[i];
        figures[FIGURE_DEVICE_TIME] = figures[FIGURE_KERNELS] + figures[FIGURE_STALLED];
        figures[FIGURE_MOVED] = figures[FIGURE_FETCHED] + figures[FIGURE_EVICTED];
    }
}

bool figures_make(const struct model *model, const struct phases *phases, const struct steady *steady,
                  struct figures *out)
{
    *out = (struct figures){.count = steady->count, .classes_known = phases->found};
    out->of = calloc(steady->count, sizeof(*out->of));
    if (!out->of || !count_launches(model, steady, out)) return false;
    count_events(model, steady, out);
    return figures_of_memory(model, phases, steady, out);
}

void figures_free(struct figures *figures)
{
    free(figures->of);
    *figures = (struct figures){0};
}
