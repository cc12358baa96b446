/* Slots and their lives. Most records of a slot are in order, and each ends or begins a life directly. If
 * several threads use a slot, or records were lost, they may be out of order: the slot's lives are then split
 * into records and rebuilt in the order of time. */
#include "tools/model/model_build.h"

#include <stdlib.h>

#include "tools/model/sorted.h"

static uint32_t new_slot(struct model_build *build, struct model_slot slot)
{
    struct slot_state state = {.life = SL_NONE};
    uint32_t index = (uint32_t)build->model->slots.count;
    if (!MODEL_PUSH(build, build->slot_states, state)) return SL_NONE;
    if (!MODEL_PUSH(build, build->model->slots, slot)) {
        build->slot_states.count--;
        return SL_NONE;
    }
    model_put(build, &build->slot_of, (uint64_t)slot.id + 1, index);
    return index;
}

uint32_t model_slot(struct model_build *build, uint32_t id)
{
    uint32_t index = sl_map_get(&build->slot_of, (uint64_t)id + 1);
    return index != SL_NONE ? index : new_slot(build, (struct model_slot){.id = id});
}

/* The slot of the record: a new one if its size or site has changed. */
static uint32_t slot_of_record(struct model_build *build, const struct sl_event *event)
{
    uint32_t index = model_slot(build, event->id);
    if (index == SL_NONE) return index;
    struct model_slot *slot = &build->model->slots.at[index];
    bool alloc = event->type == SL_EVENT_ALLOC, known = slot->bytes != 0;
    if (known && (slot->bytes != event->b || (alloc && slot->site && slot->site != event->c))) {
        index = new_slot(build, (struct model_slot){.id = event->id});
        if (index == SL_NONE) return index;
        slot = &build->model->slots.at[index];
    }
    slot->bytes = event->b;
    slot->address = event->a;
    if (alloc) slot->site = event->c;
    return index;
}

static uint64_t stream_of(const struct sl_event *event)
{
    uint64_t handle = event->type == SL_EVENT_ALLOC ? event->d : event->c;
    return event->flags & SL_IN_STREAM_ORDER && handle != UINT64_MAX ? handle + 1 : 0;
}

static void add_stray(struct model_build *build, const struct sl_event *event, uint32_t slot)
{
    build->slot_states.at[slot].tangled = true;
    MODEL_PUSH(
        build, build->strays,
        (struct stray){event->time_ns, event->tick, slot, event->type == SL_EVENT_FREE, stream_of(event)});
}

void model_add_alloc(struct model_build *build, const struct sl_event *event)
{
    uint32_t slot = slot_of_record(build, event);
    if (slot == SL_NONE) return;
    struct slot_state *state = &build->slot_states.at[slot];
    bool again = event->flags & SL_ALLOC_AGAIN;
    if (again && state->life != SL_NONE) return;
    if (state->life != SL_NONE || event->time_ns < state->last_ns) {
        add_stray(build, event, slot);
        return;
    }
    struct model_life life = {.born_ns = event->time_ns,
                              .died_ns = MODEL_ALWAYS,
                              .born_tick = event->tick,
                              .slot = slot,
                              .born_before = again,
                              .born_on = stream_of(event)};
    uint32_t index = (uint32_t)build->model->lives.count;
    if (!MODEL_PUSH(build, build->model->lives, life)) return;
    state->life = index;
    state->last_ns = event->time_ns;
}

void model_add_free(struct model_build *build, const struct sl_event *event)
{
    uint32_t slot = slot_of_record(build, event);
    if (slot == SL_NONE) return;
    struct slot_state *state = &build->slot_states.at[slot];
    if (state->life == SL_NONE || event->time_ns < state->last_ns) {
        add_stray(build, event, slot);
        return;
    }
    build->model->lives.at[state->life].died_ns = event->time_ns;
    build->model->lives.at[state->life].died_tick = event->tick;
    build->model->lives.at[state->life].died_on = stream_of(event);
    state->life = SL_NONE;
    state->last_ns = event->time_ns;
}

/* Splits the lives of slots with records out of order. */
static void take_apart(struct model_build *build)
{
    struct model *model = build->model;
    size_t kept = 0;
    for (size_t i = 0; i < model->lives.count; i++) {
        struct model_life life = model->lives.at[i];
        if (!build->slot_states.at[life.slot].tangled) {
            model->lives.at[kept++] = life;
            continue;
        }
        MODEL_PUSH(build, build->strays,
                   (struct stray){life.born_ns, life.born_tick, life.slot, false, life.born_on});
        if (life.died_ns != MODEL_ALWAYS)
            MODEL_PUSH(build, build->strays,
                       (struct stray){life.died_ns, life.died_tick, life.slot, true, life.died_on});
    }
    model->lives.count = kept;
    for (size_t i = 0; i < build->slot_states.count; i++) build->slot_states.at[i].life = SL_NONE;
}

static void put_together(struct model_build *build, const struct stray *stray)
{
    struct model *model = build->model;
    uint32_t *life = &build->slot_states.at[stray->slot].life, index = (uint32_t)model->lives.count;
    if (*life != SL_NONE) {
        model->missing.births += !stray->free;
        model->lives.at[*life].died_ns = stray->time_ns;
        model->lives.at[*life].died_tick = stray->tick;
        model->lives.at[*life].died_on = stray->free ? stray->on : 0;
        *life = SL_NONE;
        if (stray->free) return;
    } else if (stray->free) {
        model->missing.frees++;
        MODEL_PUSH(build, model->lives,
                   (struct model_life){model->first_ns, stray->time_ns, 0, stray->tick, stray->slot, true, 0,
                                       stray->on});
        return;
    }
    if (MODEL_PUSH(build, model->lives,
                   (struct model_life){stray->time_ns, MODEL_ALWAYS, stray->tick, 0, stray->slot, false,
                                       stray->on, 0}))
        *life = index;
}

void model_finish_lives(struct model_build *build)
{
    struct model *model = build->model;
    if (build->strays.count) {
        take_apart(build);
        if (!sort_by_key(build->strays.at, build->strays.count, sizeof(*build->strays.at),
                         offsetof(struct stray, time_ns)))
            build->no_memory = true;
        for (size_t i = 0; i < build->strays.count && !build->no_memory; i++)
            put_together(build, &build->strays.at[i]);
    }
    if (!sort_by_key(model->lives.at, model->lives.count, sizeof(*model->lives.at),
                     offsetof(struct model_life, born_ns)))
        build->no_memory = true;
}
