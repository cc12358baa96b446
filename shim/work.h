/* Shared by the hooks of launches, copies and memsets: the core's struct sl_launch around the driver's call.
 */
#ifndef SLUICE_SHIM_WORK_H
#define SLUICE_SHIM_WORK_H

#include "core/runtime.h"
#include "driver_api.h"
#include "memory.h"
#include "session.h"

struct sl_work {
    struct sl_launch launch;
    bool seen;         /* the core has seen the beginning */
    bool waits;        /* synchronous: it has to wait for the device */
    uint64_t began_ns; /* of copies and memsets; 0: no trace is written */
};

/* The stream as the core knows it. */
static inline sl_stream sl_work_stream(struct sl_call call, CUstream stream)
{
    return stream ? stream : call.default_stream;
}

/* Whether [address, address + bytes), if it begins in memory of ours, lies in one allocation or in adjacent
 * mappings. The driver checks its own memory, but does not know the allocations inside our arenas.
 * Precondition: work->waits is set. */
static inline bool sl_work_inside(struct sl_work *work, uint64_t address, uint64_t bytes)
{
    struct sl_allocation found;
    if (!bytes || !sl_session_owns(address) || !sl_runtime_running()) return true;
    do {
        if (!sl_memory_find(address, &found)) return false;
        work->waits |= (found.tag & SL_TAG_SYNC_MEMOPS) != 0;
        uint64_t inside = found.bytes - (address - found.address);
        if (bytes <= inside) return true;
        address += inside;
        bytes -= inside;
    } while (found.tag & SL_TAG_MAPPING);
    return false;
}

/* From the start of the first row to the end of the last, for rows in slices; UINT64_MAX on overflow. */
static inline uint64_t sl_work_rows(uint64_t width, uint64_t height, uint64_t depth, uint64_t pitch,
                                    uint64_t slice)
{
    uint64_t slices, rows, bytes;
    if (!width || !height || !depth) return 0;
    if (__builtin_mul_overflow(depth - 1, slice, &slices) ||
        __builtin_mul_overflow(height - 1, pitch, &rows) || __builtin_add_overflow(slices, rows, &bytes) ||
        __builtin_add_overflow(bytes, width, &bytes))
        return UINT64_MAX;
    return bytes;
}

/* Adds [address, address + bytes) to the launch if it is memory of ours; ignores host memory and other
 * memory. */
static inline void sl_work_span(struct sl_work *work, uint64_t address, uint64_t bytes, bool write)
{
    struct sl_launch *launch = &work->launch;
    if (!bytes || !sl_runtime_owns(address)) return;
    launch->spans[launch->span_count++] = (struct sl_span){address, bytes, write};
}

/* Bytes that a memset of rows covers. */
static inline uint64_t sl_work_rows_bytes(size_t pitch, size_t element_bytes, size_t width, size_t height)
{
    uint64_t row;
    if (__builtin_mul_overflow(width, element_bytes, &row)) row = UINT64_MAX;
    return sl_work_rows(row, height, 1, pitch, 0);
}

/* Adds both sides of the copy to the launch. */
void sl_work_copy_spans(struct sl_work *work, const CUDA_MEMCPY3D *copy);

/* The packed form of the parameters: pairs of key and value, up to CU_LAUNCH_PARAM_END. */
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

/* Records work that the driver refused. */
void sl_work_failed(const struct sl_work *work, CUresult result);

/* The same for work that we refuse because it reaches beyond an allocation. Returns the driver's error. */
CUresult sl_work_refused(void);

/* After the driver's call: returns its answer. */
static inline CUresult sl_work_end(struct sl_work *work, CUresult result)
{
    if (work->seen) sl_runtime_launch_end(&work->launch, result == CUDA_SUCCESS);
    if (__builtin_expect(result != CUDA_SUCCESS, 0)) sl_work_failed(work, result);
    return result;
}

/* The same for a synchronous copy or memset, which the driver may leave running. */
CUresult sl_work_end_synchronous(struct sl_work *work, sl_stream stream, CUresult result);

#endif
