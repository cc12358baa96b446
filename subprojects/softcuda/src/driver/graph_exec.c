/* Executable graphs: instantiation, launches and changes. */
#include <stdlib.h>

#include "capture.h"
#include "graph.h"

#define FLAGS                                                                                                \
    (CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY)

static struct sc_exec *find_exec(CUgraphExec handle)
{
    return sc_handle_is(handle, SC_HANDLE_EXEC) ? (struct sc_exec *)handle : NULL;
}

/* Frees an executable graph; accepts a half-built one. */
static void exec_free(struct sc_exec *exec)
{
    if (!exec) return;
    sc_handle_remove(exec);
    if (sc_handle_is(exec->source, SC_HANDLE_GRAPH) && exec->source->id == exec->source_id &&
        exec->source->only == exec)
        exec->source->only = NULL;
    sc_graph_free(exec->graph);
    sc_op_unref(exec->last);
    free(exec);
}

static struct sc_node *node_of_id(const struct sc_graph *graph, uint64_t id)
{
    for (struct sc_node *node = graph->first; node; node = node->next) {
        if (node->id == id) return node;
        struct sc_node *inside =
            node->payload.type == CU_GRAPH_NODE_TYPE_GRAPH ? node_of_id(node->payload.child, id) : NULL;
        if (inside) return inside;
    }
    return NULL;
}

static CUresult make(struct sc_graph *graph, cuuint64_t flags, struct sc_exec **out, struct sc_node **culprit)
{
    struct sc_exec *exec = calloc(1, sizeof *exec);
    if (!exec || !sc_handle_add(exec, SC_HANDLE_EXEC)) {
        free(exec);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    exec->source = graph;
    exec->source_id = graph->id;
    exec->flags = flags;
    struct sc_node *cycle = NULL;
    CUresult result = sc_graph_clone(graph, &exec->graph);
    if (!result) result = sc_graph_sort(exec->graph, &cycle);
    if (cycle) *culprit = node_of_id(graph, cycle->origin);
    if (result)
        exec_free(exec);
    else
        *out = exec;
    return result;
}

/* pre: the lock is held. */
static CUresult instantiate(CUgraphExec *out, CUgraph handle, cuuint64_t flags, struct sc_node **culprit)
{
    struct sc_graph *graph = sc_graph_find(handle);
    if (!graph || graph->captures || graph->moved) return CUDA_ERROR_INVALID_VALUE;
    if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH)
        return sc_refuse("cuGraphInstantiate", "a graph that is launched from the device");
    if (flags & ~(cuuint64_t)FLAGS) return CUDA_ERROR_INVALID_VALUE;
    if (graph->has_memory && graph->only) return CUDA_ERROR_NOT_SUPPORTED;
    struct sc_exec *exec;
    CUresult result = make(graph, flags, &exec, culprit);
    if (result) return result;
    if (graph->has_memory) graph->only = exec;
    *out = (CUgraphExec)exec;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph graph, unsigned long long flags)
{
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter(SC_NEED_SAFE);
    if (result) return result;
    struct sc_node *culprit = NULL;
    return sc_leave(instantiate(out, graph, flags, &culprit));
}

CUresult CUDAAPI cuGraphInstantiate_v2(CUgraphExec *out, CUgraph graph, CUgraphNode *node, char *text,
                                       size_t text_bytes)
{
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter(SC_NEED_SAFE);
    if (result) return result;
    struct sc_node *culprit = NULL;
    result = instantiate(out, graph, 0, &culprit);
    if (node) *node = (CUgraphNode)culprit;
    if (text && text_bytes) *text = 0;
    return sc_leave(result);
}

CUresult CUDAAPI cuGraphInstantiate(CUgraphExec *out, CUgraph graph, CUgraphNode *node, char *text,
                                    size_t text_bytes)
{
    return cuGraphInstantiate_v2(out, graph, node, text, text_bytes);
}

