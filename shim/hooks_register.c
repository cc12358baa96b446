/* Host memory that the driver pins. Chunks take host memory as well, so the program gets its out-of-memory
 * error here instead of being killed later. Memory of ours is not host memory, although the driver may know
 * it as reachable from the host. */
#include "driver.h"
#include "driver_status.h"
#include "session.h"

static CUresult refuse(const void *pointer)
{
    return sl_driver_refusal_or((uintptr_t)pointer, CUDA_ERROR_INVALID_VALUE);
}

CUresult sl_hook_cuMemAllocHost_v2(struct sl_call call, sl_fn_cuMemAllocHost_v2 *real, void **pointer,
                                   size_t bytes)
{
    (void)call;
    return sl_runtime_take_pinnable(bytes) ? real(pointer, bytes)
                                           : sl_driver_refusal_or(0, CUDA_ERROR_OUT_OF_MEMORY);
}

CUresult sl_hook_cuMemHostAlloc(struct sl_call call, sl_fn_cuMemHostAlloc *real, void **pointer, size_t bytes,
                                unsigned flags)
{
    (void)call;
    return sl_runtime_take_pinnable(bytes) ? real(pointer, bytes, flags)
                                           : sl_driver_refusal_or(0, CUDA_ERROR_OUT_OF_MEMORY);
}

CUresult sl_hook_cuMemHostRegister_v2(struct sl_call call, sl_fn_cuMemHostRegister_v2 *real, void *pointer,
                                      size_t bytes, unsigned flags)
{
    (void)call;
    if (sl_session_owns_part((uintptr_t)pointer, bytes)) return refuse(pointer);
    return sl_runtime_take_registrable((uintptr_t)pointer, bytes)
               ? real(pointer, bytes, flags)
               : sl_driver_refusal_or(0, CUDA_ERROR_OUT_OF_MEMORY);
}

CUresult sl_hook_cuMemHostGetDevicePointer_v2(struct sl_call call, sl_fn_cuMemHostGetDevicePointer_v2 *real,
                                              CUdeviceptr *address, void *pointer, unsigned flags)
{
    (void)call;
    return sl_session_owns((uintptr_t)pointer) ? refuse(pointer) : real(address, pointer, flags);
}

CUresult sl_hook_cuMemHostGetFlags(struct sl_call call, sl_fn_cuMemHostGetFlags *real, unsigned *flags,
                                   void *pointer)
{
    (void)call;
    return sl_session_owns((uintptr_t)pointer) ? refuse(pointer) : real(flags, pointer);
}
