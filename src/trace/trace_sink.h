/* The trace's file as its writer sees it: records go in, blocks come out, compressed. A file with a limit
 * keeps its first part for good and goes round in the segments behind it. Not thread-safe. */
#ifndef SLUICE_TRACE_SINK_H
#define SLUICE_TRACE_SINK_H

#include <limits.h>

#include "base/output.h"
#include "trace/events.h"
#include "trace/trace_format.h"

#define SL_TRACE_BLOCK_BYTES ((size_t)64 << 10) /* of payload; a larger one loses more to a kill */
#define SL_TRACE_SEGMENTS 4                     /* of a limited file's second half */

struct sl_trace_sink {
    struct sl_output file;
    bool failed; /* nothing more is written */
    uint64_t records, lost;
    uint32_t lap;     /* 0 in the first part; then which segment, counted from 1 */
    uint64_t at, end; /* the next block's place, and where its part of the file ends */
    uint64_t tail_offset, segment_bytes;
    struct sl_trace_base base;
    uint32_t block_records;
    size_t used;        /* of `payload` */
    uint32_t group;     /* the next block's number in its frame */
    size_t group_bytes; /* of payload in the frame */
    void *compressor;
    size_t workspace_bytes;
    uint8_t *workspace; /* the compressor's, mapped */
    char path[PATH_MAX];
    uint8_t payload[SL_TRACE_BLOCK_BYTES];
    struct {
        struct sluice_trace_block header;
        uint8_t
            stored[SL_TRACE_BLOCK_BYTES + SL_TRACE_BLOCK_BYTES / 64]; /* what cannot be compressed grows */
    } block;
};

/* Creates `path` (0600, never through a link), which gets at most `limit_bytes` bytes (0: any number; else at
 * least SL_TRACE_LIMIT_LEAST), and writes the header. pre: *sink is zeroed. On an error errno says why and
 * the sink is as before: SL_ERR_IO, SL_ERR_NO_MEMORY. */
#define SL_TRACE_LIMIT_LEAST ((uint64_t)1 << 20)
enum sl_status sl_trace_sink_open(struct sl_trace_sink *sink, const char *path, uint64_t limit_bytes);

/* Adds a record to the block in the making. pre: all since the last flush are of one thread. */
void sl_trace_sink_add(struct sl_trace_sink *sink, uint32_t thread, const struct sl_event *event);

/* The next block can be read without those before it. */
void sl_trace_sink_begin_group(struct sl_trace_sink *sink);

/* Writes the block in the making. An error is logged once and ends the file. */
void sl_trace_sink_flush(struct sl_trace_sink *sink, uint32_t thread);

/* Closes the file. Accepts one that is not open. Frees nothing else: another thread may look at the lap. */
void sl_trace_sink_close(struct sl_trace_sink *sink);

#endif
