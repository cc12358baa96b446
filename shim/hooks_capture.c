/* Stream capture: while any capture is in progress, the core asks before it enqueues. */
#include "capture.h"

#include <stdatomic.h>

#include "base/test_hooks.h"
#include "captured_memory.h"
#include "device/cuda_call.h"
#include "driver.h"
#include "work.h"

static _Atomic int captures; /* those that the core knows */

bool sl_captures_any(void)
{
    return atomic_load_explicit(&captures, memory_order_relaxed) != 0;
}

/* While the calling thread captures, or any thread captures in global mode, the driver refuses allocations
 * and frees and invalidates the capture. Allocations from the core do not reach the driver, so this function
 * tries an allocation in the driver, which it frees at once. */
CUresult sl_capture_forbids(void)
{
    CUdeviceptr probe;
    const struct sl_cuda_driver *driver = atomic_load(&captures) ? sl_driver_functions() : NULL;
    if (!driver) return CUDA_SUCCESS;
    CUresult result = driver->mem_alloc_managed(&probe, 1, CU_MEM_ATTACH_GLOBAL);
    if (result == CUDA_SUCCESS) driver->mem_free(probe);
    return result >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED && result <= CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD
               ? result
               : CUDA_SUCCESS;
}

/* Records the work of the stream so far, because a capture may begin. */
static void note_before(struct sl_call call, CUstream stream)
{
    if (sl_runtime_running() && sl_session_on_stream(stream))
        sl_runtime_capture_may_begin(sl_work_stream(call, stream));
}

static void count_captures(int change)
{
    atomic_fetch_add(&captures, change);
    sl_runtime_capture(change);
}

/* The driver's call, which may make a stream capture. */
#define ALONE(call)                                                                                          \
    ({                                                                                                       \
        struct sl_capture_begin begin_ = sl_runtime_capture_begins();                                        \
        CUresult result_ = (call);                                                                           \
        sl_runtime_capture_begun(begin_);                                                                    \
        result_;                                                                                             \
    })

/* A capture is counted before it begins, because from then on other threads check whether a stream captures.
 * Captures of other contexts are counted too, because their context need not be current when they end, and so
 * are those after the session, because other threads may still be inside calls. */
#define BEGIN_CAPTURE(call, stream, begin)                                                                   \
    ({                                                                                                       \
        bool counts_ = sl_session_awake() || sl_cores_started();                                             \
        if (counts_) {                                                                                       \
            note_before(call, stream);                                                                       \
            count_captures(1);                                                                               \
        }                                                                                                    \
        CUresult begun_ = ALONE(begin);                                                                      \
        SL_TEST_DELAY(CAPTURE_BEGUN);                                                                        \
        if (counts_ && begun_ != CUDA_SUCCESS) count_captures(-1);                                           \
        begun_;                                                                                              \
    })

CUresult sl_hook_cuStreamBeginCapture(struct sl_call call, sl_fn_cuStreamBeginCapture *real, CUstream stream)
{
    return BEGIN_CAPTURE(call, stream, real(stream));
}

CUresult sl_hook_cuStreamBeginCapture_v2(struct sl_call call, sl_fn_cuStreamBeginCapture_v2 *real,
                                         CUstream stream, CUstreamCaptureMode mode)
{
    return BEGIN_CAPTURE(call, stream, real(stream, mode));
}

CUresult sl_hook_cuStreamBeginCaptureToGraph(struct sl_call call, sl_fn_cuStreamBeginCaptureToGraph *real,
                                             CUstream stream, CUgraph graph, const CUgraphNode *dependencies,
                                             const void *edges, size_t count, CUstreamCaptureMode mode)
{
    return BEGIN_CAPTURE(call, stream, real(stream, graph, dependencies, edges, count, mode));
}

/* A stream that waits for an event of a capture joins that capture. */
CUresult sl_hook_cuStreamWaitEvent(struct sl_call call, sl_fn_cuStreamWaitEvent *real, CUstream stream,
                                   CUevent event, unsigned flags)
{
    bool joins = atomic_load(&captures) && SL_GUARD(WORK_BEFORE_DRAWN_IN);
    if (joins) note_before(call, stream);
    if (sl_runtime_running() && sl_session_on()) sl_runtime_work_comes();
    CUresult result = joins ? ALONE(real(stream, event, flags)) : real(stream, event, flags);
    if (result == CUDA_SUCCESS && sl_runtime_running() && sl_session_on_stream(stream))
        sl_runtime_stream_waits(sl_work_stream(call, stream), event);
    return result;
}

static CUresult note_order(struct sl_call call, CUstream stream, CUresult result)
{
    if (result == CUDA_SUCCESS) sl_captured_out_of_order(sl_work_stream(call, stream));
    return result;
}

CUresult sl_hook_cuStreamUpdateCaptureDependencies(struct sl_call call,
                                                   sl_fn_cuStreamUpdateCaptureDependencies *real,
                                                   CUstream stream, CUgraphNode *dependencies, size_t count,
                                                   unsigned flags)
{
    return note_order(call, stream, real(stream, dependencies, count, flags));
}

CUresult sl_hook_cuStreamUpdateCaptureDependencies_v2(struct sl_call call,
                                                      sl_fn_cuStreamUpdateCaptureDependencies_v2 *real,
                                                      CUstream stream, CUgraphNode *dependencies,
                                                      const void *edges, size_t count, unsigned flags)
{
    return note_order(call, stream, real(stream, dependencies, edges, count, flags));
}

/* A capture that ends with an invalid graph has ended; a capture that did not exist, or that the call did not
 * end, has not. */
CUresult sl_hook_cuStreamEndCapture(struct sl_call call, sl_fn_cuStreamEndCapture *real, CUstream stream,
                                    CUgraph *graph)
{
    if (!atomic_load(&captures)) return real(stream, graph);
    const struct sl_cuda_driver *driver = sl_driver_functions();
    if (!driver) return real(stream, graph);
    struct sl_answer before = sl_cuda_capturing(driver, sl_work_stream(call, stream), NULL);
    sl_runtime_capture_ends();
    CUresult result = real(stream, graph);
    bool ended =
        result == CUDA_SUCCESS ||
        (sl_is_yes(before) && sl_is_no(sl_cuda_capturing(driver, sl_work_stream(call, stream), NULL)));
    if (ended) count_captures(-1);
    return result;
}
