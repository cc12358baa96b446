/* In place of src/plan/plan_relax.c: no plan prefers the victims of a relaxation. */
#include "plan/plan_relax.h"

struct sl_relaxation *sl_relaxation_new(const struct sl_plan_input *input, const double *launch_ns,
                                        size_t period, double most_bytes)
{
    (void)input, (void)launch_ns, (void)period, (void)most_bytes;
    return NULL;
}

void sl_relaxation_delete(struct sl_relaxation *relaxation)
{
    (void)relaxation;
}

bool sl_relaxation_fits(const struct sl_relaxation *relaxation, const struct sl_plan_input *input,
                        const double *launch_ns, double most_bytes)
{
    (void)relaxation, (void)input, (void)launch_ns, (void)most_bytes;
    return false;
}

void sl_relaxation_improve(struct sl_relaxation *relaxation, unsigned attempts)
{
    (void)relaxation, (void)attempts;
}

bool sl_relaxation_is_solved(const struct sl_relaxation *relaxation)
{
    (void)relaxation;
    return true;
}

const struct sl_guide *sl_relaxation_guide(const struct sl_relaxation *relaxation)
{
    (void)relaxation;
    return NULL;
}

double sl_relaxation_more_bytes(const struct sl_relaxation *relaxation)
{
    (void)relaxation;
    return 0;
}

double sl_relaxation_wait_ns(const struct sl_relaxation *relaxation)
{
    (void)relaxation;
    return 0;
}
