#include "trace.h"

#include <inttypes.h>
#include <time.h>

#include "command_line.h"
#include "text.h"
#include "tool.h"
#include "trace_summary.h"

static void print_count_bytes(const char *what, const struct count_bytes *figure)
{
    char text[SL_BYTES_TEXT];
    printf("  %-18s %10" PRIu64 "  %12s\n", what, figure->count, sl_bytes_text(figure->bytes, text));
}

static void print_row(const char *what, const char *value)
{
    printf("%-20s %s\n", what, value);
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

static void print_program(const struct sluice_trace_header *header, const struct trace_summary *summary)
{
    time_t start = (time_t)(header->realtime_ns / 1000000000);
    struct tm utc;
    char when[32] = "unknown";
    if (gmtime_r(&start, &utc)) strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S UTC", &utc);
    printf("%-20s %s (process %" PRIu32 ")\n", "program", program_name(header).text, header->process);
    print_row("started", when);
    printf("%-20s %.3f s\n", "duration", (double)(summary->last_ns - summary->first_ns) / 1e9);
    print_bytes("device memory", summary->device_bytes);
    print_bytes("budget", summary->budget_bytes);
    print_bytes("chunk", summary->chunk_bytes);
}

static void print_activity(const struct trace_summary *summary)
{
    uint64_t launches = 0;
    for (unsigned kind = 0; kind < LAUNCH_KINDS; kind++) launches += summary->launches[kind].count;
    print_number("launches", launches);
    for (unsigned kind = 0; kind < LAUNCH_KINDS; kind++) {
        const struct count_bytes *figure = &summary->launches[kind];
        if (kind == SL_LAUNCH_COPY)
            print_count_bytes(launch_kind_name(kind), figure);
        else if (figure->count)
            printf("  %-18s %10" PRIu64 "\n", launch_kind_name(kind), figure->count);
    }
    print_number("kernels", summary->kernels);
    print_number("accesses", summary->accesses);
    print_number("allocations", summary->allocations.count);
    print_number("frees", summary->frees.count);
    print_bytes("live bytes, peak", summary->peak_live_bytes);
    print_bytes("live bytes, end", summary->live_bytes);
    printf("%-20s %" PRIu64, "iterations", summary->iterations);
    if (summary->iterations) printf(" (the last: %" PRIu64 " symbols)", summary->iteration_symbols);
    putchar('\n');
}

static void print_movements(const struct trace_summary *summary)
{
    static const unsigned order[] = {SL_ACTION_FETCH, SL_ACTION_POPULATE, SL_ACTION_EVICT, SL_ACTION_DROP};
    puts("movements");
    for (unsigned i = 0; i < MOVE_KINDS; i++) {
        for (unsigned cause = 0; cause < MOVE_CAUSES; cause++) {
            const struct count_bytes *figure = &summary->moves[order[i]][cause];
            char what[32];
            snprintf(what, sizeof(what), "%s, %s", move_kind_name(order[i]), move_cause_name(cause));
            if (figure->count) print_count_bytes(what, figure);
        }
    }
    printf("%-20s %" PRIu64, "stalls", summary->stalls);
    if (summary->stalls)
        printf(" (%.6f s in all; the longest %.6f s, tick %" PRIu64 ")", (double)summary->stall_ns / 1e9,
               (double)summary->longest_stall_ns / 1e9, summary->longest_stall_tick);
    putchar('\n');
}

static void print_file(const struct sluice_trace_header *header, const struct trace_summary *summary,
                       const struct sl_trace_problem *problem)
{
    printf("%-20s %" PRIu64 " (%" PRIu64 " records lost)\n", "gaps", summary->gaps, summary->lost);
    printf("%-20s %" PRIu64 "\n", "records", summary->records);
    printf("%-20s %u.%u\n", "format", header->major_version, header->minor_version);
    if (problem->status == SL_OK)
        print_row("file", "complete");
    else
        printf("%-20s %s at byte %" PRIu64 "\n", "file",
               problem->status == SL_ERR_TRUNCATED ? "ends early" : "unreadable", problem->offset);
}

static const struct command_syntax syntax = {
    .name = "trace info",
    .synopsis = "FILE",
    .about =
        "Prints what a traced program did, in figures: launches, allocations, iterations, bytes moved by\n"
        "kind and cause, stalls, gaps, and whether the file is complete.\n",
};

int trace_info(int argc, char **argv)
{
    const char *path;
    int status;
    if (!read_command_line(&syntax, argc, argv, &path, &status)) return status;
    struct sl_trace_reader *reader;
    status = open_trace(path, &reader);
    if (status != EXIT_OK) return status;
    struct trace_summary summary = {0};
    struct sl_trace_record record;
    while (sl_trace_reader_next(reader, &record)) {
        if (trace_summary_add(&summary, &record.event)) continue;
        status = failure("%s: out of memory", path);
        break;
    }
    trace_summary_finish(&summary);
    if (status == EXIT_OK) {
        const struct sluice_trace_header *header = sl_trace_reader_header(reader);
        print_program(header, &summary);
        print_activity(&summary);
        print_movements(&summary);
        print_file(header, &summary, sl_trace_reader_problem(reader));
        status = end_status(path, sl_trace_reader_problem(reader));
    }
    sl_trace_reader_close(reader);
    return status;
}
