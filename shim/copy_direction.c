#include "copy_direction.h"

#include "core/runtime.h"
#include "driver.h"

enum sl_side sl_side_of(CUdeviceptr address)
{
    if (sl_runtime_owns(address)) return SL_SIDE_DEVICE;
    const struct sl_cuda_driver *driver = sl_driver_functions();
    unsigned type = 0, managed = 0;
    if (!driver || !driver->pointer_get_attribute) return SL_SIDE_UNKNOWN;
    CUresult result = driver->pointer_get_attribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address);
    if (result == CUDA_ERROR_INVALID_VALUE) return SL_SIDE_HOST; /* pageable memory, unknown to the driver */
    if (result != CUDA_SUCCESS ||
        driver->pointer_get_attribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address) != CUDA_SUCCESS ||
        managed)
        return SL_SIDE_UNKNOWN;
    return sl_side_of_type(type, 0);
}

enum sl_side sl_side_of_type(CUmemorytype type, CUdeviceptr address)
{
    switch (type) {
    case CU_MEMORYTYPE_HOST:
        return SL_SIDE_HOST;
    case CU_MEMORYTYPE_DEVICE:
    case CU_MEMORYTYPE_ARRAY:
        return SL_SIDE_DEVICE;
    case CU_MEMORYTYPE_UNIFIED:
        return address ? sl_side_of(address) : SL_SIDE_UNKNOWN;
    }
    return SL_SIDE_UNKNOWN;
}

enum sl_copy_direction sl_link_direction(enum sl_side to, enum sl_side from)
{
    if (to == SL_SIDE_DEVICE && from == SL_SIDE_DEVICE) return SL_COPY_ON_DEVICE;
    if (to == SL_SIDE_DEVICE && from == SL_SIDE_HOST) return SL_COPY_IN;
    if (to == SL_SIDE_HOST && from == SL_SIDE_DEVICE) return SL_COPY_OUT;
    return SL_COPY_UNKNOWN;
}
