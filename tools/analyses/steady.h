/* The iterations by which traces are compared: those of the second half of the run, when the plans are made
 * and nothing is new. */
#ifndef SLUICE_TOOL_STEADY_H
#define SLUICE_TOOL_STEADY_H

#include "tools/phases/phases.h"

enum steady_kind {
    STEADY_STEPS,       /* training steps */
    STEADY_REPETITIONS, /* the program's repetitions, as sluice saw them end */
    STEADY_RUN,         /* the whole run as one */
    STEADY_KINDS,
};

enum { STEADY_MOST = 100 };

struct steady {
    enum steady_kind kind;
    struct step at[STEADY_MOST]; /* launches; ascending, and none overlap */
    uint32_t count;
    uint32_t first, total; /* the number of at[0] counted from 1, and of all iterations of this kind */
};

/* The first kind from `from` on of which the trace has a complete iteration. */
enum steady_kind steady_kind_of(const struct model *model, const struct phases *phases,
                                enum steady_kind from);

/* Complete iterations of the kind that another launch follows: the last STEADY_MOST of their second half.
 * Precondition: the trace has launches, and a complete iteration of this kind. */
void steady_find(const struct model *model, const struct phases *phases, enum steady_kind kind,
                 struct steady *out);

/* The iteration that contains the launch, or SL_NONE. */
uint32_t steady_of_launch(const struct steady *steady, uint32_t launch);

/* The iteration during which `tick` was the newest launch, or SL_NONE. */
uint32_t steady_of_tick(const struct model *model, const struct steady *steady, uint64_t tick);

/* Whether the device's times are not the host's: its work begins before the host launched it, or it is a
 * software device. */
bool has_own_clock(const struct model *model);

#endif
