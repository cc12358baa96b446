#include "move/streams.h"

#include <sched.h>

#include "base/grow.h"
#include "base/test_hooks.h"
#include "device/backend.h"
#include "move/reuse.h"

_Static_assert(SL_BEHIND_STREAMS == SL_STREAMS, "behind.h has an entry for each stream");

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
    return streams->known[s].handle == streams->migrator->out.enqueued.stream && !(streams->active >> s & 1);
}

static uint64_t new_serial(struct sl_streams *streams, uint32_t s)
{
    return SL_GUARD(SERIALS_DIFFER) ? ++streams->serials : s + 1;
}

static void share_number(struct sl_streams *streams, sl_stream stream)
{
    for (uint32_t i = 0; i < streams->more_count; i++)
        if (streams->more[i] == stream) return;
    if (sl_grow(&streams->more, &streams->more_capacity, streams->more_count, sizeof *streams->more))
        streams->more[streams->more_count++] = stream;
    else
        streams->unlisted = true;
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

bool sl_stream_note_join(struct sl_streams *streams, uint32_t s, uint64_t sequence)
{
    if (!sequence) return false;
    if (s == SL_SHARED_STREAM) return !sl_migrator_done(streams->migrator, &streams->migrator->in, sequence);
    if (sequence <= streams->known[s].joined_in) return false;
    streams->known[s].joined_in = sequence;
    return true;
}

static struct sl_answer captures(struct sl_streams *streams, sl_stream stream)
{
    const struct sl_backend *backend = streams->migrator->backend;
    return atomic_load(&streams->captures) ? backend->stream_capturing(backend->self, stream)
                                           : sl_answer_of(false);
}

/* Another thread may begin a capture on a stream while this one records an event there. The event would
 * belong to the capture, and a wait for it would invalidate the capture. Whether it does not: the stream does
 * not capture, and no capture was about to end since `capture_ends` was read. Precondition: the stream did
 * not capture when that was asked after the reading. */
static struct sl_answer is_plain(struct sl_streams *streams, sl_stream stream, uint64_t capture_ends)
{
    struct sl_answer capturing = captures(streams, stream);
    if (atomic_load(&streams->capture_ends) != capture_ends) return sl_answer_of(false);
    if (sl_is_yes(capturing)) return sl_answer_of(false);
    return sl_is_no(capturing) ? sl_answer_of(true) : sl_no_answer();
}

/* The stream on which this thread can record an event that covers exactly stream number `s`; false: there is
 * none. */
static bool recordable(struct sl_streams *streams, uint32_t s, sl_stream *out)
{
    if (s == SL_SHARED_STREAM) return false;
    const struct sl_known_stream *stream = &streams->known[s];
    *out = stream->handle;
    if (stream->handle == streams->migrator->out.enqueued.stream ||
        (stream->thread && stream->thread != this_thread()))
        return false;
    return sl_is_no(captures(streams, *out));
}

uint32_t sl_streams_to_fence(struct sl_streams *streams, uint64_t numbers, struct sl_fence_stream *list)
{
    uint32_t count = 0;
    for (uint64_t rest = sl_migrator_is_held(streams->migrator) ? 0 : numbers; rest; rest &= rest - 1) {
        uint32_t s = (uint32_t)__builtin_ctzll(rest);
        list[count].number = s;
        list[count].capture_ends = atomic_load(&streams->capture_ends);
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
            sl_is_yes(is_plain(streams, list[i].handle, list[i].capture_ends)))
            recorded |= (uint64_t)1 << list[i].number;
        fence->behind[list[i].number] = sl_behind_number(&streams->migrator->behind, list[i].number);
    }
    /* Something that holds a stream up may be in front of the event; it is counted before it is given to the
     * stream. */
    if (sl_migrator_is_held(streams->migrator)) recorded = 0;
    atomic_store(&fence->streams, recorded);
}

/* The streams that have work for which the program has not waited. */
struct active {
    uint32_t count, captured_count;
    bool sure;                            /* nothing is missing */
    uint64_t capture_ends;                /* before the streams were asked whether they capture */
    sl_event_handle captured[SL_STREAMS]; /* for streams that capture: events behind their work before */
    struct sl_free_stream streams[];
};

