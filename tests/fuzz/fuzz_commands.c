/* Any records as a trace, for every command that shows one: none may crash, hang or leak, whatever the file
 * says. The first byte chooses the command, the rest are records as they lie in a block. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tool.h"
#include "trace_format.h"

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

static uint32_t count_records(const uint8_t *bytes, size_t size)
{
    struct sl_trace_base base = {0};
    struct sl_event event;
    char name[SL_TRACE_NAME_MAX + 1];
    uint32_t count = 0;
    for (size_t taken; size; bytes += taken, size -= taken, count++) {
        taken = sl_trace_decode(bytes, size, &base, &event, name);
        if (!taken) break;
    }
    return count;
}

static void write_trace(int fd, const uint8_t *records, size_t size)
{
    struct sluice_trace_header header = {.magic = SLUICE_TRACE_MAGIC,
                                         .major_version = SLUICE_TRACE_MAJOR,
                                         .header_bytes = sizeof(header),
                                         .program = "fuzz"};
    header.checksum = sl_trace_header_checksum(&header, sizeof(header));
    struct sluice_trace_block block = {.magic = SLUICE_TRACE_BLOCK_MAGIC,
                                       .stored_bytes = (uint32_t)size,
                                       .payload_bytes = (uint32_t)size,
                                       .record_count = count_records(records, size),
                                       .thread = 1};
    block.checksum = sl_trace_block_checksum(&block, records);
    if (write(fd, &header, sizeof(header)) < 0 || write(fd, &block, sizeof(block)) < 0 ||
        write(fd, records, size) < 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size < 2) return 0;
    int fd = memfd_create("trace", MFD_CLOEXEC);
    if (fd < 0) abort();
    write_trace(fd, bytes + 1, size - 1);
    char path[32];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    char **command = commands[bytes[0] % (sizeof(commands) / sizeof(*commands))];
    char *arguments[] = {"trace", command[0], path, command[1], command[2], NULL};
    int count = 0;
    while (arguments[count]) count++;
    command_trace(count, arguments);
    close(fd);
    return 0;
}
