/* Libraries and kernels: modules that do not belong to one context. */
#include <stdlib.h>
#include <string.h>

#include "image.h"
#include "queue.h"

static struct sc_library *libraries;
static unsigned long long next_id = 1;

static void destroy(struct sc_library *library)
{
    struct sc_library **at = &libraries;
    while (*at && *at != library) at = &(*at)->next;
    if (*at) *at = library->next;
    sc_handle_remove(library);
    size_t kernels = library->kernels ? library->catalogue->function_count : 0;
    for (size_t i = 0; i < kernels; i++) sc_handle_remove(&library->kernels[i]);
    free(library->kernels);
    sc_loaded_unload(library->catalogue);
    sc_image_free(library->image);
    free(library->image);
    free(library);
}

static CUresult list_kernels(struct sc_library *library)
{
    size_t count = library->catalogue->function_count;
    library->kernels = calloc(count ? count : 1, sizeof *library->kernels);
    if (!library->kernels) return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < count; i++) {
        library->kernels[i] = (struct sc_kern){library, &library->catalogue->functions[i], -1, -1};
        if (!sc_handle_add(&library->kernels[i], SC_HANDLE_KERNEL)) return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return CUDA_SUCCESS;
}

static CUresult load(CUlibrary *out, const void *code, size_t bytes, const struct sc_jit_log *log)
{
    CUresult result = sc_enter(SC_NEED_INIT);
    if (result) return result;
    struct sc_library *library = calloc(1, sizeof *library);
    if (library) library->image = calloc(1, sizeof *library->image);
    if (!library || !library->image) {
        free(library);
        return sc_leave(CUDA_ERROR_OUT_OF_MEMORY);
    }
    library->id = next_id++;
    library->next = libraries;
    libraries = library;
    result = sc_image_read(code, bytes, log, library->image);
    if (!result) result = sc_image_load(library->image, NULL, library, &library->catalogue);
    if (!result) result = list_kernels(library);
    if (!result && !sc_handle_add(library, SC_HANDLE_LIBRARY)) result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result)
        destroy(library);
    else
        *out = (CUlibrary)library;
    return sc_leave(result);
}

CUresult CUDAAPI cuLibraryLoadData(CUlibrary *out, const void *code, CUjit_option *jit_options,
                                   void **jit_values, unsigned int jit_count, CUlibraryOption *options,
                                   void **values, unsigned int count)
{
    (void)options, (void)values, (void)count; /* they describe the lifetime of `code`, which is copied */
    if (!out || !code) return CUDA_ERROR_INVALID_VALUE;
    struct sc_jit_log log;
    sc_jit_log_find(&log, jit_count, jit_options, jit_values);
    return load(out, code, 0, &log);
}

CUresult CUDAAPI cuLibraryLoadFromFile(CUlibrary *out, const char *path, CUjit_option *jit_options,
                                       void **jit_values, unsigned int jit_count, CUlibraryOption *options,
                                       void **values, unsigned int count)
{
    (void)options, (void)values, (void)count;
    if (!out || !path) return CUDA_ERROR_INVALID_VALUE;
    struct sc_jit_log log;
    sc_jit_log_find(&log, jit_count, jit_options, jit_values);
    void *data = NULL;
    size_t bytes = 0;
    CUresult result = sc_file_read(path, &data, &bytes);
    if (!result) result = load(out, data, bytes, &log);
    free(data);
    return result;
}

static CUresult enter_library(CUlibrary handle, enum sc_need need, struct sc_library **out)
{
    CUresult result = sc_enter(need);
    if (result) return result;
    if (!sc_handle_is(handle, SC_HANDLE_LIBRARY)) return sc_leave(CUDA_ERROR_INVALID_HANDLE);
    *out = (struct sc_library *)handle;
    return CUDA_SUCCESS;
}

/* The library's module in a context, or NULL. */
static struct sc_loaded *find_in(const struct sc_library *library, const struct sc_context *context)
{
    for (struct sc_loaded *loaded = context->modules; loaded; loaded = loaded->next)
        if (loaded->library == library) return loaded;
    return NULL;
}

CUresult CUDAAPI cuLibraryUnload(CUlibrary handle)
{
    struct sc_library *library;
    CUresult result = enter_library(handle, SC_NEED_INIT, &library);
    if (result) return result;
    struct sc_context *context = sc_contexts();
    while (context) {
        struct sc_loaded *loaded = find_in(library, context);
        if (!loaded) {
            context = context->next;
            continue;
        }
        sc_queue_wait_context(context);
        /* The wait released the lock: check everything again. */
        if (!sc_handle_is(handle, SC_HANDLE_LIBRARY)) return sc_leave(CUDA_ERROR_INVALID_HANDLE);
        if (sc_handle_is(context, SC_HANDLE_CONTEXT)) sc_loaded_unload(find_in(library, context));
        context = sc_contexts();
    }
    destroy(library);
    return sc_leave(CUDA_SUCCESS);
}

