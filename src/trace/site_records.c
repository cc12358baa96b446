#include "trace/site_records.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/intern.h"
#include "trace/objects.h"
#include "trace/trace_write.h"

#define MOST_PROBES 32

static _Atomic uint64_t written[SL_SITE_RECORDS_MOST]; /* sites: open addressing, linear probing; 0: free */

/* The entry of `site`, or one that it can take; NULL: there are too many. */
static _Atomic uint64_t *place_of(uint64_t site)
{
    for (uint32_t probe = 0; probe < MOST_PROBES; probe++) {
        _Atomic uint64_t *place = &written[(site + probe) % SL_SITE_RECORDS_MOST];
        uint64_t seen = atomic_load_explicit(place, memory_order_relaxed);
        if (!seen || seen == site) return place;
    }
    return NULL;
}

static char *put_hexadecimal(char *at, uint64_t value)
{
    int digits = 1;
    while (digits < 16 && value >> (4 * digits)) digits++;
    for (; digits; digits--) *at++ = "0123456789abcdef"[value >> (4 * (digits - 1)) & 15];
    return at;
}

static const char *frames_text(const struct sl_frames *frames)
{
    char text[SL_SITE_FRAMES * (8 + 1 + 16 + 1) + 1], *at = text;
    for (int i = 0; i < frames->count; i++) {
        if (i) *at++ = ' ';
        at = put_hexadecimal(at, frames->modules[i]);
        *at++ = '+';
        at = put_hexadecimal(at, frames->offsets[i]);
    }
    *at = 0;
    return sl_intern(text);
}

/* A lost record is only missing in what is shown of the site. */
static void emit_python(const struct sl_python_frame *frame, uint32_t depth, void *site)
{
    sl_trace_emit((struct sl_event){.type = SL_EVENT_PYTHON,
                                    .id = depth,
                                    .time_ns = sl_clock_ns(CLOCK_MONOTONIC),
                                    .a = frame->line,
                                    .c = *(const uint64_t *)site,
                                    .text = sl_intern_some(frame->text)});
}

/* Takes the time before other threads can see the site, so that their records of the site are later. */
bool sl_site_emit(uint64_t site, const struct sl_frames *frames)
{
    for (uint32_t i = 0; i < frames->new_count; i++) sl_module_emit(frames->new_modules[i]);
    struct sl_event event = {.type = SL_EVENT_SITE, .time_ns = sl_clock_ns(CLOCK_MONOTONIC), .c = site};
    _Atomic uint64_t *place = place_of(site);
    uint64_t free_place = 0;
    if (!place || !atomic_compare_exchange_strong(place, &free_place, site)) return true;
    event.text = frames_text(frames);
    if (!strcmp(event.text, SL_INTERN_LOST)) return true;
    if (!sl_trace_emit(event)) {
        atomic_store(place, 0);
        return false;
    }
    sl_python_frames_each(emit_python, &site);
    return true;
}
