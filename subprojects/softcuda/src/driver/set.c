/* Memsets. A synchronous memset of managed or pinned memory blocks its caller; one of device memory does not.
 */
#include "capture.h"
#include "driver.h"
#include "queue.h"
#include "work.h"

CUresult sc_set_describe(struct sc_set_work *set)
{
    struct sc_box box = {.address = set->address, .height = set->height, .depth = 1, .pitch = set->pitch};
    uint64_t bytes;
    if (set->address % set->element_bytes || (set->height > 1 && set->pitch % set->element_bytes))
        return CUDA_ERROR_INVALID_VALUE;
    if (__builtin_mul_overflow(set->width, set->element_bytes, &box.width) || !sc_extent(&box, &bytes))
        return CUDA_ERROR_INVALID_VALUE;
    struct sc_allocation *allocation = sc_space_find_range(set->address, bytes);
    if (!allocation) return CUDA_ERROR_INVALID_VALUE;
    bool device = allocation->kind == SC_MEMORY_DEVICE || allocation->kind == SC_MEMORY_MAPPED;
    set->to = device                                  ? SC_SIDE_DEVICE
              : allocation->kind == SC_MEMORY_MANAGED ? SC_SIDE_MANAGED
                                                      : SC_SIDE_PINNED;
    return CUDA_SUCCESS;
}

static CUresult submit_set(struct sc_set_work set, CUstream handle, bool wait)
{
    if (!set.width || !set.height) return CUDA_SUCCESS;
    CUresult result = sc_enter(SC_NEED_CONTEXT);
    if (result) return result;
    struct sc_stream *stream = sc_stream_find(handle);
    if (!stream) return sc_leave(CUDA_ERROR_INVALID_HANDLE);
    result = sc_set_describe(&set);
    const struct sc_allocation *allocation = sc_space_find(set.address);
    bool blocks = wait && (set.to != SC_SIDE_DEVICE || (allocation && allocation->sync_memops));
    if (!result && blocks) result = sc_capture_wait_stream(stream);
    if (result) return sc_leave(result);
    struct sc_op *op = sc_op_new(SC_OP_SET, stream->context);
    if (!op) return sc_leave(CUDA_ERROR_OUT_OF_MEMORY);
    op->set = set;
    return sc_leave(blocks ? sc_queue_submit_and_wait(stream, op) : sc_queue_submit(stream, op));
}

/* The six functions of one element type: plain, per-thread and Async form, in one and two dimensions. */
#define MEMSETS(bits, type)                                                                                  \
    CUresult CUDAAPI cuMemsetD##bits##_v2(CUdeviceptr address, type value, size_t count)                     \
    {                                                                                                        \
        return submit_set((struct sc_set_work){address, count, 1, 0, value, bits / 8, SC_SIDE_DEVICE},       \
                          CU_STREAM_LEGACY, true);                                                           \
    }                                                                                                        \
    CUresult CUDAAPI cuMemsetD##bits##_v2_ptds(CUdeviceptr address, type value, size_t count)                \
    {                                                                                                        \
        return submit_set((struct sc_set_work){address, count, 1, 0, value, bits / 8, SC_SIDE_DEVICE},       \
                          CU_STREAM_PER_THREAD, true);                                                       \
    }                                                                                                        \
    CUresult CUDAAPI cuMemsetD##bits##Async(CUdeviceptr address, type value, size_t count, CUstream stream)  \
    {                                                                                                        \
        return submit_set((struct sc_set_work){address, count, 1, 0, value, bits / 8, SC_SIDE_DEVICE},       \
                          stream, false);                                                                    \
    }                                                                                                        \
    CUresult CUDAAPI cuMemsetD2D##bits##_v2(CUdeviceptr address, size_t pitch, type value, size_t width,     \
                                            size_t height)                                                   \
    {                                                                                                        \
        return submit_set(                                                                                   \
            (struct sc_set_work){address, width, height, pitch, value, bits / 8, SC_SIDE_DEVICE},            \
            CU_STREAM_LEGACY, true);                                                                         \
    }                                                                                                        \
    CUresult CUDAAPI cuMemsetD2D##bits##_v2_ptds(CUdeviceptr address, size_t pitch, type value,              \
                                                 size_t width, size_t height)                                \
    {                                                                                                        \
        return submit_set(                                                                                   \
            (struct sc_set_work){address, width, height, pitch, value, bits / 8, SC_SIDE_DEVICE},            \
            CU_STREAM_PER_THREAD, true);                                                                     \
    }                                                                                                        \
    CUresult CUDAAPI cuMemsetD2D##bits##Async(CUdeviceptr address, size_t pitch, type value, size_t width,   \
                                              size_t height, CUstream stream)                                \
    {                                                                                                        \
        return submit_set(                                                                                   \
            (struct sc_set_work){address, width, height, pitch, value, bits / 8, SC_SIDE_DEVICE}, stream,    \
            false);                                                                                          \
    }

MEMSETS(8, unsigned char)
MEMSETS(16, unsigned short)
MEMSETS(32, unsigned int)
