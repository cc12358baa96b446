#include "move/streams.h"

#include "base/grow.h"
#include "base/guards.h"
#include "base/test_delay.h"
#include "device/ordering.h"
#include "move/reuse.h"

/* Never reused for another thread. */
static uint64_t this_thread(void)
{
    static _Atomic uint64_t threads;
    static __thread uint64_t mine __attribute__((tls_model("initial-exec")));
    if (!mine) mine = atomic_fetch_add(&threads, 1) + 1;
    return mine;
}

/* A destroyed stream's number is free once the program has waited for its work. */
static bool is_vacant(const struct sl_streams *streams, uint32_t s)
{
    return streams->known[s].handle == streams->migrator->out.stream && !(streams->active >> s & 1);
}

static uint64_t new_serial(struct sl_streams *streams, uint32_t s)
{
    return SL_GUARD(SERIALS_DIFFER) ? ++streams->serials : s + 1;
}

static void share_number(struct sl_streams *streams, sl_stream stream)
{
    for (uint32_t i = 0; i < streams->more_count; i++)
        if (streams->more[i] == stream) return;
    if (!sl_grow(&streams->more, &streams->more_capacity, streams->more_count, sizeof *streams->more)) return;
    streams->more[streams->more_count++] = stream;
}

uint32_t sl_stream_number(struct sl_streams *streams, sl_stream stream)
{
    uint64_t thread = stream == SL_STREAM_PER_THREAD ? this_thread() : 0;
    const struct sl_known_stream *last = &streams->known[streams->last];
    if (last->handle == stream && last->thread == thread && streams->last < streams->count)
        return streams->last;
    uint32_t vacant = SL_SHARED_STREAM;
    for (uint32_t s = 0; s < streams->count; s++) {
        if (streams->known[s].handle == stream && streams->known[s].thread == thread)
            return streams->last = s;
        if (is_vacant(streams, s)) vacant = s;
    }
    if (vacant == SL_SHARED_STREAM && streams->count < SL_SHARED_STREAM) vacant = streams->count++;
    if (vacant == SL_SHARED_STREAM)
        share_number(streams, thread ? NULL : stream); /* the legacy stream waits for all of them */
    else
        streams->known[vacant] = (struct sl_known_stream){
            .handle = stream, .serial = new_serial(streams, vacant), .thread = thread};
    return vacant;
}

bool sl_stream_must_join(struct sl_streams *streams, uint32_t s, uint64_t sequence)
{
    if (!sequence) return false;
    if (s == SL_SHARED_STREAM) return !sl_migrator_done(streams->migrator, &streams->migrator->in, sequence);
    if (sequence <= streams->known[s].joined_in) return false;
    streams->known[s].joined_in = sequence;
    return true;
}

/* Another thread may begin a capture on a stream while this one records an event there. The event would
 * belong to the capture, and a wait for it would invalidate the capture. So captures are checked before and
 * after. */
struct sl_capture_mark sl_stream_capture_mark(struct sl_streams *streams, uint32_t s)
{
    return (struct sl_capture_mark){.may_capture = atomic_load(&streams->may_capture[s]),
                                    .ended = atomic_load(&streams->captures_ended)};
}

static bool captures(struct sl_streams *streams, sl_stream stream)
{
    return atomic_load(&streams->captures) &&
           streams->migrator->backend->stream_capturing(streams->migrator->backend->self, stream);
}

/* Whether an event recorded on the stream since the mark does not belong to a capture. Precondition: the
 * stream did not capture at the mark. */
static bool is_plain(struct sl_streams *streams, uint32_t s, sl_stream stream, struct sl_capture_mark mark)
{
    return atomic_load(&streams->may_capture[s]) == mark.may_capture &&
           atomic_load(&streams->captures_ended) == mark.ended && !captures(streams, stream);
}

/* The stream on which this thread can record an event that covers exactly stream number `s`; false: there is
 * none. */
static bool recordable(struct sl_streams *streams, uint32_t s, sl_stream *out)
{
    if (s == SL_SHARED_STREAM) return false;
    const struct sl_known_stream *stream = &streams->known[s];
    *out = stream->handle;
    if (stream->handle == streams->migrator->out.stream ||
        (stream->thread && stream->thread != this_thread()))
        return false;
    return !captures(streams, *out);
}

