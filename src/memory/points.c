#include "memory/points.h"

#include <sched.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/test_hooks.h"
#include "memory/behind.h"
#include "memory/frees.h"

uint32_t sl_frees_hold(struct sl_frees *frees)
{
    for (;;) {
        uint32_t epoch = atomic_load(&frees->epoch);
        atomic_fetch_add(&frees->holders[epoch & 1], 1);
        if (atomic_load(&frees->epoch) == epoch) return epoch & 1;
        atomic_fetch_sub(&frees->holders[epoch & 1], 1);
    }
}

void sl_frees_let_go(struct sl_frees *frees, uint32_t held)
{
    atomic_fetch_sub(&frees->holders[held], 1);
}

/* Who comes from now on counts in the other half, so that the first loop ends. Another thread that waits may
 * have done the same just before, so that those who hold now may be in either half. */
void sl_frees_wait_for_holders(struct sl_frees *frees)
{
    uint32_t before = atomic_fetch_add(&frees->epoch, 1) & 1;
    while (atomic_load(&frees->holders[before])) sched_yield();
    atomic_fetch_add(&frees->epoch, 1);
    while (atomic_load(&frees->holders[!before])) sched_yield();
}

/* Precondition: the lock is held, except at close. */
void sl_points_release(struct sl_frees *frees, struct sl_points *points)
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

static bool take_event(struct sl_frees *frees, sl_event_handle *event)
{
    sl_lock(&frees->lock);
    bool spare = frees->spare_count > 0;
    if (spare) *event = frees->spare[--frees->spare_count];
    sl_unlock(&frees->lock);
    return spare || frees->backend->event_new(frees->backend->self, event) == SL_OK;
}

static struct sl_points *new_points(struct sl_frees *frees, uint32_t count, uint64_t began)
{
    struct sl_points *points = count ? malloc(sizeof *points + count * sizeof points->at[0]) : NULL;
    if (points) *points = (struct sl_points){.list = frees, .refs = 1, .began = began, .number = UINT64_MAX};
    return points;
}

void sl_points_doubt(struct sl_points *points)
{
    atomic_store(&points->unsure, true);
    atomic_store(&points->list->any_unsure, true);
}

struct sl_points *sl_points_unknown(struct sl_frees *frees)
{
    sl_lock(&frees->lock);
    frees->unknown->refs++;
    sl_unlock(&frees->lock);
    atomic_store(&frees->any_unsure, true);
    return frees->unknown;
}

/* Rule 14 of docs/concurrency.md */
bool sl_points_are_unsure(const struct sl_points *points)
{
    return points && atomic_load(&points->unsure) && SL_GUARD(UNSURE_IS_AHEAD);
}

/* Event `i` was just recorded: what is in front of the stream now may be in front of the event. Another
 * thread may have launched a collective there and not told it yet. */
static void note_behind(struct sl_points *points, uint32_t i)
{
    struct sl_behind *behind = points->list->behind;
    bool launching = behind && atomic_load(&behind->launching);
    points->at[i].behind = launching ? UINT64_MAX
                           : behind  ? sl_behind_stream_number(behind, points->at[i].serial)
                                     : 0;
}

/* False: it is not known when the stream's work is done. */
static bool record_one(struct sl_frees *frees, struct sl_points *points, const struct sl_free_stream *stream)
{
    sl_event_handle event;
    if (!points || !take_event(frees, &event)) return !sl_finish_stream(frees->backend, stream->handle);
    /* If it cannot be recorded, the stream was waited for; waiting for an unrecorded event returns at
     * once. */
    enum sl_status status = sl_record_event(frees->backend, event, stream->handle);
    points->at[points->count].event = event;
    points->at[points->count].serial = stream->serial;
    note_behind(points, points->count++);
    return !status;
}

struct sl_points *sl_points_record(struct sl_frees *frees, const struct sl_free_stream *streams,
                                   uint32_t count)
{
    struct sl_points *points = new_points(frees, count, sl_frees_now(frees));
    bool sure = true;
    for (uint32_t i = 0; i < count; i++) sure &= record_one(frees, points, &streams[i]);
    if (!points) return sure ? NULL : sl_points_unknown(frees);
    if (!sure) sl_points_doubt(points);
    if (points->count || !sure) return points;
    free(points);
    return NULL;
}

/* Closes the open point to further frees. Returns it with the list's reference, and holds its stream; or
 * NULL. */
