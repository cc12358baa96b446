/* Host functions, waits for words in memory and for other interfaces. */
#include "hold.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/log.h"
#include "device/cuda_call.h"
#include "driver.h"
#include "stream_state.h"
#include "work.h"

/* What is counted while it holds a stream up. The caller and what runs in the stream have a reference each,
 * because the driver may say that it refused a call and run the function all the same. */
struct sl_held {
    CUhostFn function; /* the program's, or NULL */
    CUstreamCallback callback;
    void *data;
    bool stays; /* it may have been captured: a graph may run it again */
    _Atomic bool over;
    _Atomic int references;
};

static struct sl_held *hold(struct sl_held what)
{
    struct sl_held *held = malloc(sizeof *held);
    sl_runtime_hold(1); /* for good, if there is no memory */
    if (!held) return NULL;
    *held = what;
    atomic_store(&held->references, 2);
    return held;
}

static void drop(struct sl_held *held)
{
    if (atomic_fetch_sub(&held->references, 1) == 1 && !held->stays) free(held);
}

static void count_down(struct sl_held *held)
{
    if (!atomic_exchange(&held->over, true)) sl_runtime_hold(-1);
}

/* On a thread of the driver, where its functions must not be called. */
static void has_run(struct sl_held *held)
{
    count_down(held);
    if (!held->stays) drop(held);
}

/* The caller's part, after the driver's answer. */
static CUresult answered(struct sl_held *held, CUresult result)
{
    if (result != CUDA_SUCCESS) count_down(held);
    drop(held);
    return result;
}

static void CUDA_CB run_host_function(void *argument)
{
    struct sl_held *held = argument;
    if (held->function) held->function(held->data);
    has_run(held);
}

static void CUDA_CB run_callback(CUstream stream, CUresult result, void *argument)
{
    struct sl_held *held = argument;
    held->callback(stream, result, held->data);
    has_run(held);
}

/* Whether it is counted. A call that is known to be captured is not: it becomes a node of a graph, which the
 * program may inspect. */
static bool is_seen(struct sl_call call, CUstream stream, bool *stays)
{
    if (!sl_runtime_running() || !sl_session_on_stream(stream)) return false;
    sl_runtime_work_comes();
    struct sl_answer captures = sl_stream_captures(sl_work_stream(call, stream), NULL);
    *stays = !sl_is_no(captures);
    return !sl_is_yes(captures);
}

CUresult sl_hook_cuLaunchHostFunc(struct sl_call call, sl_fn_cuLaunchHostFunc *real, CUstream stream,
                                  CUhostFn function, void *data)
{
    struct sl_held what = {.function = function, .data = data};
    struct sl_held *held = function && is_seen(call, stream, &what.stays) ? hold(what) : NULL;
    if (!held) return real(stream, function, data);
    return answered(held, real(stream, run_host_function, held));
}

CUresult sl_hook_cuStreamAddCallback(struct sl_call call, sl_fn_cuStreamAddCallback *real, CUstream stream,
                                     CUstreamCallback function, void *data, unsigned flags)
{
    struct sl_held what = {.callback = function, .data = data};
    struct sl_held *held = function && is_seen(call, stream, &what.stays) ? hold(what) : NULL;
    if (!held) return real(stream, function, data, flags);
    return answered(held, real(stream, run_callback, held, flags));
}

struct sl_held *sl_hold(struct sl_call call, CUstream stream)
{
    struct sl_held what = {0};
    if (!is_seen(call, stream, &what.stays) || !sl_driver_functions()->launch_host_func) return NULL;
    return hold(what);
}

/* The driver may say that it refused a call and run the function all the same: each try has a reference. */
static CUresult try_to_let_go(const struct sl_cuda_driver *driver, CUstream stream, struct sl_held *held)
{
    CUresult result = driver->launch_host_func(stream, run_host_function, held);
    if (result != CUDA_SUCCESS) atomic_fetch_add(&held->references, 1);
    return result;
}

/* Enqueues a host function behind the wait, even if the driver says that it refused the wait; when the
 * function runs, the wait is over. If it cannot be enqueued behind a wait, the stream counts as held up for
 * good. */
CUresult sl_let_go_behind(struct sl_call call, CUstream stream, struct sl_held *held, CUresult result)
{
    const struct sl_cuda_driver *driver = sl_driver_functions();
    if (!held) return result;
    CUresult behind = SL_PERSIST(try_to_let_go(driver, sl_work_stream(call, stream), held));
    if (behind != CUDA_SUCCESS && result != CUDA_SUCCESS)
        count_down(held);
    else if (behind != CUDA_SUCCESS)
        sl_warn_once("the driver does not say when a wait is over: from now on nothing waits for a stream");
    drop(held);
    return result;
}

#define WAIT_VALUE(symbol, type)                                                                             \
    CUresult sl_hook_##symbol(struct sl_call call, sl_fn_##symbol *real, CUstream stream,                    \
                              CUdeviceptr address, type value, unsigned flags)                               \
    {                                                                                                        \
        struct sl_held *held = sl_hold(call, stream);                                                        \
        return sl_let_go_behind(call, stream, held, real(stream, address, value, flags));                    \
    }
WAIT_VALUE(cuStreamWaitValue32, cuuint32_t)
WAIT_VALUE(cuStreamWaitValue32_v2, cuuint32_t)
WAIT_VALUE(cuStreamWaitValue64, cuuint64_t)
WAIT_VALUE(cuStreamWaitValue64_v2, cuuint64_t)

#define BATCH(symbol)                                                                                        \
    CUresult sl_hook_##symbol(struct sl_call call, sl_fn_##symbol *real, CUstream stream, unsigned count,    \
                              void *operations, unsigned flags)                                              \
    {                                                                                                        \
        struct sl_held *held = sl_hold(call, stream);                                                        \
        return sl_let_go_behind(call, stream, held, real(stream, count, operations, flags));                 \
    }
BATCH(cuStreamBatchMemOp)
BATCH(cuStreamBatchMemOp_v2)

CUresult sl_hook_cuWaitExternalSemaphoresAsync(struct sl_call call, sl_fn_cuWaitExternalSemaphoresAsync *real,
                                               const CUexternalSemaphore *semaphores,
                                               const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS *parameters,
                                               unsigned count, CUstream stream)
{
    struct sl_held *held = sl_hold(call, stream);
    return sl_let_go_behind(call, stream, held, real(semaphores, parameters, count, stream));
}
