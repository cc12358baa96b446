/* What a driver's calls for managed memory cost, and who does their work. docs/driver-model.md has the
 * sources of the figures.
 *
 * `ideal` only copies. A real driver makes and removes page-table entries for the CPU, block by block: in the
 * thread that calls if the stream is idle, else in a thread of its own. */
#ifndef SLUICE_SIM_DRIVER_H
#define SLUICE_SIM_DRIVER_H

#include "tools/sim/sim_clock.h"
#include "tools/sim/sim_memory.h"

enum { SL_SIM_IDEAL, SL_SIM_580 };

struct sl_sim_driver {
    uint32_t number; /* SL_SIM_IDEAL and so on */
    /* For a block of 2 MiB: the CPU's page-table entries, made, removed, or there already; a discard. */
    uint32_t map_ns, unmap_ns, remap_ns, discard_ns;
    uint32_t retire_ns;    /* a stream counts as busy so long after its last operation */
    uint32_t both_percent; /* speed of each direction while both are in use, in per cent of its speed alone */
    uint32_t workers; /* threads that do the work of calls, at most SL_SIM_WORKERS; 0: there is none to do */
    uint32_t movers;  /* so many of them do only what goes to the host, the others the rest; 0: all do both */
};
enum { SL_SIM_WORKERS = 256 };

/* The threads that work in a direction at a time, of those that sluice or the driver has. */
static inline uint32_t sl_sim_driver_threads(const struct sl_sim_driver *driver, enum sl_sim_way way)
{
    if (!driver->movers) return driver->workers;
    return way == SL_SIM_OUT ? driver->movers : driver->workers - driver->movers;
}

extern const char *const sl_sim_driver_names[]; /* by these numbers; NULL after the last */
extern const struct sl_sim_driver sl_sim_drivers[];

/* The work of a prefetch that does what *moved says. `link`: its speeds while nothing else uses it. */
struct sl_sim_work sl_sim_driver_work(const struct sl_sim_driver *driver, const struct sl_sim_link *link,
                                      enum sl_sim_way way, const struct sl_sim_moved *moved);

#endif
