#include "move/link_direction.h"

#include <stdlib.h>

#include "base/check.h"
#include "base/test_hooks.h"
#include "device/backend.h"

static _Atomic(sl_event_handle) *event_at(const struct sl_link_direction *direction, uint64_t sequence)
{
    return &direction->events[sequence % SL_EVENTS_MOST];
}

/* Events of fetches have timing, because a launch's stall ends at the fetch that it waits for. */
static enum sl_status new_event(const struct sl_link_direction *direction, const struct sl_backend *backend,
                                sl_event_handle *out)
{
    bool timed = direction->stream == backend->stream_in(backend->self);
    return timed ? backend->timed_event_new(backend->self, out) : backend->event_new(backend->self, out);
}

enum sl_status sl_link_direction_init(struct sl_link_direction *direction, const struct sl_backend *backend,
                                      sl_stream stream, enum sl_lock_rank rank)
{
    direction->stream = stream;
    direction->events = calloc(SL_EVENTS_MOST, sizeof *direction->events);
    if (!direction->events || !sl_lock_init(&direction->lock, rank, false)) return SL_ERR_NO_MEMORY;
    for (uint64_t first = 1; first <= SL_EVENTS_LEAST; first++) {
        sl_event_handle event;
        enum sl_status status = new_event(direction, backend, &event);
        if (status) return status;
        atomic_store(event_at(direction, first), event);
        atomic_store(&direction->event_count, (uint32_t)first);
    }
    return SL_OK;
}

void sl_link_direction_close(struct sl_link_direction *direction, const struct sl_backend *backend)
{
    uint64_t count = direction->event_count, last = direction->issued > count ? direction->issued : count;
    for (uint64_t i = 0; backend && i < count; i++)
        backend->event_delete(backend->self, atomic_load(event_at(direction, last - i)));
    free((void *)direction->events);
    direction->events = NULL;
    atomic_store(&direction->event_count, 0);
}

/* The first movements have an event from the start. */
static sl_event_handle event_for(struct sl_link_direction *direction, const struct sl_backend *backend,
                                 bool ask, uint64_t sequence)
{
    uint32_t count = atomic_load(&direction->event_count);
    sl_event_handle event;
    if (sequence <= count) return atomic_load(event_at(direction, sequence));
    uint64_t oldest = sequence - count;
    bool free = sl_link_direction_known_done(direction, oldest) ||
                (ask && sl_link_direction_ask_done(direction, backend, oldest));
    if (!free && count < SL_EVENTS_MOST && new_event(direction, backend, &event) == SL_OK)
        atomic_store(&direction->event_count, count + 1);
    else
        event = atomic_load(event_at(direction, oldest));
    atomic_store(event_at(direction, sequence), event);
    return event;
}

uint64_t sl_link_direction_submitted(struct sl_link_direction *direction, const struct sl_backend *backend,
                                     bool ask, enum sl_status *status)
{
    uint64_t sequence = atomic_load(&direction->issued) + 1;
    enum sl_status recorded =
        sl_record_event(backend, event_for(direction, backend, ask, sequence), direction->stream);
    if (recorded && !atomic_load(&direction->unmarked)) atomic_store(&direction->unmarked, sequence);
    if (*status == SL_OK) *status = recorded;
    atomic_store_explicit(&direction->issued, sequence, memory_order_release);
    return sequence;
}

static uint64_t first_with_event(const struct sl_link_direction *direction)
{
    uint64_t issued = atomic_load_explicit(&direction->issued, memory_order_acquire);
    uint64_t count = atomic_load(&direction->event_count);
    return issued > count ? issued - count + 1 : 1;
}

bool sl_link_direction_has_event(const struct sl_link_direction *direction, uint64_t sequence)
{
    return sequence >= first_with_event(direction);
}

sl_event_handle sl_link_direction_event(const struct sl_link_direction *direction, uint64_t sequence)
{
    uint64_t first = first_with_event(direction);
    return atomic_load(event_at(direction, sequence > first ? sequence : first));
}

void sl_link_direction_set_done(struct sl_link_direction *direction, uint64_t sequence)
{
    uint64_t seen = atomic_load(&direction->done);
    if (!SL_CHECK(sequence <= atomic_load(&direction->issued))) return;
    while (seen < sequence && !atomic_compare_exchange_weak(&direction->done, &seen, sequence)) {
    }
}

static bool is_marked(const struct sl_link_direction *direction, uint64_t sequence)
{
    uint64_t unmarked = atomic_load(&direction->unmarked);
    return !unmarked || sequence < unmarked || !SL_GUARD(UNSURE_IS_AHEAD);
}

enum sl_status sl_link_direction_wait(struct sl_link_direction *direction, const struct sl_backend *backend,
                                      uint64_t sequence, const sl_stream *stream)
{
    sl_event_handle event = sl_link_direction_event(direction, sequence);
    bool marked = is_marked(direction, sequence);
    if (marked && stream) return sl_wait_event(backend, *stream, event);
    uint64_t issued = marked ? sequence : atomic_load(&direction->issued);
    enum sl_status status =
        marked ? sl_wait_host(backend, event) : sl_finish_stream(backend, direction->stream);
    if (status == SL_OK) sl_link_direction_set_done(direction, issued);
    return status;
}

bool sl_link_direction_ask_done(struct sl_link_direction *direction, const struct sl_backend *backend,
                                uint64_t sequence)
{
    if (sl_link_direction_known_done(direction, sequence)) return true;
    if (sequence > atomic_load_explicit(&direction->issued, memory_order_acquire)) return false;
    if (!is_marked(direction, sequence) ||
        !sl_is_yes(backend->event_done(backend->self, sl_link_direction_event(direction, sequence))))
        return false;
    sl_link_direction_set_done(direction, sequence);
    return true;
}
