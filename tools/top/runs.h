/* The running programs that sluice manages, as their pages in shared memory show them (core/monitor_page.h).
 */
#ifndef SLUICE_TOOL_RUNS_H
#define SLUICE_TOOL_RUNS_H

#include <stddef.h>

#include "tools/top/past.h"

struct runs {
    struct sl_monitor_record *all; /* by process */
    uint32_t count, room;
    uint32_t others; /* programs of sluice's other versions, which cannot be read; 0 if `names` are given */
    uint64_t looked_ns; /* CLOCK_MONOTONIC */
    bool no_memory;
    struct past past;
};

/* Reads the pages in `folder` anew. `names`: only processes with one
 * of these ids or program names; all if `name_count` is 0. False: out of memory. Texts have passed
 * sl_defuse. */
bool runs_look(struct runs *runs, const char *folder, char **names, size_t name_count);
void runs_free(struct runs *runs); /* accepts a zeroed one */

/* --- what the figures of a device say */

/* What a rate is computed from: the last whole step; or nothing, before one has ended. */
bool run_has_step(const struct sl_stats *figures);
/* The part of the last step in which no stream stalled, by the device's clock. Stalls of several streams add
 * up, so it may be less. */
uint64_t run_other_ns(const struct sl_stats *figures);
/* Bytes a second of a direction over some of the last steps, by the device's clock; or, where no launch waits
 * and that is not known, over the last step by the host's. 0 before a step has ended. */
double run_speed(const struct sl_stats *figures, bool in);
/* One word: "followed". */
const char *run_plan_text(const struct sl_stats *figures);

#endif
