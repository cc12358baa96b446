/* A program that repeats itself is planned the same way again and again. Where a plan ends with the chunks as
 * it began, its actions do for the next time, when the same launches come again. */
#ifndef SLUICE_PLAN_AGAIN_H
#define SLUICE_PLAN_AGAIN_H

#include "plan/plan.h"

struct sl_plan_memory {
    struct sl_plan_input
        input; /* copies; their durations' sum and the link speeds are what the plan was made for */
    struct sl_plan plan;
    uint64_t launches_ns;
    uint32_t made;  /* plans for the same input */
    uint32_t idle;  /* of these, the last in a row that were no faster */
    uint32_t again; /* how often it was given since it was last looked for a better one */
};

/* Whether there is a plan for the input: the last plans for the same were no faster than the best of them, or
 * there is no time to look for a better one (`hurried`), and neither launches nor link have become faster or
 * slower since by more than a fiftieth. Now and then there is none nevertheless, so that a better one may be
 * found. On true *plan is released with sl_plan_free. */
bool sl_plan_again(struct sl_plan_memory *memory, const struct sl_plan_input *input, bool hurried,
                   struct sl_plan *plan);

/* Remembers a plan, if the chunks are after its served launches (`at_end`) as they were before. */
void sl_plan_keep(struct sl_plan_memory *memory, const struct sl_plan_input *input,
                  const struct sl_plan *plan, const enum sl_chunk_content *at_end);

void sl_plan_memory_free(struct sl_plan_memory *memory); /* accepts a zeroed one, and zeroes it */

#endif
