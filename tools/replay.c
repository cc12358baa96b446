#include "replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend_sim.h"
#include "core.h"
#include "sequence.h"

enum {
    QUEUE = 1024,          /* launches that a driver takes before it lets the program wait */
    CALL_NS = 1000,        /* of the host, for a call of the driver */
    FAULT_NS = 20000,      /* of a block that comes because it is used */
    SHORT_WAIT_NS = 20000, /* for an event: it had happened already */
    FIRST_HANDLE = 16,     /* of streams: smaller ones mean something */
    LAST_FOR_STEADY = 5,   /* iterations, of which the median is taken */
};
#define MOST_BYTES ((uint64_t)SL_MAX_SLABS * SL_GIB)
#define NO_BUDGET (UINT64_C(1) << 46)

struct replaying {
    const struct replay_program *program;
    struct replay_result *result;
    struct sequence *sequence; /* while its iterations are replayed */
    struct sl_backend backend;
    struct sl_core *core;
    uint64_t *address_of; /* by slot; 0: not live */
    size_t birth, death, sync, duration;
    uint32_t border;
    uint16_t last_stream;
    uint64_t missed, allocated_bytes;
    size_t room; /* words and spans of one launch */
    struct sl_footprint *footprint;
    struct sl_span *spans;
    struct sl_sim_mark marks[REPLAY_ITERATIONS + 1];
    struct replay_iteration sums[REPLAY_ITERATIONS + 1]; /* since the start, at each border */
};

static sl_stream handle_of(uint32_t stream)
{
    return (sl_stream)(uintptr_t)(FIRST_HANDLE + stream);
}

/* --- memory */

static void end_life(struct replaying *r, uint32_t slot)
{
    uint64_t address = r->address_of[slot], bytes = r->program->model->slots.at[slot].bytes;
    if (!address) return;
    sl_runtime_free(address, NULL);
    r->address_of[slot] = 0;
    if (!r->sequence) return;
    const struct sl_arena *arena = &r->core->arena;
    sl_chunk last = sl_arena_chunk(arena, address + bytes - 1);
    for (sl_chunk c = sl_arena_chunk(arena, address); c <= last; c++)
        if (!atomic_load(&sl_arena_record(arena, c)->bytes)) sequence_death(r->sequence, c);
}

static void begin_life(struct replaying *r, uint32_t slot)
{
    const struct model_slot *known = &r->program->model->slots.at[slot];
    end_life(r, slot);
    if (!known->bytes) return;
    uint64_t address;
    if (known->bytes > MOST_BYTES || sl_runtime_alloc(known->bytes, known->site, 0, &address) != SL_OK) {
        r->result->refused++;
        return;
    }
    r->address_of[slot] = address;
    if (r->core->arena.virtual_bytes_used > r->result->need_bytes)
        r->result->need_bytes = r->core->arena.virtual_bytes_used;
}

/* --- waits */

static void wait_for_stream(struct replaying *r, uint64_t handle)
{
    const struct model *model = r->program->model;
    for (uint32_t s = 0; s < model->streams.count; s++)
        if (model->streams.at[s] == handle) sl_backend_sim_finish(&r->backend, handle_of(s));
}

/* Whether the wait is a free's: nothing lies between the two. The core waits before it frees; where memory
 * was the driver's, the wait was noted behind the free. */
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
        uint64_t before = sl_runtime_synchronizing();
        sl_backend_sim_finish_all(&r->backend);
        sl_runtime_synchronized(before);
        break;
    }
    case SL_SYNC_STREAM:
    case SL_SYNC_COPY:
        wait_for_stream(r, sync->handle);
        break;
    default:
        if (sync->took_ns >= SHORT_WAIT_NS) sl_backend_sim_finish(&r->backend, handle_of(r->last_stream));
        break;
    }
}

/* What happened before the launch with this tick, in the order of time. Of what happened at once, frees come
 * first: that leaves room. */
