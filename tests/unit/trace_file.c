#include "trace_file.h"

#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "trace/trace_format.h"

const struct sl_event trace_samples[] = {
    {.type = SL_EVENT_BUDGET, .time_ns = 1000, .a = 512 * SL_MIB, .b = 2 * SL_MIB, .c = SL_GIB},
    {.type = SL_EVENT_ALLOC, .id = 0, .time_ns = 1010, .a = 0x700000000000, .b = 4096, .c = UINT64_MAX},
    {.type = SL_EVENT_KERNEL, .id = 1, .tick = 1, .time_ns = 1020, .text = "_Z6matmulPKfS0_Pf"},
    {.type = SL_EVENT_LAUNCH, .id = 1, .tick = 1, .time_ns = 1030, .a = 0x5555, .b = 128 * 1024, .d = 70000},
    {.type = SL_EVENT_ACCESS, .id = 0, .tick = 1, .time_ns = 1030, .b = 4096},
    {.type = SL_EVENT_STALL, .tick = 1, .time_ns = 1500, .a = 470, .b = 1, .c = 1},
    {.type = SL_EVENT_MOVE,
     .flags = 2 | SL_CAUSE_DEMAND << 4,
     .id = 7,
     .tick = 1,
     .time_ns = 900,
     .a = 2 * SL_MIB},
    {.type = SL_EVENT_LAUNCH, .flags = 1, .tick = 2, .time_ns = 2000, .c = 4096},
    {.type = SL_EVENT_TRANSFER,
     .flags = 2,
     .id = 7,
     .tick = 1,
     .time_ns = 2050,
     .a = 2 * SL_MIB,
     .b = 1000,
     .c = 99},
    {.type = SL_EVENT_DURATION, .id = 1, .tick = 1, .time_ns = 2060, .a = 12345},
    {.type = SL_EVENT_SYNC, .flags = SL_SYNC_STREAM, .tick = 2, .time_ns = 2070, .a = 1, .b = 0x5555},
    {.type = SL_EVENT_ERROR, .id = 2, .tick = 2, .time_ns = 2080, .a = SL_GIB, .c = UINT64_MAX},
    {.type = SL_EVENT_MARK, .flags = SL_MARK_PUSH, .tick = 2, .time_ns = 2090, .text = "forward"},
    {.type = SL_EVENT_MARK, .flags = SL_MARK_POP, .tick = 2, .time_ns = 2095, .text = ""},
    {.type = SL_EVENT_SITE, .tick = 2, .time_ns = 2097, .c = UINT64_MAX, .text = "0+1a 3+ffff"},
    {.type = SL_EVENT_MODULE,
     .id = 3,
     .time_ns = 2098,
     .a = 0x7f0000000000,
     .b = 1,
     .text = "/usr/lib/libm.so"},
    {.type = SL_EVENT_SLAB, .id = 512, .time_ns = 2098, .a = 0x700000000000, .b = SL_GIB},
    {.type = SL_EVENT_METADATA, .time_ns = 2099, .text = "device=none"},
    {.type = SL_EVENT_METADATA,
     .flags = SL_METADATA_NUMBER,
     .time_ns = 2099,
     .a = UINT64_MAX,
     .text = "plans"},
    {.type = SL_EVENT_NAME, .tick = 3, .time_ns = 2099, .a = UINT64_MAX, .b = 4096, .text = "layer.weight"},
    {.type = SL_EVENT_MESSAGE,
     .flags = SL_MESSAGE_RECEIVE,
     .id = 3,
     .tick = 3,
     .time_ns = 2100,
     .a = UINT64_MAX,
     .b = 4096,
     .c = 1},
    {.type = SL_EVENT_THREAD, .time_ns = 2100, .a = 4194304},
    {.type = SL_EVENT_GAP, .tick = 3, .time_ns = 2100, .a = 17},
    {.type = SL_EVENT_ITERATION, .id = 1, .tick = 40, .time_ns = UINT64_MAX, .a = 40},
    {.type = SL_EVENT_FREE,
     .id = UINT32_MAX,
     .tick = UINT64_MAX,
     .time_ns = 0,
     .a = 0x700000000000,
     .b = 4096},
};
const size_t trace_sample_count = sizeof(trace_samples) / sizeof(*trace_samples);

static void append(struct trace_bytes *trace, const void *bytes, size_t size)
{
    trace->bytes = realloc(trace->bytes, trace->size + size);
    if (!trace->bytes) abort();
    memcpy(trace->bytes + trace->size, bytes, size);
    trace->size += size;
}

