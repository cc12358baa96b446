/* Around the driver's calls that may load a module: what it takes of the device is charged to the budget. */
#ifndef SLUICE_SHIM_LOAD_H
#define SLUICE_SHIM_LOAD_H

#include "core/runtime.h"

/* `image`: of which the size may be known before (module_bytes.h); or NULL. */
struct sl_loading sl_load_begin(const void *image);
/* `handle`: the module or library, to whose charge this is added; 0: nothing was loaded. */
void sl_load_end(const struct sl_loading *loading, uint64_t handle);

#endif
