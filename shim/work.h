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

/* From the first row's start to the last row's end. */
static inline uint64_t sl_work_rows_bytes(size_t pitch, size_t element_bytes, size_t width, size_t height)
{
    return height ? (uint64_t)pitch * (height - 1) + (uint64_t)element_bytes * width : 0;
}

/* Names both sides of the copy. */
void sl_work_copy_spans(struct sl_work *work, const CUDA_MEMCPY3D *copy);

/* The packed form of the parameters: pairs of a key and a value, up to CU_LAUNCH_PARAM_END. */
static inline void sl_work_read_extra(struct sl_launch *launch, void **extra)
{
    for (; extra && *extra != CU_LAUNCH_PARAM_END; extra += 2) {
        if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
            launch->packed = extra[1];
        else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE)
            launch->packed_bytes = *(const size_t *)extra[1];
    }
    if (!launch->packed) launch->packed_bytes = 0;
}

/* After the driver's call: hands its answer on. */
static inline CUresult sl_work_end(struct sl_work *work, CUresult result)
{
    if (work->seen) sl_runtime_launch_end(&work->launch, result == CUDA_SUCCESS);
    return result;
}

#endif
