#include "tools/advise/situation.h"

#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "tools/advise/advice.h"
#include "tools/analyses/info.h"
#include "tools/plan/plan_measure.h"
#include "tools/text/messages.h"

enum { DEVICE_PERCENT = 95 };

bool trials_run(const struct replay_job *job, struct trial *trials, size_t count)
{
    struct replay_setting *settings = calloc(count + 1, sizeof(*settings));
    struct replay_result *results = calloc(count * job->count + 1, sizeof(*results));
    bool good = settings && results;
    if (!good) failure("out of memory");
    for (size_t i = 0; good && i < count; i++) settings[i] = trials[i].setting;
    good = good && (!count || replay_all(job, settings, count, results));
    for (size_t i = 0; good && i < count; i++) {
        replay_sum_up(results + i * job->count, job->count, &trials[i].result);
        if (trials[i].result.status == SL_OK && trials[i].result.refused) trials[i].result.status = SL_ERR_IO;
    }
    free(settings);
    free(results);
    return good;
}

/* The policy of the recorded run; of one that moved nothing, the default. */
static bool set_policy(struct situation *s, const struct model *model)
{
    const char *recorded = model_metadata(model, "policy");
    char allowed[200];
    if (!recorded || !strcmp(recorded, "off")) recorded = "plan";
    if (!sl_options_check("SLUICE_POLICY", recorded, allowed, sizeof(allowed)))
        return failure("the trace is of the policy '%s', which this version does not know; it takes %s",
                       recorded, allowed),
               false;
    s->setting.policy = recorded;
    return true;
}

static bool is_chunk(uint64_t bytes)
{
    return bytes >= SL_BLOCK_BYTES && bytes <= SL_GIB && !(bytes & (bytes - 1));
}

static bool set(struct situation *s, const struct situation_wish *wish)
{
    const struct model *model = s->job->models[0];
    const char *daemon = model_metadata(model, "daemon");
    struct plan_link link = plan_job_link(&s->job->job, wish->sharers);
    struct sl_sim_driver driver;
    plan_measure(&s->job->job, &wish->driver, &driver, &link);
    if (!wish->as_measured) driver = wish->driver;
    plan_set_link(&link, &wish->link, wish->sharers);
    s->daemon_inline = daemon && !strcmp(daemon, "inline");
    s->most_bytes = model->device_bytes ? model->device_bytes / 100 * DEVICE_PERCENT : UINT64_MAX;
    uint64_t budget = wish->budget_bytes ? wish->budget_bytes : model->budget_bytes;
    if (!budget) budget = s->most_bytes;
    if (budget < replay_least_budget()) budget = replay_least_budget();
    if (s->most_bytes < budget) s->most_bytes = budget;
    uint64_t chunk = wish->chunk_bytes ? wish->chunk_bytes : model->chunk_bytes;
    uint64_t usual = replay_automatic_chunk(budget);
    bool too_large = wish->budget_bytes && !wish->chunk_bytes && chunk > usual;
    if (!is_chunk(chunk) || too_large) chunk = usual;
    s->setting.budget_bytes = budget;
    s->setting.chunk_bytes = chunk;
    s->setting.policy = wish->policy;
    s->setting.backing = wish->backing;
    s->setting.in_bytes_per_s = link.in_bytes_per_s;
    s->setting.out_bytes_per_s = link.out_bytes_per_s;
    s->setting.driver = driver;
    s->setting.transfer_ns = wish->transfer_ns;
    s->setting.plan_attempts = wish->plan_attempts;
    s->setting.plans_beside = !s->daemon_inline;
    s->setting.meets_over_link = plan_job_meets_over(&link, s->job->job.meetings, PLAN_PEERS_AUTO);
    return wish->policy || set_policy(s, model);
}

bool situation_find(const struct plan_job *job, const struct situation_wish *wish, struct situation *out)
{
    struct situation s = {.job = job, .need_bytes = plan_job_peak(&job->job)};
    struct trial trials[2];
    memset(&s.setting, 0, sizeof(s.setting));
    if (!set(&s, wish)) return false;
    s.streams = job->models[0]->streams.count;
    double guessed_ns = 0, all_ns = 0;
    for (size_t r = 0; r < job->count; r++) {
        s.launches += job->programs[r].launches;
        s.guessed += job->programs[r].guessed;
        guessed_ns += (double)job->programs[r].guessed_ns;
        all_ns += (double)job->programs[r].all_ns;
    }
    s.guessed_percent = all_ns > 0 ? 100 * guessed_ns / all_ns : 0;
    trials[0].setting = trials[1].setting = s.setting;
    trials[0].setting.find_least = true;
    trials[1].setting.budget_bytes = 0;
    trials[1].setting.policy = "demand";
    if (!trials_run(&job->job, trials, 2)) return false;
    for (int i = 0; i < 2; i++)
        if (trials[i].result.status != SL_OK)
            return failure("the replay failed: %s", sl_status_text(trials[i].result.status)), false;
    s.now = trials[0].result;
    s.resident_ns = trials[1].result.steady.took_ns;
    s.need_bytes = trials[1].result.need_bytes;
    s.fits = s.need_bytes <= s.setting.budget_bytes;
    s.link_ns = advice_link_ns(s.now.least_in_bytes, s.setting.in_bytes_per_s, s.setting.out_bytes_per_s,
                               s.setting.driver.both_percent);
    *out = s;
    return true;
}
