/* Copies: the device ranges they read and write. */
#include "driver.h"
#include "work.h"

/* Where a copy of rows and slices begins, and how its memory is shaped. */
struct corner {
    CUmemorytype type;
    uint64_t address, x, y, z, pitch, rows;
};

/* A straight copy; either side may be the host's. */
static void begin_copy(struct sl_work *work, sl_stream stream, uint64_t to, uint64_t from, uint64_t bytes)
{
    work->seen = sl_session_on();
    if (!work->seen) return;
    work->launch = (struct sl_launch){.kind = SL_LAUNCH_COPY, .stream = stream};
    sl_work_span(work, to, bytes, true);
    sl_work_span(work, from, bytes, false);
    sl_runtime_launch_begin(&work->launch);
}

static void add_corner(struct sl_work *work, const struct corner *corner, uint64_t width, uint64_t height,
                       uint64_t depth, bool write)
{
    if (corner->type != CU_MEMORYTYPE_DEVICE && corner->type != CU_MEMORYTYPE_UNIFIED) return;
    if (!width || !height || !depth) return;
    uint64_t pitch = corner->pitch ? corner->pitch : width;
    uint64_t slice = pitch * (corner->rows ? corner->rows : height);
    uint64_t start = corner->address + corner->z * slice + corner->y * pitch + corner->x;
    sl_work_span(work, start, (depth - 1) * slice + (height - 1) * pitch + width, write);
}

/* A copy of rows and slices; a side whose memory is an array's or the host's names no range. */
static void begin_shaped(struct sl_work *work, sl_stream stream, const struct corner *to,
                         const struct corner *from, uint64_t width, uint64_t height, uint64_t depth)
{
    work->seen = sl_session_on();
    if (!work->seen) return;
    work->launch = (struct sl_launch){.kind = SL_LAUNCH_COPY, .stream = stream};
    add_corner(work, to, width, height, depth, true);
    add_corner(work, from, width, height, depth, false);
    sl_runtime_launch_begin(&work->launch);
}

/* For unified addresses the driver reads the device field. */
static void begin_2d(struct sl_work *work, sl_stream stream, const CUDA_MEMCPY2D *copy)
{
    struct corner to = {
        copy->dstMemoryType, copy->dstDevice, copy->dstXInBytes, copy->dstY, 0, copy->dstPitch, 0};
    struct corner from = {
        copy->srcMemoryType, copy->srcDevice, copy->srcXInBytes, copy->srcY, 0, copy->srcPitch, 0};
    begin_shaped(work, stream, &to, &from, copy->WidthInBytes, copy->Height, 1);
}

void sl_work_copy_spans(struct sl_work *work, const CUDA_MEMCPY3D *copy)
{
    struct corner to = {copy->dstMemoryType, copy->dstDevice, copy->dstXInBytes, copy->dstY,
                        copy->dstZ,          copy->dstPitch,  copy->dstHeight};
    struct corner from = {copy->srcMemoryType, copy->srcDevice, copy->srcXInBytes, copy->srcY,
                          copy->srcZ,          copy->srcPitch,  copy->srcHeight};
    add_corner(work, &to, copy->WidthInBytes, copy->Height, copy->Depth, true);
    add_corner(work, &from, copy->WidthInBytes, copy->Height, copy->Depth, false);
}

static void begin_3d(struct sl_work *work, sl_stream stream, const CUDA_MEMCPY3D *copy)
{
    work->seen = sl_session_on();
    if (!work->seen) return;
    work->launch = (struct sl_launch){.kind = SL_LAUNCH_COPY, .stream = stream};
    sl_work_copy_spans(work, copy);
    sl_runtime_launch_begin(&work->launch);
}

static void begin_3d_peer(struct sl_work *work, sl_stream stream, const CUDA_MEMCPY3D_PEER *copy)
{
    struct corner to = {copy->dstMemoryType, copy->dstDevice, copy->dstXInBytes, copy->dstY,
                        copy->dstZ,          copy->dstPitch,  copy->dstHeight};
    struct corner from = {copy->srcMemoryType, copy->srcDevice, copy->srcXInBytes, copy->srcY,
                          copy->srcZ,          copy->srcPitch,  copy->srcHeight};
    begin_shaped(work, stream, &to, &from, copy->WidthInBytes, copy->Height, copy->Depth);
}

/* A batch is one launch; its first copy that touches our memory stands for it, the others are served in
 * place. */
static void begin_batch(struct sl_work *work, sl_stream stream, const CUdeviceptr *to,
                        const CUdeviceptr *from, const size_t *bytes, size_t count)
{
    size_t i = 0;
    while (i + 1 < count && !sl_runtime_owns(to[i]) && !sl_runtime_owns(from[i])) i++;
    begin_copy(work, stream, count ? to[i] : 0, count ? from[i] : 0, count ? bytes[i] : 0);
}

