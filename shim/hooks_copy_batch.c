/* Batches of copies: one launch that names all ranges of ours. */
#include <stdlib.h>

#include "copy_direction.h"
#include "driver.h"
#include "work.h"

#define FEW 32

struct batch {
    struct sl_work work;
    struct sl_span few[FEW], *spans;
    size_t count, capacity;
    bool traced, mixed;               /* mixed: its copies have different directions */
    enum sl_copy_direction direction; /* direction of all copies, for the trace */
    uint64_t copied_bytes;
};

/* Opens a batch of `copies` copies. If there is no memory for all ranges that it may name, ranges beyond the
 * capacity are used remotely. */
static void open_batch(struct batch *batch, size_t copies)
{
    batch->spans = copies <= FEW / 2 ? batch->few : malloc(copies * 2 * sizeof *batch->spans);
    batch->capacity = copies <= FEW / 2 || !batch->spans ? FEW : copies * 2;
    if (!batch->spans) batch->spans = batch->few;
    batch->count = 0;
    batch->work.waits = false;
    batch->traced = sl_runtime_tracing();
    batch->mixed = false;
    batch->direction = SL_COPY_UNKNOWN;
    batch->copied_bytes = 0;
}

/* Records the direction of a copy. Once directions differ, the driver is not asked any more. */
static void note_way(struct batch *batch, bool first, enum sl_side to, enum sl_side from)
{
    enum sl_copy_direction direction = sl_link_direction(to, from);
    batch->mixed |= !first && direction != batch->direction;
    batch->direction = batch->mixed ? SL_COPY_UNKNOWN : direction;
}

/* False: the range reaches beyond an allocation. */
static bool add(struct batch *batch, uint64_t address, uint64_t bytes, bool write)
{
    if (!sl_work_inside(&batch->work, address, bytes)) return false;
    if (bytes && sl_runtime_owns(address) && batch->count < batch->capacity)
        batch->spans[batch->count++] = (struct sl_span){address, bytes, write};
    return true;
}

static void begin_batch(struct batch *batch, sl_stream stream)
{
    batch->work.seen = sl_session_on_stream(stream);
    if (batch->work.seen) {
        uint32_t count = (uint32_t)batch->count, first = count < 2 ? count : 2;
        batch->work.launch = (struct sl_launch){.kind = SL_LAUNCH_COPY,
                                                .stream = stream,
                                                .direction = batch->direction,
                                                .copied_bytes = batch->copied_bytes,
                                                .span_count = first,
                                                .more_spans = batch->spans + first,
                                                .more_span_count = count - first};
        for (uint32_t i = 0; i < first; i++) batch->work.launch.spans[i] = batch->spans[i];
        sl_runtime_launch_begin(&batch->work.launch);
    }
    if (batch->spans != batch->few) free(batch->spans);
}

/* False: nothing has begun, because copy *failed reaches beyond an allocation. */
static bool begin_copies(struct batch *batch, sl_stream stream, const CUdeviceptr *to,
                         const CUdeviceptr *from, const size_t *bytes, size_t count, size_t *failed)
{
    if (!to || !from || !bytes || !sl_runtime_running())
        count = 0; /* nothing is ours, or there is nothing to
                      read */
    open_batch(batch, count);
    for (size_t i = 0; i < count; i++) {
        batch->copied_bytes += bytes[i];
        if (batch->traced && !batch->mixed) note_way(batch, i == 0, sl_side_of(to[i]), sl_side_of(from[i]));
        if (add(batch, to[i], bytes[i], true) && add(batch, from[i], bytes[i], false)) continue;
        if (batch->spans != batch->few) free(batch->spans);
        if (failed) *failed = i;
        return false;
    }
    begin_batch(batch, stream);
    return true;
}

CUresult sl_hook_cuMemcpyBatchAsync(struct sl_call call, sl_fn_cuMemcpyBatchAsync *real, CUdeviceptr *to,
                                    CUdeviceptr *from, size_t *bytes, size_t count, void *attributes,
                                    size_t *attribute_starts, size_t attribute_count, size_t *fail_index,
                                    CUstream stream)
{
    struct batch batch;
    if (!begin_copies(&batch, sl_work_stream(call, stream), to, from, bytes, count, fail_index))
        return sl_work_refused();
    return sl_work_end(&batch.work, real(to, from, bytes, count, attributes, attribute_starts,
                                         attribute_count, fail_index, stream));
}

