/* Paths in options. */
#ifndef SLUICE_OPTIONS_PATH_H
#define SLUICE_OPTIONS_PATH_H

#include "base/types.h"

/* `path` from the root; a % of the current folder's name is doubled, for sl_options_expand. Returns false
 * when it does not fit, or the folder has no name. */
bool sl_options_absolute(const char *path, char *out, size_t out_bytes);

/* `template` with %p, %h and %r expanded. Returns false when it does not fit. */
bool sl_options_expand(const char *template, char *out, size_t out_bytes);

/* The process's number in a distributed job, in decimal digits; NULL: no launcher has set one. */
const char *sl_options_rank(void);

#endif
