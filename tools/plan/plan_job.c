#include "tools/plan/plan_job.h"

#include <stdlib.h>

#include "tools/text/messages.h"

enum { DEFAULT_LINK_GBS = 24 }; /* PCIe 4 x16 */
#define LINK_TOLERANCE 1.1      /* a link's speed is measured by sluice's own movements */

uint64_t plan_job_peak(const struct replay_job *job)
{
    uint64_t most = 0;
    for (size_t r = 0; r < job->count; r++)
        if (job->ranks[r].peak_bytes > most) most = job->ranks[r].peak_bytes;
    return most;
}

struct plan_link plan_job_link(const struct replay_job *job, uint64_t sharers)
{
    struct plan_link link = {0};
    uint64_t assumed = DEFAULT_LINK_GBS * UINT64_C(1000000000) / sharers;
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

void plan_set_link(struct plan_link *link, const struct plan_link *given, uint64_t sharers)
{
    if (given->in_bytes_per_s) link->in_bytes_per_s = given->in_bytes_per_s / sharers;
    if (given->out_bytes_per_s) link->out_bytes_per_s = given->out_bytes_per_s / sharers;
}

bool plan_job_meets_over(const struct plan_link *link, const struct replay_meetings *meetings,
                         enum plan_peers peers)
{
    if (!meetings || peers == PLAN_PEERS_OWN) return false;
    double speed = meetings->bytes_per_ns * 1e9;
    double slower =
        (double)(link->in_bytes_per_s < link->out_bytes_per_s ? link->in_bytes_per_s : link->out_bytes_per_s);
    return peers == PLAN_PEERS_LINK || (speed > 0 && speed <= slower * LINK_TOLERANCE);
}

enum plan_ready plan_job_prepare(const struct model *const *models, size_t count,
                                 struct replay_meetings *meetings, struct replay_program *programs)
{
    bool good;
    if (count == 1) {
        good = replay_prepare(models[0], programs);
    } else {
        good = replay_meetings_find(models, count, meetings);
        if (good && meetings->count == 1) return PLAN_NOT_ONE_JOB;
        good = good && replay_prepare_ranks(models, count, meetings, programs);
    }
    if (!good) return PLAN_NO_MEMORY;
    return programs->border_count >= 2 ? PLAN_READY : PLAN_NO_ITERATION;
}

static int prepare(const char *who, struct plan_job *job)
{
    const struct model *const *models = (const struct model *const *)job->models;
    switch (plan_job_prepare(models, job->count, &job->meetings, job->programs)) {
    case PLAN_READY:
        return EXIT_OK;
    case PLAN_NOT_ONE_JOB:
        return failure("the traces have no collectives in common: they do not belong to the ranks of one "
                       "job; sluice trace diff compares two runs");
    case PLAN_NO_ITERATION:
        return job->count == 1
                   ? failure("%s: the trace has no complete iteration of the program; record more steps",
                             job->paths[0])
                   : failure("no complete iteration is in all of the traces");
    case PLAN_NO_MEMORY:
        break;
    }
    return failure("%s: out of memory", who);
}

int plan_job_open(const char *who, char *const *paths, size_t count, struct plan_job *out)
{
    *out = (struct plan_job){.paths = paths, .count = count};
    out->models = calloc(count, sizeof(struct model *));
    out->programs = calloc(count, sizeof(*out->programs));
    int status = out->models && out->programs ? EXIT_OK : failure("%s: out of memory", who);
    while (status == EXIT_OK && out->opened < count) {
        status = model_open(paths[out->opened], &out->models[out->opened]);
        out->opened += status == EXIT_OK;
    }
    if (status == EXIT_OK) status = prepare(who, out);
    if (status != EXIT_OK) return status;
    out->name = program_name(&out->models[0]->header);
    out->programs->name = out->name.text;
    out->job = (struct replay_job){out->programs, count, count > 1 ? &out->meetings : NULL};
    return EXIT_OK;
}

int plan_job_end(const struct plan_job *job)
{
    int status = EXIT_OK;
    for (size_t r = 0; r < job->opened && status == EXIT_OK; r++)
        status = end_status(job->paths[r], &job->models[r]->problem);
    return status;
}

void plan_job_close(struct plan_job *job)
{
    for (size_t r = 0; job->programs && r < job->count; r++) replay_free(&job->programs[r]);
    replay_meetings_free(&job->meetings);
    for (size_t r = 0; r < job->opened; r++) model_close(job->models[r]);
    free(job->programs);
    free(job->models);
    *job = (struct plan_job){0};
}
