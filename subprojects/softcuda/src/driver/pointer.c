/* Queries about an address. */
#include <string.h>

#include "pool.h"

static CUresult attribute_of(void *data, CUpointer_attribute attribute,
                             const struct sc_allocation *allocation, uint64_t address)
{
    bool host = allocation->kind == SC_MEMORY_PINNED || allocation->kind == SC_MEMORY_REGISTERED;
    bool managed = allocation->kind == SC_MEMORY_MANAGED;
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        *(CUcontext *)data = allocation->owner;
        break;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(unsigned *)data = host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
        break;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        *(CUdeviceptr *)data = address;
        break;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        if (!host && !managed) return CUDA_ERROR_INVALID_VALUE;
        *(void **)data = (void *)address;
        break;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        *(int *)data = allocation->sync_memops;
        break;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
        *(unsigned long long *)data = allocation->id;
        break;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        *(unsigned *)data = managed;
        break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *(int *)data = allocation->ordinal;
        break;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        *(int *)data = allocation->kind == SC_MEMORY_DEVICE && !allocation->block && !allocation->internal;
        break;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
        *(CUdeviceptr *)data = allocation->begin;
        break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
        *(size_t *)data = allocation->bytes;
        break;
    case CU_POINTER_ATTRIBUTE_MAPPED:
        *(int *)data = 1;
        break;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        *(unsigned long long *)data = 0;
        break;
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
        *(int *)data = 0;
        break;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        *(int *)data = CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE;
        break;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        *(CUmemoryPool *)data = (CUmemoryPool)sc_pool_of(allocation);
        break;
    default:
        return sc_refuse("cuPointerGetAttribute", "this attribute");
    }
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr address)
{
    if (!data) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter_query(SC_NEED_CONTEXT);
    if (result) return result;
    struct sc_allocation *allocation = sc_space_find(address);
    if (!allocation) return sc_leave(CUDA_ERROR_INVALID_VALUE);
    return sc_leave(attribute_of(data, attribute, allocation, address));
}

/* Bytes of an attribute; for an unknown address they are zeroed. */
static size_t attribute_bytes(CUpointer_attribute attribute)
{
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        return 8;
    default:
        return 4;
    }
}

CUresult CUDAAPI cuPointerGetAttributes(unsigned int count, CUpointer_attribute *attributes, void **data,
                                        CUdeviceptr address)
{
    if (!count || !attributes || !data) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter_query(SC_NEED_CONTEXT);
    if (result) return result;
    struct sc_allocation *allocation = sc_space_find(address);
    for (unsigned i = 0; i < count && !result; i++) {
        if (!data[i]) {
            result = CUDA_ERROR_INVALID_VALUE;
            continue;
        }
        /* Unlike cuPointerGetAttribute, this function also succeeds for unknown addresses and for attributes
         * that do not apply. */
        memset(data[i], 0, attribute_bytes(attributes[i]));
        if (!allocation && attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
            *(int *)data[i] = CU_DEVICE_INVALID;
        if (allocation) {
            CUresult answer = attribute_of(data[i], attributes[i], allocation, address);
            if (answer == CUDA_ERROR_NOT_SUPPORTED) result = answer;
        }
    }
    return sc_leave(result);
}

CUresult CUDAAPI cuPointerSetAttribute(const void *value, CUpointer_attribute attribute, CUdeviceptr address)
{
    if (!value || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter(SC_NEED_CONTEXT);
    if (result) return result;
    struct sc_allocation *allocation = sc_space_find(address);
    if (allocation) allocation->sync_memops = *(const unsigned *)value != 0;
    return sc_leave(allocation ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}
