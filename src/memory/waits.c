#include "memory/waits.h"

#include <stdlib.h>

#include "base/grow.h"
#include "base/test_hooks.h"
#include "device/backend.h"
#include "memory/frees.h"

bool sl_wait_covers(const struct sl_wait *later, const struct sl_wait *earlier)
{
    return later->event == earlier->event ||
           (later->serial && later->serial == earlier->serial &&
            (earlier->points->number <= later->points->began || !SL_GUARD(LATER_BY_RECORDING)));
}

void sl_waits_append(struct sl_frees *frees, struct sl_waits *waits, struct sl_points *points, uint32_t i)
{
    struct sl_wait wait = {points->at[i].event, points, points->at[i].serial};
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
        sl_points_settle(waits->at[i].points);
        enum sl_status one = sl_points_are_unsure(waits->at[i].points)
                                 ? SL_ERR_DRIVER
                                 : wait(backend, stream, waits->at[i].event);
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
    return sl_points_wait_for(wait->points, wait->event);
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
