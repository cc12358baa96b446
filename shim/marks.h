/* Ranges and moments that the program names, for the trace. Any thread; nothing where no trace is written. */
#ifndef SLUICE_SHIM_MARKS_H
#define SLUICE_SHIM_MARKS_H

#include <stddef.h>
#include <wchar.h>

#include "trace/events.h"

#define SL_MARK_NAME 128 /* longer names are cut, each with its end */

/* Cut copies of somebody else's names, as UTF-8; NULL is an empty one. Return `out`. */
const char *sl_mark_name(const char *name, char out[SL_MARK_NAME]);
const char *sl_mark_wide_name(const wchar_t *name, char out[SL_MARK_NAME]);

/* The functions of NVTX (nvtx.c) record through this process's environment: makes it name this library, if a
 * trace is to be written and no other tool is named. Called once, while there is one thread. */
void sl_nvtx_offer(void);

#endif
