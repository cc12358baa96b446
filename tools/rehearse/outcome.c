#include "tools/rehearse/outcome.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "tools/analyses/figures.h"
#include "tools/plan/plan_driver.h"
#include "tools/plan/plan_job.h"
#include "tools/plan/plan_wish.h"
#include "tools/rehearse/training_steps.h"
#include "tools/text/messages.h"

#define WAITS_COUNT 20 /* one part in so many of a step */
#define ENOUGH_STEPS 3
#define EARLY 0.25 /* of an iteration's launches */

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static uint64_t median(uint64_t *values, size_t count)
{
    qsort(values, count, sizeof(*values), by_value);
    return values[count / 2];
}

static uint64_t median_of(const struct figures *figures, enum figure figure)
{
    uint64_t values[STEADY_MOST];
    for (uint32_t i = 0; i < figures->count; i++) values[i] = figures->of[i][figure];
    return median(values, figures->count);
}

/* The first launch of an iteration that was timed: when it began, by the device's clock, and what part of the
 * launches come before it. */
struct begin {
    uint64_t began_ns; /* 0: none was, early on */
    double before;
};

static void find_begins(const struct model *model, const struct steady *steady, struct begin *begins)
{
    memset(begins, 0, steady->count * sizeof(*begins));
    for (size_t i = 0; i < model->durations.count; i++) {
        const struct model_duration *duration = &model->durations.at[i];
        uint32_t launch = model_find_launch(model, duration->tick);
        uint32_t at = launch == SL_NONE ? SL_NONE : steady_of_launch(steady, launch);
        if (at == SL_NONE || begins[at].began_ns || !duration->began_ns) continue;
        const struct step *step = &steady->at[at];
        double before = (double)(launch - step->begin) / (double)(step->end - step->begin);
        if (before < EARLY) begins[at] = (struct begin){duration->began_ns, before};
    }
}

/* The median from one begin to the next, if launches are `step_ns` / count apart; 0: not known. */
static uint64_t between(const struct steady *steady, const struct begin *begins, uint64_t step_ns)
{
    uint64_t values[STEADY_MOST];
    size_t count = 0;
    for (uint32_t i = 1; i < steady->count; i++) {
        const struct begin *one = &begins[i - 1], *next = &begins[i];
        bool known =
            one->began_ns && next->began_ns > one->began_ns && steady->at[i].begin == steady->at[i - 1].end;
        double ns = (double)(next->began_ns - one->began_ns) - (next->before - one->before) * (double)step_ns;
        if (known && ns > 0) values[count++] = (uint64_t)ns;
    }
    return count ? median(values, count) : 0;
}

static uint64_t step_by_clock(const struct model *model, const struct steady *steady)
{
    struct begin begins[STEADY_MOST];
    find_begins(model, steady, begins);
    return between(steady, begins, between(steady, begins, 0));
}

/* Takes those of the slowest rank. One of which far fewer steps were found than of another shows a part of
 * the run only, perhaps that in which sluice still learned. */
static void take_figures(const struct model *model, const struct steady *steady,
                         const struct figures *figures, struct outcome *out)
{
    uint64_t step_ns = step_by_clock(model, steady);
    bool by_clock = step_ns != 0;
    if (!step_ns) step_ns = median_of(figures, FIGURE_DEVICE_TIME);
    bool many = figures->count / 2 > out->steps;
    if (out->steps / 2 > figures->count || (!many && step_ns < out->step_ns)) return;
    out->steps = figures->count;
    out->by_clock = by_clock;
    out->step_ns = step_ns;
    out->kernels_ns = median_of(figures, FIGURE_KERNELS);
    out->fetched_bytes = median_of(figures, FIGURE_FETCHED);
    out->evicted_bytes = median_of(figures, FIGURE_EVICTED);
}

/* The steps of training, or what else repeats itself, if the whole run is not one. */
static bool find_steady(const struct model *model, const struct phases *phases, uint64_t need_bytes,
                        struct steady *out)
{
    if (training_steady(model, phases, need_bytes, out)) return true;
    enum steady_kind kind = steady_kind_of(model, phases, STEADY_STEPS);
    if (kind != STEADY_RUN) steady_find(model, phases, kind, out);
    return kind != STEADY_RUN;
}

static bool read_model(const struct model *model, uint64_t need_bytes, struct outcome *out)
{
    struct phases phases = {0};
    struct steady steady;
    struct figures figures = {0};
    for (size_t e = 0; e < model->errors.count && !out->refused_bytes; e++)
        if (model->errors.at[e].kind == SL_ERROR_ALLOCATION) out->refused_bytes = model->errors.at[e].bytes;
    if (!model->launches.count) return true;
    bool good = phases_find(model, &phases);
    if (good && find_steady(model, &phases, need_bytes, &steady)) {
        good = figures_make(model, &phases, &steady, &figures);
        if (good && figures.count) take_figures(model, &steady, &figures, out);
    }
    figures_free(&figures);
    phases_free(&phases);
    return good;
}

static int read_trace(const char *path, uint64_t need_bytes, struct outcome *out)
{
    struct model *model;
    int status = model_open(path, &model);
    if (status != EXIT_OK) return status;
    if (!read_model(model, need_bytes, out)) status = failure("%s: out of memory", path);
    model_close(model);
    return status;
}

