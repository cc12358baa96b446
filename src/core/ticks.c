#include "core/ticks.h"

sl_tick sl_ticks_submitted(const struct sl_ticks *ticks)
{
    sl_tick until = ticks->now;
    for (int i = 0; i < SL_OPEN_LAUNCHES; i++) {
        sl_tick open = atomic_load_explicit(&ticks->open[i], memory_order_acquire);
        if (open && open <= until) until = open - 1;
    }
    return until;
}
