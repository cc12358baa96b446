/* Files that a command writes where its user says. */
#ifndef SLUICE_TOOL_OUTPUT_FILE_H
#define SLUICE_TOOL_OUTPUT_FILE_H

#include <stdio.h>

#include "base/file_kind.h"

#define FORCE_HELP "Replace an existing file, whatever it contains (also: SLUICE_OVERWRITE=1)."

/* Before files are opened: whether those of other kinds are replaced. */
void output_force(bool force);

/* Opens `path`, emptied. NULL: errno says why, see sl_file_problem; EEXIST: it is a file of another kind. */
FILE *output_open(const char *path, const struct sl_file_kind *kind);

#endif
