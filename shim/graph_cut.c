#include "graph_cut.h"

#include <stdlib.h>

#include "driver.h"

void sl_graph_cut_drop(struct sl_graph_cut *cut)
{
    const struct sl_cuda_driver *driver = sl_driver_functions();
    for (size_t p = 0; p < cut->piece_count; p++) {
        if (cut->pieces[p].exec) driver->graph_exec_destroy(cut->pieces[p].exec);
        if (cut->pieces[p].graph) driver->graph_destroy(cut->pieces[p].graph);
        free(cut->pieces[p].footprint);
    }
    free(cut->pieces);
    cut->pieces = NULL;
    cut->piece_count = 0;
}

/* What the units [first, end) touch. */
struct sl_footprint *sl_graph_cut_join(const struct sl_graph_cut *cut, size_t first, size_t end)
{
    size_t most = 0, count = 0;
    for (size_t u = first; u < end; u++) most += cut->units[u].count;
    const struct sl_footprint **parts = malloc((most + 1) * sizeof(*parts));
    if (!parts) return NULL;
    for (size_t u = first; u < end; u++)
        for (size_t i = 0; i < cut->units[u].count; i++) {
            const struct sl_graph_node *node = &cut->nodes.list[cut->units[u].first + i];
            if (!node->disabled) parts[count++] = node->footprint;
        }
    struct sl_footprint *joined = sl_footprint_join(parts, count);
    free(parts);
    return joined;
}

static bool fits(const struct sl_graph_cut *cut, size_t first, size_t end, uint64_t bytes)
{
    struct sl_footprint *footprint = sl_graph_cut_join(cut, first, end);
    bool fit = footprint && sl_runtime_fit(footprint).bytes <= bytes;
    free(footprint);
    return fit;
}

/* The end of the longest piece from `first` on: as many units as fit, at least one. */
static size_t find_end(const struct sl_graph_cut *cut, size_t first, uint64_t bytes)
{
    size_t low = first + 1, step = 1; /* [first, low) is accepted, [first, high) does not fit */
    while (low + step <= cut->unit_count && fits(cut, first, low + step, bytes)) {
        low += step;
        step *= 2;
    }
    size_t high = low + step <= cut->unit_count ? low + step : cut->unit_count + 1;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (fits(cut, first, middle, bytes))
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Removes the other units' nodes from a copy and instantiates it. */
static bool build(struct sl_graph_cut *cut, size_t p)
{
    const struct sl_cuda_driver *driver = sl_driver_functions();
    struct sl_graph_piece *piece = &cut->pieces[p];
    if (driver->graph_clone(&piece->graph, cut->copy) != CUDA_SUCCESS) {
        piece->graph = NULL;
        return false;
    }
    for (size_t u = 0; u < cut->unit_count; u++) {
        CUgraphNode node;
        struct sl_graph_unit *unit = &cut->units[u];
        if (driver->graph_node_find_in_clone(&node, cut->nodes.list[unit->first].handle, piece->graph) !=
            CUDA_SUCCESS)
            return false;
        if (u >= piece->first && u < piece->first + piece->count) {
            unit->in_piece = node;
            unit->piece = p;
        } else if (driver->graph_destroy_node(node) != CUDA_SUCCESS) {
            return false;
        }
    }
    if (driver->graph_instantiate_with_flags(&piece->exec, piece->graph, cut->flags) != CUDA_SUCCESS) {
        piece->exec = NULL;
        return false;
    }
    for (size_t u = piece->first; u < piece->first + piece->count; u++)
        if (cut->nodes.list[cut->units[u].first].disabled &&
            driver->graph_node_set_enabled(piece->exec, cut->units[u].in_piece, 0) != CUDA_SUCCESS)
            return false;
    return true;
}

/* Adds a piece of the units [first, end). */
static bool add_piece(struct sl_graph_cut *cut, size_t first, size_t end)
{
    struct sl_graph_piece *larger = realloc(cut->pieces, (cut->piece_count + 1) * sizeof *larger);
    if (!larger) return false;
    cut->pieces = larger;
    larger[cut->piece_count] =
        (struct sl_graph_piece){.first = first, .count = end - first, .footprint_is_old = true};
    return build(cut, cut->piece_count++);
}

bool sl_graph_cut(struct sl_graph_cut *cut, uint64_t bytes)
{
    struct sl_footprint *whole = sl_graph_cut_join(cut, 0, cut->unit_count);
    if (whole) sl_runtime_fit(whole); /* at this point all inner tensors are known */
    free(whole);
    sl_graph_cut_drop(cut);
    bool ok = true;
    for (size_t first = 0, end; ok && first < cut->unit_count; first = end) {
        end = find_end(cut, first, bytes);
        ok = add_piece(cut, first, end);
    }
    if (!ok) sl_graph_cut_drop(cut);
    return ok;
}
