/* Any bytes as a trace: the reader must neither crash nor hand out what the file does not hold. Checksums are
 * repaired first, or nothing but their refusal would be tested. */
#include <stdlib.h>
#include <string.h>

#include "trace_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void repair(struct trace_bytes *trace)
{
    struct sluice_trace_header header;
    if (trace->size < sizeof(header)) return;
    memcpy(&header, trace->bytes, sizeof(header));
    if (header.header_bytes < sizeof(header) || header.header_bytes > trace->size) return;
    trace_seal_header(trace);
    for (size_t at = header.header_bytes;;) {
        struct sluice_trace_block block;
        if (trace->size - at < sizeof(block)) return;
        memcpy(&block, trace->bytes + at, sizeof(block));
        if (block.stored_bytes > trace->size - at - sizeof(block)) return;
        trace_seal_block(trace, at);
        at += sizeof(block) + block.stored_bytes;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct trace_bytes trace = {.bytes = malloc(size + 1), .size = size};
    if (!trace.bytes) abort();
    memcpy(trace.bytes, bytes, size);
    repair(&trace);
    bool found;
    struct trace_content content = trace_read_past_damage(trace.bytes, size, &found);
    if (content.problem.offset > size) abort();
    trace_content_free(&content);
    free(trace.bytes);
    return 0;
}
