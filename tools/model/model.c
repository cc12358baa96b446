#include "tools/model/model.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tools/model/model_build.h"
#include "tools/model/sorted.h"
#include "trace/events.h"

bool model_reserve(struct model_build *build, void *array, size_t count, size_t *room, size_t size)
{
    if (count < *room) return true;
    if (count >= MODEL_MOST) {
        build->model->missing.beyond++;
        return false;
    }
    size_t wanted = *room ? 2 * *room : 64;
    void *larger = realloc(*(void **)array, wanted * size);
    if (!larger) {
        build->no_memory = true;
        return false;
    }
    *(void **)array = larger;
    *room = wanted;
    return true;
}

void model_put(struct model_build *build, struct sl_map *map, uint64_t key, uint32_t value)
{
    if (key && !sl_map_put(map, key, value)) build->no_memory = true;
}

/* A defused copy that lives as long as the model; "": out of memory. */
static const char *keep_text(struct model_build *build, const char *text)
{
    if (!text || !*text) return "";
    char *copy = strdup(text);
    if (!copy) {
        build->no_memory = true;
        return "";
    }
    sl_defuse(copy);
    return copy;
}

/* Appends a record that owns a text, which is freed on failure. */
#define PUSH_TEXT(build, array, text, ...)                                                                   \
    do {                                                                                                     \
        const char *kept_text = keep_text(build, text);                                                      \
        if (!MODEL_PUSH(build, array, __VA_ARGS__) && *kept_text) free((char *)kept_text);                   \
    } while (0)

static void add_movement(struct model_build *build, const struct sl_event *e)
{
    struct model *model = build->model;
    uint8_t kind = e->flags & 15, cause = e->flags >> 4;
    if (kind >= MOVE_KINDS || cause >= MOVE_CAUSES)
        model->missing.unknown++;
    else if (e->type == SL_EVENT_MOVE)
        MODEL_PUSH(build, model->moves, (struct model_move){e->tick, e->time_ns, e->a, e->id, kind, cause});
    else
        MODEL_PUSH(build, model->transfers,
                   (struct model_transfer){e->tick, e->b, e->c, e->a, e->id, kind, cause});
}

/* A file with a limit repeats the slabs after each lap. */
static void add_slab(struct model_build *build, const struct sl_event *e)
{
    struct model *model = build->model;
    for (size_t i = 0; i < model->slabs.count; i++)
        if (model->slabs.at[i].chunk == e->id && model->slabs.at[i].address == e->a) return;
    if (model->slabs.count < MODEL_SLABS)
        MODEL_PUSH(build, model->slabs, (struct model_slab){e->a, e->b, e->id});
}

static void add_metadata(struct model_build *build, const struct sl_event *e)
{
    struct model *model = build->model;
    char number[SL_TRACE_NAME_MAX + 22];
    snprintf(number, sizeof(number), "%s=%" PRIu64, e->text, e->a);
    PUSH_TEXT(build, model->metadata, e->flags == SL_METADATA_NUMBER ? number : e->text, kept_text);
}

/* A decision without a reason counts for the first reason. */
static void add_decision(struct model_build *build, const struct sl_event *e)
{
    struct model *model = build->model;
    unsigned decision = e->flags, reason = sl_decision_reason_text(decision, 0) ? e->id : 0;
    if (decision == SL_DECISION_MISPREDICT) MODEL_PUSH(build, model->mispredictions, e->tick);
    if (decision < MODEL_DECISIONS && reason < MODEL_REASONS)
        model->decisions[decision][reason]++;
    else
        model->missing.unknown++;
}

static void add_with_text(struct model_build *build, const struct sl_trace_record *record)
{
    struct model *model = build->model;
    const struct sl_event *e = &record->event;
    switch (e->type) {
    case SL_EVENT_MARK:
        PUSH_TEXT(build, model->marks, e->text,
                  (struct model_mark){e->tick, e->time_ns, kept_text, e->id, record->thread, e->flags,
                                      (uint8_t)(e->c < UINT8_MAX ? e->c : UINT8_MAX)});
        break;
    case SL_EVENT_SITE:
        PUSH_TEXT(build, model->sites, e->text, (struct model_site){e->c, kept_text});
        break;
    case SL_EVENT_PYTHON:
        PUSH_TEXT(build, model->pythons, e->text,
                  (struct model_python){e->c, kept_text, e->id, e->a < UINT32_MAX ? (uint32_t)e->a : 0});
        break;
    case SL_EVENT_NAME:
        PUSH_TEXT(build, model->names, e->text, (struct model_name){e->time_ns, e->a, e->b, kept_text});
        break;
    case SL_EVENT_MODULE:
        PUSH_TEXT(build, model->modules, e->text,
                  (struct model_module){e->a, {e->b, e->c}, kept_text, e->id});
        break;
    default:
        break;
    }
}

