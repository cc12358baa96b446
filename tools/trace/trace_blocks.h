/* The blocks of a trace file in the order of writing, each decompressed. Trusts nothing in the file. Not
 * thread-safe. */
#ifndef SLUICE_TRACE_BLOCKS_H
#define SLUICE_TRACE_BLOCKS_H

#include "tools/trace/trace_read.h"

/* A part of the file that was written from start to end: the first part, or a segment's last lap. */
struct sl_trace_part {
    uint64_t at, end;
    uint32_t lap;
};

struct sl_trace_blocks {
    FILE *stream;
    void *decompressor;
    struct sluice_trace_header header;
    struct sl_trace_problem problem;
    uint64_t offset; /* of the next byte to read from the stream */
    struct sl_trace_part parts[1 + SLUICE_TRACE_SEGMENTS_MAX];
    unsigned part_count, part; /* the one being read */
    bool found_again;          /* the next block was found by skipping damage */
    uint64_t records_seen;     /* in all blocks so far, lost records included */
    uint32_t next_in_group;    /* the next block that can be decompressed; 0: only the first of a group */

    /* The current block. */
    struct sluice_trace_block block;
    uint64_t block_offset;
    uint64_t lost;        /* records missing between the last block and this one */
    enum sl_gap_kind why; /* the cause of the loss */
    uint8_t stored[SLUICE_TRACE_BLOCK_MAX];
    uint8_t payload[SLUICE_TRACE_BLOCK_MAX];
};

/* Reads the header. The caller keeps the stream, which must be seekable if the file has a limit. On an error
 * blocks->problem says why; close `blocks` all the same. */
enum sl_status sl_trace_blocks_open(struct sl_trace_blocks *blocks, FILE *stream);
void sl_trace_blocks_close(struct sl_trace_blocks *blocks);

/* Goes to the next block. On an error blocks->problem says why; SL_ERR_TRUNCATED at the file's end. */
enum sl_status sl_trace_blocks_next(struct sl_trace_blocks *blocks);

/* Like sl_trace_reader_resume. */
bool sl_trace_blocks_resume(struct sl_trace_blocks *blocks);

/* Sets *problem and returns `status`. */
enum sl_status sl_trace_set_problem(struct sl_trace_problem *problem, enum sl_status status, uint64_t offset,
                                    const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
