/* Memory that graphs allocate by nodes. Each executable graph is charged when it is made, ahead of its
 * launch. The driver may hold more, because it keeps the memory of destroyed graphs until it is trimmed.
 * Thread-safe. */
#ifndef SLUICE_SHIM_GRAPH_MEMORY_H
#define SLUICE_SHIM_GRAPH_MEMORY_H

#include <stdint.h>

/* An executable graph was made, or destroyed (negative bytes of its charge). */
void sl_graph_memory_add(int64_t bytes);

/* Charges the memory that the driver holds beyond the charges of executable graphs. Does not ask the driver
 * in a process whose graphs never allocated. */
void sl_graph_memory_settle(void);

/* For the child after fork. */
void sl_graph_memory_after_fork(void);

#endif