uint32_t sl_streams_to_fence(struct sl_streams *streams, uint64_t numbers, struct sl_fence_stream *list)
{
    uint32_t count = 0;
    for (uint64_t rest = sl_migrator_is_held(streams->migrator) ? 0 : numbers; rest; rest &= rest - 1) {
        uint32_t s = (uint32_t)__builtin_ctzll(rest);
        list[count].number = s;
        list[count].mark = sl_stream_capture_mark(streams, s);
        count += recordable(streams, s, &list[count].handle);
    }
    return count;
}

void sl_fence_record(struct sl_streams *streams, struct sl_fence *fence, const struct sl_fence_stream *list,
                     uint32_t count)
{
    const struct sl_backend *backend = streams->migrator->backend;
    uint64_t recorded = 0;
    for (uint32_t i = 0; i < count; i++) {
        sl_event_handle *event = &fence->events[list[i].number];
        if (sl_backend_has_event(backend, event) &&
            backend->event_record(backend->self, *event, list[i].handle) == SL_OK &&
            is_plain(streams, list[i].number, list[i].handle, list[i].mark))
            recorded |= (uint64_t)1 << list[i].number;
        fence->behind[list[i].number] = sl_behind_number(&streams->migrator->behind, list[i].number);
    }
    /* Something that holds a stream up may be in front of the event; it is counted before it is given to the
     * stream. */
    if (sl_migrator_is_held(streams->migrator)) recorded = 0;
    atomic_store(&fence->streams, recorded);
}

/* The streams that have work for which the program has not waited. */
struct origin {
    uint32_t number;
    struct sl_capture_mark mark;
};
struct active {
    uint32_t count, captured_count;
    struct sl_free_stream *streams;
    sl_event_handle captured[SL_STREAMS]; /* for streams that capture: events behind their work before */
    struct origin origins[];              /* parallel to `streams` */
};

/* Lists the streams of number `s`, including those that share a number. Work of destroyed streams is in
 * streams->gone. */
static uint32_t list_stream(struct sl_streams *streams, uint32_t s, struct sl_free_stream *list,
                            uint32_t most)
{
    uint32_t count = 0;
    if (s == SL_SHARED_STREAM) {
        for (uint32_t i = 0; i < streams->more_count && count < most; i++)
            list[count++] = (struct sl_free_stream){.handle = streams->more[i]};
        return count;
    }
    const struct sl_known_stream *stream = &streams->known[s];
    /* Another thread's default stream has no handle here, but the legacy stream waits for it. */
    if (stream->thread && stream->thread != this_thread())
        list[count++] = (struct sl_free_stream){.handle = NULL};
    else if (stream->handle != streams->migrator->out.stream)
        list[count++] = (struct sl_free_stream){.handle = stream->handle, .serial = stream->serial};
    return count;
}

