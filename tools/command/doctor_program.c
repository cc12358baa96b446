#include <stdlib.h>

#include "tools/command/doctor.h"
#include "tools/command/executable.h"

void examine_program(struct findings *findings, const char *command)
{
    static struct executable executable; /* static because its path is long */
    executable_read(command, &executable);
    if (!executable.path[0])
        find(findings, VERDICT_BROKEN, "program", "%s: there is no such program, or it cannot be read",
             command);
    else if (executable.obstacle)
        find(findings, VERDICT_BROKEN, "program", "%s %s", command, executable.obstacle);
    else if (executable.first[0])
        find(findings, VERDICT_NOTE, "program",
             "%s is built with AddressSanitizer: sluice run preloads %s before libsluice.so, and NVIDIA's "
             "driver "
             "needs ASAN_OPTIONS=protect_shadow_gap=0",
             command, executable.first);
    else
        find(findings, VERDICT_OK, "program", "libsluice.so can be preloaded into %s", command);
}
