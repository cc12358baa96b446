/* Verifies a trace: reads everything readable, skips damage, and lists what is missing. */
#ifndef SLUICE_CHECK_H
#define SLUICE_CHECK_H

#include "tools/text/progress.h"
#include "tools/model/trace_text.h"

/* A place where the file cannot be read. */
struct check_damage {
    struct sl_trace_problem problem;
    uint64_t tick;        /* of the last record before */
    bool goes_on;         /* a complete block follows: */
    uint64_t next_offset; /* at this offset */
    uint64_t next_tick;   /* tick of its first record */
    uint64_t lost;        /* records in between */
};

/* What the file refers to but does not contain. */
enum check_lack_kind {
    LACK_ACCESSES,    /* launches that refer to a launch whose accesses are missing */
    LACK_LAUNCHES,    /* accesses without their launch */
    LACK_ALLOCATIONS, /* frees without their allocation */
    LACK_FREES,       /* allocations of a slot that was not freed */
    LACK_NAMES,       /* launches of kernels without a name */
    LACK_KINDS,
};

struct check_lack {
    uint64_t count;
    uint64_t tick, offset; /* of the first one: its record and its block */
};

struct check {
    uint64_t blocks, threads, records;
    uint64_t launches, last_tick;
    uint64_t gaps, unwritten; /* records that the program dropped, and the number of times */
    uint64_t overwritten;     /* records that a file with a limit has overwritten */
    uint64_t damaged;         /* records lost by damage */
    struct check_damage *damages;
    size_t damage_count, damage_room;
    struct sl_trace_problem end; /* SL_OK, SL_ERR_TRUNCATED, or why the rest cannot be read */
    struct check_lack lacks[LACK_KINDS];
};

/* Reads all of a trace. The caller frees *out with check_free in any case. False: out of memory. */
bool check_trace(struct sl_trace_reader *reader, struct progress *progress, struct check *out);
void check_free(struct check *check);

/* The file is undamaged, has its end, and what its records refer to exists or was lost when it was written.
 */
bool check_is_whole(const struct check *check);

#endif
