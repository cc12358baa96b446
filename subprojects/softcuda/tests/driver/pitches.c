/* Copies and memsets of two and three dimensions whose pitches, sizes or offsets do not fit into the address
 * space, or let rows overlap: CUDA_ERROR_INVALID_VALUE, and nothing is written. */
#include <stdint.h>

#include "check.h"

#define BYTES ((size_t)1 << 20)
#define HUGE_62 ((size_t)1 << 62)
#define HUGE_63 ((size_t)1 << 63)
#define REFUSED(call) FAILS(call, CUDA_ERROR_INVALID_VALUE)

static CUdeviceptr memory;
static char host[BYTES];
static CUstream stream;

static void untouched(void)
{
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH(host, memory, BYTES));
    for (size_t i = 0; i < BYTES; i++) CHECK(host[i] == 7);
}

static const struct {
    size_t pitch, width, height; /* in bytes */
} rectangles[] = {
    {HUGE_62, 4, 5},       /* the rows' distances add up to 2^64 */
    {HUGE_63, 4, 3},       /* the same */
    {(size_t)-4, 4, 2},    /* the last row lies before the first */
    {(size_t)-4, 8, 3},    /* the last row ends where the first begins */
    {1024, 4, HUGE_62},    /* too many rows */
    {1024, 4, (size_t)-1}, /* the same */
    {HUGE_62, HUGE_62, 4}, /* too wide */
    {0, (size_t)-4, 1},    /* one row too wide */
    {1024, 2048, 4},       /* rows overlap */
    {BYTES / 4 + 4, 4, 5}, /* just past the end of the memory */
    {BYTES / 4, 8, BYTES}, /* far past it */
};
#define RECTANGLES (sizeof rectangles / sizeof *rectangles)

