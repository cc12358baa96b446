/* Device memory that stays the driver's: calls pass through, and its bytes are charged to the budget while it
 * exists. Not followed: memory of sparse arrays whose handle was released while mapped, and memory that only
 * a multicast object still binds. */
#include "array_bytes.h"
#include "charge.h"
#include "core/runtime.h"
#include "driver.h"
#include "memory.h"
#include "session.h"

static CUresult note_opened(CUresult result, const CUdeviceptr *address)
{
    CUdeviceptr base;
    size_t bytes;
    if (result == CUDA_SUCCESS && sl_session_charges() && sl_driver_functions()->mem_get_address_range &&
        sl_driver_functions()->mem_get_address_range(&base, &bytes, *address) == CUDA_SUCCESS)
        sl_charge(SL_CHARGE_IPC, *address, bytes);
    return result;
}

CUresult sl_hook_cuIpcOpenMemHandle(struct sl_call call, sl_fn_cuIpcOpenMemHandle *real, CUdeviceptr *address,
                                    CUipcMemHandle handle, unsigned flags)
{
    (void)call;
    return note_opened(real(address, handle, flags), address);
}

CUresult sl_hook_cuIpcOpenMemHandle_v2(struct sl_call call, sl_fn_cuIpcOpenMemHandle_v2 *real,
                                       CUdeviceptr *address, CUipcMemHandle handle, unsigned flags)
{
    (void)call;
    return note_opened(real(address, handle, flags), address);
}

CUresult sl_hook_cuIpcCloseMemHandle(struct sl_call call, sl_fn_cuIpcCloseMemHandle *real,
                                     CUdeviceptr address)
{
    (void)call;
    uint64_t bytes = sl_uncharge(SL_CHARGE_IPC, address);
    CUresult result = real(address);
    if (result != CUDA_SUCCESS) sl_charge(SL_CHARGE_IPC, address, bytes);
    return result;
}

/* Mappings of external memory take no more memory. */
CUresult sl_hook_cuImportExternalMemory(struct sl_call call, sl_fn_cuImportExternalMemory *real,
                                        CUexternalMemory *memory,
                                        const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *description)
{
    (void)call;
    CUresult result = real(memory, description);
    if (result == CUDA_SUCCESS && sl_session_charges())
        sl_charge(SL_CHARGE_EXTERNAL, (uintptr_t)*memory, description->size);
    return result;
}

CUresult sl_hook_cuDestroyExternalMemory(struct sl_call call, sl_fn_cuDestroyExternalMemory *real,
                                         CUexternalMemory memory)
{
    (void)call;
    uint64_t bytes = sl_uncharge(SL_CHARGE_EXTERNAL, (uintptr_t)memory);
    CUresult result = real(memory);
    if (result != CUDA_SUCCESS) sl_charge(SL_CHARGE_EXTERNAL, (uintptr_t)memory, bytes);
    return result;
}

/* Charges a new array and returns the answer. */
static CUresult array_made(struct sl_call call, CUresult result, const void *const *array,
                           const CUDA_ARRAY3D_DESCRIPTOR *shape, unsigned levels)
{
    uint64_t bytes = shape ? sl_array_bytes(shape, levels) : 0;
    if (result == CUDA_SUCCESS && sl_session_charges()) sl_charge(SL_CHARGE_ARRAY, (uintptr_t)*array, bytes);
    return sl_memory_answer(call, result, bytes);
}

CUresult sl_hook_cuArrayCreate_v2(struct sl_call call, sl_fn_cuArrayCreate_v2 *real, CUarray *array,
                                  const CUDA_ARRAY_DESCRIPTOR *shape)
{
    CUresult result = real(array, shape);
    if (!shape) return result;
    CUDA_ARRAY3D_DESCRIPTOR flat = {.Width = shape->Width,
                                    .Height = shape->Height,
                                    .Format = shape->Format,
                                    .NumChannels = shape->NumChannels};
    return array_made(call, result, (const void *const *)array, &flat, 1);
}

CUresult sl_hook_cuArray3DCreate_v2(struct sl_call call, sl_fn_cuArray3DCreate_v2 *real, CUarray *array,
                                    const CUDA_ARRAY3D_DESCRIPTOR *shape)
{
    return array_made(call, real(array, shape), (const void *const *)array, shape, 1);
}

CUresult sl_hook_cuArrayDestroy(struct sl_call call, sl_fn_cuArrayDestroy *real, CUarray array)
{
    (void)call;
    uint64_t bytes = sl_uncharge(SL_CHARGE_ARRAY, (uintptr_t)array);
    CUresult result = real(array);
    if (result != CUDA_SUCCESS) sl_charge(SL_CHARGE_ARRAY, (uintptr_t)array, bytes);
    return result;
}

CUresult sl_hook_cuMipmappedArrayCreate(struct sl_call call, sl_fn_cuMipmappedArrayCreate *real,
                                        CUmipmappedArray *array, const CUDA_ARRAY3D_DESCRIPTOR *shape,
                                        unsigned levels)
{
    return array_made(call, real(array, shape, levels), (const void *const *)array, shape, levels);
}

CUresult sl_hook_cuMipmappedArrayDestroy(struct sl_call call, sl_fn_cuMipmappedArrayDestroy *real,
                                         CUmipmappedArray array)
{
    (void)call;
    uint64_t bytes = sl_uncharge(SL_CHARGE_ARRAY, (uintptr_t)array);
    CUresult result = real(array);
    if (result != CUDA_SUCCESS) sl_charge(SL_CHARGE_ARRAY, (uintptr_t)array, bytes);
    return result;
}