static void add_rare(struct model_build *build, const struct sl_trace_record *record)
{
    struct model *model = build->model;
    const struct sl_event *e = &record->event;
    switch (e->type) {
    case SL_EVENT_BUDGET:
        model->budget_bytes = e->a;
        model->chunk_bytes = e->b;
        model->device_bytes = e->c;
        break;
    case SL_EVENT_LINK:
        model->link_in = e->a;
        model->link_out = e->b;
        break;
    case SL_EVENT_KERNEL:
        if (!kernel_names_add(&model->kernels, e)) build->no_memory = true;
        break;
    case SL_EVENT_ITERATION:
        MODEL_PUSH(build, model->iterations,
                   (struct model_iteration){e->tick, e->time_ns, e->a, e->b, e->c, e->id});
        break;
    case SL_EVENT_GAP:
        model->missing.records += e->a;
        MODEL_PUSH(build, model->gaps, (struct model_gap){e->tick, e->time_ns, e->a, record->thread});
        break;
    case SL_EVENT_SYNC:
        MODEL_PUSH(build, model->syncs,
                   (struct model_sync){e->tick, e->time_ns, e->a, e->b, record->thread, e->flags});
        break;
    case SL_EVENT_ORDER:
        MODEL_PUSH(build, model->orders,
                   (struct model_order){e->tick, e->time_ns, e->a, e->b, e->flags == SL_ORDER_WAIT});
        break;
    case SL_EVENT_MESSAGE:
        MODEL_PUSH(build, model->messages,
                   (struct model_message){e->tick, e->b, e->a, e->c, e->id, e->flags != 0});
        break;
    case SL_EVENT_THREAD:
        MODEL_PUSH(build, model->threads, (struct model_thread){record->thread, e->a});
        break;
    case SL_EVENT_ERROR:
        MODEL_PUSH(build, model->errors,
                   (struct model_error){e->tick, e->time_ns, e->a, e->c, e->id, e->flags});
        break;
    case SL_EVENT_SLAB:
        add_slab(build, e);
        break;
    case SL_EVENT_METADATA:
        add_metadata(build, e);
        break;
    case SL_EVENT_DECISION:
        add_decision(build, e);
        break;
    default:
        add_with_text(build, record);
        break;
    }
}

static void add(struct model_build *build, const struct sl_trace_record *record)
{
    struct model *model = build->model;
    const struct sl_event *e = &record->event;
    if (!model->records++ || e->time_ns < model->first_ns) model->first_ns = e->time_ns;
    if (e->time_ns > model->last_ns) model->last_ns = e->time_ns;
    switch (e->type) {
    case SL_EVENT_LAUNCH:
        model_add_launch(build, record);
        break;
    case SL_EVENT_ACCESS:
        model_add_access(build, record);
        break;
    case SL_EVENT_ALLOC:
        model_add_alloc(build, e);
        break;
    case SL_EVENT_FREE:
        model_add_free(build, e);
        break;
    case SL_EVENT_MOVE:
    case SL_EVENT_TRANSFER:
        add_movement(build, e);
        break;
    case SL_EVENT_STALL:
        MODEL_PUSH(build, model->stalls,
                   (struct model_stall){e->tick, e->time_ns, e->a, e->c,
                                        (uint32_t)(e->b < UINT32_MAX ? e->b : UINT32_MAX)});
        break;
    case SL_EVENT_DURATION:
        MODEL_PUSH(build, model->durations, (struct model_duration){e->tick, e->a, e->b, e->flags & 1});
        break;
    default:
        add_rare(build, record);
        break;
    }
}

#define SORT(build, array, key)                                                                              \
    do {                                                                                                     \
        if (!sort_by_key((array).at, (array).count, sizeof(*(array).at),                                     \
                         offsetof(__typeof__(*(array).at), key)))                                            \
            (build)->no_memory = true;                                                                       \
    } while (0)

static int by_site_and_depth(const void *one, const void *other)
{
    const struct model_python *a = one, *b = other;
    if (a->site != b->site) return a->site < b->site ? -1 : 1;
    return (a->depth > b->depth) - (a->depth < b->depth);
}

static void finish(struct model_build *build)
{
    struct model *model = build->model;
    model_finish_launches(build);
    model_finish_lives(build);
    SORT(build, model->moves, time_ns);
    SORT(build, model->transfers, began_ns);
    SORT(build, model->stalls, time_ns);
    SORT(build, model->iterations, time_ns);
    SORT(build, model->durations, tick);
    SORT(build, model->marks, time_ns);
    SORT(build, model->syncs, time_ns);
    SORT(build, model->threads, thread);
    SORT(build, model->orders, time_ns);
    SORT(build, model->errors, time_ns);
    SORT(build, model->gaps, time_ns);
    if (model->pythons.count)
        qsort(model->pythons.at, model->pythons.count, sizeof(*model->pythons.at), by_site_and_depth);
}

