#include "tools/report/trace_report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tools/report/report.h"
#include "tools/text/command_line.h"
#include "tools/text/json.h"
#include "tools/text/messages.h"
#include "tools/text/output_file.h"
#include "tools/text/terminal.h"

static int put_out(const char *out, const char *page, size_t bytes, bool as_json)
{
    static const struct sl_file_kind kind = SL_FILE_KIND("not a report of sluice", REPORT_MARKER);
    char text[SL_BYTES_TEXT];
    if (!strcmp(out, "-")) {
        fwrite(page, 1, bytes, stdout);
        return EXIT_OK;
    }
    int status = output_replace(out, &kind, page, bytes);
    if (status != EXIT_OK) return status;
    if (as_json) {
        struct json json = {.to = stdout};
        json_object(&json, NULL, true);
        json_text(&json, "format", "html");
        json_number(&json, "bytes", bytes);
        json_close(&json);
    } else {
        printf("%s: %s; open it with a browser\n", out, sl_bytes_text(bytes, text));
    }
    return EXIT_OK;
}

/* The page is made as a whole before anything is written. */
static int make(const struct job *job, const struct report_wish *wish, const char *out, bool json)
{
    char *page = NULL;
    size_t bytes = 0;
    FILE *to = open_memstream(&page, &bytes);
    int status = to ? report_write(job, wish, to) : failure("%s: out of memory", job->command);
    if (to && fclose(to) != 0 && status == EXIT_OK) status = failure("%s: out of memory", job->command);
    if (status == EXIT_OK) status = put_out(out, page, bytes, json);
    if (status == EXIT_OK && job->count > 1) status = job_check(job);
    free(page);
    return status;
}

static int check(const struct job *job, const char *out)
{
    if (!out) return usage_error("trace report: -o OUT is needed; see sluice trace report --help");
    for (size_t r = 0; r < job->count; r++)
        if (output_is_same_file(job->paths[r], out))
            return usage_error("trace report: %s is %s itself", out,
                               job->count > 1 ? "one of the traces" : "the trace");
    if (!strcmp(out, "-") && is_terminal(stdout))
        return usage_error("trace report: standard output is a terminal; name a file");
    return EXIT_OK;
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
    status = check(&job, out);
    if (status != EXIT_OK) return status;
    status = job_open(&job);
    if (status == EXIT_OK) status = make(&job, &wish, out, json);
    return job_close(&job, status);
}
