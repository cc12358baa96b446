#include "tools/views/job.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "tools/analyses/info.h"
#include "tools/model/sorted.h"
#include "tools/model/trace_open.h"
#include "tools/text/messages.h"
#include "tools/text/table.h"

/* Also true for one trace under two names. */
static bool is_of_one_process(const struct model *one, const struct model *other)
{
    const struct sluice_trace_header *a = &one->header, *b = &other->header;
    return a->process == b->process && a->realtime_ns == b->realtime_ns && a->monotonic_ns == b->monotonic_ns;
}

static int refuse_twice(const struct job *job)
{
    for (size_t r = 1; r < job->count; r++)
        for (size_t other = 0; other < r; other++)
            if (is_of_one_process(job->models[r], job->models[other]))
                return failure("%s and %s are traces of one process; %s compares those of several ranks",
                               job->paths[other], job->paths[r], job->command);
    return EXIT_OK;
}

/* The rank's number from its launcher. False: missing or invalid. */
static bool find_number(const struct model *model, uint32_t *out)
{
    const char *text = model_metadata(model, "rank");
    char *end;
    if (!text || *text < '0' || *text > '9') return false;
    unsigned long long number = strtoull(text, &end, 10);
    if (*end || number > UINT32_MAX) return false;
    *out = (uint32_t)number;
    return true;
}

struct numbered {
    uint64_t number;
    char *path;
    struct model *model;
};

/* Sorts the traces by rank if all have distinct ranks. False: out of memory. */
static bool put_in_order(struct job *job)
{
    struct numbered *ranks = calloc(job->count, sizeof(*ranks));
    job->numbers = calloc(job->count, sizeof(*job->numbers));
    bool good = ranks && job->numbers, known = good;
    for (size_t r = 0; r < job->count && known; r++) {
        known = find_number(job->models[r], &job->numbers[r]);
        ranks[r] = (struct numbered){job->numbers[r], job->paths[r], job->models[r]};
    }
    if (known)
        good = known = sort_by_key(ranks, job->count, sizeof(*ranks), offsetof(struct numbered, number));
    for (size_t r = 1; r < job->count && known; r++) known = ranks[r].number != ranks[r - 1].number;
    for (size_t r = 0; r < job->count && good; r++) {
        job->numbers[r] = known ? (uint32_t)ranks[r].number : (uint32_t)r;
        if (!known) continue;
        job->paths[r] = ranks[r].path;
        job->models[r] = ranks[r].model;
    }
    free(ranks);
    return good;
}

int job_open(struct job *job)
{
    int status = EXIT_OK;
    job->models = calloc(job->count, sizeof(*job->models));
    if (!job->models) return failure("%s: out of memory", job->command);
    while (job->opened < job->count) {
        status = model_open(job->paths[job->opened], &job->models[job->opened]);
        if (status != EXIT_OK) return status;
        job->opened++;
    }
    for (size_t r = 0; r < job->count; r++) sl_defuse(job->paths[r]); /* used only for display from here on */
    status = refuse_twice(job);
    if (status != EXIT_OK) return status;
    if (!put_in_order(job) ||
        !meetings_find((const struct model *const *)job->models, job->count, false, &job->meetings) ||
        !clocks_find(&job->meetings, &job->clocks))
        return failure("%s: out of memory", job->command);
    return EXIT_OK;
}

static bool has_no_collectives(const struct meetings *meetings, size_t count)
{
    for (size_t r = 0; r < count; r++)
        if (meetings->ranks[r].cut || meetings->ranks[r].count) return false;
    return true;
}

int job_check(const struct job *job)
{
    const struct meetings *meetings = &job->meetings;
    int status = EXIT_OK;
    if (has_no_collectives(meetings, job->count))
        return failure(
            "the traces have no collectives, so they are not of the ranks of one job; sluice trace "
            "diff compares two runs");
    for (size_t r = 0; r < job->count; r++) {
        if (meetings->ranks[r].cut)
            status = failure("%s: %zu collectives follow lost records and are not compared", job->paths[r],
                             meetings->ranks[r].cut);
        else if (!meetings->ranks[r].count)
            status = failure("%s: the trace has no collectives", job->paths[r]);
    }
    if (status == EXIT_OK && !meetings->shared)
        status = failure("the traces have no communicator in common: they do not belong to one job; sluice "
                         "trace diff compares two runs");
    if (meetings->unlike)
        status = failure("%" PRIu64 " communicators: the ranks' collectives differ from some point on, and "
                         "are compared up to that point",
                         meetings->unlike);
    return status;
}

void job_print_clocks(const struct job *job)
{
    uint64_t error_ns = 0;
    size_t fitted = 0;
    bool own = false;
    for (size_t r = 0; r < job->count; r++) {
        const struct clock *clock = &job->clocks[r];
        fitted += clock->basis == CLOCK_BY_COLLECTIVES;
        own = own || clock->own_device_clock;
        if (clock->error_ns > error_ns) error_ns = clock->error_ns;
    }
    char error[TIME_TEXT];
    if (fitted)
        printf("Clocks are lined up at the ends of collectives; half of these lie within %s.\n",
               time_text(error_ns, error));
    if (fitted + 1 == job->count) return;
    printf("%s lined up by the time since 1970, as %s.\n",
           fitted ? "Those of the other ranks are" : "Clocks are",
           own ? "the device has its own clock" : "no timed collective relates them");
}

int job_close(struct job *job, int status)
{
    bool tells = job->opened == job->count && (status == EXIT_OK || job->count > 1);
    for (size_t r = 0; r < job->opened; r++) {
        if (tells && end_status(job->paths[r], &job->models[r]->problem) != EXIT_OK && status == EXIT_OK)
            status = EXIT_FAILED;
        model_close(job->models[r]);
    }
    free(job->models);
    free(job->numbers);
    meetings_free(&job->meetings);
    free(job->clocks);
    *job = (struct job){0};
    return status;
}
