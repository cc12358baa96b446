/* Modules and libraries: what they take of the device is charged to the budget. A library takes it when a
 * context first needs something of it, or when a kernel is first launched. */
#include "charge.h"
#include "core/runtime.h"
#include "device/backend_cuda.h"
#include "driver.h"
#include "load.h"

static CUresult loaded(const struct sl_loading *load, CUresult result, const void *handle)
{
    sl_load_end(load, result == CUDA_SUCCESS ? (uintptr_t) * (void *const *)handle : 0);
    return result;
}

CUresult sl_hook_cuModuleLoad(struct sl_call call, sl_fn_cuModuleLoad *real, CUmodule *module,
                              const char *path)
{
    (void)call;
    struct sl_loading load = sl_load_begin(NULL);
    return loaded(&load, real(module, path), module);
}

CUresult sl_hook_cuModuleLoadData(struct sl_call call, sl_fn_cuModuleLoadData *real, CUmodule *module,
                                  const void *image)
{
    (void)call;
    struct sl_loading load = sl_load_begin(image);
    return loaded(&load, real(module, image), module);
}

CUresult sl_hook_cuModuleLoadDataEx(struct sl_call call, sl_fn_cuModuleLoadDataEx *real, CUmodule *module,
                                    const void *image, unsigned count, CUjit_option *options, void **values)
{
    (void)call;
    struct sl_loading load = sl_load_begin(image);
    return loaded(&load, real(module, image, count, options, values), module);
}

CUresult sl_hook_cuModuleLoadFatBinary(struct sl_call call, sl_fn_cuModuleLoadFatBinary *real,
                                       CUmodule *module, const void *image)
{
    (void)call;
    struct sl_loading load = sl_load_begin(image);
    return loaded(&load, real(module, image), module);
}

CUresult sl_hook_cuLibraryLoadData(struct sl_call call, sl_fn_cuLibraryLoadData *real, CUlibrary *library,
                                   const void *image, CUjit_option *jit_options, void **jit_values,
                                   unsigned jit_count, CUlibraryOption *options, void **values,
                                   unsigned count)
{
    (void)call;
    struct sl_loading load = sl_load_begin(NULL);
    return loaded(&load, real(library, image, jit_options, jit_values, jit_count, options, values, count),
                  library);
}

CUresult sl_hook_cuLibraryLoadFromFile(struct sl_call call, sl_fn_cuLibraryLoadFromFile *real,
                                       CUlibrary *library, const char *path, CUjit_option *jit_options,
                                       void **jit_values, unsigned jit_count, CUlibraryOption *options,
                                       void **values, unsigned count)
{
    (void)call;
    struct sl_loading load = sl_load_begin(NULL);
    return loaded(&load, real(library, path, jit_options, jit_values, jit_count, options, values, count),
                  library);
}

CUresult sl_hook_cuLibraryGetModule(struct sl_call call, sl_fn_cuLibraryGetModule *real, CUmodule *module,
                                    CUlibrary library)
{
    (void)call;
    struct sl_loading load = sl_load_begin(NULL);
    return loaded(&load, real(module, library), &library);
}

/* The kinds of handles are forgotten before the driver's call, because right after it another thread may get
 * the same handles. Other cached answers are dropped after the call. */
CUresult sl_hook_cuModuleUnload(struct sl_call call, sl_fn_cuModuleUnload *real, CUmodule module)
{
    (void)call;
    sl_handles_forget((uintptr_t)module);
    uint64_t charged = sl_uncharge(SL_CHARGE_MODULE, (uintptr_t)module);
    CUresult result = real(module);
    if (result == CUDA_SUCCESS) sl_runtime_functions_changed();
    if (result != CUDA_SUCCESS) sl_charge(SL_CHARGE_MODULE, (uintptr_t)module, charged);
    return result;
}

CUresult sl_hook_cuLibraryUnload(struct sl_call call, sl_fn_cuLibraryUnload *real, CUlibrary library)
{
    (void)call;
    sl_handles_forget((uintptr_t)library);
    uint64_t charged = sl_uncharge(SL_CHARGE_MODULE, (uintptr_t)library);
    CUresult result = real(library);
    if (result == CUDA_SUCCESS) sl_runtime_functions_changed();
    if (result != CUDA_SUCCESS) sl_charge(SL_CHARGE_MODULE, (uintptr_t)library, charged);
    return result;
}
