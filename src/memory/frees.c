#include "memory/frees.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/guards.h"
#include "device/ordering.h"

/* Beyond MANY_RANGES ranges the oldest free is queried every FREES_BETWEEN_QUESTIONS frees: memory
 * that is never used again would otherwise keep its events. */
enum { MANY_RANGES = 4096, FREES_BETWEEN_QUESTIONS = 64 };

struct sl_points {
    struct sl_frees *list;
    uint32_t refs; /* guarded by the list's lock */
    uint32_t count;
    _Atomic bool open; /* its one event is not recorded yet; it belongs on `stream` */
    sl_stream stream;
    uint64_t began;  /* frees in the list before the events were recorded */
    uint64_t number; /* of the last free that has these points; UINT64_MAX: not in the list yet */
    struct {
        sl_event_handle event;
        uint64_t serial;
    } at[];
};

enum sl_status sl_frees_init(struct sl_frees *frees, const struct sl_backend *backend)
{
    memset(frees, 0, sizeof *frees);
    if (!sl_lock_init(&frees->lock, SL_LOCK_FREES, true)) return SL_ERR_NO_MEMORY;
    frees->backend = backend;
    return SL_OK;
}

/* Precondition: the lock is held, except at close. */
static void release(struct sl_frees *frees, struct sl_points *points)
{
    if (--points->refs) return;
    for (uint32_t i = 0; i < points->count; i++) {
        if (sl_grow(&frees->spare, &frees->spare_capacity, frees->spare_count, sizeof *frees->spare))
            frees->spare[frees->spare_count++] = points->at[i].event;
        else
            frees->backend->event_delete(frees->backend->self, points->at[i].event);
    }
    free(points);
}

void sl_frees_close(struct sl_frees *frees, bool device_gone)
{
    if (!frees->backend) return;
    for (uint32_t i = 0; i < frees->count; i++) release(frees, frees->ranges[i].points);
    if (frees->open) release(frees, frees->open);
    for (uint32_t i = 0; i < frees->spare_count && !device_gone; i++)
        frees->backend->event_delete(frees->backend->self, frees->spare[i]);
    free(frees->ranges);
    free(frees->spare);
    memset(frees, 0, sizeof *frees);
}

static bool take_event(struct sl_frees *frees, sl_event_handle *event)
{
    sl_lock(&frees->lock);
    bool spare = frees->spare_count > 0;
    if (spare) *event = frees->spare[--frees->spare_count];
    sl_unlock(&frees->lock);
    return spare || frees->backend->event_new(frees->backend->self, event) == SL_OK;
}

static struct sl_points *new_points(struct sl_frees *frees, uint32_t count)
{
    struct sl_points *points = count ? malloc(sizeof *points + count * sizeof points->at[0]) : NULL;
    if (points)
        *points =
            (struct sl_points){.list = frees, .refs = 1, .began = sl_frees_now(frees), .number = UINT64_MAX};
    return points;
}

struct sl_points *sl_points_record(struct sl_frees *frees, const struct sl_free_stream *streams,
                                   uint32_t count)
{
    const struct sl_backend *backend = frees->backend;
    struct sl_points *points = new_points(frees, count);
    for (uint32_t i = 0; i < count; i++) {
        sl_event_handle event;
        if (!points || !take_event(frees, &event)) {
            backend->stream_finish(backend->self, streams[i].handle);
            continue;
        }
        /* If it cannot be recorded, the stream was waited for; waiting for an unrecorded event returns at
         * once. */
        sl_record_event(backend, event, streams[i].handle);
        points->at[points->count].event = event;
        points->at[points->count++].serial = streams[i].serial;
    }
    if (!points || points->count) return points;
    free(points);
    return NULL;
}

/* Closes the open point to further frees. Returns it with the list's reference, or NULL. */
static struct sl_points *take_open(struct sl_frees *frees, const struct sl_points *only)
{
    sl_lock(&frees->lock);
    struct sl_points *points = only && frees->open != only ? NULL : frees->open;
    if (points) {
        frees->open = NULL;
        atomic_store(&frees->any_open, false);
        if (points->refs == 1) { /* no free uses it */
            release(frees, points);
            points = NULL;
        }
    }
    sl_unlock(&frees->lock);
    return points;
}

