#include "tools/views/trace.h"

#include <inttypes.h>

#include "tools/model/trace_open.h"
#include "tools/model/trace_text.h"
#include "tools/text/command_line.h"
#include "tools/text/json.h"
#include "tools/text/messages.h"
#include "tools/text/progress.h"
#include "tools/text/terminal.h"

static void print_head(const struct sluice_trace_header *header, bool json)
{
    if (!json) {
        printf("#%7s %14s %3s  record\n", "tick", "seconds", "thr");
        return;
    }
    printf("{\"type\": \"header\", \"format\": \"%u.%u\", \"process\": %" PRIu32 ", \"start_ns\": %" PRIu64
           ", \"program\": ",
           header->major_version, header->minor_version, header->process, header->realtime_ns);
    json_quote(stdout, program_name(header).text);
    puts("}");
}

int trace_dump(int argc, char **argv)
{
    bool json = false;
    const struct command_option options[] = {
        {"json", OPTION_SWITCH, &json, .help = "Print each record as a JSON object on a line of its own."},
    };
    const struct command_syntax syntax = {
        .name = "trace dump",
        .synopsis = "[--json] FILE",
        .about =
            "Prints the records of a trace, one per line: tick, seconds since the start, thread, record.\n",
        .options = options,
        .option_count = sizeof(options) / sizeof(*options),
    };
    const char *path;
    int status;
    if (!read_command_line(&syntax, argc, argv, &path, &status)) return status;
    struct sl_trace_reader *reader;
    status = open_trace(path, &reader);
    if (status != EXIT_OK) return status;
    const struct sluice_trace_header *header = sl_trace_reader_header(reader);
    struct kernel_names names = {0};
    struct sl_trace_record record;
    struct progress progress = {0};
    if (!is_terminal(stdout)) progress_start_file(&progress, path);
    print_head(header, json);
    while (sl_trace_reader_next(reader, &record)) {
        progress_at(&progress, record.offset);
        if (record.event.type == SL_EVENT_KERNEL && !kernel_names_add(&names, &record.event)) {
            status = failure("%s: out of memory", path);
            break;
        }
        (json ? print_record_json : print_record)(&record, &names, header->monotonic_ns);
    }
    progress_end(&progress);
    const struct sl_trace_problem *problem = sl_trace_reader_problem(reader);
    if (json && status == EXIT_OK) {
        fputs("{\"type\": \"end\", \"complete\": ", stdout);
        if (problem->status == SL_OK)
            puts("true}");
        else
            printf("false, \"offset\": %" PRIu64 "}\n", problem->offset);
    }
    if (status == EXIT_OK) status = end_status(path, problem);
    kernel_names_free(&names);
    sl_trace_reader_close(reader);
    return status;
}
