/* The option table as text. */
#ifndef SLUICE_OPTIONS_TEXT_H
#define SLUICE_OPTIONS_TEXT_H

#include "base/options.h"

/* Prints the table: one line for each option (SLUICE_VERBOSE=2, `sluice run --help`), or Markdown
 * (docs/options.md). */
void sl_options_print(FILE *to, bool markdown);
/* Prints the values in force, one line each. */
void sl_options_print_values(FILE *to, const struct sl_options *values);

#endif
