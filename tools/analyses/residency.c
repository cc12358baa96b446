#include "tools/analyses/residency.h"

#include <stdlib.h>

#include "tools/model/sorted.h"

static uint64_t *held_by(struct residency *r, uint32_t chunk)
{
    uint32_t index = sl_map_get(&r->index_of, (uint64_t)chunk + 1);
    if (index != SL_NONE) return &r->held.at[index];
    if (r->held.count == r->held.room) {
        size_t room = r->held.room ? 2 * r->held.room : 256;
        uint64_t *larger = realloc(r->held.at, room * sizeof(*larger));
        if (!larger) return NULL;
        r->held.at = larger;
        r->held.room = room;
    }
    if (!sl_map_put(&r->index_of, (uint64_t)chunk + 1, (uint32_t)r->held.count)) return NULL;
    r->held.at[r->held.count] = 0;
    return &r->held.at[r->held.count++];
}

static void apply(struct residency *r, const struct model_move *move)
{
    uint64_t *held = held_by(r, move->chunk);
    if (!held) {
        r->no_memory = true;
        return;
    }
    bool comes = move->kind == SL_ACTION_FETCH || move->kind == SL_ACTION_POPULATE;
    uint64_t now = comes ? *held + move->bytes : 0;
    if (now < *held && comes) now = UINT64_MAX; /* not a figure that sluice wrote */
    r->bytes = r->bytes - *held + now;
    *held = now;
}

/* Births and deaths, sorted by time. */
static bool find_changes(struct residency *r)
{
    const struct model *model = r->model;
    r->changes = malloc((2 * model->lives.count + 1) * sizeof(*r->changes));
    if (!r->changes) return false;
    for (size_t i = 0; i < model->lives.count; i++) {
        const struct model_life *life = &model->lives.at[i];
        uint64_t bytes = model->slots.at[life->slot].bytes;
        r->changes[r->change_count++] = (struct residency_change){life->born_ns, bytes, false};
        if (life->died_ns != MODEL_ALWAYS)
            r->changes[r->change_count++] = (struct residency_change){life->died_ns, bytes, true};
    }
    return sort_by_key(r->changes, r->change_count, sizeof(*r->changes),
                       offsetof(struct residency_change, time_ns));
}

bool residency_start(const struct model *model, struct residency *out)
{
    *out = (struct residency){.model = model, .by_lives = !model->moves.count};
    return !out->by_lives || find_changes(out);
}

uint64_t residency_step(struct residency *r, uint64_t time_ns)
{
    const struct model *model = r->model;
    if (r->by_lives) {
        for (; r->next < r->change_count && r->changes[r->next].time_ns <= time_ns; r->next++) {
            const struct residency_change *change = &r->changes[r->next];
            if (!change->frees)
                r->bytes += change->bytes;
            else
                r->bytes -= change->bytes < r->bytes ? change->bytes : r->bytes;
        }
        return r->next < r->change_count ? r->changes[r->next].time_ns : UINT64_MAX;
    }
    while (r->next < model->moves.count && model->moves.at[r->next].time_ns <= time_ns)
        apply(r, &model->moves.at[r->next++]);
    return r->next < model->moves.count ? model->moves.at[r->next].time_ns : UINT64_MAX;
}

bool residency_holds(const struct residency *r, uint32_t chunk)
{
    uint32_t index = sl_map_get(&r->index_of, (uint64_t)chunk + 1);
    return index != SL_NONE && r->held.at[index];
}

void residency_free(struct residency *r)
{
    sl_map_free(&r->index_of);
    free(r->held.at);
    free(r->changes);
    *r = (struct residency){0};
}

bool residency_peak(const struct model *model, uint64_t *out)
{
    struct residency residency;
    uint64_t peak = 0;
    bool good = residency_start(model, &residency);
    for (uint64_t now = 0; good && now != UINT64_MAX;) {
        now = residency_step(&residency, now);
        if (residency.bytes > peak) peak = residency.bytes;
    }
    good = good && !residency.no_memory;
    residency_free(&residency);
    if (good) *out = peak;
    return good;
}
