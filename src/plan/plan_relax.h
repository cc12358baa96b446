/* A linear relaxation of the plan: fractions of chunks may be evicted, and copies may use the link at any
 * time.
 *
 * Its solution for a repeating period is not a plan, but it considers the whole period at once: after which
 * of its uses each chunk is evicted, so that launches wait least. The search (plan_search.c) prefers these
 * victims. It is the program of tests/bound/lower_bound.py with launches combined into blocks.
 */
#ifndef SLUICE_PLAN_RELAX_H
#define SLUICE_PLAN_RELAX_H

#include "plan/plan.h"

/* How much of a chunk the relaxation evicts: nothing, a part, most of it. */
enum sl_leaving { SL_STAYS, SL_MAY_LEAVE, SL_LEAVES };

/* For the launches of a period: what is evicted after each access, in the order of the launches, and after
 * each chunk's last use in the period. */
struct sl_guide {
    const uint8_t *by_access, *by_chunk; /* enum sl_leaving */
    uint32_t access_count;               /* number of accesses in a period */
};

struct sl_relaxation;

/* The relaxation of the first `period` launches of the input. `most_bytes`: the bound on a period's copies;
 * further copies must save more than a quarter of their time on the link. NULL: the next launches do not
 * repeat them, they are too many, one exceeds the budget, or there is no memory. */
struct sl_relaxation *sl_relaxation_new(const struct sl_plan_input *input, const double *launch_ns,
                                        size_t period, double most_bytes);
void sl_relaxation_delete(struct sl_relaxation *relaxation); /* accepts NULL */

/* Whether the relaxation fits this input, too: its first launches are the same and take about as long, and
 * link speeds and `most_bytes` are about the same. O(accesses of a period). */
bool sl_relaxation_fits(const struct sl_relaxation *relaxation, const struct sl_plan_input *input,
                        const double *launch_ns, double most_bytes);

/* Continues the solution for a few milliseconds per attempt at a plan, and updates the guide. */
void sl_relaxation_improve(struct sl_relaxation *relaxation, unsigned attempts);
bool sl_relaxation_is_solved(const struct sl_relaxation *relaxation); /* solved, or as far as it gets */
const struct sl_guide *sl_relaxation_guide(const struct sl_relaxation *relaxation);
/* The bytes beyond most_bytes that a period should copy, because that pays; 0 until the relaxation is
 * solved. */
double sl_relaxation_more_bytes(const struct sl_relaxation *relaxation);
double
sl_relaxation_wait_ns(const struct sl_relaxation *relaxation); /* of a period, in the current solution */

#endif
