/* Stands for NCCL: a library of such a name that makes device memory in order to share it. */
#include "sharing.h"

CUresult sharing_make(CUmemGenericAllocationHandle *handle, CUdeviceptr *address, size_t bytes)
{
    static const CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                                   .requestedHandleTypes =
                                                       CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                                   .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    static const CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
                                           .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUresult result = cuMemCreate(handle, bytes, &properties, 0);
    if (!result) result = cuMemAddressReserve(address, bytes, 0, 0, 0);
    if (!result) result = cuMemMap(*address, bytes, 0, *handle, 0);
    return result ? result : cuMemSetAccess(*address, bytes, &access, 1);
}

CUresult sharing_end(CUmemGenericAllocationHandle handle, CUdeviceptr address, size_t bytes)
{
    CUresult result = cuMemUnmap(address, bytes);
    if (!result) result = cuMemRelease(handle);
    return result ? result : cuMemAddressFree(address, bytes);
}

CUresult sharing_allocate(CUdeviceptr *address, size_t bytes)
{
    CUresult result = cuMemAlloc(address, bytes);
    __asm__ volatile(""); /* no tail call, which would hide the caller */
    return result;
}
