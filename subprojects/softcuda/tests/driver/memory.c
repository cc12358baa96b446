/* Memory runs out where it should, comes back, and is known by its address. */
#include <string.h>

#include "check.h"

static void runs_out(void)
{
    enum { LIMIT = 1 << 16 };
    static CUdeviceptr list[LIMIT];
    size_t before, after, total, count = 0;
    OK(cuMemGetInfo(&before, &total));
    CHECK(before <= total);
    CUdeviceptr big;
    FAILS(cuMemAlloc(&big, total + 1), CUDA_ERROR_OUT_OF_MEMORY);
    size_t piece = before / 16;
    while (count < LIMIT) {
        CUresult result = cuMemAlloc(&list[count], piece);
        if (result == CUDA_ERROR_OUT_OF_MEMORY) break;
        OK(result);
        CHECK(list[count] % 256 == 0);
        count++;
    }
    CHECK(count >= 12 && count <= 16);
    OK(cuMemGetInfo(&after, &total));
    CHECK(after < before);
    for (size_t i = 0; i < count; i++) OK(cuMemFree(list[i]));
    OK(cuMemGetInfo(&after, &total));
    CHECK(after + (64 << 20) >= before);
    FAILS(cuMemAlloc(&big, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree(0));
    FAILS(cuMemFree(0x1000), CUDA_ERROR_INVALID_VALUE);
}

static unsigned memory_type(CUdeviceptr address)
{
    unsigned type = 0;
    OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address));
    return type;
}

static void addresses(void)
{
    CUdeviceptr device, managed, base;
    void *pinned;
    size_t bytes;
    OK(cuMemAlloc(&device, 5000));
    OK(cuMemAllocManaged(&managed, 5000, CU_MEM_ATTACH_GLOBAL));
    OK(cuMemAllocHost(&pinned, 5000));
    OK(cuMemGetAddressRange(&base, &bytes, device + 100));
    CHECK(base == device && bytes >= 5000);
    FAILS(cuMemGetAddressRange(&base, &bytes, 0x1000), CUDA_ERROR_NOT_FOUND);
    CHECK(memory_type(device) == CU_MEMORYTYPE_DEVICE &&
          memory_type((CUdeviceptr)pinned) == CU_MEMORYTYPE_HOST);
    int is_managed = -1;
    OK(cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, managed));
    CHECK(is_managed == 1);
    OK(cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, device));
    CHECK(is_managed == 0);
    CUdeviceptr mapped;
    OK(cuMemHostGetDevicePointer(&mapped, pinned, 0));
    CHECK(memory_type(mapped) == CU_MEMORYTYPE_HOST);
    int local;
    unsigned type = 7;
    FAILS(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)&local),
          CUDA_ERROR_INVALID_VALUE);
    CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED};
    unsigned managed_flag = 7;
    void *places[] = {&type, &managed_flag};
    OK(cuPointerGetAttributes(2, names, places, (CUdeviceptr)&local));
    CHECK(type == 0 && managed_flag == 0);
    FAILS(cuMemFree((CUdeviceptr)pinned), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFreeHost(pinned));
    OK(cuMemFree(managed));
    OK(cuMemFree(device));
}

static void registration(void)
{
    size_t bytes = 3 << 20;
    char *memory = aligned_alloc(4096, bytes);
    CUdeviceptr device;
    memset(memory, 1, bytes);
    OK(cuMemHostRegister(memory, bytes, CU_MEMHOSTREGISTER_DEVICEMAP));
    FAILS(cuMemHostRegister(memory, bytes, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    OK(cuMemHostGetDevicePointer(&device, memory, 0));
    OK(cuMemsetD8(device + 5, 9, 10));
    OK(cuCtxSynchronize());
    CHECK(memory[4] == 1 && memory[5] == 9 && memory[14] == 9 && memory[15] == 1);
    OK(cuMemHostUnregister(memory));
    FAILS(cuMemHostUnregister(memory), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    free(memory);
}

static void ordered_by_stream(void)
{
    CUstream stream;
    int value = 0;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (unsigned i = 0; i < 100; i++) {
        CUdeviceptr a;
        OK(cuMemAllocAsync(&a, 1 << 20, stream));
        OK(cuMemsetD32Async(a, i, 1 << 18, stream));
        OK(cuMemcpyDtoHAsync(&value, a + 4096, sizeof value, stream));
        OK(cuMemFreeAsync(a, stream));
        CHECK(value == (int)i);
    }
    OK(cuStreamSynchronize(stream));
    OK(cuStreamDestroy(stream));
}

int main(void)
{
    CUdevice device = start();
    runs_out();
    addresses();
    registration();
    ordered_by_stream();
    finish(device);
    return 0;
}
