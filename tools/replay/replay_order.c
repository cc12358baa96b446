#include "tools/replay/replay_order.h"

#include <stdlib.h>
#include <string.h>

#include "core/runtime.h"

enum sl_status replay_order_join(struct replay_order *order, const struct sl_backend *backend,
                                 sl_stream stream, sl_stream other)
{
    enum sl_status status = order->joint ? SL_OK : backend->event_new(backend->self, &order->joint);
    if (status == SL_OK) status = backend->event_record(backend->self, order->joint, other);
    if (status) return status;
    sl_runtime_event_recorded(order->joint, other);
    sl_runtime_stream_waits(stream, order->joint);
    return backend->stream_wait(backend->self, stream, order->joint);
}

/* Finds or creates the simulated event for the program's event. False: out of memory. */
static bool has_event(struct replay_order *order, const struct sl_backend *backend, uint64_t event,
                      uint32_t *number)
{
    *number = sl_map_get(&order->number_of, event + 1);
    if (*number != SL_NONE) return true;
    if (order->event_count == order->event_room) {
        uint32_t room = order->event_room ? 2 * order->event_room : 64;
        sl_event_handle *larger = realloc(order->events, room * sizeof(*larger));
        if (!larger) return false;
        order->events = larger;
        order->event_room = room;
    }
    *number = order->event_count;
    if (backend->event_new(backend->self, &order->events[*number]) != SL_OK) return false;
    order->event_count++;
    return sl_map_put(&order->number_of, event + 1, *number);
}

enum sl_status replay_order_record(struct replay_order *order, const struct sl_backend *backend,
                                   sl_stream stream, uint64_t event)
{
    uint32_t number;
    if (event == UINT64_MAX) return SL_OK;
    if (!has_event(order, backend, event, &number)) return SL_ERR_NO_MEMORY;
    enum sl_status status = backend->event_record(backend->self, order->events[number], stream);
    if (status == SL_OK) sl_runtime_event_recorded(order->events[number], stream);
    return status;
}

/* Waits for events recorded before the first collective are ignored: such events are unknown, and not
 * needed. */
enum sl_status replay_order_wait_for(struct replay_order *order, const struct sl_backend *backend,
                                     sl_stream stream, uint32_t number, uint64_t event)
{
    uint32_t known = event == UINT64_MAX ? SL_NONE : sl_map_get(&order->number_of, event + 1);
    if (known == SL_NONE) return SL_OK;
    order->told |= UINT64_C(1) << number % 64;
    sl_runtime_stream_waits(stream, order->events[known]);
    return backend->stream_wait(backend->self, stream, order->events[known]);
}

static struct in_flight *flight_at(struct replay_order *order, unsigned i)
{
    return &order->flights[(order->first + i) % REPLAY_IN_FLIGHT];
}

static bool conflict(const struct sl_span *a, size_t count, const struct sl_span *b, size_t other_count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < other_count; j++)
            if ((a[i].write || b[j].write) && a[i].address < b[j].address + b[j].bytes &&
                b[j].address < a[i].address + a[i].bytes)
                return true;
    return false;
}

/* Makes the stream wait, and informs the core of it, as the program's own waits do. */
static enum sl_status wait_for(const struct sl_backend *backend, sl_stream stream,
                               const struct in_flight *flight)
{
    if (flight->stream == stream) return SL_OK;
    sl_runtime_stream_waits(stream, flight->event);
    return backend->stream_wait(backend->self, stream, flight->event);
}

/* Drops collective `i` and the earlier ones of its stream, which the same wait covers. */
static void drop(struct replay_order *order, unsigned i)
{
    sl_stream stream = flight_at(order, i)->stream;
    for (unsigned at = 0; at <= i; at++)
        if (flight_at(order, at)->stream == stream) flight_at(order, at)->count = 0;
    while (order->count && !flight_at(order, 0)->count) {
        order->first = (order->first + 1) % REPLAY_IN_FLIGHT;
        order->count--;
    }
}

enum sl_status replay_order_wait(struct replay_order *order, const struct sl_backend *backend,
                                 sl_stream stream, const struct sl_span *spans, size_t count)
{
    for (unsigned i = order->count; i-- > 0;) {
        if (i >= order->count) continue;
        const struct in_flight *flight = flight_at(order, i);
        if (!conflict(spans, count, flight->spans, flight->count)) continue;
        enum sl_status status = wait_for(backend, stream, flight);
        if (status) return status;
        drop(order, i);
    }
    return SL_OK;
}

enum sl_status replay_order_follow(struct replay_order *order, const struct sl_backend *backend,
                                   sl_stream stream, uint64_t communicator)
{
    for (unsigned i = order->count; i-- > 0;) {
        const struct in_flight *flight = flight_at(order, i);
        if (flight->communicator == communicator) return wait_for(backend, stream, flight);
    }
    return SL_OK;
}

static bool keep_spans(struct in_flight *flight, const struct sl_span *spans, size_t count)
{
    if (count > flight->room) {
        struct sl_span *larger = realloc(flight->spans, count * sizeof(*larger));
        if (!larger) return false;
        flight->spans = larger;
        flight->room = count;
    }
    if (count) memcpy(flight->spans, spans, count * sizeof(*spans));
    flight->count = count;
    return true;
}

/* A collective that uses no memory is not recorded, because nothing needs to wait for it. If there are too
 * many, the oldest are assumed to have ended. */
enum sl_status replay_order_launched(struct replay_order *order, const struct sl_backend *backend,
                                     sl_stream stream, uint64_t communicator, const struct sl_span *spans,
                                     size_t count)
{
    if (!count) return SL_OK;
    if (order->count == REPLAY_IN_FLIGHT) {
        order->first = (order->first + 1) % REPLAY_IN_FLIGHT;
        order->count--;
    }
    struct in_flight *flight = flight_at(order, order->count);
    if (!flight->event && backend->event_new(backend->self, &flight->event) != SL_OK) return SL_ERR_NO_MEMORY;
    if (!keep_spans(flight, spans, count)) return SL_ERR_NO_MEMORY;
    flight->stream = stream;
    flight->communicator = communicator;
    enum sl_status status = backend->event_record(backend->self, flight->event, stream);
    if (status) return status;
    sl_runtime_event_recorded(flight->event, stream);
    order->count++;
    return SL_OK;
}

void replay_order_free(struct replay_order *order)
{
    for (unsigned i = 0; i < REPLAY_IN_FLIGHT; i++) free(order->flights[i].spans);
    free(order->events);
    sl_map_free(&order->number_of);
}
