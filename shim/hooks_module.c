/* Module variables: data copied into them may be pointers that the module's kernels follow. */
#include "driver.h"
#include "load.h"
#include "session.h"

/* `library`: the variable's library, or NULL if its module is `module`. */
static void note(CUmodule module, CUlibrary library, CUdeviceptr address, size_t bytes)
{
    const struct sl_cuda_driver *driver = sl_driver_functions();
    if (library && (!driver || !driver->library_get_module ||
                    driver->library_get_module(&module, library) != CUDA_SUCCESS))
        return;
    sl_runtime_variable(address, bytes, (uintptr_t)module);
}

CUresult sl_hook_cuModuleGetGlobal_v2(struct sl_call call, sl_fn_cuModuleGetGlobal_v2 *real,
                                      CUdeviceptr *address, size_t *bytes, CUmodule module, const char *name)
{
    (void)call;
    CUdeviceptr at;
    size_t length;
    struct sl_loading load = sl_load_begin(NULL);
    CUresult result = real(address, bytes, module, name);
    sl_load_end(&load, result == CUDA_SUCCESS ? (uintptr_t)module : 0);
    if (result == CUDA_SUCCESS && sl_session_on_for_memory() &&
        real(&at, &length, module, name) == CUDA_SUCCESS)
        note(module, NULL, at, length);
    return result;
}

CUresult sl_hook_cuLibraryGetGlobal(struct sl_call call, sl_fn_cuLibraryGetGlobal *real, CUdeviceptr *address,
                                    size_t *bytes, CUlibrary library, const char *name)
{
    (void)call;
    CUdeviceptr at;
    size_t length;
    struct sl_loading load = sl_load_begin(NULL);
    CUresult result = real(address, bytes, library, name);
    sl_load_end(&load, result == CUDA_SUCCESS ? (uintptr_t)library : 0);
    if (result == CUDA_SUCCESS && sl_session_on_for_memory() &&
        real(&at, &length, library, name) == CUDA_SUCCESS)
        note(NULL, library, at, length);
    return result;
}
