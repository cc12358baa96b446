#include "streams.h"

#include "core.h"
#include "grow.h"
#include "guards.h"
#include "reuse.h"
#include "test_delay.h"

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
    return core->streams.known[s].handle == core->mover.out.stream && !(core->streams.active >> s & 1);
}

static uint64_t new_serial(struct sl_core *core, uint32_t s)
{
    return SL_GUARD(SERIALS_DIFFER) ? ++core->streams.serials : s + 1;
}

static void share_number(struct sl_core *core, sl_stream stream)
{
    for (uint32_t i = 0; i < core->streams.more_count; i++)
        if (core->streams.more[i] == stream) return;
    if (!sl_grow(&core->streams.more, &core->streams.more_capacity, core->streams.more_count,
                 sizeof *core->streams.more))
        return;
    core->streams.more[core->streams.more_count++] = stream;
}

uint32_t sl_core_stream(struct sl_core *core, sl_stream stream)
{
    uint64_t thread = stream == SL_STREAM_PER_THREAD ? this_thread() : 0;
    const struct sl_known_stream *last = &core->streams.known[core->streams.last];
    if (last->handle == stream && last->thread == thread && core->streams.last < core->streams.count)
        return core->streams.last;
    uint32_t vacant = SL_SHARED_STREAM;
    for (uint32_t s = 0; s < core->streams.count; s++) {
        if (core->streams.known[s].handle == stream && core->streams.known[s].thread == thread)
            return core->streams.last = s;
        if (is_vacant(core, s)) vacant = s;
    }
    if (vacant == SL_SHARED_STREAM && core->streams.count < SL_SHARED_STREAM) vacant = core->streams.count++;
    if (vacant == SL_SHARED_STREAM)
        share_number(core, thread ? NULL : stream); /* the legacy stream waits for every default stream */
    else
        core->streams.known[vacant] =
            (struct sl_known_stream){.handle = stream, .serial = new_serial(core, vacant), .thread = thread};
    return vacant;
}

bool sl_core_must_join(struct sl_core *core, uint32_t s, uint64_t sequence)
{
    if (!sequence) return false;
    if (s == SL_SHARED_STREAM) return !sl_mover_done(&core->mover, &core->mover.in, sequence);
    if (sequence <= core->streams.known[s].joined_in) return false;
    core->streams.known[s].joined_in = sequence;
    return true;
}

/* Another thread may begin a capture on a stream while this one records an event there. The event would be
 * the capture's, and whoever waits for it would end that: it is looked at before and behind. */
struct sl_capture_mark sl_core_capture_mark(struct sl_core *core, uint32_t s)
{
    return (struct sl_capture_mark){.may_capture = atomic_load(&core->streams.may_capture[s]),
                                    .ended = atomic_load(&core->streams.captures_ended)};
}

static bool captures(struct sl_core *core, sl_stream stream)
{
    return atomic_load(&core->streams.captures) && core->backend.stream_capturing(core->backend.self, stream);
}

/* Whether what was recorded on the stream since the mark is none of a capture's. pre: it did not capture
 * then. */
static bool is_plain(struct sl_core *core, uint32_t s, sl_stream stream, struct sl_capture_mark mark)
{
    return atomic_load(&core->streams.may_capture[s]) == mark.may_capture &&
           atomic_load(&core->streams.captures_ended) == mark.ended && !captures(core, stream);
}

/* Where this thread can record an event that covers stream number `s` and nothing else; false: nowhere. */
static bool recordable(struct sl_core *core, uint32_t s, sl_stream *out)
{
    if (s == SL_SHARED_STREAM) return false;
    const struct sl_known_stream *stream = &core->streams.known[s];
    *out = stream->handle;
    if (stream->handle == core->mover.out.stream || (stream->thread && stream->thread != this_thread()))
        return false;
    return !captures(core, *out);
}

uint32_t sl_core_fence_streams(struct sl_core *core, uint64_t streams, struct sl_fence_stream *list)
{
    uint32_t count = 0;
    for (uint64_t rest = sl_mover_is_held(&core->mover) ? 0 : streams; rest; rest &= rest - 1) {
        uint32_t s = (uint32_t)__builtin_ctzll(rest);
        list[count].number = s;
        list[count].mark = sl_core_capture_mark(core, s);
        count += recordable(core, s, &list[count].handle);
    }
    return count;
}

void sl_fence_record(struct sl_core *core, struct sl_fence *fence, const struct sl_fence_stream *list,
                     uint32_t count)
{
    const struct sl_backend *backend = &core->backend;
    uint64_t recorded = 0;
    for (uint32_t i = 0; i < count; i++) {
        sl_event_handle *event = &fence->events[list[i].number];
        if (sl_backend_has_event(backend, event) &&
            backend->event_record(backend->self, *event, list[i].handle) == SL_OK &&
            is_plain(core, list[i].number, list[i].handle, list[i].mark))
            recorded |= (uint64_t)1 << list[i].number;
    }
    /* What holds a stream up may have come in front of the event; it is counted before it is given to the
     * stream. */
    if (sl_mover_is_held(&core->mover)) recorded = 0;
    atomic_store(&fence->streams, recorded);
}