#define MEMSETS(bits)                                                                                        \
    static void sets_##bits(void)                                                                            \
    {                                                                                                        \
        for (size_t i = 0; i < RECTANGLES; i++) {                                                            \
            size_t pitch = rectangles[i].pitch, width = rectangles[i].width / (bits / 8);                    \
            size_t height = rectangles[i].height;                                                            \
            REFUSED(cuMemsetD2D##bits(memory, pitch, 1, width, height));                                     \
            REFUSED(cuMemsetD2D##bits##Async(memory, pitch, 1, width, height, stream));                      \
        }                                                                                                    \
        REFUSED(cuMemsetD##bits(memory, 1, (size_t)-1));                                                     \
        REFUSED(cuMemsetD##bits##Async(memory, 1, (size_t)-1, stream));                                      \
        if (bits > 8) REFUSED(cuMemsetD##bits(memory, 1, SIZE_MAX / (bits / 8) + 2));                        \
        if (bits > 8) REFUSED(cuMemsetD2D##bits(memory, 1024, 1, SIZE_MAX / (bits / 8) + 2, 1));             \
        if (bits > 8) REFUSED(cuMemsetD2D##bits(memory, 1025, 1, 4, 2));                                     \
    }
MEMSETS(8)
MEMSETS(16)
MEMSETS(32)

static void copies_2d(CUDA_MEMCPY2D copy)
{
    REFUSED(cuMemcpy2D(&copy));
    REFUSED(cuMemcpy2DUnaligned(&copy));
    REFUSED(cuMemcpy2DAsync(&copy, stream));
}

static void two_dimensions(void)
{
    const CUDA_MEMCPY2D sound = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                 .srcDevice = memory,
                                 .srcPitch = 1024,
                                 .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                 .dstDevice = memory + BYTES / 2,
                                 .dstPitch = 1024,
                                 .WidthInBytes = 4,
                                 .Height = 5};
    OK(cuMemcpy2D(&sound));
    for (size_t i = 0; i < RECTANGLES; i++) {
        for (int side = 0; side < 3; side++) {
            CUDA_MEMCPY2D copy = sound;
            copy.WidthInBytes = rectangles[i].width;
            copy.Height = rectangles[i].height;
            if (side != 0) copy.srcPitch = rectangles[i].pitch;
            if (side != 1) copy.dstPitch = rectangles[i].pitch;
            if (i == RECTANGLES - 2) copy.dstDevice = memory, copy.dstPitch = rectangles[i].pitch;
            copies_2d(copy);
        }
    }
    CUDA_MEMCPY2D copy = sound;
    copy.srcY = HUGE_62; /* times 1024: 0 */
    copies_2d(copy);
    copy = sound;
    copy.dstY = (size_t)-1;
    copies_2d(copy);
    copy = sound;
    copy.dstXInBytes = (size_t)-memory;
    copies_2d(copy);
    copy = sound;
    copy.srcXInBytes = (size_t)-8;
    copies_2d(copy);
    copy = sound;
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = host;
    copy.srcPitch = HUGE_62;
    copies_2d(copy);
    copy.srcPitch = (size_t)INT32_MAX + 1; /* more than CU_DEVICE_ATTRIBUTE_MAX_PITCH */
    copies_2d(copy);
}

static const CUDA_MEMCPY3D box = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                  .srcPitch = 64,
                                  .srcHeight = 16,
                                  .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                  .dstPitch = 64,
                                  .dstHeight = 16,
                                  .WidthInBytes = 4,
                                  .Height = 5,
                                  .Depth = 3};

static void add_node(const CUDA_MEMCPY3D *copy)
{
    CUgraph graph;
    CUgraphNode node;
    CUgraphExec exec;
    CUcontext context;
    CUDA_MEMCPY3D sound = box;
    sound.srcDevice = memory;
    sound.dstDevice = memory + BYTES / 2;
    OK(cuCtxGetCurrent(&context));
    OK(cuGraphCreate(&graph, 0));
    REFUSED(cuGraphAddMemcpyNode(&node, graph, NULL, 0, copy, context));
    OK(cuGraphAddMemcpyNode(&node, graph, NULL, 0, &sound, context));
    REFUSED(cuGraphMemcpyNodeSetParams(node, copy));
    OK(cuGraphInstantiate(&exec, graph, 0));
    REFUSED(cuGraphExecMemcpyNodeSetParams(exec, node, copy, context));
    OK(cuGraphLaunch(exec, stream));
    OK(cuStreamSynchronize(stream));
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
}

static CUDA_MEMCPY3D_PEER between_peers(const CUDA_MEMCPY3D *copy)
{
    CUcontext context;
    OK(cuCtxGetCurrent(&context));
    return (CUDA_MEMCPY3D_PEER){.srcXInBytes = copy->srcXInBytes,
                                .srcY = copy->srcY,
                                .srcZ = copy->srcZ,
                                .srcMemoryType = copy->srcMemoryType,
                                .srcDevice = copy->srcDevice,
                                .srcContext = context,
                                .srcPitch = copy->srcPitch,
                                .srcHeight = copy->srcHeight,
                                .dstXInBytes = copy->dstXInBytes,
                                .dstY = copy->dstY,
                                .dstZ = copy->dstZ,
                                .dstMemoryType = copy->dstMemoryType,
                                .dstDevice = copy->dstDevice,
                                .dstContext = context,
                                .dstPitch = copy->dstPitch,
                                .dstHeight = copy->dstHeight,
                                .WidthInBytes = copy->WidthInBytes,
                                .Height = copy->Height,
                                .Depth = copy->Depth};
}

static void refused_3d(const CUDA_MEMCPY3D *copy)
{
    CUDA_MEMCPY3D_PEER peers = between_peers(copy);
    REFUSED(cuMemcpy3D(copy));
    REFUSED(cuMemcpy3DAsync(copy, stream));
    REFUSED(cuMemcpy3DPeer(&peers));
    REFUSED(cuMemcpy3DPeerAsync(&peers, stream));
    add_node(copy);
}

/* Each member in turn is too large, on either side. */
static void three_dimensions(void)
{
    static const struct {
        size_t x, y, z, pitch, height, width, rows, depth; /* 0: as in the box */
    } wrong[] = {
        {.pitch = HUGE_62},
        {.pitch = HUGE_63},
        {.pitch = (size_t)-64, .rows = 2},
        {.height = HUGE_62},
        {.height = (size_t)-1},
        {.height = HUGE_62 / 16},
        {.x = (size_t)-8},
        {.y = HUGE_62},
        {.y = (size_t)-1},
        {.z = HUGE_62},
        {.z = (size_t)-1},
        {.width = HUGE_63, .rows = 1, .depth = 1},
        {.rows = HUGE_62},
        {.rows = ((size_t)1 << 58) + 1},
        {.depth = HUGE_62},
        {.depth = ((size_t)1 << 54) + 1},
        {.pitch = 2},
        {.height = 2},
        {.width = 8, .pitch = 1, .rows = HUGE_62},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        for (int side = 0; side < 2; side++) {
            CUDA_MEMCPY3D copy = box;
            copy.srcDevice = memory;
            copy.dstDevice = memory + BYTES / 2;
            size_t *const members[] = {side ? &copy.srcXInBytes : &copy.dstXInBytes,
                                       side ? &copy.srcY : &copy.dstY,
                                       side ? &copy.srcZ : &copy.dstZ,
                                       side ? &copy.srcPitch : &copy.dstPitch,
                                       side ? &copy.srcHeight : &copy.dstHeight,
                                       &copy.WidthInBytes,
                                       &copy.Height,
                                       &copy.Depth};
            const size_t values[] = {wrong[i].x,      wrong[i].y,     wrong[i].z,    wrong[i].pitch,
                                     wrong[i].height, wrong[i].width, wrong[i].rows, wrong[i].depth};
            for (int k = 0; k < 8; k++)
                if (values[k]) *members[k] = values[k];
            refused_3d(&copy);
        }
}

static void batches(void)
{
    CUDA_MEMCPY3D_BATCH_OP operation = {.src = {.type = CU_MEMCPY_OPERAND_TYPE_POINTER},
                                        .dst = {.type = CU_MEMCPY_OPERAND_TYPE_POINTER},
                                        .extent = {4, 5, 3},
                                        .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
    operation.src.op.ptr.ptr = memory;
    operation.dst.op.ptr.ptr = memory + BYTES / 2;
    OK(cuMemcpy3DBatchAsync(1, &operation, 0, stream));
    static const size_t wrong[][2] = {{HUGE_62, 5}, {64, HUGE_62}, {HUGE_63, 6}, {64, (size_t)-1}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CUDA_MEMCPY3D_BATCH_OP bad = operation;
        bad.dst.op.ptr.rowLength = wrong[i][0];
        bad.dst.op.ptr.layerHeight = wrong[i][1];
        REFUSED(cuMemcpy3DBatchAsync(1, &bad, 0, stream));
    }
}

static void set_nodes(void)
{
    CUgraph graph;
    CUgraphNode node;
    CUcontext context;
    OK(cuCtxGetCurrent(&context));
    OK(cuGraphCreate(&graph, 0));
    for (size_t i = 0; i < RECTANGLES; i++)
        for (unsigned element = 1; element <= 4; element *= 2) {
            CUDA_MEMSET_NODE_PARAMS set = {.dst = memory,
                                           .pitch = rectangles[i].pitch,
                                           .value = 1,
                                           .elementSize = element,
                                           .width = rectangles[i].width / element,
                                           .height = rectangles[i].height};
            REFUSED(cuGraphAddMemsetNode(&node, graph, NULL, 0, &set, context));
        }
    OK(cuGraphDestroy(graph));
}

int main(void)
{
    CUdevice device = start();
    OK(cuMemAlloc(&memory, BYTES));
    OK(cuMemsetD8(memory, 7, BYTES));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuCtxSynchronize());
    sets_8();
    sets_16();
    sets_32();
    untouched();
    two_dimensions();
    untouched();
    three_dimensions();
    batches();
    set_nodes();
    untouched();
    OK(cuMemFree(memory));
    OK(cuStreamDestroy(stream));
    finish(device);
    return 0;
}
