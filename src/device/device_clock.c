#include "device/device_clock.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/locks.h"

#define ANCHOR_AGE_NS 4000000000u /* up to here a float of milliseconds is exact to 0.25 us */

struct anchor {
    sl_event_handle event;
    uint64_t ns; /* 0: derived later from the anchor before it */
};

struct sl_device_clock {
    const struct sl_backend *backend;
    struct sl_lock lock;
    struct anchor now, next;
    bool has_next;           /* recorded, not known to be done */
    bool anchoring;          /* a thread records the anchor */
    uint64_t anchored_at_ns; /* when the newer of the two was recorded */
};

struct sl_device_clock *sl_device_clock_new(const struct sl_backend *backend, sl_stream stream)
{
    struct sl_device_clock *clock = calloc(1, sizeof *clock);
    if (!clock) return NULL;
    clock->backend = backend;
    if (sl_lock_init(&clock->lock, SL_LOCK_CLOCK, false) &&
        sl_backend_record_timed(backend, &clock->now.event, stream)) {
        clock->now.ns = clock->anchored_at_ns = sl_clock_ns(CLOCK_MONOTONIC);
        return clock;
    }
    sl_device_clock_delete(clock, false);
    return NULL;
}

void sl_device_clock_delete(struct sl_device_clock *clock, bool device_gone)
{
    if (!clock) return;
    const struct sl_backend *backend = clock->backend;
    sl_event_handle events[] = {clock->now.event, clock->next.event};
    for (int i = 0; i < 2 && !device_gone; i++)
        if (events[i]) backend->event_delete(backend->self, events[i]);
    free(clock);
}

bool sl_device_clock_is_old(struct sl_device_clock *clock)
{
    sl_lock(&clock->lock);
    bool old = !clock->has_next && !clock->anchoring &&
               sl_clock_ns(CLOCK_MONOTONIC) - clock->anchored_at_ns > ANCHOR_AGE_NS;
    sl_unlock(&clock->lock);
    return old;
}

void sl_device_clock_anchor(struct sl_device_clock *clock, sl_stream stream, bool idle)
{
    sl_lock(&clock->lock);
    bool anchors = !clock->has_next && !clock->anchoring;
    clock->anchoring |= anchors;
    sl_unlock(&clock->lock);
    if (!anchors) return;
    bool recorded = sl_backend_record_timed(clock->backend, &clock->next.event, stream);
    sl_lock(&clock->lock);
    clock->anchoring = false;
    if (recorded) {
        clock->anchored_at_ns = sl_clock_ns(CLOCK_MONOTONIC);
        clock->next.ns = idle ? clock->anchored_at_ns : 0;
        clock->has_next = true;
    }
    sl_unlock(&clock->lock);
}

/* The event's time, counted from the anchor; the event may come before the anchor. */
static uint64_t counted_from(const struct sl_device_clock *clock, const struct anchor *anchor,
                             sl_event_handle event)
{
    const struct sl_backend *backend = clock->backend;
    uint64_t after = backend->event_elapsed_ns(backend->self, anchor->event, event);
    return after ? anchor->ns + after
                 : anchor->ns - backend->event_elapsed_ns(backend->self, event, anchor->event);
}

/* Switches to the next anchor once it is reached. */
static void pass_on(struct sl_device_clock *clock)
{
    const struct sl_backend *backend = clock->backend;
    if (!clock->has_next || !sl_is_yes(backend->event_done(backend->self, clock->next.event))) return;
    struct anchor old = clock->now;
    if (!clock->next.ns) clock->next.ns = counted_from(clock, &old, clock->next.event);
    clock->now = clock->next;
    clock->next = (struct anchor){.event = old.event};
    clock->has_next = false;
}

uint64_t sl_device_clock_when(struct sl_device_clock *clock, sl_event_handle event)
{
    sl_lock(&clock->lock);
    pass_on(clock);
    uint64_t ns = counted_from(clock, &clock->now, event);
    sl_unlock(&clock->lock);
    return ns;
}
