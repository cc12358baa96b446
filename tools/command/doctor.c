/* `sluice doctor`: checks whether sluice works on this machine, and prints the reason if not. */
#include "tools/command/doctor.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tools/command/commands.h"
#include "tools/command/places.h"
#include "tools/text/command_line.h"
#include "tools/text/help.h"
#include "tools/text/messages.h"

void find(struct findings *findings, enum verdict verdict, const char *subject, const char *format, ...)
{
    static const char *const marks[] = {"ok", "note", "NO"};
    char text[sizeof(findings->reason)];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    printf("%-5s %-16s %s\n", marks[verdict], subject, text);
    if (verdict != VERDICT_BROKEN || findings->broken) return;
    findings->broken = true;
    snprintf(findings->reason, sizeof(findings->reason), "%s", text);
}

int command_doctor(int argc, char **argv)
{
    if (wants_help(argc, argv)) {
        FILE *to = help_begin();
        fputs("Usage: sluice doctor [--software]\n"
              "Checks the driver, the devices and the limits of this machine, and the settings of PyTorch's "
              "allocator. --software checks the software device instead of the driver. Exit status 0: sluice "
              "works here; 1: it does not.\n",
              to);
        help_end(to);
        return EXIT_OK;
    }
    char driver[PATH_MAX + 32] = "libcuda.so.1";
    if (argc > 1) {
        if (strcmp(argv[1], "--software") != 0 || argc > 2)
            return usage_error("doctor accepts only --software");
        if (!find_software_device(driver, sizeof(driver) - 32))
            return failure("the software device is not installed");
        strcat(driver, "/libcuda.so.1");
    }
    struct findings findings = {0};
    examine_driver(&findings, driver);
    examine_host(&findings);
    examine_framework(&findings);
    examine_library(&findings);
    if (findings.broken) {
        printf("\nsluice does not work here: %s\n", findings.reason);
        return EXIT_FAILED;
    }
    puts("\nsluice works here");
    return EXIT_OK;
}
