/* What each executable graph touches, kept from its instantiation on, so that its launches can be fetched
 * for. The nodes' parameters are the driver's; what they name is noted when they are set.
 *
 * As with the driver, calls that concern one executable graph are not made at the same time. Kernels that are
 * changed from the device, conditional nodes and batches of memory operations are not followed: what they
 * touch is used remotely.
 */
#ifndef SLUICE_SHIM_GRAPHS_H
#define SLUICE_SHIM_GRAPHS_H

#include <stdbool.h>

#include <cuda.h>

#include "core/runtime.h"
#include "graph_pieces.h"

/* The driver has made `exec` of `graph`. */
void sl_graphs_made(CUgraphExec exec, CUgraph graph, unsigned long long flags);
/* Before the driver's call: the handle may be given out again. */
void sl_graphs_forget(CUgraphExec exec);

/* The driver has set parameters: of the whole graph from `graph`, of the child graph that is `node` from
 * `graph`, of `node` to what `launch` does. */
void sl_graphs_updated(CUgraphExec exec, CUgraph graph);
void sl_graphs_child_updated(CUgraphExec exec, CUgraphNode node, CUgraph graph);
void sl_graphs_node_set(CUgraphExec exec, CUgraphNode node, const struct sl_launch *launch,
                        const struct sl_graph_change *change);
void sl_graphs_node_enabled(CUgraphExec exec, CUgraphNode node, bool enabled);

/* What a launch of `exec` touches; NULL where nothing is known. Valid until the graph is next changed. */
const struct sl_footprint *sl_graphs_footprint(CUgraphExec exec);

/* It is about to be launched in `stream`, which takes work: what its captures allocated is in use from now
 * on. */
void sl_graphs_launch(CUgraphExec exec, CUstream stream);

/* What runs it in pieces, or NULL: it was never known to touch more than the budget. */
struct sl_graph_pieces *sl_graphs_pieces(CUgraphExec exec);

/* Whether it has work that waits for something else than the device. */
bool sl_graphs_wait(CUgraphExec exec);

/* The child's part of fork. */
void sl_graphs_after_fork(void);

#endif
