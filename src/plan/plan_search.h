/* The search for a plan: tries several choices and keeps the best plan. plan_choose.h chooses the movements,
 * plan_schedule.h their times.
 *
 * Where the budget is full, each fetch waits for an eviction, which waits for a launch. So a choice may leave
 * a part of the budget free, the slack: fetches take it at once, and evictions of what launches have just
 * used make up for it meanwhile. This copies a little more, and is kept if that is faster.
 *
 * How copies count when plans are compared by time. Belady's choice copies least. Other choices may copy a
 * little more, and once much more.
 *
 * The first two thirds of a window of three periods count, because what a plan saves near its end may have to
 * be paid directly after it. The first third may copy more, once: this moves other chunks to where a choice
 * wants them, and the time for it is counted. The second third shows what such a choice copies in every
 * period, which must stay within the bound. Until the excess is made up for, each further plan with an excess
 * has to save enough time for it; otherwise every plan would have its one excess.
 */
#ifndef SLUICE_PLAN_SEARCH_H
#define SLUICE_PLAN_SEARCH_H

#include "plan/plan.h"

/* Tries Belady's choice and then up to `input->attempts` others, and returns the best plan. Otherwise as
 * sl_plan_make. */
enum sl_status sl_plan_search(const struct sl_plan_input *input, const double *launch_ns,
                              struct sl_plan_lessons *lessons, struct sl_plan *out);

#define SL_MOST_BYTES 1.015 /* times the bytes of Belady's choice */

/* Bytes over the link, both directions, after a third, two thirds and all of the launches. */
struct sl_copied {
    double first, most, all;
};

/* The bytes that a period copies beyond the bound, at least; 0: it is within the bound. */
double sl_excess_bytes(struct sl_copied by, struct sl_copied least);

/* The bytes that the plans so far copied in their served parts, the first thirds, beyond the bound, including
 * the plan with `by`; 0: none, or made up for. */
double sl_over_bytes(double over_before, struct sl_copied by, struct sl_copied least);

/* The cost of a plan that takes `most_ns` for two periods. With excess copies, the time that these have to
 * save at least is added: half of their time on the link, and 2 % of all the time, because a real run saves
 * less than the plan promises. */
double sl_plan_cost_ns(double most_ns, double excess_bytes, double bytes_per_s);

#endif