static void release(struct model_build *build)
{
    struct sl_map *maps[] = {&build->heads,    &build->range_of,  &build->set_of,
                             &build->shape_of, &build->stream_of, &build->slot_of};
    for (size_t i = 0; i < sizeof(maps) / sizeof(*maps); i++) sl_map_free(maps[i]);
    for (unsigned i = 0; i < MODEL_THREADS; i++) free(build->pending[i].ranges.at);
    free(build->references.at);
    free(build->slot_states.at);
    free(build->strays.at);
    free(build);
}

/* Reads to the end. False: out of memory. */
static bool read_all(struct sl_trace_reader *reader, struct progress *progress, struct model *model)
{
    struct model_build *build = calloc(1, sizeof(*build));
    if (!build) return false;
    build->model = model;
    for (unsigned i = 0; i < MODEL_THREADS; i++) build->pending[i].launch = SL_NONE;
    MODEL_PUSH(build, model->sets, (struct model_set){0, 0});
    struct sl_trace_record record;
    while (!build->no_memory && sl_trace_reader_next(reader, &record)) {
        progress_at(progress, record.offset);
        add(build, &record);
    }
    if (!build->no_memory) finish(build);
    bool good = !build->no_memory;
    release(build);
    return good;
}

bool model_read(struct sl_trace_reader *reader, struct progress *progress, struct model **out)
{
    struct model *model = calloc(1, sizeof(*model));
    if (!model) return false;
    model->header = *sl_trace_reader_header(reader);
    if (!read_all(reader, progress, model)) {
        model_close(model);
        return false;
    }
    model->problem = *sl_trace_reader_problem(reader);
    *out = model;
    return true;
}

static void free_text(const char *text)
{
    if (*text) free((char *)text);
}

void model_close(struct model *model)
{
    if (!model) return;
    for (size_t i = 0; i < model->marks.count; i++) free_text(model->marks.at[i].name);
    for (size_t i = 0; i < model->sites.count; i++) free_text(model->sites.at[i].frames);
    for (size_t i = 0; i < model->pythons.count; i++) free_text(model->pythons.at[i].text);
    for (size_t i = 0; i < model->names.count; i++) free_text(model->names.at[i].text);
    for (size_t i = 0; i < model->modules.count; i++) free_text(model->modules.at[i].path);
    for (size_t i = 0; i < model->metadata.count; i++) free_text(model->metadata.at[i]);
    void *arrays[] = {
        model->launches.at,       model->shapes.at,    model->sets.at,        model->set_ranges.at,
        model->ranges.at,         model->streams.at,   model->slots.at,       model->lives.at,
        model->moves.at,          model->transfers.at, model->stalls.at,      model->iterations.at,
        model->slabs.at,          model->durations.at, model->collectives.at, model->messages.at,
        model->marks.at,          model->syncs.at,     model->errors.at,      model->gaps.at,
        model->sites.at,          model->modules.at,   model->metadata.at,    model->orders.at,
        model->mispredictions.at, model->pythons.at,   model->names.at,       model->threads.at};
    for (size_t i = 0; i < sizeof(arrays) / sizeof(*arrays); i++) free(arrays[i]);
    kernel_names_free(&model->kernels);
    free(model);
}

uint32_t model_launches_to_tick(const struct model *model, uint64_t tick)
{
    size_t from = 0, to = model->launches.count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (model->launches.at[middle].tick <= tick)
            from = middle + 1;
        else
            to = middle;
    }
    return (uint32_t)from;
}

uint32_t model_launches_to_time(const struct model *model, uint64_t time_ns)
{
    size_t from = 0, to = model->launches.count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (model->launches.at[middle].time_ns <= time_ns)
            from = middle + 1;
        else
            to = middle;
    }
    return (uint32_t)from;
}

uint32_t model_find_launch(const struct model *model, uint64_t tick)
{
    uint32_t behind = model_launches_to_tick(model, tick);
    return behind && model->launches.at[behind - 1].tick == tick ? behind - 1 : SL_NONE;
}

uint64_t model_system_thread(const struct model *model, uint32_t thread)
{
    size_t from = 0, to = model->threads.count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (model->threads.at[middle].thread < thread)
            from = middle + 1;
        else
            to = middle;
    }
    bool found = from < model->threads.count && model->threads.at[from].thread == thread;
    return found ? model->threads.at[from].system : 0;
}

const char *model_launch_name(const struct model *model, const struct model_launch *launch)
{
    const struct model_shape *shape = model_shape_of(model, launch);
    const char *name = shape->kind == SL_LAUNCH_KERNEL ? kernel_name(&model->kernels, shape->kernel) : NULL;
    return name ? name : launch_kind_name(shape->kind);
}

const char *model_metadata(const struct model *model, const char *name)
{
    size_t length = strlen(name);
    for (size_t i = model->metadata.count; i-- > 0;) {
        const char *entry = model->metadata.at[i];
        if (!strncmp(entry, name, length) && entry[length] == '=') return entry + length + 1;
    }
    return NULL;
}
