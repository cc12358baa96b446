/* An order of a graph's nodes that keeps its dependencies. */
#ifndef SLUICE_SHIM_GRAPH_ORDER_H
#define SLUICE_SHIM_GRAPH_ORDER_H

#include <stdbool.h>
#include <stddef.h>

#include <cuda.h>

/* order[0..count): the indices of `nodes`, which are all nodes of one graph; each behind those that it
 * depends on, and otherwise as they are listed. False: the driver did not say, or there is no memory. */
bool sl_graph_order(const CUgraphNode *nodes, size_t count, size_t *order);

#endif
