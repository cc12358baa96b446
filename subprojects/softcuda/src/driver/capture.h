/* Stream capture: work that is submitted to a captured stream becomes nodes of a graph.
 *
 * A *capture* begins in one stream, its origin, and spreads to other streams by events. Each captured stream
 * has a *branch*: the nodes that the stream's next node depends on. An event that was recorded in a captured
 * stream has a branch too. A call that breaks the rules of capture invalidates the capture: calls in it then
 * fail until the program ends it. pre: all functions: the driver's lock is held.
 */
#ifndef SOFTCUDA_CAPTURE_H
#define SOFTCUDA_CAPTURE_H

#include "driver.h"

struct sc_op;
struct sc_node;
struct sc_graph;
struct sc_payload;

/* The number of captures under way. */
extern unsigned sc_captures;

struct sc_capture {
    struct sc_capture *next;
    unsigned refs; /* held by the list of captures and by branches */
    cuuint64_t id;
    CUstreamCaptureMode mode;
    struct sc_thread *thread; /* the thread that began it */
    struct sc_stream *origin; /* NULL: it was destroyed */
    struct sc_graph *graph;   /* NULL: the capture has ended */
    struct sc_branch *left;   /* of destroyed streams; the origin must have joined them, too */
    bool into_graph;          /* the program began the capture into a graph of its own */
    bool invalid;
};

struct sc_branch {
    struct sc_capture *capture;
    struct sc_branch *next; /* in sc_capture.left */
    CUgraphNode *nodes;
    CUgraphEdgeData *edges;
    size_t count;
};

/* The rules for calls that are not captured. Each function returns CUDA_SUCCESS if the call may proceed.
 * Otherwise it invalidates the captures that the call conflicts with and returns the call's error. unsafe: a
 * call that capture does not see, such as an allocation. wait_*: a call that waits for work, or queries
 * it. */
CUresult sc_capture_unsafe(void);
CUresult sc_capture_wait_stream(struct sc_stream *stream);
CUresult sc_capture_wait_event(struct sc_event *event);
CUresult sc_capture_wait_context(struct sc_context *context);
/* Fails if `stream` is the legacy stream and a blocking stream of its context is being captured. Does not
 * invalidate the capture. */
CUresult sc_capture_legacy(const struct sc_stream *stream);
/* The same for submitting work: it also invalidates those captures. */
CUresult sc_capture_use_legacy(const struct sc_stream *stream);

/* The rules for work. Each function returns true if it handled the call; *result is then the call's
 * result. */
/* Consumes `op` if it returns true. */
bool sc_capture_submit(struct sc_stream *stream, struct sc_op *op, CUresult *result);
bool sc_capture_record(struct sc_stream *stream, struct sc_event *event, unsigned flags, CUresult *result);
bool sc_capture_wait(struct sc_stream *stream, struct sc_event *event, unsigned flags, CUresult *result);
/* Adds a node at the end of a captured stream. Takes over the payload on success. */
CUresult sc_capture_add(struct sc_stream *stream, struct sc_payload *payload);
/* Allocation and free of memory in a captured stream. */
CUresult sc_capture_allocate(struct sc_stream *stream, size_t bytes, CUdeviceptr *out);
CUresult sc_capture_free(struct sc_stream *stream, CUdeviceptr address);
/* Returns an error if the capture of this captured stream is invalid. */
CUresult sc_capture_check(struct sc_stream *stream);
/* Called when a stream is destroyed. If it is the origin, the capture ends; otherwise the capture keeps the
 * stream's branch. */
void sc_capture_leave(struct sc_stream *stream);
void sc_branch_free(struct sc_branch *branch); /* accepts NULL */

#endif
