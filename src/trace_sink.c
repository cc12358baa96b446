#include "trace_sink.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define ZSTD_STATIC_LINKING_ONLY /* a compressor in memory that we give it */
#include <zstd.h>

#include "log.h"

#define LEVEL 3

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* In memory of its own: the program's allocator is none of our business. */
static enum sl_status make_compressor(struct sl_trace_sink *sink)
{
    sink->workspace_bytes = ZSTD_estimateCCtxSize(LEVEL);
    void *workspace =
        mmap(NULL, sink->workspace_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (workspace == MAP_FAILED) return SL_ERR_NO_MEMORY;
    sink->workspace = workspace;
    sink->compressor = ZSTD_initStaticCCtx(workspace, sink->workspace_bytes);
    return SL_OK;
}

static enum sl_status write_header(struct sl_trace_sink *sink)
{
    struct sluice_trace_header header = {.magic = SLUICE_TRACE_MAGIC,
                                         .major_version = SLUICE_TRACE_MAJOR,
                                         .minor_version = SLUICE_TRACE_MINOR,
                                         .header_bytes = sizeof(header),
                                         .realtime_ns = clock_ns(CLOCK_REALTIME),
                                         .monotonic_ns = clock_ns(CLOCK_MONOTONIC),
                                         .process = (uint32_t)getpid(),
                                         .segments = sink->tail_offset ? SL_TRACE_SEGMENTS : 0,
                                         .tail_offset = sink->tail_offset,
                                         .segment_bytes = sink->segment_bytes};
    const char *program = program_invocation_short_name;
    memcpy(header.program, program, strnlen(program, sizeof(header.program) - 1));
    header.checksum = sl_trace_header_checksum(&header, sizeof(header));
    return sl_output_write(&sink->file, &header, sizeof(header));
}

enum sl_status sl_trace_sink_open(struct sl_trace_sink *sink, const char *path, uint64_t limit_bytes)
{
    if (strlen(path) >= sizeof(sink->path)) {
        errno = ENAMETOOLONG;
        return SL_ERR_IO;
    }
    enum sl_status status = sl_output_open(path, false, &sink->file);
    if (status) return status;
    memcpy(sink->path, path, strlen(path) + 1);
    sink->at = sizeof(struct sluice_trace_header);
    sink->end = UINT64_MAX;
    /* A device has no places to go back to. */
    if (limit_bytes && lseek(sink->file.fd, 0, SEEK_SET) == 0) {
        sink->tail_offset = sink->end = limit_bytes / 2;
        sink->segment_bytes = limit_bytes / 2 / SL_TRACE_SEGMENTS;
    }
    status = make_compressor(sink);
    if (status == SL_OK) status = write_header(sink);
    if (status) {
        int error = errno;
        sl_trace_sink_close(sink);
        if (sink->workspace) munmap(sink->workspace, sink->workspace_bytes);
        *sink = (struct sl_trace_sink){.file.fd = -1};
        errno = error;
    }
    return status;
}

/* The bytes to write after the block's header. */
static const void *compress(struct sl_trace_sink *sink, uint32_t *bytes)
{
    size_t stored = ZSTD_compressCCtx(sink->compressor, sink->block.stored, sizeof(sink->block.stored),
                                      sink->payload, sink->used, LEVEL);
    if (ZSTD_isError(stored) || stored >= sink->used) {
        memcpy(sink->block.stored, sink->payload, sink->used);
        stored = sink->used;
    }
    *bytes = (uint32_t)stored;
    return sink->block.stored;
}

/* Where `bytes` more bytes go: behind the last ones, or to the next segment. */
static enum sl_status find_place(struct sl_trace_sink *sink, uint64_t bytes)
{
    if (sink->end - sink->at >= bytes) return SL_OK;
    uint64_t segment = sink->lap % SL_TRACE_SEGMENTS, at = sink->tail_offset + segment * sink->segment_bytes;
    if (lseek(sink->file.fd, (off_t)at, SEEK_SET) < 0) return SL_ERR_IO;
    sink->at = at;
    sink->end = at + sink->segment_bytes;
    __atomic_store_n(&sink->lap, sink->lap + 1, __ATOMIC_RELEASE);
    return SL_OK;
}

static enum sl_status write_block(struct sl_trace_sink *sink, uint32_t thread)
{
    struct sluice_trace_block *header = &sink->block.header;
    *header = (struct sluice_trace_block){.magic = SLUICE_TRACE_BLOCK_MAGIC,
                                          .payload_bytes = (uint32_t)sink->used,
                                          .record_count = sink->block_records,
                                          .thread = thread,
                                          .records_before = sink->records - sink->block_records};
    const void *stored = compress(sink, &header->stored_bytes);
    uint64_t bytes = sizeof(*header) + header->stored_bytes;
    enum sl_status status = find_place(sink, bytes);
    if (status) return status;
    header->lap = sink->lap;
    header->checksum = sl_trace_block_checksum(header, stored);
    /* One write for a block: what a kill can cut is the last of them. */
    status = sl_output_write(&sink->file, &sink->block, bytes);
    if (status == SL_OK) sink->at += bytes;
    return status;
}

void sl_trace_sink_flush(struct sl_trace_sink *sink, uint32_t thread)
{
    if (!sink->used) return;
    if (!sink->failed && !sl_output_valid(&sink->file)) {
        sl_log(SL_LOG_WARN, "the program closed the trace %s; it ends here", sink->path);
        sink->failed = true;
    } else if (!sink->failed && write_block(sink, thread) != SL_OK) {
        sl_log(SL_LOG_WARN, "cannot write the trace %s: %s; it ends here", sink->path, strerror(errno));
        sink->failed = true;
    }
    sink->used = 0;
    sink->block_records = 0;
    sink->base = (struct sl_trace_base){0};
}

void sl_trace_sink_add(struct sl_trace_sink *sink, uint32_t thread, const struct sl_event *event)
{
    if (sink->used + SL_TRACE_RECORD_MAX > sizeof(sink->payload)) sl_trace_sink_flush(sink, thread);
    sink->used += sl_trace_encode(event, &sink->base, sink->payload + sink->used);
    sink->block_records++;
    sink->records++;
    if (event->type == SL_EVENT_GAP) sink->lost += event->a;
}

void sl_trace_sink_close(struct sl_trace_sink *sink)
{
    sl_output_close(&sink->file);
}
