#include "graph_pieces.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/map.h"
#include "device/cuda_call.h"
#include "driver.h"
#include "graph_cut.h"
#include "graph_order.h"

/* A piece may use this part of the budget, so that the next piece's data can be fetched while it runs. */
enum { BUDGET_PART = 2 };

struct sl_graph_pieces {
    struct sl_graph_cut cut;
    struct sl_map units_by_name; /* the nodes that the program knows */
    uint64_t budget_bytes;       /* limit of the pieces */
    bool grown;                  /* a piece touches more than when it was cut */
    CUevent last;                /* after the last launch */
    bool launched;
    bool unrecorded; /* the event is not known to be behind it */
};

/* Graphs may be created during a capture. False: the driver does not let them be. */
static bool relax(CUstreamCaptureMode *before)
{
    return sl_cuda_set_capture_mode(sl_driver_functions(), CU_STREAM_CAPTURE_MODE_RELAXED, before) ==
           CUDA_SUCCESS;
}

static void restore(CUstreamCaptureMode before)
{
    sl_cuda_set_capture_mode(sl_driver_functions(), before, &before);
}

void sl_graph_pieces_unname(struct sl_graph_pieces *pieces)
{
    sl_map_free(&pieces->units_by_name);
    pieces->units_by_name = (struct sl_map){0};
}

/* Frees everything except the executables' known launches. */
static void drop(struct sl_graph_pieces *pieces)
{
    struct sl_graph_cut *cut = &pieces->cut;
    sl_graph_cut_drop(cut);
    if (cut->copy) sl_driver_functions()->graph_destroy(cut->copy);
    sl_graph_nodes_free(&cut->nodes);
    free(cut->units);
    *cut = (struct sl_graph_cut){.flags = cut->flags};
    sl_graph_pieces_unname(pieces);
}

void sl_graph_pieces_free(struct sl_graph_pieces *pieces)
{
    if (!pieces) return;
    drop(pieces);
    sl_driver_functions()->event_destroy(pieces->last);
    free(pieces);
}

static bool may_be_cut(const struct sl_graph_node *node)
{
    switch (node->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
    case CU_GRAPH_NODE_TYPE_MEMCPY:
    case CU_GRAPH_NODE_TYPE_MEMSET:
        return true;
    case CU_GRAPH_NODE_TYPE_GRAPH:
    case CU_GRAPH_NODE_TYPE_EMPTY:
        return !node->unknown;
    default:
        return false;
    }
}

static bool may_all_be_cut(const struct sl_graph_nodes *nodes)
{
    for (size_t i = 0; i < nodes->count; i++)
        if (!may_be_cut(&nodes->list[i])) return false;
    return true;
}

/* Lists the copy's nodes in order. */
static bool list_units(struct sl_graph_cut *cut)
{
    size_t count = 0;
    for (size_t i = 0; i < cut->nodes.count; i += 1 + cut->nodes.list[i].inside) count++;
    CUgraphNode *handles = malloc((count + 1) * sizeof *handles);
    size_t *order = malloc((count + 1) * sizeof *order), *firsts = malloc((count + 1) * sizeof *firsts);
    cut->units = calloc(count + 1, sizeof *cut->units);
    bool ok = handles && order && firsts && cut->units;
    for (size_t i = 0, u = 0; ok && i < cut->nodes.count; i += 1 + cut->nodes.list[i].inside, u++) {
        handles[u] = cut->nodes.list[i].handle;
        firsts[u] = i;
    }
    ok = ok && sl_graph_order(handles, count, order);
    for (size_t u = 0; ok && u < count; u++) {
        size_t first = firsts[order[u]];
        cut->units[u] = (struct sl_graph_unit){.first = first, .count = 1 + cut->nodes.list[first].inside};
    }
    if (ok) cut->unit_count = count;
    free(handles);
    free(order);
    free(firsts);
    return ok;
}

