/* The option table as flags of a command, and as a text. */
#ifndef SLUICE_TOOL_OPTION_FLAGS_H
#define SLUICE_TOOL_OPTION_FLAGS_H

#include <stdio.h>

#include "base/options.h"

/* The environment name for a command-line flag of `sluice run` without its dashes ("budget"), or NULL. A flag
 * without a value (verbose) raises its variable by one each time it is given. */
const char *sl_options_env_for_flag(const char *flag, bool *takes_value);
/* The flags in the table's order; NULL beyond the last. */
const char *sl_options_flag(size_t index);
/* Whether the variable `env` names a file. */
bool sl_options_is_path(const char *env);

/* Prints the table: some lines for each option (`sluice run --help`), or Markdown
 * (docs/options.md). */
void sl_options_print(FILE *to, bool markdown);

#endif
