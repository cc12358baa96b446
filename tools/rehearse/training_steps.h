/* The training steps that a program has made, in a trace that it may still write. */
#ifndef SLUICE_TOOL_TRAINING_STEPS_H
#define SLUICE_TOOL_TRAINING_STEPS_H

#include "tools/analyses/steady.h"

/* The repetitions at the trace's end that are alike (tools/analyses/training.h), of the kind of which there
 * are more. Returns their number; *out gets the later half of them. A program that changes its steps from
 * time to time begins anew each time. Out of memory: 0. */
uint32_t training_steady(const struct model *model, const struct phases *phases, uint64_t need_bytes,
                         struct steady *out);

/* Their number in a file; 0: it cannot be read. */
uint32_t training_steps(const char *path, uint64_t need_bytes);

#endif
