/* When the launches of a plan use each chunk: what is needed at once leaves last, where a launch lacks
 * something that the plan did not foresee.
 */
#ifndef SLUICE_PLANNED_USES_H
#define SLUICE_PLANNED_USES_H

#include "plan/plan.h"

struct sl_planned_uses {
    uint32_t *first;  /* by chunk, and one more: where its launches begin; NULL: nothing is known */
    uint32_t *launch; /* of the plan, each chunk's in their order */
    size_t chunk_count;
};

/* O(chunks + accesses). On SL_OK *out is released with sl_planned_uses_free. SL_ERR_NO_MEMORY. */
enum sl_status sl_planned_uses_new(const struct sl_plan_input *input, struct sl_planned_uses *out);
void sl_planned_uses_free(struct sl_planned_uses *uses); /* accepts zeroed ones */

/* The first launch of the plan from `launch` on that uses the chunk; UINT32_MAX: none does, or it is not
 * known. */
uint32_t sl_planned_uses_next(const struct sl_planned_uses *uses, sl_chunk chunk, size_t launch);

#endif