/* Maps the nodes that the program knows to units. */
static bool name_units(struct sl_graph_pieces *pieces, CUgraph graph)
{
    const struct sl_cuda_driver *driver = sl_driver_functions();
    struct sl_map units = {0};
    size_t count = 0;
    bool ok = driver->graph_get_nodes(graph, NULL, &count) == CUDA_SUCCESS && count == pieces->cut.unit_count;
    CUgraphNode *nodes = ok ? malloc((count + 1) * sizeof *nodes) : NULL, copy;
    ok = nodes && (!count || driver->graph_get_nodes(graph, nodes, &count) == CUDA_SUCCESS);
    for (size_t u = 0; ok && u < pieces->cut.unit_count; u++)
        ok = sl_map_put(&units, (uintptr_t)pieces->cut.nodes.list[pieces->cut.units[u].first].handle,
                        (uint32_t)u);
    for (size_t i = 0; ok && i < count; i++) {
        ok = driver->graph_node_find_in_clone(&copy, nodes[i], pieces->cut.copy) == CUDA_SUCCESS;
        uint32_t u = ok ? sl_map_get(&units, (uintptr_t)copy) : SL_NONE;
        ok = u != SL_NONE && sl_map_put(&pieces->units_by_name, (uintptr_t)nodes[i], u);
    }
    sl_map_free(&units);
    free(nodes);
    return ok;
}

static bool read_graph(struct sl_graph_pieces *pieces, CUgraph graph)
{
    struct sl_graph_cut *cut = &pieces->cut;
    if (sl_driver_functions()->graph_clone(&cut->copy, graph) != CUDA_SUCCESS) {
        cut->copy = NULL;
        return false;
    }
    return sl_graph_walk(&cut->nodes, cut->copy) && may_all_be_cut(&cut->nodes) && list_units(cut) &&
           name_units(pieces, graph);
}

void sl_graph_pieces_give_up(struct sl_graph_pieces *pieces)
{
    drop(pieces);
    sl_warn_once(
        "a graph that uses more than the budget is not run in pieces: it has other nodes than kernels, "
        "copies and sets, or its child graphs are changed; a budget with room for all of it lets it fit, "
        "and so does launching its kernels without a graph");
}

static void read_again(struct sl_graph_pieces *pieces, CUgraph graph)
{
    CUstreamCaptureMode before;
    bool relaxed = relax(&before);
    if (!relaxed || !read_graph(pieces, graph)) sl_graph_pieces_give_up(pieces);
    if (relaxed) restore(before);
}

