/* Replays the trace's events one by one as calls of the core and of the simulated device. */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "tools/replay/replay_internal.h"

#define MOST_EXCHANGED 1e18
#define MOST_READS 1e4
#define LEAST_COPY_NS 2000  /* of a copy, beside its bytes */
#define SHORT_WAIT_NS 20000 /* maximum duration of a wait for an event that had already happened */

/* --- memory */

/* The index of a stream in the trace; SL_NONE: nothing was launched on it. */
static uint32_t stream_of(const struct model *model, uint64_t handle)
{
    for (uint32_t s = 0; s < model->streams.count; s++)
        if (model->streams.at[s] == handle) return s;
    return SL_NONE;
}

/* `on`: as in struct model_life. */
static uint32_t stream_on(const struct replaying *r, uint64_t on)
{
    return on ? stream_of(r->program->model, on - 1) : SL_NONE;
}

static void end_life(struct replaying *r, uint32_t slot, uint64_t on)
{
    uint64_t address = r->address_of[slot], bytes = r->program->model->slots.at[slot].bytes;
    uint32_t stream = stream_on(r, on);
    if (!address) return;
    if (stream == SL_NONE)
        sl_runtime_free(address, NULL);
    else
        sl_runtime_free_async(address, replay_stream(stream), NULL);
    r->address_of[slot] = 0;
    if (!r->sequence) return;
    sl_chunk last = replay_chunk(r, address + bytes - 1);
    for (sl_chunk c = replay_chunk(r, address); c <= last; c++)
        if (!replay_chunk_bytes(r, c)) sequence_death(r->sequence, c);
}

/* If there is no memory for an entry, the class counts as unknown. */
static void note_class(struct replaying *r, uint64_t address, uint8_t class)
{
    uint32_t slot = sl_place_find(r->core.placement, address);
    if (slot == SL_NONE) return;
    if (slot >= r->class_room) {
        uint32_t room = slot + 1 > 2 * r->class_room ? slot + 1 : 2 * r->class_room;
        uint8_t *larger = realloc(r->class_of, room);
        if (!larger) return;
        memset(larger + r->class_room, CLASS_UNKNOWN, room - r->class_room);
        r->class_of = larger;
        r->class_room = room;
    }
    r->class_of[slot] = class;
}

static enum sl_status allocate(const struct model_slot *slot, uint32_t stream, uint64_t *address)
{
    if (slot->bytes > SL_MAX_SLABS * SL_GIB) return SL_ERR_NO_MEMORY;
    if (stream == SL_NONE) return sl_runtime_alloc(slot->bytes, slot->site, 0, NULL, address);
    return sl_runtime_alloc(slot->bytes, slot->site, 0, &(sl_stream){replay_stream(stream)}, address);
}

static void begin_life(struct replaying *r, uint32_t slot, uint64_t on)
{
    const struct model_slot *known = &r->program->model->slots.at[slot];
    end_life(r, slot, 0);
    if (!known->bytes) return;
    uint64_t address;
    if (allocate(known, stream_on(r, on), &address) != SL_OK) {
        r->result->refused++;
        return;
    }
    r->address_of[slot] = address;
    note_class(r, address, r->program->class_of_slot[slot]);
    uint64_t used_bytes = r->core.arena->virtual_bytes_used;
    if (used_bytes > r->result->need_bytes) r->result->need_bytes = used_bytes;
}

/* --- waits */

static void wait_for_stream(struct replaying *r, uint64_t handle)
{
    const struct model *model = r->program->model;
    for (uint32_t s = 0; s < model->streams.count; s++)
        if (model->streams.at[s] == handle) sl_backend_sim_finish(&r->backend, replay_stream(s));
}

/* Whether the wait belongs to a free, without other events in between. The core itself waits before it frees.
 * For the driver's memory, the wait was recorded after the free. */
static bool is_of_free(const struct replaying *r, const struct model_sync *sync,
                       const struct model_life *dead)
{
    const struct model *model = r->program->model;
    if (!sync || !dead || sync->kind != SL_SYNC_CONTEXT || sync->tick != dead->died_tick) return false;
    uint64_t later_ns = sync->time_ns > dead->died_ns ? sync->time_ns : dead->died_ns;
    size_t next = r->death + 1;
    bool alone = next >= r->program->death_count || r->program->deaths[next].time_ns >= later_ns;
    return alone && (r->birth >= model->lives.count || model->lives.at[r->birth].born_ns >= later_ns);
}

