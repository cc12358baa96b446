/* What `sluice trace info` shows, computed. */
#ifndef SLUICE_TOOL_INFO_H
#define SLUICE_TOOL_INFO_H

#include "tools/phases/phases.h"
#include "tools/analyses/waste.h"

struct count_bytes {
    uint64_t count, bytes;
};

/* Of a number of times; nanoseconds. */
struct spread {
    uint64_t count, least, quarter, median, three_quarters, most;
};

struct info {
    struct count_bytes launches[LAUNCH_KINDS]; /* bytes: of copies */
    uint64_t launch_count, kernels;
    struct count_bytes allocations, frees;
    uint64_t peak_bytes, peak_ns, end_bytes; /* live */
    uint64_t peak_of[CLASS_COUNT];           /* at the peak */
    struct waste waste;
    struct count_bytes moves[MOVE_KINDS][MOVE_CAUSES];
    uint64_t stalls, stall_ns, longest_stall_ns, longest_stall_tick;
    uint64_t syncs, sync_ns;

    struct spread step_times;   /* of whole steps that another launch follows, or of sluice's iterations */
    bool steps_found;           /* they are steps of training */
    uint64_t step_launches;     /* of the median step, about: of the last but one */
    uint64_t evaluations;       /* forward passes without a backward pass: stretches of them */
    struct count_bytes misfits; /* allocations that failed; bytes: of the largest */
    uint64_t failed_calls;      /* others that failed */
    uint64_t fed, predicted;    /* up to the last iteration's end */
    uint64_t late_fed, late_predicted; /* in the last half of the iterations */
};

/* False when there is no memory. */
bool info_make(const struct model *model, const struct phases *phases, struct info *out);

/* The value of metadata of the trace ("device"), the last one, or NULL. */
const char *model_metadata(const struct model *model, const char *name);

#endif
