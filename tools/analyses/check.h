/* Verifying a trace: everything that can be read of it, with damage passed over, and what is not there. */
#ifndef SLUICE_CHECK_H
#define SLUICE_CHECK_H

#include "tools/text/progress.h"
#include "tools/model/trace_text.h"

/* Where the file cannot be read. */
struct check_damage {
    struct sl_trace_problem problem;
    uint64_t tick;        /* of the last record before */
    bool goes_on;         /* a whole block follows somewhere: */
    uint64_t next_offset; /* there */
    uint64_t next_tick;   /* of its first record */
    uint64_t lost;        /* records between */
};

/* What the file refers to without having it. */
enum check_lack_kind {
    LACK_ACCESSES,    /* launches that refer to one whose accesses are not there */
    LACK_LAUNCHES,    /* accesses of launches that are not there */
    LACK_ALLOCATIONS, /* frees without their allocation */
    LACK_FREES,       /* allocations of a slot that was not freed */
    LACK_NAMES,       /* launches of kernels without a name */
    LACK_KINDS,
};

struct check_lack {
    uint64_t count;
    uint64_t tick, offset; /* of the first: the record and its block */
};

struct check {
    uint64_t blocks, threads, records;
    uint64_t launches, last_tick;
    uint64_t gaps, unwritten; /* records that the program could not write, and how often that was */
    uint64_t overwritten;     /* records that a file with a limit no longer has */
    uint64_t damaged;         /* records that were lost by damage */
    struct check_damage *damages;
    size_t damage_count, damage_room;
    struct sl_trace_problem end; /* how it ends: SL_OK, or SL_ERR_TRUNCATED, or why it cannot be read on */
    struct check_lack lacks[LACK_KINDS];
};

/* Reads all of a trace. *out is released with check_free in any case. False when there is no memory. */
bool check_trace(struct sl_trace_reader *reader, struct progress *progress, struct check *out);
void check_free(struct check *check);

/* Nothing is damaged, it has its end, and what its records refer to is there or was lost when it was written.
 */
bool check_is_whole(const struct check *check);

#endif
