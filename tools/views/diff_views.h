/* The views of a comparison of two traces. */
#ifndef SLUICE_TOOL_DIFF_VIEWS_H
#define SLUICE_TOOL_DIFF_VIEWS_H

#include <stdio.h>

#include "tools/analyses/diff.h"
#include "tools/model/site_title.h"
#include "tools/text/json.h"

struct diff_view {
    const struct diff *diff;
    struct site_titles *titles[DIFF_SIDES];
    const char *paths[DIFF_SIDES]; /* defused */
    uint64_t limit;                /* rows of kernels and of sites */
};

/* The site's title in B; in A, if B has no allocation from there. Returns `out`. */
static inline const char *diff_site_title(const struct diff_view *view, const struct diff_site *site,
                                          char out[SITE_TITLE])
{
    unsigned s = site->of[DIFF_B] ? DIFF_B : DIFF_A;
    struct site_stack stack = site_stack_of(site->of[s]);
    return site_title(view->titles[s], &stack, out);
}

/* The first line: which trace is better, and by how much, or what cannot be compared. Ends with a newline. */
void diff_headline(const struct diff *diff, FILE *to);

/* diff_text.c: prints everything on stdout. Returns the exit status. */
int diff_print_text(const struct diff_view *view);

/* diff_json.c: everything as one object. False: out of memory; the object is closed, but incomplete. */
bool diff_json(struct json *json, const char *key, const struct diff_view *view);

#endif
