#include "tools/report/report.h"

#include <inttypes.h>

#include "tools/report/report_plan.h"
#include "tools/report/report_trace.h"
#include "tools/text/messages.h"
#include "tools/views/info_ranks.h"
#include "tools/views/phases_ranks.h"
#include "tools/views/timeline_ranks.h"
#include "tools/views/trace_json.h"

enum {
    DETAILED_MOST = 8,      /* traces that are shown in detail */
    JOB_COLUMNS_ALL = 8192, /* intervals of the common axis, over all ranks */
    JOB_COLUMNS_MOST = 480,
    JOB_COLUMNS_LEAST = 48,
};

static uint32_t job_columns(const struct job *job)
{
    size_t columns = JOB_COLUMNS_ALL / job->count;
    if (columns > JOB_COLUMNS_MOST) return JOB_COLUMNS_MOST;
    return columns < JOB_COLUMNS_LEAST ? JOB_COLUMNS_LEAST : (uint32_t)columns;
}

/* The figures that compare the ranks. */
static int write_ranks(struct json *json, const struct job *job, uint64_t step)
{
    json_object(json, "job", false);
    int status = info_ranks_json(json, "info", job) && ranks_json(json, "ranks", job)
                     ? EXIT_OK
                     : failure("%s: out of memory", job->command);
    if (status == EXIT_OK) status = phases_ranks_json(json, "phases", job, step);
    if (status == EXIT_OK) status = timeline_ranks_json(json, "timeline", job, step, job_columns(job));
    json_close(json);
    return status;
}

static int write_data(struct json *json, const struct job *job, const struct report_wish *wish)
{
    int status = EXIT_OK;
    json_object(json, NULL, false);
    json_number(json, "format", 1);
    json_text(json, "sluice", SLUICE_VERSION);
    json_number(json, "trace_count", job->count);
    json_array(json, "traces", false);
    for (size_t r = 0; r < job->count && r < DETAILED_MOST && status == EXIT_OK; r++)
        status = report_trace(json, job, r, wish->step);
    json_close(json);
    if (status == EXIT_OK && job->count > 1) status = write_ranks(json, job, wish->step);
    if (status == EXIT_OK) status = report_plan(json, job, wish->plan);
    json_close(json);
    return status;
}

int report_data(const struct job *job, const struct report_wish *wish, FILE *to)
{
    struct json json = {.to = to};
    return write_data(&json, job, wish);
}
