/* The rules of stream capture. */
#include "capture.h"

#include <stdlib.h>
#include <string.h>

#include "capture_state.h"
#include "graph.h"
#include "queue.h"

unsigned sc_captures;
static struct sc_capture *captures;

struct sc_capture *sc_capture_new(struct sc_stream *origin, CUstreamCaptureMode mode, struct sc_graph *graph)
{
    static cuuint64_t next_id = 1;
    struct sc_capture *capture = calloc(1, sizeof *capture);
    if (!capture) return NULL;
    *capture = (struct sc_capture){.next = captures,
                                   .refs = 1,
                                   .id = next_id++,
                                   .mode = mode,
                                   .thread = sc_self(),
                                   .origin = origin,
                                   .graph = graph};
    graph->captures++;
    captures = capture;
    sc_captures++;
    return capture;
}

static void unref(struct sc_capture *capture)
{
    if (!--capture->refs) free(capture);
}

void sc_branch_free(struct sc_branch *branch)
{
    if (!branch) return;
    unref(branch->capture);
    free(branch->nodes);
    free(branch->edges);
    free(branch);
}

struct sc_branch *sc_branch_new(struct sc_capture *capture)
{
    struct sc_branch *branch = calloc(1, sizeof *branch);
    if (!branch) return NULL;
    branch->capture = capture;
    capture->refs++;
    return branch;
}

bool sc_branch_add(struct sc_branch *branch, CUgraphNode node, const CUgraphEdgeData *data)
{
    for (size_t i = 0; i < branch->count; i++)
        if (branch->nodes[i] == node) return true;
    CUgraphNode *nodes = realloc(branch->nodes, (branch->count + 1) * sizeof *nodes);
    if (nodes) branch->nodes = nodes;
    CUgraphEdgeData *edges = realloc(branch->edges, (branch->count + 1) * sizeof *edges);
    if (edges) branch->edges = edges;
    if (!nodes || !edges) return false;
    nodes[branch->count] = node;
    edges[branch->count++] = data ? *data : (CUgraphEdgeData){0};
    return true;
}

static bool merge(struct sc_branch *branch, const struct sc_branch *from)
{
    bool ok = true;
    for (size_t i = 0; i < from->count && ok; i++)
        ok = sc_branch_add(branch, from->nodes[i], &from->edges[i]);
    return ok;
}

static struct sc_branch *branch_copy(const struct sc_branch *from)
{
    struct sc_branch *branch = sc_branch_new(from->capture);
    if (branch && merge(branch, from)) return branch;
    sc_branch_free(branch);
    return NULL;
}

struct sc_graph *sc_capture_finish(struct sc_capture *capture)
{
    struct sc_graph *graph = capture->graph;
    for (struct sc_context *context = sc_contexts(); context; context = context->next)
        for (struct sc_stream *stream = context->streams; stream; stream = stream->next) {
            if (!stream->branch || stream->branch->capture != capture) continue;
            sc_branch_free(stream->branch);
            stream->branch = NULL;
        }
    for (struct sc_branch *branch = capture->left, *next; branch; branch = next) {
        next = branch->next;
        sc_branch_free(branch);
    }
    struct sc_capture **at = &captures;
    while (*at != capture) at = &(*at)->next;
    *at = capture->next;
    sc_captures--;
    capture->graph = NULL;
    capture->origin = NULL;
    graph->captures--;
    unref(capture);
    return graph;
}

void sc_capture_leave(struct sc_stream *stream)
{
    struct sc_branch *branch = stream->branch;
    if (!branch) return;
    struct sc_capture *capture = branch->capture;
    stream->branch = NULL;
    if (capture->origin != stream) {
        branch->next = capture->left;
        capture->left = branch;
        return;
    }
    capture->invalid = true;
    bool into_graph = capture->into_graph;
    struct sc_graph *graph = sc_capture_finish(capture);
    if (!into_graph) sc_graph_free(graph);
    sc_branch_free(branch);
}

