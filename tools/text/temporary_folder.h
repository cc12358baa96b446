/* A folder for files that are needed for a while. */
#ifndef SLUICE_TEMPORARY_FOLDER_H
#define SLUICE_TEMPORARY_FOLDER_H

#include <limits.h>
#include <stdbool.h>

/* Makes one in TMPDIR or /tmp whose name begins with `name`. Its path has no %, which templates of paths (%p)
 * would replace, and leaves room for a file's name in PATH_MAX. False, with errno: there is none, and `out`
 * is "". */
bool temporary_folder_make(const char *name, char out[PATH_MAX]);

/* Removes it with the files in it. */
void temporary_folder_remove(const char *folder);

#endif
