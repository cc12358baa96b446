/* Launches and the ranges that they may touch. Programs repeat themselves, so each range, set of ranges and
 * shape is stored once and looked up by its content. */
#include "tools/model/model_build.h"

#include <stdlib.h>

#include "tools/model/sorted.h"

/* The index of the element with this hash for which `is` returns true, or SL_NONE. *hash is then the key
 * under which to add the element: elements with equal hashes get different keys. */
static uint32_t find(const struct sl_map *map, uint64_t *hash,
                     bool (*is)(const void *context, uint32_t index), const void *context)
{
    *hash |= 1;
    uint32_t index;
    while ((index = sl_map_get(map, *hash)) != SL_NONE && !is(context, index)) *hash += 2;
    return index;
}

struct sought {
    const struct model *model;
    struct model_range range;
    struct model_shape shape;
    const uint32_t *ranges;
    uint32_t count;
    uint64_t stream;
};

static bool is_range(const void *context, uint32_t index)
{
    const struct sought *s = context;
    const struct model_range *r = &s->model->ranges.at[index];
    return r->slot == s->range.slot && r->offset == s->range.offset && r->bytes == s->range.bytes &&
           r->only_read == s->range.only_read;
}

static uint32_t range_index(struct model_build *build, struct model_range range)
{
    struct sought sought = {.model = build->model, .range = range};
    uint64_t hash = sl_hash_word(
        sl_hash_word(sl_mix((uint64_t)range.slot << 1 | range.only_read), range.offset), range.bytes);
    uint32_t index = find(&build->range_of, &hash, is_range, &sought);
    if (index != SL_NONE) return index;
    index = (uint32_t)build->model->ranges.count;
    if (!MODEL_PUSH(build, build->model->ranges, range)) return SL_NONE;
    model_put(build, &build->range_of, hash, index);
    return index;
}

static bool is_set(const void *context, uint32_t index)
{
    const struct sought *s = context;
    const struct model_set *set = &s->model->sets.at[index];
    if (set->count != s->count) return false;
    for (uint32_t i = 0; i < s->count; i++)
        if (s->model->set_ranges.at[set->first + i] != s->ranges[i]) return false;
    return true;
}

static uint32_t set_index(struct model_build *build, const uint32_t *ranges, size_t count)
{
    struct model *model = build->model;
    if (!count) return 0;
    struct sought sought = {.model = model, .ranges = ranges, .count = (uint32_t)count};
    uint64_t hash = sl_mix(count);
    for (size_t i = 0; i < count; i++) hash = sl_hash_word(hash, ranges[i]);
    uint32_t index = find(&build->set_of, &hash, is_set, &sought);
    if (index != SL_NONE) return index;
    uint32_t first = (uint32_t)model->set_ranges.count;
    for (size_t i = 0; i < count; i++)
        if (!MODEL_PUSH(build, model->set_ranges, ranges[i])) return 0;
    index = (uint32_t)model->sets.count;
    if (!MODEL_PUSH(build, model->sets, (struct model_set){first, (uint32_t)count})) return 0;
    model_put(build, &build->set_of, hash, index);
    return index;
}

static bool same_shape(const struct model_shape *a, const struct model_shape *b)
{
    return a->size == b->size && a->kernel == b->kernel && a->set == b->set && a->kind == b->kind &&
           a->direction == b->direction && a->lost == b->lost;
}

static bool is_shape(const void *context, uint32_t index)
{
    const struct sought *s = context;
    return same_shape(&s->model->shapes.at[index], &s->shape);
}

static uint32_t shape_index(struct model_build *build, struct model_shape shape)
{
    struct sought sought = {.model = build->model, .shape = shape};
    uint64_t hash = sl_hash_word(sl_mix(shape.size), (uint64_t)shape.kernel << 32 | shape.set);
    hash = sl_hash_word(hash, (uint64_t)shape.kind << 16 | (uint64_t)shape.direction << 8 | shape.lost);
    uint32_t index = find(&build->shape_of, &hash, is_shape, &sought);
    if (index != SL_NONE) return index;
    index = (uint32_t)build->model->shapes.count;
    if (!MODEL_PUSH(build, build->model->shapes, shape)) return 0;
    model_put(build, &build->shape_of, hash, index);
    return index;
}

static bool is_stream(const void *context, uint32_t index)
{
    const struct sought *s = context;
    return s->model->streams.at[index] == s->stream;
}

static uint16_t stream_index(struct model_build *build, uint64_t handle)
{
    struct model *model = build->model;
    if (model->launches.count) { /* usually the stream of the preceding launch */
        uint16_t last = model->launches.at[model->launches.count - 1].stream;
        if (model->streams.at[last] == handle) return last;
    }
    struct sought sought = {.model = model, .stream = handle};
    uint64_t hash = sl_mix(handle);
    uint32_t index = find(&build->stream_of, &hash, is_stream, &sought);
    if (index != SL_NONE) return (uint16_t)index;
    index = (uint32_t)model->streams.count;
    if (index == MODEL_STREAMS) return MODEL_STREAMS - 1;
    if (!MODEL_PUSH(build, model->streams, handle)) return 0;
    model_put(build, &build->stream_of, hash, index);
    return (uint16_t)index;
}

