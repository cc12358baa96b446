/* Queries about pointers: memory of ours looks like cuMemAlloc's, although the driver knows it as managed. */
#include <string.h>

#include "base/log.h"
#include "core/runtime.h"
#include "driver.h"
#include "driver_status.h"
#include "memory.h"
#include "pools.h"
#include "session.h"

#define OUR_NUMBERS ((uint64_t)1 << 63) /* distinct from the driver's own */

/* The value of one attribute. */
struct answer {
    CUresult result;
    uint64_t value;
    size_t bytes; /* 0: no such attribute */
};

static struct answer answer(uint64_t value, size_t bytes)
{
    return (struct answer){CUDA_SUCCESS, value, bytes};
}

/* The driver's answer for an allocation of cuMemAlloc or of a pool. */
static struct answer answer_for(CUpointer_attribute attribute, CUdeviceptr address,
                                const struct sl_allocation *found)
{
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        return answer((uintptr_t)sl_session_context_of(address), sizeof(CUcontext));
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        return answer(CU_MEMORYTYPE_DEVICE, sizeof(unsigned));
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        return answer(address, sizeof(CUdeviceptr));
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        return (struct answer){CUDA_ERROR_INVALID_VALUE, 0, sizeof(void *)};
    case CU_POINTER_ATTRIBUTE_P2P_TOKENS: /* memory of ours cannot be given to another device */
        return (struct answer){CUDA_ERROR_NOT_SUPPORTED, 0, sizeof(CUDA_POINTER_ATTRIBUTE_P2P_TOKENS)};
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        return answer((found->tag & SL_TAG_SYNC_MEMOPS) != 0, sizeof(int));
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
        return answer(found->number | OUR_NUMBERS, sizeof(uint64_t));
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
#if CUDA_VERSION >= 12080
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
#endif
        return answer(0, sizeof(int));
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        return answer((uint64_t)sl_session_device_of(address), sizeof(int));
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
        return answer(found->address, sizeof(void *));
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
        return answer(found->bytes, sizeof(size_t));
    case CU_POINTER_ATTRIBUTE_MAPPED:
        return answer(1, sizeof(int));
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        return answer(0, sizeof(uint64_t));
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        return answer(CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE, sizeof(int));
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        return answer((uintptr_t)sl_pool_handle(found->tag & SL_TAG_POOL), sizeof(CUmemoryPool));
    default:
        return (struct answer){CUDA_ERROR_INVALID_VALUE, 0, 0};
    }
}

CUresult sl_hook_cuPointerGetAttribute(struct sl_call call, sl_fn_cuPointerGetAttribute *real, void *value,
                                       CUpointer_attribute attribute, CUdeviceptr address)
{
    struct sl_allocation found;
    (void)call;
    if (!value || !sl_session_owns(address)) return real(value, attribute, address);
    CUresult refusal = sl_driver_refusal(address);
    if (refusal != CUDA_SUCCESS) return refusal;
    if (!sl_memory_find(address, &found)) return CUDA_ERROR_INVALID_VALUE;
    struct answer answer = answer_for(attribute, address, &found);
    if (answer.result == CUDA_SUCCESS) memcpy(value, &answer.value, answer.bytes);
    return answer.result;
}

/* For an address without an allocation all values are zero, except for the device. */
static struct answer answer_for_nothing(CUpointer_attribute attribute)
{
    static const struct sl_allocation none;
    struct answer answer = answer_for(attribute, 0, &none);
    answer.value = attribute == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL ? (uint64_t)CU_DEVICE_INVALID : 0;
    return answer;
}

