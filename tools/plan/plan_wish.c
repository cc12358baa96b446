#include "tools/plan/plan_wish.h"

#include <string.h>

enum { ASSUMED_LINK_GBS = 24 }; /* PCIe 4 x16 */
#define LINK_TOLERANCE 1.1      /* a link's speed is measured by sluice's own movements */

/* The measured speed on the slowest rank, which is that rank's share of the link; if there is none, a share
 * of the assumed speed. */
static struct plan_link measured_link(const struct replay_job *job, uint64_t sharers)
{
    struct plan_link link = {0};
    uint64_t assumed = ASSUMED_LINK_GBS * UINT64_C(1000000000) / sharers;
    for (size_t r = 0; r < job->count; r++) {
        const struct model *model = job->ranks[r].model;
        uint64_t in = model->link_in, out = model->link_out;
        if (in && (!link.in_bytes_per_s || in < link.in_bytes_per_s)) link.in_bytes_per_s = in;
        if (out && (!link.out_bytes_per_s || out < link.out_bytes_per_s)) link.out_bytes_per_s = out;
    }
    if (!link.in_bytes_per_s) link.in_bytes_per_s = assumed;
    if (!link.out_bytes_per_s) link.out_bytes_per_s = assumed;
    return link;
}

/* Whether the ranks' collectives use this link. They do, unless a long collective was faster than the
 * link. */
static bool meets_over(const struct plan_link *link, const struct replay_meetings *meetings,
                       enum plan_peers peers)
{
    if (!meetings || peers == PEERS_OWN) return false;
    double speed = meetings->bytes_per_ns * 1e9;
    double slower =
        (double)(link->in_bytes_per_s < link->out_bytes_per_s ? link->in_bytes_per_s : link->out_bytes_per_s);
    return peers == PEERS_LINK || (speed > 0 && speed <= slower * LINK_TOLERANCE);
}

void plan_complete_wish(struct plan_wish *wish, const struct replay_job *job, uint64_t sharers,
                        enum plan_peers peers)
{
    uint64_t peak_bytes = 0;
    for (size_t r = 0; r < job->count; r++)
        if (job->ranks[r].peak_bytes > peak_bytes) peak_bytes = job->ranks[r].peak_bytes;
    if (!wish->budget_count) plan_default_budgets(wish);
    if (!wish->chunk_count) plan_seek_chunks(wish, peak_bytes, job->ranks->model->chunk_bytes);
    if (!wish->policy_count) wish->policies[wish->policy_count++] = strdup("plan");
    for (unsigned l = 0; l < wish->link_count; l++) {
        wish->links[l].in_bytes_per_s /= sharers;
        wish->links[l].out_bytes_per_s /= sharers;
    }
    if (!wish->link_count) wish->links[wish->link_count++] = measured_link(job, sharers);
    for (unsigned l = 0; l < wish->link_count; l++)
        wish->links[l].meets = meets_over(&wish->links[l], job->meetings, peers);
}
