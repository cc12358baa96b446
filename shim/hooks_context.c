/* Contexts and streams: the lifetimes of what the core knows. */
#include "core/runtime.h"
#include "driver.h"
#include "session.h"
#include "stream_state.h"

/* A new context is current. */
static CUresult note_made(CUresult result, const CUcontext *context)
{
    sl_session_context_changed();
    if (result == CUDA_SUCCESS) sl_session_context_made(*context);
    return result;
}

CUresult sl_hook_cuCtxCreate(struct sl_call call, sl_fn_cuCtxCreate *real, CUcontext *context, unsigned flags,
                             CUdevice device)
{
    (void)call;
    return note_made(real(context, flags, device), context);
}

CUresult sl_hook_cuCtxCreate_v2(struct sl_call call, sl_fn_cuCtxCreate_v2 *real, CUcontext *context,
                                unsigned flags, CUdevice device)
{
    (void)call;
    return note_made(real(context, flags, device), context);
}

CUresult sl_hook_cuCtxCreate_v3(struct sl_call call, sl_fn_cuCtxCreate_v3 *real, CUcontext *context,
                                void *affinities, int count, unsigned flags, CUdevice device)
{
    (void)call;
    return note_made(real(context, affinities, count, flags, device), context);
}

CUresult sl_hook_cuCtxCreate_v4(struct sl_call call, sl_fn_cuCtxCreate_v4 *real, CUcontext *context,
                                void *parameters, unsigned flags, CUdevice device)
{
    (void)call;
    return note_made(real(context, parameters, flags, device), context);
}

CUresult sl_hook_cuCtxDestroy(struct sl_call call, sl_fn_cuCtxDestroy *real, CUcontext context)
{
    (void)call;
    sl_session_context_ends(context);
    sl_session_context_changed();
    return real(context);
}

CUresult sl_hook_cuCtxDestroy_v2(struct sl_call call, sl_fn_cuCtxDestroy_v2 *real, CUcontext context)
{
    (void)call;
    sl_session_context_ends(context);
    sl_session_context_changed();
    return real(context);
}

CUresult sl_hook_cuCtxPushCurrent(struct sl_call call, sl_fn_cuCtxPushCurrent *real, CUcontext context)
{
    (void)call;
    sl_session_context_changed();
    return real(context);
}

CUresult sl_hook_cuCtxPushCurrent_v2(struct sl_call call, sl_fn_cuCtxPushCurrent_v2 *real, CUcontext context)
{
    (void)call;
    sl_session_context_changed();
    return real(context);
}

CUresult sl_hook_cuCtxPopCurrent(struct sl_call call, sl_fn_cuCtxPopCurrent *real, CUcontext *context)
{
    (void)call;
    sl_session_context_changed();
    return real(context);
}

CUresult sl_hook_cuCtxPopCurrent_v2(struct sl_call call, sl_fn_cuCtxPopCurrent_v2 *real, CUcontext *context)
{
    (void)call;
    sl_session_context_changed();
    return real(context);
}

CUresult sl_hook_cuCtxSetCurrent(struct sl_call call, sl_fn_cuCtxSetCurrent *real, CUcontext context)
{
    (void)call;
    sl_session_context_changed();
    return real(context);
}

CUresult sl_hook_cuDevicePrimaryCtxRetain(struct sl_call call, sl_fn_cuDevicePrimaryCtxRetain *real,
                                          CUcontext *context, CUdevice device)
{
    (void)call;
    CUresult result = real(context, device);
    if (result == CUDA_SUCCESS) sl_session_primary_retained(device, *context);
    return result;
}

CUresult sl_hook_cuDevicePrimaryCtxRelease(struct sl_call call, sl_fn_cuDevicePrimaryCtxRelease *real,
                                           CUdevice device)
{
    (void)call;
    sl_session_primary_released(device);
    return real(device);
}

CUresult sl_hook_cuDevicePrimaryCtxRelease_v2(struct sl_call call, sl_fn_cuDevicePrimaryCtxRelease_v2 *real,
                                              CUdevice device)
{
    (void)call;
    sl_session_primary_released(device);
    return real(device);
}

CUresult sl_hook_cuDevicePrimaryCtxReset(struct sl_call call, sl_fn_cuDevicePrimaryCtxReset *real,
                                         CUdevice device)
{
    (void)call;
    sl_session_primary_reset(device);
    return real(device);
}

CUresult sl_hook_cuDevicePrimaryCtxReset_v2(struct sl_call call, sl_fn_cuDevicePrimaryCtxReset_v2 *real,
                                            CUdevice device)
{
    (void)call;
    sl_session_primary_reset(device);
    return real(device);
}

/* Call it before the driver's call, which invalidates the handle. Only the core of its context knows the
 * stream, which may be destroyed with any context current. */
static void note_gone(CUstream stream)
{
    bool entered;
    for (uint32_t core = 0; sl_runtime_running() && core < sl_cores_started(); core++) {
        if (!sl_core_numbered(core)) continue;
        if (sl_session_enter_core(core, &entered)) sl_runtime_stream_gone(stream);
        sl_session_leave(entered);
    }
    sl_stream_state_forget(stream);
}

CUresult sl_hook_cuStreamDestroy(struct sl_call call, sl_fn_cuStreamDestroy *real, CUstream stream)
{
    (void)call;
    note_gone(stream);
    return real(stream);
}

CUresult sl_hook_cuStreamDestroy_v2(struct sl_call call, sl_fn_cuStreamDestroy_v2 *real, CUstream stream)
{
    (void)call;
    note_gone(stream);
    return real(stream);
}
