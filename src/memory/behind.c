#include "memory/behind.h"

#include <string.h>

#include "base/map.h"

enum sl_status sl_behind_init(struct sl_behind *behind, const struct sl_backend *backend,
                              const _Atomic int *captures)
{
    memset(behind, 0, sizeof *behind);
    if (!sl_lock_init(&behind->lock, SL_LOCK_BEHIND, true)) return SL_ERR_NO_MEMORY;
    behind->backend = backend;
    behind->captures = captures;
    return SL_OK;
}

void sl_behind_close(struct sl_behind *behind, bool device_gone)
{
    const struct sl_backend *backend = behind->backend;
    for (uint32_t i = 0; !device_gone && i < SL_BEHIND_PENDING; i++)
        if (behind->pending[i].event) backend->event_delete(backend->self, behind->pending[i].event);
    memset(behind, 0, sizeof *behind);
}

/* The lock must be held, from here on. */
static void ask(struct sl_behind *behind)
{
    const struct sl_backend *backend = behind->backend;
    if (atomic_load(behind->captures)) return;
    while (behind->count &&
           sl_is_yes(backend->event_done(backend->self, behind->pending[behind->first].event))) {
        behind->over = behind->pending[behind->first].number;
        behind->first = (behind->first + 1) % SL_BEHIND_PENDING;
        behind->count--;
    }
}

/* A collective without an event is over only after the program has waited for everything. */
static bool is_over(const struct sl_behind *behind, uint64_t number)
{
    return !number || (number <= behind->over && (!behind->unwatched || number < behind->unwatched));
}

static void raise(uint64_t *number, uint64_t to)
{
    if (to > *number) *number = to;
}

static void note(struct sl_behind *behind, const struct sl_behind_stream *stream, uint64_t number)
{
    raise(&behind->streams[stream->number], number);
    if (behind->serials[stream->number] != stream->serial)
        memset(&behind->orders[stream->number], 0, sizeof behind->orders[0]);
    behind->serials[stream->number] = stream->serial;
    uint64_t bit = (uint64_t)1 << stream->number;
    behind->loose = stream->loose ? behind->loose | bit : behind->loose & ~bit;
    if (!stream->loose) raise(&behind->others, number);
}

static uint64_t number_of(const struct sl_behind *behind, uint32_t s)
{
    uint64_t number = behind->streams[s];
    if (!(behind->loose >> s & 1)) raise(&number, behind->others);
    return number;
}

static void note_ordered(struct sl_behind *behind, uint32_t s, uint64_t number)
{
    if (number <= behind->orders[s].ordered) return;
    behind->orders[s].ordered = number;
    behind->orders[s].by = pthread_self();
}

static uint64_t ordered_by_us(const struct sl_behind *behind, const struct sl_behind_stream *stream)
{
    uint32_t s = stream->number;
    bool known = behind->serials[s] == stream->serial && behind->orders[s].ordered;
    return known && pthread_equal(behind->orders[s].by, pthread_self()) ? behind->orders[s].ordered : 0;
}

static uint32_t place_of(const struct sl_behind *behind, const void *event)
{
    uint32_t at = (uint32_t)sl_mix((uintptr_t)event) % SL_BEHIND_EVENTS;
    while (behind->events[at].event && behind->events[at].event != event) at = (at + 1) % SL_BEHIND_EVENTS;
    return at;
}

/* Rebuilds the table without events whose collectives are over. */
static void forget_what_is_over(struct sl_behind *behind)
{
    const struct sl_behind_event *kept = behind->kept;
    memcpy(behind->kept, behind->events, sizeof behind->kept);
    memset(behind->events, 0, sizeof behind->events);
    behind->event_count = 0;
    for (uint32_t i = 0; i < SL_BEHIND_EVENTS; i++) {
        if (!kept[i].event || is_over(behind, kept[i].number)) continue;
        behind->events[place_of(behind, kept[i].event)] = kept[i];
        behind->event_count++;
    }
}

/* Records an event behind the collective; false: impossible. Releases the lock meanwhile. */
static bool record(struct sl_behind *behind, sl_stream handle, sl_event_handle *event)
{
    const struct sl_backend *backend = behind->backend;
    behind->recording++;
    sl_unlock(&behind->lock);
    bool recorded =
        sl_backend_has_event(backend, event) && backend->event_record(backend->self, *event, handle) == SL_OK;
    sl_lock(&behind->lock);
    behind->recording--;
    return recorded;
}

void sl_behind_launched(struct sl_behind *behind, const struct sl_behind_stream *stream)
{
    sl_event_handle event = NULL;
    sl_lock(&behind->lock);
    atomic_store(&behind->any, true);
    ask(behind);
    /* Counts from now on, and not only when its event is recorded. */
    uint64_t number = (behind->launched / SL_BEHIND_STREAMS + 1) * SL_BEHIND_STREAMS + stream->number;
    behind->launched = number;
    note(behind, stream, number);
    note_ordered(behind, stream->number, number);
    if (!behind->orders[stream->number].first) behind->orders[stream->number].first = number;
    bool recorded = record(behind, stream->handle, &event);
    uint32_t at = (behind->first + behind->count) % SL_BEHIND_PENDING;
    bool in_order =
        !behind->count || behind->pending[(at + SL_BEHIND_PENDING - 1) % SL_BEHIND_PENDING].number < number;
    if (recorded && in_order && behind->count < SL_BEHIND_PENDING) {
        sl_event_handle spare = behind->pending[at].event;
        behind->pending[at].event = event;
        behind->pending[at].number = number;
        behind->count++;
        event = spare;
    } else {
        if (!behind->unwatched || number < behind->unwatched) behind->unwatched = number;
    }
    sl_unlock(&behind->lock);
    if (event) behind->backend->event_delete(behind->backend->self, event);
}

