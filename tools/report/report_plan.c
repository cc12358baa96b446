#include "tools/report/report_plan.h"

#include <inttypes.h>
#include <stdlib.h>

#include "tools/model/trace_open.h"
#include "tools/plan/plan_driver.h"
#include "tools/plan/plan_report.h"
#include "tools/plan/plan_wish.h"
#include "tools/replay/replay.h"
#include "tools/report/report.h"
#include "tools/text/messages.h"

enum {
    LAUNCHES_OF_ALL = 20000,  /* replayed launches up to which all default budgets are tried */
    LAUNCHES_OF_FEW = 100000, /* up to which a few are tried; none beyond */
};

static uint64_t launches_of(const struct replay_job *job)
{
    uint64_t launches = 0;
    for (size_t r = 0; r < job->count; r++) launches += job->ranks[r].launches;
    return launches;
}

/* The budgets, the last of which is the recorded one if it is below the need; chunks as recorded. */
static void choose(struct plan_wish *wish, const struct replay_job *job, uint64_t launches)
{
    const struct model *model = job->ranks->model;
    uint64_t chunk = model->chunk_bytes, today = model->budget_bytes;
    wish->driver = sl_sim_drivers[PLAN_USUAL_DRIVER];
    wish->as_measured = true;
    wish->plan_attempts = PLAN_ATTEMPTS;
    plan_default_budgets(wish);
    if (launches > LAUNCHES_OF_ALL) {
        wish->budgets[1] = wish->budgets[2];
        wish->budgets[2] = wish->budgets[4];
        wish->budget_count = 3;
    }
    if (today >= SL_BLOCK_BYTES && today < plan_job_peak(job))
        wish->budgets[wish->budget_count++] = (struct plan_budget){.bytes = today};
    bool valid = chunk >= SL_BLOCK_BYTES && chunk <= SL_GIB && !(chunk & (chunk - 1));
    wish->chunks[wish->chunk_count++] = valid ? chunk : SL_BLOCK_BYTES;
    plan_complete_wish(wish, job, 1, PLAN_PEERS_AUTO);
}

/* The command that predicts the same. */
static void write_command(struct json *json, const struct plan_wish *wish)
{
    char budgets[PLAN_LIST_MAX * 24], text[sizeof(budgets) + 128];
    size_t length = 0;
    for (unsigned b = 0; b < wish->budget_count; b++) {
        const struct plan_budget *budget = &wish->budgets[b];
        const char *comma = b ? "," : "";
        length += (size_t)(budget->share > 0 ? snprintf(budgets + length, sizeof(budgets) - length, "%s%.2f",
                                                        comma, budget->share)
                                             : snprintf(budgets + length, sizeof(budgets) - length,
                                                        "%s%" PRIu64, comma, budget->bytes));
    }
    snprintf(text, sizeof(text), "sluice plan --no-least --chunk %" PRIu64 "M --budget %s",
             wish->chunks[0] / SL_MIB, budgets);
    json_text(json, "command", text);
}

static int write_prediction(struct json *json, const struct job *job, const struct replay_job *replay,
                            uint64_t launches)
{
    struct plan_wish wish = {0};
    struct predictions predictions = {0};
    choose(&wish, replay, launches);
    bool good = predictions_make(replay, &wish, &predictions);
    if (good) {
        const struct plan_report report = {.job = replay, .paths = job->paths, .predictions = &predictions};
        write_command(json, &wish);
        plan_json(json, "result", &report);
    }
    predictions_free(&predictions);
    for (unsigned p = 0; p < wish.policy_count; p++) free((char *)wish.policies[p]);
    return good ? EXIT_OK : EXIT_FAILED;
}

/* Prepares the replay. NULL: it is possible; otherwise why not. *memory is false: out of memory. */
static const char *prepare(const struct job *job, struct replay_job *replay, struct replay_program *programs,
                           struct replay_meetings *meetings, bool *memory)
{
    if (job->count > REPLAY_RANKS) return "More traces than can be replayed together.";
    *replay = (struct replay_job){programs, job->count, job->count > 1 ? meetings : NULL};
    enum plan_ready ready =
        plan_job_prepare((const struct model *const *)job->models, job->count, meetings, programs);
    *memory = ready != PLAN_NO_MEMORY;
    if (ready == PLAN_NOT_ONE_JOB) return "The traces have no collectives in common.";
    if (ready != PLAN_NO_ITERATION) return NULL;
    return job->count == 1 ? "The trace has no complete iteration of the program."
                           : "No complete iteration is in all of the traces.";
}

int report_plan(struct json *json, const struct job *job, unsigned plan)
{
    struct replay_program *programs = calloc(job->count, sizeof(*programs));
    struct replay_meetings meetings = {0};
    struct program_name name = program_name(&job->models[0]->header);
    struct replay_job replay;
    bool memory = programs;
    const char *absent = plan == REPORT_PLAN_NO ? "It was not requested (--plan no)." : NULL;
    int status = EXIT_OK;
    if (!absent && memory) absent = prepare(job, &replay, programs, &meetings, &memory);
    if (programs) programs->name = name.text;
    uint64_t launches = !absent && memory ? launches_of(&replay) : 0;
    if (plan == REPORT_PLAN_AUTO && launches > LAUNCHES_OF_FEW)
        absent = "The trace is long, so it takes minutes: --plan yes, or sluice plan.";
    json_object(json, "plan", false);
    json_text(json, "absent", absent);
    if (!memory)
        status = failure("%s: out of memory", job->command);
    else if (!absent)
        status = write_prediction(json, job, &replay, launches);
    json_close(json);
    for (size_t r = 0; programs && r < job->count; r++) replay_free(&programs[r]);
    free(programs);
    replay_meetings_free(&meetings);
    return status;
}
