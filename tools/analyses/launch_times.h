/* The times of launches on the device, from those that were measured. */
#ifndef SLUICE_TOOL_LAUNCH_TIMES_H
#define SLUICE_TOOL_LAUNCH_TIMES_H

#include "tools/model/model.h"

struct mean {
    uint64_t count, sum;
};

/* The measured times of launches that do the same, in nanoseconds: on busy streams, and on idle ones, where
 * the time between the events has a part of the launch's submission. */
struct measured {
    struct mean busy, idle;
};

void measured_add(struct measured *measured, const struct model_duration *duration);

/* How much longer launches seem to take on an idle stream, ns: the mean over those that were measured on
 * both, each as often as on the one where it was measured less. */
uint64_t measured_submission_ns(const struct measured *alike, size_t count);

/* A time measured on an idle stream without the submission; at least half of it is left. */
uint64_t without_submission(uint64_t ns, uint64_t submission);

/* Their mean time; 0: not measured. */
uint64_t measured_ns(const struct measured *measured, uint64_t submission);

/* How long the host takes from one launch to the next, ns, without `sample_ns` for measuring one: the median
 * over launches that were measured on idle streams one after the other. 0: too few, or no memory. */
uint64_t measured_host_ns(const struct model *model, uint64_t sample_ns);

/* The time of each launch shape on the device: the mean of its own durations or of its kernel's, without what
 * submission adds to those on an idle stream; 0: not measured. NULL: out of memory. The caller frees it. */
uint64_t *shape_times(const struct model *model);

#endif
