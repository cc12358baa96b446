/* An executable graph that touches more than the budget, launched in pieces. Its nodes are put in topological
 * order and cut so that the memory of each piece fits next to that of the following piece. Each piece is an
 * executable graph of its own, made from a copy of the graph without the other pieces' nodes. The pieces run
 * one after another in the stream.
 *
 * Graphs of kernels, copies, memsets and child graphs of these are cut. Others stay whole: a node that waits
 * for something might wait for a later piece, and memory nodes allocate for one graph only.
 *
 * As with the driver, calls for one executable graph must not run at the same time. */
#ifndef SLUICE_SHIM_GRAPH_PIECES_H
#define SLUICE_SHIM_GRAPH_PIECES_H

#include <stdbool.h>
#include <stddef.h>

#include "core/runtime.h"
#include "driver_api.h"

struct sl_graph_pieces;

/* From the current state of `graph`, which was instantiated with `flags`. NULL: out of memory, or the device
 * launches the graph. Safe while any thread captures. */
struct sl_graph_pieces *sl_graph_pieces_new(CUgraph graph, unsigned long long flags);
void sl_graph_pieces_free(struct sl_graph_pieces *pieces); /* accepts NULL */

/* The executable graph was updated as a whole, from `graph`. Safe while any thread captures. */
void sl_graph_pieces_update(struct sl_graph_pieces *pieces, CUgraph graph);
/* The driver does not reveal how its nodes correspond to those that the program knows: it stays whole once
 * one of these is changed. */
void sl_graph_pieces_unname(struct sl_graph_pieces *pieces);
/* It was changed in a way that is not followed: it stays whole until it is updated. */
void sl_graph_pieces_give_up(struct sl_graph_pieces *pieces);

/* New parameters of one node; one of the pointers is set. */
struct sl_graph_change {
    const CUDA_KERNEL_NODE_PARAMS_v2 *kernel;
    const CUDA_MEMCPY3D *copy;
    const CUDA_MEMSET_NODE_PARAMS *set;
    CUcontext context; /* of copies and memsets */
};

/* The executable graph's `node`, as the program names it, was changed to `launch`. */
void sl_graph_pieces_change(struct sl_graph_pieces *pieces, CUgraphNode node,
                            const struct sl_graph_change *change, const struct sl_launch *launch);
/* The same for enabling or disabling the node. */
void sl_graph_pieces_enable(struct sl_graph_pieces *pieces, CUgraphNode node, bool enabled);

/* Cuts the graph, if it is not cut or a piece has grown, so that each piece fits `budget_bytes` if its nodes
 * allow it. Returns the number of pieces; 0: it stays whole. Safe while any thread captures. */
size_t sl_graph_pieces_cut(struct sl_graph_pieces *pieces, uint64_t budget_bytes);

/* Piece `i`, and the memory that it touches. */
CUgraphExec sl_graph_pieces_exec(const struct sl_graph_pieces *pieces, size_t i);
const struct sl_footprint *sl_graph_pieces_footprint(struct sl_graph_pieces *pieces, size_t i);

/* Launches of an executable graph run one after another, whatever their streams: call these before and after
 * the launch of all pieces, or of the whole. Precondition: `stream` does not capture. False: they cannot be
 * put in order, and must not be launched. */
bool sl_graph_pieces_begin(struct sl_graph_pieces *pieces, CUstream stream);
void sl_graph_pieces_end(struct sl_graph_pieces *pieces, CUstream stream);

#endif
