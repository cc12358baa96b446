/* The table of the Driver API, from api_built.def and api_refused.def. */
#ifndef SOFTCUDA_RESOLVE_H
#define SOFTCUDA_RESOLVE_H

#include <stdbool.h>

#include "api.h"

struct sc_api_row {
    const char *name, *symbol;
    int version;
    bool per_thread;
    void *function;
};

/* The newest form of `name` that CUDA `version` and the simulated driver know, or NULL; *status says why. If
 * `per_thread`, the per-thread form is preferred. Thread safety: may be called from any thread. */
const struct sc_api_row *sc_api_find(const char *name, int version, bool per_thread,
                                     CUdriverProcAddressQueryResult *status);

#endif
