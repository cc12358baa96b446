/* `sluice path`: prints where the installed libraries are, for LD_PRELOAD and LD_LIBRARY_PATH. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "tools/command/commands.h"
#include "tools/command/places.h"
#include "tools/text/command_line.h"
#include "tools/text/messages.h"

int command_path(int argc, char **argv)
{
    bool softcuda = false;
    const struct command_option options[] = {
        {"softcuda", OPTION_SWITCH, &softcuda,
         .help = "Print the folder with the libraries of the software device, for LD_LIBRARY_PATH."},
    };
    const struct command_syntax syntax = {
        .name = "path",
        .synopsis = "[--softcuda]",
        .about = "Prints the absolute path of the libsluice.so that sluice run preloads:\n"
                 "LD_PRELOAD=$(sluice path) python train.py\n"
                 "Exit status 1: there is none, or its path cannot stand in such a variable.\n",
        .options = options,
        .option_count = sizeof(options) / sizeof(*options),
    };
    char path[PATH_MAX];
    int status;
    if (!read_command_line_of_options(&syntax, argc, argv, &status)) return status;
    if (softcuda && !find_software_device(path, sizeof(path)))
        return failure("the software device is not installed");
    if (!softcuda && !find_library(path, sizeof(path)))
        return failure("cannot find libsluice.so in the places relative to this command");
    if (strpbrk(path, softcuda ? ":;" : ": \t"))
        return failure("%s %s: its path has a %s",
                       softcuda ? "LD_LIBRARY_PATH cannot name" : "cannot preload", path,
                       softcuda ? "colon or semicolon" : "space or a colon");
    puts(path);
    return EXIT_OK;
}
