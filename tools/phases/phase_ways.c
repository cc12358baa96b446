/* Selects the way of cutting a trace into windows that shows training most clearly. */
#include "tools/phases/phase_finder.h"

#include <stdlib.h>
#include <string.h>

enum {
    CANDIDATES = 64, /* number of kinds among which the one that touches most is searched, */
    FREQUENT = 20,   /* with at least one in this many of the windows of the most frequent kind */
    MARGIN = 32,     /* kinds that lack at most one in this many segments count as touching the most; */
    SAMPLES = 8,     /* number of these that are examined */
};

/* Marks the kept segments: those of slots with a life in which two windows begin. */
static void find_kept(struct finder *f)
{
    const struct model *model = f->model;
    const struct segments *segments = &f->out->segments;
    uint32_t least = f->windows.count < 2 ? f->windows.count : 2;
    memset(f->is_kept, 0, segments->count);
    for (size_t i = 0; i < model->lives.count; i++) {
        const struct model_life *life = &model->lives.at[i];
        uint32_t from = 0, to = f->windows.count; /* first window that begins in it */
        while (from < to) {
            uint32_t middle = from + (to - from) / 2;
            if (model->launches.at[f->windows.at[middle].anchor].time_ns < life->born_ns)
                from = middle + 1;
            else
                to = middle;
        }
        uint32_t last = from + least - 1;
        if (last >= f->windows.count ||
            model->launches.at[f->windows.at[last].anchor].time_ns > life->died_ns)
            continue;
        uint32_t s = segments->first_of_slot[life->slot];
        memset(f->is_kept + s, 1, segments->first_of_slot[life->slot + 1] - s);
    }
}

bool touches_of_type(struct finder *f, uint32_t type, struct touches *out)
{
    const struct window *window = &f->windows.at[f->windows.types[type].window];
    return touches_find(f->model, &f->out->segments, window, out);
}

/* Counts the kept segments that each of the frequent types touches: an update touches segments that nothing
 * else touches. */
static void count_kept(struct finder *f, uint32_t *kept)
{
    uint32_t most = 0, tried = 0;
    for (uint32_t t = 0; t < f->windows.type_count; t++)
        if (f->windows.types[t].count > most) most = f->windows.types[t].count;
    for (uint32_t t = f->windows.type_count; t-- > 0 && tried < CANDIDATES;) {
        struct touches touches;
        if (f->windows.types[t].count * FREQUENT < most) continue;
        tried++;
        if (touches_of_type(f, t, &touches))
            for (uint32_t s = 0; s < touches.segment_count; s++) kept[t] += f->is_kept[touches.segments[s]];
        touches_free(&touches);
    }
}

static bool shows_more(const struct sample *a, const struct sample *b)
{
    if (a->update != b->update) return a->update;
    if (a->kept != b->kept) return a->kept > b->kept;
    if (a->count != b->count) return a->count > b->count;
    return a->touches.positions > b->touches.positions;
}

/* The most informative type among those that touch about as much as any other. Tries later types first,
 * because late parts of a program are known more exactly than its start. False: there is none. */
static bool find_sample(struct finder *f, struct sample *out)
{
    uint32_t *kept = calloc(f->windows.type_count + 1, sizeof(*kept)), most = 0, tried = 0;
    struct knowledge known = {
        .is_input = f->anchors.is_input, .is_zeroed = f->anchors.is_zeroed, .is_kept = f->is_kept};
    bool any = false;
    if (kept) count_kept(f, kept);
    f->no_memory |= !kept;
    for (uint32_t t = 0; kept && t < f->windows.type_count; t++)
        if (kept[t] > most) most = kept[t];
    for (uint32_t t = f->windows.type_count; kept && t-- > 0 && tried < SAMPLES && !f->no_memory;) {
        struct sample sample = {.type = t, .kept = kept[t], .count = f->windows.types[t].count};
        if (kept[t] + most / MARGIN < most || !most) continue;
        tried++;
        bool good = touches_of_type(f, t, &sample.touches);
        if (good && !turns_find(&sample.touches, &known, SL_NONE, &sample.turns)) f->no_memory = true;
        sample.update = good && sample.turns.update < sample.touches.positions;
        if (good && !f->no_memory && (!any || shows_more(&sample, out))) {
            if (any) touches_free(&out->touches);
            *out = sample;
            any = true;
        } else {
            touches_free(&sample.touches);
        }
    }
    free(kept);
    return any;
}

bool try_way(struct finder *f, uint32_t way, struct sample *sample)
{
    windows_free(&f->windows);
    if (!windows_cut(f->model, &f->anchors, way, &f->windows)) {
        f->no_memory = true;
        return false;
    }
    if (!f->windows.count) return false;
    find_kept(f);
    return find_sample(f, sample);
}

/* The quality of a way to cut: first whether its windows show an update, then how much it explains. What
 * begins right after the copies of a batch counts more, as the forward pass does; but so do launches with
 * parameters in memory, amid a step. */
enum { DIRECT = 8, OTHER = 7 };

struct merit {
    bool update;
    int64_t score;
};

static bool is_better(const struct merit *a, const struct merit *b)
{
    return a->update != b->update ? a->update : a->score > b->score;
}

uint32_t choose_way(struct finder *f)
{
    uint32_t best = SL_NONE;
    struct merit most = {0};
    for (uint32_t w = 0; w < f->anchors.ways && !f->no_memory; w++) {
        struct sample sample;
        if (!try_way(f, w, &sample)) continue;
        int64_t weight = f->anchors.direct[w] ? DIRECT : OTHER;
        struct merit merit = {sample.update, weight * sample.turns.score};
        bool passes = sample.turns.backward < sample.turns.update && sample.turns.score > 0;
        touches_free(&sample.touches);
        if (!passes || (best != SL_NONE && !is_better(&merit, &most))) continue;
        most = merit;
        best = w;
    }
    return best;
}
