/* A copy or a set that reaches beyond its allocation is refused, with sluice as without, and touches nothing,
 * though under sluice the neighbour lies behind it in the same chunk. */
#include "device.h"

#include <string.h>

#define BYTES 2048
#define ROW 256
#define refused(call) assert_int_equal(call, CUDA_ERROR_INVALID_VALUE)

static CUdeviceptr low, middle, high;
static CUstream stream;
static unsigned char host[4 * BYTES];

static int set_up(void **state)
{
    if (use_device(state) || cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING)) return -1;
    CUdeviceptr *all[] = {&low, &middle, &high};
    for (int i = 0; i < 3; i++)
        if (cuMemAlloc(all[i], BYTES) || cuMemsetD8(*all[i], (unsigned char)(i + 1), BYTES)) return -1;
    return cuCtxSynchronize() == CUDA_SUCCESS ? 0 : -1;
}

/* Each still holds what it was filled with. */
static int unchanged(void **state)
{
    CUdeviceptr all[] = {low, middle, high};
    (void)state;
    if (cuCtxSynchronize()) return -1;
    for (int i = 0; i < 3; i++) {
        if (cuMemcpyDtoH(host, all[i], BYTES)) return -1;
        for (int k = 0; k < BYTES; k++)
            if (host[k] != i + 1) return -1;
    }
    return 0;
}

static void straight(void **state)
{
    CUdeviceptr in_host = (CUdeviceptr)(uintptr_t)host;
    CUcontext context;
    (void)state;
    ok(cuCtxGetCurrent(&context));
    refused(cuMemcpyHtoD(middle + 1, host, BYTES));
    refused(cuMemcpyHtoDAsync(middle + 1, host, BYTES, stream));
    refused(cuMemcpyDtoH(host, middle + 1, BYTES));
    refused(cuMemcpyDtoHAsync(host, middle + 1, BYTES, stream));
    refused(cuMemcpyDtoD(middle, low, BYTES + 1));
    refused(cuMemcpyDtoDAsync(middle, low + 1, BYTES, stream));
    refused(cuMemcpy(middle, in_host, BYTES + 1));
    refused(cuMemcpyAsync(in_host, middle, BYTES + 1, stream));
    refused(cuMemcpyPeer(middle, context, low, context, BYTES + 1));
    refused(cuMemcpyPeerAsync(middle, context, low + 1, context, BYTES, stream));
    refused(cuMemcpyHtoD(middle, host, SIZE_MAX));
    ok(cuMemcpyDtoD(middle + 1, middle + 1, BYTES - 1));
    ok(cuMemcpyHtoD(middle + BYTES, host, 0));
}

static void sets(void **state)
{
    (void)state;
    refused(cuMemsetD8(middle, 9, BYTES + 1));
    refused(cuMemsetD8Async(middle + 1, 9, BYTES, stream));
    refused(cuMemsetD16(middle, 9, BYTES / 2 + 1));
    refused(cuMemsetD16Async(middle + 2, 9, BYTES / 2, stream));
    refused(cuMemsetD32(middle, 9, BYTES / 4 + 1));
    refused(cuMemsetD32Async(middle + 4, 9, BYTES / 4, stream));
    refused(cuMemsetD2D8(middle, ROW, 9, 100, BYTES / ROW + 1));
    refused(cuMemsetD2D8Async(middle + ROW, ROW, 9, 100, BYTES / ROW, stream));
    refused(cuMemsetD2D32(middle + ROW - 4, ROW, 9, 2, BYTES / ROW));
    ok(cuMemsetD8(middle + BYTES - 5, 2, 5));
    ok(cuMemsetD2D8(middle + ROW - 4, ROW, 2, 4, BYTES / ROW));
}

static CUDA_MEMCPY2D rows(CUdeviceptr to, CUdeviceptr from, size_t width, size_t height)
{
    return (CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                           .srcDevice = from,
                           .srcPitch = ROW,
                           .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                           .dstDevice = to,
                           .dstPitch = ROW,
                           .WidthInBytes = width,
                           .Height = height};
}

static void of_rows(void **state)
{
    (void)state;
    CUDA_MEMCPY2D copy = rows(middle, low, 100, BYTES / ROW + 1);
    refused(cuMemcpy2D(&copy));
    refused(cuMemcpy2DUnaligned(&copy));
    refused(cuMemcpy2DAsync(&copy, stream));
    copy = rows(middle, middle, 100, BYTES / ROW);
    copy.srcXInBytes = ROW - 99;
    refused(cuMemcpy2D(&copy));
    copy.srcXInBytes = copy.dstXInBytes = ROW - 100;
    ok(cuMemcpy2D(&copy));
    copy.dstY = 1;
    refused(cuMemcpy2DAsync(&copy, stream));
}

