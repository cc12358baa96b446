/* Several copies in one call. The API allows any order; here they run in the order of the list. All are
 * checked before the first is submitted. */
#include <stdlib.h>

#include "copy.h"
#include "work.h"

struct item {
    struct sc_copy_work work;
    enum sc_copy_mode mode;
};

static bool mode_of(CUmemcpySrcAccessOrder order, unsigned flags, enum sc_copy_mode *out)
{
    if (flags & ~CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE) return false;
    *out = order == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL ? SC_COPY_SOURCE_NOW : SC_COPY_ASYNC;
    return order >= CU_MEMCPY_SRC_ACCESS_ORDER_STREAM && order <= CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
}

/* Takes over `items`. *failed is the index of the item that caused the error, if one did. */
static CUresult submit(struct item *items, size_t count, CUstream handle, size_t *failed)
{
    CUresult result = sc_enter(SC_NEED_CONTEXT);
    if (result) {
        free(items);
        return result;
    }
    struct sc_stream *stream = sc_stream_find(handle);
    if (!stream) result = CUDA_ERROR_INVALID_HANDLE;
    for (size_t i = 0; i < count && !result; i++) {
        result = sc_copy_find_sides(&items[i].work, false, false);
        if (result && failed) *failed = i;
    }
    for (size_t i = 0; i < count && !result; i++) {
        if (!sc_handle_is(stream, SC_HANDLE_STREAM))
            result = CUDA_ERROR_INVALID_HANDLE; /* another thread has destroyed it */
        else if (items[i].work.width)
            result = sc_copy_submit(&items[i].work, stream, items[i].mode);
    }
    free(items);
    return sc_leave(result);
}

static bool is_legacy(CUstream handle)
{
    return !handle || handle == CU_STREAM_LEGACY;
}

static CUresult batch(CUdeviceptr *to, CUdeviceptr *from, size_t *bytes, size_t count,
                      CUmemcpyAttributes *attributes, size_t *indices, size_t attribute_count, size_t *failed,
                      CUstream stream)
{
    if (failed) *failed = SIZE_MAX;
    if (!to || !from || !bytes || !count || !attributes || !indices || is_legacy(stream))
        return CUDA_ERROR_INVALID_VALUE;
    if (!attribute_count || attribute_count > count || indices[0]) return CUDA_ERROR_INVALID_VALUE;
    struct item *items = calloc(count, sizeof *items);
    if (!items) return CUDA_ERROR_OUT_OF_MEMORY;
    bool ok = true;
    size_t at = 0;
    for (size_t i = 0; i < count && ok; i++) {
        if (at + 1 < attribute_count && indices[at + 1] <= i) at++;
        ok = (at + 1 >= attribute_count || indices[at + 1] > i) &&
             mode_of(attributes[at].srcAccessOrder, attributes[at].flags, &items[i].mode);
        items[i].work = (struct sc_copy_work){
            .destination = to[i], .source = from[i], .width = bytes[i], .height = 1, .depth = 1};
        if (!ok && failed) *failed = i;
    }
    if (ok && at + 1 == attribute_count) return submit(items, count, stream, failed);
    free(items);
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuMemcpyBatchAsync_v2(CUdeviceptr *to, CUdeviceptr *from, size_t *bytes, size_t count,
                                       CUmemcpyAttributes *attributes, size_t *indices,
                                       size_t attribute_count, CUstream stream)
{
    return batch(to, from, bytes, count, attributes, indices, attribute_count, NULL, stream);
}

CUresult CUDAAPI cuMemcpyBatchAsync(CUdeviceptr *to, CUdeviceptr *from, size_t *bytes, size_t count,
                                    CUmemcpyAttributes *attributes, size_t *indices, size_t attribute_count,
                                    size_t *failed, CUstream stream)
{
    return batch(to, from, bytes, count, attributes, indices, attribute_count, failed, stream);
}

/* One side of a three-dimensional copy: its address, and the pitch of its rows and slices. */
static CUresult end_of(const CUmemcpy3DOperand *operand, const CUextent3D *extent, uint64_t *address,
                       uint64_t *pitch, uint64_t *slice)
{
    if (operand->type == CU_MEMCPY_OPERAND_TYPE_ARRAY)
        return sc_refuse("cuMemcpy3DBatchAsync", "a copy from or to an array");
    if (operand->type != CU_MEMCPY_OPERAND_TYPE_POINTER) return CUDA_ERROR_INVALID_VALUE;
    size_t row = operand->op.ptr.rowLength, height = operand->op.ptr.layerHeight;
    if ((row && row < extent->width) || (height && height < extent->height)) return CUDA_ERROR_INVALID_VALUE;
    *address = operand->op.ptr.ptr;
    *pitch = row ? row : extent->width;
    bool ok =
        *pitch <= SC_PITCH_MAX && !__builtin_mul_overflow(*pitch, height ? height : extent->height, slice);
    return ok ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult batch_3d(const CUDA_MEMCPY3D_BATCH_OP *list, size_t count, unsigned long long flags,
                         size_t *failed, CUstream stream)
{
    if (failed) *failed = SIZE_MAX;
    if (!list || !count || flags || is_legacy(stream)) return CUDA_ERROR_INVALID_VALUE;
    struct item *items = calloc(count, sizeof *items);
    if (!items) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = CUDA_SUCCESS;
    for (size_t i = 0; i < count && !result; i++) {
        const CUextent3D *extent = &list[i].extent;
        struct sc_copy_work *work = &items[i].work;
        *work =
            (struct sc_copy_work){.width = extent->width, .height = extent->height, .depth = extent->depth};
        bool ok = extent->width && extent->height && extent->depth &&
                  mode_of(list[i].srcAccessOrder, list[i].flags, &items[i].mode);
        if (!ok) result = CUDA_ERROR_INVALID_VALUE;
        if (!result)
            result = end_of(&list[i].src, extent, &work->source, &work->source_pitch, &work->source_slice);
        if (!result)
            result = end_of(&list[i].dst, extent, &work->destination, &work->destination_pitch,
                            &work->destination_slice);
        if (result && failed) *failed = i;
    }
    if (!result) return submit(items, count, stream, failed);
    free(items);
    return result;
}

CUresult CUDAAPI cuMemcpy3DBatchAsync_v2(size_t count, CUDA_MEMCPY3D_BATCH_OP *list, unsigned long long flags,
                                         CUstream stream)
{
    return batch_3d(list, count, flags, NULL, stream);
}

CUresult CUDAAPI cuMemcpy3DBatchAsync(size_t count, CUDA_MEMCPY3D_BATCH_OP *list, size_t *failed,
                                      unsigned long long flags, CUstream stream)
{
    return batch_3d(list, count, flags, failed, stream);
}
