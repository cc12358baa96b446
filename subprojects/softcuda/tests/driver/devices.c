/* Several devices in one process: memory, streams and contexts belong to one of them, and others use its
 * memory only where they were let. Needs two devices that can access each other. */
#include "check.h"
#include "kernels.h"

#define COUNT 1000
#define BYTES (COUNT * sizeof(float))

static struct end {
    CUdevice device;
    CUcontext context;
    CUstream stream;
    CUfunction affine;
    CUdeviceptr memory;
} ends[2];

static void open_end(struct end *end, int ordinal)
{
    CUmodule module;
    OK(cuDeviceGet(&end->device, ordinal));
    OK(cuDevicePrimaryCtxRetain(&end->context, end->device));
    OK(cuCtxSetCurrent(end->context));
    OK(cuStreamCreate(&end->stream, CU_STREAM_NON_BLOCKING));
    OK(cuModuleLoadData(&module, kernels));
    OK(cuModuleGetFunction(&end->affine, module, "affine"));
    OK(cuMemAlloc(&end->memory, BYTES));
}

static void use(const struct end *end)
{
    OK(cuCtxSetCurrent(end->context));
}

static CUresult launch(const struct end *end, CUdeviceptr to, CUdeviceptr from, float bias)
{
    int count = COUNT;
    float scale = 2;
    void *parameters[] = {&to, &from, &count, &scale, &bias};
    return cuLaunchKernel(end->affine, 8, 1, 1, 128, 1, 1, 0, end->stream, parameters, NULL);
}

static void fill(CUdeviceptr memory, float value)
{
    float numbers[COUNT];
    for (int i = 0; i < COUNT; i++) numbers[i] = value + (float)i;
    OK(cuMemcpyHtoD(memory, numbers, BYTES));
}

static void expect(CUdeviceptr memory, float scale, float value)
{
    float numbers[COUNT];
    OK(cuMemcpyDtoH(numbers, memory, BYTES));
    for (int i = 0; i < COUNT; i++) CHECK(numbers[i] == scale * (float)i + value);
}

static void devices_differ(void)
{
    CUuuid uuids[2];
    char buses[2][32];
    int count, bus_ids[2];
    OK(cuDeviceGetCount(&count));
    for (int i = 0; i < 2; i++) {
        CUdevice found = -1;
        OK(cuDeviceGetUuid(&uuids[i], ends[i].device));
        OK(cuDeviceGetPCIBusId(buses[i], sizeof buses[i], ends[i].device));
        OK(cuDeviceGetByPCIBusId(&found, buses[i]));
        CHECK(found == ends[i].device);
        OK(cuDeviceGetAttribute(&bus_ids[i], CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, ends[i].device));
    }
    CHECK(memcmp(&uuids[0], &uuids[1], sizeof uuids[0]));
    CHECK(strcmp(buses[0], buses[1]) && bus_ids[0] != bus_ids[1]);
    CUdevice device;
    FAILS(cuDeviceGet(&device, count), CUDA_ERROR_INVALID_DEVICE);
}

static void what_is_of_which_device(void)
{
    for (int i = 0; i < 2; i++) {
        const struct end *end = &ends[i], *other = &ends[!i];
        CUdevice device = -1;
        int ordinal = -1;
        use(end);
        OK(cuCtxGetDevice(&device));
        CHECK(device == end->device);
        OK(cuStreamGetDevice(other->stream, &device));
        CHECK(device == other->device);
        OK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, other->memory));
        CHECK(ordinal == other->device);
        /* An event, and a kernel, of one device in a stream of the other. */
        CUevent event;
        OK(cuEventCreate(&event, CU_EVENT_DEFAULT));
        FAILS(cuEventRecord(event, other->stream), CUDA_ERROR_INVALID_HANDLE);
        OK(cuEventDestroy(event));
        FAILS(cuLaunchKernel(end->affine, 1, 1, 1, 1, 1, 1, 0, other->stream, (void *[5]){0}, NULL),
              CUDA_ERROR_INVALID_HANDLE);
    }
}

