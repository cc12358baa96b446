/* Memory that graphs allocate by nodes. The driver shares it between graphs that do not run at once, and
 * keeps it until it is trimmed. So what is charged is what the driver holds, and at least what the largest
 * executable graph needs, ahead of its launch. Thread-safe. */
#ifndef SLUICE_SHIM_GRAPH_MEMORY_H
#define SLUICE_SHIM_GRAPH_MEMORY_H

#include <stdint.h>

#include <cuda.h>

/* An executable graph was made whose nodes allocate `bytes` bytes; `bytes` may be 0. */
void sl_graph_memory_made(CUgraphExec exec, uint64_t bytes);
/* It is about to be destroyed. Unknown graphs are ignored. */
void sl_graph_memory_forget(CUgraphExec exec);

/* Charges what the driver holds. Call it when that may have changed: after a launch, a destruction, a trim.
 * Does not ask the driver in a process whose graphs never allocated. */
void sl_graph_memory_settle(void);

/* For the child after fork. */
void sl_graph_memory_after_fork(void);

#endif
