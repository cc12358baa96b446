/* The steps of preparing a replay, for one program and for the ranks of a job. */
#ifndef SLUICE_TOOL_REPLAY_PREPARE_H
#define SLUICE_TOOL_REPLAY_PREPARE_H

#include "tools/replay/replay.h"

/* Sets the borders of the iterations in the trace, `steps`, `alike` and `class_of_slot`. Precondition: only
 * `model` is set. False: out of memory, as below. */
bool replay_find_borders(struct replay_program *program);

/* Number of borders that suffice for a prediction; UINT32_MAX: all of them. */
uint32_t replay_enough_borders(const struct replay_program *program);

/* Sets the rest, for the part before the first `border_count` borders, or for the whole trace if there are
 * fewer. Precondition: the borders are set. */
bool replay_complete(struct replay_program *program, uint32_t border_count);

#endif
