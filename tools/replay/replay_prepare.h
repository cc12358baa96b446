/* The steps of preparing a replay, for one program and for the ranks of a job. */
#ifndef SLUICE_TOOL_REPLAY_PREPARE_H
#define SLUICE_TOOL_REPLAY_PREPARE_H

#include "tools/replay/replay.h"

/* Sets the borders of the iterations that are in the trace, `steps` and `class_of_slot`. pre: `model` alone
 * is set. False when there is no memory, as below. */
bool replay_find_borders(struct replay_program *program);

/* How many of the borders are enough for a prediction; UINT32_MAX: there are not too many. */
uint32_t replay_enough_borders(const struct replay_program *program);

/* Sets the rest, for what lies before the first `border_count` borders, or for the whole trace if there are
 * not so many. pre: the borders are known. */
bool replay_complete(struct replay_program *program, uint32_t border_count);

#endif
