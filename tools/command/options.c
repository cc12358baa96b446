/* `sluice options [--markdown]`: prints the option table; docs/options.md is made with it. */
#include <stdio.h>

#include "tools/command/commands.h"
#include "tools/text/command_line.h"
#include "tools/text/help.h"
#include "tools/text/messages.h"
#include "tools/text/option_flags.h"

int command_options(int argc, char **argv)
{
    bool markdown = false;
    const struct command_option options[] = {
        {"markdown", OPTION_SWITCH, &markdown, .help = "Print the page docs/options.md."},
    };
    const struct command_syntax syntax = {
        .name = "options",
        .synopsis = "[--markdown]",
        .about = "Prints the options of sluice run, which are also environment variables.\n",
        .options = options,
        .option_count = sizeof(options) / sizeof(*options),
    };
    int status;
    if (!read_command_line_of_options(&syntax, argc, argv, &status)) return status;
    FILE *to = markdown ? stdout : help_begin();
    sl_options_print(to, markdown);
    if (!markdown) help_end(to);
    return EXIT_OK;
}
