/* One line for an allocation site: the function on its call stack that tells it from other sites. */
#ifndef SLUICE_TOOL_DIFF_SITE_TITLE_H
#define SLUICE_TOOL_DIFF_SITE_TITLE_H

#include "tools/analyses/diff.h"

enum { SITE_TITLE = 448 };
struct site_titles;

/* `diff` must outlive the titles. NULL: out of memory. */
struct site_titles *site_titles_new(const struct diff *diff);
void site_titles_free(struct site_titles *titles); /* accepts NULL */

/* "matmul (gpt.cu:12)", or the site's number if its functions are unknown. Defused. Returns `out`. */
const char *site_title(struct site_titles *titles, const struct diff_site *site, char out[SITE_TITLE]);

#endif
