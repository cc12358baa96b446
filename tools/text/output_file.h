/* Output files at paths that the user gives. */
#ifndef SLUICE_TOOL_OUTPUT_FILE_H
#define SLUICE_TOOL_OUTPUT_FILE_H

#include <stdio.h>

#include "base/output.h"

#define FORCE_HELP "Replace an existing file, whatever it contains (also: SLUICE_OVERWRITE=1)."

/* Sets whether files of other kinds are replaced; call it before opening files. */
void output_force(bool force);

/* Opens and truncates `path`. NULL: see errno and sl_file_problem; EEXIST: the file is of another kind. */
FILE *output_open(const char *path, const struct sl_file_kind *kind);

/* Replaces `path` by a whole file, or leaves what is there: see sl_output_replace. Reports failures on stderr
 * and returns the exit status. */
int output_replace(const char *path, const struct sl_file_kind *kind, const void *bytes, size_t count);

/* Whether both paths lead to one existing file. */
bool output_is_same_file(const char *one, const char *other);

#endif
