#include "core/program_events.h"

#include <stdio.h>

#include "base/clock.h"
#include "core/runtime.h"
#include "trace/events.h"
#include "trace/trace_write.h"

bool sl_runtime_tracing(void)
{
    return sl_trace_emits();
}

uint64_t sl_runtime_wait_begins(void)
{
    return sl_runtime_tracing() ? sl_clock_ns(CLOCK_MONOTONIC) : 0;
}

void sl_runtime_wait_ended(uint64_t began_ns, enum sl_sync_kind kind, uint64_t handle)
{
    if (!began_ns) return;
    uint64_t now = sl_clock_ns(CLOCK_MONOTONIC);
    sl_trace_emit((struct sl_event){
        .type = SL_EVENT_SYNC, .flags = (uint8_t)kind, .time_ns = now, .a = now - began_ns, .b = handle});
}

void sl_runtime_failed(enum sl_error_kind kind, uint32_t code, sl_tick tick, uint64_t bytes, uint64_t site)
{
    sl_trace_emit((struct sl_event){
        .type = SL_EVENT_ERROR, .flags = (uint8_t)kind, .id = code, .tick = tick, .a = bytes, .c = site});
}

void sl_runtime_mark(enum sl_mark_kind kind, enum sl_mark_source source, uint32_t domain, uint32_t range,
                     const char *name)
{
    sl_trace_emit((struct sl_event){.type = SL_EVENT_MARK,
                                    .flags = (uint8_t)kind,
                                    .id = range,
                                    .a = domain,
                                    .c = source,
                                    .text = sl_intern_some(name)});
}

void sl_runtime_mark_domain(uint32_t domain, const char *name)
{
    char text[256];
    snprintf(text, sizeof text, "nvtx_domain_%u=%s", domain, name);
    sl_trace_emit((struct sl_event){.type = SL_EVENT_METADATA, .text = sl_intern(text)});
}
