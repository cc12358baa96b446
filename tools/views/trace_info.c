/* `sluice trace info`: statistics of a traced program. */
#include "tools/views/trace.h"

#include <inttypes.h>
#include <time.h>

#include "base/text.h"
#include "tools/analyses/info.h"
#include "tools/model/trace_open.h"
#include "tools/text/command_line.h"
#include "tools/text/json.h"
#include "tools/text/messages.h"
#include "tools/text/table.h"
#include "tools/views/decisions.h"
#include "tools/views/info_ranks.h"
#include "tools/views/trace_json.h"

struct view {
    const struct model *model;
    const struct phases *phases;
    struct info info;
};

/* The metadata that are printed, with their titles. */
static const char *const metadata[][2] = {{"command", "command"}, {"sluice", "sluice"}, {"device", "device"},
                                          {"driver", "driver"},   {"policy", "policy"}, {"movers", "movers"}};

static void print_row(const char *what, const char *value)
{
    int before = printf("%-20s ", what);
    print_fitted(value, (size_t)before, stdout);
    putchar('\n');
}

static void print_bytes(const char *what, uint64_t bytes)
{
    char text[SL_BYTES_TEXT];
    print_row(what, sl_bytes_text(bytes, text));
}

static void print_number(const char *what, uint64_t number)
{
    printf("%-20s %" PRIu64 "\n", what, number);
}

static void print_count_bytes(const char *what, const struct count_bytes *figure)
{
    char text[SL_BYTES_TEXT];
    printf("  %-18s %10" PRIu64 "  %12s\n", what, figure->count, sl_bytes_text(figure->bytes, text));
}

static void print_program(const struct model *model)
{
    time_t start = (time_t)(model->header.realtime_ns / 1000000000);
    struct tm utc;
    char when[32] = "unknown";
    if (gmtime_r(&start, &utc)) strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S UTC", &utc);
    printf("%-20s %s (process %" PRIu32 ")\n", "program", program_name(&model->header).text,
           model->header.process);
    print_row("started", when);
    printf("%-20s %.3f s\n", "duration", (double)(model->last_ns - model->first_ns) / 1e9);
    for (size_t i = 0; i < sizeof(metadata) / sizeof(*metadata); i++) {
        const char *value = model_metadata(model, metadata[i][0]);
        if (value) print_row(metadata[i][1], value);
    }
    print_bytes("device memory", model->device_bytes);
    print_bytes("budget", model->budget_bytes);
    print_bytes("chunk", model->chunk_bytes);
    if (model->link_in || model->link_out)
        printf("%-20s %.1f GB/s in, %.1f GB/s out\n", "link", (double)model->link_in / 1e9,
               (double)model->link_out / 1e9);
}

static void print_launches(const struct view *view)
{
    const struct info *info = &view->info;
    print_number("launches", info->launch_count);
    for (unsigned kind = 0; kind < LAUNCH_KINDS; kind++) {
        if (kind == SL_LAUNCH_COPY)
            print_count_bytes(launch_kind_name(kind), &info->launches[kind]);
        else if (info->launches[kind].count)
            printf("  %-18s %10" PRIu64 "\n", launch_kind_name(kind), info->launches[kind].count);
    }
    print_number("kernels", info->kernels);
}

static void print_sizes(const struct spread *sizes)
{
    char least[SL_BYTES_TEXT], quarter[SL_BYTES_TEXT], median[SL_BYTES_TEXT], upper[SL_BYTES_TEXT],
        most[SL_BYTES_TEXT];
    if (!sizes->count) return;
    printf("%-20s %s; half of them %s to %s, all %s to %s\n", "  size, median",
           sl_bytes_text(sizes->median, median), sl_bytes_text(sizes->quarter, quarter),
           sl_bytes_text(sizes->three_quarters, upper), sl_bytes_text(sizes->least, least),
           sl_bytes_text(sizes->most, most));
}

static void print_memory(const struct view *view)
{
    const struct info *info = &view->info;
    print_number("allocations", info->allocations.count);
    print_sizes(&info->sizes);
    print_number("frees", info->frees.count);
    print_bytes("live bytes, peak", info->peak_bytes);
    for (unsigned c = 1; view->phases->found && c <= CLASS_COUNT; c++) {
        char text[SL_BYTES_TEXT];
        uint64_t bytes = info->peak_of[c % CLASS_COUNT];
        if (bytes) printf("  %-18s %24s\n", class_name(c % CLASS_COUNT), sl_bytes_text(bytes, text));
    }
    print_bytes("live bytes, end", info->end_bytes);
    if (info->waste.chunk_bytes) {
        char text[SL_BYTES_TEXT];
        printf("%-20s %s, %.1f %% of it unused\n", "chunks in use, peak",
               sl_bytes_text(info->waste.chunk_bytes, text),
               100.0 - 100.0 * (double)info->waste.live_bytes / (double)info->waste.chunk_bytes);
    }
    if (info->misfits.count) {
        char text[SL_BYTES_TEXT];
        printf("%-20s %" PRIu64 " allocations, of at most %s\n", "did not fit", info->misfits.count,
               sl_bytes_text(info->misfits.bytes, text));
    }
    if (info->failed_calls) print_number("other failed calls", info->failed_calls);
}

