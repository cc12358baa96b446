/* `sluice completion SHELL`: prints the script by which a shell completes sluice's commands and options. */
#include <stdio.h>
#include <string.h>

#include "tools/command/commands.h"
#include "tools/command/completion_scripts.h"
#include "tools/text/command_line.h"
#include "tools/text/help.h"
#include "tools/text/messages.h"

static const struct shell {
    const char *name, *help, *use, *script;
} shells[] = {
    {"bash", "the completion for bash", "eval \"$(sluice completion bash)\" in ~/.bashrc loads it.",
     completion_bash},
    {"zsh", "the completion for zsh",
     "eval \"$(sluice completion zsh)\" in ~/.zshrc, after compinit, loads it.", completion_zsh},
    {"fish", "the completion for fish",
     "sluice completion fish | source in ~/.config/fish/config.fish loads it.", completion_fish},
};
enum { SHELL_COUNT = sizeof(shells) / sizeof(*shells) };

const char *completion_command_name(size_t index, const char **help)
{
    if (index >= SHELL_COUNT) return NULL;
    *help = shells[index].help;
    return shells[index].name;
}

static const char *shell_name(size_t index)
{
    return completion_command_name(index, &(const char *){NULL});
}

static void print_completion_help(void)
{
    FILE *to = help_begin();
    fputs("Usage: sluice completion SHELL\n"
          "Prints a script for the shell, which then completes sluice's commands, options and their values. "
          "Packages of sluice bring these scripts as files, too.\n\nCommands:\n",
          to);
    for (size_t i = 0; i < SHELL_COUNT; i++) fprintf(to, "  %-9s %s\n", shells[i].name, shells[i].help);
    help_end(to);
}

static int print_script(const struct shell *shell, int argc, char **argv)
{
    char name[32], about[256];
    int status;
    snprintf(name, sizeof(name), "completion %s", shell->name);
    snprintf(about, sizeof(about), "Prints %s: %s\n", shell->help, shell->use);
    const struct command_syntax syntax = {.name = name, .synopsis = "", .about = about};
    if (read_command_line_of_options(&syntax, argc, argv, &status)) fputs(shell->script, stdout);
    return status;
}

int command_completion(int argc, char **argv)
{
    if (argc < 2)
        return usage_error("completion: no shell given (bash, zsh or fish); see sluice completion --help");
    if (wants_help(argc, argv)) {
        print_completion_help();
        return EXIT_OK;
    }
    for (size_t i = 0; i < SHELL_COUNT; i++)
        if (!strcmp(argv[1], shells[i].name)) return print_script(&shells[i], argc - 1, argv + 1);
    if (argv[1][0] == '-') return usage_error("unknown option %s; see sluice completion --help", argv[1]);
    return unknown_word("shell", argv[1], shell_name, "sluice completion");
}
