/* `sluice doctor`: checks whether sluice works on this machine, and prints the reason if not. */
#include "tools/command/doctor.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tools/command/commands.h"
#include "tools/command/places.h"
#include "tools/text/command_line.h"
#include "tools/text/messages.h"

void find(struct findings *findings, enum verdict verdict, const char *subject, const char *format, ...)
{
    static const char *const marks[] = {"ok", "note", "NO"}, *const names[] = {"ok", "note", "broken"};
    char text[sizeof(findings->reason)];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (findings->json) {
        json_object(findings->json, NULL, false);
        json_text(findings->json, "subject", subject);
        json_text(findings->json, "verdict", names[verdict]);
        json_text(findings->json, "text", text);
        json_close(findings->json);
    } else {
        printf("%-5s %-16s %s\n", marks[verdict], subject, text);
    }
    if (verdict != VERDICT_BROKEN || findings->broken) return;
    findings->broken = true;
    snprintf(findings->reason, sizeof(findings->reason), "%s", text);
}

int command_doctor(int argc, char **argv)
{
    bool software = false, as_json = false;
    const char *root = "";
    char **commands = NULL;
    size_t command_count = 0;
    const struct command_option options[] = {
        {"software", OPTION_SWITCH, &software, .help = "Check the software device instead of the driver."},
        {"json", OPTION_SWITCH, &as_json, .help = "Print a JSON object."},
        {"root", OPTION_TEXT, &root, "FOLDER",
         .help = "Read the system's files (/proc, /dev) below this folder, as copied from another machine."},
    };
    const struct command_syntax syntax = {
        .name = "doctor",
        .synopsis = "[--software] [--json] [--root FOLDER] [COMMAND]...",
        .about = "Checks the driver, the devices, the system and the limits of this machine, the settings of "
                 "PyTorch's "
                 "allocator, and whether sluice can be preloaded into each COMMAND. Exit status 0: sluice "
                 "works here; 1: it does not.\n",
        .options = options,
        .option_count = sizeof(options) / sizeof(*options),
    };
    char driver[PATH_MAX + 32] = "libcuda.so.1";
    int status;
    if (!read_command_line_of_files(&syntax, argc, argv, 0, &commands, &command_count, &status))
        return status;
    if (software) {
        if (!find_software_device(driver, sizeof(driver) - 32))
            return failure("the software device is not installed");
        strcat(driver, "/libcuda.so.1");
    }
    struct json json = {.to = stdout};
    struct findings findings = {.json = as_json ? &json : NULL};
    if (as_json) {
        json_object(&json, NULL, true);
        json_array(&json, "findings", true);
    }
    examine_driver(&findings, driver);
    examine_system(&findings, root, software);
    examine_host(&findings);
    examine_framework(&findings);
    examine_library(&findings);
    for (size_t i = 0; i < command_count; i++) examine_program(&findings, commands[i]);
    if (as_json) {
        json_close(&json);
        json_bool(&json, "works", !findings.broken);
        json_text(&json, "reason", findings.broken ? findings.reason : NULL);
        json_close(&json);
    } else if (findings.broken) {
        printf("\nsluice does not work here: %s\n", findings.reason);
    } else {
        puts("\nsluice works here");
    }
    return findings.broken ? EXIT_FAILED : EXIT_OK;
}