/* The stream `i` of number `s`, counted from 0: several may share a number. Work of destroyed streams is in
 * streams->gone. False: there are no more. */
static bool stream_at(const struct sl_streams *streams, uint32_t s, uint32_t i, struct sl_free_stream *out)
{
    if (s == SL_SHARED_STREAM) {
        if (i < streams->more_count) *out = (struct sl_free_stream){.handle = streams->more[i]};
        return i < streams->more_count;
    }
    const struct sl_known_stream *stream = &streams->known[s];
    /* Another thread's default stream has no handle here, but the legacy stream waits for it. */
    bool others = stream->thread && stream->thread != this_thread();
    *out = others ? (struct sl_free_stream){.handle = NULL}
                  : (struct sl_free_stream){.handle = stream->handle, .serial = stream->serial};
    return i == 0 && (others || stream->handle != streams->migrator->out.enqueued.stream);
}

/* The event behind the work that stream number `s`, which captures, had before; NULL: that work was waited
 * for. False: it is not known where it ends. */
static bool before_capture(const struct sl_streams *streams, uint32_t s, sl_event_handle *event)
{
    *event = s == SL_SHARED_STREAM ? NULL : streams->before_capture[s];
    return !(streams->uncovered >> s & 1);
}

static void list_one(struct sl_streams *streams, struct active *active, uint32_t s,
                     const struct sl_free_stream *stream)
{
    struct sl_answer capturing = captures(streams, stream->handle);
    sl_event_handle before;
    if (sl_is_no(capturing)) {
        active->streams[active->count++] = *stream;
    } else {
        active->sure &= sl_is_yes(capturing) && before_capture(streams, s, &before);
        if (active->sure && before) active->captured[active->captured_count++] = before;
    }
}

/* The streams that have work. Streams that capture are listed apart. Precondition: the order lock is held. */
static struct active *list_active(struct sl_streams *streams)
{
    uint32_t most = SL_STREAMS + streams->more_count;
    struct active *active = calloc(1, sizeof *active + most * sizeof active->streams[0]);
    struct sl_free_stream stream;
    if (!active) return NULL;
    active->capture_ends = atomic_load(&streams->capture_ends);
    active->sure = !streams->unlisted;
    for (uint64_t rest = streams->active; rest; rest &= rest - 1) {
        uint32_t s = (uint32_t)__builtin_ctzll(rest);
        for (uint32_t i = 0; stream_at(streams, s, i, &stream); i++) list_one(streams, active, s, &stream);
    }
    return active;
}

/* A wait that is over; another thread may have forgotten it. Precondition: the order lock is held. */
static void forget(struct sl_waits *waits, const struct sl_wait *over, struct sl_frees *frees)
{
    for (uint32_t i = 0; i < waits->count; i++)
        if (waits->at[i].points == over->points && waits->at[i].event == over->event) {
            sl_wait_end(&waits->at[i], frees);
            waits->at[i--] = waits->at[--waits->count];
        }
}

/* Waits on the host for the work of destroyed streams, which others see until it is done. Needs no memory.
 * False: some may not be done. */
static bool wait_for_gone(struct sl_streams *streams)
{
    for (bool done = true;;) {
        struct sl_wait place;
        struct sl_waits first = {.at = &place, .capacity = 1};
        sl_lock(streams->order);
        done &= !streams->gone.unsure;
        if (done && streams->gone.count) sl_waits_add(&first, &streams->gone.at[0], streams->frees);
        sl_unlock(streams->order);
        if (!first.count) return done;
        if (SL_GUARD(WORK_OF_THE_GONE)) done = sl_wait_on_host(&place) == SL_OK;
        sl_lock(streams->order);
        if (done) forget(&streams->gone, &place, streams->frees);
        sl_unlock(streams->order);
        sl_wait_end(&place, streams->frees);
    }
}

/* Handles may be used until sl_frees_let_go: rule 18 of docs/concurrency.md. A capture that is about to begin
 * is waited for, by rule 17. Precondition: no lock is held, since those who hold may want it. */
