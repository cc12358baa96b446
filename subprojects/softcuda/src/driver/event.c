#include <stdlib.h>

#include "capture.h"
#include "driver.h"
#include "pool.h"
#include "queue.h"
#include "races.h"

#define EVENT_FLAGS (CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS)

struct sc_event *sc_event_new(unsigned flags, struct sc_ipc_event *ipc)
{
    struct sc_event *event = calloc(1, sizeof *event);
    if (!event || !sc_handle_add(event, SC_HANDLE_EVENT)) {
        free(event);
        return NULL;
    }
    event->refs = 1;
    event->context = sc_current();
    event->flags = flags;
    event->ipc = ipc;
    return event;
}

CUresult CUDAAPI cuEventCreate(CUevent *out, unsigned int flags)
{
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    if (flags & ~EVENT_FLAGS) return CUDA_ERROR_INVALID_VALUE;
    bool shared = flags & CU_EVENT_INTERPROCESS;
    if (shared && !(flags & CU_EVENT_DISABLE_TIMING)) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter(SC_NEED_CONTEXT);
    if (result) return result;
    struct sc_ipc_event *ipc = shared ? sc_ipc_event_new() : NULL;
    struct sc_event *event = shared && !ipc ? NULL : sc_event_new(flags, ipc);
    if (!event) sc_ipc_event_unref(ipc);
    if (event) *out = (CUevent)event;
    return sc_leave(event ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

void sc_event_unref(struct sc_event *event)
{
    if (--event->refs) return;
    sc_op_unref(event->op);
    sc_branch_free(event->branch);
    sc_past_clear(&event->past);
    sc_ipc_event_unref(event->ipc);
    free(event);
}

static CUresult enter_event(CUevent handle, struct sc_event **out)
{
    CUresult result = sc_enter(SC_NEED_INIT);
    if (result) return result;
    if (!sc_handle_is(handle, SC_HANDLE_EVENT)) return sc_leave(CUDA_ERROR_INVALID_HANDLE);
    *out = (struct sc_event *)handle;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuEventDestroy_v2(CUevent handle)
{
    struct sc_event *event;
    CUresult result = enter_event(handle, &event);
    if (result) return result;
    sc_handle_remove(event);
    sc_event_unref(event);
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuEventRecordWithFlags(CUevent handle, CUstream stream_handle, unsigned int flags)
{
    if (flags & ~CU_EVENT_RECORD_EXTERNAL) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter(SC_NEED_CONTEXT);
    if (result) return result;
    struct sc_stream *stream = sc_stream_find(stream_handle);
    if (!stream || !sc_handle_is(handle, SC_HANDLE_EVENT)) return sc_leave(CUDA_ERROR_INVALID_HANDLE);
    struct sc_event *event = (struct sc_event *)handle;
    if (event->context != stream->context) return sc_leave(CUDA_ERROR_INVALID_HANDLE);
    if (sc_capture_record(stream, event, flags, &result)) return sc_leave(result);
    struct sc_op *op = NULL;
    if (event->ipc)
        result = sc_ipc_event_record(event->ipc, stream->context, &op);
    else if (!(op = sc_op_new(SC_OP_RECORD, stream->context)))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result) return sc_leave(result);
    op->refs++;
    sc_op_unref(event->op);
    event->op = op;
    sc_branch_free(event->branch);
    event->branch = NULL;
    sc_past_clear(&event->past);
    sc_stream_add_past(stream, &event->past);
    return sc_leave(sc_queue_submit(stream, op));
}

CUresult CUDAAPI cuEventRecord(CUevent handle, CUstream stream)
{
    return cuEventRecordWithFlags(handle, stream, 0);
}

/* The fault of the event's context, if that still exists. */
static CUresult fault_of(const struct sc_context *context)
{
    return sc_handle_is(context, SC_HANDLE_CONTEXT) ? context->sticky : CUDA_SUCCESS;
}

CUresult CUDAAPI cuEventQuery(CUevent handle)
{
    struct sc_event *event;
    CUresult result = enter_event(handle, &event);
    if (result) return result;
    result = sc_capture_wait_event(event);
    if (result) return sc_leave(result);
    if (event->ipc && sc_ipc_event_is_elsewhere(event->ipc))
        return sc_leave(sc_ipc_event_ended(event->ipc) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY);
    struct sc_context *context = event->context;
    struct sc_past past = {0};
    sc_past_join(&past, &event->past);
    bool ended = sc_queue_ended(event->op);
    if (ended) sc_pool_completed(&past);
    sc_past_clear(&past);
    result = fault_of(context);
    return sc_leave(result ? result : ended ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY);
}

CUresult CUDAAPI cuEventSynchronize(CUevent handle)
{
    struct sc_event *event;
    CUresult result = enter_event(handle, &event);
    if (result) return result;
    result = sc_capture_wait_event(event);
    if (result) return sc_leave(result);
    if (event->ipc && sc_ipc_event_is_elsewhere(event->ipc))
        return sc_leave(sc_ipc_event_synchronize(event->ipc));
    struct sc_context *context = event->context;
    struct sc_past past = {0};
    sc_past_join(&past, &event->past);
    result = sc_queue_wait_op(event->op);
    CUresult fault = fault_of(context);
    if (!result && !fault) sc_pool_completed(&past);
    sc_past_clear(&past);
    sc_pools_relax();
    return sc_leave(fault ? fault : result);
}

CUresult CUDAAPI cuEventElapsedTime_v2(float *milliseconds, CUevent start_handle, CUevent end_handle)
{
    if (!milliseconds) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter(SC_NEED_INIT);
    if (result) return result;
    if (!sc_handle_is(start_handle, SC_HANDLE_EVENT) || !sc_handle_is(end_handle, SC_HANDLE_EVENT))
        return sc_leave(CUDA_ERROR_INVALID_HANDLE);
    struct sc_event *start = (struct sc_event *)start_handle, *end = (struct sc_event *)end_handle;
    if (start->branch || end->branch) return sc_leave(CUDA_ERROR_CAPTURED_EVENT);
    if (!start->op || !end->op || (start->flags | end->flags) & CU_EVENT_DISABLE_TIMING)
        return sc_leave(CUDA_ERROR_INVALID_HANDLE);
    struct sc_op *first = start->op, *last = end->op;
    first->refs++;
    last->refs++;
    /* If any thread waited for the events, they were executed. */
    bool waited = first->state == SC_OP_DONE && last->state == SC_OP_DONE;
    if (waited) {
        sc_queue_settle(first);
        sc_queue_settle(last);
    } else if (!sc_queue_ended(first) || !sc_queue_ended(last)) {
        result = CUDA_ERROR_NOT_READY;
    }
    if (!result) {
        sc_races_waited(first);
        sc_races_waited(last);
    }
    if (!result) *milliseconds = (float)(((double)last->end_ns - (double)first->end_ns) * 1e-6);
    sc_op_unref(first);
    sc_op_unref(last);
    return sc_leave(result);
}

CUresult CUDAAPI cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end)
{
    return cuEventElapsedTime_v2(milliseconds, start, end);
}
