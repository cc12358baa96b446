/* What surrounds the device, by options: another process, a host with several NUMA nodes, cuMemGetInfo that
 * counts managed memory, moves that hold their caller up. */
#include <time.h>

#include "check.h"
#include "kernels.h"

#define MIB ((size_t)1 << 20)

static size_t free_now(void)
{
    size_t free_bytes, total_bytes;
    OK(cuMemGetInfo(&free_bytes, &total_bytes));
    return free_bytes;
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static CUmemLocation node(int id)
{
    return (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_HOST_NUMA, .id = id};
}

/* SOFTCUDA_NUMA_NODES=2 */
static void nodes(CUdevice device, CUdeviceptr memory)
{
    int nearest = -7;
    OK(cuDeviceGetAttribute(&nearest, CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, device));
    CHECK(nearest == 1);
    for (int id = 0; id < 2; id++) {
        OK(cuMemAdvise(memory, 8 * MIB, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, node(id)));
        OK(cuMemPrefetchAsync(memory, 8 * MIB, node(id), 0, NULL));
    }
    FAILS(cuMemAdvise(memory, 8 * MIB, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, node(2)),
          CUDA_ERROR_INVALID_DEVICE);
    FAILS(cuMemPrefetchAsync(memory, 8 * MIB, node(-1), 0, NULL), CUDA_ERROR_INVALID_DEVICE);
}

/* SOFTCUDA_MANAGED_COUNTS=1, SOFTCUDA_BLOCKING_MOVES=2 and SOFTCUDA_LINK_OUT=1 */
static void moves(CUdevice device, CUdeviceptr memory)
{
    CUmemLocation gpu = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device};
    CUstream stream;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    size_t before = free_now();
    OK(cuMemsetD8Async(memory, 1, 8 * MIB, stream));
    OK(cuMemPrefetchAsync(memory, 8 * MIB, gpu, 0, stream));
    OK(cuStreamSynchronize(stream));
    CHECK(free_now() == before - 8 * MIB);
    double began = now_s();
    OK(cuMemPrefetchAsync(memory, 8 * MIB, node(1), 0, stream));
    CHECK(now_s() - began >= 2 * 8 * (double)MIB * 1e-9);
    OK(cuStreamSynchronize(stream));
    CHECK(free_now() == before);
    OK(cuStreamDestroy(stream));
}

/* SOFTCUDA_OTHERS=16M and SOFTCUDA_OTHERS_AFTER=3 */
static void others(void)
{
    CUmodule module;
    CUfunction function;
    OK(cuModuleLoadData(&module, kernels));
    OK(cuModuleGetFunction(&function, module, "nothing"));
    size_t before = free_now();
    for (int i = 0; i < 6; i++) {
        OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
        CHECK(free_now() == before - (i < 3 ? 0 : 16 * MIB));
    }
    OK(cuModuleUnload(module));
}

int main(void)
{
    CUdeviceptr memory;
    CUdevice device = start();
    only_in_software(device);
    OK(cuMemAllocManaged(&memory, 8 * MIB, CU_MEM_ATTACH_GLOBAL));
    nodes(device, memory);
    moves(device, memory);
    others();
    OK(cuMemFree(memory));
    finish(device);
    return 0;
}
