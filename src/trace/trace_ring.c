#include "trace/trace_ring.h"

static uint64_t room_for(const struct sl_event *event)
{
    bool frequent = event->type == SL_EVENT_LAUNCH || event->type == SL_EVENT_ACCESS;
    return frequent ? SL_RING_SLOTS - SL_RING_KEPT : SL_RING_SLOTS;
}

static struct sl_event gap_event(const struct sl_ring *ring, uint64_t lost, uint64_t time_ns)
{
    return (struct sl_event){.type = SL_EVENT_GAP,
                             .tick = __atomic_load_n(&ring->lost_tick, __ATOMIC_RELAXED),
                             .time_ns = time_ns,
                             .a = lost};
}

bool sl_ring_push(struct sl_ring *ring, const struct sl_event *event)
{
    uint64_t head = __atomic_load_n(&ring->head, __ATOMIC_RELAXED);
    uint64_t lost = __atomic_load_n(&ring->lost, __ATOMIC_RELAXED), needed = lost ? 2 : 1;
    uint64_t room = room_for(event);
    if (head - ring->tail_seen + needed > room) {
        ring->tail_seen = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
        if (head - ring->tail_seen + needed > room) return false;
    }
    if (lost) {
        ring->slots[head++ % SL_RING_SLOTS] = gap_event(ring, lost, event->time_ns);
        __atomic_store_n(&ring->lost, 0, __ATOMIC_RELAXED);
    }
    ring->slots[head % SL_RING_SLOTS] = *event;
    __atomic_store_n(&ring->head, head + 1, __ATOMIC_RELEASE);
    return true;
}

void sl_ring_lose(struct sl_ring *ring, sl_tick tick)
{
    uint64_t lost = __atomic_load_n(&ring->lost, __ATOMIC_RELAXED);
    if (!lost) __atomic_store_n(&ring->lost_tick, tick, __ATOMIC_RELAXED);
    __atomic_store_n(&ring->lost, lost + 1, __ATOMIC_RELAXED);
}

const struct sl_event *sl_ring_peek(const struct sl_ring *ring)
{
    uint64_t tail = __atomic_load_n(&ring->tail, __ATOMIC_RELAXED);
    if (tail == __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE)) return NULL;
    return &ring->slots[tail % SL_RING_SLOTS];
}

void sl_ring_pop(struct sl_ring *ring)
{
    uint64_t tail = __atomic_load_n(&ring->tail, __ATOMIC_RELAXED);
    __atomic_store_n(&ring->tail, tail + 1, __ATOMIC_RELEASE);
}

bool sl_ring_take_lost(struct sl_ring *ring, uint64_t time_ns, struct sl_event *out)
{
    uint64_t lost = __atomic_exchange_n(&ring->lost, 0, __ATOMIC_RELAXED);
    if (!lost) return false;
    *out = gap_event(ring, lost, time_ns);
    return true;
}
