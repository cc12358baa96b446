/* The functions that return handles for launches: record the kind of each handle without asking the driver
 * about it. */
#include "core/runtime.h"
#include "device/backend_cuda.h"
#include "driver.h"
#include "load.h"

CUresult sl_hook_cuModuleGetFunction(struct sl_call call, sl_fn_cuModuleGetFunction *real,
                                     CUfunction *function, CUmodule module, const char *name)
{
    (void)call;
    struct sl_loading load = sl_load_begin(NULL);
    CUresult result = real(function, module, name);
    sl_load_end(&load, result == CUDA_SUCCESS ? (uintptr_t)module : 0);
    if (result == CUDA_SUCCESS && sl_runtime_wanted())
        sl_handle_note((uintptr_t)*function, SL_HANDLE_FUNCTION, (uintptr_t)module);
    return result;
}

CUresult sl_hook_cuModuleEnumerateFunctions(struct sl_call call, sl_fn_cuModuleEnumerateFunctions *real,
                                            CUfunction *functions, unsigned count, CUmodule module)
{
    (void)call;
    CUresult result = real(functions, count, module);
    if (result != CUDA_SUCCESS || !sl_runtime_wanted()) return result;
    const struct sl_cuda_driver *driver = sl_driver_functions();
    unsigned there = 0;
    if (!driver || !driver->module_get_function_count ||
        driver->module_get_function_count(&there, module) != CUDA_SUCCESS)
        return result;
    for (unsigned i = 0; i < count && i < there; i++)
        sl_handle_note((uintptr_t)functions[i], SL_HANDLE_FUNCTION, (uintptr_t)module);
    return result;
}

CUresult sl_hook_cuLibraryGetKernel(struct sl_call call, sl_fn_cuLibraryGetKernel *real, CUkernel *kernel,
                                    CUlibrary library, const char *name)
{
    (void)call;
    CUresult result = real(kernel, library, name);
    if (result != CUDA_SUCCESS || !sl_runtime_wanted()) return result;
    sl_handle_note((uintptr_t)*kernel, SL_HANDLE_KERNEL, (uintptr_t)library);
    /* It is about to be launched: loaded here, what it takes is known and there is room for it. */
    const struct sl_cuda_driver *driver = sl_driver_functions();
    struct sl_loading load = sl_load_begin(NULL);
    CUfunction function;
    if (load.on && driver->kernel_get_function) driver->kernel_get_function(&function, *kernel);
    sl_load_end(&load, (uintptr_t)library);
    return result;
}

CUresult sl_hook_cuLibraryEnumerateKernels(struct sl_call call, sl_fn_cuLibraryEnumerateKernels *real,
                                           CUkernel *kernels, unsigned count, CUlibrary library)
{
    (void)call;
    CUresult result = real(kernels, count, library);
    if (result != CUDA_SUCCESS || !sl_runtime_wanted()) return result;
    const struct sl_cuda_driver *driver = sl_driver_functions();
    unsigned there = 0;
    if (!driver || !driver->library_get_kernel_count ||
        driver->library_get_kernel_count(&there, library) != CUDA_SUCCESS)
        return result;
    for (unsigned i = 0; i < count && i < there; i++)
        sl_handle_note((uintptr_t)kernels[i], SL_HANDLE_KERNEL, (uintptr_t)library);
    return result;
}

CUresult sl_hook_cuKernelGetFunction(struct sl_call call, sl_fn_cuKernelGetFunction *real,
                                     CUfunction *function, CUkernel kernel)
{
    (void)call;
    uint64_t owner = sl_handle_owner((uintptr_t)kernel);
    struct sl_loading load = sl_load_begin(NULL);
    CUresult result = real(function, kernel);
    sl_load_end(&load, result == CUDA_SUCCESS ? owner : 0);
    if (result == CUDA_SUCCESS && sl_runtime_wanted())
        sl_handle_note((uintptr_t)*function, SL_HANDLE_FUNCTION, owner);
    return result;
}