static void append_block(struct trace_bytes *trace, uint32_t thread, uint64_t before,
                         const struct sl_event *events, size_t count)
{
    struct sluice_trace_block block = {.magic = SLUICE_TRACE_BLOCK_MAGIC,
                                       .record_count = (uint32_t)count,
                                       .thread = thread,
                                       .records_before = before};
    uint8_t *payload = malloc(count * SL_TRACE_RECORD_MAX), *stored = malloc(count * SL_TRACE_RECORD_MAX);
    if (!payload || !stored) abort();
    struct sl_trace_base base = {0};
    for (size_t i = 0; i < count; i++)
        block.payload_bytes += (uint32_t)sl_trace_encode(&events[i], &base, payload + block.payload_bytes);
    size_t bytes = ZSTD_compress(stored, block.payload_bytes, payload, block.payload_bytes, 3);
    bool smaller = !ZSTD_isError(bytes) && bytes < block.payload_bytes;
    block.stored_bytes = smaller ? (uint32_t)bytes : block.payload_bytes;
    block.checksum = sl_trace_block_checksum(&block, smaller ? stored : payload);
    append(trace, &block, sizeof(block));
    append(trace, smaller ? stored : payload, block.stored_bytes);
    free(payload);
    free(stored);
}

struct trace_bytes trace_build(const struct sl_event *events, size_t count, size_t per_block, bool ended)
{
    struct trace_bytes trace = {0};
    struct sluice_trace_header header = {.magic = SLUICE_TRACE_MAGIC,
                                         .major_version = SLUICE_TRACE_MAJOR,
                                         .minor_version = SLUICE_TRACE_MINOR,
                                         .header_bytes = sizeof(header),
                                         .realtime_ns = 1763690400000000000,
                                         .monotonic_ns = 1000,
                                         .process = 4711,
                                         .program = "gpt"};
    append(&trace, &header, sizeof(header));
    trace_seal_header(&trace);
    for (size_t i = 0; i < count; i += per_block)
        append_block(&trace, 1 + (uint32_t)(i / per_block % 2), i, events + i,
                     count - i < per_block ? count - i : per_block);
    if (ended) append_block(&trace, 0, count, &(struct sl_event){.type = SLUICE_TRACE_END, .a = count}, 1);
    return trace;
}

void trace_seal_header(struct trace_bytes *trace)
{
    uint32_t bytes;
    memcpy(&bytes, trace->bytes + offsetof(struct sluice_trace_header, header_bytes), sizeof(bytes));
    uint64_t checksum = sl_trace_header_checksum(trace->bytes, bytes);
    memcpy(trace->bytes + bytes - sizeof(checksum), &checksum, sizeof(checksum));
}

void trace_seal_block(struct trace_bytes *trace, size_t offset)
{
    struct sluice_trace_block block;
    memcpy(&block, trace->bytes + offset, sizeof(block));
    block.checksum = sl_trace_block_checksum(&block, trace->bytes + offset + sizeof(block));
    memcpy(trace->bytes + offset, &block, sizeof(block));
}

/* Reads on into `content`. */
static void collect(struct sl_trace_reader *reader, struct trace_content *content)
{
    struct sl_trace_record record;
    while (sl_trace_reader_next(reader, &record)) {
        if (!(content->count & (content->count - 1))) {
            size_t room = content->count ? 2 * content->count : 1;
            content->records = realloc(content->records, room * sizeof(record));
            if (!content->records) abort();
        }
        if (record.event.text) record.event.text = strdup(record.event.text);
        content->records[content->count++] = record;
    }
    content->problem = *sl_trace_reader_problem(reader);
}

static struct trace_content collect_all(struct sl_trace_reader *reader, bool *found)
{
    struct trace_content content = {.header = *sl_trace_reader_header(reader)};
    collect(reader, &content);
    if (found) {
        *found = sl_trace_reader_resume(reader);
        collect(reader, &content);
    }
    sl_trace_reader_close(reader);
    return content;
}

struct trace_content trace_read_file(const char *path)
{
    struct trace_content content = {0};
    struct sl_trace_reader *reader;
    return sl_trace_reader_open(path, &reader, &content.problem) == SL_OK ? collect_all(reader, NULL)
                                                                          : content;
}

static struct trace_content read_memory(const void *bytes, size_t size, bool *found)
{
    struct trace_content content = {0};
    struct sl_trace_reader *reader;
    /* fmemopen only reads in this mode. */
    FILE *stream = size ? fmemopen((void *)bytes, size, "rb") : fopen("/dev/null", "rb");
    if (!stream) abort();
    if (found) *found = false;
    if (sl_trace_reader_open_stream(stream, &reader, &content.problem) == SL_OK)
        content = collect_all(reader, found);
    fclose(stream);
    return content;
}

struct trace_content trace_read_bytes(const void *bytes, size_t size)
{
    return read_memory(bytes, size, NULL);
}

struct trace_content trace_read_past_damage(const void *bytes, size_t size, bool *found)
{
    return read_memory(bytes, size, found);
}

void trace_content_free(struct trace_content *content)
{
    for (size_t i = 0; i < content->count; i++) free((char *)content->records[i].event.text);
    free(content->records);
}
