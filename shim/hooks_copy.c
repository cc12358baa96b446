/* Copies: the device ranges they read and write. */
#include "copy_direction.h"
#include "driver.h"
#include "work.h"

/* The origin of a copy of rows and slices, and the shape of its memory. */
struct corner {
    CUmemorytype type;
    uint64_t address, x, y, z, pitch, rows;
};

/* The direction of a copy between unified addresses. */
static enum sl_copy_direction find_direction(CUdeviceptr to, CUdeviceptr from)
{
    return sl_runtime_tracing() ? sl_link_direction(sl_side_of(to), sl_side_of(from)) : SL_COPY_UNKNOWN;
}

/* The direction of a copy between contexts: known only within one device. */
static enum sl_copy_direction between_contexts(CUcontext to, CUcontext from)
{
    return to == from ? SL_COPY_ON_DEVICE : SL_COPY_UNKNOWN;
}

/* A linear copy; either side may be host memory. False: it reaches beyond an allocation. */
static bool begin_copy(struct sl_work *work, sl_stream stream, uint64_t to, uint64_t from, uint64_t bytes,
                       enum sl_copy_direction direction)
{
    work->waits = false;
    work->began_ns = sl_runtime_wait_begins();
    if (!sl_work_inside(work, to, bytes) || !sl_work_inside(work, from, bytes)) return false;
    work->seen = sl_session_on_stream(stream);
    if (!work->seen) return true;
    work->launch = (struct sl_launch){
        .kind = SL_LAUNCH_COPY, .stream = stream, .direction = direction, .copied_bytes = bytes};
    sl_work_span(work, to, bytes, true);
    sl_work_span(work, from, bytes, false);
    if (!sl_runtime_owns(from)) work->launch.upload = (struct sl_upload){(const void *)from, to, bytes};
    sl_runtime_launch_begin(&work->launch);
    return true;
}

/* The range of one side of a shaped copy; empty for arrays and host memory. */
static struct sl_span cover(const struct corner *corner, uint64_t width, uint64_t height, uint64_t depth,
                            bool write)
{
    if (corner->type != CU_MEMORYTYPE_DEVICE && corner->type != CU_MEMORYTYPE_UNIFIED)
        return (struct sl_span){0};
    uint64_t pitch = corner->pitch ? corner->pitch : width;
    uint64_t slice = pitch * (corner->rows ? corner->rows : height);
    uint64_t start = corner->address + corner->z * slice + corner->y * pitch + corner->x;
    return (struct sl_span){start, sl_work_rows(width, height, depth, pitch, slice), write};
}

/* A copy of rows and slices. False: it reaches beyond an allocation. */
static bool begin_shaped(struct sl_work *work, sl_stream stream, const struct corner *to,
                         const struct corner *from, uint64_t width, uint64_t height, uint64_t depth)
{
    struct sl_span written = cover(to, width, height, depth, true),
                   read = cover(from, width, height, depth, false);
    work->waits = false;
    work->began_ns = sl_runtime_wait_begins();
    if (!sl_work_inside(work, written.address, written.bytes) ||
        !sl_work_inside(work, read.address, read.bytes))
        return false;
    work->seen = sl_session_on_stream(stream);
    if (!work->seen) return true;
    work->launch =
        (struct sl_launch){.kind = SL_LAUNCH_COPY, .stream = stream, .copied_bytes = width * height * depth};
    if (work->began_ns)
        work->launch.direction = sl_link_direction(sl_side_of_type(to->type, to->address),
                                                   sl_side_of_type(from->type, from->address));
    sl_work_span(work, written.address, written.bytes, true);
    sl_work_span(work, read.address, read.bytes, false);
    sl_runtime_launch_begin(&work->launch);
    return true;
}

/* For unified addresses, the driver reads the device field. It refuses NULL. */
static bool begin_2d(struct sl_work *work, sl_stream stream, const CUDA_MEMCPY2D *copy)
{
    work->seen = work->waits = false;
    if (!copy) return true;
    struct corner to = {
        copy->dstMemoryType, copy->dstDevice, copy->dstXInBytes, copy->dstY, 0, copy->dstPitch, 0};
    struct corner from = {
        copy->srcMemoryType, copy->srcDevice, copy->srcXInBytes, copy->srcY, 0, copy->srcPitch, 0};
    return begin_shaped(work, stream, &to, &from, copy->WidthInBytes, copy->Height, 1);
}

void sl_work_copy_spans(struct sl_work *work, const CUDA_MEMCPY3D *copy)
{
    struct corner to = {copy->dstMemoryType, copy->dstDevice, copy->dstXInBytes, copy->dstY,
                        copy->dstZ,          copy->dstPitch,  copy->dstHeight};
    struct corner from = {copy->srcMemoryType, copy->srcDevice, copy->srcXInBytes, copy->srcY,
                          copy->srcZ,          copy->srcPitch,  copy->srcHeight};
    struct sl_span written = cover(&to, copy->WidthInBytes, copy->Height, copy->Depth, true),
                   read = cover(&from, copy->WidthInBytes, copy->Height, copy->Depth, false);
    sl_work_span(work, written.address, written.bytes, true);
    sl_work_span(work, read.address, read.bytes, false);
}