static void wait_as(struct replaying *r, const struct model_sync *sync)
{
    switch (sync->kind) {
    case SL_SYNC_CONTEXT: {
        struct sl_sync_mark before = sl_runtime_synchronizing();
        sl_backend_sim_finish_all(&r->backend);
        sl_runtime_synchronized(before);
        break;
    }
    case SL_SYNC_STREAM:
    case SL_SYNC_COPY:
        wait_for_stream(r, sync->handle);
        break;
    default:
        if (sync->took_ns >= SHORT_WAIT_NS) sl_backend_sim_finish(&r->backend, replay_stream(r->last_stream));
        break;
    }
}

/* Replays the events before the launch with this tick, in order of time. Of simultaneous events, frees come
 * first, to make room. */
void replay_catch_up(struct replaying *r, uint64_t tick)
{
    const struct model *model = r->program->model;
    for (;;) {
        const struct model_life *born = r->birth < model->lives.count ? &model->lives.at[r->birth] : NULL;
        const struct model_life *dead =
            r->death < r->program->death_count ? &model->lives.at[r->program->deaths[r->death].life] : NULL;
        const struct model_sync *sync = r->sync < model->syncs.count ? &model->syncs.at[r->sync] : NULL;
        if (born && born->born_tick >= tick && !born->born_before) born = NULL;
        if (dead && dead->died_tick >= tick) dead = NULL;
        if (sync && sync->tick >= tick) sync = NULL;
        if (is_of_free(r, sync, dead)) {
            sl_runtime_finish();
            end_life(r, dead->slot, 0);
            r->sync++;
            r->death++;
        } else if (sync && (!dead || sync->time_ns <= dead->died_ns) &&
                   (!born || sync->time_ns <= born->born_ns)) {
            wait_as(r, sync);
            r->sync++;
        } else if (dead && (!born || dead->died_ns <= born->born_ns)) {
            end_life(r, dead->slot, dead->died_on);
            r->death++;
        } else if (born) {
            begin_life(r, born->slot, born->born_on);
            r->birth++;
        } else {
            return;
        }
    }
}

/* --- launches */

static bool reserve(struct replaying *r, size_t count)
{
    if (count <= r->room) return true;
    struct sl_footprint *footprint =
        realloc(r->footprint, sizeof(*footprint) + count * sizeof(struct sl_word));
    if (footprint) r->footprint = footprint;
    struct sl_span *spans = realloc(r->spans, count * sizeof(*spans));
    if (spans) r->spans = spans;
    if (!footprint || !spans) return false;
    r->room = count;
    return true;
}

/* Sets the footprint and the spans of a launch. */
static bool gather(struct replaying *r, const struct model_shape *shape)
{
    const struct model *model = r->program->model;
    const struct model_set *set = &model->sets.at[shape->set];
    if (!reserve(r, set->count + 1)) return false;
    r->footprint->in_any_size =
        sl_hash_word(sl_mix(shape->kernel), (uint64_t)shape->kind << 8 | shape->direction) | 1;
    r->footprint->shape = sl_hash_word(r->footprint->in_any_size, shape->size);
    r->footprint->count = 0;
    for (uint32_t i = 0; i < set->count; i++) {
        const struct model_range *range = model_set_range(model, set, i);
        uint64_t address = r->address_of[range->slot], bytes = model->slots.at[range->slot].bytes;
        if (!address || range->offset >= bytes || !range->bytes) continue;
        bytes -= range->offset;
        if (range->bytes < bytes) bytes = range->bytes;
        uint32_t at = r->footprint->count++;
        r->footprint->words[at] = (struct sl_word){.address = address + range->offset,
                                                   .bytes = bytes,
                                                   .threads = 1,
                                                   .where = i,
                                                   .only_read = range->only_read};
        r->spans[at] =
            (struct sl_span){.address = address + range->offset, .bytes = bytes, .write = !range->only_read};
    }
    return true;
}

