#include <stdlib.h>

#include "capture.h"
#include "driver.h"
#include "pool.h"
#include "queue.h"
#include "races.h"

void sc_stream_set_priority(struct sc_stream *stream, int priority)
{
    stream->priority = priority > 0 ? 0 : priority < -5 ? -5 : priority;
}

struct sc_stream *sc_stream_create(struct sc_context *context, unsigned flags, int priority)
{
    static unsigned long long next_id = 1;
    struct sc_stream *stream = calloc(1, sizeof *stream);
    if (!stream || !sc_handle_add(stream, SC_HANDLE_STREAM)) {
        free(stream);
        return NULL;
    }
    stream->context = context;
    stream->flags = flags;
    sc_stream_set_priority(stream, priority);
    stream->id = next_id++;
    stream->next = context->streams;
    context->streams = stream;
    return stream;
}

/* The legacy stream must still wait for the last operation of a destroyed blocking stream. */
static void leave_behind(struct sc_context *context, struct sc_op *op)
{
    struct sc_op **list = realloc(context->left_behind, (context->left_count + 1) * sizeof *list);
    if (!list) return;
    context->left_behind = list;
    list[context->left_count++] = op;
    op->refs++;
}

void sc_stream_destroy(struct sc_stream *stream)
{
    struct sc_context *context = stream->context;
    sc_capture_leave(stream);
    struct sc_stream **at = &context->streams;
    while (*at != stream) at = &(*at)->next;
    *at = stream->next;
    if (stream->last && (!stream->last->timed || sc_races_wanted()) &&
        !(stream->flags & CU_STREAM_NON_BLOCKING))
        leave_behind(context, stream->last);
    if (!(stream->flags & CU_STREAM_NON_BLOCKING)) sc_past_join(&context->left_past, &stream->past);
    sc_past_clear(&stream->past);
    sc_op_unref(stream->last);
    sc_handle_remove(stream);
    free(stream);
}

void sc_stream_add_past(const struct sc_stream *stream, struct sc_past *past)
{
    const struct sc_context *context = stream->context;
    if (past != &stream->past) sc_past_join(past, &stream->past);
    if (stream->flags & CU_STREAM_NON_BLOCKING) return;
    if (stream != context->legacy) {
        sc_past_join(past, &context->legacy->past);
        return;
    }
    sc_past_join(past, &context->left_past);
    for (struct sc_stream *other = context->streams; other; other = other->next)
        if (other != stream && !(other->flags & CU_STREAM_NON_BLOCKING)) sc_past_join(past, &other->past);
}

bool sc_stream_follows(const struct sc_stream *stream, unsigned long long stream_id, uint64_t op_id)
{
    struct sc_past past = {0};
    sc_stream_add_past(stream, &past);
    bool holds = sc_past_holds(&past, stream_id, op_id);
    sc_past_clear(&past);
    return holds;
}

static struct sc_stream *per_thread_stream(struct sc_context *context)
{
    struct sc_thread *thread = sc_self();
    for (struct sc_stream *stream = context->streams; stream; stream = stream->next)
        if (stream->thread == thread) return stream;
    struct sc_stream *stream = sc_stream_create(context, CU_STREAM_DEFAULT, 0);
    if (stream) stream->thread = thread;
    return stream;
}

struct sc_stream *sc_stream_find(CUstream handle)
{
    struct sc_context *context = sc_current();
    if (!handle || handle == CU_STREAM_LEGACY) return context->legacy;
    if (handle == CU_STREAM_PER_THREAD) return per_thread_stream(context);
    return sc_handle_is(handle, SC_HANDLE_STREAM) ? (struct sc_stream *)handle : NULL;
}

static CUresult find_stream(CUresult entered, CUstream handle, struct sc_stream **out)
{
    if (entered) return entered;
    *out = sc_stream_find(handle);
    if (*out) return CUDA_SUCCESS;
    return sc_leave(CUDA_ERROR_INVALID_HANDLE);
}

