/* What happened: the fixed-size records that go from the core to the trace. */
#ifndef SLUICE_EVENT_H
#define SLUICE_EVENT_H

#include "types.h"

enum sl_event_type {
    SL_EVENT_ALLOC = 1, /* id: slot; a: address; b: bytes; c: site */
    SL_EVENT_FREE,      /* id: slot; a: address; b: bytes */
    SL_EVENT_KERNEL,    /* id: kernel; `text`: its name. Before its first launch. */
    /* id: kernel, or 0 for copies and sets; flags: sl_launch_kind; a: stream; b: grid threads; c: bytes of a
       copy; d: an earlier launch whose accesses are this one's, too, or 0 */
    SL_EVENT_LAUNCH,
    SL_EVENT_ACCESS,    /* of the launch with its tick. id: slot; a: offset in the allocation; b: bytes */
    SL_EVENT_MOVE,      /* id: chunk; flags: sl_action_kind | sl_move_cause << 4; a: bytes */
    SL_EVENT_STALL,     /* a: nanoseconds the launch waited for its chunks; b: chunks waited for */
    SL_EVENT_BUDGET,    /* a: budget bytes; b: chunk bytes; c: device bytes. First record. */
    SL_EVENT_ITERATION, /* id: its number from 1; a: symbols in it */
    SL_EVENT_GAP,       /* written by the trace itself: tick: the first lost; a: count */
};

enum sl_move_cause { SL_CAUSE_PLAN, SL_CAUSE_DEMAND, SL_CAUSE_LATE };

struct sl_event {
    uint8_t type, flags;
    uint16_t reserved;
    uint32_t id;
    sl_tick tick;
    uint64_t time_ns; /* CLOCK_MONOTONIC */
    uint64_t a, b, c, d;
    const char *text; /* SL_EVENT_KERNEL only: lives as long as the process */
};

#endif
