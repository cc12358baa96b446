/* `sluice options [--markdown]`: the option table; docs/options.md is written with it. */
#include <string.h>

#include "base/options.h"
#include "base/options_text.h"
#include "tools/command/commands.h"
#include "tools/text/help.h"
#include "tools/text/messages.h"

int command_options(int argc, char **argv)
{
    bool markdown = argc == 2 && !strcmp(argv[1], "--markdown");
    if (argc > 1 && !markdown) return usage_error("options takes nothing but --markdown");
    FILE *to = markdown ? stdout : help_begin();
    sl_options_print(to, markdown);
    if (!markdown) help_end(to);
    return EXIT_OK;
}
