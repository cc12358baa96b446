/* An executable graph that touches more than the budget, launched in pieces: its nodes in an order that keeps
 * its dependencies, cut so that what each piece touches has room beside what the next one needs. Each piece
 * is an executable graph of its own, made of a copy of the graph from which the others' nodes were taken out.
 * The pieces run one behind the other in the stream.
 *
 * Graphs of kernels, copies, memsets and of child graphs of these are cut. Others stay whole: a node that
 * waits for something may wait for what would come in a later piece, and what memory nodes allocate is one
 * graph's.
 *
 * As with the driver, calls that concern one executable graph are not made at the same time.
 */
#ifndef SLUICE_SHIM_GRAPH_PIECES_H
#define SLUICE_SHIM_GRAPH_PIECES_H

#include <stdbool.h>
#include <stddef.h>

#include "core/runtime.h"
#include "driver_api.h"

struct sl_graph_pieces;

/* Of `graph`, which was instantiated with `flags`, as it is now. NULL: there is no memory, or it is launched
 * by the device. Safe while any thread captures. */
struct sl_graph_pieces *sl_graph_pieces_new(CUgraph graph, unsigned long long flags);
void sl_graph_pieces_free(struct sl_graph_pieces *pieces); /* accepts NULL */

/* The executable graph was updated as a whole, from `graph`. The same. */
void sl_graph_pieces_update(struct sl_graph_pieces *pieces, CUgraph graph);
/* Which of its nodes is which of those that the program knows is the driver's secret: once one of these is
 * changed it stays whole. */
void sl_graph_pieces_unname(struct sl_graph_pieces *pieces);
/* It was changed in a way that is not followed: it stays whole until it is updated. */
void sl_graph_pieces_give_up(struct sl_graph_pieces *pieces);

/* What one node does from now on; one of the pointers is set. */
struct sl_graph_change {
    const CUDA_KERNEL_NODE_PARAMS_v2 *kernel;
    const CUDA_MEMCPY3D *copy;
    const CUDA_MEMSET_NODE_PARAMS *set;
    CUcontext context; /* of copies and sets */
};

/* The executable graph's `node`, as the program names it, was changed. `launch`: what it does now. */
void sl_graph_pieces_change(struct sl_graph_pieces *pieces, CUgraphNode node,
                            const struct sl_graph_change *change, const struct sl_launch *launch);
/* The same for whether it runs. */
void sl_graph_pieces_enable(struct sl_graph_pieces *pieces, CUgraphNode node, bool enabled);

/* Cuts the graph, if it is not yet or a piece has grown, so that each piece fits `budget_bytes` where its
 * nodes allow it. Returns how many there are; 0: it stays whole. Safe while any thread captures. */
size_t sl_graph_pieces_cut(struct sl_graph_pieces *pieces, uint64_t budget_bytes);

/* Piece `i` of those, and what it touches. */
CUgraphExec sl_graph_pieces_exec(const struct sl_graph_pieces *pieces, size_t i);
const struct sl_footprint *sl_graph_pieces_footprint(struct sl_graph_pieces *pieces, size_t i);

/* Launches of an executable graph run one behind the other, whatever their streams: to be called before and
 * after the launch of all pieces, or of the whole. pre: `stream` does not capture. */
void sl_graph_pieces_begin(struct sl_graph_pieces *pieces, CUstream stream);
void sl_graph_pieces_end(struct sl_graph_pieces *pieces, CUstream stream);

#endif
