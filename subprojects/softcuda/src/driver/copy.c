/* Copies of one, two and three dimensions. */
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "copy.h"
#include "extent.h"
#include "work.h"

/* Determines the kind of memory of a range. A device pointer must be a known allocation; a host pointer may
 * be anything. */
static CUresult side_of(uint64_t address, uint64_t bytes, bool must_be_known, enum sc_side *out, int *ordinal)
{
    static const enum sc_side sides[SC_MEMORY_KINDS] = {
        [SC_MEMORY_DEVICE] = SC_SIDE_DEVICE, [SC_MEMORY_MANAGED] = SC_SIDE_MANAGED,
        [SC_MEMORY_PINNED] = SC_SIDE_PINNED, [SC_MEMORY_REGISTERED] = SC_SIDE_PINNED,
        [SC_MEMORY_MAPPED] = SC_SIDE_DEVICE,
    };
    struct sc_allocation *allocation = sc_space_find(address);
    if (!allocation) {
        *out = SC_SIDE_PAGEABLE;
        return must_be_known || !address ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    }
    bool whole = sc_space_find_range(address, bytes) != NULL;
    if (!whole && allocation->kind != SC_MEMORY_REGISTERED) return CUDA_ERROR_INVALID_VALUE;
    *out = whole ? sides[allocation->kind] : SC_SIDE_PAGEABLE;
    *ordinal = allocation->ordinal;
    return CUDA_SUCCESS;
}

/* The real driver may read pageable memory during the call, so later writes of the program are not seen. The
 * packed copy replaces the source. */
static bool take_snapshot(struct sc_op *op)
{
    struct sc_copy_work *copy = &op->copy;
    uint64_t bytes = copy->width * copy->height * copy->depth;
    char *buffer = malloc(bytes), *at = buffer;
    if (!buffer) return false;
    for (uint64_t z = 0; z < copy->depth; z++)
        for (uint64_t y = 0; y < copy->height; y++, at += copy->width)
            memcpy(at, (char *)copy->source + z * copy->source_slice + y * copy->source_pitch, copy->width);
    sc_op_own_snapshot(op, buffer, bytes);
    copy->source_pitch = copy->width;
    copy->source_slice = copy->width * copy->height;
    return true;
}

struct sc_box sc_copy_box(const struct sc_copy_work *copy, bool destination)
{
    if (destination)
        return (struct sc_box){
            copy->destination,      copy->width, copy->height, copy->depth, copy->destination_pitch,
            copy->destination_slice};
    return (struct sc_box){copy->source, copy->width,        copy->height,
                           copy->depth,  copy->source_pitch, copy->source_slice};
}

CUresult sc_copy_find_sides(struct sc_copy_work *copy, bool to_device, bool from_device)
{
    if (!copy->width || !copy->height || !copy->depth) return CUDA_SUCCESS;
    struct sc_box to = sc_copy_box(copy, true), from = sc_copy_box(copy, false);
    uint64_t written, read;
    if (!sc_extent(&to, &written) || !sc_extent(&from, &read)) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = side_of(copy->destination, written, to_device, &copy->to, &copy->to_ordinal);
    return result ? result : side_of(copy->source, read, from_device, &copy->from, &copy->from_ordinal);
}

static bool waits_always(uint64_t address)
{
    const struct sc_allocation *allocation = sc_space_find(address);
    return allocation && allocation->sync_memops;
}

