#include "trace/trace_sink.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ZSTD_STATIC_LINKING_ONLY /* for a compressor in memory that we provide */
#include <zstd.h>

#include "base/clock.h"
#include "base/log.h"

const struct sl_file_kind sl_file_trace = SL_FILE_KIND("no trace", SLUICE_TRACE_MAGIC);

#define LEVEL 3
#define TIME_STEP_NS UINT64_C(64) /* finer times carry no information and cost almost a byte each */
#define WINDOW_LOG 18             /* the distance that blocks refer back */
#define GROUP_BYTES ((size_t)1 << WINDOW_LOG) /* of payload that damage to its first block can lose */

/* Uses memory of its own, not the program's allocator. */
static enum sl_status make_compressor(struct sl_trace_sink *sink)
{
    ZSTD_compressionParameters parameters = ZSTD_getCParams(LEVEL, GROUP_BYTES, 0);
    parameters.windowLog = WINDOW_LOG;
    sink->workspace_bytes = ZSTD_estimateCStreamSize_usingCParams(parameters);
    void *workspace =
        mmap(NULL, sink->workspace_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (workspace == MAP_FAILED) return SL_ERR_NO_MEMORY;
    sink->workspace = workspace;
    ZSTD_CStream *stream = ZSTD_initStaticCStream(workspace, sink->workspace_bytes);
    sink->compressor = stream;
    const struct {
        ZSTD_cParameter name;
        unsigned value;
    } settings[] = {
        {ZSTD_c_windowLog, parameters.windowLog},        {ZSTD_c_hashLog, parameters.hashLog},
        {ZSTD_c_chainLog, parameters.chainLog},          {ZSTD_c_searchLog, parameters.searchLog},
        {ZSTD_c_minMatch, parameters.minMatch},          {ZSTD_c_targetLength, parameters.targetLength},
        {ZSTD_c_strategy, (unsigned)parameters.strategy}};
    for (size_t i = 0; i < sizeof(settings) / sizeof(*settings); i++)
        ZSTD_CCtx_setParameter(stream, settings[i].name, (int)settings[i].value);
    return SL_OK;
}

static enum sl_status write_header(struct sl_trace_sink *sink)
{
    struct sluice_trace_header header = {.magic = SLUICE_TRACE_MAGIC,
                                         .major_version = SLUICE_TRACE_MAJOR,
                                         .minor_version = SLUICE_TRACE_MINOR,
                                         .header_bytes = sizeof(header),
                                         .realtime_ns = sl_clock_ns(CLOCK_REALTIME),
                                         .monotonic_ns = sl_clock_ns(CLOCK_MONOTONIC),
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
    enum sl_status status = sl_output_open(path, &sl_file_trace, &sink->file);
    if (status) return status;
    memcpy(sink->path, path, strlen(path) + 1);
    sink->at = sizeof(struct sluice_trace_header);
    sink->end = UINT64_MAX;
    /* A device file cannot seek. */
    if (limit_bytes && lseek(sink->file.fd, 0, SEEK_SET) == 0) {
        sink->tail_offset = sink->end = limit_bytes / 2;
        sink->segment_bytes = limit_bytes / 2 / SL_TRACE_SEGMENTS;
    }
    status = make_compressor(sink);
    if (status == SL_OK) status = write_header(sink);
    if (status) {
        sl_trace_sink_close(sink);
        if (sink->workspace) munmap(sink->workspace, sink->workspace_bytes);
        *sink = (struct sl_trace_sink){.file.fd = -1};
    }
    return status;
}

void sl_trace_sink_begin_group(struct sl_trace_sink *sink)
{
    sink->group = 0;
    sink->group_bytes = 0;
}

/* Compresses the payload after the block's header, and sets the header's sizes. */
static void compress(struct sl_trace_sink *sink)
{
    struct sluice_trace_block *header = &sink->block.header;
    if (sink->group_bytes + sink->used > GROUP_BYTES) sl_trace_sink_begin_group(sink);
    if (!sink->group) ZSTD_CCtx_reset(sink->compressor, ZSTD_reset_session_only);
    ZSTD_outBuffer out = {sink->block.stored, sizeof(sink->block.stored), 0};
    ZSTD_inBuffer in = {sink->payload, sink->used, 0};
    size_t left = ZSTD_compressStream2(sink->compressor, &out, &in, ZSTD_e_flush);
    header->group = sink->group++;
    header->stored_bytes = (uint32_t)out.pos;
    sink->group_bytes += sink->used;
    if (left == 0 && in.pos == in.size && out.pos < sink->used) return;
    memcpy(sink->block.stored, sink->payload, sink->used);
    header->stored_bytes = (uint32_t)sink->used;
    header->group = 0;
    sl_trace_sink_begin_group(sink);
}

/* Goes to the next segment, or back to the first. */
static enum sl_status next_segment(struct sl_trace_sink *sink)
{
    uint64_t segment = sink->lap % SL_TRACE_SEGMENTS, at = sink->tail_offset + segment * sink->segment_bytes;
    if (lseek(sink->file.fd, (off_t)at, SEEK_SET) < 0) return SL_ERR_IO;
    sink->at = at;
    sink->end = at + sink->segment_bytes;
    sl_trace_sink_begin_group(sink);
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
    compress(sink);
    if (sink->end - sink->at < sizeof(*header) + header->stored_bytes) {
        enum sl_status status = next_segment(sink);
        if (status) return status;
        compress(sink);
    }
    header->lap = sink->lap;
    header->checksum = sl_trace_block_checksum(header, sink->block.stored);
    /* One write for each block: a kill can only cut the last one. */
    uint64_t bytes = sizeof(*header) + header->stored_bytes;
    enum sl_status status = sl_output_write(&sink->file, &sink->block, bytes);
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
    struct sl_event rounded = *event;
    rounded.time_ns &= ~(TIME_STEP_NS - 1);
    sink->used += sl_trace_encode(&rounded, &sink->base, sink->payload + sink->used);
    sink->block_records++;
    sink->records++;
    if (event->type == SL_EVENT_GAP) sink->lost += event->a;
}

void sl_trace_sink_close(struct sl_trace_sink *sink)
{
    sl_output_close(&sink->file);
}
