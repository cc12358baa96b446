/* Reads traces. Trusts nothing in the file. Not thread-safe: a reader belongs to one thread. */
#ifndef SLUICE_TRACE_READ_H
#define SLUICE_TRACE_READ_H

#include <stdio.h>

#include "sluice/trace.h"
#include "trace/events.h"

struct sl_trace_reader;

struct sl_trace_record {
    struct sl_event event; /* text: valid until the next call */
    uint32_t thread;       /* see struct sluice_trace_block */
    uint64_t offset;       /* of its block in the file, bytes */
};

#define SL_TRACE_NO_TRACE "not a sluice trace"

/* What is wrong with a file, for users. */
struct sl_trace_problem {
    enum sl_status status; /* SL_OK: no problem */
    uint64_t offset;       /* bytes from the start of the file */
    char text[160];        /* one line without the file's name */
};

/* Opens a trace and reads its header. On SL_OK the caller closes *out with sl_trace_reader_close. Otherwise
 * *problem says why: SL_ERR_IO, SL_ERR_FORMAT, SL_ERR_VERSION, SL_ERR_TRUNCATED, SL_ERR_NO_MEMORY. */
enum sl_status sl_trace_reader_open(const char *path, struct sl_trace_reader **out,
                                    struct sl_trace_problem *problem);

/* The same for an open stream; the caller closes the stream after the reader. */
enum sl_status sl_trace_reader_open_stream(FILE *stream, struct sl_trace_reader **out,
                                           struct sl_trace_problem *problem);
void sl_trace_reader_close(struct sl_trace_reader *reader); /* accepts NULL */

/* The header; `program` is terminated. */
const struct sluice_trace_header *sl_trace_reader_header(const struct sl_trace_reader *reader);

/* The next record in the order of writing, which keeps each thread's order. An SL_EVENT_GAP stands for
 * records that a limited file has overwritten. False: the end, or the file is damaged or truncated;
 * sl_trace_reader_problem says which. SL_ERR_TRUNCATED: everything up to `offset` was read, and the file ends
 * within a block or without an end record. */
bool sl_trace_reader_next(struct sl_trace_reader *reader, struct sl_trace_record *out);

/* After SL_ERR_FORMAT from sl_trace_reader_next: looks for the next intact block. True: clears the problem,
 * and sl_trace_reader_next continues there, with an SL_EVENT_GAP first if records are missing. False: there
 * is none; the problem stays. */
bool sl_trace_reader_resume(struct sl_trace_reader *reader);
const struct sl_trace_problem *sl_trace_reader_problem(const struct sl_trace_reader *reader);

#endif