/* Two threads may both record it: either recording comes after the frees. */
static void record_open(struct sl_points *points)
{
    struct sl_points *taken = take_open(points->list, points);
    if (SL_GUARD(OPEN_POINT_IS_RECORDED))
        sl_record_event(points->list->backend, points->at[0].event, points->stream);
    atomic_store(&points->open, false);
    sl_points_void(points->list, taken);
}

void sl_frees_flush(struct sl_frees *frees)
{
    if (!atomic_load_explicit(&frees->any_open, memory_order_relaxed)) return;
    struct sl_points *points = take_open(frees, NULL);
    if (!points) return;
    record_open(points);
    sl_points_void(frees, points);
}

void sl_frees_flush_stream(struct sl_frees *frees, sl_stream stream)
{
    sl_lock(&frees->lock);
    bool lies_there = frees->open && frees->open->stream == stream;
    sl_unlock(&frees->lock);
    if (lies_there) sl_frees_flush(frees);
}

/* Precondition: `points` is not in the list. Another thread may have opened a point meanwhile. */
static void open_point(struct sl_frees *frees, struct sl_points *points, uint64_t serial)
{
    atomic_store(&points->open, true);
    sl_lock(&frees->lock);
    bool first = serial && !frees->open;
    if (first) {
        frees->open = points;
        points->refs++;
        atomic_store(&frees->any_open, true);
    }
    sl_unlock(&frees->lock);
    if (!first) record_open(points);
}

struct sl_points *sl_points_open(struct sl_frees *frees, const struct sl_free_stream *stream)
{
    sl_lock(&frees->lock);
    struct sl_points *points = frees->open;
    bool same = points && stream->serial && points->at[0].serial == stream->serial;
    if (same) points->refs++;
    sl_unlock(&frees->lock);
    if (same) return points;
    sl_frees_flush(frees);
    points = new_points(frees, 1);
    if (!points || !take_event(frees, &points->at[0].event)) {
        frees->backend->stream_finish(frees->backend->self, stream->handle);
        free(points);
        return NULL;
    }
    points->count = 1;
    points->stream = stream->handle;
    points->at[0].serial = stream->serial;
    open_point(frees, points, stream->serial);
    return points;
}

