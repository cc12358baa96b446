/* The API that begins, queries and ends stream capture. */
#include <stdlib.h>

#include "capture_state.h"
#include "graph.h"

static CUresult find_stream(CUresult entered, CUstream handle, struct sc_stream **out)
{
    if (entered) return entered;
    *out = sc_stream_find(handle);
    return *out ? CUDA_SUCCESS : sc_leave(CUDA_ERROR_INVALID_HANDLE);
}

static CUresult enter_stream(CUstream handle, struct sc_stream **out)
{
    return find_stream(sc_enter(SC_NEED_CONTEXT), handle, out);
}

/* Begins a capture into `graph`, after its nodes `nodes`. */
static CUresult begin(struct sc_stream *stream, CUstreamCaptureMode mode, struct sc_graph *graph,
                      const CUgraphNode *nodes, const CUgraphEdgeData *data, size_t count)
{
    struct sc_capture *capture = sc_capture_new(stream, mode, graph);
    if (!capture) return CUDA_ERROR_OUT_OF_MEMORY;
    struct sc_branch *branch = sc_branch_new(capture);
    bool ok = branch != NULL;
    for (size_t i = 0; i < count && ok; i++) ok = sc_branch_add(branch, nodes[i], data ? &data[i] : NULL);
    if (!ok) {
        sc_capture_finish(capture);
        sc_branch_free(branch);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    stream->branch = branch;
    return CUDA_SUCCESS;
}

/* Checks that a capture may begin in the stream. */
static CUresult enter_begin(CUstream handle, CUstreamCaptureMode mode, struct sc_stream **out)
{
    if ((unsigned)mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = enter_stream(handle, out);
    if (result) return result;
    if (*out == (*out)->context->legacy) return sc_leave(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    return (*out)->branch ? sc_leave(CUDA_ERROR_ILLEGAL_STATE) : CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamBeginCapture_v2(CUstream handle, CUstreamCaptureMode mode)
{
    struct sc_stream *stream;
    CUresult result = enter_begin(handle, mode, &stream);
    if (result) return result;
    struct sc_graph *graph = sc_graph_new();
    result = graph ? begin(stream, mode, graph, NULL, NULL, 0) : CUDA_ERROR_OUT_OF_MEMORY;
    if (result) sc_graph_free(graph);
    return sc_leave(result);
}

CUresult CUDAAPI cuStreamBeginCapture(CUstream stream)
{
    return cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

static bool all_in(const struct sc_graph *graph, const CUgraphNode *nodes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct sc_node *node = nodes ? sc_node_find(nodes[i]) : NULL;
        if (!node || node->graph != graph) return false;
    }
    return true;
}

CUresult CUDAAPI cuStreamBeginCaptureToGraph(CUstream handle, CUgraph graph_handle, const CUgraphNode *nodes,
                                             const CUgraphEdgeData *data, size_t count,
                                             CUstreamCaptureMode mode)
{
    struct sc_stream *stream;
    CUresult result = enter_begin(handle, mode, &stream);
    if (result) return result;
    struct sc_graph *graph = sc_graph_find(graph_handle);
    if (!graph || !all_in(graph, nodes, count)) return sc_leave(CUDA_ERROR_INVALID_VALUE);
    result = begin(stream, mode, graph, nodes, data, count);
    if (!result) stream->branch->capture->into_graph = true;
    return sc_leave(result);
}

/* Marks the branch's nodes and all their ancestors. false: no memory. */
static bool mark_before(struct sc_graph *graph, const struct sc_branch *branch)
{
    struct sc_node **todo = malloc((graph->count + 1) * sizeof *todo);
    if (!todo) return false;
    size_t count = 0;
    for (struct sc_node *node = graph->first; node; node = node->next) node->mark = 0;
    for (size_t i = 0; i < branch->count; i++) {
        todo[count] = (struct sc_node *)branch->nodes[i];
        todo[count++]->mark = 1;
    }
    while (count) {
        struct sc_node *node = todo[--count];
        for (size_t i = 0; i < node->in_count; i++) {
            if (node->in[i].from->mark) continue;
            todo[count] = node->in[i].from;
            todo[count++]->mark = 1;
        }
    }
    free(todo);
    return true;
}

static bool all_marked(const struct sc_branch *branch)
{
    for (size_t i = 0; i < branch->count; i++)
        if (!((const struct sc_node *)branch->nodes[i])->mark) return false;
    return true;
}

/* Checks that the origin has joined all work of the other streams. */
static CUresult check_joined(const struct sc_capture *capture)
{
    if (!mark_before(capture->graph, capture->origin->branch)) return CUDA_ERROR_OUT_OF_MEMORY;
    for (struct sc_context *context = sc_contexts(); context; context = context->next)
        for (struct sc_stream *stream = context->streams; stream; stream = stream->next) {
            const struct sc_branch *branch = stream->branch;
            if (branch && branch->capture == capture && !all_marked(branch))
                return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
        }
    for (const struct sc_branch *branch = capture->left; branch; branch = branch->next)
        if (!all_marked(branch)) return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamEndCapture(CUstream handle, CUgraph *out)
{
    struct sc_stream *stream;
    CUresult result = enter_stream(handle, &stream);
    if (result) return result;
    if (!stream->branch) return sc_leave(CUDA_ERROR_ILLEGAL_STATE);
    if (!out) return sc_leave(CUDA_ERROR_INVALID_VALUE);
    struct sc_capture *capture = stream->branch->capture;
    if (capture->origin != stream) return sc_leave(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != sc_self())
        return sc_leave(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    result = capture->invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : check_joined(capture);
    bool into_graph = capture->into_graph;
    struct sc_graph *graph = sc_capture_finish(capture);
    if (result && !into_graph) sc_graph_free(graph);
    *out = result ? NULL : (CUgraph)graph;
    return sc_leave(result);
}

CUresult CUDAAPI cuStreamGetCaptureInfo_v3(CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id,
                                           CUgraph *graph, const CUgraphNode **nodes,
                                           const CUgraphEdgeData **data, size_t *count)
{
    if (!status || (data && !nodes)) return CUDA_ERROR_INVALID_VALUE;
    struct sc_stream *stream;
    CUresult result = find_stream(sc_enter_query(SC_NEED_CONTEXT), handle, &stream);
    if (!result && (result = sc_capture_legacy(stream))) return sc_leave(result);
    if (result) return result;
    const struct sc_branch *branch = stream->branch;
    if (!branch || branch->capture->invalid) {
        *status = branch ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_NONE;
        return sc_leave(CUDA_SUCCESS);
    }
    for (size_t i = 0; nodes && !data && i < branch->count; i++)
        if (!sc_edge_is_plain(&branch->edges[i])) return sc_leave(CUDA_ERROR_LOSSY_QUERY);
    *status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    if (id) *id = branch->capture->id;
    if (graph) *graph = (CUgraph)branch->capture->graph;
    if (nodes) *nodes = branch->nodes;
    if (data) *data = branch->edges;
    if (count) *count = branch->count;
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id,
                                           CUgraph *graph, const CUgraphNode **nodes, size_t *count)
{
    return cuStreamGetCaptureInfo_v3(stream, status, id, graph, nodes, NULL, count);
}

CUresult CUDAAPI cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id)
{
    return cuStreamGetCaptureInfo_v3(stream, status, id, NULL, NULL, NULL, NULL);
}

CUresult CUDAAPI cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
    return cuStreamGetCaptureInfo_v3(stream, status, NULL, NULL, NULL, NULL, NULL);
}

CUresult CUDAAPI cuStreamUpdateCaptureDependencies_v2(CUstream handle, CUgraphNode *nodes,
                                                      const CUgraphEdgeData *data, size_t count,
                                                      unsigned int flags)
{
    if (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES) return CUDA_ERROR_INVALID_VALUE;
    struct sc_stream *stream;
    CUresult result = enter_stream(handle, &stream);
    if (result) return result;
    struct sc_branch *old = stream->branch;
    if (!old) return sc_leave(CUDA_ERROR_ILLEGAL_STATE);
    result = sc_capture_check(stream);
    if (!result && !all_in(old->capture->graph, nodes, count)) result = CUDA_ERROR_INVALID_VALUE;
    struct sc_branch *branch = result ? NULL : sc_branch_new(old->capture);
    if (!result && !branch) result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result) return sc_leave(result);
    bool ok = true;
    if (flags == CU_STREAM_ADD_CAPTURE_DEPENDENCIES)
        for (size_t i = 0; i < old->count && ok; i++)
            ok = sc_branch_add(branch, old->nodes[i], &old->edges[i]);
    for (size_t i = 0; i < count && ok; i++) ok = sc_branch_add(branch, nodes[i], data ? &data[i] : NULL);
    sc_branch_free(ok ? old : branch);
    if (ok) stream->branch = branch;
    return sc_leave(ok ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

CUresult CUDAAPI cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode *nodes, size_t count,
                                                   unsigned int flags)
{
    return cuStreamUpdateCaptureDependencies_v2(stream, nodes, NULL, count, flags);
}

CUresult CUDAAPI cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    if (!mode || (unsigned)*mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter_query(SC_NEED_INIT);
    if (result) return result;
    CUstreamCaptureMode old = sc_self()->capture_mode;
    sc_self()->capture_mode = *mode;
    *mode = old;
    return sc_leave(CUDA_SUCCESS);
}
