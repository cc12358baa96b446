/* Paths in options. */
#ifndef SLUICE_OPTIONS_PATH_H
#define SLUICE_OPTIONS_PATH_H

#include "base/types.h"

/* Makes `path` absolute and doubles each % of the current folder's name, for sl_options_expand. False: it
 * does not fit, or the folder has no name. */
bool sl_options_absolute(const char *path, char *out, size_t out_bytes);

/* Expands %p, %h and %r of `template`. False: it does not fit. */
bool sl_options_expand(const char *template, char *out, size_t out_bytes);

/* The process's rank in a distributed job, in decimal digits; NULL: no launcher has set one. */
const char *sl_options_rank(void);

#endif