/* Its own time only if that does not have its submission in it. */
static uint64_t time_of(struct replaying *r, const struct model_launch *launch)
{
    const struct model *model = r->program->model;
    while (r->duration < model->durations.count && model->durations.at[r->duration].tick < launch->tick)
        r->duration++;
    const struct model_duration *own =
        r->duration < model->durations.count ? &model->durations.at[r->duration] : NULL;
    return own && own->tick == launch->tick && !own->idle ? own->took_ns
                                                          : r->program->shape_ns[launch->shape];
}

/* A copy over the link, alone. What was measured may include waits for the movements of the recorded run. */
static uint64_t copy_time(const struct replaying *r, uint64_t bytes, uint64_t measured_ns)
{
    uint64_t alone_ns = LEAST_COPY_NS + (uint64_t)((double)bytes / r->bytes_per_ns);
    return measured_ns < alone_ns ? measured_ns : alone_ns;
}

static bool writes(const struct replaying *r, sl_chunk chunk)
{
    for (uint32_t i = 0; i < r->footprint->count; i++) {
        const struct sl_span *span = &r->spans[i];
        if (span->write && chunk >= replay_chunk(r, span->address) &&
            chunk <= replay_chunk(r, span->address + span->bytes - 1))
            return true;
    }
    return false;
}

/* What is pinned never moves. Precondition: the launch has begun and not ended. */
static void note_in_sequence(struct replaying *r, uint64_t took_ns)
{
    sequence_launch(r->sequence, took_ns);
    const sl_chunk *chunks = r->core.usage->chunks;
    for (uint32_t i = 0; i < r->core.usage->chunk_count; i++) {
        if (sl_arena_record(r->core.arena, chunks[i])->pinned) continue;
        sequence_use(r->sequence, chunks[i], replay_chunk_bytes(r, chunks[i]), writes(r, chunks[i]));
    }
}

/* The launch's meeting and its communicator; 0: none. */
static uint32_t meeting_of(struct replaying *r, const struct model_launch *launch, uint64_t *communicator)
{
    const struct model *model = r->program->model;
    *communicator = 0;
    while (r->collective < model->collectives.count &&
           model->collectives.at[r->collective].tick < launch->tick)
        r->collective++;
    if (r->collective == model->collectives.count ||
        model->collectives.at[r->collective].tick != launch->tick)
        return 0;
    *communicator = model->collectives.at[r->collective].communicator;
    return r->meeting_of[r->collective];
}

/* A launch as the core and the simulated device need it. */
struct to_replay {
    struct sl_launch to_core;
    struct sl_sim_launch to_device;
    bool is_collective; /* only if ranks are replayed together */
    uint64_t communicator;
};

/* The bytes that the link can carry in each direction in that time. A trace may contain any times. */
static uint64_t bytes_in(const struct replaying *r, uint64_t took_ns)
{
    double bytes = (double)took_ns * r->bytes_per_ns;
    return bytes < MOST_EXCHANGED ? (uint64_t)bytes : (uint64_t)MOST_EXCHANGED;
}

/* How often a launch may read its bytes over the link if they are in host memory: at most as often as its
 * time allows on the device. A trace may contain any times. */
static double reads_of(const struct replaying *r, uint64_t took_ns)
{
    double bytes = 0, longer_ns = (double)took_ns - (double)r->program->shortest_ns;
    for (uint32_t i = 0; i < r->footprint->count; i++) bytes += (double)r->spans[i].bytes;
    double reads = bytes > 0 ? longer_ns * r->program->bytes_per_ns / bytes : 1;
    return reads < MOST_READS ? reads : MOST_READS;
}

