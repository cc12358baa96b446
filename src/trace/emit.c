#include "trace/emit.h"

#include "base/clock.h"
#include "base/forked.h"
#include "trace/trace_write.h"

static struct target {
    struct sl_trace *_Atomic trace; /* NULL: none, and in a forked child */
    const _Atomic sl_tick *_Atomic tick;
} SL_OWN_PAGES target;

void sl_trace_emit_to(struct sl_trace *trace, const _Atomic sl_tick *tick)
{
    sl_forget_in_children(&target, sizeof target);
    if (trace)
        atomic_store(&target.tick, tick); /* a thread inside sl_trace_emit may still read the old one */
    atomic_store(&target.trace, trace);
}

bool sl_trace_emits(void)
{
    return atomic_load_explicit(&target.trace, memory_order_acquire) != NULL;
}

bool sl_trace_emit(struct sl_event event)
{
    struct sl_trace *trace = atomic_load_explicit(&target.trace, memory_order_acquire);
    if (!trace) return false;
    if (!event.tick) event.tick = atomic_load_explicit(atomic_load(&target.tick), memory_order_relaxed);
    if (!event.time_ns) event.time_ns = sl_clock_ns(CLOCK_MONOTONIC);
    return sl_trace_push(trace, &event);
}