/* What one takes the other still has. */
static void memory_is_counted_by_device(void)
{
    size_t before[2], after[2], total;
    CUdeviceptr taken;
    size_t bytes = 32 << 20;
    for (int i = 0; i < 2; i++) {
        use(&ends[i]);
        OK(cuMemGetInfo(&before[i], &total));
    }
    use(&ends[0]);
    OK(cuMemAlloc(&taken, bytes));
    for (int i = 0; i < 2; i++) {
        use(&ends[i]);
        OK(cuMemGetInfo(&after[i], &total));
    }
    CHECK(before[0] - after[0] >= bytes && before[1] == after[1]);
    OK(cuMemFree(taken)); /* from the other's context */
    use(&ends[0]);
    OK(cuMemGetInfo(&after[0], &total));
    CHECK(after[0] == before[0]);
}

static void copies_between_them(void)
{
    use(&ends[0]);
    fill(ends[0].memory, 5);
    OK(cuMemcpyPeer(ends[1].memory, ends[1].context, ends[0].memory, ends[0].context, BYTES));
    use(&ends[1]);
    expect(ends[1].memory, 1, 5);
    OK(launch(&ends[1], ends[1].memory, ends[1].memory, 1));
    OK(cuMemcpyPeerAsync(ends[0].memory, ends[0].context, ends[1].memory, ends[1].context, BYTES,
                         ends[1].stream));
    OK(cuStreamSynchronize(ends[1].stream));
    expect(ends[0].memory, 2, 11);
}

/* One device's work behind the other's, by an event. */
static void they_wait_for_each_other(void)
{
    CUevent done;
    use(&ends[0]);
    fill(ends[0].memory, 1);
    OK(cuEventCreate(&done, CU_EVENT_DEFAULT));
    OK(launch(&ends[0], ends[0].memory, ends[0].memory, 0));
    OK(cuMemcpyPeerAsync(ends[1].memory, ends[1].context, ends[0].memory, ends[0].context, BYTES,
                         ends[0].stream));
    OK(cuEventRecord(done, ends[0].stream));
    use(&ends[1]);
    OK(cuStreamWaitEvent(ends[1].stream, done, 0));
    OK(launch(&ends[1], ends[1].memory, ends[1].memory, 3));
    OK(cuStreamSynchronize(ends[1].stream));
    expect(ends[1].memory, 4, 7);
    OK(cuEventDestroy(done));
}