static void catch_up(struct replaying *r, uint64_t tick)
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
            end_life(r, dead->slot);
            r->sync++;
            r->death++;
        } else if (sync && (!dead || sync->time_ns <= dead->died_ns) &&
                   (!born || sync->time_ns <= born->born_ns)) {
            wait_as(r, sync);
            r->sync++;
        } else if (dead && (!born || dead->died_ns <= born->born_ns)) {
            end_life(r, dead->slot);
            r->death++;
        } else if (born) {
            begin_life(r, born->slot);
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

/* Sets the footprint and the spans. */
static bool gather(struct replaying *r, const struct model_shape *shape)
{
    const struct model *model = r->program->model;
    const struct model_set *set = &model->sets.at[shape->set];
    if (!reserve(r, set->count + 1)) return false;
    r->footprint->shape = sl_hash_word(sl_hash_word(sl_mix(shape->size), shape->kernel),
                                       (uint64_t)shape->kind << 8 | shape->direction);
    r->footprint->count = 0;
    r->footprint->partial = false;
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

static uint64_t time_of(struct replaying *r, const struct model_launch *launch)
{
    const struct model *model = r->program->model;
    while (r->duration < model->durations.count && model->durations.at[r->duration].tick < launch->tick)
        r->duration++;
    if (r->duration < model->durations.count && model->durations.at[r->duration].tick == launch->tick)
        return model->durations.at[r->duration].took_ns;
    return r->program->shape_ns[launch->shape];
}

static uint64_t misses(const struct replaying *r)
{
    return atomic_load_explicit(&r->core->stats.total.demand_misses, memory_order_relaxed);
}

static bool writes(const struct replaying *r, sl_chunk chunk)
{
    for (uint32_t i = 0; i < r->footprint->count; i++) {
        const struct sl_span *span = &r->spans[i];
        if (span->write && chunk >= sl_arena_chunk(&r->core->arena, span->address) &&
            chunk <= sl_arena_chunk(&r->core->arena, span->address + span->bytes - 1))
            return true;
    }
    return false;
}

/* pre: the launch has begun and not ended. */
static void note_in_sequence(struct replaying *r, uint64_t took_ns)
{
    sequence_launch(r->sequence, took_ns);
    for (uint32_t i = 0; i < r->core->touched_count; i++) {
        sl_chunk chunk = r->core->touched[i];
        sequence_use(r->sequence, chunk, atomic_load(&sl_arena_record(&r->core->arena, chunk)->bytes),
                     writes(r, chunk));
    }
}

static enum sl_status replay_launch(struct replaying *r, const struct model_launch *launch)
{
    const struct model_shape *shape = model_shape_of(r->program->model, launch);
    if (!gather(r, shape)) return SL_ERR_NO_MEMORY;
    struct sl_launch to_core = {
        .kind = SL_LAUNCH_GRAPH, .stream = handle_of(launch->stream), .footprint = r->footprint};
    struct sl_sim_launch to_device = {.stream = to_core.stream,
                                      .took_ns = time_of(r, launch),
                                      .spans = r->spans,
                                      .span_count = r->footprint->count};
    if (shape->kind == SL_LAUNCH_COPY && shape->direction == SL_COPY_IN)
        to_device.copied_bytes[SL_SIM_IN] = shape->size;
    if (shape->kind == SL_LAUNCH_COPY && shape->direction == SL_COPY_OUT)
        to_device.copied_bytes[SL_SIM_OUT] = shape->size;
    uint64_t before = misses(r);
    enum sl_status status = SL_OK;
    sl_runtime_launch_begin(&to_core);
    r->missed += misses(r) != before;
    if (r->sequence) note_in_sequence(r, to_device.took_ns);
    if (launch->stream != r->last_stream)
        status = sl_backend_sim_follow(&r->backend, to_core.stream, handle_of(r->last_stream));
    if (status == SL_OK) status = sl_backend_sim_launch(&r->backend, &to_device);
    sl_runtime_launch_end(&to_core, status == SL_OK);
    r->last_stream = launch->stream;
    return status;
}

/* --- iterations */

static enum sl_status pass_border(struct replaying *r, uint32_t launches)
{
    const struct sl_sim_books *books = sl_backend_sim_books(&r->backend);
    r->sums[r->border] = (struct replay_iteration){.bytes_in = books->bytes_in,
                                                   .bytes_out = books->bytes_out,
                                                   .in_place_bytes = books->in_place_bytes,
                                                   .launches = launches,
                                                   .misses = misses(r),
                                                   .missed = r->missed};
    return sl_backend_sim_mark(&r->backend, handle_of(r->last_stream), &r->marks[r->border++]);
}

static int by_time(const void *a, const void *b)
{
    const struct replay_iteration *x = a, *y = b;
    return (x->took_ns > y->took_ns) - (x->took_ns < y->took_ns);
}

static void sum_up(struct replaying *r)
{
    struct replay_result *result = r->result;
    for (uint32_t b = 0; b + 1 < r->border; b++) {
        const struct replay_iteration *from = &r->sums[b], *to = from + 1;
        const struct sl_sim_mark *begin = &r->marks[b], *end = begin + 1;
        result->iterations[b] = (struct replay_iteration){
            .took_ns = (uint64_t)(end->time_ns - begin->time_ns),
            .stall_ns = (uint64_t)(end->stall_ns - begin->stall_ns),
            .longer_ns = (uint64_t)(end->longer_ns - begin->longer_ns),
            .bytes_in = to->bytes_in - from->bytes_in,
            .bytes_out = to->bytes_out - from->bytes_out,
            .in_place_bytes = to->in_place_bytes - from->in_place_bytes,
            .launches = to->launches - from->launches,
            .misses = to->misses - from->misses,
            .missed = to->missed - from->missed,
        };
        result->iteration_count = b + 1;
    }
    uint32_t count = result->iteration_count;
    uint32_t last = count < 2 * LAST_FOR_STEADY ? (count + 1) / 2 : LAST_FOR_STEADY;
    struct replay_iteration sorted[LAST_FOR_STEADY];
    memcpy(sorted, result->iterations + count - last, last * sizeof(*sorted));
    qsort(sorted, last, sizeof(*sorted), by_time);
    if (last) result->steady = sorted[last / 2];
}

/* --- the run */

static void set_option(const char *name, const char *value)
{
    char variable[64];
    snprintf(variable, sizeof(variable), "SLUICE_%s", name);
    setenv(variable, value, 1);
}

static void set_size(const char *name, uint64_t bytes)
{
    char text[32];
    snprintf(text, sizeof(text), "%llu", (unsigned long long)bytes);
    set_option(name, text);
}

/* The core's options are those of the setting, whatever is set for programs that are run from here. */
static void set_options(const struct replay_setting *setting)
{
    extern char **environ;
    for (size_t i = 0; environ[i];) {
        char name[64];
        size_t length = strcspn(environ[i], "=");
        bool ours = !strncmp(environ[i], "SLUICE_", 7) && length < sizeof(name);
        if (!ours) {
            i++;
            continue;
        }
        memcpy(name, environ[i], length);
        name[length] = 0;
        unsetenv(name);
    }
    set_size("DEVICE_BUDGET", setting->budget_bytes ? setting->budget_bytes : NO_BUDGET);
    set_size("CHUNK", setting->chunk_bytes);
    set_size("HOST_LIMIT", MOST_BYTES);
    set_size("VIRTUAL_SIZE", MOST_BYTES);
    set_option("POLICY", setting->policy);
    set_option("DAEMON", "inline");
}

static enum sl_status start(struct replaying *r, const struct replay_setting *setting)
{
    struct sl_sim_device device = {
        .bytes = setting->budget_bytes ? setting->budget_bytes : NO_BUDGET,
        .in_bytes_per_s = setting->in_bytes_per_s,
        .out_bytes_per_s = setting->out_bytes_per_s,
        .both_percent = setting->both_percent,
        .transfer_ns = setting->transfer_ns,
        .call_ns = CALL_NS,
        .keeps_copies = setting->keeps_copies,
        .queue = QUEUE,
        .pages = !strcmp(setting->policy, "driver"),
        .fault_ns = FAULT_NS,
    };
    r->address_of = calloc(r->program->model->slots.count + 1, sizeof(*r->address_of));
    if (!r->address_of) return SL_ERR_NO_MEMORY;
    set_options(setting);
    sl_runtime_load();
    enum sl_status status = sl_backend_sim_new(&device, &r->backend);
    if (status == SL_OK) status = sl_runtime_start(&r->backend);
    r->core = sl_core_running();
    return status;
}

static enum sl_status begin_sequence(struct replaying *r)
{
    r->sequence = sequence_new();
    if (!r->sequence) return SL_ERR_NO_MEMORY;
    const struct sl_arena *arena = &r->core->arena;
    for (sl_chunk c = 0; c < sl_arena_chunk_count(arena); c++) {
        const struct sl_chunk_record *chunk = sl_arena_record(arena, c);
        int content = atomic_load(&chunk->content);
        bool alive = content == SL_CONTENT_HOST || content == SL_CONTENT_RESIDENT;
        if (alive && atomic_load(&chunk->bytes)) sequence_alive(r->sequence, c);
    }
    return SL_OK;
}

static enum sl_status end_sequence(struct replaying *r, FILE *to)
{
    bool written = sequence_write(r->sequence, r->program->name, to);
    sequence_delete(r->sequence);
    r->sequence = NULL;
    return written ? SL_OK : SL_ERR_IO;
}

/* An iteration begins, or the last one ended. */
static enum sl_status begin_or_end_sequence(struct replaying *r, const struct replay_setting *setting)
{
    uint32_t left = r->program->border_count - r->border;
    if (!setting->sequence) return SL_OK;
    if (!r->sequence && left && left <= setting->sequence_iterations) return begin_sequence(r);
    return r->sequence && !left ? end_sequence(r, setting->sequence) : SL_OK;
}

static enum sl_status go_through(struct replaying *r, const struct replay_setting *setting)
{
    const struct replay_program *program = r->program;
    enum sl_status status = SL_OK;
    for (uint32_t l = 0; l <= program->launches && status == SL_OK; l++) {
        if (r->border < program->border_count && program->borders[r->border] == l) {
            status = pass_border(r, l);
            if (status == SL_OK) status = begin_or_end_sequence(r, setting);
        }
        if (l == program->launches || status) break;
        const struct model_launch *launch = &program->model->launches.at[l];
        catch_up(r, launch->tick);
        status = replay_launch(r, launch);
    }
    if (status == SL_OK) status = sl_backend_sim_finish_all(&r->backend);
    return status;
}

void replay_run(const struct replay_program *program, const struct replay_setting *setting,
                struct replay_result *result)
{
    *result = (struct replay_result){0};
    struct replaying *r = calloc(1, sizeof(*r));
    result->status = SL_ERR_NO_MEMORY;
    if (!r) return;
    r->program = program;
    r->result = result;
    result->status = start(r, setting);
    if (result->status == SL_OK) result->status = go_through(r, setting);
    if (result->status == SL_OK) {
        result->oversize = atomic_load(&r->core->stats.oversize_launches);
        sum_up(r);
    }
    sequence_delete(r->sequence);
    free(r->address_of);
    free(r->footprint);
    free(r->spans);
    free(r);
}