CUresult sc_capture_unsafe(void)
{
    if (!sc_captures) return CUDA_SUCCESS;
    struct sc_thread *thread = sc_self();
    CUstreamCaptureMode mode = thread->capture_mode;
    if (mode == CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_SUCCESS;
    CUresult result = CUDA_SUCCESS;
    for (struct sc_capture *capture = captures; capture; capture = capture->next) {
        bool conflict = capture->thread == thread ? capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED
                                                  : capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
                                                        mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
        if (!conflict) continue;
        capture->invalid = true;
        result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return result;
}

static bool is_implicit(const struct sc_stream *legacy, const struct sc_stream *other)
{
    return other != legacy && other->branch && !(other->flags & CU_STREAM_NON_BLOCKING);
}

CUresult sc_capture_legacy(const struct sc_stream *stream)
{
    if (!sc_captures || stream != stream->context->legacy) return CUDA_SUCCESS;
    for (struct sc_stream *other = stream->context->streams; other; other = other->next)
        if (is_implicit(stream, other)) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    return CUDA_SUCCESS;
}

CUresult sc_capture_use_legacy(const struct sc_stream *stream)
{
    CUresult result = sc_capture_legacy(stream);
    if (!result) return result;
    for (struct sc_stream *other = stream->context->streams; other; other = other->next)
        if (is_implicit(stream, other)) other->branch->capture->invalid = true;
    return result;
}

CUresult sc_capture_wait_stream(struct sc_stream *stream)
{
    if (!sc_captures) return CUDA_SUCCESS;
    if (stream->branch) {
        struct sc_capture *capture = stream->branch->capture;
        CUresult result =
            capture->invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        capture->invalid = true;
        return result;
    }
    CUresult result = sc_capture_use_legacy(stream);
    return result ? result : sc_capture_unsafe();
}

CUresult sc_capture_wait_event(struct sc_event *event)
{
    if (event->branch) {
        event->branch->capture->invalid = true;
        return CUDA_ERROR_CAPTURED_EVENT;
    }
    return event->op ? sc_capture_unsafe() : CUDA_SUCCESS;
}

CUresult sc_capture_wait_context(struct sc_context *context)
{
    if (!sc_captures) return CUDA_SUCCESS;
    CUresult result = CUDA_SUCCESS;
    for (struct sc_stream *stream = context->streams; stream; stream = stream->next) {
        if (!stream->branch) continue;
        stream->branch->capture->invalid = true;
        result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return result ? result : sc_capture_unsafe();
}

CUresult sc_capture_check(struct sc_stream *stream)
{
    return stream->branch->capture->invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
}

CUresult sc_capture_add(struct sc_stream *stream, struct sc_payload *payload)
{
    struct sc_branch *branch = stream->branch;
    struct sc_branch *next = sc_branch_new(branch->capture);
    if (!next) return CUDA_ERROR_OUT_OF_MEMORY;
    struct sc_node *node;
    CUresult result = sc_branch_add(next, NULL, NULL) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    if (!result)
        result =
            sc_node_add(branch->capture->graph, branch->nodes, branch->edges, branch->count, payload, &node);
    if (result) {
        sc_branch_free(next);
        return result;
    }
    next->nodes[0] = (CUgraphNode)node;
    sc_branch_free(branch);
    stream->branch = next;
    return CUDA_SUCCESS;
}

static CUresult add_or_drop(struct sc_stream *stream, struct sc_payload *payload)
{
    CUresult result = sc_capture_add(stream, payload);
    if (result) sc_payload_drop(payload);
    return result;
}

static CUresult capture_op(struct sc_stream *stream, struct sc_op *op)
{
    CUresult result = sc_capture_check(stream);
    if (result) return result;
    struct sc_payload payload;
    result = sc_payload_of_op(op, &payload);
    if (!result) result = add_or_drop(stream, &payload);
    if (result) stream->branch->capture->invalid = true;
    return result;
}

bool sc_capture_submit(struct sc_stream *stream, struct sc_op *op, CUresult *result)
{
    if (!stream->branch && !(*result = sc_capture_use_legacy(stream))) return false;
    if (stream->branch) *result = capture_op(stream, op);
    sc_op_unref(op);
    return true;
}

static CUresult add_event_node(struct sc_stream *stream, CUgraphNodeType type, struct sc_event *event)
{
    struct sc_payload payload;
    CUresult result = sc_payload_event(type, (CUevent)event, &payload);
    return result ? result : add_or_drop(stream, &payload);
}

bool sc_capture_record(struct sc_stream *stream, struct sc_event *event, unsigned flags, CUresult *result)
{
    if (!stream->branch) {
        *result = sc_capture_use_legacy(stream);
        if (!*result && flags & CU_EVENT_RECORD_EXTERNAL) *result = CUDA_ERROR_INVALID_VALUE;
        return *result != CUDA_SUCCESS;
    }
    *result = sc_capture_check(stream);
    if (*result) return true;
    if (flags & CU_EVENT_RECORD_EXTERNAL) {
        *result = add_event_node(stream, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event);
        return true;
    }
    struct sc_branch *branch = branch_copy(stream->branch);
    if (branch) {
        sc_branch_free(event->branch);
        event->branch = branch;
    }
    *result = branch ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    return true;
}

/* A wait for an event of a capture, by a stream that is captured or not. */
static CUresult join(struct sc_stream *stream, const struct sc_event *event)
{
    struct sc_capture *capture = event->branch->capture;
    if (!capture->graph) return CUDA_ERROR_CAPTURED_EVENT; /* that capture has ended */
    if (capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (stream == stream->context->legacy) {
        capture->invalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    if (!stream->branch) {
        stream->branch = branch_copy(event->branch);
        return stream->branch ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (stream->branch->capture != capture) {
        capture->invalid = stream->branch->capture->invalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    }
    return merge(stream->branch, event->branch) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

bool sc_capture_wait(struct sc_stream *stream, struct sc_event *event, unsigned flags, CUresult *result)
{
    *result = stream->branch ? sc_capture_check(stream) : sc_capture_use_legacy(stream);
    if (*result) return true;
    if (flags & CU_EVENT_WAIT_EXTERNAL) {
        *result = stream->branch ? add_event_node(stream, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event)
                                 : CUDA_ERROR_INVALID_VALUE;
    } else if (event->branch) {
        *result = join(stream, event);
    } else if (!stream->branch) {
        return false;
    } else if (event->op) {
        stream->branch->capture->invalid = true;
        *result = CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    }
    return true;
}

CUresult sc_capture_allocate(struct sc_stream *stream, size_t bytes, CUdeviceptr *out)
{
    CUDA_MEM_ALLOC_NODE_PARAMS parameters = {
        .poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                      .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}},
        .bytesize = bytes,
    };
    struct sc_payload payload;
    CUresult result = sc_capture_check(stream);
    if (!result) result = sc_payload_allocate(&parameters, &payload);
    if (!result) result = add_or_drop(stream, &payload);
    if (!result) *out = parameters.dptr;
    return result;
}

CUresult sc_capture_free(struct sc_stream *stream, CUdeviceptr address)
{
    struct sc_payload payload;
    CUresult result = sc_capture_check(stream);
    if (!result) result = sc_payload_free(address, &payload);
    return result ? result : add_or_drop(stream, &payload);
}
