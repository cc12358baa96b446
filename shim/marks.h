/* Ranges and moments that the program names, for the trace. Any thread; does nothing unless a trace is
 * written. */
#ifndef SLUICE_SHIM_MARKS_H
#define SLUICE_SHIM_MARKS_H

#include <stddef.h>
#include <wchar.h>

#include "trace/events.h"

#define SL_MARK_NAME 128 /* including the terminating 0; longer names are cut */

/* Copy a foreign name as UTF-8, cut to fit; NULL gives an empty name. Return `out`. */
const char *sl_mark_name(const char *name, char out[SL_MARK_NAME]);
const char *sl_mark_wide_name(const wchar_t *name, char out[SL_MARK_NAME]);

/* NVTX finds its tool (nvtx.c) by the environment of this process: names this library there if a trace will
 * be written and no other tool is named. Called once, while there is one thread. */
void sl_nvtx_offer(void);

#endif
