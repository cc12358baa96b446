#include "tools/analyses/stall_causes.h"

#include <stddef.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/map.h"
#include "tools/analyses/chunk_at.h"
#include "tools/model/sorted.h"

enum { CHUNKS_MOST = 4096 }; /* examined of one launch */

struct waiting {
    uint64_t launch_tick; /* first, for sort_by_key */
    const struct model_stall *stall;
};

struct search {
    const struct model *model;
    const struct phases *phases;
    /* The model's moves by tick, and those of one tick by time: a thread may have been slow to record. */
    struct model_move *moves;
    struct sl_map fetch_of_chunk; /* chunk + 1 -> its newest fetch, in `moves` */
    struct sl_map by_key;
    struct stall_causes *out;
    uint32_t room;
};

/* The chunk and slot that the launch waited for. */
struct found {
    uint32_t fetch, chunk, slot;
    uint64_t bytes; /* of the slot in the chunk */
};

static void examine_range(const struct search *search, const struct model_range *range, unsigned *chunks,
                          struct found *found)
{
    const struct model_slot *slot = &search->model->slots.at[range->slot];
    uint64_t at = slot->address + range->offset, end = at + range->bytes;
    if (!slot->bytes || range->offset > slot->bytes || range->bytes > slot->bytes - range->offset ||
        slot->address > UINT64_MAX - slot->bytes)
        return; /* not figures that sluice wrote */
    for (uint64_t chunk_end; at < end && *chunks < CHUNKS_MOST; at = chunk_end, ++*chunks) {
        uint32_t chunk = chunk_at(search->model, at, &chunk_end);
        if (chunk == SL_NONE) return;
        uint32_t fetch = sl_map_get(&search->fetch_of_chunk, (uint64_t)chunk + 1);
        uint64_t bytes = (end < chunk_end ? end : chunk_end) - at;
        if (fetch == SL_NONE || (found->fetch != SL_NONE && fetch < found->fetch)) continue;
        if (fetch == found->fetch && bytes <= found->bytes) continue;
        *found = (struct found){fetch, chunk, range->slot, bytes};
    }
}

static struct found examine(const struct search *search, uint32_t launch)
{
    struct found found = {SL_NONE, SL_NONE, SL_NONE, 0};
    if (launch == SL_NONE) return found;
    const struct model *model = search->model;
    const struct model_set *set = &model->sets.at[model_shape_of(model, &model->launches.at[launch])->set];
    unsigned chunks = 0;
    for (uint32_t i = 0; i < set->count; i++)
        examine_range(search, model_set_range(model, set, i), &chunks, &found);
    return found;
}

/* Launches of kernels with equal names have equal keys. */
static uint64_t key_of(const struct search *search, uint32_t launch, const struct stall_cause *cause)
{
    uint64_t key = sl_hash_word(sl_hash_word(1, cause->slot), cause->cause);
    if (launch == SL_NONE) return key | 1;
    const struct model *model = search->model;
    for (const char *at = model_launch_name(model, &model->launches.at[launch]); *at; at++)
        key = sl_hash_word(key, (unsigned char)*at);
    return sl_hash_word(key, cause->phase) | 1;
}

static bool add_stall(struct search *search, const struct model_stall *stall, uint32_t launch)
{
    struct stall_causes *out = search->out;
    struct found found = examine(search, launch);
    struct stall_cause cause = {.longest_ns = stall->took_ns,
                                .tick = stall->launch,
                                .launch = launch,
                                .chunk = found.chunk,
                                .slot = found.slot,
                                .cause =
                                    found.fetch == SL_NONE ? MOVE_CAUSES : search->moves[found.fetch].cause,
                                .phase = launch == SL_NONE ? PHASE_OTHER : search->phases->of_launch[launch]};
    uint64_t key = key_of(search, launch, &cause);
    uint32_t index = sl_map_get(&search->by_key, key);
    if (index == SL_NONE) {
        index = out->count;
        if (!sl_grow(&out->at, &search->room, out->count, sizeof(*out->at)) ||
            !sl_map_put(&search->by_key, key, index))
            return false;
        out->at[out->count++] = cause;
    }
    struct stall_cause *all = &out->at[index];
    if (cause.longest_ns > all->longest_ns) {
        cause.count = all->count;
        cause.took_ns = all->took_ns;
        *all = cause;
    }
    all->count++;
    all->took_ns += stall->took_ns;
    return true;
}

static bool follow_moves(struct search *search, uint64_t tick, size_t *next)
{
    for (; *next < search->model->moves.count && search->moves[*next].tick <= tick; ++*next) {
        const struct model_move *move = &search->moves[*next];
        if (move->kind == SL_ACTION_FETCH &&
            !sl_map_put(&search->fetch_of_chunk, (uint64_t)move->chunk + 1, (uint32_t)*next))
            return false;
    }
    return true;
}

static bool sort_moves(struct search *search)
{
    size_t count = search->model->moves.count;
    search->moves = malloc((count + 1) * sizeof(*search->moves));
    if (!search->moves) return false;
    for (size_t i = 0; i < count; i++) search->moves[i] = search->model->moves.at[i];
    return sort_by_key(search->moves, count, sizeof(*search->moves), offsetof(struct model_move, tick));
}

static int by_time(const void *one, const void *other)
{
    const struct stall_cause *a = one, *b = other;
    if (a->took_ns != b->took_ns) return a->took_ns > b->took_ns ? -1 : 1;
    return a->tick < b->tick ? -1 : a->tick > b->tick;
}

bool stall_causes_find(const struct model *model, const struct phases *phases, uint64_t begin_ns,
                       uint64_t end_ns, struct stall_causes *out)
{
    *out = (struct stall_causes){0};
    struct search search = {.model = model, .phases = phases, .out = out};
    struct waiting *waiting = calloc(model->stalls.count + 1, sizeof(*waiting));
    bool good = waiting;
    for (size_t i = 0; i < model->stalls.count && good; i++)
        waiting[i] = (struct waiting){model->stalls.at[i].launch, &model->stalls.at[i]};
    good = good && sort_moves(&search);
    good = good && sort_by_key(waiting, model->stalls.count, sizeof(*waiting), 0);
    size_t next = 0;
    for (size_t i = 0; i < model->stalls.count && good; i++) {
        const struct model_stall *stall = waiting[i].stall;
        uint32_t launch = stall->launch ? model_find_launch(model, stall->launch) : SL_NONE;
        uint64_t at = launch == SL_NONE ? stall->time_ns : model->launches.at[launch].time_ns;
        good = follow_moves(&search, stall->launch, &next);
        if (at >= begin_ns && at < end_ns) good = good && add_stall(&search, stall, launch);
    }
    if (good && out->count) qsort(out->at, out->count, sizeof(*out->at), by_time);
    sl_map_free(&search.fetch_of_chunk);
    sl_map_free(&search.by_key);
    free(waiting);
    free(search.moves);
    return good;
}

void stall_causes_free(struct stall_causes *causes)
{
    free(causes->at);
    *causes = (struct stall_causes){0};
}