CUresult sc_copy_submit(const struct sc_copy_work *copy, struct sc_stream *stream, enum sc_copy_mode mode)
{
    struct sc_op *op = sc_op_new(SC_OP_COPY, stream->context);
    if (!op) return CUDA_ERROR_OUT_OF_MEMORY;
    op->copy = *copy;
    if (stream->branch) return sc_queue_submit(stream, op);
    bool on_device = copy->to == SC_SIDE_DEVICE && copy->from == SC_SIDE_DEVICE;
    bool from_host = copy->from == SC_SIDE_PAGEABLE || copy->from == SC_SIDE_PINNED;
    /* A copy to pageable memory is synchronous, even with the asynchronous call. */
    bool runs_on = on_device && !waits_always(copy->destination) && !waits_always(copy->source);
    bool wait = copy->to == SC_SIDE_PAGEABLE || (mode == SC_COPY_SYNC && !runs_on) ||
                (mode == SC_COPY_SOURCE_NOW && !from_host);
    if (wait) return sc_queue_submit_and_wait(stream, op);
    bool snapshot = copy->from == SC_SIDE_PAGEABLE || mode == SC_COPY_SOURCE_NOW;
    if (snapshot && !take_snapshot(op)) {
        sc_op_unref(op);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return sc_queue_submit(stream, op);
}

static CUresult submit_copy(struct sc_copy_work wanted, bool to_device, bool from_device, CUstream handle,
                            bool wait)
{
    if (!wanted.width || !wanted.height || !wanted.depth) return CUDA_SUCCESS;
    CUresult result = sc_enter(SC_NEED_CONTEXT);
    if (result) return result;
    struct sc_stream *stream = sc_stream_find(handle);
    if (!stream) return sc_leave(CUDA_ERROR_INVALID_HANDLE);
    if (wait) result = sc_capture_wait_stream(stream);
    if (!result) result = sc_copy_find_sides(&wanted, to_device, from_device);
    if (!result) result = sc_copy_submit(&wanted, stream, wait ? SC_COPY_SYNC : SC_COPY_ASYNC);
    return sc_leave(result);
}

static CUresult copy_1d(uint64_t to, uint64_t from, size_t bytes, bool to_device, bool from_device,
                        CUstream stream, bool wait)
{
    struct sc_copy_work copy = {.destination = to, .source = from, .width = bytes, .height = 1, .depth = 1};
    return submit_copy(copy, to_device, from_device, stream, wait);
}

#define SYNC_COPY(name, stream, parameters, to, from, to_device, from_device)                                \
    CUresult CUDAAPI name parameters                                                                         \
    {                                                                                                        \
        return copy_1d((uint64_t)to, (uint64_t)from, bytes, to_device, from_device, stream, true);           \
    }
#define BOTH_FORMS(name, ptds, parameters, to, from, to_device, from_device)                                 \
    SYNC_COPY(name, CU_STREAM_LEGACY, parameters, to, from, to_device, from_device)                          \
    SYNC_COPY(ptds, CU_STREAM_PER_THREAD, parameters, to, from, to_device, from_device)

BOTH_FORMS(cuMemcpy, cuMemcpy_ptds, (CUdeviceptr to, CUdeviceptr from, size_t bytes), to, from, false, false)
BOTH_FORMS(cuMemcpyHtoD_v2, cuMemcpyHtoD_v2_ptds, (CUdeviceptr to, const void *from, size_t bytes), to, from,
           true, false)
BOTH_FORMS(cuMemcpyDtoH_v2, cuMemcpyDtoH_v2_ptds, (void *to, CUdeviceptr from, size_t bytes), to, from, false,
           true)
BOTH_FORMS(cuMemcpyDtoD_v2, cuMemcpyDtoD_v2_ptds, (CUdeviceptr to, CUdeviceptr from, size_t bytes), to, from,
           true, true)

CUresult CUDAAPI cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return copy_1d(to, from, bytes, false, false, stream, false);
}

CUresult CUDAAPI cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    return copy_1d(to, (uint64_t)from, bytes, true, false, stream, false);
}

CUresult CUDAAPI cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return copy_1d((uint64_t)to, from, bytes, false, true, stream, false);
}

CUresult CUDAAPI cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return copy_1d(to, from, bytes, true, true, stream, false);
}

/* One side of a copy, as the program describes it */
struct corner {
    CUmemorytype type;
    const void *host;
    CUdeviceptr device;
    size_t x, y, z, pitch, height;
};

/* Finds the first byte of one side of a copy. `box` has the copy's size; the rest of it is set here. Arrays
 * are not implemented. */
