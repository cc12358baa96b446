#include "tools/analyses/holders.h"

#include <stdlib.h>

#include "base/grow.h"
#include "base/map.h"
#include "tools/analyses/timeline.h"
#include "tools/model/sorted.h"

struct change {
    uint64_t time_ns, bytes;
    uint32_t holder;
    bool ends;
};

struct search {
    const struct model *model;
    uint8_t *class_of_slot;
    struct sl_map by_key;
    struct holder *all;
    uint32_t count, room;
    struct change *changes;
    size_t change_count;
};

/* The index of the slot's holder, or SL_NONE: out of memory. */
static uint32_t holder_of(struct search *search, uint32_t slot)
{
    uint64_t site = search->model->slots.at[slot].site;
    uint64_t key = sl_hash_word(site, search->class_of_slot[slot]) | 1;
    uint32_t index = sl_map_get(&search->by_key, key);
    if (index != SL_NONE) return index;
    if (!sl_grow(&search->all, &search->room, search->count, sizeof(*search->all))) return SL_NONE;
    if (!sl_map_put(&search->by_key, key, search->count)) return SL_NONE;
    search->all[search->count] = (struct holder){.site = site, .class = search->class_of_slot[slot]};
    return search->count++;
}

static bool add_life(struct search *search, const struct model_life *life)
{
    uint64_t bytes = search->model->slots.at[life->slot].bytes;
    uint32_t holder = holder_of(search, life->slot);
    if (holder == SL_NONE) return false;
    if (bytes > search->all[holder].largest_bytes) search->all[holder].largest_bytes = bytes;
    search->changes[search->change_count++] = (struct change){life->born_ns, bytes, holder, false};
    if (life->died_ns != MODEL_ALWAYS)
        search->changes[search->change_count++] = (struct change){life->died_ns, bytes, holder, true};
    return true;
}

/* Changes at and before `now_ns`, from *next on. */
static void follow(struct search *search, uint64_t now_ns, size_t *next)
{
    for (; *next < search->change_count && search->changes[*next].time_ns <= now_ns; ++*next) {
        const struct change *change = &search->changes[*next];
        struct holder *holder = &search->all[change->holder];
        holder->bytes += change->ends ? -change->bytes : change->bytes;
        holder->count += change->ends ? UINT32_MAX : 1;
    }
}

static void find_largest(const struct search *search, struct holder *out)
{
    for (uint32_t i = 0; i < search->count; i++) {
        struct holder one = search->all[i];
        for (unsigned place = 0; place < HOLDERS_SHOWN; place++) {
            if (one.bytes <= out[place].bytes) continue;
            struct holder less = out[place];
            out[place] = one;
            one = less;
        }
    }
}

bool holders_find(const struct model *model, const struct phases *phases, uint64_t begin_ns, uint64_t end_ns,
                  uint32_t times, struct holders *out)
{
    struct search search = {.model = model, .class_of_slot = phases_class_of_slots(model, phases)};
    const struct timeline axis = {.begin_ns = begin_ns, .end_ns = end_ns, .count = times};
    *out = (struct holders){.at = calloc((size_t)times * HOLDERS_SHOWN, sizeof(*out->at)), .times = times};
    search.changes = calloc(2 * model->lives.count + 1, sizeof(*search.changes));
    bool good = search.class_of_slot && search.changes && out->at;
    for (size_t i = 0; i < model->lives.count && good; i++)
        if (model->lives.at[i].born_ns < end_ns && model->lives.at[i].died_ns > begin_ns)
            good = add_life(&search, &model->lives.at[i]);
    good = good && sort_by_key(search.changes, search.change_count, sizeof(*search.changes),
                               offsetof(struct change, time_ns));
    size_t next = 0;
    for (uint32_t t = 0; t < times && good; t++) {
        follow(&search, (t + 1 < times ? timeline_begin_of(&axis, t + 1) : end_ns) - 1, &next);
        find_largest(&search, out->at + (size_t)t * HOLDERS_SHOWN);
    }
    sl_map_free(&search.by_key);
    free(search.all);
    free(search.changes);
    free(search.class_of_slot);
    return good;
}

void holders_free(struct holders *holders)
{
    free(holders->at);
    *holders = (struct holders){0};
}
