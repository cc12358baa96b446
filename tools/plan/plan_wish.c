#include "tools/plan/plan_wish.h"

#include <string.h>

#include "tools/plan/plan_measure.h"

void plan_complete_wish(struct plan_wish *wish, const struct replay_job *job, uint64_t sharers,
                        enum plan_peers peers)
{
    if (!wish->budget_count) plan_default_budgets(wish);
    if (!wish->chunk_count) plan_seek_chunks(wish, plan_job_peak(job), job->ranks->model->chunk_bytes);
    if (!wish->policy_count) wish->policies[wish->policy_count++] = strdup("plan");
    for (unsigned l = 0; l < wish->link_count; l++) {
        wish->links[l].in_bytes_per_s /= sharers;
        wish->links[l].out_bytes_per_s /= sharers;
    }
    struct plan_link link = plan_job_link(job, sharers);
    struct sl_sim_driver measured;
    plan_measure(job, &wish->driver, &measured, &link);
    if (wish->as_measured) wish->driver = measured;
    if (!wish->link_count) wish->links[wish->link_count++] = link;
    for (unsigned l = 0; l < wish->link_count; l++) {
        plan_set_link(&wish->links[l], &wish->given, sharers);
        wish->links[l].meets = plan_job_meets_over(&wish->links[l], job->meetings, peers);
    }
}
