/* `sluice trace info|dump`: what a trace file holds, in figures or record by record. */
#include "trace.h"

#include <inttypes.h>
#include <string.h>

#include "tool.h"

static const char *trace_command(size_t index)
{
    static const char *const names[] = {"info", "dump"};
    return index < 2 ? names[index] : NULL;
}

int open_trace(const char *path, struct sl_trace_reader **out)
{
    struct sl_trace_problem problem;
    enum sl_status status = sl_trace_reader_open(path, out, &problem);
    if (status == SL_OK) return EXIT_OK;
    return failure("%s: %s", path, problem.text);
}

int end_status(const char *path, const struct sl_trace_problem *problem)
{
    if (problem->status == SL_OK) return EXIT_OK;
    int status = failure("%s: at byte %" PRIu64 ": %s", path, problem->offset, problem->text);
    return problem->status == SL_ERR_TRUNCATED ? EXIT_OK : status;
}

struct program_name program_name(const struct sluice_trace_header *header)
{
    struct program_name name;
    memcpy(name.text, header->program, sizeof(name.text));
    defuse_text(name.text);
    return name;
}

static void print_help(void)
{
    puts("Usage: sluice trace info FILE\n"
         "       sluice trace dump FILE [--json]\n"
         "info: what the program did, in figures. dump: one record a line; with --json each line is a\n"
         "JSON object. A file that ends early (the program was killed) is shown up to its last whole\n"
         "block, and a line on stderr says so. Exit status 1: it cannot be read or is damaged.");
}

int command_trace(int argc, char **argv)
{
    if (wants_help(argc, argv)) {
        print_help();
        return EXIT_OK;
    }
    if (argc < 2) return usage_error("trace: info or dump? See sluice trace --help");
    bool dump = !strcmp(argv[1], "dump"), json = false;
    if (!dump && strcmp(argv[1], "info") != 0) return unknown_word("trace command", argv[1], trace_command);
    const char *path = NULL;
    for (int i = 2; i < argc; i++) {
        if (!strcmp(argv[i], "--help")) {
            print_help();
            return EXIT_OK;
        }
        if (dump && !strcmp(argv[i], "--json"))
            json = true;
        else if (argv[i][0] == '-' && argv[i][1])
            return usage_error("trace %s: unknown option %s", argv[1], argv[i]);
        else if (path)
            return usage_error("trace %s takes one file", argv[1]);
        else
            path = argv[i];
    }
    if (!path) return usage_error("trace %s: no file given", argv[1]);
    return dump ? trace_dump(path, json) : trace_info(path);
}
