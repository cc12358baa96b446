/* Limits the processor time that the planner's thread spends on searching for better plans. The first
 * plans search without limit; later ones may use a hundredth of the time that plans serve. Not
 * thread-safe. */
#ifndef SLUICE_PACE_H
#define SLUICE_PACE_H

#include <stdbool.h>
#include <stdint.h>

#define SL_PACE_FIRST_PLANS 16
#define SL_PACE_SHARE 0.01

struct sl_pace {
    uint64_t plans;
    double owed_ns; /* processor time of the last search that this share has not covered yet; never below 0 */
};

/* A plan that serves `served_ns` took `cpu_ns` of processor time. `hurried`: it was made without a search. */
static inline void sl_pace_made(struct sl_pace *pace, uint64_t cpu_ns, double served_ns, bool hurried)
{
    if (++pace->plans < SL_PACE_FIRST_PLANS) return;
    if (!hurried) pace->owed_ns = (double)cpu_ns;
    pace->owed_ns -= SL_PACE_SHARE * served_ns;
    if (pace->owed_ns < 0) pace->owed_ns = 0;
}

/* Whether the next plan has to be made without a search. */
static inline bool sl_pace_hurries(const struct sl_pace *pace)
{
    return pace->owed_ns > 0;
}

#endif