static double seconds(uint64_t bytes, uint64_t bytes_per_s)
{
    return bytes_per_s ? (double)bytes / (double)bytes_per_s : 0;
}

static enum limit limit_of(const struct outcome *outcome)
{
    const struct card *card = outcome->card;
    if (outcome->host_ns > outcome->step_ns) return LIMIT_HOST;
    if ((outcome->step_ns - outcome->kernels_ns) * WAITS_COUNT < outcome->step_ns) return LIMIT_KERNELS;
    return seconds(outcome->fetched_bytes, card_link_in(card)) >=
                   seconds(outcome->evicted_bytes, card_link_out(card))
               ? LIMIT_LINK_IN
               : LIMIT_LINK_OUT;
}

/* A program mostly launches by one thread at a time, so more cores than ranks do not help. */
static uint64_t host_ns(const struct rehearsal_wish *wish, const struct rehearsal *rehearsal)
{
    if (!rehearsal->program_steps) return 0;
    uint64_t each_ns = rehearsal->program_ns / rehearsal->program_steps;
    return wish->cores && wish->cores < rehearsal->count ? each_ns * rehearsal->count / wish->cores : each_ns;
}

static enum fits fits_of(const struct outcome *outcome)
{
    bool failed = !outcome->stopped && (!WIFEXITED(outcome->status) || WEXITSTATUS(outcome->status) != 0);
    if (failed && outcome->refused_bytes) return FITS_NOT;
    if (failed || !outcome->steps) return FITS_UNKNOWN;
    return outcome->need_bytes <= outcome->budget_bytes ? FITS_ALONE : FITS_WITH_SLUICE;
}

/* The step by the budget, from the traces: one chunk size, the card's link. */
static int predict(const struct rehearsal *rehearsal, struct outcome *out)
{
    char(*names)[PATH_MAX] = calloc(rehearsal->count, sizeof(*names)), *paths[REHEARSAL_PROCESSES];
    if (!names) return failure("out of memory");
    struct plan_job job;
    struct predictions predictions = {0};
    struct plan_wish wish = {.given = {card_link_in(out->card), card_link_out(out->card)},
                             .plan_attempts = PLAN_ATTEMPTS};
    for (size_t i = 0; i < rehearsal->count; i++) {
        rehearsal_trace(rehearsal, i, names[i]);
        paths[i] = names[i];
    }
    int status = plan_job_open("rehearse", paths, rehearsal->count, &job);
    if (status == EXIT_OK) {
        wish.driver = sl_sim_drivers[PLAN_USUAL_DRIVER];
        wish.chunks[wish.chunk_count++] = replay_automatic_chunk(out->budget_bytes);
        plan_complete_wish(&wish, &job.job, 1, PLAN_PEERS_AUTO);
        if (!predictions_make(&job.job, &wish, &predictions)) status = EXIT_FAILED;
    }
    for (size_t i = 0; i < predictions.count && out->points < OUTCOME_POINTS; i++) {
        const struct prediction *one = &predictions.at[i];
        out->resident_step_ns = one->resident_ns;
        if (one->result.status != SL_OK || !one->result.steady.took_ns) continue;
        out->curve[out->points++] =
            (struct outcome_point){one->setting.budget_bytes, one->result.steady.took_ns,
                                   one->result.steady.bytes_in, one->result.steady.bytes_out};
    }
    predictions_free(&predictions);
    for (unsigned p = 0; p < wish.policy_count; p++) free((char *)wish.policies[p]);
    plan_job_close(&job);
    free(names);
    return status;
}

int outcome_make(const struct rehearsal_wish *wish, const struct rehearsal *rehearsal, bool curve,
                 struct outcome *out)
{
    *out = (struct outcome){.card = wish->card,
                            .ranks = rehearsal->count,
                            .stopped = rehearsal->stopped,
                            .status = rehearsal->status,
                            .processor_ns = rehearsal->processor_ns,
                            .resident_bytes = rehearsal->resident_bytes};
    int status = EXIT_OK;
    for (size_t i = 0; i < rehearsal->count && status == EXIT_OK; i++) {
        char path[PATH_MAX];
        const struct rehearsed *one = &rehearsal->of[i];
        if (one->budget_bytes > out->budget_bytes) out->budget_bytes = one->budget_bytes;
        if (one->need_bytes > out->need_bytes) out->need_bytes = one->need_bytes;
        out->host_bytes += one->host_bytes + one->pinned_bytes;
        out->host_limit_bytes += one->host_limit_bytes;
        rehearsal_trace(rehearsal, i, path);
        status = read_trace(path, one->need_bytes, out);
    }
    if (status != EXIT_OK) return status;
    out->host_ns = host_ns(wish, rehearsal);
    if (!out->by_clock && rehearsal->program_steps >= ENOUGH_STEPS)
        out->step_ns = rehearsal->simulated_ns / rehearsal->program_steps;
    if (out->kernels_ns > out->step_ns) out->kernels_ns = out->step_ns; /* they overlap */
    out->limit = limit_of(out);
    out->fits = fits_of(out);
    return curve && out->steps ? predict(rehearsal, out) : EXIT_OK;
}
