/* `sluice trace`: finds the command that shows what a trace file holds. */
#include "tools/views/trace.h"

#include <stdio.h>
#include <string.h>

#include "tools/text/command_line.h"
#include "tools/text/help.h"
#include "tools/text/messages.h"

static const struct trace_command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help; /* one line */
} commands[] = {
    {"info", trace_info, "what the program did, in figures"},
    {"phases", trace_phases, "for each phase of training its time, traffic and stalls"},
    {"timeline", trace_timeline, "one iteration, drawn: memory by class, traffic, stalls"},
    {"kernels", trace_kernels, "for each kernel its launches, time, bytes, misses and stalls"},
    {"chunks", trace_chunks, "for each chunk what lies in it, and how it came and went"},
    {"check", trace_check, "whether the file is whole, or what is lost and where"},
    {"export", trace_export, "the trace for other programs: Perfetto's format, or tables"},
    {"sites", trace_sites, "who allocates how much, with call stacks"},
    {"ranks", trace_ranks, "the traces of all ranks: who waited for whom, and why"},
    {"dump", trace_dump, "the records, one a line"},
};
enum { COMMAND_COUNT = sizeof(commands) / sizeof(*commands) };

static const char *command_name(size_t index)
{
    return index < COMMAND_COUNT ? commands[index].name : NULL;
}

static void print_help(void)
{
    FILE *to = help_begin();
    fputs("Usage: sluice trace COMMAND [OPTION]... FILE...\n"
          "Shows what a trace holds; sluice run --trace FILE records one.\n\n"
          "Commands:\n",
          to);
    for (size_t i = 0; i < COMMAND_COUNT; i++) fprintf(to, "  %-9s %s\n", commands[i].name, commands[i].help);
    fputs(
        "\nsluice trace COMMAND --help says more. With --json a command prints JSON.\n"
        "info, phases, timeline and export --perfetto also take the traces of all ranks of a job.\n"
        "A file that ends early (the program was killed) is shown up to its last whole block, and a line on\n"
        "stderr says so. Exit status 1: the file cannot be read or is damaged; 2: wrong usage.\n",
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
    return unknown_word("trace command", argv[1], command_name, "sluice trace");
}