void sl_behind_recorded(struct sl_behind *behind, const struct sl_behind_stream *stream, const void *event)
{
    uint32_t s = stream->number;
    if (!sl_behind_any(behind)) return;
    sl_lock(&behind->lock);
    uint32_t at = place_of(behind, event);
    if (!behind->events[at].event && behind->event_count >= SL_BEHIND_EVENTS / 2) {
        forget_what_is_over(behind);
        at = place_of(behind, event);
    }
    bool known = behind->events[at].event != NULL;
    if (known || behind->event_count < SL_BEHIND_EVENTS / 2) {
        behind->events[at] =
            (struct sl_behind_event){event, number_of(behind, s), ordered_by_us(behind, stream)};
        behind->event_count += !known;
    } else {
        raise(&behind->forgotten, number_of(behind, s));
    }
    sl_unlock(&behind->lock);
}

void sl_behind_destroyed(struct sl_behind *behind, const void *event)
{
    if (!sl_behind_any(behind)) return;
    sl_lock(&behind->lock);
    struct sl_behind_event *known = &behind->events[place_of(behind, event)];
    if (known->event) known->number = known->ordered = 0;
    sl_unlock(&behind->lock);
}

void sl_behind_waits(struct sl_behind *behind, const struct sl_behind_stream *stream, const void *event)
{
    if (!sl_behind_any(behind)) return;
    sl_lock(&behind->lock);
    uint32_t at = place_of(behind, event);
    uint64_t number = behind->events[at].event ? behind->events[at].number : behind->forgotten;
    if (!is_over(behind, number)) {
        note(behind, stream, number);
        if (behind->events[at].event) note_ordered(behind, stream->number, behind->events[at].ordered);
    }
    sl_unlock(&behind->lock);
}

bool sl_behind_is_event(struct sl_behind *behind, const void *event)
{
    if (!sl_behind_any(behind)) return false;
    sl_lock(&behind->lock);
    uint32_t at = place_of(behind, event);
    uint64_t number = behind->events[at].event ? behind->events[at].number : behind->forgotten;
    if (!is_over(behind, number)) ask(behind);
    bool waits = !is_over(behind, number);
    sl_unlock(&behind->lock);
    return waits;
}

void sl_behind_synchronized(struct sl_behind *behind)
{
    if (!sl_behind_any(behind)) return;
    sl_lock(&behind->lock);
    ask(behind);
    if (!behind->count && !behind->recording) {
        behind->unwatched = behind->forgotten = 0;
        behind->over = behind->launched;
    }
    sl_unlock(&behind->lock);
}

uint64_t sl_behind_number(struct sl_behind *behind, uint32_t s)
{
    if (!sl_behind_any(behind)) return 0;
    sl_lock(&behind->lock);
    uint64_t number = number_of(behind, s);
    sl_unlock(&behind->lock);
    return number;
}

bool sl_behind_is_over(struct sl_behind *behind, uint64_t number)
{
    if (!number) return true;
    sl_lock(&behind->lock);
    if (!is_over(behind, number)) ask(behind);
    bool over = is_over(behind, number);
    sl_unlock(&behind->lock);
    return over;
}

/* SL_BEHIND_STREAMS: none. */
static uint32_t stream_with(const struct sl_behind *behind, uint64_t serial)
{
    uint32_t s = 0;
    while (s < SL_BEHIND_STREAMS && (!serial || behind->serials[s] != serial)) s++;
    return s;
}

uint64_t sl_behind_stream_number(struct sl_behind *behind, uint64_t serial)
{
    if (!sl_behind_any(behind)) return 0;
    sl_lock(&behind->lock);
    uint32_t s = stream_with(behind, serial);
    uint64_t number = s < SL_BEHIND_STREAMS ? number_of(behind, s)
                      : serial              ? behind->others
                                            : behind->launched;
    sl_unlock(&behind->lock);
    return number;
}

/* The last collective in front of the stream and that one were launched on one stream, in their order. */
bool sl_behind_orders(struct sl_behind *behind, uint64_t serial, uint64_t number)
{
    if (!serial) return false;
    sl_lock(&behind->lock);
    uint32_t s = stream_with(behind, serial), on = number % SL_BEHIND_STREAMS;
    uint64_t last = s < SL_BEHIND_STREAMS ? behind->orders[s].ordered : 0, first = behind->orders[on].first;
    bool one = last % SL_BEHIND_STREAMS == on && behind->serials[on] && first && number >= first;
    sl_unlock(&behind->lock);
    return one && last >= number;
}
