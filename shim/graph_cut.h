/* A graph cut into pieces: the nodes of each piece, and the executable graph that runs them. */
#ifndef SLUICE_SHIM_GRAPH_CUT_H
#define SLUICE_SHIM_GRAPH_CUT_H

#include "graph_walk.h"

/* A node of the graph itself; a child graph is one unit. */
struct sl_graph_unit {
    size_t first, count; /* in `nodes`: the node itself and the nodes of its child graph */
    CUgraphNode in_piece;
    size_t piece;
};

/* Made from a copy of the graph without the nodes of the other pieces. */
struct sl_graph_piece {
    CUgraph graph;
    CUgraphExec exec;
    size_t first, count; /* units */
    struct sl_footprint *footprint;
    bool footprint_is_old;
};

struct sl_graph_cut {
    CUgraph copy; /* of the instantiated graph; ours */
    unsigned long long flags;
    struct sl_graph_nodes nodes; /* of the copy */
    struct sl_graph_unit *units; /* in an order that respects the dependencies */
    size_t unit_count;
    struct sl_graph_piece *pieces;
    size_t piece_count;
};

/* Cuts so that each piece with more than one unit touches at most `bytes` bytes of chunks. False: the driver
 * refused, and there are no pieces. */
bool sl_graph_cut(struct sl_graph_cut *cut, uint64_t bytes);
void sl_graph_cut_drop(struct sl_graph_cut *cut); /* the pieces */

/* What the units [first, end) touch; NULL: out of memory. */
struct sl_footprint *sl_graph_cut_join(const struct sl_graph_cut *cut, size_t first, size_t end);

#endif
