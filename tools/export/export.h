/* `sluice trace export`: formats for other programs. */
#ifndef SLUICE_EXPORT_H
#define SLUICE_EXPORT_H

#include <stdio.h>

#include "tools/analyses/clocks.h"
#include "tools/phases/phases.h"

struct export_counts {
    uint64_t packets, slices, moments, samples;
};

/* The exported time; everything that overlaps it. */
struct export_window {
    uint64_t from_ns, to_ns;
};

struct export_rank {
    uint32_t number;
    const struct model *model;
    struct phases phases;
    struct export_window window; /* on the rank's own clock */
};

/* One trace, or those of several ranks. */
struct export_job {
    const struct export_rank *ranks;
    size_t count;
    const struct meetings *meetings; /* of several ranks, */
    const struct clock *clocks;      /* and the relation of their clocks */
};

/* Writes them for Perfetto; each rank is a process on the clock of the first. False: out of memory; write
 * errors are those of `to`. */
bool export_perfetto(const struct export_job *job, FILE *to, struct export_counts *counts);

/* The same as a Chrome trace, whose clock is that of PyTorch's profiler. With `with`, which chrome_file_open
 * has opened, all of that file is in it, too. False: see errno. */
struct chrome_file;
bool export_chrome(const struct export_job *job, FILE *to, struct chrome_file *with,
                   struct export_counts *counts);

/* Writes the records of the trace `path` to tables in `folder`, which is made if needed: a file for each type
 * of record, and trace.csv. *records: number of records. Returns the exit status, after a message on stderr
 * if it failed. */
int export_csv(const char *path, const char *folder, uint64_t *records);

#endif