static void describe(struct replaying *r, const struct model_launch *launch, struct to_replay *out)
{
    const struct model_shape *shape = model_shape_of(r->program->model, launch);
    struct sl_sim_launch *to_device = &out->to_device;
    *out = (struct to_replay){.to_core = {.kind = SL_LAUNCH_GRAPH,
                                          .stream = replay_stream(launch->stream),
                                          .footprint = r->footprint},
                              .to_device = {.stream = replay_stream(launch->stream),
                                            .took_ns = time_of(r, launch),
                                            .spans = r->spans,
                                            .span_count = r->footprint->count}};
    if (r->rereads && shape->kind != SL_LAUNCH_COPY) to_device->reads = reads_of(r, to_device->took_ns);
    if (shape->kind == SL_LAUNCH_COPY && shape->direction == SL_COPY_IN)
        to_device->copied_bytes[SL_SIM_IN] = shape->size;
    if (shape->kind == SL_LAUNCH_COPY && shape->direction == SL_COPY_OUT)
        to_device->copied_bytes[SL_SIM_OUT] = shape->size;
    if (to_device->copied_bytes[SL_SIM_IN] || to_device->copied_bytes[SL_SIM_OUT])
        to_device->took_ns = copy_time(r, shape->size, to_device->took_ns);
    if (!r->meetings || shape->kind != SL_LAUNCH_COLLECTIVE) return;
    out->is_collective = true;
    out->to_core.kind = SL_LAUNCH_COLLECTIVE;
    to_device->meeting = meeting_of(r, launch, &out->communicator);
    if (!to_device->meeting) return;
    const struct replay_meeting *meeting = &r->meetings->at[to_device->meeting];
    to_device->took_ns = meeting->guessed ? r->program->shape_ns[launch->shape] : meeting->took_ns;
    if (r->meets_over_link) to_device->exchanged_bytes = bytes_in(r, to_device->took_ns);
}

/* Replays the event records and waits of the program before the launch with this tick. */
static enum sl_status follow_orders(struct replaying *r, uint64_t tick)
{
    const struct model *model = r->program->model;
    enum sl_status status = SL_OK;
    for (; status == SL_OK && r->next_order < model->orders.count; r->next_order++) {
        const struct model_order *next = &model->orders.at[r->next_order];
        if (next->tick >= tick) break;
        uint32_t s = stream_of(model, next->stream);
        if (s == SL_NONE) continue;
        status = next->waits ? replay_order_wait_for(&r->order, &r->backend, replay_stream(s), s, next->event)
                             : replay_order_record(&r->order, &r->backend, replay_stream(s), next->event);
    }
    return status;
}

/* If ranks are replayed together: makes the launch's stream wait for its dependencies before the core sees
 * the launch, as the program would. */
static enum sl_status wait_for_others(struct replaying *r, const struct model_launch *of,
                                      const struct to_replay *launch)
{
    sl_stream stream = launch->to_core.stream, last = replay_stream(r->last_stream);
    if (!r->meetings) return SL_OK;
    enum sl_status status = follow_orders(r, of->tick);
    bool told = launch->is_collective && replay_order_is_told(&r->order, of->stream);
    if (status == SL_OK && stream != last && !told)
        status = replay_order_join(&r->order, &r->backend, stream, last);
    if (status) return status;
    return launch->is_collective
               ? replay_order_follow(&r->order, &r->backend, stream, launch->communicator)
               : replay_order_wait(&r->order, &r->backend, stream, r->spans, r->footprint->count);
}

enum sl_status replay_launch(struct replaying *r, const struct model_launch *launch)
{
    struct to_replay it;
    if (!gather(r, model_shape_of(r->program->model, launch))) return SL_ERR_NO_MEMORY;
    describe(r, launch, &it);
    uint64_t before = r->core.stats->total.demand_misses;
    enum sl_status status = wait_for_others(r, launch, &it);
    if (status) return status;
    sl_runtime_launch_begin(&it.to_core);
    r->missed += r->core.stats->total.demand_misses != before;
    if (r->sequence) note_in_sequence(r, it.to_device.took_ns);
    if (!r->meetings && launch->stream != r->last_stream)
        status = sl_backend_sim_follow(&r->backend, it.to_core.stream, replay_stream(r->last_stream));
    if (status == SL_OK) status = sl_backend_sim_launch(&r->backend, &it.to_device);
    sl_runtime_launch_end(&it.to_core, status == SL_OK);
    if (status == SL_OK && it.is_collective)
        return replay_order_launched(&r->order, &r->backend, it.to_core.stream, it.communicator, r->spans,
                                     r->footprint->count);
    r->last_stream = launch->stream;
    return status;
}
