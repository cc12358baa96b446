/* The `sluice` command: finds and runs the subcommand. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/advise/advise_command.h"
#include "tools/command/commands.h"
#include "tools/command/executable.h"
#include "tools/command/refused.h"
#include "tools/plan/plan_command.h"
#include "tools/rehearse/rehearse_command.h"
#include "tools/text/command_line.h"
#include "tools/text/completion.h"
#include "tools/text/file_kind.h"
#include "tools/text/help.h"
#include "tools/text/messages.h"
#include "tools/text/option_flags.h"
#include "tools/top/top.h"

static const struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help;                                           /* NULL: not listed */
    const char *(*subcommand)(size_t index, const char **help); /* NULL: it has none */
} commands[] = {
    {"run", command_run, "run an unmodified CUDA program with oversubscribed GPU memory"},
    {"trace", command_trace, "show the contents of a trace file", trace_command_name},
    {"plan", command_plan, "predict the cost of less device memory from a trace"},
    {"rehearse", command_rehearse, "say whether a program would run on a card, and how fast, without one"},
    {"advise", command_advise, "say what would make a traced program faster, or smaller"},
    {"profile", command_profile, "show what a run saved for the next one"},
    {"stats", command_stats, "show the statistics of a run that is running or was killed"},
    {"top", command_top, "show the running programs, live"},
    {"kernel", command_kernel, "register a Jupyter kernel that starts under sluice", kernel_command_name},
    {"demo", command_demo, "train a model larger than its device, on the software device"},
    {"doctor", command_doctor, "check whether sluice works on this machine"},
    {"completion", command_completion, "print the completion for a shell", completion_command_name},
    {"path", command_path, "print where libsluice.so is, for LD_PRELOAD"},
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
        if (commands[i].help) fprintf(to, "  %-9s %s\n", commands[i].name, commands[i].help);
    fputs("\nsluice help COMMAND describes a command, as sluice COMMAND --help does. sluice --version prints "
          "the version.\n",
          to);
    help_end(to);
}

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (!strcmp(commands[i].name, name)) return &commands[i];
    return NULL;
}

/* `sluice help [COMMAND [SUBCOMMAND]]`: like --help after these words. */
static int help(int count, char **words)
{
    if (!count || words[0][0] == '-') {
        print_help();
        return EXIT_OK;
    }
    const struct command *command = find_command(words[0]);
    if (!command) return unknown_word("command", words[0], command_name, "sluice");
    if (count > (command->subcommand ? 2 : 1))
        return usage_error("help takes a command%s; see sluice --help",
                           command->subcommand ? " and its subcommand" : "");
    char *argv[] = {words[0], count > 1 ? words[1] : "--help", count > 1 ? "--help" : NULL, NULL};
    return command->run(count + 1, argv);
}

static void complete_commands(bool first)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (commands[i].help) completion_word(commands[i].name, commands[i].help);
    if (!first) return;
    completion_word("help", "describe a command");
    completion_word("--help", "Print help");
    completion_word("--version", "Print the version");
}

/* `sluice complete WORD...`, see completion.h. A command is called with --help, so that one that knows
 * nothing of completions does no more than print its help. */
static int complete(int count, char **words)
{
    int at = count > 1 && !strcmp(words[0], "help"); /* the index of the command */
    if (!count) return EXIT_OK;
    completion_begin(words, (size_t)count, 0);
    if (count == at + 1) {
        complete_commands(!at);
        return EXIT_OK;
    }
    const struct command *command = find_command(words[at]);
    if (!command) return EXIT_OK;
    if (command->subcommand && count == at + 2 && words[at + 1][0] != '-') {
        const char *name, *about;
        for (size_t i = 0; (name = command->subcommand(i, &about)); i++) completion_word(name, about);
        return EXIT_OK;
    }
    if (at) return EXIT_OK; /* no other words may follow */
    int names = command->subcommand && count > 2 ? 2 : 1;
    char *argv[] = {words[0], names > 1 ? words[1] : "--help", names > 1 ? "--help" : NULL, NULL};
    completion_begin(words + names, (size_t)(count - names), (size_t)names);
    return command->run(names + 1, argv);
}

/* Words for what the commands do. */
static const struct meant_word meant[] = {
    {"exec", "run"},
    {"start", "run"},
    {"launch", "run"},
    {"monitor", "top"},
    {"ps", "top"},
    {"watch", "top"},
    {"status", "top"},
    {"list", "top"},
    {"test", "doctor"},
    {"predict", "plan"},
    {"simulate", "rehearse"},
    {"record", "run --trace FILE"},
    {"jupyter", "kernel"},
    {"notebook", "kernel"},
    {NULL, NULL},
};

/* A word that is no command: what it may be instead. */
static int unknown_command(char *const *words)
{
    const char *word = words[0];
    const char *about, *instead = find_meant(meant, word), *interpreter = interpreter_for(word);
    for (size_t i = 0; trace_command_name(i, &about); i++)
        if (!strcmp(word, trace_command_name(i, &about)))
            return usage_error("unknown command %s; did you mean trace %s?", word, word);
    if (instead) return usage_error("unknown command %s; did you mean %s?", word, instead);
    if (*other_file_kind(word, NULL))
        return usage_error("no command given for %s%s", word, other_file_kind(word, NULL));
    char path[PATH_MAX], text[COMMAND_TEXT];
    if (access(word, F_OK) == 0 || executable_find(word, path))
        return usage_error("unknown command %s; to run it: sluice run -- %s%s%s", word,
                           interpreter ? interpreter : "", interpreter ? " " : "", command_text(words, text));
    return unknown_word("command", word, command_name, "sluice");
}

static int unknown_option(const char *word)
{
    char flag[32];
    snprintf(flag, sizeof(flag), "%.*s", (int)strcspn(word, "="), word);
    bool of_run = !strcmp(flag, "--software") || !strcmp(flag, "--advise");
    if (of_run || (!strncmp(flag, "--", 2) && sl_options_env_for_flag(flag + 2, &(bool){false})))
        return usage_error("unknown option %s; it is one of sluice run: sluice run %s ... COMMAND", word,
                           word);
    return usage_error("unknown option %s; see sluice --help", word);
}

int main(int argc, char **argv)
{
    if (argc < 2) return usage_error("no command given; see sluice --help");
    const char *name = argv[1];
    if (wants_help(argc, argv)) return flush_output(help(0, NULL));
    if (!strcmp(name, "help")) return flush_output(help(argc - 2, argv + 2));
    if (!strcmp(name, "complete")) return flush_output(complete(argc - 2, argv + 2));
    if (!strcmp(name, "--version") || !strcmp(name, "-V") || !strcmp(name, "version")) {
        puts("sluice " SLUICE_VERSION);
        return flush_output(EXIT_OK);
    }
    const struct command *command = find_command(name);
    if (command) return flush_output(command->run(argc - 1, argv + 1));
    return name[0] == '-' ? unknown_option(name) : unknown_command(argv + 1);
}
