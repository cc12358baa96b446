#include "records_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "trace/trace_format.h"

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
                                         .process = (uint32_t)size,
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

int records_file(const uint8_t *records, size_t size, char path[RECORDS_PATH])
{
    int fd = memfd_create("trace", MFD_CLOEXEC);
    if (fd < 0) abort();
    write_trace(fd, records, size);
    snprintf(path, RECORDS_PATH, "/proc/self/fd/%d", fd);
    return fd;
}
