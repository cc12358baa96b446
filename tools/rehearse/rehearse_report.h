/* The output of `sluice rehearse`. */
#ifndef SLUICE_TOOL_REHEARSE_REPORT_H
#define SLUICE_TOOL_REHEARSE_REPORT_H

#include <stdio.h>

#include "tools/rehearse/outcome.h"

struct rehearse_report {
    const struct outcome *of; /* one for each card */
    size_t count;
    uint64_t items;      /* tokens or samples of a step; 0: not given */
    const char *item;    /* "tokens" */
    uint64_t host_bytes; /* 0: this machine's */
    const char *budget;  /* as given, or NULL */
    char **command;
};

/* For one card all that is known, for several a table to choose by. False: out of memory. */
bool rehearse_print(const struct rehearse_report *report, FILE *to);
void rehearse_print_json(const struct rehearse_report *report, FILE *to);

/* Why there are no figures, in words; "" if there are. Of `bytes` bytes; returns `out`. */
const char *rehearse_problem(const struct outcome *outcome, char *out, size_t bytes);

#endif
