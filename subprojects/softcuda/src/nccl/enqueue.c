#include "enqueue.h"

#include <stdlib.h>
#include <string.h>

#include "errors.h"
#include "gate.h"
#include "kernels.h"

ncclResult_t sc_enqueue_add(struct sc_enqueue *enqueue, CUstream stream, const struct sc_work *work)
{
    if (enqueue->count == enqueue->room) {
        size_t room = enqueue->room ? 2 * enqueue->room : 8;
        void *works = realloc(enqueue->works, room * sizeof *enqueue->works);
        if (!works) return sc_fail(ncclSystemError, "no memory for a group");
        enqueue->works = works;
        enqueue->room = room;
    }
    enqueue->works[enqueue->count++] = *work;
    for (size_t i = 0; i < enqueue->stream_count; i++)
        if (enqueue->streams[i] == stream) return ncclSuccess;
    if (enqueue->stream_count == enqueue->stream_room) {
        size_t room = enqueue->stream_room ? 2 * enqueue->stream_room : 8;
        void *streams = realloc(enqueue->streams, room * sizeof *enqueue->streams);
        if (!streams) return sc_fail(ncclSystemError, "no memory for a group");
        enqueue->streams = streams;
        enqueue->stream_room = room;
    }
    enqueue->streams[enqueue->stream_count++] = stream;
    return ncclSuccess;
}

void sc_enqueue_free(struct sc_enqueue *enqueue)
{
    free(enqueue->works);
    free(enqueue->streams);
}

/* Makes the first stream wait for the others. */
static ncclResult_t wait_for_streams(const struct sc_enqueue *enqueue)
{
    ncclResult_t result = ncclSuccess;
    for (size_t i = 1; i < enqueue->stream_count && !result; i++) {
        CUevent event = NULL;
        result = sc_gate_event_create(&event);
        if (!result) result = sc_gate_event_record(event, enqueue->streams[i]);
        if (!result) result = sc_gate_event_wait(enqueue->streams[0], event);
        sc_gate_event_destroy(event);
    }
    return result;
}

/* Launches of a communicator run one after the other, on whatever streams. Launches within one graph are also
 * ordered. Between a graph and launches outside of it, the program must establish the order. */
static ncclResult_t wait_for_last(ncclComm_t comm, CUstream stream, cuuint64_t capture)
{
    if (!capture && comm->last) return sc_gate_event_wait(stream, comm->last);
    if (capture && comm->capture == capture) return sc_gate_event_wait(stream, comm->last_captured);
    return ncclSuccess;
}

static ncclResult_t record_last(const struct sc_enqueue *enqueue, cuuint64_t capture)
{
    ncclComm_t comm = enqueue->comm;
    CUevent *event = capture ? &comm->last_captured : &comm->last;
    ncclResult_t result = *event ? ncclSuccess : sc_gate_event_create(event);
    if (!result) result = sc_gate_event_record(*event, enqueue->streams[0]);
    if (!result && capture) comm->capture = capture;
    for (size_t i = 1; i < enqueue->stream_count && !result; i++)
        result = sc_gate_event_wait(enqueue->streams[i], *event);
    return result;
}

static ncclResult_t launch_kernel(const struct sc_enqueue *enqueue, cuuint64_t capture)
{
    struct sc_rank *rank = enqueue->comm->rank;
    struct sc_parameters parameters = {
        .communicator = rank->number,
        .rank = rank->rank,
        .ranks = rank->ranks,
        .count = (uint32_t)enqueue->count,
    };
    if (enqueue->count <= SC_WORKS_INSIDE) {
        memcpy(parameters.works, enqueue->works, enqueue->count * sizeof *enqueue->works);
    } else {
        parameters.record = sc_rank_keep_record(rank, enqueue->works, parameters.count, capture != 0);
        if (!parameters.record) return sc_fail(ncclSystemError, "no memory for a group");
    }
    unsigned kernel = sc_kernels_for(enqueue->works, parameters.count);
    ncclResult_t result = sc_gate_launch(kernel, enqueue->streams[0], &parameters, sizeof parameters);
    if (result && parameters.record) {
        pthread_mutex_lock(&rank->lock);
        sc_rank_drop_record(rank, parameters.record);
        pthread_mutex_unlock(&rank->lock);
    }
    return result;
}

ncclResult_t sc_enqueue_launch(struct sc_enqueue *enqueue)
{
    ncclComm_t comm = enqueue->comm;
    CUcontext before;
    cuuint64_t capture = 0;
    ncclResult_t result = sc_gate_enter(comm->context, &before);
    if (result) return sc_fail(result, "the communicator's context is gone");
    pthread_mutex_lock(&comm->lock);
    result = sc_gate_capture(enqueue->streams[0], &capture);
    if (!result) result = wait_for_streams(enqueue);
    if (!result) result = wait_for_last(comm, enqueue->streams[0], capture);
    if (!result) result = launch_kernel(enqueue, capture);
    if (!result) result = record_last(enqueue, capture);
    pthread_mutex_unlock(&comm->lock);
    sc_gate_leave(before);
    return result ? sc_fail(result, "a launch failed") : ncclSuccess;
}