static struct sl_points *take_open(struct sl_frees *frees, const struct sl_points *only, uint32_t *held)
{
    sl_lock(&frees->lock);
    struct sl_points *points = only && frees->open != only ? NULL : frees->open;
    if (points) {
        frees->open = NULL;
        atomic_store(&frees->any_open, false);
        if (points->refs == 1) { /* no free uses it */
            sl_points_release(frees, points);
            points = NULL;
        }
    }
    if (points) *held = sl_frees_hold(frees);
    sl_unlock(&frees->lock);
    return points;
}

static void record_point(struct sl_points *points)
{
    if (SL_GUARD(OPEN_POINT_IS_RECORDED) &&
        sl_record_event(points->list->backend, points->at[0].event, points->stream))
        sl_points_doubt(points);
    note_behind(points, 0);
    atomic_store(&points->open, false);
}

/* `only` NULL: whichever point is open. */
static void record_open(struct sl_frees *frees, const struct sl_points *only)
{
    uint32_t held;
    struct sl_points *taken = take_open(frees, only, &held);
    if (!taken) return;
    record_point(taken);
    sl_frees_let_go(frees, held);
    sl_points_void(frees, taken);
}

void sl_frees_flush(struct sl_frees *frees)
{
    if (atomic_load_explicit(&frees->any_open, memory_order_relaxed)) record_open(frees, NULL);
}

void sl_frees_flush_stream(struct sl_frees *frees, sl_stream stream)
{
    sl_lock(&frees->lock);
    bool lies_there = frees->open && frees->open->stream == stream;
    sl_unlock(&frees->lock);
    if (lies_there) sl_frees_flush(frees);
}

/* Precondition: the lock is held, and no point is open. */
static void open_point(struct sl_frees *frees, struct sl_points *points)
{
    frees->open = points;
    points->refs++;
    atomic_store(&frees->any_open, true);
}

static struct sl_points *point_on(struct sl_frees *frees, const struct sl_free_stream *stream, uint64_t began)
{
    struct sl_points *points = new_points(frees, 1, began);
    if (!points) return NULL;
    points->count = 1;
    points->stream = stream->handle;
    points->at[0].serial = stream->serial;
    atomic_store(&points->open, true);
    return points;
}

struct sl_points *sl_points_share(struct sl_frees *frees, const struct sl_free_stream *stream)
{
    struct sl_points *points = NULL;
    if (!stream->serial) return NULL;
    sl_lock(&frees->lock);
    if (frees->open && frees->open->at[0].serial == stream->serial) {
        points = frees->open;
        points->refs++;
    } else if (!frees->open && frees->spare_count && (points = point_on(frees, stream, frees->added))) {
        points->at[0].event = frees->spare[--frees->spare_count];
        open_point(frees, points);
    }
    sl_unlock(&frees->lock);
    return points;
}

struct sl_points *sl_points_open(struct sl_frees *frees, const struct sl_free_stream *stream)
{
    struct sl_points *points = sl_points_share(frees, stream);
    if (points) return points;
    sl_frees_flush(frees);
    points = point_on(frees, stream, sl_frees_now(frees));
    if (!points || !take_event(frees, &points->at[0].event)) {
        free(points);
        return sl_finish_stream(frees->backend, stream->handle) ? sl_points_unknown(frees) : NULL;
    }
    sl_lock(&frees->lock);
    bool first = stream->serial && !frees->open; /* else another thread has opened a point meanwhile */
    if (first) open_point(frees, points);
    sl_unlock(&frees->lock);
    if (!first) record_point(points);
    return points;
}

/* Waits on the host for one event of the points. May be called under any lock. */
static enum sl_status wait_for(const struct sl_points *points, sl_event_handle event)
{
    const struct sl_backend *backend = points->list->backend;
    if (atomic_load(&points->open)) return sl_finish_stream(backend, points->stream);
    return sl_points_are_unsure(points) ? SL_ERR_DRIVER : sl_wait_host(backend, event);
}

static enum sl_status wait_on_host(const struct sl_points *points)
{
    enum sl_status status = sl_points_are_unsure(points) ? SL_ERR_DRIVER : SL_OK;
    for (uint32_t i = 0; i < points->count && status == SL_OK; i++)
        status = wait_for(points, points->at[i].event);
    return status;
}

bool sl_points_have_passed(const struct sl_frees *frees, const struct sl_points *points)
{
    const struct sl_backend *backend = frees->backend;
    if (points->number <= frees->passed) return true;
    if (atomic_load(&points->open) || sl_points_are_unsure(points)) return false;
    for (uint32_t i = 0; i < points->count; i++)
        if (!sl_is_yes(backend->event_done(backend->self, points->at[i].event))) return false;
    return true;
}

enum sl_status sl_points_wait(struct sl_frees *frees, struct sl_points *points)
{
    enum sl_status status = points ? wait_on_host(points) : SL_OK;
    sl_points_void(frees, points);
    return status;
}

