/* Managed memory: larger than the device, advised, moved and discarded, and its contents stay right. */
#include <string.h>

#include "check.h"

#define MIB ((size_t)1 << 20)

static const CUmemLocation host = {.type = CU_MEM_LOCATION_TYPE_HOST};

static int attribute(CUdeviceptr address, size_t bytes, CUmem_range_attribute name)
{
    int value = -100;
    OK(cuMemRangeGetAttribute(&value, sizeof value, name, address, bytes));
    return value;
}

static void advice(CUdevice device)
{
    CUmemLocation gpu = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device};
    CUdeviceptr a;
    size_t bytes = 8 * MIB;
    OK(cuMemAllocManaged(&a, bytes, CU_MEM_ATTACH_GLOBAL));
    CHECK(attribute(a, bytes, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION) == CU_DEVICE_INVALID);
    CHECK(attribute(a, bytes, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION) == CU_DEVICE_INVALID);
    OK(cuMemAdvise(a, bytes, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, host));
    OK(cuMemAdvise(a, bytes, CU_MEM_ADVISE_SET_ACCESSED_BY, gpu));
    CHECK(attribute(a, bytes, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION) == CU_DEVICE_CPU);
    CHECK(attribute(a, bytes, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY) == device);
    CHECK(attribute(a, bytes, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY) == 0);
    OK(cuMemAdvise(a, 4 * MIB, CU_MEM_ADVISE_SET_READ_MOSTLY, host));
    CHECK(attribute(a, 4 * MIB, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY) == 1);
    CHECK(attribute(a, bytes, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY) == 0);
    OK(cuMemPrefetchAsync(a, bytes, gpu, 0, CU_STREAM_LEGACY));
    OK(cuCtxSynchronize());
    CHECK(attribute(a, bytes, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION) == device);
    FAILS(cuMemAdvise(a, bytes + 64 * MIB, CU_MEM_ADVISE_SET_READ_MOSTLY, host), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemPrefetchAsync(a, bytes, (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 99}, 0, 0),
          CUDA_ERROR_INVALID_DEVICE);
    OK(cuMemFree(a));
}

/* Moving never changes what is read. */
static void contents(CUdevice device)
{
    CUmemLocation gpu = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device};
    CUstream stream;
    CUdeviceptr a;
    size_t bytes = 6 * MIB;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuMemAllocManaged(&a, bytes, CU_MEM_ATTACH_GLOBAL));
    unsigned *words = (unsigned *)a;
    for (size_t i = 0; i < bytes / 4; i++) words[i] = (unsigned)i;
    OK(cuMemPrefetchAsync(a, bytes, gpu, 0, stream));
    OK(cuMemsetD32Async(a + 2 * MIB, 7, 100, stream));
    OK(cuMemPrefetchAsync(a, bytes, host, 0, stream));
    OK(cuStreamSynchronize(stream));
    CHECK(words[0] == 0 && words[2 * MIB / 4 - 1] == 2 * MIB / 4 - 1 && words[2 * MIB / 4] == 7);
    CHECK(words[2 * MIB / 4 + 100] == 2 * MIB / 4 + 100 && words[bytes / 4 - 1] == bytes / 4 - 1);
    OK(cuMemFree(a));
    OK(cuStreamDestroy(stream));
}

static void discard(CUdevice device)
{
    CUmemLocation gpu = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device};
    CUstream stream;
    CUdeviceptr a;
    size_t bytes = 4 * MIB, first = 0;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuMemAllocManaged(&a, 2 * bytes, CU_MEM_ATTACH_GLOBAL));
    unsigned char *data = (unsigned char *)a;
    memset(data, 1, 2 * bytes);
    FAILS(cuMemDiscardBatchAsync(&a, &bytes, 1, 0, NULL), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemPrefetchAsync(a, 2 * bytes, gpu, 0, stream));
    OK(cuMemDiscardBatchAsync(&a, &bytes, 1, 0, stream));
    OK(cuMemsetD8Async(a, 5, bytes, stream));
    OK(cuMemDiscardAndPrefetchBatchAsync(&a, &bytes, 1, &gpu, &first, 1, 0, stream));
    OK(cuMemsetD8Async(a, 6, bytes / 2, stream));
    OK(cuMemPrefetchBatchAsync(&a, &bytes, 1, (CUmemLocation *)&host, &first, 1, 0, stream));
    OK(cuStreamSynchronize(stream));
    CHECK(data[0] == 6 && data[bytes / 2 - 1] == 6 && data[bytes] == 1 && data[2 * bytes - 1] == 1);
    OK(cuMemFree(a));
    OK(cuStreamDestroy(stream));
}

static void larger_than_the_device(void)
{
    size_t free_bytes, total;
    CUdeviceptr a;
    OK(cuMemGetInfo(&free_bytes, &total));
    if (total > 4096ull * MIB) return; /* a real device that runs over can hang, and others with it */
    CUresult result = cuMemAllocManaged(&a, total + total / 4, CU_MEM_ATTACH_GLOBAL);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) return; /* the host is smaller still */
    OK(result);
    OK(cuMemsetD8(a + total, 3, MIB));
    CHECK(*(char *)(a + total + MIB - 1) == 3);
    OK(cuMemFree(a));
}

int main(void)
{
    CUdevice device = start();
    int managed = 0;
    OK(cuDeviceGetAttribute(&managed, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, device));
    if (!managed) return 77;
    advice(device);
    contents(device);
    discard(device);
    larger_than_the_device();
    finish(device);
    return 0;
}
