/* `sluice trace`: finds and runs its subcommand. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/command/commands.h"
#include "tools/report/trace_diff.h"
#include "tools/report/trace_report.h"
#include "tools/text/command_line.h"
#include "tools/text/help.h"
#include "tools/text/messages.h"
#include "tools/views/trace.h"

static const struct trace_command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help; /* one line */
} commands[] = {
    {"info", trace_info, "statistics of the whole run"},
    {"phases", trace_phases, "time, traffic and stalls of each phase of training"},
    {"timeline", trace_timeline, "drawing of one iteration: memory by class, traffic, stalls"},
    {"kernels", trace_kernels, "launches, time, bytes, misses and stalls of each kernel"},
    {"chunks", trace_chunks, "contents and movements of each chunk"},
    {"check", trace_check, "integrity of the file: what is lost, and where"},
    {"export", trace_export, "conversion to Perfetto's format or to CSV tables"},
    {"sites", trace_sites, "memory of each allocation site, with its call stack"},
    {"report", trace_report,
     "one HTML file that shows the run: memory, link, stalls, sites, phases, budgets"},
    {"diff", trace_diff, "comparison of two runs: what changed, and whether it matters"},
    {"ranks", trace_ranks, "comparison of all ranks: who waited for whom, and why"},
    {"dump", trace_dump, "all records, one per line"},
};
enum { COMMAND_COUNT = sizeof(commands) / sizeof(*commands) };

const char *trace_command_name(size_t index, const char **help)
{
    if (index >= COMMAND_COUNT) return NULL;
    *help = commands[index].help;
    return commands[index].name;
}

static const char *command_name(size_t index)
{
    return trace_command_name(index, &(const char *){NULL});
}

/* Words for what these commands do. */
static const struct meant_word meant[] = {
    {"show", "info"},       {"view", "info"},      {"print", "info"},
    {"summary", "info"},    {"stats", "info"},     {"open", "report"},
    {"html", "report"},     {"page", "report"},    {"compare", "diff"},
    {"perfetto", "export"}, {"chrome", "export"},  {"convert", "export"},
    {"csv", "export"},      {"memory", "chunks"},  {"launches", "kernels"},
    {"verify", "check"},    {"stalls", "kernels"}, {"allocations", "sites"},
    {NULL, NULL},
};

static void print_help(void)
{
    FILE *to = help_begin();
    fputs("Usage: sluice trace COMMAND [OPTION]... FILE...\n"
          "Shows the contents of a trace, which sluice run --trace FILE records.\n\n"
          "Commands:\n",
          to);
    for (size_t i = 0; i < COMMAND_COUNT; i++) fprintf(to, "  %-9s %s\n", commands[i].name, commands[i].help);
    fputs("\nsluice trace COMMAND --help describes a command. With --json, commands print JSON.\n"
          "info, phases, timeline, report and export (--perfetto, --chrome) also accept the traces of all "
          "ranks of a job.\n"
          "If a file ends early because the program was killed, the commands show it up to its last complete "
          "block and print a line on stderr. Exit status 1: the file cannot be read or is damaged; 2: wrong "
          "usage.\n",
          to);
    help_end(to);
}

int command_trace(int argc, char **argv)
{
    if (argc < 2) return usage_error("trace: no command given; see sluice trace --help");
    if (wants_help(argc, argv) || !strcmp(argv[1], "help")) {
        print_help();
        return EXIT_OK;
    }
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (!strcmp(commands[i].name, argv[1])) return commands[i].run(argc - 1, argv + 1);
    if (argv[1][0] == '-') return usage_error("unknown option %s; see sluice trace --help", argv[1]);
    if (access(argv[1], F_OK) == 0)
        return usage_error("trace: no command given for %s; try sluice trace info %s", argv[1], argv[1]);
    const char *instead = find_meant(meant, argv[1]);
    if (instead) return usage_error("unknown trace command %s; did you mean %s?", argv[1], instead);
    return unknown_word("trace command", argv[1], command_name, "sluice trace");
}
