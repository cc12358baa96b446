#include "tools/report/trace_report.h"

#include <stdlib.h>
#include <string.h>

#include "tools/report/page_file.h"
#include "tools/report/report.h"
#include "tools/text/command_line.h"
#include "tools/text/json.h"
#include "tools/text/messages.h"
#include "tools/text/output_file.h"

static void tell(const struct page_file *file, size_t written, bool as_json)
{
    if (!strcmp(file->out, "-")) return;
    if (!as_json) {
        page_tell(file, written);
        return;
    }
    struct json json = {.to = stdout};
    json_object(&json, NULL, true);
    json_text(&json, "format", "html");
    json_number(&json, "bytes", written);
    json_close(&json);
}

static int make(const struct job *job, const struct report_wish *wish, const char *out, bool json)
{
    const struct page_file file = {.command = job->command,
                                   .out = out,
                                   .source = &report_page,
                                   .kind = SL_FILE_KIND("not a report of sluice", "sluice trace report")};
    char *data = NULL;
    size_t bytes = 0, written;
    FILE *to = open_memstream(&data, &bytes);
    int status = to ? report_data(job, wish, to) : failure("%s: out of memory", job->command);
    if (to && fclose(to) != 0 && status == EXIT_OK) status = failure("%s: out of memory", job->command);
    if (status == EXIT_OK) status = page_put(&file, data, bytes, &written);
    if (status == EXIT_OK) tell(&file, written, json);
    if (status == EXIT_OK && job->count > 1) status = job_check(job);
    free(data);
    return status;
}

int trace_report(int argc, char **argv)
{
    static const char *const plans[] = {"auto", "yes", "no", NULL};
    const char *out = NULL;
    uint64_t step = UINT64_MAX;
    unsigned plan = REPORT_PLAN_AUTO;
    bool force = false, json = false;
    const struct command_option options[] = {
        {"output", OPTION_TEXT, &out, "OUT", "Write the page to OUT; - for standard output.", .letter = 'o'},
        {"iteration", OPTION_NUMBER, &step, "N",
         "Show the Nth training step, counted from 1. Default: the last but one."},
        {"plan", OPTION_WORD, &plan, .words = plans,
         .help =
             "Whether to predict other budgets, as sluice plan does. auto, the default: fewer budgets for "
             "long traces, none for very long ones."},
        {"force", OPTION_SWITCH, &force, .help = FORCE_HELP},
        {"json", OPTION_SWITCH, &json, .help = "Print the size of the page as JSON."},
    };
    const struct command_syntax syntax = {
        .name = "trace report",
        .synopsis = "[--iteration N] [--plan auto|yes|no] [--force] [--json] -o OUT FILE...",
        .about =
            "Writes one HTML file that shows a training run: device memory by lifetime class against the "
            "budget, the traffic of the link by cause, what launches waited for, the chunks over time, who "
            "allocates, the need of each phase, and the step time with other budgets. The file needs no "
            "network. Its figures are those of the other commands.\n"
            "Several files are the traces of the ranks of one job, which are also shown side by side.\n",
        .options = options,
        .option_count = sizeof(options) / sizeof(*options),
    };
    char **paths;
    size_t count;
    int status;
    if (!read_command_line_of_files(&syntax, argc, argv, 1, &paths, &count, &status)) return status;
    if (!step) return usage_error("trace report: iterations count from 1");
    output_force(force);
    struct job job = {.command = syntax.name, .paths = paths, .count = count};
    const struct report_wish wish = {.step = step == UINT64_MAX ? 0 : step, .plan = plan};
    if (!out) return usage_error("trace report: -o OUT is needed; see sluice trace report --help");
    status = page_check_out(syntax.name, out, paths, count);
    if (status != EXIT_OK) return status;
    status = job_open(&job);
    if (status == EXIT_OK) status = make(&job, &wish, out, json);
    return job_close(&job, status);
}
