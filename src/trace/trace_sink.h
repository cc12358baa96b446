/* The trace's file as its writer sees it: takes records and writes compressed blocks. A file with a limit
 * keeps its first part and overwrites the segments after it in turn. Not thread-safe. */
#ifndef SLUICE_TRACE_SINK_H
#define SLUICE_TRACE_SINK_H

#include <limits.h>

#include "base/output.h"
#include "trace/events.h"
#include "trace/trace_format.h"

#define SL_TRACE_BLOCK_BYTES ((size_t)64 << 10) /* of payload; larger ones lose more to a kill */
#define SL_TRACE_SEGMENTS 4                     /* in a limited file's second half */

/* The first bytes of a trace. */
extern const struct sl_file_kind sl_file_trace;

struct sl_trace_sink {
    struct sl_output file;
    bool failed; /* nothing more is written */
    uint64_t records, lost;
    uint32_t lap;     /* 0: the first part; else the number of segments begun */
    uint64_t at, end; /* position of the next block, and the end of its part of the file */
    uint64_t tail_offset, segment_bytes;
    struct sl_trace_base base;
    uint32_t block_records;
    size_t used;        /* of `payload` */
    uint32_t group;     /* number of the next block in its compression frame */
    size_t group_bytes; /* payload in the frame so far */
    void *compressor;
    size_t workspace_bytes;
    uint8_t *workspace; /* of the compressor; mapped */
    char path[PATH_MAX];
    uint8_t payload[SL_TRACE_BLOCK_BYTES];
    struct {
        struct sluice_trace_block header;
        uint8_t stored[SL_TRACE_BLOCK_BYTES + SL_TRACE_BLOCK_BYTES / 64]; /* incompressible data grows */
    } block;
};

/* Creates `path` (0600, never through a link) and writes the header. The file gets at most `limit_bytes`
 * bytes (0: no limit; else at least SL_TRACE_LIMIT_LEAST). Precondition: *sink is zeroed. On an error errno
 * says why and the sink is unchanged: SL_ERR_IO, SL_ERR_NO_MEMORY. */
#define SL_TRACE_LIMIT_LEAST ((uint64_t)1 << 20)
enum sl_status sl_trace_sink_open(struct sl_trace_sink *sink, const char *path, uint64_t limit_bytes);

/* Adds a record to the current block. Precondition: all records since the last flush are of one thread. */
void sl_trace_sink_add(struct sl_trace_sink *sink, uint32_t thread, const struct sl_event *event);

/* Makes the next block readable without earlier blocks. */
void sl_trace_sink_begin_group(struct sl_trace_sink *sink);

/* Writes the current block. An error is logged once and ends the file. */
void sl_trace_sink_flush(struct sl_trace_sink *sink, uint32_t thread);

/* Closes the file; does nothing if none is open. Frees nothing else, because another thread may read the
 * lap. */
void sl_trace_sink_close(struct sl_trace_sink *sink);

#endif
