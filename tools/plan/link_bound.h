/* The least time that a step can take on a link, with a driver whose calls cost what docs/driver-model.md
 * says: no order of movements is faster. Each limit by itself bounds the step; the largest is the bound. */
#ifndef SLUICE_TOOL_LINK_BOUND_H
#define SLUICE_TOOL_LINK_BOUND_H

#include "tools/sim/sim_driver.h"

enum link_limit {
    LIMIT_COMPUTATION,
    LIMIT_LINK_IN,
    LIMIT_LINK_OUT,
    LIMIT_LINK_BOTH, /* what both directions have together while both are in use */
    LIMIT_THREADS_IN,
    LIMIT_THREADS_OUT,
    LIMIT_THREADS_BOTH, /* all threads that move memory, whichever way */
    LINK_LIMITS,
};
extern const char *const link_limit_names[LINK_LIMITS];

struct link_load {
    uint64_t computed_ns; /* a step with everything on the device */
    uint64_t bytes[SL_SIM_WAYS];
    uint64_t bytes_per_s[SL_SIM_WAYS]; /* of the link alone, each direction */
    uint64_t call_bytes;               /* the most that a call of the driver moves */
    uint64_t call_ns;                  /* that it takes besides */
    struct sl_sim_driver driver;
    uint32_t threads[SL_SIM_WAYS]; /* that may make calls for a direction at a time */
    uint32_t all_threads;          /* for both together; 0: calls take no thread's time */
};

struct link_bound {
    uint64_t ns[LINK_LIMITS]; /* 0: no limit */
    enum link_limit limit;    /* the largest of them; of equal ones the first */
};

/* The time of a thread in a call that moves so many bytes, with the link to itself. */
double link_call_ns(const struct link_load *load, enum sl_sim_way way, uint64_t bytes);

struct link_bound link_bound(const struct link_load *load);

#endif
