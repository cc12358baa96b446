/* What `sluice top` remembers of its earlier looks: how long steps took, and programs that have ended. */
#ifndef SLUICE_TOOL_PAST_H
#define SLUICE_TOOL_PAST_H

#include "tools/top/page.h"

#define PAST_STEPS 120
#define PAST_SHOWN_NS UINT64_C(10000000000) /* so long a program that has ended is remembered */

/* A device of a program, as it was last seen. */
struct past_run {
    uint64_t process;
    uint32_t device;
    char program[32], rank[16];
    uint64_t steps, need_bytes;
    uint64_t ended_ns; /* the first look that did not find it; 0: it is running */
    bool seen;         /* by the newest look */
    uint32_t taken;    /* durations that were noted, one for each look after a step has ended */
    bool by_device;    /* these are by the device's clock, as past_step_ns tells; else by the host's */
    uint64_t step_ns[PAST_STEPS]; /* the newest of them: number n is at n % PAST_STEPS */
};

/* Zero it. A run that finds no memory is not remembered. */
struct past {
    struct past_run *all;
    uint32_t count, room;
};

/* Takes what a look at `now_ns` has found. Texts have passed sl_defuse. */
void past_note(struct past *past, const struct sl_monitor_record *records, uint32_t count, uint64_t now_ns);
/* NULL: it is not remembered. */
const struct past_run *past_of(const struct past *past, uint64_t process, uint32_t device);
/* How many devices' programs have ended lately. */
uint32_t past_ended(const struct past *past);
void past_free(struct past *past);

/* The duration of the last step, by the device's clock if that is known; 0: none has ended. */
uint64_t past_step_ns(const struct sl_stats *figures);

#endif