/* This plural form gives zero for an attribute that does not apply, not an error. */
CUresult sl_hook_cuPointerGetAttributes(struct sl_call call, sl_fn_cuPointerGetAttributes *real,
                                        unsigned count, CUpointer_attribute *attributes, void **values,
                                        CUdeviceptr address)
{
    struct sl_allocation found;
    (void)call;
    if (!count || !attributes || !values || !sl_session_owns(address))
        return real(count, attributes, values, address);
    CUresult refusal = sl_driver_refusal(address);
    if (refusal != CUDA_SUCCESS) return refusal;
    bool live = sl_memory_find(address, &found);
    for (unsigned i = 0; i < count; i++) {
        struct answer answer =
            live ? answer_for(attributes[i], address, &found) : answer_for_nothing(attributes[i]);
        if (!values[i] || !answer.bytes) return CUDA_ERROR_INVALID_VALUE;
        if (answer.result == CUDA_ERROR_NOT_SUPPORTED) return answer.result;
        memcpy(values[i], &answer.value, answer.bytes);
    }
    return CUDA_SUCCESS;
}

/* The driver would set it for the whole arena. Recorded here, it makes synchronous copies and memsets wait
 * (work.h). */
CUresult sl_hook_cuPointerSetAttribute(struct sl_call call, sl_fn_cuPointerSetAttribute *real,
                                       const void *value, CUpointer_attribute attribute, CUdeviceptr address)
{
    (void)call;
    if (!value || !sl_session_owns(address)) return real(value, attribute, address);
    if (attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS) return CUDA_ERROR_INVALID_VALUE;
    CUresult refusal = sl_driver_refusal(address);
    if (refusal != CUDA_SUCCESS) return refusal;
    bool on = *(const unsigned *)value != 0;
    return sl_runtime_tag(address, SL_TAG_SYNC_MEMOPS, on ? SL_TAG_SYNC_MEMOPS : 0)
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
}

CUresult sl_hook_cuMemGetAddressRange_v2(struct sl_call call, sl_fn_cuMemGetAddressRange_v2 *real,
                                         CUdeviceptr *base, size_t *bytes, CUdeviceptr address)
{
    struct sl_allocation found;
    (void)call;
    if (!sl_session_owns(address)) return real(base, bytes, address);
    CUresult refusal = sl_driver_refusal(address);
    if (refusal != CUDA_SUCCESS) return refusal;
    if (!sl_memory_find(address, &found)) return CUDA_ERROR_NOT_FOUND;
    if (base) *base = found.address;
    if (bytes) *bytes = found.bytes;
    return CUDA_SUCCESS;
}

/* Managed memory cannot be exported, and a neighbour in the same chunk must not be exported. */
static CUresult refuse_export(CUdeviceptr address)
{
    CUresult refusal = sl_driver_refusal(address);
    if (refusal != CUDA_SUCCESS) return refusal;
    uint64_t site = sl_runtime_must_be_device(address);
    sl_warn_once(
        "the program exports device memory to another process or device, which sluice's memory cannot do: "
        "the call fails with CUDA_ERROR_NOT_SUPPORTED. What is allocated there from now on is the driver's, "
        "also in the next run, if it has the same SLUICE_PROFILE, or SLUICE_BACKING=site:%016llx=device",
        (unsigned long long)site);
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult sl_hook_cuIpcGetMemHandle(struct sl_call call, sl_fn_cuIpcGetMemHandle *real, CUipcMemHandle *handle,
                                   CUdeviceptr address)
{
    (void)call;
    return sl_session_owns(address) ? refuse_export(address) : real(handle, address);
}

CUresult sl_hook_cuMemGetHandleForAddressRange(struct sl_call call, sl_fn_cuMemGetHandleForAddressRange *real,
                                               void *handle, CUdeviceptr address, size_t bytes,
                                               CUmemRangeHandleType type, unsigned long long flags)
{
    (void)call;
    return sl_session_owns(address) ? refuse_export(address) : real(handle, address, bytes, type, flags);
}

/* The size that cuMemGetInfo reports, also before there is a context. */
CUresult sl_hook_cuDeviceTotalMem_v2(struct sl_call call, sl_fn_cuDeviceTotalMem_v2 *real, size_t *bytes,
                                     CUdevice device)
{
    uint64_t ours;
    (void)call;
    CUresult result = real(bytes, device);
    if (result == CUDA_SUCCESS && sl_session_may_manage(device) && sl_runtime_device_bytes(&ours))
        *bytes = ours;
    return result;
}
