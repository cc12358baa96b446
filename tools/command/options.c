/* `sluice options [--markdown]`: prints the option table; docs/options.md is made with it. */
#include <string.h>

#include "base/options.h"
#include "base/options_text.h"
#include "tools/command/commands.h"
#include "tools/text/command_line.h"
#include "tools/text/help.h"
#include "tools/text/messages.h"

static void print_help(void)
{
    FILE *to = help_begin();
    fputs("Usage: sluice options [--markdown]\n"
          "Prints the options of sluice run, which are also environment variables.\n\n"
          "Options:\n"
          "  --markdown\n"
          "      Print the page docs/options.md.\n"
          "  --help\n"
          "      Print this help.\n",
          to);
    help_end(to);
}

int command_options(int argc, char **argv)
{
    if (wants_help(argc, argv)) {
        print_help();
        return EXIT_OK;
    }
    bool markdown = argc == 2 && !strcmp(argv[1], "--markdown");
    if (argc > 1 && !markdown) return usage_error("options accepts only --markdown");
    FILE *to = markdown ? stdout : help_begin();
    sl_options_print(to, markdown);
    if (!markdown) help_end(to);
    return EXIT_OK;
}
