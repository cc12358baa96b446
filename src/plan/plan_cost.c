#include "plan/plan_cost.h"

#define MOST_ONCE 1.25 /* as SL_MOST_BYTES, until two thirds have run */
#define REMEMBERED 0.8 /* from plan to plan, of what was copied once: transitions need not be paid back */

static double largest(double a, double b, double c)
{
    double ab = a > b ? a : b;
    return ab > c ? ab : c;
}

double sl_over_bytes(double over_before, struct sl_copied by, struct sl_copied least)
{
    double over = REMEMBERED * over_before + by.first - SL_MOST_BYTES * (least.most - least.first);
    return over > 0 ? over : 0;
}

double sl_excess_bytes(struct sl_copied by, struct sl_copied least)
{
    double all_through =
        largest(0, (by.most - SL_MOST_BYTES * least.most) / 2, (by.all - SL_MOST_BYTES * least.all) / 3);
    double once = largest((by.most - MOST_ONCE * least.most) / 2,
                          by.most - by.first - SL_MOST_BYTES * (least.most - least.first),
                          (by.all - by.first - SL_MOST_BYTES * (least.all - least.first)) / 2);
    if (once < 0) once = 0;
    return all_through < once ? all_through : once;
}
