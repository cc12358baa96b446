#include "graph_order.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/map.h"
#include "driver.h"

/* The dependencies of each node as indices: those of node n are edges[starts[n]..starts[n + 1]). */
struct edges {
    size_t *starts, *edges;
};

/* The number of nodes that `node` depends on or, if `out` is not NULL, these nodes. */
static bool ask(CUgraphNode node, CUgraphNode *out, CUgraphEdgeData *data, size_t *count)
{
    const struct sl_cuda_driver *driver = sl_driver_functions();
    if (driver->graph_node_get_dependencies_v2)
        return driver->graph_node_get_dependencies_v2(node, out, data, count) == CUDA_SUCCESS;
    return driver->graph_node_get_dependencies(node, out, count) == CUDA_SUCCESS;
}

static bool ask_all(const CUgraphNode *nodes, size_t count, const struct sl_map *indices, struct edges *edges)
{
    size_t total = 0;
    for (size_t n = 0; n < count; n++) {
        size_t more = 0;
        edges->starts[n] = total;
        if (!ask(nodes[n], NULL, NULL, &more)) return false;
        size_t *larger = realloc(edges->edges, (total + more + 1) * sizeof *larger);
        if (!larger) return false;
        edges->edges = larger;
        if (!more) continue;
        CUgraphNode *from = malloc(more * sizeof *from);
        CUgraphEdgeData *data = calloc(more, sizeof *data);
        bool ok = from && data && ask(nodes[n], from, data, &more);
        for (size_t i = 0; ok && i < more; i++) {
            uint32_t index = sl_map_get(indices, (uintptr_t)from[i]);
            ok = index != SL_NONE;
            edges->edges[total++] = index;
        }
        free(from);
        free(data);
        if (!ok) return false;
    }
    edges->starts[count] = total;
    return true;
}

/* Depth first without recursion, because a graph may be one long chain. */
static bool visit_all(size_t count, const struct edges *edges, size_t *order)
{
    size_t *stack = malloc((count + 1) * sizeof *stack), *next = malloc((count + 1) * sizeof *next), done = 0;
    bool *seen = calloc(count + 1, sizeof *seen), ok = stack && next && seen;
    for (size_t n = 0; ok && n < count; n++) {
        size_t depth = 0;
        if (seen[n]) continue;
        seen[n] = true;
        stack[depth++] = n;
        next[n] = edges->starts[n];
        while (depth) {
            size_t at = stack[depth - 1];
            if (next[at] == edges->starts[at + 1]) {
                order[done++] = at;
                depth--;
                continue;
            }
            size_t before = edges->edges[next[at]++];
            if (seen[before]) continue;
            seen[before] = true;
            stack[depth++] = before;
            next[before] = edges->starts[before];
        }
    }
    free(stack);
    free(next);
    free(seen);
    return ok;
}

bool sl_graph_order(const CUgraphNode *nodes, size_t count, size_t *order)
{
    struct sl_map indices = {0};
    struct edges edges = {.starts = malloc((count + 1) * sizeof *edges.starts)};
    bool ok = edges.starts && count < SL_NONE;
    for (size_t n = 0; ok && n < count; n++) ok = sl_map_put(&indices, (uintptr_t)nodes[n], (uint32_t)n);
    ok = ok && ask_all(nodes, count, &indices, &edges) && visit_all(count, &edges, order);
    sl_map_free(&indices);
    free(edges.starts);
    free(edges.edges);
    return ok;
}
