/* What a plan's copies count for beside its time. Belady's choice copies least; others may copy a little
 * more, or, where that saves enough, more than a little. Private to the search.
 *
 * What counts are the first two thirds of a window of three periods: what its end saves may be needed right
 * behind it. In the first third more may be copied, once: that moves other chunks to where a choice wants
 * them, and the time it takes is counted. The second third then shows what such a choice copies again and
 * again: no more than any other may. Until that is made up for, it has to be worth it each time, or every
 * other plan would have its once.
 */
#ifndef SLUICE_PLAN_COST_H
#define SLUICE_PLAN_COST_H

#define SL_MOST_BYTES 1.015 /* of those of Belady's choice */

/* Bytes over the link, both ways, when a third, two thirds and all of the launches have run. */
struct sl_copied {
    double first, most, all;
};

/* What a period copies beyond what it may, at least; 0: it is within bounds. */
double sl_excess_bytes(struct sl_copied by, struct sl_copied least);

/* What plans copied beyond what they may in their first thirds, which are what is carried out, now that
 * another one did; 0: that is made up for. */
double sl_over_bytes(double over_before, struct sl_copied by, struct sl_copied least);

#endif