static void of_slices(void **state)
{
    (void)state;
    CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = low,
                          .srcPitch = ROW,
                          .srcHeight = 4,
                          .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                          .dstDevice = middle,
                          .dstPitch = ROW,
                          .dstHeight = 4,
                          .WidthInBytes = 10,
                          .Height = 2,
                          .Depth = 3};
    refused(cuMemcpy3D(&copy));
    refused(cuMemcpy3DAsync(&copy, stream));
    copy.Depth = 2;
    copy.srcZ = 1;
    refused(cuMemcpy3D(&copy));
    copy.srcZ = 0;
    copy.srcDevice = middle;
    ok(cuMemcpy3D(&copy));
}

#if CUDA_VERSION >= 13000
static void in_batches(void **state)
{
    enum { COUNT = 40 };
    CUdeviceptr to[COUNT], from[COUNT];
    size_t bytes[COUNT], start = 0;
    CUmemcpyAttributes how = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
    (void)state;
    for (int i = 0; i < COUNT; i++) {
        to[i] = from[i] = middle + (unsigned)i;
        bytes[i] = 8;
    }
    ok(cuMemcpyBatchAsync(to, from, bytes, COUNT, &how, &start, 1, stream));
    bytes[33] = BYTES;
    refused(cuMemcpyBatchAsync(to, from, bytes, COUNT, &how, &start, 1, stream));
    CUextent3D extent = {8, 2, 2};
    CUmemcpy3DOperand side = {.type = CU_MEMCPY_OPERAND_TYPE_POINTER, .op.ptr = {middle, ROW, 4, {0}}};
    CUDA_MEMCPY3D_BATCH_OP boxes[2];
    for (int i = 0; i < 2; i++)
        boxes[i] = (CUDA_MEMCPY3D_BATCH_OP){
            .src = side, .dst = side, .extent = extent, .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
    ok(cuMemcpy3DBatchAsync(2, boxes, 0, stream));
    boxes[1].extent.depth = 3;
    refused(cuMemcpy3DBatchAsync(2, boxes, 0, stream));
}
#endif

static void while_captured(void **state)
{
    CUgraph graph;
    (void)state;
    ok(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    refused(cuMemcpyDtoDAsync(middle, low, BYTES + 1, stream));
    ok(cuStreamEndCapture(stream, &graph));
    ok(cuGraphDestroy(graph));
}

static void in_nodes_made_by_hand(void **state)
{
    CUgraph graph;
    CUgraphExec executable;
    CUgraphNode copy_node, set_node, none = NULL;
    CUcontext context;
    CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = middle,
                          .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                          .dstDevice = middle,
                          .WidthInBytes = BYTES,
                          .Height = 1,
                          .Depth = 1};
    CUDA_MEMSET_NODE_PARAMS set = {.dst = middle, .elementSize = 1, .value = 2, .width = BYTES, .height = 1};
    (void)state;
    ok(cuCtxGetCurrent(&context));
    ok(cuGraphCreate(&graph, 0));
    ok(cuGraphAddMemcpyNode(&copy_node, graph, NULL, 0, &copy, context));
    ok(cuGraphAddMemsetNode(&set_node, graph, &copy_node, 1, &set, context));
    ok(cuGraphInstantiate(&executable, graph, 0));
    copy.dstDevice = low;
    copy.WidthInBytes = set.width = BYTES + 1;
    refused(cuGraphAddMemcpyNode(&none, graph, NULL, 0, &copy, context));
    refused(cuGraphAddMemsetNode(&none, graph, NULL, 0, &set, context));
    refused(cuGraphMemcpyNodeSetParams(copy_node, &copy));
    refused(cuGraphMemsetNodeSetParams(set_node, &set));
    refused(cuGraphExecMemcpyNodeSetParams(executable, copy_node, &copy, context));
    refused(cuGraphExecMemsetNodeSetParams(executable, set_node, &set, context));
    CUgraphNodeParams any = {.type = CU_GRAPH_NODE_TYPE_MEMCPY};
    any.memcpy.copyCtx = context;
    any.memcpy.copyParams = copy;
    refused(cuGraphExecNodeSetParams(executable, copy_node, &any));
    any = (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_MEMSET};
    any.memset.dst = set.dst;
    any.memset.elementSize = any.memset.height = 1;
    any.memset.width = set.width;
    any.memset.ctx = context;
    refused(cuGraphExecNodeSetParams(executable, set_node, &any));
    ok(cuGraphLaunch(executable, stream));
    ok(cuGraphExecDestroy(executable));
    ok(cuGraphDestroy(graph));
}

static void freed_memory(void **state)
{
    CUdeviceptr gone;
    (void)state;
    ok(cuMemAlloc(&gone, BYTES));
    ok(cuMemFree(gone));
    refused(cuMemcpyHtoD(gone, host, 16));
    refused(cuMemsetD8(gone, 1, 16));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(straight, unchanged),
        cmocka_unit_test_teardown(sets, unchanged),
        cmocka_unit_test_teardown(of_rows, unchanged),
        cmocka_unit_test_teardown(of_slices, unchanged),
#if CUDA_VERSION >= 13000
        cmocka_unit_test_teardown(in_batches, unchanged),
#endif
        cmocka_unit_test_teardown(while_captured, unchanged),
        cmocka_unit_test_teardown(in_nodes_made_by_hand, unchanged),
        cmocka_unit_test_teardown(freed_memory, unchanged),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