CUresult sl_hook_cuMemcpyBatchAsync_v2(struct sl_call call, sl_fn_cuMemcpyBatchAsync_v2 *real,
                                       CUdeviceptr *to, CUdeviceptr *from, size_t *bytes, size_t count,
                                       void *attributes, size_t *attribute_starts, size_t attribute_count,
                                       CUstream stream)
{
    struct batch batch;
    if (!begin_copies(&batch, sl_work_stream(call, stream), to, from, bytes, count, NULL))
        return sl_work_refused();
    return sl_work_end(&batch.work,
                       real(to, from, bytes, count, attributes, attribute_starts, attribute_count, stream));
}

#if CUDA_VERSION >= 12080
static bool add_operand(struct batch *batch, const CUmemcpy3DOperand *operand, const CUextent3D *extent,
                        bool write)
{
    if (operand->type != CU_MEMCPY_OPERAND_TYPE_POINTER) return true;
    uint64_t pitch = operand->op.ptr.rowLength ? operand->op.ptr.rowLength : extent->width;
    uint64_t rows = operand->op.ptr.layerHeight ? operand->op.ptr.layerHeight : extent->height;
    return add(batch, operand->op.ptr.ptr,
               sl_work_rows(extent->width, extent->height, extent->depth, pitch, pitch * rows), write);
}

static enum sl_side operand_side(const CUmemcpy3DOperand *operand)
{
    return operand->type == CU_MEMCPY_OPERAND_TYPE_POINTER ? sl_side_of(operand->op.ptr.ptr) : SL_SIDE_DEVICE;
}

static bool begin_boxes(struct batch *batch, sl_stream stream, const void *copies, size_t count,
                        size_t *failed)
{
    const CUDA_MEMCPY3D_BATCH_OP *list = copies;
    if (!list || !sl_runtime_running()) count = 0; /* nothing is ours, or there is nothing to read */
    open_batch(batch, count);
    for (size_t i = 0; i < count; i++) {
        batch->copied_bytes += list[i].extent.width * list[i].extent.height * list[i].extent.depth;
        if (batch->traced && !batch->mixed)
            note_way(batch, i == 0, operand_side(&list[i].dst), operand_side(&list[i].src));
        if (add_operand(batch, &list[i].dst, &list[i].extent, true) &&
            add_operand(batch, &list[i].src, &list[i].extent, false))
            continue;
        if (batch->spans != batch->few) free(batch->spans);
        if (failed) *failed = i;
        return false;
    }
    begin_batch(batch, stream);
    return true;
}
#else
/* For headers without these copies: memory is used remotely. */
static bool begin_boxes(struct batch *batch, sl_stream stream, const void *copies, size_t count,
                        size_t *failed)
{
    (void)copies, (void)count, (void)failed;
    open_batch(batch, 0);
    begin_batch(batch, stream);
    return true;
}
#endif

CUresult sl_hook_cuMemcpy3DBatchAsync(struct sl_call call, sl_fn_cuMemcpy3DBatchAsync *real, size_t count,
                                      void *copies, size_t *fail_index, unsigned long long flags,
                                      CUstream stream)
{
    struct batch batch;
    if (!begin_boxes(&batch, sl_work_stream(call, stream), copies, count, fail_index))
        return sl_work_refused();
    return sl_work_end(&batch.work, real(count, copies, fail_index, flags, stream));
}

CUresult sl_hook_cuMemcpy3DBatchAsync_v2(struct sl_call call, sl_fn_cuMemcpy3DBatchAsync_v2 *real,
                                         size_t count, void *copies, unsigned long long flags,
                                         CUstream stream)
{
    struct batch batch;
    if (!begin_boxes(&batch, sl_work_stream(call, stream), copies, count, NULL)) return sl_work_refused();
    return sl_work_end(&batch.work, real(count, copies, flags, stream));
}
