/* Writes a graph in the DOT language. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "graph.h"

#define FLAG(name) CU_GRAPH_DEBUG_DOT_FLAGS_##name

static const char *const type_names[] = {
    [CU_GRAPH_NODE_TYPE_KERNEL] = "KERNEL",         [CU_GRAPH_NODE_TYPE_MEMCPY] = "MEMCPY",
    [CU_GRAPH_NODE_TYPE_MEMSET] = "MEMSET",         [CU_GRAPH_NODE_TYPE_HOST] = "HOST",
    [CU_GRAPH_NODE_TYPE_GRAPH] = "CHILD GRAPH",     [CU_GRAPH_NODE_TYPE_EMPTY] = "EMPTY",
    [CU_GRAPH_NODE_TYPE_WAIT_EVENT] = "EVENT WAIT", [CU_GRAPH_NODE_TYPE_EVENT_RECORD] = "EVENT RECORD",
    [CU_GRAPH_NODE_TYPE_MEM_ALLOC] = "MEM ALLOC",   [CU_GRAPH_NODE_TYPE_MEM_FREE] = "MEM FREE",
};

static void write_kernel(FILE *file, const struct sc_launch_work *work, unsigned flags)
{
    fprintf(file, "\\n%s", work->name);
    if (flags & FLAG(KERNEL_NODE_PARAMS))
        fprintf(file, "\\ngrid %u x %u x %u, block %u x %u x %u, shared %u", work->grid[0], work->grid[1],
                work->grid[2], work->block[0], work->block[1], work->block[2], work->dynamic_shared_bytes);
}

static void write_copy(FILE *file, const struct sc_copy_work *work, unsigned flags)
{
    static const char *const sides[] = {"device", "pinned", "pageable", "managed"};
    fprintf(file, "\\n%s to %s", sides[work->from], sides[work->to]);
    if (flags & FLAG(MEMCPY_NODE_PARAMS))
        fprintf(file, "\\n0x%llx to 0x%llx, %llu x %llu x %llu", (unsigned long long)work->source,
                (unsigned long long)work->destination, (unsigned long long)work->width,
                (unsigned long long)work->height, (unsigned long long)work->depth);
}

static void write_details(FILE *file, const struct sc_payload *payload, unsigned flags)
{
    switch (payload->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        write_kernel(file, &payload->kernel.work, flags);
        break;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        write_copy(file, &payload->copy.work, flags);
        break;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        if (flags & FLAG(MEMSET_NODE_PARAMS))
            fprintf(file, "\\n0x%llx = %u, %zu x %zu", (unsigned long long)payload->set.parameters.dst,
                    payload->set.parameters.value, payload->set.parameters.width,
                    payload->set.parameters.height);
        break;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        if (flags & FLAG(EVENT_NODE_PARAMS)) fprintf(file, "\\nevent %p", (void *)payload->event);
        break;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        if (flags & FLAG(MEM_ALLOC_NODE_PARAMS))
            fprintf(file, "\\n0x%llx, %zu bytes", (unsigned long long)payload->allocate.parameters.dptr,
                    payload->allocate.parameters.bytesize);
        break;
    default:
        break;
    }
}

static void write_graph(FILE *file, const struct sc_graph *graph, unsigned flags)
{
    fprintf(file, "subgraph cluster_%llu {\nlabel=\"graph_%llu\"\n", (unsigned long long)graph->id,
            (unsigned long long)graph->id);
    for (const struct sc_node *node = graph->first; node; node = node->next) {
        fprintf(file, "node_%llu [shape=\"box\" label=\"%s", (unsigned long long)node->id,
                type_names[node->payload.type]);
        if (flags & FLAG(HANDLES)) fprintf(file, "\\n%p", (const void *)node);
        write_details(file, &node->payload, flags);
        fprintf(file, "\"]\n");
        if (node->payload.type == CU_GRAPH_NODE_TYPE_GRAPH) write_graph(file, node->payload.child, flags);
    }
    for (const struct sc_node *node = graph->first; node; node = node->next)
        for (size_t i = 0; i < node->in_count; i++)
            fprintf(file, "node_%llu -> node_%llu\n", (unsigned long long)node->in[i].from->id,
                    (unsigned long long)node->id);
    fprintf(file, "}\n");
}

CUresult CUDAAPI cuGraphDebugDotPrint(CUgraph handle, const char *path, unsigned int flags)
{
    if (!path) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter(SC_NEED_INIT);
    if (result) return result;
    const struct sc_graph *graph = sc_graph_find(handle);
    if (!graph) return sc_leave(CUDA_ERROR_INVALID_VALUE);
    FILE *file = fopen(path, "we");
    if (!file) {
        sc_log("cannot write a graph to %s: %s", path, strerror(errno));
        return sc_leave(CUDA_ERROR_OPERATING_SYSTEM);
    }
    if (flags & FLAG(VERBOSE)) flags = ~0u;
    fprintf(file, "digraph dot {\n");
    write_graph(file, graph, flags);
    fprintf(file, "}\n");
    bool ok = !ferror(file);
    ok = !fclose(file) && ok;
    return sc_leave(ok ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM);
}