static void peers_are_let_in(void)
{
    int value = -1;
    OK(cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, ends[0].device,
                               ends[1].device));
    CHECK(value == 1);
    FAILS(cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, ends[0].device,
                                  ends[0].device),
          CUDA_ERROR_INVALID_DEVICE);
    use(&ends[0]);
    FAILS(cuCtxDisablePeerAccess(ends[1].context), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    FAILS(cuCtxEnablePeerAccess(ends[0].context, 0), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuCtxEnablePeerAccess(ends[1].context, 0));
    FAILS(cuCtxEnablePeerAccess(ends[1].context, 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    fill(ends[1].memory, 3);
    OK(launch(&ends[0], ends[0].memory, ends[1].memory, 0));
    OK(cuStreamSynchronize(ends[0].stream));
    expect(ends[0].memory, 2, 6);
}

static void pools_are_of_a_device(void)
{
    CUmemoryPool pools[2];
    for (int i = 0; i < 2; i++) OK(cuDeviceGetDefaultMemPool(&pools[i], ends[i].device));
    CHECK(pools[0] != pools[1]);
    FAILS(cuDeviceSetMemPool(ends[0].device, pools[1]), CUDA_ERROR_INVALID_VALUE);
    CUmemLocation peer = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = ends[0].device};
    CUmemAccess_flags flags;
    OK(cuMemPoolGetAccess(&flags, pools[1], &peer));
    CHECK(flags == CU_MEM_ACCESS_FLAGS_PROT_NONE);
    CUmemAccessDesc wanted = {peer, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    OK(cuMemPoolSetAccess(pools[1], &wanted, 1));
    OK(cuMemPoolGetAccess(&flags, pools[1], &peer));
    CHECK(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    CUdeviceptr memory;
    int ordinal;
    use(&ends[1]);
    OK(cuMemAllocAsync(&memory, BYTES, ends[1].stream));
    OK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, memory));
    CHECK(ordinal == ends[1].device);
    OK(cuStreamSynchronize(ends[1].stream));
    fill(memory, 4);
    use(&ends[0]);
    OK(launch(&ends[0], ends[0].memory, memory, 0));
    OK(cuStreamSynchronize(ends[0].stream));
    expect(ends[0].memory, 2, 8);
    OK(cuMemFree(memory));
}

/* Physical memory of one device, mapped for the other. */
static void mappings_name_their_users(void)
{
    CUmemAllocationProp wanted = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                  .location = {CU_MEM_LOCATION_TYPE_DEVICE, ends[1].device}};
    size_t step;
    CUmemGenericAllocationHandle handle;
    CUdeviceptr range;
    unsigned long long flags;
    OK(cuMemGetAllocationGranularity(&step, &wanted, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    OK(cuMemCreate(&handle, step, &wanted, 0));
    OK(cuMemAddressReserve(&range, step, 0, 0, 0));
    OK(cuMemMap(range, step, 0, handle, 0));
    CUmemAccessDesc access[2];
    for (int i = 0; i < 2; i++)
        access[i] = (CUmemAccessDesc){{CU_MEM_LOCATION_TYPE_DEVICE, ends[i].device},
                                      CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    OK(cuMemSetAccess(range, step, &access[1], 1));
    OK(cuMemGetAccess(&flags, &access[0].location, range));
    CHECK(flags == CU_MEM_ACCESS_FLAGS_PROT_NONE);
    OK(cuMemSetAccess(range, step, &access[0], 1));
    for (int i = 0; i < 2; i++) {
        OK(cuMemGetAccess(&flags, &access[i].location, range));
        CHECK(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    }
    use(&ends[0]);
    fill(range, 9);
    OK(launch(&ends[0], ends[0].memory, range, 0));
    OK(cuStreamSynchronize(ends[0].stream));
    expect(ends[0].memory, 2, 18);
    OK(cuMemUnmap(range, step));
    OK(cuMemAddressFree(range, step));
    OK(cuMemRelease(handle));
}

/* Managed memory goes from one to the other with what is in it. */
static void managed_memory_moves(void)
{
    CUdeviceptr shared;
    use(&ends[0]);
    OK(cuMemAllocManaged(&shared, BYTES, CU_MEM_ATTACH_GLOBAL));
    fill(shared, 2);
    OK(launch(&ends[0], shared, shared, 0));
    OK(cuStreamSynchronize(ends[0].stream));
    use(&ends[1]);
    OK(launch(&ends[1], shared, shared, 1));
    OK(cuStreamSynchronize(ends[1].stream));
    use(&ends[0]);
    OK(launch(&ends[0], ends[0].memory, shared, 0));
    OK(cuStreamSynchronize(ends[0].stream));
    expect(ends[0].memory, 8, 18);
    CUmemLocation there = {CU_MEM_LOCATION_TYPE_DEVICE, ends[1].device};
    int users[3];
    OK(cuMemAdvise_v2(shared, BYTES, CU_MEM_ADVISE_SET_ACCESSED_BY, there));
    OK(cuMemRangeGetAttribute(users, sizeof users, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, shared, BYTES));
    CHECK(users[0] == ends[1].device && users[1] == CU_DEVICE_INVALID);
    OK(cuMemAdvise_v2(shared, BYTES, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, there));
    OK(cuMemRangeGetAttribute(users, sizeof *users, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, shared,
                              BYTES));
    CHECK(users[0] == ends[1].device);
    OK(cuMemFree(shared));
}

/* Last: the context is lost. */
static void strangers_fault(void)
{
    use(&ends[1]);
    OK(launch(&ends[1], ends[1].memory, ends[0].memory, 0));
    FAILS(cuStreamSynchronize(ends[1].stream), CUDA_ERROR_ILLEGAL_ADDRESS);
    use(&ends[0]);
    OK(cuCtxSynchronize());
}

int main(void)
{
    int count, can = 0;
    start();
    OK(cuDeviceGetCount(&count));
    if (count > 1) OK(cuDeviceCanAccessPeer(&can, 0, 1));
    if (!can) {
        fprintf(stderr, "needs two devices that can access each other\n");
        return 77;
    }
    for (int i = 0; i < 2; i++) open_end(&ends[i], i);
    devices_differ();
    what_is_of_which_device();
    memory_is_counted_by_device();
    copies_between_them();
    they_wait_for_each_other();
    peers_are_let_in();
    pools_are_of_a_device();
    mappings_name_their_users();
    managed_memory_moves();
    strangers_fault();
    return 0;
}
