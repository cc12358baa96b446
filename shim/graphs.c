#include "graphs.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/map.h"
#include "captured_launch.h"
#include "captured_memory.h"
#include "graph_memory.h"
#include "graph_walk.h"

#define WHOLE SIZE_MAX /* owner of the nodes that an update of the whole graph added */

/* An update whose new nodes cannot be matched to the old ones. The new nodes are kept beside the old ones,
 * which touch nothing until they are set one by one. */
struct replacement {
    size_t owner; /* the child graph's node, or WHOLE */
    struct sl_graph_nodes nodes;
};

struct executable {
    struct sl_graph_nodes nodes; /* with the handles that the program knows */
    struct sl_map by_handle;
    struct replacement *replacements;
    size_t replacement_count;
    bool partial;   /* nodes are missing */
    bool allocates; /* by memory nodes */
    bool waits;     /* one of them waits for something other than the device, for example a host function */
    struct sl_footprint *joined;
    bool joined_is_old;
    struct sl_captured_part captured;
    unsigned long long flags;
    struct sl_graph_pieces *pieces; /* NULL: it fits the budget */
};

/* The executable graphs: a table of pointers; free places are NULL. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sl_map by_exec;
static struct executable **executables;
static uint32_t executable_capacity;

/* Frees everything except the pieces, whose context may be gone. */
static void drop(struct executable *executable)
{
    if (!executable) return;
    for (size_t r = 0; r < executable->replacement_count; r++)
        sl_graph_nodes_free(&executable->replacements[r].nodes);
    free(executable->replacements);
    sl_graph_nodes_free(&executable->nodes);
    sl_map_free(&executable->by_handle);
    free(executable->joined);
    free(executable);
}

static struct executable *find(CUgraphExec exec)
{
    pthread_mutex_lock(&lock);
    uint32_t place = sl_map_get(&by_exec, (uintptr_t)exec);
    struct executable *found = place == SL_NONE ? NULL : executables[place];
    pthread_mutex_unlock(&lock);
    return found;
}

/* Precondition: the lock is held. */
static uint32_t free_place(void)
{
    uint32_t place = 0;
    while (place < executable_capacity && executables[place]) place++;
    if (place < executable_capacity) return place;
    uint32_t wanted = executable_capacity ? 2 * executable_capacity : 64;
    struct executable **larger = realloc(executables, wanted * sizeof(*larger));
    if (!larger) return SL_NONE;
    for (uint32_t i = executable_capacity; i < wanted; i++) larger[i] = NULL;
    executables = larger;
    executable_capacity = wanted;
    return place;
}

static bool keep(CUgraphExec exec, struct executable *executable)
{
    pthread_mutex_lock(&lock);
    uint32_t place = free_place();
    bool kept = place != SL_NONE && sl_map_put(&by_exec, (uintptr_t)exec, place);
    if (kept) executables[place] = executable;
    pthread_mutex_unlock(&lock);
    return kept;
}

static struct executable *take_out(CUgraphExec exec)
{
    struct executable *gone = NULL;
    pthread_mutex_lock(&lock);
    uint32_t place = exec ? sl_map_get(&by_exec, (uintptr_t)exec) : SL_NONE;
    if (place != SL_NONE) {
        gone = executables[place];
        executables[place] = NULL;
        sl_map_remove(&by_exec, (uintptr_t)exec);
    }
    pthread_mutex_unlock(&lock);
    if (gone) sl_graph_memory_forget(exec);
    return gone;
}

void sl_graphs_forget(CUgraphExec exec)
{
    struct executable *gone = take_out(exec);
    if (gone) sl_graph_pieces_free(gone->pieces);
    drop(gone);
}

/* The driver allocates for memory nodes when the graph is launched; the memory may outlive the launch. */
static uint64_t allocated_bytes(const struct sl_graph_nodes *nodes)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < nodes->count; i++) bytes += nodes->list[i].allocated_bytes;
    return bytes;
}

static bool waits(const struct sl_graph_node *node)
{
    return node->type == CU_GRAPH_NODE_TYPE_HOST || node->type == CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT ||
           node->type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
}

static size_t gather(const struct sl_graph_nodes *nodes, const struct sl_footprint **parts)
{
    size_t count = 0;
    for (size_t i = 0; i < nodes->count; i++) {
        if (nodes->list[i].disabled) continue;
        parts[count++] = nodes->list[i].footprint;
    }
    return count;
}

