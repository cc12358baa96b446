/* Managed memory that two devices use in turn: what another device called home is in no frame of this one any
 * more, however far their clocks are apart. Prints nothing; recalls.sh reads the statistics. */
#include "check.h"

#include <stdbool.h>

#define BYTES ((size_t)4 << 20)
#define ROUNDS 4

static CUcontext contexts[2];
static CUstream streams[2];

static void use(int i)
{
    OK(cuCtxSetCurrent(contexts[i]));
}

static CUdeviceptr managed(void)
{
    CUdeviceptr memory;
    CUmemLocation host = {CU_MEM_LOCATION_TYPE_HOST, 0};
    OK(cuMemAllocManaged(&memory, BYTES, CU_MEM_ATTACH_GLOBAL));
    OK(cuMemAdvise_v2(memory, BYTES, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, host));
    for (int i = 0; i < 2; i++) {
        CUmemLocation device = {CU_MEM_LOCATION_TYPE_DEVICE, i};
        OK(cuMemAdvise_v2(memory, BYTES, CU_MEM_ADVISE_SET_ACCESSED_BY, device));
    }
    OK(cuMemsetD8(memory, 1, BYTES));
    return memory;
}

static void prefetch(CUdeviceptr memory, int to_device)
{
    CUmemLocation host = {CU_MEM_LOCATION_TYPE_HOST, 0}, device = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    OK(cuMemPrefetchAsync_v2(memory, BYTES, to_device ? device : host, 0, streams[0]));
}

int main(int count, char **arguments)
{
    bool again = count > 1 && !strcmp(arguments[1], "again");
    int devices;
    CUdeviceptr blocks[2], far;
    start();
    OK(cuDeviceGetCount(&devices));
    if (devices < 2) return 77;
    for (int i = 0; i < 2; i++) {
        OK(cuDevicePrimaryCtxRetain(&contexts[i], i));
        use(i);
        OK(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
    }
    OK(cuMemAlloc(&far, BYTES)); /* the second device is busy for long */
    use(0);
    for (int i = 0; i < 2; i++) blocks[i] = managed();
    for (int round = 0; round < ROUNDS; round++) {
        CUdeviceptr first = blocks[round % 2], second = blocks[!(round % 2)];
        use(0);
        prefetch(first, 1);
        use(1);
        for (int i = 0; i < 50; i++) OK(cuMemsetD8Async(far, 2, BYTES, streams[1]));
        OK(cuMemsetD8Async(first, 3, BYTES, streams[1])); /* calls it home, long after it came */
        use(0);
        if (again) { /* it comes once more, before that in its own device's time */
            prefetch(first, 1);
            prefetch(first, 0);
            continue;
        }
        prefetch(first, 0);
        prefetch(second, 1);
        prefetch(second, 0);
    }
    for (int i = 0; i < 2; i++) {
        use(i);
        OK(cuCtxSynchronize());
    }
    return 0;
}
