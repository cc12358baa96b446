/* Device memory that stays the driver's: it passes through, and takes its bytes of the budget as long as it
 * is there. Not followed: memory of sparse arrays whose handle was released while it is mapped, and memory
 * that only a multicast object still binds.
 */
#include "array_bytes.h"
#include "charge.h"
#include "core/runtime.h"
#include "driver.h"
#include "memory.h"
#include "physical.h"
#include "session.h"

/* Virtual memory management needs no current context. */
static bool on_managed_device(const CUmemLocation *location)
{
    return location->type == CU_MEM_LOCATION_TYPE_DEVICE &&
           (sl_runtime_running() || sl_session_on_for_memory()) && location->id == sl_session_device();
}

/* Without a current context too (NCCL makes host memory this way): only our device's memory counts. */
CUresult sl_hook_cuMemCreate(struct sl_call call, sl_fn_cuMemCreate *real,
                             CUmemGenericAllocationHandle *handle, size_t bytes,
                             const CUmemAllocationProp *properties, unsigned long long flags)
{
    CUresult result = real(handle, bytes, properties, flags);
    if (result == CUDA_SUCCESS && on_managed_device(&properties->location)) sl_physical_made(*handle, bytes);
    return sl_memory_answer(call, result, bytes);
}

CUresult sl_hook_cuMemImportFromShareableHandle(struct sl_call call,
                                                sl_fn_cuMemImportFromShareableHandle *real,
                                                CUmemGenericAllocationHandle *handle, void *from,
                                                CUmemAllocationHandleType type)
{
    CUmemAllocationProp properties;
    (void)call;
    CUresult result = real(handle, from, type);
    const struct sl_cuda_driver *driver = result == CUDA_SUCCESS ? sl_driver_functions() : NULL;
    if (driver && driver->mem_get_properties &&
        driver->mem_get_properties(&properties, *handle) == CUDA_SUCCESS &&
        on_managed_device(&properties.location))
        sl_physical_made(*handle, 0);
    return result;
}

CUresult sl_hook_cuMemRetainAllocationHandle(struct sl_call call, sl_fn_cuMemRetainAllocationHandle *real,
                                             CUmemGenericAllocationHandle *handle, void *address)
{
    (void)call;
    CUresult result = real(handle, address);
    if (result == CUDA_SUCCESS) sl_physical_retained(*handle, (uintptr_t)address);
    return result;
}

/* Told of before the driver's call: afterwards another thread may get the same number. A handle that is none
 * is not known here either. */
CUresult sl_hook_cuMemRelease(struct sl_call call, sl_fn_cuMemRelease *real,
                              CUmemGenericAllocationHandle handle)
{
    (void)call;
    sl_physical_released(handle);
    return real(handle);
}

CUresult sl_hook_cuMemMap(struct sl_call call, sl_fn_cuMemMap *real, CUdeviceptr address, size_t bytes,
                          size_t offset, CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    CUresult result = real(address, bytes, offset, handle, flags);
    if (result == CUDA_SUCCESS && sl_physical_mapped(address, bytes, handle))
        sl_memory_note(call, address, bytes);
    return result;
}

/* The addresses stay reserved, so nobody else maps there meanwhile. */
CUresult sl_hook_cuMemUnmap(struct sl_call call, sl_fn_cuMemUnmap *real, CUdeviceptr address, size_t bytes)
{
    (void)call;
    CUresult result = real(address, bytes);
    if (result != CUDA_SUCCESS) return result;
    sl_physical_unmapped(address, bytes);
    sl_runtime_note_unmap(address, bytes);
    return result;
}

static CUresult note_opened(CUresult result, const CUdeviceptr *address)
{
    CUdeviceptr base;
    size_t bytes;
    if (result == CUDA_SUCCESS && sl_session_on_for_memory() &&
        sl_driver_functions()->mem_get_address_range &&
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

/* What is mapped of it is no more memory. */
CUresult sl_hook_cuImportExternalMemory(struct sl_call call, sl_fn_cuImportExternalMemory *real,
                                        CUexternalMemory *memory,
                                        const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *description)
{
    (void)call;
    CUresult result = real(memory, description);
    if (result == CUDA_SUCCESS && sl_session_on_for_memory())
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

/* Charges an array that was made, and hands the answer on. */
static CUresult array_made(struct sl_call call, CUresult result, const void *const *array,
                           const CUDA_ARRAY3D_DESCRIPTOR *shape, unsigned levels)
{
    uint64_t bytes = shape ? sl_array_bytes(shape, levels) : 0;
    if (result == CUDA_SUCCESS && sl_session_on_for_memory())
        sl_charge(SL_CHARGE_ARRAY, (uintptr_t)*array, bytes);
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
