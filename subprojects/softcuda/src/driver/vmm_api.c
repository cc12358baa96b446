/* The API of virtual memory management. */
#include "vmm.h"

/* Only plain device memory is supported. */
static CUresult check_properties(const char *function, const CUmemAllocationProp *p)
{
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    if (p->type == CU_MEM_ALLOCATION_TYPE_MANAGED) return sc_refuse(function, "managed memory");
    if (p->type != CU_MEM_ALLOCATION_TYPE_PINNED || p->win32HandleMetaData) return CUDA_ERROR_INVALID_VALUE;
    if (p->location.type == CU_MEM_LOCATION_TYPE_HOST || p->location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA)
        return sc_refuse(function, "host memory");
    if (p->location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
    if (!sc_device_at(p->location.id)) return CUDA_ERROR_INVALID_DEVICE;
    if (p->requestedHandleTypes & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return sc_refuse(function, "a handle that is not a file descriptor");
    if (p->allocFlags.gpuDirectRDMACapable || p->allocFlags.usage)
        return sc_refuse(function, "memory for RDMA, sparse arrays or decompression");
    return CUDA_SUCCESS;
}

static bool aligned(uint64_t value)
{
    return value % SC_VMM_GRANULARITY == 0;
}

CUresult CUDAAPI cuMemGetAllocationGranularity(size_t *out, const CUmemAllocationProp *properties,
                                               CUmemAllocationGranularity_flags option)
{
    if (!out || (unsigned)option > CU_MEM_ALLOC_GRANULARITY_RECOMMENDED) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = check_properties("cuMemGetAllocationGranularity", properties);
    if (result) return result;
    result = sc_enter(SC_NEED_INIT);
    if (result) return result;
    *out = SC_VMM_GRANULARITY;
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemAddressReserve(CUdeviceptr *out, size_t bytes, size_t align, CUdeviceptr hint,
                                     unsigned long long flags)
{
    if (!out || !bytes || bytes % 4096 || align & (align - 1) || flags) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter(SC_NEED_INIT);
    if (result) return result;
    uint64_t begin = sc_vmm_reserve(bytes, align > SC_VMM_GRANULARITY ? align : SC_VMM_GRANULARITY, hint);
    if (begin) *out = begin;
    return sc_leave(begin ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

CUresult CUDAAPI cuMemAddressFree(CUdeviceptr address, size_t bytes)
{
    CUresult result = sc_enter(SC_NEED_INIT);
    return result ? result : sc_leave(sc_vmm_free(address, bytes));
}

CUresult CUDAAPI cuMemCreate(CUmemGenericAllocationHandle *out, size_t bytes,
                             const CUmemAllocationProp *properties, unsigned long long flags)
{
    if (!out || !bytes || !aligned(bytes) || flags) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = check_properties("cuMemCreate", properties);
    if (result) return result;
    result = sc_enter(SC_NEED_INIT);
    if (result) return result;
    CUmemAllocationProp kept = *properties;
    kept.allocFlags.compressionType = CU_MEM_ALLOCATION_COMP_NONE; /* a hint, which is ignored */
    struct sc_physical *physical;
    result = sc_physical_create(bytes, &kept, &physical);
    if (!result) *out = (CUmemGenericAllocationHandle)physical;
    return sc_leave(result);
}

/* On success the lock is held. pre: like sc_enter. */
static CUresult enter_physical(CUmemGenericAllocationHandle handle, struct sc_physical **out)
{
    CUresult result = sc_enter(SC_NEED_INIT);
    if (result) return result;
    if (!sc_handle_is((const void *)handle, SC_HANDLE_PHYSICAL)) return sc_leave(CUDA_ERROR_INVALID_VALUE);
    *out = (struct sc_physical *)handle;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemRelease(CUmemGenericAllocationHandle handle)
{
    struct sc_physical *physical;
    CUresult result = enter_physical(handle, &physical);
    if (result) return result;
    sc_physical_release(physical);
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *out, void *address)
{
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter(SC_NEED_INIT);
    if (result) return result;
    struct sc_physical *physical = sc_physical_at((uint64_t)address);
    if (physical) *out = (CUmemGenericAllocationHandle)physical;
    return sc_leave(physical ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult CUDAAPI cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *out,
                                                        CUmemGenericAllocationHandle handle)
{
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    struct sc_physical *physical;
    CUresult result = enter_physical(handle, &physical);
    if (result) return result;
    *out = *sc_physical_properties(physical);
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemExportToShareableHandle(void *out, CUmemGenericAllocationHandle handle,
                                              CUmemAllocationHandleType type, unsigned long long flags)
{
    if (!out || flags) return CUDA_ERROR_INVALID_VALUE;
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return sc_refuse("cuMemExportToShareableHandle", "a handle that is not a file descriptor");
    struct sc_physical *physical;
    CUresult result = enter_physical(handle, &physical);
    if (result) return result;
    if (!(sc_physical_properties(physical)->requestedHandleTypes & type))
        return sc_leave(CUDA_ERROR_INVALID_VALUE);
    int descriptor = sc_physical_export(physical);
    if (descriptor >= 0) *(int *)out = descriptor;
    return sc_leave(descriptor >= 0 ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM);
}

CUresult CUDAAPI cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *out, void *handle,
                                                CUmemAllocationHandleType type)
{
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return sc_refuse("cuMemImportFromShareableHandle", "a handle that is not a file descriptor");
    CUresult result = sc_enter(SC_NEED_INIT);
    if (result) return result;
    struct sc_physical *physical;
    result = sc_physical_import((int)(uintptr_t)handle, &physical);
    if (!result) *out = (CUmemGenericAllocationHandle)physical;
    return sc_leave(result);
}

CUresult CUDAAPI cuMemMap(CUdeviceptr address, size_t bytes, size_t offset,
                          CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    if (!bytes || !aligned(address) || !aligned(bytes) || offset || flags) return CUDA_ERROR_INVALID_VALUE;
    struct sc_physical *physical;
    CUresult result = enter_physical(handle, &physical);
    return result ? result : sc_leave(sc_vmm_map(address, bytes, physical));
}

CUresult CUDAAPI cuMemUnmap(CUdeviceptr address, size_t bytes)
{
    if (!bytes) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter(SC_NEED_INIT);
    return result ? result : sc_leave(sc_vmm_unmap(address, bytes));
}

static CUresult check_place(const CUmemLocation *location)
{
    if (location->type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
    return sc_device_at(location->id) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult CUDAAPI cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc *wanted,
                                size_t count)
{
    if (!wanted || !count || !bytes || !aligned(address) || !aligned(bytes)) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) {
        CUresult wrong = check_place(&wanted[i].location);
        if (wrong) return wrong;
        if (wanted[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READ)
            return sc_refuse("cuMemSetAccess", "memory that can only be read");
        if (wanted[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE &&
            wanted[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
            return CUDA_ERROR_INVALID_VALUE;
    }
    CUresult result = sc_enter(SC_NEED_INIT);
    if (result) return result;
    for (size_t i = 0; i < count && !result; i++)
        result = sc_vmm_set_access(address, bytes, wanted[i].location.id,
                                   wanted[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE);
    return sc_leave(result);
}

CUresult CUDAAPI cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location, CUdeviceptr address)
{
    if (!flags || !location) return CUDA_ERROR_INVALID_VALUE;
    CUresult wrong = check_place(location);
    if (wrong) return wrong;
    CUresult result = sc_enter(SC_NEED_INIT);
    if (result) return result;
    bool access;
    result = sc_vmm_get_access(address, location->id, &access);
    if (!result) *flags = access ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return sc_leave(result);
}