static CUresult place(const struct corner *corner, struct sc_box *box, bool *known)
{
    bool rows = box->height > 1 || box->depth > 1 || corner->y || corner->z;
    if (corner->type == CU_MEMORYTYPE_ARRAY) return sc_refuse("cuMemcpy2D/3D", "a copy from or to an array");
    if (corner->type < CU_MEMORYTYPE_HOST || corner->type > CU_MEMORYTYPE_UNIFIED)
        return CUDA_ERROR_INVALID_VALUE;
    *known = corner->type == CU_MEMORYTYPE_DEVICE;
    box->address = corner->type == CU_MEMORYTYPE_HOST ? (uint64_t)corner->host : corner->device;
    box->pitch = corner->pitch ? corner->pitch : box->width;
    if (rows && corner->pitch > SC_PITCH_MAX) return CUDA_ERROR_INVALID_VALUE;
    if (__builtin_mul_overflow(box->pitch, corner->height ? corner->height : box->height, &box->slice))
        return CUDA_ERROR_INVALID_VALUE;
    bool ok = sc_inside(box, corner->x, corner->y, corner->z, &box->address);
    return ok ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult box_of(const CUDA_MEMCPY3D *p, struct sc_copy_work *out, bool *to_device, bool *from_device)
{
    if (!p || p->srcLOD || p->dstLOD) return CUDA_ERROR_INVALID_VALUE;
    struct sc_box from = {.width = p->WidthInBytes, .height = p->Height, .depth = p->Depth}, to = from;
    struct corner source = {p->srcMemoryType, p->srcHost, p->srcDevice, p->srcXInBytes,
                            p->srcY,          p->srcZ,    p->srcPitch,  p->srcHeight};
    struct corner destination = {p->dstMemoryType, p->dstHost, p->dstDevice, p->dstXInBytes,
                                 p->dstY,          p->dstZ,    p->dstPitch,  p->dstHeight};
    CUresult result = place(&source, &from, from_device);
    if (!result) result = place(&destination, &to, to_device);
    if (!result)
        *out = (struct sc_copy_work){.destination = to.address,
                                     .source = from.address,
                                     .width = p->WidthInBytes,
                                     .height = p->Height,
                                     .depth = p->Depth,
                                     .destination_pitch = to.pitch,
                                     .source_pitch = from.pitch,
                                     .destination_slice = to.slice,
                                     .source_slice = from.slice};
    return result;
}

static CUresult copy_3d(const CUDA_MEMCPY3D *p, CUstream stream, bool wait)
{
    struct sc_copy_work copy;
    bool to_device, from_device;
    CUresult result = box_of(p, &copy, &to_device, &from_device);
    return result ? result : submit_copy(copy, to_device, from_device, stream, wait);
}

/* A copy of one slice */
static CUresult copy_2d(const CUDA_MEMCPY2D *p, CUstream stream, bool wait)
{
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    const CUDA_MEMCPY3D slice = {
        .srcXInBytes = p->srcXInBytes,
        .srcY = p->srcY,
        .srcMemoryType = p->srcMemoryType,
        .srcHost = p->srcHost,
        .srcDevice = p->srcDevice,
        .srcPitch = p->srcPitch,
        .dstXInBytes = p->dstXInBytes,
        .dstY = p->dstY,
        .dstMemoryType = p->dstMemoryType,
        .dstHost = p->dstHost,
        .dstDevice = p->dstDevice,
        .dstPitch = p->dstPitch,
        .WidthInBytes = p->WidthInBytes,
        .Height = p->Height,
        .Depth = 1,
    };
    return copy_3d(&slice, stream, wait);
}

CUresult CUDAAPI cuMemcpy2D_v2(const CUDA_MEMCPY2D *parameters)
{
    return copy_2d(parameters, CU_STREAM_LEGACY, true);
}

CUresult CUDAAPI cuMemcpy2D_v2_ptds(const CUDA_MEMCPY2D *parameters)
{
    return copy_2d(parameters, CU_STREAM_PER_THREAD, true);
}

CUresult CUDAAPI cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *parameters)
{
    return copy_2d(parameters, CU_STREAM_LEGACY, true);
}

CUresult CUDAAPI cuMemcpy2DUnaligned_v2_ptds(const CUDA_MEMCPY2D *parameters)
{
    return copy_2d(parameters, CU_STREAM_PER_THREAD, true);
}

CUresult CUDAAPI cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *parameters, CUstream stream)
{
    return copy_2d(parameters, stream, false);
}

CUresult sc_copy_describe(const CUDA_MEMCPY3D *p, struct sc_copy_work *out)
{
    struct sc_copy_work copy;
    bool to_device, from_device;
    CUresult result = box_of(p, &copy, &to_device, &from_device);
    if (!result && (!copy.width || !copy.height || !copy.depth)) result = CUDA_ERROR_INVALID_VALUE;
    if (!result) result = sc_copy_find_sides(&copy, to_device, from_device);
    if (!result) *out = copy;
    return result;
}

static CUmemorytype type_of(enum sc_side side)
{
    if (side == SC_SIDE_MANAGED) return CU_MEMORYTYPE_UNIFIED;
    return side == SC_SIDE_DEVICE ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
}

void sc_copy_parameters(const struct sc_copy_work *copy, CUDA_MEMCPY3D *out)
{
    *out = (CUDA_MEMCPY3D){
        .srcMemoryType = type_of(copy->from),
        .srcHost = (void *)copy->source,
        .srcDevice = copy->source,
        .srcPitch = copy->source_pitch,
        .srcHeight = copy->source_pitch ? copy->source_slice / copy->source_pitch : 0,
        .dstMemoryType = type_of(copy->to),
        .dstHost = (void *)copy->destination,
        .dstDevice = copy->destination,
        .dstPitch = copy->destination_pitch,
        .dstHeight = copy->destination_pitch ? copy->destination_slice / copy->destination_pitch : 0,
        .WidthInBytes = copy->width,
        .Height = copy->height,
        .Depth = copy->depth,
    };
}

CUresult CUDAAPI cuMemcpy3D_v2(const CUDA_MEMCPY3D *parameters)
{
    return copy_3d(parameters, CU_STREAM_LEGACY, true);
}

CUresult CUDAAPI cuMemcpy3D_v2_ptds(const CUDA_MEMCPY3D *parameters)
{
    return copy_3d(parameters, CU_STREAM_PER_THREAD, true);
}

CUresult CUDAAPI cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *parameters, CUstream stream)
{
    return copy_3d(parameters, stream, false);
}
