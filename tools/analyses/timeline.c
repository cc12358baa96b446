#include "tools/analyses/timeline.h"

#include <stdlib.h>

#include "tools/analyses/pieces.h"
#include "tools/analyses/residency.h"

enum {
    CLOCK_ERROR_NS = 1000000,
    EARLY_SHARE = 20, /* one in this many transfers may be wrong */
};

struct making {
    const struct model *model;
    const struct phases *phases;
    struct timeline *out;
    struct pieces pieces;
};

static bool allocate(struct timeline *t)
{
    size_t rows = 1 + CLASS_COUNT + (size_t)DIRECTIONS * MOVE_CAUSES + DIRECTIONS + 1;
    t->phase = calloc(t->count, 1);
    t->room = calloc(rows * t->count, sizeof(*t->room));
    if (!t->phase || !t->room) return false;
    uint64_t *next = t->room;
#define ROW(row) (row) = next, next += t->count
    ROW(t->resident);
    for (unsigned c = 0; c < CLASS_COUNT; c++) ROW(t->of_class[c]);
    for (unsigned d = 0; d < DIRECTIONS; d++) {
        for (unsigned c = 0; c < MOVE_CAUSES; c++) ROW(t->moved[d][c]);
        ROW(t->busy_ns[d]);
    }
    ROW(t->stall_ns);
#undef ROW
    return true;
}

uint64_t timeline_begin_of(const struct timeline *t, uint32_t stretch)
{
    return t->begin_ns + (uint64_t)((double)(t->end_ns - t->begin_ns) * stretch / t->count);
}

/* The index of the interval of a time in [begin_ns, end_ns). */
static uint32_t stretch_of(const struct timeline *t, uint64_t time_ns)
{
    double share = (double)(time_ns - t->begin_ns) / (double)(t->end_ns - t->begin_ns);
    uint32_t stretch = (uint32_t)(share * t->count);
    return stretch < t->count ? stretch : t->count - 1;
}

static bool is_within(const struct timeline *t, uint64_t time_ns)
{
    return time_ns >= t->begin_ns && time_ns < t->end_ns;
}

/* The part of `amount` before `at` if it is distributed evenly over [from, to). */
static uint64_t part_before(uint64_t amount, uint64_t from, uint64_t to, uint64_t at)
{
    return (uint64_t)((unsigned __int128)amount * (at - from) / (to - from));
}

void timeline_spread(const struct timeline *t, uint64_t *row, uint64_t from, uint64_t to, uint64_t amount)
{
    uint64_t begin = from > t->begin_ns ? from : t->begin_ns, end = to < t->end_ns ? to : t->end_ns;
    if (begin >= end) return;
    uint32_t last = stretch_of(t, end - 1);
    for (uint32_t s = stretch_of(t, begin); s <= last; s++) {
        uint64_t left = timeline_begin_of(t, s),
                 right = s + 1 < t->count ? timeline_begin_of(t, s + 1) : t->end_ns;
        if (left < begin) left = begin;
        if (right > end) right = end;
        if (left < right)
            row[s] += part_before(amount, from, to, right) - part_before(amount, from, to, left);
    }
}

static bool find_phases(const struct making *m)
{
    const struct model *model = m->model;
    struct timeline *t = m->out;
    uint64_t *times = calloc((size_t)t->count * PHASE_COUNT, sizeof(*times)); /* a row for each phase */
    if (!times) return false;
    uint32_t first = model_launches_to_time(model, t->begin_ns);
    for (uint32_t l = first ? first - 1 : 0; l < model->launches.count; l++) {
        uint64_t from = model->launches.at[l].time_ns;
        uint64_t to = l + 1 < model->launches.count ? model->launches.at[l + 1].time_ns : t->end_ns;
        if (from >= t->end_ns) break;
        if (to > from)
            timeline_spread(t, times + (size_t)m->phases->of_launch[l] * t->count, from, to, to - from);
    }
    for (uint32_t s = 0; s < t->count; s++)
        for (unsigned p = 1; p < PHASE_COUNT; p++)
            if (times[(size_t)p * t->count + s] > times[(size_t)t->phase[s] * t->count + s])
                t->phase[s] = (uint8_t)p;
    free(times);
    return true;
}

