#include "move/enqueued.h"

#include <stdlib.h>

#include "base/check.h"
#include "base/test_hooks.h"
#include "device/backend.h"

static _Atomic(sl_event_handle) *event_at(const struct sl_enqueued *enqueued, uint64_t sequence)
{
    return &enqueued->events[sequence % SL_EVENTS_MOST];
}

/* Events of fetches have timing, because a launch's stall ends at the fetch that it waits for. */
static enum sl_status new_event(const struct sl_enqueued *enqueued, const struct sl_backend *backend,
                                sl_event_handle *out)
{
    bool timed = enqueued->stream == backend->stream_in(backend->self);
    return timed ? backend->timed_event_new(backend->self, out) : backend->event_new(backend->self, out);
}

enum sl_status sl_enqueued_init(struct sl_enqueued *enqueued, const struct sl_backend *backend,
                                sl_stream stream)
{
    enqueued->stream = stream;
    enqueued->events = calloc(SL_EVENTS_MOST, sizeof *enqueued->events);
    if (!enqueued->events) return SL_ERR_NO_MEMORY;
    for (uint64_t first = 1; first <= SL_EVENTS_LEAST; first++) {
        sl_event_handle event;
        enum sl_status status = new_event(enqueued, backend, &event);
        if (status) return status;
        atomic_store(event_at(enqueued, first), event);
        atomic_store(&enqueued->event_count, (uint32_t)first);
    }
    return SL_OK;
}

void sl_enqueued_close(struct sl_enqueued *enqueued, const struct sl_backend *backend)
{
    uint64_t count = enqueued->event_count, last = enqueued->issued > count ? enqueued->issued : count;
    for (uint64_t i = 0; backend && i < count; i++)
        backend->event_delete(backend->self, atomic_load(event_at(enqueued, last - i)));
    free((void *)enqueued->events);
    enqueued->events = NULL;
    atomic_store(&enqueued->event_count, 0);
}

/* The first movements have an event from the start. */
static sl_event_handle event_for(struct sl_enqueued *enqueued, const struct sl_backend *backend, bool ask,
                                 uint64_t sequence)
{
    uint32_t count = atomic_load(&enqueued->event_count);
    sl_event_handle event;
    if (sequence <= count) return atomic_load(event_at(enqueued, sequence));
    uint64_t oldest = sequence - count;
    bool free =
        sl_enqueued_known_done(enqueued, oldest) || (ask && sl_enqueued_ask_done(enqueued, backend, oldest));
    if (!free && count < SL_EVENTS_MOST && new_event(enqueued, backend, &event) == SL_OK)
        atomic_store(&enqueued->event_count, count + 1);
    else
        event = atomic_load(event_at(enqueued, oldest));
    atomic_store(event_at(enqueued, sequence), event);
    return event;
}

uint64_t sl_enqueued_submitted(struct sl_enqueued *enqueued, const struct sl_backend *backend, bool ask,
                               enum sl_status *status)
{
    uint64_t sequence = atomic_load(&enqueued->issued) + 1;
    enum sl_status recorded =
        sl_record_event(backend, event_for(enqueued, backend, ask, sequence), enqueued->stream);
    if (recorded && !atomic_load(&enqueued->unmarked)) atomic_store(&enqueued->unmarked, sequence);
    if (*status == SL_OK) *status = recorded;
    atomic_store_explicit(&enqueued->issued, sequence, memory_order_release);
    return sequence;
}

static uint64_t first_with_event(const struct sl_enqueued *enqueued)
{
    uint64_t issued = atomic_load_explicit(&enqueued->issued, memory_order_acquire);
    uint64_t count = atomic_load(&enqueued->event_count);
    return issued > count ? issued - count + 1 : 1;
}

bool sl_enqueued_has_event(const struct sl_enqueued *enqueued, uint64_t sequence)
{
    return sequence >= first_with_event(enqueued);
}

sl_event_handle sl_enqueued_event(const struct sl_enqueued *enqueued, uint64_t sequence)
{
    uint64_t first = first_with_event(enqueued);
    return atomic_load(event_at(enqueued, sequence > first ? sequence : first));
}

void sl_enqueued_set_done(struct sl_enqueued *enqueued, uint64_t sequence)
{
    uint64_t seen = atomic_load(&enqueued->done);
    if (!SL_CHECK(sequence <= atomic_load(&enqueued->issued))) return;
    while (seen < sequence && !atomic_compare_exchange_weak(&enqueued->done, &seen, sequence)) {
    }
}

static bool is_marked(const struct sl_enqueued *enqueued, uint64_t sequence)
{
    uint64_t unmarked = atomic_load(&enqueued->unmarked);
    return !unmarked || sequence < unmarked || !SL_GUARD(UNSURE_IS_AHEAD);
}

enum sl_status sl_enqueued_wait(struct sl_enqueued *enqueued, const struct sl_backend *backend,
                                uint64_t sequence, const sl_stream *stream)
{
    sl_event_handle event = sl_enqueued_event(enqueued, sequence);
    bool marked = is_marked(enqueued, sequence);
    if (marked && stream) return sl_wait_event(backend, *stream, event);
    uint64_t issued = marked ? sequence : atomic_load(&enqueued->issued);
    enum sl_status status =
        marked ? sl_wait_host(backend, event) : sl_finish_stream(backend, enqueued->stream);
    if (status == SL_OK) sl_enqueued_set_done(enqueued, issued);
    return status;
}

bool sl_enqueued_ask_done(struct sl_enqueued *enqueued, const struct sl_backend *backend, uint64_t sequence)
{
    if (sl_enqueued_known_done(enqueued, sequence)) return true;
    if (sequence > atomic_load_explicit(&enqueued->issued, memory_order_acquire)) return false;
    if (!is_marked(enqueued, sequence) ||
        !sl_is_yes(backend->event_done(backend->self, sl_enqueued_event(enqueued, sequence))))
        return false;
    sl_enqueued_set_done(enqueued, sequence);
    return true;
}