static bool begin_3d(struct sl_work *work, sl_stream stream, const CUDA_MEMCPY3D *copy)
{
    work->seen = work->waits = false;
    if (!copy) return true;
    struct corner to = {copy->dstMemoryType, copy->dstDevice, copy->dstXInBytes, copy->dstY,
                        copy->dstZ,          copy->dstPitch,  copy->dstHeight};
    struct corner from = {copy->srcMemoryType, copy->srcDevice, copy->srcXInBytes, copy->srcY,
                          copy->srcZ,          copy->srcPitch,  copy->srcHeight};
    return begin_shaped(work, stream, &to, &from, copy->WidthInBytes, copy->Height, copy->Depth);
}

static bool begin_3d_peer(struct sl_work *work, sl_stream stream, const CUDA_MEMCPY3D_PEER *copy)
{
    work->seen = work->waits = false;
    if (!copy) return true;
    struct corner to = {copy->dstMemoryType, copy->dstDevice, copy->dstXInBytes, copy->dstY,
                        copy->dstZ,          copy->dstPitch,  copy->dstHeight};
    struct corner from = {copy->srcMemoryType, copy->srcDevice, copy->srcXInBytes, copy->srcY,
                          copy->srcZ,          copy->srcPitch,  copy->srcHeight};
    return begin_shaped(work, stream, &to, &from, copy->WidthInBytes, copy->Height, copy->Depth);
}

/* --- synchronous
 * ---------------------------------------------------------------------------------------------- */

CUresult sl_hook_cuMemcpy(struct sl_call call, sl_fn_cuMemcpy *real, CUdeviceptr to, CUdeviceptr from,
                          size_t bytes)
{
    struct sl_work work;
    if (!begin_copy(&work, call.default_stream, to, from, bytes, find_direction(to, from)))
        return sl_work_refused();
    return sl_work_end_synchronous(&work, call.default_stream, real(to, from, bytes));
}

CUresult sl_hook_cuMemcpyHtoD_v2(struct sl_call call, sl_fn_cuMemcpyHtoD_v2 *real, CUdeviceptr to,
                                 const void *from, size_t bytes)
{
    struct sl_work work;
    if (!begin_copy(&work, call.default_stream, to, (uintptr_t)from, bytes, SL_COPY_IN))
        return sl_work_refused();
    return sl_work_end_synchronous(&work, call.default_stream, real(to, from, bytes));
}

CUresult sl_hook_cuMemcpyDtoH_v2(struct sl_call call, sl_fn_cuMemcpyDtoH_v2 *real, void *to, CUdeviceptr from,
                                 size_t bytes)
{
    struct sl_work work;
    if (!begin_copy(&work, call.default_stream, (uintptr_t)to, from, bytes, SL_COPY_OUT))
        return sl_work_refused();
    return sl_work_end_synchronous(&work, call.default_stream, real(to, from, bytes));
}

CUresult sl_hook_cuMemcpyDtoD_v2(struct sl_call call, sl_fn_cuMemcpyDtoD_v2 *real, CUdeviceptr to,
                                 CUdeviceptr from, size_t bytes)
{
    struct sl_work work;
    if (!begin_copy(&work, call.default_stream, to, from, bytes, SL_COPY_ON_DEVICE)) return sl_work_refused();
    return sl_work_end_synchronous(&work, call.default_stream, real(to, from, bytes));
}

CUresult sl_hook_cuMemcpyDtoA_v2(struct sl_call call, sl_fn_cuMemcpyDtoA_v2 *real, CUarray to,
                                 size_t to_offset, CUdeviceptr from, size_t bytes)
{
    struct sl_work work;
    if (!begin_copy(&work, call.default_stream, 0, from, bytes, SL_COPY_ON_DEVICE)) return sl_work_refused();
    return sl_work_end_synchronous(&work, call.default_stream, real(to, to_offset, from, bytes));
}

CUresult sl_hook_cuMemcpyAtoD_v2(struct sl_call call, sl_fn_cuMemcpyAtoD_v2 *real, CUdeviceptr to,
                                 CUarray from, size_t from_offset, size_t bytes)
{
    struct sl_work work;
    if (!begin_copy(&work, call.default_stream, to, 0, bytes, SL_COPY_ON_DEVICE)) return sl_work_refused();
    return sl_work_end_synchronous(&work, call.default_stream, real(to, from, from_offset, bytes));
}

CUresult sl_hook_cuMemcpyPeer(struct sl_call call, sl_fn_cuMemcpyPeer *real, CUdeviceptr to,
                              CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes)
{
    struct sl_work work;
    if (!begin_copy(&work, call.default_stream, to, from, bytes, between_contexts(to_context, from_context)))
        return sl_work_refused();
    return sl_work_end_synchronous(&work, call.default_stream,
                                   real(to, to_context, from, from_context, bytes));
}

CUresult sl_hook_cuMemcpy2D_v2(struct sl_call call, sl_fn_cuMemcpy2D_v2 *real, const CUDA_MEMCPY2D *copy)
{
    struct sl_work work;
    if (!begin_2d(&work, call.default_stream, copy)) return sl_work_refused();
    return sl_work_end_synchronous(&work, call.default_stream, real(copy));
}