static struct sl_footprint *join(const struct executable *executable)
{
    size_t most = executable->nodes.count, count;
    for (size_t r = 0; r < executable->replacement_count; r++)
        most += executable->replacements[r].nodes.count;
    const struct sl_footprint **parts = malloc((most + 1) * sizeof(*parts));
    if (!parts) return NULL;
    count = gather(&executable->nodes, parts);
    for (size_t r = 0; r < executable->replacement_count; r++)
        count += gather(&executable->replacements[r].nodes, parts + count);
    struct sl_footprint *joined = sl_footprint_join(parts, count);
    free(parts);
    return joined;
}

static const struct sl_footprint *footprint_of(struct executable *executable)
{
    if (executable->joined_is_old) {
        free(executable->joined);
        executable->joined = join(executable);
        executable->joined_is_old = false;
        executable->captured.seen = 0;
    }
    return executable->joined;
}

/* Prepares to run the graph in pieces if it exceeds the budget. Pieces can be made from `graph` only while
 * `graph` matches the executable graph. */
static void follow_in_pieces(struct executable *executable, CUgraph graph)
{
    const struct sl_footprint *touched = footprint_of(executable);
    struct sl_fit fit = {0};
    if (touched && !executable->partial) fit = sl_runtime_fit(touched);
    if (fit.bytes > fit.budget_bytes) executable->pieces = sl_graph_pieces_new(graph, executable->flags);
}

bool sl_graphs_made(CUgraphExec exec, CUgraph graph, unsigned long long flags)
{
    drop(take_out(exec)); /* left over from a context that is gone */
    struct executable *executable = calloc(1, sizeof *executable);
    uint64_t captured = sl_captured_graph(graph);
    if (!executable) return !captured;
    size_t unread = 0;
    executable->joined_is_old = true;
    executable->flags = flags;
    executable->captured.graph = captured;
    executable->captured.frees = flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
    executable->partial = !sl_graph_walk(&executable->nodes, graph);
    for (size_t i = 0; i < executable->nodes.count && i < SL_NONE; i++) {
        const struct sl_graph_node *node = &executable->nodes.list[i];
        unread += node->unknown;
        executable->waits |= waits(node);
        if (!sl_map_put(&executable->by_handle, (uintptr_t)node->handle, (uint32_t)i))
            executable->partial = true;
    }
    if (unread || executable->partial)
        sl_log(SL_LOG_INFO, "%zu of %zu nodes of a graph are not known%s; what they use stays in host memory",
               unread, executable->nodes.count, executable->partial ? ", and some are missing" : "");
    uint64_t bytes = allocated_bytes(&executable->nodes);
    executable->allocates = bytes != 0;
    sl_graph_memory_made(exec, bytes);
    follow_in_pieces(executable, graph);
    if (keep(exec, executable)) return true;
    sl_graph_pieces_free(executable->pieces);
    sl_graph_memory_forget(exec);
    drop(executable);
    return !captured;
}

static struct sl_graph_node *find_node(struct executable *executable, CUgraphNode handle)
{
    uint32_t at = sl_map_get(&executable->by_handle, (uintptr_t)handle);
    return at == SL_NONE ? NULL : &executable->nodes.list[at];
}

/* Whether the nodes from `first` on have the same kinds as `others`, in order. */
static bool are_alike(const struct sl_graph_node *first, size_t count, const struct sl_graph_nodes *others)
{
    if (count != others->count) return false;
    for (size_t i = 0; i < count; i++) {
        const struct sl_graph_node *a = &first[i], *b = &others->list[i];
        if (a->type != b->type || a->function != b->function || a->inside != b->inside) return false;
    }
    return true;
}

/* Drops what earlier updates of the same nodes, or of child graphs among them, added. */
static void drop_replacements(struct executable *executable, size_t owner, size_t first, size_t count)
{
    size_t kept = 0;
    for (size_t r = 0; r < executable->replacement_count; r++) {
        struct replacement *replacement = &executable->replacements[r];
        bool inside = replacement->owner >= first && replacement->owner < first + count;
        if (owner == WHOLE || replacement->owner == owner || inside)
            sl_graph_nodes_free(&replacement->nodes);
        else
            executable->replacements[kept++] = *replacement;
    }
    executable->replacement_count = kept;
}

static bool add_replacement(struct executable *executable, size_t owner, const struct sl_graph_nodes *nodes)
{
    size_t count = executable->replacement_count;
    struct replacement *larger = realloc(executable->replacements, (count + 1) * sizeof *larger);
    if (!larger) return false;
    executable->replacements = larger;
    larger[executable->replacement_count++] = (struct replacement){owner, *nodes};
    return true;
}

/* Takes over what the nodes of an updated graph touch. The driver matches nodes by their edges. If the update
 * has the same kinds of nodes in the same order, they are matched in that order. */
