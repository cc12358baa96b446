/* Virtual memory management: memory appears where it is mapped, for those who have access, and stays while it
 * is mapped. */
#include <unistd.h>

#include "check.h"
#include "kernels.h"

static CUdevice device;
static size_t step; /* granularity */

static CUmemAllocationProp properties(void)
{
    CUmemAllocationProp p;
    memset(&p, 0, sizeof p);
    p.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    p.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    p.location.id = device;
    return p;
}

static CUmemGenericAllocationHandle create(size_t bytes)
{
    CUmemAllocationProp p = properties();
    CUmemGenericAllocationHandle handle;
    OK(cuMemCreate(&handle, bytes, &p, 0));
    return handle;
}

static void set_access(CUdeviceptr address, size_t bytes, CUmemAccess_flags flags)
{
    CUmemAccessDesc wanted = {{.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}, flags};
    OK(cuMemSetAccess(address, bytes, &wanted, 1));
}

static unsigned long long access_of(CUdeviceptr address)
{
    unsigned long long flags = 99;
    CUmemLocation here = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device};
    OK(cuMemGetAccess(&flags, &here, address));
    return flags;
}

/* Two allocations side by side are one piece of memory, for copies and for kernels. */
static void side_by_side(void)
{
    CUdeviceptr range, source;
    CUmemGenericAllocationHandle first = create(step), second = create(2 * step);
    OK(cuMemAddressReserve(&range, 16 * step, 0, 0, 0));
    CHECK(range % step == 0);
    OK(cuMemMap(range + step, step, 0, first, 0));
    OK(cuMemMap(range + 2 * step, 2 * step, 0, second, 0));
    CHECK(access_of(range + step) == CU_MEM_ACCESS_FLAGS_PROT_NONE);
    set_access(range + step, 3 * step, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    CHECK(access_of(range + 3 * step) == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    OK(cuMemRelease(first)); /* the mapping keeps it */
    enum { COUNT = 2000 };
    float values[COUNT];
    for (int i = 0; i < COUNT; i++) values[i] = (float)i;
    OK(cuMemAlloc(&source, sizeof values));
    OK(cuMemcpyHtoD(source, values, sizeof values));
    CUdeviceptr border = range + 2 * step - COUNT / 2 * sizeof *values;
    CUmodule module;
    CUfunction affine;
    int count = COUNT;
    float two = 2, one = 1;
    void *parameters[] = {&border, &source, &count, &two, &one};
    OK(cuModuleLoadData(&module, kernels));
    OK(cuModuleGetFunction(&affine, module, "affine"));
    OK(cuMemsetD8(range + step, 0, 3 * step));
    OK(cuLaunchKernel(affine, (COUNT + 255) / 256, 1, 1, 256, 1, 1, 0, NULL, parameters, NULL));
    OK(cuMemcpyDtoH(values, border, sizeof values));
    for (int i = 0; i < COUNT; i++) CHECK(values[i] == 2 * (float)i + 1);
    CHECK(cuMemAddressFree(range, 16 * step) != CUDA_SUCCESS); /* still mapped */
    OK(cuMemUnmap(range + step, step));
    OK(cuMemUnmap(range + 2 * step, 2 * step));
    OK(cuMemRelease(second));
    OK(cuMemAddressFree(range, 16 * step));
    OK(cuModuleUnload(module));
    OK(cuMemFree(source));
}

/* One allocation at two addresses, and what can be asked about it. */
static void twice(void)
{
    CUdeviceptr range;
    CUmemGenericAllocationHandle handle = create(step), found;
    CUmemAllocationProp p;
    OK(cuMemAddressReserve(&range, 2 * step, step, 0, 0));
    OK(cuMemMap(range, step, 0, handle, 0));
    OK(cuMemMap(range + step, step, 0, handle, 0));
    FAILS(cuMemMap(range + step, step, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
    set_access(range, 2 * step, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    unsigned value = 0;
    OK(cuMemsetD32(range, 0x1234, step / 4));
    OK(cuMemcpyDtoH(&value, range + 2 * step - 4, sizeof value));
    CHECK(value == 0x1234);
    OK(cuMemRetainAllocationHandle(&found, (void *)(range + step + 100)));
    CHECK(found == handle);
    OK(cuMemRelease(found));
    OK(cuMemGetAllocationPropertiesFromHandle(&p, handle));
    CHECK(p.location.type == CU_MEM_LOCATION_TYPE_DEVICE && p.location.id == device);
    unsigned type = 0;
    OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, range + 8));
    CHECK(type == CU_MEMORYTYPE_DEVICE);
    OK(cuMemUnmap(range, step));
    OK(cuMemcpyDtoH(&value, range + step, sizeof value));
    OK(cuMemRelease(handle));
    OK(cuMemUnmap(range + step, step));
    OK(cuMemAddressFree(range, 2 * step));
}

static void accounts(void)
{
    size_t before, after, total;
    CUdeviceptr range;
    OK(cuMemGetInfo(&before, &total));
    CUmemGenericAllocationHandle handle = create(32 * step);
    OK(cuMemGetInfo(&after, &total));
    CHECK(before - after >= 32 * step);
    OK(cuMemAddressReserve(&range, 32 * step, 0, 0, 0));
    OK(cuMemMap(range, 32 * step, 0, handle, 0));
    OK(cuMemRelease(handle));
    OK(cuMemGetInfo(&after, &total));
    CHECK(before - after >= 32 * step);
    OK(cuMemUnmap(range, 32 * step));
    OK(cuMemAddressFree(range, 32 * step));
    OK(cuMemGetInfo(&after, &total));
    CHECK(after == before);
    CUmemAllocationProp p = properties();
    FAILS(cuMemCreate(&handle, (total / step + 1) * step, &p, 0), CUDA_ERROR_OUT_OF_MEMORY);
    FAILS(cuMemCreate(&handle, step / 2, &p, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemAddressReserve(&range, 100, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
}

/* A file descriptor stands for the memory, whoever has it. */
static void shared(void)
{
    CUmemAllocationProp p = properties();
    CUmemGenericAllocationHandle handle, imported;
    CUdeviceptr here, there;
    int supported = 0, descriptor = -1;
    unsigned value = 0;
    OK(cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED,
                            device));
    if (!supported) return;
    p.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    OK(cuMemCreate(&handle, step, &p, 0));
    OK(cuMemExportToShareableHandle(&descriptor, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    OK(cuMemImportFromShareableHandle(&imported, (void *)(size_t)descriptor,
                                      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    close(descriptor);
    OK(cuMemAddressReserve(&here, step, 0, 0, 0));
    OK(cuMemAddressReserve(&there, step, 0, 0, 0));
    OK(cuMemMap(here, step, 0, handle, 0));
    OK(cuMemMap(there, step, 0, imported, 0));
    set_access(here, step, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    set_access(there, step, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    OK(cuMemsetD32(here, 77, step / 4));
    OK(cuMemcpyDtoH(&value, there + step / 2, sizeof value));
    CHECK(value == 77);
    OK(cuMemUnmap(here, step));
    OK(cuMemUnmap(there, step));
    OK(cuMemRelease(handle));
    OK(cuMemRelease(imported));
    OK(cuMemAddressFree(here, step));
    OK(cuMemAddressFree(there, step));
}

/* A kernel faults where nothing is mapped, and where it has no access; with access it does not. */
static void faults(void)
{
    static const CUmemAccess_flags flags[] = {CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
                                              CU_MEM_ACCESS_FLAGS_PROT_NONE, CU_MEM_ACCESS_FLAGS_PROT_NONE};
    for (int i = 0; i < 3; i++) {
        CUcontext context;
        CUmodule module;
        CUfunction affine;
        CUdeviceptr range, source;
        CUmemGenericAllocationHandle handle = create(step);
        OK(cuCtxCreate(&context, NULL, 0, device));
        OK(cuMemAlloc(&source, 64));
        OK(cuMemAddressReserve(&range, 2 * step, 0, 0, 0));
        OK(cuMemMap(range, step, 0, handle, 0));
        set_access(range, step, flags[i]);
        int count = 4;
        float one = 1;
        CUdeviceptr target = i == 2 ? range + step : range;
        void *parameters[] = {&target, &source, &count, &one, &one};
        OK(cuModuleLoadData(&module, kernels));
        OK(cuModuleGetFunction(&affine, module, "affine"));
        OK(cuLaunchKernel(affine, 1, 1, 1, 32, 1, 1, 0, NULL, parameters, NULL));
        FAILS(cuCtxSynchronize(), i ? CUDA_ERROR_ILLEGAL_ADDRESS : CUDA_SUCCESS);
        OK(cuCtxDestroy(context));
        OK(cuMemUnmap(range, step));
        OK(cuMemRelease(handle));
        OK(cuMemAddressFree(range, 2 * step));
    }
}

int main(void)
{
    device = start();
    int supported = 0;
    OK(cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device));
    if (!supported) return 77;
    CUmemAllocationProp p = properties();
    OK(cuMemGetAllocationGranularity(&step, &p, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    CHECK(step && (step & (step - 1)) == 0);
    side_by_side();
    twice();
    accounts();
    shared();
    faults();
    finish(device);
    return 0;
}
