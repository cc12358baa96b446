/* What the hooks of launches, copies and sets share: the core's struct sl_launch around the driver's call. */
#ifndef SLUICE_SHIM_WORK_H
#define SLUICE_SHIM_WORK_H

#include "driver_api.h"
#include "runtime.h"
#include "session.h"

struct sl_work {
    struct sl_launch launch;
    bool seen; /* the core was told of the beginning */
};

/* The stream as the core knows it. */
static inline sl_stream sl_work_stream(struct sl_call call, CUstream stream)
{
    return stream ? stream : call.default_stream;
}

/* Names [address, address + bytes) if it is ours; a copy's host side and other memory are not. */
static inline void sl_work_span(struct sl_work *work, uint64_t address, uint64_t bytes, bool write)
{
    struct sl_launch *launch = &work->launch;
    if (!bytes || !sl_runtime_owns(address)) return;
    launch->spans[launch->span_count++] = (struct sl_span){address, bytes, write};
}

/* After the driver's call: hands its answer on. */
static inline CUresult sl_work_end(struct sl_work *work, CUresult result)
{
    if (work->seen) sl_runtime_launch_end(&work->launch, result == CUDA_SUCCESS);
    return result;
}

#endif
