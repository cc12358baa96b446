/* Host memory that the driver pins. Chunks take host memory as well, so the program gets its out-of-memory
 * error here instead of being killed later. Memory of ours is not host memory, although the driver may know
 * it as reachable from the host. */
#include "driver.h"
#include "session.h"

CUresult sl_hook_cuMemAllocHost_v2(struct sl_call call, sl_fn_cuMemAllocHost_v2 *real, void **pointer,
                                   size_t bytes)
{
    (void)call;
    return sl_runtime_may_pin(bytes) ? real(pointer, bytes) : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult sl_hook_cuMemHostAlloc(struct sl_call call, sl_fn_cuMemHostAlloc *real, void **pointer, size_t bytes,
                                unsigned flags)
{
    (void)call;
    return sl_runtime_may_pin(bytes) ? real(pointer, bytes, flags) : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult sl_hook_cuMemHostRegister_v2(struct sl_call call, sl_fn_cuMemHostRegister_v2 *real, void *pointer,
                                      size_t bytes, unsigned flags)
{
    (void)call;
    if (sl_session_owns_part((uintptr_t)pointer, bytes)) return CUDA_ERROR_INVALID_VALUE;
    return sl_runtime_may_register((uintptr_t)pointer, bytes) ? real(pointer, bytes, flags)
                                                              : CUDA_ERROR_OUT_OF_MEMORY;
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
