/* The numbers of the launches so far. */
#ifndef SLUICE_TICKS_H
#define SLUICE_TICKS_H

#include <stdatomic.h>

#include "base/types.h"

#define SL_OPEN_LAUNCHES 64 /* slots for launches between begin and end, indexed by tick modulo this */

struct sl_ticks {
    sl_tick now;                            /* the last launch that has begun */
    _Atomic sl_tick open[SL_OPEN_LAUNCHES]; /* launches begun and not ended; 0: free */
};

/* The newest tick up to which every launch has ended. Caller holds the order lock. */
sl_tick sl_ticks_submitted(const struct sl_ticks *ticks);

#endif
