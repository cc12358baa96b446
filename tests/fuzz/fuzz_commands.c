/* Any records as a trace, for every command that shows one: none may crash, hang or leak, whatever the file
 * says. The first byte chooses the command, the rest are records as they lie in a block; where a command is
 * for several traces, one has all of them, and another one the first three quarters. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "records_file.h"
#include "tools/command/commands.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* After the command: the file, or both, and then what is here. */
static char *commands[][5] = {
    {"info"},
    {"info", "--json"},
    {"phases"},
    {"phases", "--json", "--launches"},
    {"timeline", "--width", "40"},
    {"timeline", "--json"},
    {"dump"},
    {"dump", "--json"},
    {"kernels"},
    {"kernels", "--json"},
    {"chunks"},
    {"chunks", "--json"},
    {"sites"},
    {"sites", "--json"},
    {"export", "--perfetto", "/dev/null"},
    {"export", "--chrome", "/dev/null"},
    {"check"},
    {"check", "--json"},
    {"report", "--plan=no", "-o", "/dev/null"},
    /* of two runs: */
    {"diff"},
    {"diff", "--json", "-o", "/dev/null"},
    /* of several ranks: */
    {"ranks"},
    {"info", "--json"},
    {"phases"},
    {"timeline", "--width", "40"},
    {"export", "--perfetto", "/dev/null"},
    {"report", "--plan=no", "-o", "/dev/null"},
};
enum { COMMANDS = sizeof(commands) / sizeof(*commands), SEVERAL = 8 };

/* What they print is not looked at; the fuzzer writes to the descriptors themselves. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    stdout = fopen("/dev/null", "w");
    stderr = fopen("/dev/null", "w");
    return stdout && stderr ? 0 : -1;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size < 2) return 0;
    char path[RECORDS_PATH], other[RECORDS_PATH];
    unsigned chosen = bytes[0] % COMMANDS;
    char **command = commands[chosen], *arguments[8] = {"trace", command[0], path};
    int count = 3, fd = records_file(bytes + 1, size - 1, path), other_fd = -1;
    if (chosen >= COMMANDS - SEVERAL) {
        other_fd = records_file(bytes + 1, (size - 1) / 4 * 3, other);
        arguments[count++] = other;
    }
    for (int i = 1; command[i]; i++) arguments[count++] = command[i];
    command_trace(count, arguments);
    close(fd);
    if (other_fd >= 0) close(other_fd);
    return 0;
}
