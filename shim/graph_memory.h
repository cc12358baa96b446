/* Memory that graphs allocate by nodes. It is charged with each executable graph, ahead of its launch; the
 * driver may hold more, as it keeps memory of graphs that are gone until it is trimmed. Thread-safe.
 */
#ifndef SLUICE_SHIM_GRAPH_MEMORY_H
#define SLUICE_SHIM_GRAPH_MEMORY_H

#include <stdint.h>

/* An executable graph came, or went (bytes of its charge, negative). */
void sl_graph_memory_add(int64_t bytes);

/* Charges what the driver holds beyond the executable graphs' own charges. Asks nothing in a process whose
 * graphs never allocated. */
void sl_graph_memory_settle(void);

/* The child's part of fork. */
void sl_graph_memory_after_fork(void);

#endif
