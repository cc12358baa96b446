/* Host functions, waits for words in memory and for other interfaces. */
#include "hold.h"

#include <stdlib.h>

#include "driver.h"
#include "stream_state.h"
#include "work.h"

struct host_function {
    CUhostFn function;
    void *data;
};

/* Runs on a thread of the driver, where its functions must not be called. */
static void CUDA_CB run_host_function(void *argument)
{
    struct host_function host = *(struct host_function *)argument;
    free(argument);
    host.function(host.data);
    sl_runtime_hold(-1);
}

struct callback {
    CUstreamCallback function;
    void *data;
};

static void CUDA_CB run_callback(CUstream stream, CUresult result, void *argument)
{
    struct callback callback = *(struct callback *)argument;
    free(argument);
    callback.function(stream, result, callback.data);
    sl_runtime_hold(-1);
}

static void CUDA_CB release(void *nothing)
{
    (void)nothing;
    sl_runtime_hold(-1);
}

/* A captured call becomes a node of a graph, which the program may inspect. */
static bool is_seen(struct sl_call call, CUstream stream)
{
    if (!sl_runtime_running() || !sl_session_on_stream(stream)) return false;
    sl_runtime_work_comes();
    return sl_stream_takes_work(sl_work_stream(call, stream));
}

CUresult sl_hook_cuLaunchHostFunc(struct sl_call call, sl_fn_cuLaunchHostFunc *real, CUstream stream,
                                  CUhostFn function, void *data)
{
    struct host_function *host = function && is_seen(call, stream) ? malloc(sizeof *host) : NULL;
    if (!host) return real(stream, function, data);
    *host = (struct host_function){function, data};
    sl_runtime_hold(1);
    CUresult result = real(stream, run_host_function, host);
    if (result == CUDA_SUCCESS) return result;
    sl_runtime_hold(-1);
    free(host);
    return result;
}

CUresult sl_hook_cuStreamAddCallback(struct sl_call call, sl_fn_cuStreamAddCallback *real, CUstream stream,
                                     CUstreamCallback function, void *data, unsigned flags)
{
    struct callback *callback = function && is_seen(call, stream) ? malloc(sizeof *callback) : NULL;
    if (!callback) return real(stream, function, data, flags);
    *callback = (struct callback){function, data};
    sl_runtime_hold(1);
    CUresult result = real(stream, run_callback, callback, flags);
    if (result == CUDA_SUCCESS) return result;
    sl_runtime_hold(-1);
    free(callback);
    return result;
}

bool sl_hold(struct sl_call call, CUstream stream)
{
    if (!is_seen(call, stream) || !sl_driver_functions()->launch_host_func) return false;
    sl_runtime_hold(1);
    return true;
}

/* Enqueues a host function behind the wait; when it runs, the wait is over. */
CUresult sl_let_go_behind(struct sl_call call, CUstream stream, bool held, CUresult result)
{
    const struct sl_cuda_driver *driver = sl_driver_functions();
    if (held && (result != CUDA_SUCCESS ||
                 driver->launch_host_func(sl_work_stream(call, stream), release, NULL) != CUDA_SUCCESS))
        sl_runtime_hold(-1);
    return result;
}

#define WAIT_VALUE(symbol, type)                                                                             \
    CUresult sl_hook_##symbol(struct sl_call call, sl_fn_##symbol *real, CUstream stream,                    \
                              CUdeviceptr address, type value, unsigned flags)                               \
    {                                                                                                        \
        bool held = sl_hold(call, stream);                                                                   \
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
        bool held = sl_hold(call, stream);                                                                   \
        return sl_let_go_behind(call, stream, held, real(stream, count, operations, flags));                 \
    }
BATCH(cuStreamBatchMemOp)
BATCH(cuStreamBatchMemOp_v2)

CUresult sl_hook_cuWaitExternalSemaphoresAsync(struct sl_call call, sl_fn_cuWaitExternalSemaphoresAsync *real,
                                               const CUexternalSemaphore *semaphores,
                                               const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS *parameters,
                                               unsigned count, CUstream stream)
{
    bool held = sl_hold(call, stream);
    return sl_let_go_behind(call, stream, held, real(semaphores, parameters, count, stream));
}
