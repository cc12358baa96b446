/* The `sluice` command: finds and runs the subcommand. */
#include <stdio.h>
#include <string.h>

#include "tools/advise/advise_command.h"
#include "tools/command/commands.h"
#include "tools/plan/plan_command.h"
#include "tools/text/command_line.h"
#include "tools/text/help.h"
#include "tools/text/messages.h"
#include "tools/views/trace.h"

static const struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help; /* NULL: not listed */
} commands[] = {
    {"run", command_run, "run an unmodified CUDA program with oversubscribed GPU memory"},
    {"trace", command_trace, "show the contents of a trace file"},
    {"plan", command_plan, "predict the cost of less device memory from a trace"},
    {"advise", command_advise, "say what would make a traced program faster, or smaller"},
    {"profile", command_profile, "show what a run saved for the next one"},
    {"stats", command_stats, "show the statistics of a run that is running or was killed"},
    {"doctor", command_doctor, "check whether sluice works on this machine"},
    {"options", command_options, NULL},
};
enum { COMMAND_COUNT = sizeof(commands) / sizeof(*commands) };

static const char *command_name(size_t index)
{
    return index < COMMAND_COUNT ? commands[index].name : NULL;
}

static void print_help(void)
{
    FILE *to = help_begin();
    fputs("Usage: sluice COMMAND [ARGUMENT]...\n"
          "Oversubscribes GPU memory for unmodified CUDA programs.\n\n"
          "Commands:\n",
          to);
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (commands[i].help) fprintf(to, "  %-8s %s\n", commands[i].name, commands[i].help);
    fputs("\nsluice COMMAND --help describes a command. sluice --version prints the version.\n", to);
    help_end(to);
}

int main(int argc, char **argv)
{
    if (argc < 2) return usage_error("no command given; see sluice --help");
    const char *name = argv[1];
    if (wants_help(argc, argv) || !strcmp(name, "help")) {
        print_help();
        return flush_output(EXIT_OK);
    }
    if (!strcmp(name, "--version")) {
        puts("sluice " SLUICE_VERSION);
        return flush_output(EXIT_OK);
    }
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (!strcmp(commands[i].name, name)) return flush_output(commands[i].run(argc - 1, argv + 1));
    if (name[0] == '-') return usage_error("unknown option %s; see sluice --help", name);
    return unknown_word("command", name, command_name, "sluice");
}
