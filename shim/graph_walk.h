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
    struct sl_footprint *footprint; /* NULL: nothing that is known */
    size_t inside;                  /* how many of the following nodes are its child graph's */
    uint64_t allocated_bytes;       /* by a memory node */
    bool unknown;                   /* it may touch what the footprint does not say */
    bool disabled;
};

/* In the graph's order, a child graph's nodes after it. */
struct sl_graph_nodes {
    struct sl_graph_node *list;
    size_t count, capacity;
};

/* Appends the nodes of `graph`. Asks the driver; safe while any thread captures. A node that the driver says
 * nothing about is unknown, and the others are noted all the same. False: nodes are missing. */
bool sl_graph_walk(struct sl_graph_nodes *nodes, CUgraph graph);

/* Forgets what [first, first + count) touch. */
void sl_graph_nodes_drop(struct sl_graph_nodes *nodes, size_t first, size_t count);
void sl_graph_nodes_free(struct sl_graph_nodes *nodes); /* accepts zeroed ones */

/* What a launch touches; as sl_runtime_footprint, and safe while any thread captures. */
struct sl_footprint *sl_graph_note(const struct sl_launch *launch);

/* What a node with these parameters does. */
struct sl_launch sl_graph_kernel(const CUDA_KERNEL_NODE_PARAMS_v2 *parameters);
struct sl_launch sl_graph_copy(const CUDA_MEMCPY3D *parameters);
struct sl_launch sl_graph_set(const CUDA_MEMSET_NODE_PARAMS *parameters);

/* Parameters of a node of any kind, which is a kernel or a set, as those of one. */
CUDA_KERNEL_NODE_PARAMS_v2 sl_graph_kernel_of(const CUgraphNodeParams *parameters);
CUDA_MEMSET_NODE_PARAMS sl_graph_set_of(const CUgraphNodeParams *parameters);

/* The same for nodes of any kind. False: it is no kernel, copy or set. */
bool sl_graph_work(const CUgraphNodeParams *parameters, struct sl_launch *out);

/* Whether a copy or set of a node stays inside allocations, where it begins in memory of ours. */
bool sl_graph_stays_inside(const struct sl_launch *launch);

#endif
