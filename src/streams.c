#include "streams.h"

#include "core.h"
#include "grow.h"
#include "reuse.h"

/* Never the number of another thread, not even of one that is gone. */
static uint64_t this_thread(void)
{
    static _Atomic uint64_t threads;
    static __thread uint64_t mine __attribute__((tls_model("initial-exec")));
    if (!mine) mine = atomic_fetch_add(&threads, 1) + 1;
    return mine;
}

/* A stream that is gone and whose work the program has waited for leaves its number to another. */
static bool is_vacant(const struct sl_core *core, uint32_t s)
{
    return core->streams[s].handle == core->mover.out.stream && !(core->active_streams >> s & 1);
}

static void share_number(struct sl_core *core, sl_stream stream)
{
    for (uint32_t i = 0; i < core->more_stream_count; i++)
        if (core->more_streams[i] == stream) return;
    if (!sl_grow(&core->more_streams, &core->more_stream_capacity, core->more_stream_count,
                 sizeof *core->more_streams))
        return;
    core->more_streams[core->more_stream_count++] = stream;
}

uint32_t sl_core_stream(struct sl_core *core, sl_stream stream)
{
    uint64_t thread = stream == SL_STREAM_PER_THREAD ? this_thread() : 0;
    const struct sl_known_stream *last = &core->streams[core->last_stream];
    if (last->handle == stream && last->thread == thread && core->last_stream < core->stream_count)
        return core->last_stream;
    uint32_t vacant = SL_SHARED_STREAM;
    for (uint32_t s = 0; s < core->stream_count; s++) {
        if (core->streams[s].handle == stream && core->streams[s].thread == thread)
            return core->last_stream = s;
        if (is_vacant(core, s)) vacant = s;
    }
    if (vacant == SL_SHARED_STREAM && core->stream_count < SL_SHARED_STREAM) vacant = core->stream_count++;
    if (vacant == SL_SHARED_STREAM)
        share_number(core, thread ? NULL : stream); /* the legacy stream waits for every default stream */
    else
        core->streams[vacant] =
            (struct sl_known_stream){.handle = stream, .serial = ++core->serials, .thread = thread};
    sl_joins_new_stream(core, vacant);
    return vacant;
}

bool sl_core_must_join(struct sl_core *core, uint32_t s, struct sl_direction *direction, uint64_t sequence)
{
    if (!sequence) return false;
    if (s == SL_SHARED_STREAM) return !sl_mover_done(&core->mover, direction, sequence);
    uint64_t *joined =
        direction == &core->mover.out ? &core->streams[s].joined_out : &core->streams[s].joined_in;
    if (sequence <= *joined) return false;
    *joined = sequence;
    return true;
}

/* Where this thread can record an event that covers stream number `s` and nothing else; false: nowhere. */
static bool recordable(struct sl_core *core, uint32_t s, sl_stream *out)
{
    if (s == SL_SHARED_STREAM) return false;
    const struct sl_known_stream *stream = &core->streams[s];
    *out = stream->handle;
    if (stream->handle == core->mover.out.stream || (stream->thread && stream->thread != this_thread()))
        return false;
    return !atomic_load(&core->captures) || !core->backend.stream_capturing(core->backend.self, *out);
}

uint32_t sl_core_fence_streams(struct sl_core *core, uint64_t streams, struct sl_fence_stream *list)
{
    uint32_t count = 0;
    for (uint64_t rest = sl_mover_is_held(&core->mover) ? 0 : streams; rest; rest &= rest - 1) {
        uint32_t s = (uint32_t)__builtin_ctzll(rest);
        list[count].number = s;
        count += recordable(core, s, &list[count].handle);
    }
    return count;
}

void sl_fence_record(const struct sl_backend *backend, struct sl_fence *fence,
                     const struct sl_fence_stream *list, uint32_t count)
{
    uint64_t recorded = 0;
    for (uint32_t i = 0; i < count; i++) {
        sl_event_handle *event = &fence->events[list[i].number];
        if (sl_backend_has_event(backend, event) &&
            backend->event_record(backend->self, *event, list[i].handle) == SL_OK)
            recorded |= (uint64_t)1 << list[i].number;
    }
    atomic_store(&fence->streams, recorded);
}

/* No launch's tick if one that has begun may reach the driver after what is asked of it now. */
static sl_tick all_submitted(const struct sl_core *core)
{
    return sl_core_submitted(core) == core->tick ? core->tick : UINT64_MAX;
}

struct sl_sync_mark sl_runtime_synchronizing(void)
{
    struct sl_core *core = sl_core_running();
    struct sl_sync_mark mark = {0};
    if (!core) return mark;
    pthread_mutex_lock(&core->order);
    mark = (struct sl_sync_mark){.tick = all_submitted(core), .frees = sl_frees_now(&core->frees)};
    pthread_mutex_unlock(&core->order);
    return mark;
}

void sl_runtime_synchronized(struct sl_sync_mark before)
{
    struct sl_core *core = sl_core_running();
    if (!core) return;
    pthread_mutex_lock(&core->order);
    sl_frees_pass(&core->frees, before.frees);
    if (core->tick == before.tick) { /* nobody launched meanwhile */
        core->active_streams = 0;
        sl_waits_end(&core->gone, &core->frees);
        sl_joins_end(core);
    }
    pthread_mutex_unlock(&core->order);
}

/* Adds what stands for stream number `s`, the shared one included. Streams that are gone are in core->gone.
 */
