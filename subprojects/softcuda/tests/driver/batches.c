/* Copies in batches and between contexts, attributes of streams, and what there is of peers on a machine with
 * one device. */
#include "check.h"

#define COUNT 64
#define BYTES 4096

static CUstream stream;

/* Some copies in, some between device memories, some out; a source on the stack may change after the call. */
static void batch(void)
{
    static unsigned char in[COUNT][BYTES], out[COUNT][BYTES];
    CUdeviceptr first, second, to[COUNT], from[COUNT];
    size_t sizes[COUNT], indices[] = {0, COUNT / 2};
    CUmemcpyAttributes attributes[2];
    memset(attributes, 0, sizeof attributes);
    attributes[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    attributes[1].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
    OK(cuMemAlloc(&first, sizeof in));
    OK(cuMemAlloc(&second, sizeof in));
    for (int i = 0; i < COUNT; i++) {
        memset(in[i], i + 1, BYTES);
        to[i] = first + (size_t)i * BYTES;
        from[i] = (CUdeviceptr)in[i];
        sizes[i] = i % 3 ? BYTES : BYTES / 2;
    }
    OK(cuMemsetD8(first, 0, sizeof in));
    OK(cuCtxSynchronize());
    OK(cuMemcpyBatchAsync(to, from, sizes, COUNT, attributes, indices, 2, stream));
    memset(in[COUNT / 2], 0xff, sizeof in / 2); /* the second half was read during the call */
    for (int i = 0; i < COUNT; i++) {
        from[i] = to[i];
        to[i] = second + (size_t)(COUNT - 1 - i) * BYTES;
        sizes[i] = BYTES;
    }
    OK(cuMemcpyBatchAsync(to, from, sizes, COUNT, attributes, indices, 1, stream));
    OK(cuMemcpyDtoHAsync(out, second, sizeof out, stream));
    OK(cuStreamSynchronize(stream));
    for (int i = 0; i < COUNT; i++) {
        const unsigned char *row = out[COUNT - 1 - i];
        CHECK(row[0] == i + 1 && row[BYTES / 2 - 1] == i + 1);
        CHECK(row[BYTES - 1] == (i % 3 ? i + 1 : 0));
    }
    size_t wrong[] = {0, COUNT};
    FAILS(cuMemcpyBatchAsync(to, from, sizes, COUNT, attributes, wrong, 2, stream), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemcpyBatchAsync(to, from, sizes, COUNT, attributes, indices, 1, NULL), CUDA_ERROR_INVALID_VALUE);
    attributes[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_INVALID;
    FAILS(cuMemcpyBatchAsync(to, from, sizes, COUNT, attributes, indices, 1, stream),
          CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree(first));
    OK(cuMemFree(second));
}

/* A box out of a larger one, back to back. */
static void batch_3d(void)
{
    enum { WIDTH = 20, HEIGHT = 6, DEPTH = 4, ROW = 32, LAYER = 8 };
    unsigned char in[DEPTH * LAYER * ROW], out[DEPTH * HEIGHT * WIDTH];
    CUdeviceptr device;
    CUDA_MEMCPY3D_BATCH_OP list[1];
    for (size_t i = 0; i < sizeof in; i++) in[i] = (unsigned char)(i * 7);
    OK(cuMemAlloc(&device, sizeof in));
    OK(cuMemcpyHtoD(device, in, sizeof in));
    memset(list, 0, sizeof list);
    list[0].src.type = list[0].dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
    list[0].src.op.ptr.ptr = device;
    list[0].src.op.ptr.rowLength = ROW;
    list[0].src.op.ptr.layerHeight = LAYER;
    list[0].dst.op.ptr.ptr = (CUdeviceptr)out;
    list[0].extent = (CUextent3D){WIDTH, HEIGHT, DEPTH};
    list[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    OK(cuCtxSynchronize());
    OK(cuMemcpy3DBatchAsync(1, list, 0, stream));
    OK(cuStreamSynchronize(stream));
    for (size_t z = 0; z < DEPTH; z++)
        for (size_t y = 0; y < HEIGHT; y++)
            CHECK(!memcmp(out + (z * HEIGHT + y) * WIDTH, in + (z * LAYER + y) * ROW, WIDTH));
    list[0].extent.depth = 0;
    FAILS(cuMemcpy3DBatchAsync(1, list, 0, stream), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree(device));
}

static void between_contexts(CUdevice device)
{
    CUcontext here, there;
    CUdeviceptr source, target;
    unsigned value = 0;
    OK(cuCtxGetCurrent(&here));
    OK(cuMemAlloc(&target, BYTES));
    OK(cuCtxCreate(&there, NULL, 0, device));
    OK(cuMemAlloc(&source, BYTES));
    OK(cuMemsetD32(source, 42, BYTES / 4));
    OK(cuCtxSynchronize());
    OK(cuCtxSetCurrent(here));
    OK(cuMemcpyPeerAsync(target, here, source, there, BYTES, stream));
    OK(cuMemcpyDtoHAsync(&value, target + BYTES - 4, 4, stream));
    OK(cuStreamSynchronize(stream));
    CHECK(value == 42);
    CUDA_MEMCPY3D_PEER box;
    memset(&box, 0, sizeof box);
    box.srcMemoryType = box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    box.srcDevice = target;
    box.srcContext = here;
    box.dstDevice = source;
    box.dstContext = there;
    box.dstXInBytes = 8;
    box.WidthInBytes = 8;
    box.Height = box.Depth = 1;
    OK(cuMemsetD32(target, 43, BYTES / 4));
    OK(cuMemcpy3DPeer(&box));
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH(&value, source + 8, 4));
    CHECK(value == 43);
    OK(cuMemcpyDtoH(&value, source + 16, 4));
    CHECK(value == 42);
    FAILS(cuCtxEnablePeerAccess(here, 0), CUDA_ERROR_INVALID_CONTEXT);
    CHECK(cuCtxEnablePeerAccess(there, 0) != CUDA_SUCCESS);
    int attribute;
    FAILS(cuDeviceGetP2PAttribute(&attribute, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, device, device),
          CUDA_ERROR_INVALID_DEVICE);
    OK(cuMemFree(target));
    OK(cuCtxDestroy(there));
}

static void attributes(void)
{
    CUstream other;
    CUstreamAttrValue value;
    int least, greatest, priority;
    OK(cuCtxGetStreamPriorityRange(&least, &greatest));
    OK(cuStreamCreateWithPriority(&other, CU_STREAM_NON_BLOCKING, greatest - 100));
    OK(cuStreamGetPriority(other, &priority));
    CHECK(priority == greatest); /* the nearest that there is */
    memset(&value, 0, sizeof value);
    OK(cuStreamGetAttribute(other, CU_STREAM_ATTRIBUTE_PRIORITY, &value));
    CHECK(value.priority == greatest);
    value.syncPolicy = CU_SYNC_POLICY_BLOCKING_SYNC;
    OK(cuStreamSetAttribute(stream, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value));
    OK(cuStreamCopyAttributes(other, stream));
    memset(&value, 0, sizeof value);
    OK(cuStreamGetAttribute(other, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value));
    CHECK(value.syncPolicy == CU_SYNC_POLICY_BLOCKING_SYNC);
    OK(cuStreamDestroy(other));
}

int main(void)
{
    CUdevice device = start();
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    batch();
    batch_3d();
    between_contexts(device);
    attributes();
    OK(cuStreamDestroy(stream));
    finish(device);
    return 0;
}
