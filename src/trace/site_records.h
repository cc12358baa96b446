/* The sites of a trace: each is written once, before the first record that names it. */
#ifndef SLUICE_SITE_RECORDS_H
#define SLUICE_SITE_RECORDS_H

#include "base/types.h"

#define SL_SITE_FRAMES 24
#define SL_SITE_RECORDS_MOST 4096u

/* A call stack, the innermost frame first. */
struct sl_frames {
    int count;
    uint32_t modules[SL_SITE_FRAMES]; /* sl_module_number, 0: code that is in no object, or one too many */
    uint64_t offsets[SL_SITE_FRAMES]; /* of return addresses: from where the module is loaded, or addresses */
    uint32_t new_modules[SL_SITE_FRAMES], new_count; /* that the trace does not know yet */
};

/* False: it is not written, since records were lost; the next call for the site writes it. True, too, when
 * too many sites were written. */
bool sl_site_emit(uint64_t site, const struct sl_frames *frames);

#endif
