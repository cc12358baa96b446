/* Device memory that stays the driver's is missing from what is free while it is there, and comes back; with
 * sluice as without. */
#include "device.h"

#include <unistd.h>

#define BLOCK (4 * MIB)

static CUstream stream;

static int set_up(void **state)
{
    if (use_device(state)) return -1;
    return cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS ? 0 : -1;
}

static size_t free_now(void)
{
    size_t free_bytes, total_bytes;
    ok(cuMemGetInfo(&free_bytes, &total_bytes));
    assert_in_range(free_bytes, 0, total_bytes);
    return free_bytes;
}

static const CUmemAllocationProp properties = {
    .type = CU_MEM_ALLOCATION_TYPE_PINNED,
    .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
};

static void physical_memory_by_its_handle(void **state)
{
    CUmemGenericAllocationHandle handle;
    (void)state;
    size_t before = free_now();
    ok(cuMemCreate(&handle, BLOCK, &properties, 0));
    assert_int_equal(free_now(), before - BLOCK);
    ok(cuMemRelease(handle));
    assert_int_equal(free_now(), before);
}

/* As most allocators do: the handle goes as soon as the memory is mapped. */
static void physical_memory_by_its_mapping(void **state)
{
    CUmemGenericAllocationHandle handle, again;
    CUdeviceptr address;
    CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
                              .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    (void)state;
    size_t before = free_now();
    ok(cuMemAddressReserve(&address, 2 * BLOCK, 0, 0, 0));
    for (unsigned i = 0; i < 2; i++) {
        ok(cuMemCreate(&handle, BLOCK, &properties, 0));
        ok(cuMemMap(address + i * BLOCK, BLOCK, 0, handle, 0));
        ok(cuMemRelease(handle));
    }
    ok(cuMemSetAccess(address, 2 * BLOCK, &access, 1));
    ok(cuMemsetD8(address, 1, 2 * BLOCK));
    ok(cuCtxSynchronize());
    assert_int_equal(free_now(), before - 2 * BLOCK);
    ok(cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)address));
    ok(cuMemUnmap(address, 2 * BLOCK));
    assert_int_equal(free_now(), before - BLOCK);
    ok(cuMemRelease(again));
    assert_int_equal(free_now(), before);
    ok(cuMemAddressFree(address, 2 * BLOCK));
}

/* Where nothing runs yet, or no more: the driver's own affair. */
static void physical_memory_without_a_context(void **state)
{
    CUmemGenericAllocationHandle handle;
    CUcontext context;
    (void)state;
    size_t before = free_now();
    ok(cuCtxGetCurrent(&context));
    ok(cuCtxSetCurrent(NULL));
    ok(cuMemCreate(&handle, BLOCK, &properties, 0));
    ok(cuCtxSetCurrent(context));
    assert_int_equal(free_now(), before - BLOCK);
    ok(cuCtxSetCurrent(NULL));
    ok(cuMemRelease(handle));
    CUmemAllocationProp host = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .location = {.type = CU_MEM_LOCATION_TYPE_HOST_NUMA}};
    CUresult result = cuMemCreate(&handle, BLOCK, &host, 0); /* the software device has none, and says so */
    assert_true(result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_SUPPORTED);
    if (result == CUDA_SUCCESS) ok(cuMemRelease(handle));
    ok(cuCtxSetCurrent(context));
    assert_int_equal(free_now(), before);
}

/* A graph that allocates, sets and frees a block. */
static CUgraphExec that_allocates(void)
{
    CUcontext context;
    CUgraph graph;
    CUgraphNode nodes[3];
    CUgraphExec executable;
    CUDA_MEM_ALLOC_NODE_PARAMS memory = {.poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                                       .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}},
                                         .bytesize = BLOCK};
    ok(cuCtxGetCurrent(&context));
    ok(cuGraphCreate(&graph, 0));
    ok(cuGraphAddMemAllocNode(&nodes[0], graph, NULL, 0, &memory));
    CUDA_MEMSET_NODE_PARAMS set = {
        .dst = memory.dptr, .elementSize = 1, .value = 1, .width = BLOCK, .height = 1};
    ok(cuGraphAddMemsetNode(&nodes[1], graph, &nodes[0], 1, &set, context));
    ok(cuGraphAddMemFreeNode(&nodes[2], graph, &nodes[1], 1, memory.dptr));
    ok(cuGraphInstantiate(&executable, graph, 0));
    ok(cuGraphDestroy(graph));
    return executable;
}

/* Graphs that do not run at once share it. It may stay with the driver after them, until it is trimmed. */
static void memory_of_graphs(void **state)
{
    enum { GRAPHS = 4 };
    CUgraphExec executables[GRAPHS];
    cuuint64_t reserved;
    (void)state;
    size_t before = free_now();
    for (int i = 0; i < GRAPHS; i++) executables[i] = that_allocates();
    for (int i = 0; i < 2 * GRAPHS; i++) {
        ok(cuGraphLaunch(executables[i % GRAPHS], stream));
        assert_int_equal(free_now(), before - BLOCK);
    }
    ok(cuStreamSynchronize(stream));
    for (int i = 0; i < GRAPHS; i++) ok(cuGraphExecDestroy(executables[i]));
    ok(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &reserved));
    assert_int_equal(free_now(), before - reserved);
    ok(cuDeviceGraphMemTrim(0));
    assert_int_equal(free_now(), before);
}

static void freeing_it_again_gives_nothing_back(void **state)
{
    CUmemGenericAllocationHandle handle;
    (void)state;
    size_t before = free_now();
    ok(cuMemCreate(&handle, BLOCK, &properties, 0));
    ok(cuMemRelease(handle));
    assert_int_equal(cuMemRelease(handle), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(free_now(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(physical_memory_by_its_handle),
        cmocka_unit_test(physical_memory_by_its_mapping),
        cmocka_unit_test(physical_memory_without_a_context),
        cmocka_unit_test(memory_of_graphs),
        cmocka_unit_test(freeing_it_again_gives_nothing_back),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
