/* Reads trace files: libsluice-trace, `pkg-config sluice-trace`. What the records' fields mean says
 * enum sluice_trace_type in sluice/trace.h.
 *
 *   struct sluice_trace_reader *reader;
 *   struct sluice_trace_problem problem;
 *   struct sluice_trace_record record;
 *   if (sluice_trace_open("gpt.slt", &reader, &problem) != SLUICE_TRACE_OK) return fail(problem.text);
 *   while (sluice_trace_next(reader, &record))
 *       if (record.type == SLUICE_TRACE_LAUNCH) launches++;
 *   problem = *sluice_trace_problem(reader);
 *   sluice_trace_close(reader);
 *
 * Nothing in a file is trusted: damage is told with its place, and never read past. A reader belongs to one
 * thread at a time; different readers know nothing of each other.
 */
#ifndef SLUICE_TRACE_READER_H
#define SLUICE_TRACE_READER_H

#include <stdbool.h>

#include "trace.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sluice_trace_reader;

enum sluice_trace_status {
    SLUICE_TRACE_OK = 0,    /* nothing is wrong; at the end: the program ended normally */
    SLUICE_TRACE_CUT,       /* the file ends before the program did: what it has was read */
    SLUICE_TRACE_DAMAGED,   /* see sluice_trace_resume */
    SLUICE_TRACE_FOREIGN,   /* no trace, or of another major version */
    SLUICE_TRACE_UNREADABLE /* the system says why, in the text; or there is no memory */
};

struct sluice_trace_problem {
    enum sluice_trace_status status;
    uint64_t offset; /* bytes from the start of the file */
    char text[160];  /* one line, without the file's name */
};

struct sluice_trace_record {
    uint8_t type; /* enum sluice_trace_type */
    uint8_t flags;
    uint32_t id;
    uint64_t tick;
    uint64_t time_ns; /* CLOCK_MONOTONIC of the machine that recorded */
    uint64_t a, b, c, d;
    const char *text; /* valid until the next call; NULL for types that have none. Any bytes but 0 */
    uint32_t thread;  /* as in struct sluice_trace_block */
    uint64_t offset;  /* of its block in the file, bytes */
};

/* Opens a file. On SLUICE_TRACE_OK *out is a reader for sluice_trace_close; otherwise *problem says why. */
enum sluice_trace_status sluice_trace_open(const char *path, struct sluice_trace_reader **out,
                                           struct sluice_trace_problem *problem);
void sluice_trace_close(struct sluice_trace_reader *reader); /* accepts NULL */

/* The file's header; `program` ends with a 0. Valid as long as the reader. */
const struct sluice_trace_header *sluice_trace_file_header(const struct sluice_trace_reader *reader);

/* The next record in the order of writing, in which each thread's records are in order. False at the end, and
 * where the file cannot be read on: sluice_trace_problem then says which. The end record is not handed out.
 * Where records are missing, an SLUICE_TRACE_GAP says how many; its flags: 0 the writer could not keep up,
 * 1 the file's limit, 2 damage that was passed over. */
bool sluice_trace_next(struct sluice_trace_reader *reader, struct sluice_trace_record *out);

/* How it stands: SLUICE_TRACE_OK while records come and after a normal end. Valid until the next call. */
const struct sluice_trace_problem *sluice_trace_problem(const struct sluice_trace_reader *reader);

/* After SLUICE_TRACE_DAMAGED: goes on at the next block that is whole. False if there is none. */
bool sluice_trace_resume(struct sluice_trace_reader *reader);

#ifdef __cplusplus
}
#endif

#endif
