#include "plan/plan_cost.h"

#define MOST_ONCE 1.25 /* like SL_MOST_BYTES, over two thirds */
#define REMEMBERED 0.8 /* of an excess, in the next plan: transitions need not be made up for */
#define WORTH 0.5
#define LEAST_SAVED 0.02 /* part of the time that all excess copies together must save */

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

double sl_plan_cost_ns(double most_ns, double excess_bytes, double bytes_per_s)
{
    if (excess_bytes <= 0) return most_ns;
    return (1 + LEAST_SAVED) * most_ns + WORTH * 2 * excess_bytes / bytes_per_s * 1e9;
}
