/* Memsets. A synchronous memset of managed memory blocks the host; one of cuMemAlloc's memory does not. On
 * memory of ours it is therefore forwarded as its Async form, on the stream that orders it. */
#include "driver.h"
#include "work.h"

/* False: the memset reaches beyond an allocation. */
static bool begin_set(struct sl_work *work, sl_stream stream, CUdeviceptr to, uint64_t bytes)
{
    work->waits = false;
    work->began_ns = 0;
    if (!sl_work_inside(work, to, bytes)) return false;
    work->seen = sl_session_on_stream(stream);
    if (!work->seen) return true;
    work->launch = (struct sl_launch){.kind = SL_LAUNCH_MEMSET, .stream = stream};
    sl_work_span(work, to, bytes, true);
    sl_runtime_launch_begin(&work->launch);
    return true;
}

static bool sets_ours(const struct sl_work *work)
{
    return work->seen && work->launch.span_count && sl_session_owns(work->launch.spans[0].address);
}

#define SL_SET_HOOKS(bits, type)                                                                             \
    CUresult sl_hook_cuMemsetD##bits##Async(struct sl_call call, sl_fn_cuMemsetD##bits##Async *real,         \
                                            CUdeviceptr to, type value, size_t count, CUstream stream)       \
    {                                                                                                        \
        struct sl_work work;                                                                                 \
        if (!begin_set(&work, sl_work_stream(call, stream), to,                                              \
                       sl_work_rows_bytes(0, sizeof(type), count, 1)))                                       \
            return sl_work_refused();                                                                        \
        return sl_work_end(&work, real(to, value, count, stream));                                           \
    }                                                                                                        \
    CUresult sl_hook_cuMemsetD##bits##_v2(struct sl_call call, sl_fn_cuMemsetD##bits##_v2 *real,             \
                                          CUdeviceptr to, type value, size_t count)                          \
    {                                                                                                        \
        struct sl_work work;                                                                                 \
        sl_fn_cuMemsetD##bits##Async *async = sl_real.f_cuMemsetD##bits##Async;                              \
        if (!begin_set(&work, call.default_stream, to, sl_work_rows_bytes(0, sizeof(type), count, 1)))       \
            return sl_work_refused();                                                                        \
        if (!async || !sets_ours(&work))                                                                     \
            return sl_work_end_synchronous(&work, call.default_stream, real(to, value, count));              \
        return sl_work_end_synchronous(&work, call.default_stream,                                           \
                                       async(to, value, count, call.default_stream));                        \
    }                                                                                                        \
    CUresult sl_hook_cuMemsetD2D##bits##Async(struct sl_call call, sl_fn_cuMemsetD2D##bits##Async *real,     \
                                              CUdeviceptr to, size_t pitch, type value, size_t width,        \
                                              size_t height, CUstream stream)                                \
    {                                                                                                        \
        struct sl_work work;                                                                                 \
        if (!begin_set(&work, sl_work_stream(call, stream), to,                                              \
                       sl_work_rows_bytes(pitch, sizeof(type), width, height)))                              \
            return sl_work_refused();                                                                        \
        return sl_work_end(&work, real(to, pitch, value, width, height, stream));                            \
    }                                                                                                        \
    CUresult sl_hook_cuMemsetD2D##bits##_v2(struct sl_call call, sl_fn_cuMemsetD2D##bits##_v2 *real,         \
                                            CUdeviceptr to, size_t pitch, type value, size_t width,          \
                                            size_t height)                                                   \
    {                                                                                                        \
        struct sl_work work;                                                                                 \
        sl_fn_cuMemsetD2D##bits##Async *async = sl_real.f_cuMemsetD2D##bits##Async;                          \
        if (!begin_set(&work, call.default_stream, to,                                                       \
                       sl_work_rows_bytes(pitch, sizeof(type), width, height)))                              \
            return sl_work_refused();                                                                        \
        if (!async || !sets_ours(&work))                                                                     \
            return sl_work_end_synchronous(&work, call.default_stream,                                       \
                                           real(to, pitch, value, width, height));                           \
        return sl_work_end_synchronous(&work, call.default_stream,                                           \
                                       async(to, pitch, value, width, height, call.default_stream));         \
    }

SL_SET_HOOKS(8, unsigned char)
SL_SET_HOOKS(16, unsigned short)
SL_SET_HOOKS(32, unsigned)