CUresult sc_library_in(struct sc_library *library, struct sc_context *context, struct sc_loaded **out)
{
    struct sc_loaded *loaded = find_in(library, context);
    if (!loaded) {
        CUresult result = sc_image_load(library->image, context, library, &loaded);
        if (result) return result;
    }
    *out = loaded;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuLibraryGetKernel(CUkernel *out, CUlibrary handle, const char *name)
{
    if (!out || !name) return CUDA_ERROR_INVALID_VALUE;
    struct sc_library *library;
    CUresult result = enter_library(handle, SC_NEED_INIT, &library);
    if (result) return result;
    struct sc_func *func = sc_loaded_function(library->catalogue, name);
    if (func) *out = (CUkernel)&library->kernels[func - library->catalogue->functions];
    return sc_leave(func ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND);
}

CUresult CUDAAPI cuLibraryGetKernelCount(unsigned int *count, CUlibrary handle)
{
    if (!count) return CUDA_ERROR_INVALID_VALUE;
    struct sc_library *library;
    CUresult result = enter_library(handle, SC_NEED_INIT, &library);
    if (result) return result;
    *count = (unsigned)library->catalogue->function_count;
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuLibraryEnumerateKernels(CUkernel *kernels, unsigned int count, CUlibrary handle)
{
    if (!kernels || !count) return CUDA_ERROR_INVALID_VALUE;
    struct sc_library *library;
    CUresult result = enter_library(handle, SC_NEED_INIT, &library);
    if (result) return result;
    for (unsigned i = 0; i < count && i < library->catalogue->function_count; i++)
        kernels[i] = (CUkernel)&library->kernels[i];
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuLibraryGetModule(CUmodule *out, CUlibrary handle)
{
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    struct sc_library *library;
    CUresult result = enter_library(handle, SC_NEED_CONTEXT, &library);
    if (result) return result;
    struct sc_loaded *loaded;
    result = sc_library_in(library, sc_current(), &loaded);
    if (!result) *out = (CUmodule)loaded;
    return sc_leave(result);
}

CUresult CUDAAPI cuLibraryGetGlobal(CUdeviceptr *address, size_t *bytes, CUlibrary handle, const char *name)
{
    if ((!address && !bytes) || !name) return CUDA_ERROR_INVALID_VALUE;
    struct sc_library *library;
    CUresult result = enter_library(handle, SC_NEED_CONTEXT, &library);
    if (result) return result;
    struct sc_loaded *loaded;
    result = sc_library_in(library, sc_current(), &loaded);
    uint64_t found = 0;
    size_t size = 0;
    if (!result && !sc_loaded_variable(loaded, name, &found, &size)) result = CUDA_ERROR_NOT_FOUND;
    if (!result && address) *address = found;
    if (!result && bytes) *bytes = size;
    return sc_leave(result);
}

/* The module for a query about the library's managed variables: the one in the current context or, without a
 * context, any. */
static CUresult loaded_anywhere(struct sc_library *library, struct sc_loaded **out)
{
    if (sc_current()) return sc_library_in(library, sc_current(), out);
    for (struct sc_context *context = sc_contexts(); context; context = context->next)
        if ((*out = find_in(library, context))) return CUDA_SUCCESS;
    return CUDA_ERROR_NOT_FOUND;
}

CUresult CUDAAPI cuLibraryGetManaged(CUdeviceptr *address, size_t *bytes, CUlibrary handle, const char *name)
{
    if ((!address && !bytes) || !name) return CUDA_ERROR_INVALID_VALUE;
    struct sc_library *library;
    CUresult result = enter_library(handle, SC_NEED_INIT, &library);
    if (result) return result;
    struct sc_loaded *loaded;
    uint64_t found = 0;
    size_t size = 0;
    result = loaded_anywhere(library, &loaded);
    if (!result && !sc_loaded_variable(loaded, name, &found, &size)) result = CUDA_ERROR_NOT_FOUND;
    if (!result && sc_space_find(found)->kind != SC_MEMORY_MANAGED) result = CUDA_ERROR_NOT_FOUND;
    if (!result && address) *address = found;
    if (!result && bytes) *bytes = size;
    return sc_leave(result);
}

static CUresult enter_kernel(CUkernel handle, enum sc_need need, struct sc_kern **out)
{
    CUresult result = sc_enter_query(need);
    if (result) return result;
    if (!sc_handle_is(handle, SC_HANDLE_KERNEL)) {
        sc_function_misnamed(handle, "CUkernel");
        return sc_leave(CUDA_ERROR_INVALID_HANDLE);
    }
    *out = (struct sc_kern *)handle;
    return CUDA_SUCCESS;
}

static CUresult function_of(struct sc_kern *kernel, struct sc_func **out)
{
    struct sc_loaded *loaded;
    CUresult result = sc_library_in(kernel->library, sc_current(), &loaded);
    if (result) return result;
    *out = &loaded->functions[kernel - kernel->library->kernels];
    if (kernel->max_dynamic_shared > (*out)->max_dynamic_shared)
        (*out)->max_dynamic_shared = kernel->max_dynamic_shared;
    return CUDA_SUCCESS;
}

/* The function that answers for a kernel: the one in the current context, which a launch needs as well, or
 * else the catalogue's. */
static struct sc_func *description_of(const struct sc_kern *kernel)
{
    struct sc_context *context = sc_current();
    struct sc_loaded *loaded = context ? find_in(kernel->library, context) : NULL;
    return loaded ? &loaded->functions[kernel - kernel->library->kernels] : kernel->catalogued;
}

CUresult sc_function_resolve(CUfunction handle, struct sc_func **out)
{
    CUresult result = CUDA_ERROR_INVALID_HANDLE;
    struct sc_func *func = (struct sc_func *)handle;
    if (sc_handle_is(handle, SC_HANDLE_KERNEL))
        result = function_of((struct sc_kern *)handle, &func);
    else if (sc_handle_is(handle, SC_HANDLE_FUNCTION))
        result = CUDA_SUCCESS;
    if (!result) result = sc_function_compiled(func, NULL);
    if (!result) *out = func;
    return result;
}

CUresult CUDAAPI cuKernelGetFunction(CUfunction *out, CUkernel handle)
{
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    struct sc_kern *kernel;
    CUresult result = enter_kernel(handle, SC_NEED_CONTEXT, &kernel);
    if (result) return result;
    struct sc_func *func;
    result = function_of(kernel, &func);
    if (!result) *out = (CUfunction)func;
    return sc_leave(result);
}

CUresult CUDAAPI cuKernelGetLibrary(CUlibrary *out, CUkernel handle)
{
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    struct sc_kern *kernel;
    CUresult result = enter_kernel(handle, SC_NEED_INIT, &kernel);
    if (result) return result;
    *out = (CUlibrary)kernel->library;
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuKernelGetName(const char **name, CUkernel handle)
{
    if (!name) return CUDA_ERROR_INVALID_VALUE;
    struct sc_kern *kernel;
    CUresult result = enter_kernel(handle, SC_NEED_INIT, &kernel);
    if (result) return result;
    *name = kernel->catalogued->info.name;
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuKernelGetParamInfo(CUkernel handle, size_t index, size_t *offset, size_t *bytes)
{
    if (!offset) return CUDA_ERROR_INVALID_VALUE;
    struct sc_kern *kernel;
    CUresult result = enter_kernel(handle, SC_NEED_INIT, &kernel);
    if (result) return result;
    return sc_leave(sc_function_parameter(kernel->catalogued, index, offset, bytes));
}

CUresult CUDAAPI cuKernelGetAttribute(int *value, CUfunction_attribute attribute, CUkernel handle,
                                      CUdevice device)
{
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    struct sc_kern *kernel;
    CUresult result = enter_kernel(handle, SC_NEED_INIT, &kernel);
    if (result) return result;
    if (!sc_device_at(device)) return sc_leave(CUDA_ERROR_INVALID_DEVICE);
    result = sc_function_attribute(description_of(kernel), attribute, value);
    if (!result && attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES &&
        kernel->max_dynamic_shared >= 0)
        *value = kernel->max_dynamic_shared;
    if (!result && attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) *value = kernel->carveout;
    return sc_leave(result);
}

CUresult CUDAAPI cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel handle,
                                      CUdevice device)
{
    struct sc_kern *kernel;
    CUresult result = enter_kernel(handle, SC_NEED_INIT, &kernel);
    if (result) return result;
    if (!sc_device_at(device)) return sc_leave(CUDA_ERROR_INVALID_DEVICE);
    struct sc_func *described = description_of(kernel);
    result = sc_function_compiled(described, NULL);
    struct sc_func copy = *described; /* a function's own attributes stay as they are */
    if (!result) result = sc_function_set_attribute(&copy, attribute, value);
    if (!result && attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
        kernel->max_dynamic_shared = value;
    if (!result && attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) kernel->carveout = value;
    return sc_leave(result);
}

CUresult CUDAAPI cuKernelSetCacheConfig(CUkernel handle, CUfunc_cache config, CUdevice device)
{
    if ((unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL) return CUDA_ERROR_INVALID_VALUE;
    struct sc_kern *kernel;
    CUresult result = enter_kernel(handle, SC_NEED_INIT, &kernel);
    if (result) return result;
    return sc_leave(sc_device_at(device) ? CUDA_SUCCESS
                                         : CUDA_ERROR_INVALID_DEVICE); /* a preference, without effect */
}
