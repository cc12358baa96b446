/* The launch path: from before the driver gets a launch until after it has it. As in runtime.h, functions are
 * thread-safe and may be called before the start and after the stop, when they own nothing and do nothing. */
#ifndef SLUICE_LAUNCH_PATH_H
#define SLUICE_LAUNCH_PATH_H

#include "launch/launch.h"

/* Call the first before the real call: it fetches the launch's chunks. It never fails: the worst case is a
 * slow launch. Call the second after the real call in the same thread; `ok` says whether the driver accepted
 * the launch. Every begin needs its end. */
void sl_runtime_launch_begin(struct sl_launch *launch);
void sl_runtime_launch_end(struct sl_launch *launch, bool ok);

/* The accesses of `launch`, which is not launched now: for launches of graphs. Its stream is ignored, and its
 * parameters are read during the call only. May ask the driver for the kernel's parameters. NULL: the core
 * does not run, or there is no memory. Free it with free(). */
struct sl_footprint *sl_runtime_footprint(const struct sl_launch *launch);

/* The device memory that a launch with this footprint would take now, and the budget. Bytes beyond the budget
 * are partly used in place. If the core does not move memory, the budget is unlimited. */
struct sl_fit {
    uint64_t bytes, budget_bytes;
};
struct sl_fit sl_runtime_fit(const struct sl_footprint *footprint);

#endif