/* The streams that have work. Streams that capture are listed apart. Precondition: the order lock is held. */
static struct active *list_active(struct sl_streams *streams)
{
    uint32_t most = SL_STREAMS + streams->more_count;
    struct active *active = calloc(1, sizeof *active + most * sizeof active->origins[0]);
    struct sl_free_stream *list = calloc(most, sizeof *list);
    if (!active || !list) {
        free(active);
        free(list);
        return NULL;
    }
    active->streams = list;
    for (uint64_t rest = streams->active; rest; rest &= rest - 1) {
        uint32_t s = (uint32_t)__builtin_ctzll(rest), kept = active->count;
        struct origin origin = {s, sl_stream_capture_mark(streams, s)};
        uint32_t end = kept + list_stream(streams, s, &list[kept], most - kept);
        for (uint32_t i = kept; i < end; i++) {
            if (!captures(streams, list[i].handle)) {
                active->origins[kept] = origin;
                list[kept++] = list[i];
            } else if (s != SL_SHARED_STREAM && streams->before_capture[s]) {
                active->captured[active->captured_count++] = streams->before_capture[s];
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

/* Without memory: waits on the host for up to SL_STREAMS streams. */
static struct sl_points *finish_all(struct sl_streams *streams)
{
    struct sl_free_stream list[SL_STREAMS];
    uint32_t count = 0;
    sl_lock(streams->order);
    for (uint64_t rest = streams->active; rest; rest &= rest - 1)
        count += list_stream(streams, (uint32_t)__builtin_ctzll(rest), &list[count], SL_STREAMS - count);
    sl_unlock(streams->order);
    for (uint32_t i = 0; i < count; i++)
        if (!captures(streams, list[i].handle))
            streams->migrator->backend->stream_finish(streams->migrator->backend->self, list[i].handle);
    return NULL;
}

/* Waits on the host for work that streams got before they captured or were destroyed. */
static void wait_for_past(struct sl_streams *streams, const struct active *active, struct sl_waits *gone)
{
    const struct sl_backend *backend = streams->migrator->backend;
    for (uint32_t i = 0; i < active->captured_count && SL_GUARD(WORK_BEFORE_CAPTURE); i++)
        backend->event_wait(backend->self, active->captured[i]);
    for (uint32_t i = 0; i < gone->count && SL_GUARD(WORK_OF_THE_GONE); i++) sl_wait_on_host(&gone->at[i]);
    sl_waits_end(gone, streams->frees);
}

/* Whether no event that was just recorded belongs to a capture. */
static bool are_plain(struct sl_streams *streams, const struct active *active)
{
    for (uint32_t i = 0; i < active->count; i++)
        if (!is_plain(streams, active->origins[i].number, active->streams[i].handle, active->origins[i].mark))
            return false;
    return true;
}

struct sl_points *sl_streams_points(struct sl_streams *streams)
{
    for (;;) {
        sl_lock(streams->order);
        struct active *active = list_active(streams);
        struct sl_waits gone = streams->gone;
        streams->gone = (struct sl_waits){0};
        sl_unlock(streams->order);
        if (!active) return finish_all(streams);
        wait_for_past(streams, active, &gone);
        SL_TEST_DELAY(RECORD);
        struct sl_points *points = sl_points_record(streams->frees, active->streams, active->count);
        bool plain = are_plain(streams, active);
        free_active(active);
        if (plain) return points;
        sl_points_void(streams->frees, points);
    }
}

/* With so many destroyed streams' events, finished ones are released now and then. */
enum { MANY_GONE = 256 };

/* The stream's work goes on after its handle is dead. */
void sl_stream_gone(struct sl_streams *streams, sl_stream stream)
{
    const struct sl_backend *backend = streams->migrator->backend;
    sl_event_handle before_capture = NULL;
    bool known = false;
    sl_frees_flush_stream(streams->frees, stream);
    sl_lock(streams->order);
    for (uint32_t s = 0; s < streams->count; s++) {
        if (streams->known[s].handle != stream || !(streams->active >> s & 1)) continue;
        known = true;
        before_capture = streams->before_capture[s];
    }
    for (uint32_t i = 0; i < streams->more_count; i++) known |= streams->more[i] == stream;
    sl_unlock(streams->order);
    struct sl_free_stream last = {.handle = stream};
    bool records = known && !backend->stream_capturing(backend->self, stream);
    struct sl_points *points = records ? sl_points_record(streams->frees, &last, 1) : NULL;
    if (known && !records && before_capture) backend->event_wait(backend->self, before_capture);
    sl_lock(streams->order);
    if (points) sl_points_give(streams->frees, points, &streams->gone);
    if (streams->gone.count >= MANY_GONE && streams->gone.count % MANY_GONE == 0)
        sl_waits_prune(&streams->gone, streams->frees);
    for (uint32_t s = 0; s < streams->count; s++)
        if (streams->known[s].handle == stream) streams->known[s].handle = streams->migrator->out.stream;
    for (uint32_t i = 0; i < streams->more_count; i++)
        if (streams->more[i] == stream) streams->more[i--] = streams->more[--streams->more_count];
    sl_unlock(streams->order);
}

void sl_stream_may_capture(struct sl_streams *streams, sl_stream stream)
{
    const struct sl_backend *backend = streams->migrator->backend;
    sl_frees_flush(streams->frees);
    if (backend->stream_capturing(backend->self, stream)) return;
    sl_lock(streams->order);
    uint32_t s = sl_stream_number(streams, stream);
    bool has_work = streams->active >> s & 1;
    atomic_fetch_add(&streams->may_capture[s], 1);
    bool has_event =
        has_work && s != SL_SHARED_STREAM && sl_backend_has_event(backend, &streams->before_capture[s]);
    sl_event_handle event = has_event ? streams->before_capture[s] : NULL;
    sl_unlock(streams->order);
    if (has_event)
        sl_record_event(backend, event, stream);
    else if (has_work)
        backend->stream_finish(backend->self, stream);
}
