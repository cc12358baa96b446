/* A linear relaxation of the plan: parts of chunks may leave, and copies go over the link whenever it suits.
 *
 * What it makes of a period that repeats is no plan, but it knows all of the period at once: which chunks
 * leave after which of their uses so that launches wait least. Those are the victims that the search
 * (plan_search.c) then prefers. It is the program of tests/bound/lower_bound.py with launches taken together
 * in blocks.
 */
#ifndef SLUICE_PLAN_RELAX_H
#define SLUICE_PLAN_RELAX_H

#include "plan/plan.h"

/* How much of a chunk the relaxation has leave. */
enum sl_leaving { SL_STAYS, SL_MAY_LEAVE, SL_LEAVES };

/* For the launches of one period: by access, in the order of the launches; and for each chunk what it has
 * leave behind its last use in the period. */
struct sl_guide {
    const uint8_t *by_access, *by_chunk; /* enum sl_leaving */
    uint32_t access_count;               /* of a period */
};

struct sl_relaxation;

/* The relaxation of the first `period` launches of the input, which the next ones repeat. NULL: there is
 * none, because they do not, are too many, or one of them exceeds the budget; or there is no memory.
 * `most_bytes`: that a period copies, but for copies that save launches more than a quarter of the time that
 * they take on the link. */
struct sl_relaxation *sl_relaxation_new(const struct sl_plan_input *input, const double *launch_ns,
                                        size_t period, double most_bytes);
void sl_relaxation_delete(struct sl_relaxation *relaxation); /* accepts NULL */

/* Whether it is that of this input, too: its first launches are the same, and take about as long. O(accesses
 * of a period). */
bool sl_relaxation_fits(const struct sl_relaxation *relaxation, const struct sl_plan_input *input,
                        const double *launch_ns, double most_bytes);

/* Goes on solving it, for some milliseconds for each of so many attempts at a plan, and renews the guide. */
void sl_relaxation_improve(struct sl_relaxation *relaxation, unsigned attempts);
bool sl_relaxation_is_solved(const struct sl_relaxation *relaxation); /* or as far as it will be */
const struct sl_guide *sl_relaxation_guide(const struct sl_relaxation *relaxation);
/* Beyond most_bytes, that a period copies because it pays; 0 until that is known. */
double sl_relaxation_more_bytes(const struct sl_relaxation *relaxation);
double
sl_relaxation_wait_ns(const struct sl_relaxation *relaxation); /* of a period, in what was found by now */

#endif