static uint32_t hold(struct sl_streams *streams)
{
    for (;;) {
        uint32_t held = sl_frees_hold(streams->frees);
        if (!atomic_load(&streams->beginning) || !SL_GUARD(CAPTURE_BEGINS_ALONE)) return held;
        sl_frees_let_go(streams->frees, held);
        SL_TEST_DELAY(HELD_BACK);
        sched_yield();
    }
}

/* Without memory: waits on the host for one stream after the other. False: some work may not be done. */
static bool finish_each(struct sl_streams *streams)
{
    const struct sl_backend *backend = streams->migrator->backend;
    bool done = wait_for_gone(streams);
    for (uint32_t s = 0; s < SL_STREAMS; s++)
        for (uint32_t i = 0;; i++) {
            struct sl_free_stream stream;
            sl_event_handle before;
            uint32_t held = hold(streams);
            sl_lock(streams->order);
            bool any = streams->active >> s & 1 && stream_at(streams, s, i, &stream);
            struct sl_answer capturing = any ? captures(streams, stream.handle) : sl_no_answer();
            bool covered = before_capture(streams, s, &before);
            done &= !streams->unlisted;
            sl_unlock(streams->order);
            if (sl_is_no(capturing))
                done &= sl_finish_stream(backend, stream.handle) == SL_OK;
            else if (any)
                done &=
                    sl_is_yes(capturing) && covered && (!before || sl_wait_host(backend, before) == SL_OK);
            sl_frees_let_go(streams->frees, held);
            if (!any) break;
        }
    return done;
}

/* Waits on the host for work that streams got before they captured or were destroyed. False: some may not be
 * done. */
static bool wait_for_past(struct sl_streams *streams, const struct active *active)
{
    const struct sl_backend *backend = streams->migrator->backend;
    bool done = wait_for_gone(streams);
    for (uint32_t i = 0; i < active->captured_count && SL_GUARD(WORK_BEFORE_CAPTURE); i++)
        done &= sl_wait_host(backend, active->captured[i]) == SL_OK;
    return done;
}

/* Whether no event that was just recorded belongs to a capture. */
static struct sl_answer are_plain(struct sl_streams *streams, const struct active *active)
{
    struct sl_answer plain = sl_answer_of(true);
    for (uint32_t i = 0; i < active->count && sl_is_yes(plain); i++)
        plain = is_plain(streams, active->streams[i].handle, active->capture_ends);
    return plain;
}

/* One try. Returns whether *out is to be used; unknown: the driver did not say. */
static struct sl_answer record_all(struct sl_streams *streams, struct sl_points **out)
{
    uint32_t held = hold(streams);
    sl_lock(streams->order);
    struct active *active = list_active(streams);
    sl_unlock(streams->order);
    if (!active) {
        sl_frees_let_go(streams->frees, held);
        *out = NULL;
        return finish_each(streams) ? sl_answer_of(true) : sl_no_answer();
    }
    SL_TEST_DELAY(RECORD);
    *out = sl_points_record(streams->frees, active->streams, active->count);
    struct sl_answer plain = are_plain(streams, active);
    sl_frees_let_go(streams->frees, held);
    bool past = wait_for_past(streams, active);
    if (sl_is_yes(plain) && !(active->sure && past && !sl_points_are_unsure(*out))) plain = sl_no_answer();
    free(active);
    return plain;
}

/* So often a driver is asked that does not answer. */
enum { TRIES = 16 };

struct sl_points *sl_streams_points(struct sl_streams *streams)
{
    struct sl_points *points;
    for (int refused = 0; refused < TRIES;) {
        struct sl_answer usable = record_all(streams, &points);
        if (sl_is_yes(usable)) return points;
        sl_points_void(streams->frees, points);
        if (sl_is_no(usable)) continue; /* a capture began or ended meanwhile */
        refused++;
        sched_yield();
    }
    return sl_points_unknown(streams->frees);
}

void sl_streams_are_idle(struct sl_streams *streams)
{
    atomic_store_explicit(&streams->active, 0, memory_order_relaxed);
    streams->uncovered = 0;
    streams->unlisted = false;
    sl_waits_end(&streams->gone, streams->frees);
}

