/* `sluice trace export`: the formats that other programs read. */
#ifndef SLUICE_EXPORT_H
#define SLUICE_EXPORT_H

#include <stdio.h>

#include "tools/analyses/clocks.h"
#include "tools/phases/phases.h"

struct export_counts {
    uint64_t packets, slices, moments, samples;
};

/* What is exported: all that overlaps this time. */
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
    const struct meetings *meetings; /* of several: theirs, */
    const struct clock *clocks;      /* and how their clocks stand */
};

/* Writes them for Perfetto: several as a process each, on the clock of the first. False when there is no
 * memory; errors of writing are those of `to`. */
bool export_perfetto(const struct export_job *job, FILE *to, struct export_counts *counts);

/* Writes the records of the trace `path` into tables in `folder`, which is made if need be: a file for each
 * type of record, and trace.csv. *records: how many. Returns the exit status, and has said why on stderr. */
int export_csv(const char *path, const char *folder, uint64_t *records);

#endif
