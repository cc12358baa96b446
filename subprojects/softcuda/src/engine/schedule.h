/* Scheduling of the lanes of a group. */
#ifndef SOFTCUDA_ENGINE_SCHEDULE_H
#define SOFTCUDA_ENGINE_SCHEDULE_H

#include "worker.h"

/* Puts all lanes at the first basic block. */
void sc_group_start(struct sc_group *group);

/* Called when the active lanes have run the block that `block` describes: moves them to their successors and
 * selects the lanes that run next. false: no lane can run; group->blocked is set. */
bool sc_group_leave(struct sc_group *group, const struct sc_block *block);

/* Lets other lanes run before the active ones. false: the group has none, or all have had their turn; then
 * other groups should run. */
bool sc_group_yield(struct sc_group *group);

/* Called when all groups are blocked: releases the lanes whose barrier is complete. false: there are none. */
bool sc_release_barriers(struct sc_worker *worker);

/* Writes the lanes of [first_chunk, +chunks) whose predicate holds into group->guard_mask; returns their
 * number. */
uint32_t sc_guard_lanes(struct sc_group *group, uint32_t place, bool negated);

static inline uint32_t sc_scalar(const struct sc_group *group, uint32_t place)
{
    return *(const uint32_t *)(const void *)(group->file + place);
}

#endif
