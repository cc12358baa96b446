/* Which launches of a plan use each chunk. When a launch lacks a chunk that the plan did not foresee, the
 * chunk with the furthest next use is evicted.
 */
#ifndef SLUICE_PLANNED_USES_H
#define SLUICE_PLANNED_USES_H

#include "plan/plan.h"

struct sl_planned_uses {
    uint32_t *first;  /* by chunk, and one more: its first index in `launch`; NULL: nothing known */
    uint32_t *launch; /* indices in the plan, in order for each chunk */
    size_t chunk_count;
};

/* O(chunks + accesses). SL_ERR_NO_MEMORY. On SL_OK release *out with sl_planned_uses_free. */
enum sl_status sl_planned_uses_new(const struct sl_plan_input *input, struct sl_planned_uses *out);
void sl_planned_uses_free(struct sl_planned_uses *uses); /* accepts a zeroed one */

/* The first launch of the plan, from index `launch` on, that uses the chunk; UINT32_MAX: none, or unknown. */
uint32_t sl_planned_uses_next(const struct sl_planned_uses *uses, sl_chunk chunk, size_t launch);

#endif