struct sl_graph_pieces *sl_graph_pieces_new(CUgraph graph, unsigned long long flags)
{
    struct sl_graph_pieces *pieces =
        flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH ? NULL : calloc(1, sizeof *pieces);
    if (!pieces) return NULL;
    if (sl_driver_functions()->event_create(&pieces->last, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) {
        free(pieces);
        return NULL;
    }
    pieces->cut.flags = flags & CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
    read_again(pieces, graph);
    return pieces;
}

void sl_graph_pieces_update(struct sl_graph_pieces *pieces, CUgraph graph)
{
    drop(pieces);
    read_again(pieces, graph);
}

static struct sl_graph_unit *find_unit(struct sl_graph_pieces *pieces, CUgraphNode node)
{
    uint32_t u = sl_map_get(&pieces->units_by_name, (uintptr_t)node);
    return u == SL_NONE ? NULL : &pieces->cut.units[u];
}

static void touches_otherwise(struct sl_graph_pieces *pieces, const struct sl_graph_unit *unit)
{
    if (pieces->cut.piece_count) pieces->cut.pieces[unit->piece].footprint_is_old = true;
    pieces->grown = true;
}

/* `exec` NULL: the graph is not cut. */
static bool apply(const struct sl_graph_change *change, CUgraphNode in_copy, CUgraphExec exec,
                  CUgraphNode in_piece)
{
    const struct sl_cuda_driver *driver = sl_driver_functions();
    if (change->kernel)
        return driver->graph_kernel_node_set_params(in_copy, change->kernel) == CUDA_SUCCESS &&
               (!exec ||
                driver->graph_exec_kernel_node_set_params(exec, in_piece, change->kernel) == CUDA_SUCCESS);
    if (change->copy)
        return driver->graph_memcpy_node_set_params(in_copy, change->copy) == CUDA_SUCCESS &&
               (!exec || driver->graph_exec_memcpy_node_set_params(exec, in_piece, change->copy,
                                                                   change->context) == CUDA_SUCCESS);
    return change->set && driver->graph_memset_node_set_params(in_copy, change->set) == CUDA_SUCCESS &&
           (!exec || driver->graph_exec_memset_node_set_params(exec, in_piece, change->set,
                                                               change->context) == CUDA_SUCCESS);
}

void sl_graph_pieces_change(struct sl_graph_pieces *pieces, CUgraphNode node,
                            const struct sl_graph_change *change, const struct sl_launch *launch)
{
    struct sl_graph_unit *unit = find_unit(pieces, node);
    if (!unit) {
        sl_graph_pieces_give_up(pieces);
        return;
    }
    struct sl_graph_node *changed = &pieces->cut.nodes.list[unit->first];
    CUgraphExec exec = pieces->cut.piece_count ? pieces->cut.pieces[unit->piece].exec : NULL;
    CUstreamCaptureMode before;
    bool relaxed = relax(&before);
    bool ok = relaxed && apply(change, changed->handle, exec, unit->in_piece);
    if (relaxed) restore(before);
    free(changed->footprint);
    changed->footprint = sl_graph_note(launch);
    touches_otherwise(pieces, unit);
    if (!ok) sl_graph_pieces_give_up(pieces);
}

void sl_graph_pieces_enable(struct sl_graph_pieces *pieces, CUgraphNode node, bool enabled)
{
    struct sl_graph_unit *unit = find_unit(pieces, node);
    bool ok = unit != NULL;
    if (unit) {
        pieces->cut.nodes.list[unit->first].disabled = !enabled;
        touches_otherwise(pieces, unit);
        ok = !pieces->cut.piece_count ||
             sl_driver_functions()->graph_node_set_enabled(pieces->cut.pieces[unit->piece].exec,
                                                           unit->in_piece, enabled) == CUDA_SUCCESS;
    }
    if (!ok) sl_graph_pieces_give_up(pieces);
}

/* Returns whether a piece exceeds the budget and could be cut; if none does, they count as checked. */
static bool find_too_large(struct sl_graph_pieces *pieces, uint64_t budget_bytes)
{
    for (size_t p = 0; p < pieces->cut.piece_count; p++) {
        const struct sl_footprint *footprint = sl_graph_pieces_footprint(pieces, p);
        if (pieces->cut.pieces[p].count > 1 && footprint && sl_runtime_fit(footprint).bytes > budget_bytes)
            return true;
    }
    pieces->grown = false;
    return false;
}

size_t sl_graph_pieces_cut(struct sl_graph_pieces *pieces, uint64_t budget_bytes)
{
    bool again = !pieces->cut.piece_count || budget_bytes < pieces->budget_bytes ||
                 (pieces->grown && find_too_large(pieces, budget_bytes));
    CUstreamCaptureMode before;
    if (again && relax(&before)) {
        sl_graph_cut(&pieces->cut, budget_bytes / BUDGET_PART);
        restore(before);
        pieces->budget_bytes = budget_bytes;
        pieces->grown = false;
    }
    return pieces->cut.piece_count;
}

CUgraphExec sl_graph_pieces_exec(const struct sl_graph_pieces *pieces, size_t i)
{
    return pieces->cut.pieces[i].exec;
}

const struct sl_footprint *sl_graph_pieces_footprint(struct sl_graph_pieces *pieces, size_t i)
{
    struct sl_graph_piece *piece = &pieces->cut.pieces[i];
    if (piece->footprint_is_old) {
        free(piece->footprint);
        piece->footprint = sl_graph_cut_join(&pieces->cut, piece->first, piece->first + piece->count);
        piece->footprint_is_old = false;
    }
    return piece->footprint;
}

bool sl_graph_pieces_begin(struct sl_graph_pieces *pieces, CUstream stream)
{
    if (pieces->unrecorded) return sl_runtime_finish() == SL_OK;
    return !pieces->launched || sl_runtime_order(stream, pieces->last) == SL_OK;
}

void sl_graph_pieces_end(struct sl_graph_pieces *pieces, CUstream stream)
{
    pieces->launched = true;
    pieces->unrecorded = sl_runtime_record(pieces->last, stream) != SL_OK;
}
