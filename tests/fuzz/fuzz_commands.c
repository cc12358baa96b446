/* Any records as a trace, for every command that shows one: none may crash, hang or leak, whatever the file
 * says. The first byte chooses the command, the rest are records as they lie in a block. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "records_file.h"
#include "tools/views/trace.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* After the command: the file, and then what is here. */
static char *commands[][4] = {
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
    {"check"},
    {"check", "--json"},
};

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
    char path[RECORDS_PATH];
    int fd = records_file(bytes + 1, size - 1, path);
    char **command = commands[bytes[0] % (sizeof(commands) / sizeof(*commands))];
    char *arguments[] = {"trace", command[0], path, command[1], command[2], NULL};
    int count = 0;
    while (arguments[count]) count++;
    command_trace(count, arguments);
    close(fd);
    return 0;
}
