/* The memory that each executable graph touches, recorded at its instantiation so that data can be fetched
 * for its launches. The driver owns the parameters of the nodes; the memory that they name is recorded when
 * they are set.
 *
 * As with the driver, calls for one executable graph must not run at the same time. Kernels changed from the
 * device, conditional nodes and batches of memory operations are not followed: launches use their memory
 * remotely. */
#ifndef SLUICE_SHIM_GRAPHS_H
#define SLUICE_SHIM_GRAPHS_H

#include <stdbool.h>

#include <cuda.h>

#include "core/runtime.h"
#include "graph_pieces.h"

/* The driver has made `exec` from `graph`. False: there is no memory to note that its launches allocate what
 * was captured, so it must not be launched. */
bool sl_graphs_made(CUgraphExec exec, CUgraph graph, unsigned long long flags);
/* Call it before the driver's call, which may reuse the handle. */
void sl_graphs_forget(CUgraphExec exec);

/* The driver has set parameters: of the whole graph from `graph`; of the child graph `node` from `graph`; of
 * `node` to those of `launch`. */
void sl_graphs_updated(CUgraphExec exec, CUgraph graph);
void sl_graphs_child_updated(CUgraphExec exec, CUgraphNode node, CUgraph graph);
void sl_graphs_node_set(CUgraphExec exec, CUgraphNode node, const struct sl_launch *launch,
                        const struct sl_graph_change *change);
void sl_graphs_node_enabled(CUgraphExec exec, CUgraphNode node, bool enabled);

/* The memory that a launch of `exec` touches; NULL: unknown. Valid until the graph changes. */
const struct sl_footprint *sl_graphs_footprint(CUgraphExec exec);

/* Before its launch in `stream`, which takes work: marks the memory that its captures allocated as in use.
 * The driver's error if such memory was not freed since the last launch. */
CUresult sl_graphs_launch(CUgraphExec exec, CUstream stream);
/* After it: the driver's answer to that launch. */
void sl_graphs_launched(CUgraphExec exec, CUresult result);

/* The pieces that run it, or NULL if it was never known to touch more than the budget. */
struct sl_graph_pieces *sl_graphs_pieces(CUgraphExec exec);

/* Whether it has work that waits for something other than the device. */
bool sl_graphs_wait(CUgraphExec exec);

/* For the child after fork. */
void sl_graphs_after_fork(void);

#endif
