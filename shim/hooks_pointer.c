/* What the program learns of a pointer: our memory looks like cuMemAlloc's, though the driver knows it as
 * managed. */
#include <string.h>

#include "driver.h"
#include "log.h"
#include "pools.h"
#include "runtime.h"
#include "session.h"

/* One attribute's value, as the driver would write it for an allocation of cuMemAlloc. */
struct answer {
    CUresult result;
    uint64_t value;
    size_t bytes; /* 0: the driver's own answer stands */
};

static struct answer answer_for(CUpointer_attribute attribute, CUdeviceptr address)
{
    struct sl_allocation found;
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        return (struct answer){CUDA_SUCCESS, (uint64_t)(uintptr_t)sl_session_context(), sizeof(CUcontext)};
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        return (struct answer){CUDA_SUCCESS, CU_MEMORYTYPE_DEVICE, sizeof(unsigned)};
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        return (struct answer){CUDA_SUCCESS, address, sizeof(CUdeviceptr)};
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        return (struct answer){CUDA_ERROR_INVALID_VALUE, 0, sizeof(void *)};
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
        return (struct answer){CUDA_SUCCESS, 0, sizeof(int)};
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        return (struct answer){CUDA_SUCCESS, (uint64_t)sl_session_device(), sizeof(int)};
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        if (!sl_runtime_find(address, &found))
            return (struct answer){CUDA_ERROR_INVALID_VALUE, 0, sizeof(void *)};
        return (struct answer){CUDA_SUCCESS, found.address, sizeof(void *)};
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        if (!sl_runtime_find(address, &found))
            return (struct answer){CUDA_ERROR_INVALID_VALUE, 0, sizeof(size_t)};
        return (struct answer){CUDA_SUCCESS, found.bytes, sizeof(size_t)};
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        if (!sl_runtime_find(address, &found))
            return (struct answer){CUDA_ERROR_INVALID_VALUE, 0, sizeof(CUmemoryPool)};
        return (struct answer){CUDA_SUCCESS, (uint64_t)(uintptr_t)sl_pool_handle(found.tag),
                               sizeof(CUmemoryPool)};
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        return (struct answer){CUDA_SUCCESS, 0, sizeof(uint64_t)};
    default:
        return (struct answer){CUDA_SUCCESS, 0, 0};
    }
}

CUresult sl_hook_cuPointerGetAttribute(struct sl_call call, sl_fn_cuPointerGetAttribute *real, void *value,
                                       CUpointer_attribute attribute, CUdeviceptr address)
{
    (void)call;
    if (!value || !sl_session_owns(address)) return real(value, attribute, address);
    struct answer answer = answer_for(attribute, address);
    if (!answer.bytes) return real(value, attribute, address);
    if (answer.result == CUDA_SUCCESS) memcpy(value, &answer.value, answer.bytes);
    return answer.result;
}

/* In the plural an attribute that does not apply is zero, not an error. */
CUresult sl_hook_cuPointerGetAttributes(struct sl_call call, sl_fn_cuPointerGetAttributes *real,
                                        unsigned count, CUpointer_attribute *attributes, void **values,
                                        CUdeviceptr address)
{
    (void)call;
    CUresult result = real(count, attributes, values, address);
    if (result != CUDA_SUCCESS || !sl_session_owns(address)) return result;
    for (unsigned i = 0; i < count; i++) {
        struct answer answer = answer_for(attributes[i], address);
        memcpy(values[i], &answer.value, answer.bytes);
    }
    return CUDA_SUCCESS;
}

CUresult sl_hook_cuMemGetAddressRange_v2(struct sl_call call, sl_fn_cuMemGetAddressRange_v2 *real,
                                         CUdeviceptr *base, size_t *bytes, CUdeviceptr address)
{
    struct sl_allocation found;
    (void)call;
    if (!sl_session_owns(address)) return real(base, bytes, address);
    if (!sl_runtime_find(address, &found)) return CUDA_ERROR_NOT_FOUND;
    if (base) *base = found.address;
    if (bytes) *bytes = found.bytes;
    return CUDA_SUCCESS;
}

/* Managed memory cannot be exported, and a neighbour in the same chunk must not be. */
static CUresult refuse_export(void)
{
    sl_warn_once(
        "the program exports device memory to another process or device, which sluice's memory cannot do: "
        "the call fails with CUDA_ERROR_NOT_SUPPORTED");
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult sl_hook_cuIpcGetMemHandle(struct sl_call call, sl_fn_cuIpcGetMemHandle *real, CUipcMemHandle *handle,
                                   CUdeviceptr address)
{
    (void)call;
    return sl_session_owns(address) ? refuse_export() : real(handle, address);
}

CUresult sl_hook_cuMemGetHandleForAddressRange(struct sl_call call, sl_fn_cuMemGetHandleForAddressRange *real,
                                               void *handle, CUdeviceptr address, size_t bytes,
                                               CUmemRangeHandleType type, unsigned long long flags)
{
    (void)call;
    return sl_session_owns(address) ? refuse_export() : real(handle, address, bytes, type, flags);
}
