/* Prints for each device how many microseconds a copy to it of 32 MiB takes. */
#include "check.h"

#define BYTES (32u << 20)

static double copy_us(CUdevice device)
{
    CUcontext context;
    CUevent begin, end;
    CUdeviceptr memory;
    void *host;
    float milliseconds;
    OK(cuDevicePrimaryCtxRetain(&context, device));
    OK(cuCtxSetCurrent(context));
    OK(cuMemAlloc(&memory, BYTES));
    OK(cuMemAllocHost(&host, BYTES));
    OK(cuEventCreate(&begin, CU_EVENT_DEFAULT));
    OK(cuEventCreate(&end, CU_EVENT_DEFAULT));
    OK(cuEventRecord(begin, NULL));
    OK(cuMemcpyHtoDAsync(memory, host, BYTES, NULL));
    OK(cuEventRecord(end, NULL));
    OK(cuEventSynchronize(end));
    OK(cuEventElapsedTime(&milliseconds, begin, end));
    OK(cuMemFreeHost(host));
    OK(cuDevicePrimaryCtxRelease(device));
    return (double)milliseconds * 1000;
}

int main(void)
{
    int devices;
    OK(cuInit(0));
    OK(cuDeviceGetCount(&devices));
    for (int i = 0; i < devices; i++) printf("%s%.0f", i ? " " : "", copy_us(i));
    puts("");
    return 0;
}
