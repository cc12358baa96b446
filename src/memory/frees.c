#include "memory/frees.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

/* Beyond MANY_RANGES ranges the oldest free is queried every FREES_BETWEEN_QUESTIONS frees: memory
 * that is never used again would otherwise keep its events. */
enum { MANY_RANGES = 4096, FREES_BETWEEN_QUESTIONS = 64 };

enum sl_status sl_frees_init(struct sl_frees *frees, const struct sl_backend *backend)
{
    memset(frees, 0, sizeof *frees);
    if (!sl_lock_init(&frees->lock, SL_LOCK_FREES, true)) return SL_ERR_NO_MEMORY;
    frees->backend = backend;
    frees->unknown = calloc(1, sizeof *frees->unknown);
    if (!frees->unknown || !sl_grow(&frees->ranges, &frees->capacity, 0, sizeof *frees->ranges))
        return SL_ERR_NO_MEMORY;
    *frees->unknown = (struct sl_points){.list = frees, .refs = 1, .unsure = true};
    return SL_OK;
}

void sl_frees_close(struct sl_frees *frees, bool device_gone)
{
    if (!frees->backend) return;
    for (uint32_t i = 0; i < frees->count; i++) sl_points_release(frees, frees->ranges[i].points);
    if (frees->unknown) sl_points_release(frees, frees->unknown);
    if (frees->open) sl_points_release(frees, frees->open);
    for (uint32_t i = 0; i < frees->spare_count && !device_gone; i++)
        frees->backend->event_delete(frees->backend->self, frees->spare[i]);
    free(frees->ranges);
    free(frees->spare);
    memset(frees, 0, sizeof *frees);
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

/* Removes [begin, end) from the list. */
static void cut(struct sl_frees *frees, uint64_t begin, uint64_t end)
{
    uint32_t at = first_behind(frees, begin);
    if (at < frees->count && frees->ranges[at].begin < begin) {
        struct sl_freed rest = frees->ranges[at];
        bool splits = rest.end > end;
        /* Without memory for another range the hole stays in this one: a later owner waits too often. */
        if (splits && !sl_grow(&frees->ranges, &frees->capacity, frees->count, sizeof *frees->ranges)) return;
        frees->ranges[at++].end = begin;
        if (splits) {
            rest.begin = end;
            rest.points->refs++;
            insert(frees, at, rest);
            return;
        }
    }
    uint32_t until = at;
    for (; until < frees->count && frees->ranges[until].end <= end; until++)
        sl_points_release(frees, frees->ranges[until].points);
    memmove(&frees->ranges[at], &frees->ranges[until], (frees->count - until) * sizeof *frees->ranges);
    frees->count -= until - at;
    if (at < frees->count && frees->ranges[at].begin < end) frees->ranges[at].begin = end;
}

static void ask_for_oldest(struct sl_frees *frees)
{
    uint64_t oldest = UINT64_MAX;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < frees->count; i++)
        if (frees->ranges[i].points->number < oldest) oldest = frees->ranges[i].points->number;
    for (uint32_t i = 0; i < frees->count; i++) {
        struct sl_points *points = frees->ranges[i].points;
        if (points->number == oldest && sl_points_have_passed(frees, points))
            sl_points_release(frees, points);
        else
            frees->ranges[kept++] = frees->ranges[i];
    }
    frees->count = kept;
}

/* Precondition: the lock is held. */
static bool add(struct sl_frees *frees, uint64_t begin, uint64_t end, struct sl_points *points)
{
    points->number = ++frees->added;
    if (sl_points_are_unsure(points)) atomic_store(&frees->any_unsure, true);
    if (frees->count > MANY_RANGES && frees->added % FREES_BETWEEN_QUESTIONS == 0) ask_for_oldest(frees);
    cut(frees, begin, end);
    if (!sl_grow(&frees->ranges, &frees->capacity, frees->count, sizeof *frees->ranges)) return false;
    insert(frees, first_behind(frees, begin), (struct sl_freed){begin, end, points});
    return true;
}

/* There is no memory for another range: makes a neighbour cover it, which is not known to have passed.
 * Precondition: the lock is held, and there are ranges. */
static void widen(struct sl_frees *frees, uint64_t begin, uint64_t end)
{
    uint32_t at = first_behind(frees, begin);
    struct sl_freed *range = &frees->ranges[at < frees->count ? at : at - 1];
    if (begin < range->begin) range->begin = begin;
    if (end > range->end) range->end = end;
    range->points->number = frees->added;
    sl_points_doubt(range->points);
}

void sl_frees_add(struct sl_frees *frees, uint64_t begin, uint64_t end, struct sl_points *points)
{
    if (!points) return;
    sl_lock(&frees->lock);
    bool added = add(frees, begin, end, points);
    sl_unlock(&frees->lock);
    if (added || sl_points_wait(frees, points) == SL_OK) return;
    sl_lock(&frees->lock);
    widen(frees, begin, end);
    sl_unlock(&frees->lock);
}

static void collect(struct sl_frees *frees, uint64_t begin, uint64_t end, uint64_t serial,
                    struct sl_waits *waits)
{
    for (uint32_t r = first_behind(frees, begin); r < frees->count && frees->ranges[r].begin < end; r++) {
        struct sl_points *points = frees->ranges[r].points;
        if (points->number <= frees->passed) continue;
        waits->unsure |= sl_points_are_unsure(points);
        for (uint32_t i = 0; i < points->count; i++)
            if (!serial || points->at[i].serial != serial) sl_waits_append(frees, waits, points, i);
    }
}

static bool has_other(const struct sl_points *points, uint64_t serial)
{
    if (sl_points_are_unsure(points)) return true;
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
            sl_points_release(frees, frees->ranges[i].points);
        else
            frees->ranges[kept++] = frees->ranges[i];
    }
    frees->count = kept;
    if (frees->passed == frees->added) atomic_store(&frees->any_unsure, false);
    sl_unlock(&frees->lock);
}

void sl_frees_mend(struct sl_frees *frees, uint64_t until, struct sl_points *points)
{
    uint32_t kept = 0;
    bool any = false;
    sl_lock(&frees->lock);
    atomic_store(&frees->any_unsure, false);
    for (uint32_t i = 0; i < frees->count; i++) {
        struct sl_freed range = frees->ranges[i];
        bool unsure = sl_points_are_unsure(range.points), known = unsure && range.points->number <= until;
        any |= unsure && !known;
        if (known) {
            sl_points_release(frees, range.points);
            range.points = points;
            if (!points) continue;
            points->refs++;
            points->number = frees->added;
        }
        frees->ranges[kept++] = range;
    }
    frees->count = kept;
    if (any) atomic_store(&frees->any_unsure, true);
    if (points) sl_points_release(frees, points);
    sl_unlock(&frees->lock);
}
