/* A topological order of a graph's nodes. */
#ifndef SLUICE_SHIM_GRAPH_ORDER_H
#define SLUICE_SHIM_GRAPH_ORDER_H

#include <stdbool.h>
#include <stddef.h>

#include <cuda.h>

/* order[0..count): the indices of `nodes`, all nodes of one graph, each after its dependencies and otherwise
 * in the listed order. False: the driver refused, or out of memory. */
bool sl_graph_order(const CUgraphNode *nodes, size_t count, size_t *order);

#endif
