#include "move/movers.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "move/link_direction.h"

enum sl_status sl_movers_new(struct sl_movers **out)
{
    struct sl_movers *movers = calloc(1, sizeof *movers);
    if (!movers || !sl_lock_init(&movers->lock, SL_LOCK_MOVERS, true)) {
        free(movers);
        return SL_ERR_NO_MEMORY;
    }
    *out = movers;
    return SL_OK;
}

static void delete_list(struct sl_movement *movement)
{
    while (movement) {
        struct sl_movement *next = movement->next;
        free(movement);
        movement = next;
    }
}

void sl_movers_delete(struct sl_movers *movers)
{
    if (!movers) return;
    for (int d = 0; d < 2; d++) delete_list(movers->first[d]);
    delete_list(movers->spare);
    free(movers);
}

struct sl_movement *sl_movers_make(struct sl_movers *movers)
{
    sl_lock(&movers->lock);
    struct sl_movement *movement = movers->spare;
    if (movement) movers->spare = movement->next;
    sl_unlock(&movers->lock);
    if (!movement) return calloc(1, sizeof *movement);
    memset(movement, 0, sizeof *movement);
    return movement;
}

void sl_movers_add(struct sl_movers *movers, struct sl_movement *movement)
{
    bool out = movement->out;
    sl_lock(&movers->lock);
    if (movers->first[out])
        movers->last[out]->next = movement;
    else
        movers->first[out] = movement;
    movers->last[out] = movement;
    sl_unlock(&movers->lock);
    sl_movers_wake(movers);
}

struct sl_movement *sl_movers_take(struct sl_movers *movers, bool out)
{
    sl_lock(&movers->lock);
    struct sl_movement *movement = movers->first[out];
    if (movement) movers->first[out] = movement->next;
    sl_unlock(&movers->lock);
    return movement;
}

void sl_movers_give(struct sl_movers *movers, struct sl_movement *movement)
{
    sl_lock(&movers->lock);
    movement->next = movers->spare;
    movers->spare = movement;
    sl_unlock(&movers->lock);
}

void sl_movers_wake(struct sl_movers *movers)
{
    atomic_fetch_add(&movers->news, 1);
    if (atomic_load(&movers->sleepers))
        syscall(SYS_futex, &movers->news, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

void sl_movers_sleep(struct sl_movers *movers, uint32_t seen, const struct timespec *most)
{
    atomic_fetch_add(&movers->sleepers, 1);
    syscall(SYS_futex, &movers->news, FUTEX_WAIT_PRIVATE, seen, most, NULL, 0);
    atomic_fetch_sub(&movers->sleepers, 1);
}

enum sl_status sl_mover_open(struct sl_mover *mover, const struct sl_backend *backend)
{
    if (!backend->stream_new) return SL_ERR_UNSUPPORTED;
    mover->events = calloc(2 * SL_MOVER_EVENTS_KEPT, sizeof *mover->events);
    if (!mover->events) return SL_ERR_NO_MEMORY;
    enum sl_status status = backend->stream_new(backend->self, &mover->stream);
    for (int e = 0; e < 2 * SL_MOVER_EVENTS_KEPT && status == SL_OK; e++)
        status = backend->timed_event_new(backend->self, &mover->events[e]);
    return status;
}

static void delete_event(const struct sl_backend *backend, sl_event_handle event)
{
    if (event) backend->event_delete(backend->self, event);
}

void sl_mover_close(struct sl_mover *mover, const struct sl_backend *backend)
{
    for (int e = 0; backend && mover->events && e < 2 * SL_MOVER_EVENTS_KEPT; e++)
        delete_event(backend, mover->events[e]);
    if (backend) delete_event(backend, mover->begin);
    if (backend && mover->stream) backend->stream_delete(backend->self, mover->stream);
    free(mover->events);
    memset(mover, 0, sizeof *mover);
}

sl_event_handle sl_mover_event(struct sl_mover *mover)
{
    return mover->events[mover->count++ % (2 * SL_MOVER_EVENTS_KEPT)];
}