bool device_has_own_clock(const struct model *model)
{
    size_t early = 0;
    for (size_t i = 0; i < model->transfers.count; i++) {
        const struct model_transfer *transfer = &model->transfers.at[i];
        uint32_t launch = model_find_launch(model, transfer->tick);
        if (launch != SL_NONE)
            early += transfer->began_ns < UINT64_MAX - CLOCK_ERROR_NS &&
                     transfer->began_ns + CLOCK_ERROR_NS < model->launches.at[launch].time_ns;
    }
    return early * EARLY_SHARE > model->transfers.count;
}

static void find_traffic(const struct making *m)
{
    const struct model *model = m->model;
    struct timeline *t = m->out;
    t->other_clock = device_has_own_clock(model);
    t->has_transfers = model->transfers.count && !t->other_clock;
    for (size_t i = 0; t->has_transfers && i < model->transfers.count; i++) {
        const struct model_transfer *transfer = &model->transfers.at[i];
        bool in = transfer->kind == SL_ACTION_FETCH;
        if (!in && transfer->kind != SL_ACTION_EVICT) continue;
        uint64_t took = transfer->took_ns ? transfer->took_ns : 1;
        if (took > UINT64_MAX - transfer->began_ns) continue;
        unsigned d = in ? TO_DEVICE : FROM_DEVICE;
        timeline_spread(t, t->moved[d][transfer->cause], transfer->began_ns, transfer->began_ns + took,
                        transfer->bytes);
        timeline_spread(t, t->busy_ns[d], transfer->began_ns, transfer->began_ns + took, took);
    }
    for (size_t i = 0; !t->has_transfers && i < model->moves.count; i++) {
        const struct model_move *move = &model->moves.at[i];
        if (!is_within(t, move->time_ns)) continue;
        uint32_t s = stretch_of(t, move->time_ns);
        if (move->kind == SL_ACTION_FETCH) t->moved[TO_DEVICE][move->cause][s] += move->bytes;
        if (move->kind == SL_ACTION_EVICT) t->moved[FROM_DEVICE][move->cause][s] += move->bytes;
    }
    for (size_t i = 0; i < model->stalls.count; i++) {
        const struct model_stall *stall = &model->stalls.at[i];
        uint32_t launch = stall->launch ? model_find_launch(model, stall->launch) : SL_NONE;
        uint64_t at = launch == SL_NONE ? stall->time_ns : model->launches.at[launch].time_ns;
        if (is_within(t, at)) t->stall_ns[stretch_of(t, at)] += stall->took_ns;
    }
}

static bool find_memory(struct making *m)
{
    const struct model *model = m->model;
    struct timeline *t = m->out;
    struct residency residency;
    bool good = residency_start(model, &residency);
    for (size_t i = 0; good && i < model->lives.count; i++) {
        const struct model_life *life = &model->lives.at[i];
        if (life->born_ns < t->end_ns && life->died_ns > t->begin_ns)
            pieces_add_life(model, m->phases, life, &m->pieces);
    }
    t->by_class_lives = !residency.by_lives && !model->slabs.count;
    good = good && !m->pieces.no_memory;
    for (uint32_t s = 0; good && s < t->count; s++) {
        uint64_t now = (s + 1 < t->count ? timeline_begin_of(t, s + 1) : t->end_ns) - 1;
        bool all = residency.by_lives || t->by_class_lives;
        residency_step(&residency, now);
        t->resident[s] = residency.bytes;
        for (size_t i = 0; i < m->pieces.count; i++) {
            const struct piece *piece = &m->pieces.at[i];
            if (piece->born_ns > now || piece->died_ns <= now) continue;
            if (all || residency_holds(&residency, piece->chunk))
                t->of_class[piece->class][s] += piece->bytes;
        }
    }
    good = good && !residency.no_memory;
    residency_free(&residency);
    return good;
}

bool timeline_make(const struct model *model, const struct phases *phases, uint64_t begin_ns, uint64_t end_ns,
                   uint32_t count, struct timeline *out)
{
    *out = (struct timeline){
        .begin_ns = begin_ns, .end_ns = end_ns > begin_ns ? end_ns : begin_ns + 1, .count = count};
    struct making m = {.model = model, .phases = phases, .out = out};
    bool good = allocate(out) && find_phases(&m) && find_memory(&m);
    if (good) find_traffic(&m);
    pieces_free(&m.pieces);
    return good;
}

void timeline_free(struct timeline *timeline)
{
    free(timeline->phase);
    free(timeline->room);
    *timeline = (struct timeline){0};
}