static void print_steps(const struct view *view)
{
    const struct info *info = &view->info;
    const struct spread *times = &info->step_times;
    const struct model *model = view->model;
    printf("%-20s %" PRIu64, "iterations", info->iterations);
    if (info->steps_found)
        printf(" steps of training, of %" PRIu64 " launches", info->step_launches);
    else if (model->iterations.count)
        printf(" (the last: %" PRIu64 " symbols)", model->iterations.at[model->iterations.count - 1].symbols);
    putchar('\n');
    if (times->count) {
        char median[TIME_TEXT], quarter[TIME_TEXT], upper[TIME_TEXT], least[TIME_TEXT], most[TIME_TEXT];
        printf("%-20s %s by the host's clock; half of them %s to %s, all %s to %s\n",
               info->steps_found ? "step time, median" : "iteration, median",
               time_text(times->median, median), time_text(times->quarter, quarter),
               time_text(times->three_quarters, upper), time_text(times->least, least),
               time_text(times->most, most));
    }
    if (info->evaluations) print_number("evaluations", info->evaluations);
    if (info->fed) {
        printf("%-20s %.1f %% of %" PRIu64 " events", "predicted",
               100.0 * (double)info->predicted / (double)info->fed, info->fed);
        if (info->late_fed)
            printf(", %.1f %% in the second half",
                   100.0 * (double)info->late_predicted / (double)info->late_fed);
        putchar('\n');
    }
}

/* Timing takes a few calls of the driver, so a program of short launches submits them more slowly. */
static void print_timed(const struct model *model, const struct info *info)
{
    size_t timed = model->durations.count;
    if (!timed) return;
    printf("%-20s %zu of %" PRIu64 " launches%s\n", "timed on the device", timed, info->launch_count,
           timed > info->launch_count / 4 ? "; this delays short launches, and --trace-sample 16 is enough"
                                          : "");
}

static void print_movements(const struct info *info)
{
    char text[TIME_TEXT], longest[TIME_TEXT];
    puts("movements");
    for (unsigned i = 0; i < MOVE_KINDS; i++) {
        for (unsigned cause = 0; cause < MOVE_CAUSES; cause++) {
            const struct count_bytes *figure = &info->moves[info_moves[i]][cause];
            char what[32];
            snprintf(what, sizeof(what), "%s, %s", move_kind_name(info_moves[i]), move_cause_name(cause));
            if (figure->count) print_count_bytes(what, figure);
        }
    }
    printf("%-20s %" PRIu64, "stalls", info->stalls);
    if (info->stalls)
        printf(" (%s in all; the longest %s, tick %" PRIu64 ")", time_text(info->stall_ns, text),
               time_text(info->longest_stall_ns, longest), info->longest_stall_tick);
    putchar('\n');
    if (info->syncs)
        printf("%-20s %" PRIu64 " (%s in all)\n", "waits", info->syncs, time_text(info->sync_ns, text));
}

static void print_file(const struct model *model)
{
    const struct sl_trace_problem *problem = &model->problem;
    printf("%-20s %zu (%" PRIu64 " records lost)\n", "gaps", model->gaps.count, model->missing.records);
    if (info_left_out(model))
        printf("%-20s %" PRIu64 " (trace check lists them)\n", "records left out", info_left_out(model));
    print_number("records", model->records);
    printf("%-20s %u.%u\n", "format", model->header.major_version, model->header.minor_version);
    if (problem->status == SL_OK)
        print_row("file", "complete");
    else
        printf("%-20s %s at byte %" PRIu64 "\n", "file",
               problem->status == SL_ERR_TRUNCATED ? "ends early" : "unreadable", problem->offset);
}

static bool print_text(const struct model *model, const struct phases *phases)
{
    struct view view = {.model = model, .phases = phases};
    if (!info_make(model, phases, &view.info)) return false;
    print_program(model);
    print_launches(&view);
    print_memory(&view);
    print_steps(&view);
    print_decisions(model);
    print_timed(model, &view.info);
    print_movements(&view.info);
    print_file(model);
    return true;
}

static int show(const struct job *job, bool as_json)
{
    const struct model *model = job->models[0];
    struct json json = {.to = stdout};
    struct phases phases = {0};
    bool good = phases_find(model, &phases);
    good = good && (as_json ? info_json(&json, NULL, model, &phases) : print_text(model, &phases));
    phases_free(&phases);
    return good ? EXIT_OK : failure("%s: out of memory", job->paths[0]);
}

int trace_info(int argc, char **argv)
{
    bool json = false;
    const struct command_option options[] = {
        {"json", OPTION_SWITCH, &json, .help = "Print a JSON object."},
    };
    const struct command_syntax syntax = {
        .name = "trace info",
        .synopsis = "[--json] FILE...",
        .about =
            "Prints statistics of a traced program: the program and its device, launches, peak memory by "
            "lifetime class, allocations that did not fit, iterations and their times, the share of "
            "predicted events, bytes moved by kind and cause, stalls, and whether the file is complete.\n"
            "Several files are the traces of the ranks of one job, which are printed one per row: launches, "
            "the median step, the most memory that the program held (need), the budget, the most memory that "
            "was on the device (peak), bytes fetched and evicted, the time that launches waited for data "
            "(stalled), collectives, and the time that these waited for other ranks (waited).\n",
        .options = options,
        .option_count = sizeof(options) / sizeof(*options),
    };
    char **paths;
    size_t count;
    int status;
    if (!read_command_line_of_files(&syntax, argc, argv, 1, &paths, &count, &status)) return status;
    struct job job = {.command = syntax.name, .paths = paths, .count = count};
    status = job_open(&job);
    if (status == EXIT_OK) status = count > 1 ? info_ranks(&job, json) : show(&job, json);
    return job_close(&job, status);
}