void sl_points_void(struct sl_frees *frees, struct sl_points *points)
{
    if (!points) return;
    sl_lock(&frees->lock);
    sl_points_release(frees, points);
    sl_unlock(&frees->lock);
}

/* --- waits */

bool sl_wait_covers(const struct sl_wait *later, const struct sl_wait *earlier)
{
    return later->event == earlier->event ||
           (later->serial && later->serial == earlier->serial &&
            (earlier->points->number <= later->points->began || !SL_GUARD(LATER_BY_RECORDING)));
}

void sl_waits_append(struct sl_frees *frees, struct sl_waits *waits, struct sl_points *points, uint32_t i)
{
    struct sl_wait wait = {points->at[i].event, points, points->at[i].serial, i};
    for (uint32_t w = 0; w < waits->count; w++) {
        if (sl_wait_covers(&waits->at[w], &wait)) return;
        if (!sl_wait_covers(&wait, &waits->at[w])) continue;
        sl_points_release(frees, waits->at[w].points);
        waits->at[w] = wait;
        points->refs++;
        return;
    }
    if (!sl_grow(&waits->at, &waits->capacity, waits->count, sizeof *waits->at)) {
        waits->unsure |= sl_wait_on_host(&wait) != SL_OK;
        return;
    }
    points->refs++;
    waits->at[waits->count++] = wait;
}

void sl_points_give(struct sl_frees *frees, struct sl_points *points, struct sl_waits *waits)
{
    sl_lock(&frees->lock);
    waits->unsure |= sl_points_are_unsure(points);
    for (uint32_t i = 0; i < points->count; i++) sl_waits_append(frees, waits, points, i);
    sl_points_release(frees, points);
    sl_unlock(&frees->lock);
}

bool sl_wait_is_behind(const struct sl_wait *wait, uint64_t serial)
{
    struct sl_behind *behind = wait->points->list->behind;
    if (!behind || !sl_behind_any(behind)) return false;
    uint64_t number = atomic_load(&wait->points->open) ? UINT64_MAX : wait->points->at[wait->index].behind;
    if (number == UINT64_MAX) number = sl_behind_stream_number(behind, wait->serial);
    return !sl_behind_orders(behind, serial, number) && !sl_behind_is_over(behind, number);
}

bool sl_waits_are_open(const struct sl_waits *waits)
{
    for (uint32_t i = 0; i < waits->count; i++)
        if (atomic_load(&waits->at[i].points->open)) return true;
    return false;
}

static enum sl_status
wait_for_all(const struct sl_waits *waits, const struct sl_backend *backend, sl_stream stream,
             enum sl_status (*wait)(const struct sl_backend *, sl_stream, sl_event_handle))
{
    enum sl_status status = waits->unsure ? SL_ERR_DRIVER : SL_OK;
    for (uint32_t i = 0; i < waits->count; i++) {
        struct sl_points *points = waits->at[i].points;
        if (atomic_load(&points->open)) record_open(points->list, points);
        while (atomic_load(&points->open)) sched_yield(); /* another thread is about to record it */
        enum sl_status one =
            sl_points_are_unsure(points) ? SL_ERR_DRIVER : wait(backend, stream, waits->at[i].event);
        if (one) status = one;
    }
    return status;
}

enum sl_status sl_waits_enqueue(const struct sl_waits *waits, const struct sl_backend *backend,
                                sl_stream stream)
{
    return wait_for_all(waits, backend, stream, sl_wait_event);
}

enum sl_status sl_waits_beside(const struct sl_waits *waits, const struct sl_backend *backend,
                               sl_stream stream)
{
    return wait_for_all(waits, backend, stream, sl_wait_beside);
}

enum sl_status sl_wait_on_host(const struct sl_wait *wait)
{
    return wait_for(wait->points, wait->event);
}

void sl_waits_add(struct sl_waits *waits, const struct sl_wait *wait, struct sl_frees *frees)
{
    if (!sl_grow(&waits->at, &waits->capacity, waits->count, sizeof *waits->at)) {
        waits->unsure |= sl_wait_on_host(wait) != SL_OK;
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
    sl_points_release(frees, wait->points);
    sl_unlock(&frees->lock);
}

void sl_waits_prune(struct sl_waits *waits, struct sl_frees *frees)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < waits->count; i++) {
        const struct sl_points *points = waits->at[i].points;
        if (!atomic_load(&points->open) && !sl_points_are_unsure(points) &&
            sl_is_yes(frees->backend->event_done(frees->backend->self, waits->at[i].event)))
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