/* With so many destroyed streams' events, finished ones are released now and then. */
enum { MANY_GONE = 256 };

/* What is known of a stream that is about to be destroyed. */
static bool had_work(struct sl_streams *streams, sl_stream stream, sl_event_handle *before, bool *covered)
{
    bool known = false;
    *before = NULL;
    *covered = true;
    sl_lock(streams->order);
    for (uint32_t s = 0; s < streams->count; s++) {
        if (streams->known[s].handle != stream || !(streams->active >> s & 1)) continue;
        known = true;
        *covered = before_capture(streams, s, before);
    }
    for (uint32_t i = 0; i < streams->more_count; i++) known |= streams->more[i] == stream;
    known |= streams->unlisted;
    sl_unlock(streams->order);
    return known;
}

/* The stream's work goes on after its handle is dead. The driver ends a capture whose stream is destroyed; so
 * where it is not known whether the stream captures, the event is recorded. */
void sl_stream_gone(struct sl_streams *streams, sl_stream stream)
{
    const struct sl_backend *backend = streams->migrator->backend;
    struct sl_free_stream last = {.handle = stream};
    struct sl_points *points = NULL;
    sl_event_handle before;
    bool covered;
    sl_frees_flush_stream(streams->frees, stream);
    if (atomic_load(&streams->captures)) atomic_fetch_add(&streams->capture_ends, 1);
    if (had_work(streams, stream, &before, &covered)) {
        if (!sl_is_yes(backend->stream_capturing(backend->self, stream)))
            points = sl_points_record(streams->frees, &last, 1);
        else if (!covered || (before && sl_wait_host(backend, before)))
            points = sl_points_unknown(streams->frees);
    }
    sl_lock(streams->order);
    if (points) sl_points_give(streams->frees, points, &streams->gone);
    if (streams->gone.count >= MANY_GONE && streams->gone.count % MANY_GONE == 0)
        sl_waits_prune(&streams->gone, streams->frees);
    for (uint32_t s = 0; s < streams->count; s++)
        if (streams->known[s].handle == stream)
            streams->known[s].handle = streams->migrator->out.enqueued.stream;
    for (uint32_t i = 0; i < streams->more_count; i++)
        if (streams->more[i] == stream) streams->more[i--] = streams->more[--streams->more_count];
    sl_unlock(streams->order);
    /* Rule 18 of docs/concurrency.md */
    if (SL_GUARD(HANDLES_ARE_HELD)) sl_frees_wait_for_holders(streams->frees);
}

/* Puts an event behind the stream's work, or waits for it; else the work counts as uncovered. */
void sl_stream_may_capture(struct sl_streams *streams, sl_stream stream)
{
    const struct sl_backend *backend = streams->migrator->backend;
    sl_frees_flush(streams->frees);
    struct sl_answer capturing = backend->stream_capturing(backend->self, stream);
    if (sl_is_yes(capturing)) return;
    sl_lock(streams->order);
    uint32_t s = sl_stream_number(streams, stream);
    bool has_work = streams->active >> s & 1;
    bool has_event =
        has_work && s != SL_SHARED_STREAM && sl_backend_has_event(backend, &streams->before_capture[s]);
    sl_event_handle event = has_event ? streams->before_capture[s] : NULL;
    sl_unlock(streams->order);
    enum sl_status status = SL_OK;
    if (has_work && !sl_is_no(capturing))
        status = SL_ERR_DRIVER;
    else if (has_event)
        status = sl_record_event(backend, event, stream);
    else if (has_work)
        status = sl_finish_stream(backend, stream);
    sl_lock(streams->order);
    uint64_t bit = (uint64_t)1 << s;
    streams->uncovered = status ? streams->uncovered | bit : streams->uncovered & ~bit;
    sl_unlock(streams->order);
}

void sl_streams_capture_begins(struct sl_streams *streams)
{
    atomic_fetch_add(&streams->beginning, 1);
    sl_frees_wait_for_holders(streams->frees);
}

void sl_streams_capture_begun(struct sl_streams *streams)
{
    atomic_fetch_sub(&streams->beginning, 1);
}
