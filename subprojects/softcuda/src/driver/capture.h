/* Stream capture: what is submitted to a captured stream becomes nodes of a graph.
 *
 * A *capture* begins in one stream, its origin, and spreads to others by events. Each captured stream has a
 * *branch*: the nodes that its next node depends on. An event that was recorded in a captured stream has one
 * too. A call that breaks the rules of capture invalidates it: it fails from then on until it is ended. pre:
 * all functions: the driver's lock is held.
 */
#ifndef SOFTCUDA_CAPTURE_H
#define SOFTCUDA_CAPTURE_H

#include "driver.h"

struct sc_op;
struct sc_node;
struct sc_graph;
struct sc_payload;

/* Captures under way. */
extern unsigned sc_captures;

struct sc_capture {
    struct sc_capture *next;
    unsigned refs; /* the list of captures, and branches */
    cuuint64_t id;
    CUstreamCaptureMode mode;
    struct sc_thread *thread; /* that began it */
    struct sc_stream *origin; /* NULL: it was destroyed */
    struct sc_graph *graph;   /* NULL: the capture has ended */
    struct sc_branch *left;   /* of streams that were destroyed; they must be joined, too */
    bool into_graph;          /* the graph is the program's */
    bool invalid;
};

struct sc_branch {
    struct sc_capture *capture;
    struct sc_branch *next; /* in sc_capture.left */
    CUgraphNode *nodes;
    CUgraphEdgeData *edges;
    size_t count;
};

/* The rules for calls that are not captured. Each returns CUDA_SUCCESS where the call may go on, and
 * otherwise its error, having invalidated the captures it conflicts with. unsafe: a call that capture does
 * not see, such as an allocation. wait_*: a call that waits for, or asks about, work. */
CUresult sc_capture_unsafe(void);
CUresult sc_capture_wait_stream(struct sc_stream *stream);
CUresult sc_capture_wait_event(struct sc_event *event);
CUresult sc_capture_wait_context(struct sc_context *context);
/* The legacy stream is not to be touched while a blocking stream of its context is captured; does not
 * invalidate. */
CUresult sc_capture_legacy(const struct sc_stream *stream);
/* The same for work; it invalidates. */
CUresult sc_capture_use_legacy(const struct sc_stream *stream);

/* The rules for work. Each returns true if it dealt with the call, whose result is *result. */
/* Consumes `op` then. */
bool sc_capture_submit(struct sc_stream *stream, struct sc_op *op, CUresult *result);
bool sc_capture_record(struct sc_stream *stream, struct sc_event *event, unsigned flags, CUresult *result);
bool sc_capture_wait(struct sc_stream *stream, struct sc_event *event, unsigned flags, CUresult *result);
/* A node with this payload, which is taken over on success, at the end of a captured stream. */
CUresult sc_capture_add(struct sc_stream *stream, struct sc_payload *payload);
/* Allocation and release of memory in a captured stream. */
CUresult sc_capture_allocate(struct sc_stream *stream, size_t bytes, CUdeviceptr *out);
CUresult sc_capture_free(struct sc_stream *stream, CUdeviceptr address);
/* Of a captured stream: an error if its capture is invalid. */
CUresult sc_capture_check(struct sc_stream *stream);
/* A stream is destroyed. Its capture ends with its origin; of another stream it keeps the branch. */
void sc_capture_leave(struct sc_stream *stream);
void sc_branch_free(struct sc_branch *branch); /* accepts NULL */

#endif
