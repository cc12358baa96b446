#include "work.h"

#include "driver.h"
#include "driver_status.h"

void sl_work_failed(const struct sl_work *work, CUresult result)
{
    if (!sl_runtime_tracing()) return;
    sl_runtime_failed(SL_ERROR_LAUNCH, result, work->seen ? work->launch.tick : 0, 0, 0);
}

CUresult sl_work_refused(void)
{
    CUresult result = sl_driver_refusal_or(0, CUDA_ERROR_INVALID_VALUE);
    sl_runtime_failed(SL_ERROR_LAUNCH, result, 0, 0, 0);
    return result;
}

/* A copy within the device returns before it is done, even if it is synchronous. */
static bool waited(const struct sl_work *work)
{
    if (!work->seen || work->launch.kind != SL_LAUNCH_COPY) return false;
    return work->waits || work->launch.direction == SL_COPY_IN || work->launch.direction == SL_COPY_OUT;
}

CUresult sl_work_end_synchronous(struct sl_work *work, sl_stream stream, CUresult result)
{
    sl_work_end(work, result);
    if (result == CUDA_SUCCESS && work->waits) result = sl_driver_functions()->stream_synchronize(stream);
    if (!waited(work)) return result;
    sl_runtime_wait_ended(work->began_ns, SL_SYNC_COPY, (uintptr_t)stream);
    sl_runtime_waited();
    return result;
}
