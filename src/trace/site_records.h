/* The sites of a trace: each is written once, before the first record that names it. */
#ifndef SLUICE_SITE_RECORDS_H
#define SLUICE_SITE_RECORDS_H

#include "base/types.h"
#include "trace/python_frames.h"

#define SL_SITE_FRAMES 24
#define SL_SITE_RECORDS_MOST 4096u

/* A call stack, innermost frame first. */
struct sl_frames {
    int count;
    uint32_t modules[SL_SITE_FRAMES]; /* sl_module_number; 0: code outside objects, or too many modules */
    uint64_t offsets[SL_SITE_FRAMES]; /* return address - the module's load address (0: no module) */
    uint32_t new_modules[SL_SITE_FRAMES], new_count; /* modules that the trace does not know yet */
};

/* Writes the site, with the calling thread's frames of Python, if the trace does not have it. False: the record
 * was lost, and the next call for the site writes it again. Returns true without writing if there are too many
 * sites. */
bool sl_site_emit(uint64_t site, const struct sl_frames *frames);

#endif
