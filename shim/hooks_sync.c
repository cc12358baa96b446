/* Waits of the program, and the objects that it may wait for: what they show about the device's progress, and
 * their duration for the trace. */
#include "core/runtime.h"
#include "driver.h"
#include "session.h"

/* An error here often comes from work that was given to the device long ago. */
static CUresult note_waited(CUresult result, uint64_t began_ns, enum sl_sync_kind kind, const void *handle)
{
    sl_runtime_wait_ended(began_ns, kind, (uintptr_t)handle);
    if (result == CUDA_SUCCESS) sl_runtime_waited();
    if (began_ns && result != CUDA_SUCCESS) sl_runtime_failed(SL_ERROR_OTHER, result, 0, 0, 0);
    return result;
}

static void tell_core(void)
{
    if (sl_runtime_running() && sl_session_on()) sl_runtime_work_comes();
}

/* The core may evict freed data and fetch other data while the program waits. */
static uint64_t begin_wait(void)
{
    tell_core();
    return sl_runtime_wait_begins();
}

/* These calls must not start a session: they only inform a running one. */
CUresult sl_hook_cuCtxSynchronize(struct sl_call call, sl_fn_cuCtxSynchronize *real)
{
    (void)call;
    bool ours = sl_runtime_running() && sl_session_on();
    struct sl_sync_mark before = {0};
    if (ours) before = sl_runtime_synchronizing();
    uint64_t began_ns = begin_wait();
    CUresult result = real();
    if (result == CUDA_SUCCESS && ours) sl_runtime_synchronized(before);
    return note_waited(result, began_ns, SL_SYNC_CONTEXT, NULL);
}

CUresult sl_hook_cuCtxSynchronize_v2(struct sl_call call, sl_fn_cuCtxSynchronize_v2 *real, CUcontext context)
{
    (void)call;
    bool ours = sl_runtime_running() && (context ? sl_session_turn_to_context(context) : sl_session_on());
    struct sl_sync_mark before = {0};
    if (ours) before = sl_runtime_synchronizing();
    uint64_t began_ns = begin_wait();
    CUresult result = real(context);
    if (ours && context) sl_session_turn_to_context(context);
    if (result == CUDA_SUCCESS && ours) sl_runtime_synchronized(before);
    return note_waited(result, began_ns, SL_SYNC_CONTEXT, NULL);
}

CUresult sl_hook_cuStreamSynchronize(struct sl_call call, sl_fn_cuStreamSynchronize *real, CUstream stream)
{
    uint64_t began_ns = begin_wait();
    return note_waited(real(stream), began_ns, SL_SYNC_STREAM, stream ? stream : call.default_stream);
}

CUresult sl_hook_cuEventSynchronize(struct sl_call call, sl_fn_cuEventSynchronize *real, CUevent event)
{
    (void)call;
    uint64_t began_ns = begin_wait();
    return note_waited(real(event), began_ns, SL_SYNC_EVENT, event);
}

static CUresult note_recorded(struct sl_call call, CUresult result, CUevent event, CUstream stream)
{
    if (result == CUDA_SUCCESS && sl_runtime_running() && sl_session_on_stream(stream))
        sl_runtime_event_recorded(event, stream ? stream : call.default_stream);
    return result;
}

CUresult sl_hook_cuEventRecord(struct sl_call call, sl_fn_cuEventRecord *real, CUevent event, CUstream stream)
{
    tell_core();
    return note_recorded(call, real(event, stream), event, stream);
}

CUresult sl_hook_cuEventRecordWithFlags(struct sl_call call, sl_fn_cuEventRecordWithFlags *real,
                                        CUevent event, CUstream stream, unsigned flags)
{
    tell_core();
    return note_recorded(call, real(event, stream, flags), event, stream);
}

/* Before the call: from then on another event may have the handle. */
CUresult sl_hook_cuEventDestroy(struct sl_call call, sl_fn_cuEventDestroy *real, CUevent event)
{
    (void)call;
    sl_runtime_event_destroyed(event);
    return real(event);
}

CUresult sl_hook_cuEventDestroy_v2(struct sl_call call, sl_fn_cuEventDestroy_v2 *real, CUevent event)
{
    return sl_hook_cuEventDestroy(call, real, event);
}