CUresult sl_hook_cuMemcpy2DUnaligned_v2(struct sl_call call, sl_fn_cuMemcpy2DUnaligned_v2 *real,
                                        const CUDA_MEMCPY2D *copy)
{
    struct sl_work work;
    if (!begin_2d(&work, call.default_stream, copy)) return sl_work_refused();
    return sl_work_end_synchronous(&work, call.default_stream, real(copy));
}

CUresult sl_hook_cuMemcpy3D_v2(struct sl_call call, sl_fn_cuMemcpy3D_v2 *real, const CUDA_MEMCPY3D *copy)
{
    struct sl_work work;
    if (!begin_3d(&work, call.default_stream, copy)) return sl_work_refused();
    return sl_work_end_synchronous(&work, call.default_stream, real(copy));
}

CUresult sl_hook_cuMemcpy3DPeer(struct sl_call call, sl_fn_cuMemcpy3DPeer *real,
                                const CUDA_MEMCPY3D_PEER *copy)
{
    struct sl_work work;
    if (!begin_3d_peer(&work, call.default_stream, copy)) return sl_work_refused();
    return sl_work_end_synchronous(&work, call.default_stream, real(copy));
}

/* --- on a stream
 * ---------------------------------------------------------------------------------------------- */

CUresult sl_hook_cuMemcpyAsync(struct sl_call call, sl_fn_cuMemcpyAsync *real, CUdeviceptr to,
                               CUdeviceptr from, size_t bytes, CUstream stream)
{
    struct sl_work work;
    if (!begin_copy(&work, sl_work_stream(call, stream), to, from, bytes, find_direction(to, from)))
        return sl_work_refused();
    return sl_work_end(&work, real(to, from, bytes, stream));
}

CUresult sl_hook_cuMemcpyHtoDAsync_v2(struct sl_call call, sl_fn_cuMemcpyHtoDAsync_v2 *real, CUdeviceptr to,
                                      const void *from, size_t bytes, CUstream stream)
{
    struct sl_work work;
    if (!begin_copy(&work, sl_work_stream(call, stream), to, (uintptr_t)from, bytes, SL_COPY_IN))
        return sl_work_refused();
    return sl_work_end(&work, real(to, from, bytes, stream));
}

CUresult sl_hook_cuMemcpyDtoHAsync_v2(struct sl_call call, sl_fn_cuMemcpyDtoHAsync_v2 *real, void *to,
                                      CUdeviceptr from, size_t bytes, CUstream stream)
{
    struct sl_work work;
    if (!begin_copy(&work, sl_work_stream(call, stream), (uintptr_t)to, from, bytes, SL_COPY_OUT))
        return sl_work_refused();
    return sl_work_end(&work, real(to, from, bytes, stream));
}

CUresult sl_hook_cuMemcpyDtoDAsync_v2(struct sl_call call, sl_fn_cuMemcpyDtoDAsync_v2 *real, CUdeviceptr to,
                                      CUdeviceptr from, size_t bytes, CUstream stream)
{
    struct sl_work work;
    if (!begin_copy(&work, sl_work_stream(call, stream), to, from, bytes, SL_COPY_ON_DEVICE))
        return sl_work_refused();
    return sl_work_end(&work, real(to, from, bytes, stream));
}

CUresult sl_hook_cuMemcpyPeerAsync(struct sl_call call, sl_fn_cuMemcpyPeerAsync *real, CUdeviceptr to,
                                   CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                                   size_t bytes, CUstream stream)
{
    struct sl_work work;
    if (!begin_copy(&work, sl_work_stream(call, stream), to, from, bytes,
                    between_contexts(to_context, from_context)))
        return sl_work_refused();
    return sl_work_end(&work, real(to, to_context, from, from_context, bytes, stream));
}

CUresult sl_hook_cuMemcpy2DAsync_v2(struct sl_call call, sl_fn_cuMemcpy2DAsync_v2 *real,
                                    const CUDA_MEMCPY2D *copy, CUstream stream)
{
    struct sl_work work;
    if (!begin_2d(&work, sl_work_stream(call, stream), copy)) return sl_work_refused();
    return sl_work_end(&work, real(copy, stream));
}

CUresult sl_hook_cuMemcpy3DAsync_v2(struct sl_call call, sl_fn_cuMemcpy3DAsync_v2 *real,
                                    const CUDA_MEMCPY3D *copy, CUstream stream)
{
    struct sl_work work;
    if (!begin_3d(&work, sl_work_stream(call, stream), copy)) return sl_work_refused();
    return sl_work_end(&work, real(copy, stream));
}

CUresult sl_hook_cuMemcpy3DPeerAsync(struct sl_call call, sl_fn_cuMemcpy3DPeerAsync *real,
                                     const CUDA_MEMCPY3D_PEER *copy, CUstream stream)
{
    struct sl_work work;
    if (!begin_3d_peer(&work, sl_work_stream(call, stream), copy)) return sl_work_refused();
    return sl_work_end(&work, real(copy, stream));
}
