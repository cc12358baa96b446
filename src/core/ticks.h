/* The launches so far, by number. */
#ifndef SLUICE_TICKS_H
#define SLUICE_TICKS_H

#include <stdatomic.h>

#include "base/types.h"

#define SL_OPEN_LAUNCHES 64 /* launches between begin and end, one for each thread */

struct sl_ticks {
    sl_tick now;                            /* of the last that has begun */
    _Atomic sl_tick open[SL_OPEN_LAUNCHES]; /* begun and not ended; 0: free */
};

/* The newest tick up to which every launch has ended. Caller holds the order lock. */
sl_tick sl_ticks_submitted(const struct sl_ticks *ticks);

#endif