static void adopt(struct executable *executable, size_t owner, size_t first, size_t count, CUgraph graph)
{
    struct sl_graph_nodes fresh = {0};
    bool whole = sl_graph_walk(&fresh, graph);
    executable->joined_is_old = true;
    drop_replacements(executable, owner, first, count);
    sl_graph_nodes_drop(&executable->nodes, first, count);
    struct sl_graph_node *nodes = executable->nodes.list + first;
    bool alike = whole && are_alike(nodes, count, &fresh);
    for (size_t i = 0; alike && i < count; i++) {
        nodes[i].footprint = fresh.list[i].footprint;
        nodes[i].unknown = fresh.list[i].unknown;
        fresh.list[i].footprint = NULL;
    }
    bool kept = !alike && add_replacement(executable, owner, &fresh);
    if (!kept) sl_graph_nodes_free(&fresh);
    bool missing = !whole || (!alike && !kept);
    executable->partial = missing || (owner != WHOLE && executable->partial);
}

static bool any_disabled(const struct sl_graph_nodes *nodes)
{
    for (size_t i = 0; i < nodes->count; i++)
        if (nodes->list[i].disabled) return true;
    return false;
}

void sl_graphs_updated(CUgraphExec exec, CUgraph graph)
{
    struct executable *executable = find(exec);
    if (!executable) return;
    adopt(executable, WHOLE, 0, executable->nodes.count, graph);
    executable->captured.graph = sl_captured_graph(graph);
    if (executable->pieces)
        sl_graph_pieces_update(executable->pieces, graph);
    else
        follow_in_pieces(executable, graph);
    if (!executable->pieces) return;
    sl_graph_pieces_unname(executable->pieces);
    if (any_disabled(&executable->nodes)) sl_graph_pieces_give_up(executable->pieces);
}

void sl_graphs_child_updated(CUgraphExec exec, CUgraphNode node, CUgraph graph)
{
    struct executable *executable = find(exec);
    struct sl_graph_node *parent = executable ? find_node(executable, node) : NULL;
    if (!parent) return;
    parent->unknown = false; /* its child graph is known */
    size_t owner = (size_t)(parent - executable->nodes.list);
    adopt(executable, owner, owner + 1, parent->inside, graph);
    if (executable->pieces) sl_graph_pieces_give_up(executable->pieces);
}

void sl_graphs_node_set(CUgraphExec exec, CUgraphNode node, const struct sl_launch *launch,
                        const struct sl_graph_change *change)
{
    struct executable *executable = find(exec);
    if (executable && executable->pieces) sl_graph_pieces_change(executable->pieces, node, change, launch);
    struct sl_graph_node *changed = executable ? find_node(executable, node) : NULL;
    if (!changed) return;
    free(changed->footprint);
    changed->footprint = sl_graph_note(launch);
    changed->unknown = !changed->footprint;
    if (launch->kind == SL_LAUNCH_KERNEL) changed->function = (CUfunction)launch->function;
    executable->joined_is_old = true;
}

void sl_graphs_node_enabled(CUgraphExec exec, CUgraphNode node, bool enabled)
{
    struct executable *executable = find(exec);
    struct sl_graph_node *changed = executable ? find_node(executable, node) : NULL;
    if (executable && executable->pieces) sl_graph_pieces_enable(executable->pieces, node, enabled);
    if (!changed) return;
    changed->disabled = !enabled;
    executable->joined_is_old = true;
}

bool sl_graphs_wait(CUgraphExec exec)
{
    const struct executable *executable = find(exec);
    return executable && executable->waits;
}

const struct sl_footprint *sl_graphs_footprint(CUgraphExec exec)
{
    struct executable *executable = find(exec);
    return executable ? footprint_of(executable) : NULL;
}

struct sl_graph_pieces *sl_graphs_pieces(CUgraphExec exec)
{
    const struct executable *executable = find(exec);
    return executable ? executable->pieces : NULL;
}

CUresult sl_graphs_launch(CUgraphExec exec, CUstream stream)
{
    struct executable *executable = find(exec);
    return executable ? sl_captured_launch(&executable->captured, executable->joined, stream) : CUDA_SUCCESS;
}

void sl_graphs_launched(CUgraphExec exec, CUresult result)
{
    struct executable *executable = find(exec);
    if (!executable) return;
    if (result != CUDA_SUCCESS) sl_captured_launch_refused(&executable->captured);
    if (executable->allocates) sl_graph_memory_settle();
}

/* The child has none of the parent's graphs; their memory is left to the copy. */
void sl_graphs_after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    executables = NULL;
    executable_capacity = 0;
    by_exec = (struct sl_map){0};
}
