/* A graph cut into pieces: which of its nodes each one has, and the executable graph that runs them. */
#ifndef SLUICE_SHIM_GRAPH_CUT_H
#define SLUICE_SHIM_GRAPH_CUT_H

#include "graph_walk.h"

/* A node of the graph itself; a child graph is one. */
struct sl_graph_unit {
    size_t first, count; /* among `nodes`: itself, and what is in its child graph */
    CUgraphNode in_piece;
    size_t piece;
};

/* Made of a copy of the graph from which the nodes of the others were taken out. */
struct sl_graph_piece {
    CUgraph graph;
    CUgraphExec exec;
    size_t first, count; /* units */
    struct sl_footprint *footprint;
    bool footprint_is_old;
};

struct sl_graph_cut {
    CUgraph copy; /* of what was instantiated; ours */
    unsigned long long flags;
    struct sl_graph_nodes nodes; /* of the copy */
    struct sl_graph_unit *units; /* in an order that keeps the dependencies */
    size_t unit_count;
    struct sl_graph_piece *pieces;
    size_t piece_count;
};

/* Cuts so that what each piece touches are no more than `bytes` bytes of chunks, where it has more than one
 * unit. False: the driver refused, and there are no pieces. */
bool sl_graph_cut(struct sl_graph_cut *cut, uint64_t bytes);
void sl_graph_cut_drop(struct sl_graph_cut *cut); /* the pieces */

/* What the units [first, end) touch; NULL when there is no memory. */
struct sl_footprint *sl_graph_cut_join(const struct sl_graph_cut *cut, size_t first, size_t end);

#endif