/* No launch's tick if one that has begun may reach the driver after what is asked of it now. */
static sl_tick all_submitted(const struct sl_core *core)
{
    return sl_core_submitted(core) == core->ticks.now ? core->ticks.now : UINT64_MAX;
}

struct sl_sync_mark sl_runtime_synchronizing(void)
{
    struct sl_core *core = sl_core_running();
    struct sl_sync_mark mark = {0};
    if (!core) return mark;
    sl_lock(&core->order);
    mark = (struct sl_sync_mark){.tick = all_submitted(core), .frees = sl_frees_now(&core->reuse.frees)};
    sl_unlock(&core->order);
    return mark;
}

void sl_runtime_synchronized(struct sl_sync_mark before)
{
    struct sl_core *core = sl_core_running();
    if (!core) return;
    sl_lock(&core->order);
    sl_frees_pass(&core->reuse.frees,
                  SL_GUARD(PASSED_BEFORE) ? before.frees : sl_frees_now(&core->reuse.frees));
    if (core->ticks.now == before.tick || !SL_GUARD(QUIET_BEFORE)) { /* nobody launched meanwhile */
        core->streams.active = 0;
        sl_waits_end(&core->streams.gone, &core->reuse.frees);
        sl_joins_end(core);
    }
    sl_unlock(&core->order);
}

/* The streams that have work, as far as the program has not waited for all of it. */
struct origin {
    uint32_t number;
    struct sl_capture_mark mark;
};
struct active {
    uint32_t count, captured_count;
    struct sl_free_stream *streams;
    sl_event_handle captured[SL_STREAMS]; /* of others, which capture: behind what they were given before */
    struct origin origins[];              /* of `streams` */
};

/* Lists what stands for stream number `s`, the shared one included. Streams that are gone are in
 * core->streams.gone.
 */
static uint32_t list_stream(struct sl_core *core, uint32_t s, struct sl_free_stream *list, uint32_t most)
{
    uint32_t count = 0;
    if (s == SL_SHARED_STREAM) {
        for (uint32_t i = 0; i < core->streams.more_count && count < most; i++)
            list[count++] = (struct sl_free_stream){.handle = core->streams.more[i]};
        return count;
    }
    const struct sl_known_stream *stream = &core->streams.known[s];
    /* Another thread's default stream has no name here, but the legacy stream waits for it. */
    if (stream->thread && stream->thread != this_thread())
        list[count++] = (struct sl_free_stream){.handle = NULL};
    else if (stream->handle != core->mover.out.stream)
        list[count++] = (struct sl_free_stream){.handle = stream->handle, .serial = stream->serial};
    return count;
}

/* The streams that have work. Those that capture are kept apart. pre: the order lock is taken. */
static struct active *list_active(struct sl_core *core)
{
    uint32_t most = SL_STREAMS + core->streams.more_count;
    struct active *active = calloc(1, sizeof *active + most * sizeof active->origins[0]);
    struct sl_free_stream *streams = calloc(most, sizeof *streams);
    if (!active || !streams) {
        free(active);
        free(streams);
        return NULL;
    }
    active->streams = streams;
    for (uint64_t rest = core->streams.active; rest; rest &= rest - 1) {
        uint32_t s = (uint32_t)__builtin_ctzll(rest), kept = active->count;
        struct origin origin = {s, sl_core_capture_mark(core, s)};
        uint32_t end = kept + list_stream(core, s, &streams[kept], most - kept);
        for (uint32_t i = kept; i < end; i++) {
            if (!captures(core, streams[i].handle)) {
                active->origins[kept] = origin;
                streams[kept++] = streams[i];
            } else if (s != SL_SHARED_STREAM && core->streams.before_capture[s]) {
                active->captured[active->captured_count++] = core->streams.before_capture[s];
            }
        }
        active->count = kept;
    }
    return active;
}

static void free_active(struct active *active)
{
    free(active->streams);
    free(active);
}

/* Without memory: waits on the host, for as many as there are numbers. */
static struct sl_points *finish_all(struct sl_core *core)
{
    struct sl_free_stream streams[SL_STREAMS];
    uint32_t count = 0;
    sl_lock(&core->order);
    for (uint64_t rest = core->streams.active; rest; rest &= rest - 1)
        count += list_stream(core, (uint32_t)__builtin_ctzll(rest), &streams[count], SL_STREAMS - count);
    sl_unlock(&core->order);
    for (uint32_t i = 0; i < count; i++)
        if (!captures(core, streams[i].handle))
            core->backend.stream_finish(core->backend.self, streams[i].handle);
    return NULL;
}