/* Takes the lock, checks the context and finds the stream. */
static CUresult enter_stream(CUstream handle, struct sc_stream **out)
{
    return find_stream(sc_enter(SC_NEED_CONTEXT), handle, out);
}

static CUresult ask_stream(CUstream handle, struct sc_stream **out)
{
    return find_stream(sc_enter_query(SC_NEED_CONTEXT), handle, out);
}

CUresult CUDAAPI cuStreamCreateWithPriority(CUstream *out, unsigned int flags, int priority)
{
    if (!out || flags & ~CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter(SC_NEED_CONTEXT);
    if (result) return result;
    struct sc_stream *stream = sc_stream_create(sc_current(), flags, priority);
    if (stream) *out = (CUstream)stream;
    return sc_leave(stream ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

CUresult CUDAAPI cuStreamCreate(CUstream *out, unsigned int flags)
{
    return cuStreamCreateWithPriority(out, flags, 0);
}

CUresult CUDAAPI cuStreamDestroy_v2(CUstream handle)
{
    CUresult result = sc_enter(SC_NEED_INIT);
    if (result) return result;
    if (!sc_handle_is(handle, SC_HANDLE_STREAM)) return sc_leave(CUDA_ERROR_INVALID_HANDLE);
    struct sc_stream *stream = (struct sc_stream *)handle;
    if (stream == stream->context->legacy || stream->thread) return sc_leave(CUDA_ERROR_INVALID_HANDLE);
    sc_stream_destroy(stream);
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuStreamSynchronize(CUstream handle)
{
    struct sc_stream *stream;
    CUresult result = enter_stream(handle, &stream);
    if (result) return result;
    result = sc_capture_wait_stream(stream);
    if (result) return sc_leave(result);
    struct sc_past past = {0};
    sc_past_join(&past, &stream->past);
    result = sc_queue_wait_op(stream->last);
    if (!result) sc_pool_completed(&past);
    sc_past_clear(&past);
    sc_pools_relax();
    return sc_leave(result);
}

CUresult CUDAAPI cuStreamQuery(CUstream handle)
{
    struct sc_stream *stream;
    CUresult result = enter_stream(handle, &stream);
    if (result) return result;
    result = sc_capture_wait_stream(stream);
    if (result) return sc_leave(result);
    struct sc_context *context = stream->context;
    struct sc_past past = {0};
    sc_past_join(&past, &stream->past);
    bool ended = sc_queue_ended(stream->last);
    if (ended) sc_pool_completed(&past);
    sc_past_clear(&past);
    if (sc_handle_is(context, SC_HANDLE_CONTEXT)) result = context->sticky;
    if (!result && !ended) result = CUDA_ERROR_NOT_READY;
    return sc_leave(result);
}

CUresult CUDAAPI cuStreamWaitEvent(CUstream handle, CUevent event_handle, unsigned int flags)
{
    if (flags & ~CU_EVENT_WAIT_EXTERNAL) return CUDA_ERROR_INVALID_VALUE;
    struct sc_stream *stream;
    CUresult result = enter_stream(handle, &stream);
    if (result) return result;
    if (!sc_handle_is(event_handle, SC_HANDLE_EVENT)) return sc_leave(CUDA_ERROR_INVALID_HANDLE);
    struct sc_event *event = (struct sc_event *)event_handle;
    if (sc_capture_wait(stream, event, flags, &result)) return sc_leave(result);
    struct sc_op *op = NULL;
    if (event->ipc && sc_ipc_event_is_elsewhere(event->ipc)) {
        result = sc_ipc_event_wait(event->ipc, stream->context, &op);
        return sc_leave(op ? sc_queue_submit(stream, op) : result);
    }
    if (!event->op) return sc_leave(CUDA_SUCCESS); /* never recorded: nothing to wait for */
    op = sc_op_new(SC_OP_WAIT, stream->context);
    if (!op || !sc_op_depends(op, event->op)) {
        sc_op_unref(op);
        return sc_leave(CUDA_ERROR_OUT_OF_MEMORY);
    }
    sc_past_join(&stream->past, &event->past);
    return sc_leave(sc_queue_submit(stream, op));
}

CUresult CUDAAPI cuStreamGetFlags(CUstream handle, unsigned int *flags)
{
    if (!flags) return CUDA_ERROR_INVALID_VALUE;
    struct sc_stream *stream;
    CUresult result = ask_stream(handle, &stream);
    if (result) return result;
    *flags = stream->flags;
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuStreamGetPriority(CUstream handle, int *priority)
{
    if (!priority) return CUDA_ERROR_INVALID_VALUE;
    struct sc_stream *stream;
    CUresult result = ask_stream(handle, &stream);
    if (result) return result;
    *priority = stream->priority;
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuStreamGetId(CUstream handle, unsigned long long *id)
{
    if (!id) return CUDA_ERROR_INVALID_VALUE;
    struct sc_stream *stream;
    CUresult result = ask_stream(handle, &stream);
    if (result) return result;
    *id = stream->id;
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuStreamGetDevice(CUstream handle, CUdevice *device)
{
    if (!device) return CUDA_ERROR_INVALID_VALUE;
    struct sc_stream *stream;
    CUresult result = ask_stream(handle, &stream);
    if (result) return result;
    *device = stream->context->device->ordinal;
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuStreamGetCtx_v2(CUstream handle, CUcontext *context, CUgreenCtx *green)
{
    if (!context) return CUDA_ERROR_INVALID_VALUE;
    struct sc_stream *stream;
    CUresult result = ask_stream(handle, &stream);
    if (result) return result;
    *context = (CUcontext)stream->context;
    if (green) *green = NULL;
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuStreamGetCtx(CUstream handle, CUcontext *context)
{
    return cuStreamGetCtx_v2(handle, context, NULL);
}

static CUresult submit_call(CUstream handle, const struct sc_call_work *call)
{
    struct sc_stream *stream;
    CUresult result = enter_stream(handle, &stream);
    if (result) return result;
    struct sc_op *op = sc_op_new(SC_OP_CALL, stream->context);
    if (!op) return sc_leave(CUDA_ERROR_OUT_OF_MEMORY);
    op->call = *call;
    return sc_leave(sc_queue_submit(stream, op));
}

CUresult CUDAAPI cuLaunchHostFunc(CUstream handle, CUhostFn function, void *data)
{
    if (!function) return CUDA_ERROR_INVALID_VALUE;
    return submit_call(handle, &(struct sc_call_work){.function = function, .data = data});
}

CUresult CUDAAPI cuStreamAddCallback(CUstream handle, CUstreamCallback callback, void *data,
                                     unsigned int flags)
{
    if (!callback || flags) return CUDA_ERROR_INVALID_VALUE;
    return submit_call(handle, &(struct sc_call_work){.callback = callback, .stream = handle, .data = data});
}

CUresult CUDAAPI cuStreamAttachMemAsync(CUstream handle, CUdeviceptr address, size_t bytes,
                                        unsigned int flags)
{
    (void)bytes;
    if (!flags || flags & ~(CU_MEM_ATTACH_GLOBAL | CU_MEM_ATTACH_HOST | CU_MEM_ATTACH_SINGLE))
        return CUDA_ERROR_INVALID_VALUE;
    struct sc_stream *stream;
    CUresult result = enter_stream(handle, &stream);
    if (result) return result;
    struct sc_allocation *allocation = sc_space_find(address);
    /* With concurrent managed access, an attachment restricts no access. */
    return sc_leave(allocation && allocation->kind == SC_MEMORY_MANAGED ? CUDA_SUCCESS
                                                                        : CUDA_ERROR_INVALID_VALUE);
}
