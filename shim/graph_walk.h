/* The nodes of a graph as the driver lists them. */
#ifndef SLUICE_SHIM_GRAPH_WALK_H
#define SLUICE_SHIM_GRAPH_WALK_H

#include <stdbool.h>
#include <stddef.h>

#include "core/runtime.h"
#include "driver_api.h"

struct sl_graph_node {
    CUgraphNode handle;
    CUgraphNodeType type;
    CUfunction function;            /* of a kernel */
    struct sl_footprint *footprint; /* NULL: unknown */
    size_t inside;                  /* number of following nodes that belong to its child graph */
    uint64_t allocated_bytes;       /* by a memory node */
    bool unknown;                   /* it may touch memory outside the footprint */
    bool disabled;
};

/* In the graph's order; a child graph's nodes follow it. */
struct sl_graph_nodes {
    struct sl_graph_node *list;
    size_t count, capacity;
};

/* Appends the nodes of `graph`. Asks the driver; safe while any thread captures. A node that the driver does
 * not describe is marked unknown; the others are still noted. False: nodes are missing. */
bool sl_graph_walk(struct sl_graph_nodes *nodes, CUgraph graph);

/* Forgets what the nodes [first, first + count) touch. */
void sl_graph_nodes_drop(struct sl_graph_nodes *nodes, size_t first, size_t count);
void sl_graph_nodes_free(struct sl_graph_nodes *nodes); /* accepts zeroed ones */

/* What a launch touches, as sl_runtime_footprint, but safe while any thread captures. */
struct sl_footprint *sl_graph_note(const struct sl_launch *launch);

/* The launch of a node with these parameters. */
struct sl_launch sl_graph_kernel(const CUDA_KERNEL_NODE_PARAMS_v2 *parameters);
struct sl_launch sl_graph_copy(const CUDA_MEMCPY3D *parameters);
struct sl_launch sl_graph_set(const CUDA_MEMSET_NODE_PARAMS *parameters);

/* Converts generic node parameters; the node must be a kernel or a memset. */
CUDA_KERNEL_NODE_PARAMS_v2 sl_graph_kernel_of(const CUgraphNodeParams *parameters);
CUDA_MEMSET_NODE_PARAMS sl_graph_set_of(const CUgraphNodeParams *parameters);

/* The same for any kind of node. False: it is not a kernel, copy or memset. */
bool sl_graph_work(const CUgraphNodeParams *parameters, struct sl_launch *out);

/* Whether a copy or memset node that begins in memory of ours stays inside allocations. */
bool sl_graph_stays_inside(const struct sl_launch *launch);

#endif
