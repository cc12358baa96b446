/* Only on softcuda: a wait that is missing shows. Nobody waits for the copy, so a late device has not run it,
 * and an eager one has. */
#include <string.h>

#include "check.h"

int main(int count, char **arguments)
{
    CHECK(count == 2);
    int wanted = !strcmp(arguments[1], "late") ? 0 : 5;
    CUdevice device = start();
    only_in_software(device);
    CUdeviceptr a;
    CUstream stream, other;
    volatile int *host;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    OK(cuMemAlloc(&a, 4));
    OK(cuMemAllocHost((void **)&host, 4));
    OK(cuMemsetD32Async(a, 5, 1, stream));
    OK(cuMemcpyDtoHAsync((void *)host, a, 4, stream));
    CHECK(*host == wanted);
    OK(cuMemsetD32Async(a, 5, 1, other));
    OK(cuStreamSynchronize(other)); /* the wrong stream */
    CHECK(*host == wanted);
    OK(cuStreamSynchronize(stream));
    CHECK(*host == 5);
    finish(device);
    return 0;
}
