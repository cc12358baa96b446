/* The statistics of `sluice trace info`. */
#ifndef SLUICE_TOOL_INFO_H
#define SLUICE_TOOL_INFO_H

#include "tools/phases/phases.h"
#include "tools/analyses/spread.h"
#include "tools/analyses/waste.h"

struct count_bytes {
    uint64_t count, bytes;
};

struct info {
    struct count_bytes launches[LAUNCH_KINDS]; /* bytes: of copies */
    uint64_t launch_count, kernels;
    struct count_bytes allocations, frees;
    struct spread sizes;                     /* of allocations, bytes */
    uint64_t peak_bytes, peak_ns, end_bytes; /* of live allocations */
    uint64_t peak_of[CLASS_COUNT];           /* by class, at the peak */
    struct waste waste;
    struct count_bytes moves[MOVE_KINDS][MOVE_CAUSES];
    uint64_t stalls, stall_ns, longest_stall_ns, longest_stall_tick;
    uint64_t syncs, sync_ns;

    struct spread step_times; /* of complete steps that a launch follows, or of sluice's iterations */
    bool steps_found;         /* they are training steps */
    uint64_t step_launches;   /* in the last step but one */
    uint64_t iterations;      /* training steps or, if there are none, the repetitions whose end sluice saw */
    uint64_t evaluations;     /* number of stretches of forward passes without a backward pass */
    struct count_bytes misfits;        /* failed allocations; bytes: of the largest */
    uint64_t failed_calls;             /* other failed calls */
    uint64_t fed, predicted;           /* up to the end of the last iteration */
    uint64_t late_fed, late_predicted; /* in the second half of the iterations */
};

/* Kinds of movements in the order in which they are shown. */
extern const unsigned info_moves[MOVE_KINDS];

/* False: out of memory. */
bool info_make(const struct model *model, const struct phases *phases, struct info *out);

/* Number of records that were ignored because other records are missing or limits were exceeded. */
uint64_t info_left_out(const struct model *model);

#endif
