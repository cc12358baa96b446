/* Which lanes of a group run next. */
#ifndef SOFTCUDA_ENGINE_SCHEDULE_H
#define SOFTCUDA_ENGINE_SCHEDULE_H

#include "worker.h"

/* All lanes at the first block. */
void sc_group_start(struct sc_group *group);

/* The active lanes have run the block that `block` describes; decides where they go and which lanes run next.
 * False when no lane can run: group->blocked is then set. */
bool sc_group_leave(struct sc_group *group, const struct sc_block *block);

/* Lets other lanes run before the active ones. False when the group has none, or all have had their turn:
 * then other groups shall run. */
bool sc_group_yield(struct sc_group *group);

/* All groups are blocked: lets those go on whose barrier is complete. False when none is. */
bool sc_release_barriers(struct sc_worker *worker);

/* Lanes of [first_chunk, +chunks) for which the predicate holds, into group->guard_mask; returns how many. */
uint32_t sc_guard_lanes(struct sc_group *group, uint32_t place, bool negated);

static inline uint32_t sc_scalar(const struct sc_group *group, uint32_t place)
{
    return *(const uint32_t *)(const void *)(group->file + place);
}

#endif