/* Waits on the host for what streams were given before they captured, or before they were gone. */
static void wait_for_past(struct sl_core *core, const struct active *active, struct sl_waits *gone)
{
    const struct sl_backend *backend = &core->backend;
    for (uint32_t i = 0; i < active->captured_count && SL_GUARD(WORK_BEFORE_CAPTURE); i++)
        backend->event_wait(backend->self, active->captured[i]);
    for (uint32_t i = 0; i < gone->count && SL_GUARD(WORK_OF_THE_GONE); i++)
        backend->event_wait(backend->self, gone->at[i].event);
    sl_waits_end(gone, &core->reuse.frees);
}

/* Whether nothing that was just recorded on them is a capture's. */
static bool are_plain(struct sl_core *core, const struct active *active)
{
    for (uint32_t i = 0; i < active->count; i++)
        if (!is_plain(core, active->origins[i].number, active->streams[i].handle, active->origins[i].mark))
            return false;
    return true;
}

struct sl_points *sl_core_points(struct sl_core *core)
{
    for (;;) {
        sl_lock(&core->order);
        struct active *active = list_active(core);
        struct sl_waits gone = core->streams.gone;
        core->streams.gone = (struct sl_waits){0};
        sl_unlock(&core->order);
        if (!active) return finish_all(core);
        wait_for_past(core, active, &gone);
        SL_TEST_DELAY(RECORD);
        struct sl_points *points = sl_points_record(&core->reuse.frees, active->streams, active->count);
        bool plain = are_plain(core, active);
        free_active(active);
        if (plain) return points;
        sl_points_void(&core->reuse.frees, points);
    }
}

void sl_runtime_finish(void)
{
    struct sl_core *core = sl_core_running();
    if (!core) return;
    struct sl_sync_mark before = sl_runtime_synchronizing();
    sl_lock(&core->order);
    bool work = core->streams.active != 0;
    sl_unlock(&core->order);
    if (!work) return;
    struct sl_points *points = sl_core_points(core);
    uint64_t began_ns = sl_runtime_wait_begins();
    sl_points_wait(&core->reuse.frees, points);
    sl_runtime_wait_ended(began_ns, SL_SYNC_CONTEXT, 0);
    /* A stream that captures has work still, though what came before the capture is done. */
    if (!atomic_load(&core->streams.captures))
        sl_runtime_synchronized(before); /* frees in a row ask the driver once */
}

/* Beyond so many streams that left something, it is asked for now and then whether that is done. */
enum { MANY_GONE = 256 };

/* What the stream was given goes on after its handle is dead. */
void sl_runtime_stream_gone(sl_stream stream)
{
    struct sl_core *core = sl_core_running();
    if (!core || !stream) return;
    const struct sl_backend *backend = &core->backend;
    sl_event_handle before_capture = NULL;
    bool known = false;
    sl_lock(&core->order);
    for (uint32_t s = 0; s < core->streams.count; s++) {
        if (core->streams.known[s].handle != stream || !(core->streams.active >> s & 1)) continue;
        known = true;
        before_capture = core->streams.before_capture[s];
    }
    for (uint32_t i = 0; i < core->streams.more_count; i++) known |= core->streams.more[i] == stream;
    sl_unlock(&core->order);
    struct sl_free_stream last = {.handle = stream};
    bool records = known && !backend->stream_capturing(backend->self, stream);
    struct sl_points *points = records ? sl_points_record(&core->reuse.frees, &last, 1) : NULL;
    if (known && !records && before_capture) backend->event_wait(backend->self, before_capture);
    sl_lock(&core->order);
    if (points) sl_points_give(&core->reuse.frees, points, &core->streams.gone);
    if (core->streams.gone.count >= MANY_GONE && core->streams.gone.count % MANY_GONE == 0)
        sl_waits_prune(&core->streams.gone, &core->reuse.frees);
    for (uint32_t s = 0; s < core->streams.count; s++)
        if (core->streams.known[s].handle == stream) core->streams.known[s].handle = core->mover.out.stream;
    for (uint32_t i = 0; i < core->streams.more_count; i++)
        if (core->streams.more[i] == stream)
            core->streams.more[i--] = core->streams.more[--core->streams.more_count];
    sl_unlock(&core->order);
}

void sl_runtime_capture_may_begin(sl_stream stream)
{
    struct sl_core *core = sl_core_running();
    if (!core) return;
    const struct sl_backend *backend = &core->backend;
    if (backend->stream_capturing(backend->self, stream)) return;
    sl_lock(&core->order);
    uint32_t s = sl_core_stream(core, stream);
    bool has_work = core->streams.active >> s & 1;
    atomic_fetch_add(&core->streams.may_capture[s], 1);
    bool has_event =
        has_work && s != SL_SHARED_STREAM && sl_backend_has_event(backend, &core->streams.before_capture[s]);
    sl_event_handle event = has_event ? core->streams.before_capture[s] : NULL;
    sl_unlock(&core->order);
    if (has_event)
        sl_record_event(backend, event, stream);
    else if (has_work)
        backend->stream_finish(backend->self, stream);
}