/* --- synchronous
 * ---------------------------------------------------------------------------------------------- */

CUresult sl_hook_cuMemcpy(struct sl_call call, sl_fn_cuMemcpy *real, CUdeviceptr to, CUdeviceptr from,
                          size_t bytes)
{
    struct sl_work work;
    begin_copy(&work, call.default_stream, to, from, bytes);
    return sl_work_end(&work, real(to, from, bytes));
}

CUresult sl_hook_cuMemcpyHtoD_v2(struct sl_call call, sl_fn_cuMemcpyHtoD_v2 *real, CUdeviceptr to,
                                 const void *from, size_t bytes)
{
    struct sl_work work;
    begin_copy(&work, call.default_stream, to, (uintptr_t)from, bytes);
    return sl_work_end(&work, real(to, from, bytes));
}

CUresult sl_hook_cuMemcpyDtoH_v2(struct sl_call call, sl_fn_cuMemcpyDtoH_v2 *real, void *to, CUdeviceptr from,
                                 size_t bytes)
{
    struct sl_work work;
    begin_copy(&work, call.default_stream, (uintptr_t)to, from, bytes);
    return sl_work_end(&work, real(to, from, bytes));
}

CUresult sl_hook_cuMemcpyDtoD_v2(struct sl_call call, sl_fn_cuMemcpyDtoD_v2 *real, CUdeviceptr to,
                                 CUdeviceptr from, size_t bytes)
{
    struct sl_work work;
    begin_copy(&work, call.default_stream, to, from, bytes);
    return sl_work_end(&work, real(to, from, bytes));
}

CUresult sl_hook_cuMemcpyDtoA_v2(struct sl_call call, sl_fn_cuMemcpyDtoA_v2 *real, CUarray to,
                                 size_t to_offset, CUdeviceptr from, size_t bytes)
{
    struct sl_work work;
    begin_copy(&work, call.default_stream, 0, from, bytes);
    return sl_work_end(&work, real(to, to_offset, from, bytes));
}

CUresult sl_hook_cuMemcpyAtoD_v2(struct sl_call call, sl_fn_cuMemcpyAtoD_v2 *real, CUdeviceptr to,
                                 CUarray from, size_t from_offset, size_t bytes)
{
    struct sl_work work;
    begin_copy(&work, call.default_stream, to, 0, bytes);
    return sl_work_end(&work, real(to, from, from_offset, bytes));
}

CUresult sl_hook_cuMemcpyPeer(struct sl_call call, sl_fn_cuMemcpyPeer *real, CUdeviceptr to,
                              CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes)
{
    struct sl_work work;
    begin_copy(&work, call.default_stream, to, from, bytes);
    return sl_work_end(&work, real(to, to_context, from, from_context, bytes));
}

CUresult sl_hook_cuMemcpy2D_v2(struct sl_call call, sl_fn_cuMemcpy2D_v2 *real, const CUDA_MEMCPY2D *copy)
{
    struct sl_work work;
    begin_2d(&work, call.default_stream, copy);
    return sl_work_end(&work, real(copy));
}

CUresult sl_hook_cuMemcpy2DUnaligned_v2(struct sl_call call, sl_fn_cuMemcpy2DUnaligned_v2 *real,
                                        const CUDA_MEMCPY2D *copy)
{
    struct sl_work work;
    begin_2d(&work, call.default_stream, copy);
    return sl_work_end(&work, real(copy));
}

CUresult sl_hook_cuMemcpy3D_v2(struct sl_call call, sl_fn_cuMemcpy3D_v2 *real, const CUDA_MEMCPY3D *copy)
{
    struct sl_work work;
    begin_3d(&work, call.default_stream, copy);
    return sl_work_end(&work, real(copy));
}

CUresult sl_hook_cuMemcpy3DPeer(struct sl_call call, sl_fn_cuMemcpy3DPeer *real,
                                const CUDA_MEMCPY3D_PEER *copy)
{
    struct sl_work work;
    begin_3d_peer(&work, call.default_stream, copy);
    return sl_work_end(&work, real(copy));
}

/* --- on a stream
 * ---------------------------------------------------------------------------------------------- */

CUresult sl_hook_cuMemcpyAsync(struct sl_call call, sl_fn_cuMemcpyAsync *real, CUdeviceptr to,
                               CUdeviceptr from, size_t bytes, CUstream stream)
{
    struct sl_work work;
    begin_copy(&work, sl_work_stream(call, stream), to, from, bytes);
    return sl_work_end(&work, real(to, from, bytes, stream));
}

CUresult sl_hook_cuMemcpyHtoDAsync_v2(struct sl_call call, sl_fn_cuMemcpyHtoDAsync_v2 *real, CUdeviceptr to,
                                      const void *from, size_t bytes, CUstream stream)
{
    struct sl_work work;
    begin_copy(&work, sl_work_stream(call, stream), to, (uintptr_t)from, bytes);
    return sl_work_end(&work, real(to, from, bytes, stream));
}