/* An upload reserves the memory that launches need; there is nothing else to prepare. */
static CUresult upload(struct sc_exec *exec, struct sc_stream *stream)
{
    if (stream->branch) return sc_capture_wait_stream(stream); /* an upload cannot be captured */
    CUresult result = sc_graph_memory_reserve(exec->graph, stream);
    if (result) return result;
    struct sc_op *op = sc_op_new(SC_OP_JOIN, stream->context);
    return op ? sc_queue_submit(stream, op) : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult CUDAAPI cuGraphInstantiateWithParams(CUgraphExec *out, CUgraph graph,
                                              CUDA_GRAPH_INSTANTIATE_PARAMS *parameters)
{
    if (!out || !parameters) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter(SC_NEED_SAFE);
    if (result) return result;
    struct sc_node *culprit = NULL;
    CUgraphExec made = NULL;
    cuuint64_t to_upload = parameters->flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD;
    result = instantiate(&made, graph, parameters->flags & ~to_upload, &culprit);
    struct sc_stream *stream = !result && to_upload ? sc_stream_find(parameters->hUploadStream) : NULL;
    if (!result && to_upload)
        result = stream ? upload((struct sc_exec *)made, stream) : CUDA_ERROR_INVALID_HANDLE;
    if (result && find_exec(made)) exec_free((struct sc_exec *)made);
    if (!result) *out = made;
    parameters->hErrNode_out = (CUgraphNode)culprit;
    parameters->result_out = !result   ? CUDA_GRAPH_INSTANTIATE_SUCCESS
                             : culprit ? CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE
                                       : CUDA_GRAPH_INSTANTIATE_ERROR;
    return sc_leave(result);
}

CUresult CUDAAPI cuGraphInstantiateWithParams_ptsz(CUgraphExec *out, CUgraph graph,
                                                   CUDA_GRAPH_INSTANTIATE_PARAMS *parameters)
{
    if (!parameters || parameters->hUploadStream) return cuGraphInstantiateWithParams(out, graph, parameters);
    parameters->hUploadStream = CU_STREAM_PER_THREAD;
    CUresult result = cuGraphInstantiateWithParams(out, graph, parameters);
    parameters->hUploadStream = NULL;
    return result;
}

/* Enters a call on an executable graph and a stream. */
static CUresult enter_exec(CUgraphExec handle, CUstream stream_handle, struct sc_exec **exec,
                           struct sc_stream **stream)
{
    CUresult result = sc_enter(SC_NEED_CONTEXT);
    if (result) return result;
    *exec = find_exec(handle);
    if (!*exec) return sc_leave(CUDA_ERROR_INVALID_VALUE);
    *stream = sc_stream_find(stream_handle);
    return *stream ? CUDA_SUCCESS : sc_leave(CUDA_ERROR_INVALID_HANDLE);
}

CUresult CUDAAPI cuGraphUpload(CUgraphExec handle, CUstream stream_handle)
{
    struct sc_exec *exec;
    struct sc_stream *stream;
    CUresult result = enter_exec(handle, stream_handle, &exec, &stream);
    return result ? result : sc_leave(upload(exec, stream));
}

/* Launch in a captured stream: the graph becomes a child graph. */
static CUresult capture(struct sc_exec *exec, struct sc_stream *stream)
{
    struct sc_payload payload = {.type = CU_GRAPH_NODE_TYPE_GRAPH};
    CUresult result = sc_capture_check(stream);
    if (!result && exec->graph->has_memory) result = CUDA_ERROR_NOT_SUPPORTED;
    if (!result) result = sc_graph_clone(exec->graph, &payload.child);
    if (result) return result;
    result = sc_capture_add(stream, &payload);
    if (result) sc_payload_drop(&payload);
    return result;
}

CUresult CUDAAPI cuGraphLaunch(CUgraphExec handle, CUstream stream_handle)
{
    struct sc_exec *exec;
    struct sc_stream *stream;
    CUresult result = enter_exec(handle, stream_handle, &exec, &stream);
    if (result) return result;
    if (stream->branch) return sc_leave(capture(exec, stream));
    result = sc_capture_use_legacy(stream);
    return sc_leave(result ? result : sc_exec_launch(exec, stream));
}

CUresult CUDAAPI cuGraphExecDestroy(CUgraphExec handle)
{
    CUresult result = sc_enter(SC_NEED_INIT);
    if (result) return result;
    struct sc_exec *exec = find_exec(handle);
    if (!exec) return sc_leave(CUDA_ERROR_INVALID_VALUE);
    exec_free(exec);
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphExecGetFlags(CUgraphExec handle, cuuint64_t *flags)
{
    if (!flags) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter(SC_NEED_INIT);
    if (result) return result;
    struct sc_exec *exec = find_exec(handle);
    if (exec) *flags = exec->flags;
    return sc_leave(exec ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

/* Enters and finds the executable graph's copy of the program's node. */
static CUresult enter_node(CUgraphExec exec_handle, CUgraphNode node_handle, struct sc_node **out)
{
    CUresult result = sc_enter(SC_NEED_INIT);
    if (result) return result;
    struct sc_exec *exec = find_exec(exec_handle);
    struct sc_node *node = sc_node_find(node_handle);
    *out = exec && node ? sc_node_copy_of(exec->graph, node->id) : NULL;
    return *out ? CUDA_SUCCESS : sc_leave(CUDA_ERROR_INVALID_VALUE);
}

static bool may_be_disabled(const struct sc_node *node)
{
    CUgraphNodeType type = node->payload.type;
    return type == CU_GRAPH_NODE_TYPE_KERNEL || type == CU_GRAPH_NODE_TYPE_MEMCPY ||
           type == CU_GRAPH_NODE_TYPE_MEMSET;
}

CUresult CUDAAPI cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode handle, unsigned int enabled)
{
    struct sc_node *node;
    CUresult result = enter_node(exec, handle, &node);
    if (result) return result;
    if (!may_be_disabled(node)) return sc_leave(CUDA_ERROR_INVALID_VALUE);
    node->disabled = !enabled;
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphNodeGetEnabled(CUgraphExec exec, CUgraphNode handle, unsigned int *enabled)
{
    if (!enabled) return CUDA_ERROR_INVALID_VALUE;
    struct sc_node *node;
    CUresult result = enter_node(exec, handle, &node);
    if (result) return result;
    if (!may_be_disabled(node)) return sc_leave(CUDA_ERROR_INVALID_VALUE);
    *enabled = !node->disabled;
    return sc_leave(CUDA_SUCCESS);
}