static uint32_t list_stream(struct sl_core *core, uint32_t s, struct sl_free_stream *list, uint32_t most)
{
    uint32_t count = 0;
    if (s == SL_SHARED_STREAM) {
        for (uint32_t i = 0; i < core->more_stream_count && count < most; i++)
            list[count++] = (struct sl_free_stream){.handle = core->more_streams[i]};
        return count;
    }
    const struct sl_known_stream *stream = &core->streams[s];
    /* Another thread's default stream has no name here, but the legacy stream waits for it. */
    if (stream->thread && stream->thread != this_thread())
        list[count++] = (struct sl_free_stream){.handle = NULL};
    else if (stream->handle != core->mover.out.stream)
        list[count++] = (struct sl_free_stream){.handle = stream->handle, .serial = stream->serial};
    return count;
}

struct sl_active *sl_core_active(struct sl_core *core)
{
    const struct sl_backend *backend = &core->backend;
    uint32_t most = SL_STREAMS + core->more_stream_count;
    struct sl_active *active = calloc(1, sizeof *active + most * sizeof active->streams[0]);
    if (!active) return NULL;
    for (uint64_t rest = core->active_streams; rest; rest &= rest - 1) {
        uint32_t s = (uint32_t)__builtin_ctzll(rest), first = active->count;
        active->count += list_stream(core, s, &active->streams[first], most - first);
        if (!atomic_load(&core->captures)) continue;
        uint32_t kept = first;
        for (uint32_t i = first; i < active->count; i++) {
            if (!backend->stream_capturing(backend->self, active->streams[i].handle))
                active->streams[kept++] = active->streams[i];
            else if (s != SL_SHARED_STREAM && core->before_capture[s])
                active->captured[active->captured_count++] = core->before_capture[s];
        }
        active->count = kept;
    }
    return active;
}

/* Waits on the host for what streams were given before they captured, or before they were gone. */
static void wait_for_past(struct sl_core *core, const struct sl_active *active, struct sl_waits *gone)
{
    const struct sl_backend *backend = &core->backend;
    for (uint32_t i = 0; i < active->captured_count; i++)
        backend->event_wait(backend->self, active->captured[i]);
    for (uint32_t i = 0; i < gone->count; i++) backend->event_wait(backend->self, gone->at[i].event);
    sl_waits_end(gone, &core->frees);
}

struct sl_points *sl_core_points(struct sl_core *core)
{
    pthread_mutex_lock(&core->order);
    struct sl_active *active = sl_core_active(core);
    struct sl_waits gone = core->gone;
    core->gone = (struct sl_waits){0};
    pthread_mutex_unlock(&core->order);
    if (!active) return NULL;
    wait_for_past(core, active, &gone);
    struct sl_points *points = sl_points_record(&core->frees, active->streams, active->count);
    free(active);
    return points;
}

void sl_runtime_finish(void)
{
    struct sl_core *core = sl_core_running();
    if (!core) return;
    struct sl_sync_mark before = sl_runtime_synchronizing();
    pthread_mutex_lock(&core->order);
    bool work = core->active_streams != 0;
    pthread_mutex_unlock(&core->order);
    if (!work) return;
    struct sl_points *points = sl_core_points(core);
    uint64_t began_ns = sl_runtime_wait_begins();
    sl_points_wait(&core->frees, points);
    sl_runtime_wait_ended(began_ns, SL_SYNC_CONTEXT, 0);
    /* A stream that captures has work still, though what came before the capture is done. */
    if (!atomic_load(&core->captures))
        sl_runtime_synchronized(before); /* frees in a row ask the driver once */
}

/* What the stream was given goes on after its handle is dead. */
void sl_runtime_stream_gone(sl_stream stream)
{
    struct sl_core *core = sl_core_running();
    if (!core || !stream) return;
    const struct sl_backend *backend = &core->backend;
    bool known = false;
    pthread_mutex_lock(&core->order);
    for (uint32_t s = 0; s < core->stream_count; s++)
        known |= core->streams[s].handle == stream && core->active_streams >> s & 1;
    for (uint32_t i = 0; i < core->more_stream_count; i++) known |= core->more_streams[i] == stream;
    pthread_mutex_unlock(&core->order);
    struct sl_free_stream last = {.handle = stream};
    bool records = known && !backend->stream_capturing(backend->self, stream);
    struct sl_points *points = records ? sl_points_record(&core->frees, &last, 1) : NULL;
    pthread_mutex_lock(&core->order);
    if (points) sl_points_give(&core->frees, points, &core->gone);
    for (uint32_t s = 0; s < core->stream_count; s++)
        if (core->streams[s].handle == stream) core->streams[s].handle = core->mover.out.stream;
    for (uint32_t i = 0; i < core->more_stream_count; i++)
        if (core->more_streams[i] == stream)
            core->more_streams[i--] = core->more_streams[--core->more_stream_count];
    pthread_mutex_unlock(&core->order);
}

void sl_runtime_capture_may_begin(sl_stream stream)
{
    struct sl_core *core = sl_core_running();
    if (!core) return;
    const struct sl_backend *backend = &core->backend;
    if (backend->stream_capturing(backend->self, stream)) return;
    pthread_mutex_lock(&core->order);
    uint32_t s = sl_core_stream(core, stream);
    bool has_work = core->active_streams >> s & 1;
    bool has_event =
        has_work && s != SL_SHARED_STREAM && sl_backend_has_event(backend, &core->before_capture[s]);
    sl_event_handle event = has_event ? core->before_capture[s] : NULL;
    pthread_mutex_unlock(&core->order);
    if (has_event)
        sl_record_event(backend, event, stream);
    else if (has_work)
        backend->stream_finish(backend->self, stream);
}