CUresult sl_hook_cuMemcpyDtoHAsync_v2(struct sl_call call, sl_fn_cuMemcpyDtoHAsync_v2 *real, void *to,
                                      CUdeviceptr from, size_t bytes, CUstream stream)
{
    struct sl_work work;
    begin_copy(&work, sl_work_stream(call, stream), (uintptr_t)to, from, bytes);
    return sl_work_end(&work, real(to, from, bytes, stream));
}

CUresult sl_hook_cuMemcpyDtoDAsync_v2(struct sl_call call, sl_fn_cuMemcpyDtoDAsync_v2 *real, CUdeviceptr to,
                                      CUdeviceptr from, size_t bytes, CUstream stream)
{
    struct sl_work work;
    begin_copy(&work, sl_work_stream(call, stream), to, from, bytes);
    return sl_work_end(&work, real(to, from, bytes, stream));
}

CUresult sl_hook_cuMemcpyPeerAsync(struct sl_call call, sl_fn_cuMemcpyPeerAsync *real, CUdeviceptr to,
                                   CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                                   size_t bytes, CUstream stream)
{
    struct sl_work work;
    begin_copy(&work, sl_work_stream(call, stream), to, from, bytes);
    return sl_work_end(&work, real(to, to_context, from, from_context, bytes, stream));
}

CUresult sl_hook_cuMemcpy2DAsync_v2(struct sl_call call, sl_fn_cuMemcpy2DAsync_v2 *real,
                                    const CUDA_MEMCPY2D *copy, CUstream stream)
{
    struct sl_work work;
    begin_2d(&work, sl_work_stream(call, stream), copy);
    return sl_work_end(&work, real(copy, stream));
}

CUresult sl_hook_cuMemcpy3DAsync_v2(struct sl_call call, sl_fn_cuMemcpy3DAsync_v2 *real,
                                    const CUDA_MEMCPY3D *copy, CUstream stream)
{
    struct sl_work work;
    begin_3d(&work, sl_work_stream(call, stream), copy);
    return sl_work_end(&work, real(copy, stream));
}

CUresult sl_hook_cuMemcpy3DPeerAsync(struct sl_call call, sl_fn_cuMemcpy3DPeerAsync *real,
                                     const CUDA_MEMCPY3D_PEER *copy, CUstream stream)
{
    struct sl_work work;
    begin_3d_peer(&work, sl_work_stream(call, stream), copy);
    return sl_work_end(&work, real(copy, stream));
}

CUresult sl_hook_cuMemcpyBatchAsync(struct sl_call call, sl_fn_cuMemcpyBatchAsync *real, CUdeviceptr *to,
                                    CUdeviceptr *from, size_t *bytes, size_t count, void *attributes,
                                    size_t *attribute_starts, size_t attribute_count, size_t *fail_index,
                                    CUstream stream)
{
    struct sl_work work;
    begin_batch(&work, sl_work_stream(call, stream), to, from, bytes, count);
    return sl_work_end(&work, real(to, from, bytes, count, attributes, attribute_starts, attribute_count,
                                   fail_index, stream));
}

CUresult sl_hook_cuMemcpyBatchAsync_v2(struct sl_call call, sl_fn_cuMemcpyBatchAsync_v2 *real,
                                       CUdeviceptr *to, CUdeviceptr *from, size_t *bytes, size_t count,
                                       void *attributes, size_t *attribute_starts, size_t attribute_count,
                                       CUstream stream)
{
    struct sl_work work;
    begin_batch(&work, sl_work_stream(call, stream), to, from, bytes, count);
    return sl_work_end(&work,
                       real(to, from, bytes, count, attributes, attribute_starts, attribute_count, stream));
}

/* What a batch of shaped copies touches is served in place; that the stream works is what the core has to
 * know. */
CUresult sl_hook_cuMemcpy3DBatchAsync(struct sl_call call, sl_fn_cuMemcpy3DBatchAsync *real, size_t count,
                                      void *copies, size_t *fail_index, unsigned long long flags,
                                      CUstream stream)
{
    struct sl_work work;
    begin_copy(&work, sl_work_stream(call, stream), 0, 0, 0);
    return sl_work_end(&work, real(count, copies, fail_index, flags, stream));
}

CUresult sl_hook_cuMemcpy3DBatchAsync_v2(struct sl_call call, sl_fn_cuMemcpy3DBatchAsync_v2 *real,
                                         size_t count, void *copies, unsigned long long flags,
                                         CUstream stream)
{
    struct sl_work work;
    begin_copy(&work, sl_work_stream(call, stream), 0, 0, 0);
    return sl_work_end(&work, real(count, copies, flags, stream));
}
