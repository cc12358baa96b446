/* Host registration: memory of ours is not host memory, although the driver may know it as reachable from the
 * host. */
#include "driver.h"
#include "session.h"

CUresult sl_hook_cuMemHostRegister_v2(struct sl_call call, sl_fn_cuMemHostRegister_v2 *real, void *pointer,
                                      size_t bytes, unsigned flags)
{
    (void)call;
    return sl_session_owns_part((uintptr_t)pointer, bytes) ? CUDA_ERROR_INVALID_VALUE
                                                           : real(pointer, bytes, flags);
}

CUresult sl_hook_cuMemHostGetDevicePointer_v2(struct sl_call call, sl_fn_cuMemHostGetDevicePointer_v2 *real,
                                              CUdeviceptr *address, void *pointer, unsigned flags)
{
    (void)call;
    return sl_session_owns((uintptr_t)pointer) ? CUDA_ERROR_INVALID_VALUE : real(address, pointer, flags);
}

CUresult sl_hook_cuMemHostGetFlags(struct sl_call call, sl_fn_cuMemHostGetFlags *real, unsigned *flags,
                                   void *pointer)
{
    (void)call;
    return sl_session_owns((uintptr_t)pointer) ? CUDA_ERROR_INVALID_VALUE : real(flags, pointer);
}