/* The first range that ends after `address`. */
static uint32_t first_behind(const struct sl_frees *frees, uint64_t address)
{
    uint32_t low = 0, high = frees->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (frees->ranges[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Precondition: there is capacity for it. */
static void insert(struct sl_frees *frees, uint32_t at, struct sl_freed range)
{
    memmove(&frees->ranges[at + 1], &frees->ranges[at], (frees->count - at) * sizeof *frees->ranges);
    frees->ranges[at] = range;
    frees->count++;
}

static void erase(struct sl_frees *frees, uint32_t from, uint32_t until)
{
    if (from == until) return;
    memmove(&frees->ranges[from], &frees->ranges[until], (frees->count - until) * sizeof *frees->ranges);
    frees->count -= until - from;
}

/* May be called under any lock. */
static void wait_for_event(const struct sl_points *points, sl_event_handle event)
{
    const struct sl_backend *backend = points->list->backend;
    if (atomic_load(&points->open))
        backend->stream_finish(backend->self, points->stream);
    else
        backend->event_wait(backend->self, event);
}

static void wait_on_host(const struct sl_points *points)
{
    for (uint32_t i = 0; i < points->count; i++) wait_for_event(points, points->at[i].event);
}

/* The part after a hole in the middle of a range becomes a range of its own. */
static void split(struct sl_frees *frees, uint32_t at, struct sl_freed rest)
{
    if (!sl_grow(&frees->ranges, &frees->capacity, frees->count, sizeof *frees->ranges)) {
        wait_on_host(rest.points);
        return;
    }
    rest.points->refs++;
    insert(frees, at, rest);
}

/* Removes [begin, end) from the list. */
static void cut(struct sl_frees *frees, uint64_t begin, uint64_t end)
{
    uint32_t at = first_behind(frees, begin);
    if (at < frees->count && frees->ranges[at].begin < begin) {
        struct sl_freed *range = &frees->ranges[at], rest = *range;
        range->end = begin;
        at++;
        if (rest.end > end) {
            rest.begin = end;
            split(frees, at, rest);
            return;
        }
    }
    uint32_t until = at;
    for (; until < frees->count && frees->ranges[until].end <= end; until++)
        release(frees, frees->ranges[until].points);
    erase(frees, at, until);
    if (at < frees->count && frees->ranges[at].begin < end) frees->ranges[at].begin = end;
}

static bool have_passed(const struct sl_frees *frees, const struct sl_points *points)
{
    const struct sl_backend *backend = frees->backend;
    if (points->number <= frees->passed) return true;
    if (atomic_load(&points->open)) return false;
    for (uint32_t i = 0; i < points->count; i++)
        if (!backend->event_done(backend->self, points->at[i].event)) return false;
    return true;
}

static void ask_for_oldest(struct sl_frees *frees)
{
    uint64_t oldest = UINT64_MAX;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < frees->count; i++)
        if (frees->ranges[i].points->number < oldest) oldest = frees->ranges[i].points->number;
    for (uint32_t i = 0; i < frees->count; i++) {
        struct sl_points *points = frees->ranges[i].points;
        if (points->number == oldest && have_passed(frees, points))
            release(frees, points);
        else
            frees->ranges[kept++] = frees->ranges[i];
    }
    frees->count = kept;
}

void sl_points_wait(struct sl_frees *frees, struct sl_points *points)
{
    if (!points) return;
    wait_on_host(points);
    sl_points_void(frees, points);
}

void sl_points_void(struct sl_frees *frees, struct sl_points *points)
{
    if (!points) return;
    sl_lock(&frees->lock);
    release(frees, points);
    sl_unlock(&frees->lock);
}

/* Precondition: the lock is held. */
static bool add(struct sl_frees *frees, uint64_t begin, uint64_t end, struct sl_points *points)
{
    points->number = ++frees->added;
    if (frees->count > MANY_RANGES && frees->added % FREES_BETWEEN_QUESTIONS == 0) ask_for_oldest(frees);
    cut(frees, begin, end);
    if (!sl_grow(&frees->ranges, &frees->capacity, frees->count, sizeof *frees->ranges)) return false;
    insert(frees, first_behind(frees, begin), (struct sl_freed){begin, end, points});
    return true;
}

void sl_frees_add(struct sl_frees *frees, uint64_t begin, uint64_t end, struct sl_points *points)
{
    if (!points) return;
    sl_lock(&frees->lock);
    bool added = add(frees, begin, end, points);
    sl_unlock(&frees->lock);
    if (added) return;
    sl_points_wait(frees, points);
}

bool sl_wait_covers(const struct sl_wait *later, const struct sl_wait *earlier)
{
    return later->event == earlier->event ||
           (later->serial && later->serial == earlier->serial &&
            (earlier->points->number <= later->points->began || !SL_GUARD(LATER_BY_RECORDING)));
}

static void append(struct sl_frees *frees, struct sl_waits *waits, struct sl_points *points, uint32_t i)
{
    struct sl_wait wait = {points->at[i].event, points, points->at[i].serial};
    for (uint32_t w = 0; w < waits->count; w++) {
        if (sl_wait_covers(&waits->at[w], &wait)) return;
        if (!sl_wait_covers(&wait, &waits->at[w])) continue;
        release(frees, waits->at[w].points);
        waits->at[w] = wait;
        points->refs++;
        return;
    }
    if (!sl_grow(&waits->at, &waits->capacity, waits->count, sizeof *waits->at)) {
        sl_wait_on_host(&wait);
        return;
    }
    points->refs++;
    waits->at[waits->count++] = wait;
}

static void collect(struct sl_frees *frees, uint64_t begin, uint64_t end, uint64_t serial,
                    struct sl_waits *waits)
{
    for (uint32_t r = first_behind(frees, begin); r < frees->count && frees->ranges[r].begin < end; r++) {
        struct sl_points *points = frees->ranges[r].points;
        if (points->number <= frees->passed) continue;
        for (uint32_t i = 0; i < points->count; i++)
            if (!serial || points->at[i].serial != serial) append(frees, waits, points, i);
    }
}

static bool has_other(const struct sl_points *points, uint64_t serial)
{
    for (uint32_t i = 0; i < points->count; i++)
        if (points->at[i].serial != serial) return true;
    return false;
}

bool sl_frees_any(struct sl_frees *frees, uint64_t begin, uint64_t end, uint64_t serial)
{
    bool any = false;
    sl_lock(&frees->lock);
    for (uint32_t r = first_behind(frees, begin); r < frees->count && frees->ranges[r].begin < end && !any;
         r++)
        any = frees->ranges[r].points->number > frees->passed && has_other(frees->ranges[r].points, serial);
    sl_unlock(&frees->lock);
    return any;
}

bool sl_frees_are_open(struct sl_frees *frees, uint64_t begin, uint64_t end)
{
    bool open = false;
    if (!atomic_load_explicit(&frees->any_open, memory_order_relaxed)) return false;
    sl_lock(&frees->lock);
    for (uint32_t r = first_behind(frees, begin); r < frees->count && frees->ranges[r].begin < end && !open;
         r++)
        open = atomic_load(&frees->ranges[r].points->open);
    sl_unlock(&frees->lock);
    return open;
}

void sl_frees_take(struct sl_frees *frees, uint64_t begin, uint64_t end, uint64_t serial,
                   struct sl_waits *waits)
{
    sl_lock(&frees->lock);
    collect(frees, begin, end, serial, waits);
    cut(frees, begin, end);
    sl_unlock(&frees->lock);
}

void sl_frees_peek(struct sl_frees *frees, uint64_t begin, uint64_t end, struct sl_waits *waits)
{
    sl_lock(&frees->lock);
    collect(frees, begin, end, 0, waits);
    sl_unlock(&frees->lock);
}

void sl_points_give(struct sl_frees *frees, struct sl_points *points, struct sl_waits *waits)
{
    sl_lock(&frees->lock);
    for (uint32_t i = 0; i < points->count; i++) append(frees, waits, points, i);
    release(frees, points);
    sl_unlock(&frees->lock);
}

uint64_t sl_frees_now(struct sl_frees *frees)
{
    sl_lock(&frees->lock);
    uint64_t now = frees->added;
    sl_unlock(&frees->lock);
    return now;
}

void sl_frees_pass(struct sl_frees *frees, uint64_t until)
{
    sl_lock(&frees->lock);
    if (until > frees->passed) frees->passed = until;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < frees->count; i++) {
        if (frees->ranges[i].points->number <= frees->passed)
            release(frees, frees->ranges[i].points);
        else
            frees->ranges[kept++] = frees->ranges[i];
    }
    frees->count = kept;
    sl_unlock(&frees->lock);
}

bool sl_waits_are_open(const struct sl_waits *waits)
{
    for (uint32_t i = 0; i < waits->count; i++)
        if (atomic_load(&waits->at[i].points->open)) return true;
    return false;
}

void sl_waits_enqueue(const struct sl_waits *waits, const struct sl_backend *backend, sl_stream stream)
{
    for (uint32_t i = 0; i < waits->count; i++) {
        if (atomic_load(&waits->at[i].points->open)) record_open(waits->at[i].points);
        sl_wait_event(backend, stream, waits->at[i].event);
    }
}

void sl_wait_on_host(const struct sl_wait *wait)
{
    wait_for_event(wait->points, wait->event);
}

void sl_waits_add(struct sl_waits *waits, const struct sl_wait *wait, struct sl_frees *frees)
{
    if (!sl_grow(&waits->at, &waits->capacity, waits->count, sizeof *waits->at)) {
        sl_wait_on_host(wait);
        return;
    }
    sl_lock(&frees->lock);
    wait->points->refs++;
    sl_unlock(&frees->lock);
    waits->at[waits->count++] = *wait;
}

void sl_wait_end(struct sl_wait *wait, struct sl_frees *frees)
{
    sl_lock(&frees->lock);
    release(frees, wait->points);
    sl_unlock(&frees->lock);
}

void sl_waits_prune(struct sl_waits *waits, struct sl_frees *frees)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < waits->count; i++) {
        if (!atomic_load(&waits->at[i].points->open) &&
            frees->backend->event_done(frees->backend->self, waits->at[i].event))
            sl_wait_end(&waits->at[i], frees);
        else
            waits->at[kept++] = waits->at[i];
    }
    waits->count = kept;
}

void sl_waits_end(struct sl_waits *waits, struct sl_frees *frees)
{
    for (uint32_t i = 0; i < waits->count; i++) sl_wait_end(&waits->at[i], frees);
    free(waits->at);
    *waits = (struct sl_waits){0};
}
