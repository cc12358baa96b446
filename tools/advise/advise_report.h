/* The output of `sluice advise`. */
#ifndef SLUICE_TOOL_ADVISE_REPORT_H
#define SLUICE_TOOL_ADVISE_REPORT_H

#include <stdio.h>

#include "tools/advise/advice.h"
#include "tools/advise/situation.h"

struct advise_report {
    const struct situation *situation;
    const struct advice_list *list; /* ranked */
    bool complete;                  /* the traces were read to their ends */
};

/* The run, and the first `most` items. */
void advise_print_text(const struct advise_report *report, size_t most, FILE *to);
void advise_print_json(const struct advise_report *report, FILE *to);

#endif