static struct pending *pending_of(struct model_build *build, uint32_t thread)
{
    return &build->pending[thread < MODEL_THREADS ? thread : MODEL_THREADS - 1];
}

/* Called when all accesses of the thread's launch have been read. */
static void complete(struct model_build *build, struct pending *pending)
{
    struct model *model = build->model;
    if (pending->launch == SL_NONE) return;
    struct model_launch *launch = &model->launches.at[pending->launch];
    struct model_shape shape = model->shapes.at[launch->shape];
    shape.set = set_index(build, pending->ranges.at, pending->ranges.count);
    launch->shape = shape_index(build, shape);
    if (pending->ranges.count) model_put(build, &build->heads, pending->tick, launch->shape);
    pending->launch = SL_NONE;
    pending->ranges.count = 0;
}

/* The shape of a launch that touches the same ranges as the launch with shape `head`. */
static uint32_t shape_like(struct model_build *build, struct model_shape shape, uint32_t head)
{
    shape.set = build->model->shapes.at[head].set;
    shape.lost = false;
    return same_shape(&shape, &build->model->shapes.at[head]) ? head : shape_index(build, shape);
}

void model_add_launch(struct model_build *build, const struct sl_trace_record *record)
{
    const struct sl_event *event = &record->event;
    struct model *model = build->model;
    struct pending *pending = pending_of(build, record->thread);
    complete(build, pending);
    if ((event->flags & 15) >= LAUNCH_KINDS || event->flags >> 4 > SL_COPY_ON_DEVICE) {
        model->missing.unknown++;
        return;
    }
    uint32_t index = (uint32_t)model->launches.count;
    bool kernel = (event->flags & 15) == SL_LAUNCH_KERNEL;
    struct model_shape shape = {.size = kernel ? event->b : event->c,
                                .kernel = kernel ? event->id : 0,
                                .kind = event->flags & 15,
                                .direction = event->flags >> 4};
    uint32_t head = event->d ? sl_map_get(&build->heads, event->d) : SL_NONE;
    shape.lost = event->d && head == SL_NONE;
    struct model_launch launch = {
        .tick = event->tick,
        .time_ns = event->time_ns,
        .shape = head == SL_NONE ? shape_index(build, shape) : shape_like(build, shape, head),
        .stream = stream_index(build, event->a),
        .thread = record->thread < UINT16_MAX ? (uint16_t)record->thread : UINT16_MAX};
    if (!MODEL_PUSH(build, model->launches, launch)) return;
    if (shape.kind == SL_LAUNCH_COLLECTIVE && event->b)
        MODEL_PUSH(build, model->collectives,
                   (struct model_collective){.tick = event->tick,
                                             .time_ns = event->time_ns,
                                             .bytes = event->c,
                                             .communicator = event->b,
                                             .function = event->id});
    if (shape.lost) MODEL_PUSH(build, build->references, (struct reference){index, event->d});
    if (event->d) return;
    pending->launch = index;
    pending->tick = event->tick;
}

void model_add_access(struct model_build *build, const struct sl_trace_record *record)
{
    const struct sl_event *event = &record->event;
    struct pending *pending = pending_of(build, record->thread);
    if (pending->launch == SL_NONE || pending->tick != event->tick) {
        build->model->missing.accesses++;
        return;
    }
    struct model_range range = {.offset = event->a,
                                .bytes = event->b,
                                .slot = model_slot(build, event->id),
                                .only_read = event->flags & 1};
    if (range.bytes > UINT64_MAX - range.offset) range.bytes = UINT64_MAX - range.offset;
    if (range.slot == SL_NONE) return;
    uint32_t index = range_index(build, range);
    if (index != SL_NONE) MODEL_PUSH(build, pending->ranges, index);
}

void model_finish_launches(struct model_build *build)
{
    struct model *model = build->model;
    for (unsigned i = 0; i < MODEL_THREADS; i++) {
        complete(build, &build->pending[i]);
        free(build->pending[i].ranges.at);
        build->pending[i].ranges.at = NULL;
    }
    for (size_t i = 0; i < build->references.count; i++) {
        const struct reference *reference = &build->references.at[i];
        struct model_launch *launch = &model->launches.at[reference->launch];
        uint32_t head = sl_map_get(&build->heads, reference->tick);
        if (head == SL_NONE)
            model->missing.sets++;
        else
            launch->shape = shape_like(build, model->shapes.at[launch->shape], head);
    }
    if (!sort_by_key(model->launches.at, model->launches.count, sizeof(*model->launches.at),
                     offsetof(struct model_launch, tick)) ||
        !sort_by_key(model->collectives.at, model->collectives.count, sizeof(*model->collectives.at),
                     offsetof(struct model_collective, tick)) ||
        !sort_by_key(model->messages.at, model->messages.count, sizeof(*model->messages.at),
                     offsetof(struct model_message, tick)))
        build->no_memory = true;
}
