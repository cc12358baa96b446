/* The option table as text. */
#ifndef SLUICE_OPTIONS_TEXT_H
#define SLUICE_OPTIONS_TEXT_H

#include "base/options.h"

/* The table as text: a line an option (SLUICE_VERBOSE=2, `sluice run --help`), or as Markdown
 * (docs/options.md). */
void sl_options_print(FILE *to, bool markdown);
/* The values in force, a line each. */
void sl_options_print_values(FILE *to, const struct sl_options *values);

#endif
