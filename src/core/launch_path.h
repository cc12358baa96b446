/* The launch path, from before the driver gets a launch to after it has it.
 * As in runtime.h, functions are thread-safe and may be called before the start and after the stop, when they
 * own nothing and do nothing. */
#ifndef SLUICE_LAUNCH_PATH_H
#define SLUICE_LAUNCH_PATH_H

#include "launch/footprint.h"
#include "launch/launch.h"

/* Before the real call: gets the launch's chunks there. Never fails: the worst case is a slow launch.
 * After it: `ok` says whether the driver took the launch. Every begin has its end, in the same thread. */
void sl_runtime_launch_begin(struct sl_launch *launch);
void sl_runtime_launch_end(struct sl_launch *launch, bool ok);

/* What `launch`, which is not made now, may touch: for launches of graphs. Its stream means nothing, and its
 * parameters are read during the call only. May ask the driver for the kernel's parameters. NULL when the
 * core does not run or there is no memory. Freed with free(). */
struct sl_footprint *sl_runtime_footprint(const struct sl_launch *launch);

/* What of the device a launch with this footprint would take now, and how much there is for chunks; more is
 * used in place in part. Where the core does not move memory, nothing is too much. */
struct sl_fit {
    uint64_t bytes, budget_bytes;
};
struct sl_fit sl_runtime_fit(const struct sl_footprint *footprint);

#endif
