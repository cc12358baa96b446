/* How much of a core the planner's thread takes: its first plans are made as fast as they are asked for, and
 * behind them it may look for better ones in a hundredth of the time that plans are for. One thread at a
 * time.
 */
#ifndef SLUICE_PACE_H
#define SLUICE_PACE_H

#include <stdbool.h>
#include <stdint.h>

#define SL_PACE_FIRST_PLANS 16
#define SL_PACE_SHARE 0.01

struct sl_pace {
    uint64_t plans;
    double owed_ns; /* of the processor's time, more than the share; never less than 0 */
};

/* A plan cost `cpu_ns`; what is carried out of it takes `served_ns`. `again`: it was the plan of before. What
 * had to be made is not held against the next plans: there was no other. */
static inline void sl_pace_made(struct sl_pace *pace, uint64_t cpu_ns, double served_ns, bool again)
{
    pace->plans += !again;
    if (pace->plans < SL_PACE_FIRST_PLANS) return;
    if (!again) pace->owed_ns = 0;
    pace->owed_ns += (double)cpu_ns - SL_PACE_SHARE * served_ns;
    if (pace->owed_ns < 0) pace->owed_ns = 0;
}

/* Whether a plan of before is to be given again if one serves, and nothing else is to be done. */
static inline bool sl_pace_hurries(const struct sl_pace *pace)
{
    return pace->owed_ns > 0;
}

#endif
