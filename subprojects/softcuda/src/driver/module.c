#include "module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image.h"
#include "machine_code.h"
#include "queue.h"

CUresult sc_loaded_create(const void *data, size_t bytes, struct sc_context *context,
                          const struct sc_jit_log *log, struct sc_loaded **out)
{
    struct sc_image image;
    struct sc_loaded *loaded = NULL;
    CUresult result = sc_image_read(data, bytes, log, &image);
    if (!result) result = sc_image_load(&image, context, NULL, &loaded);
    sc_image_free(&image);
    /* A program that loads a module by itself expects to be told here what is wrong with it. */
    for (size_t i = 0; !result && i < loaded->function_count; i++)
        result = sc_function_compiled(&loaded->functions[i], log);
    if (result)
        sc_loaded_unload(loaded);
    else
        *out = loaded;
    return result;
}

void sc_loaded_unref(struct sc_loaded *loaded)
{
    if (!loaded || --loaded->refs) return;
    sc_module_unload(loaded->module);
    sc_machine_code_drop_variables(loaded);
    sc_machine_code_unref(loaded->code);
    free(loaded->functions);
    free(loaded);
}

void sc_loaded_unload(struct sc_loaded *loaded)
{
    if (!loaded) return;
    for (size_t i = 0; i < loaded->function_count; i++) sc_handle_remove(&loaded->functions[i]);
    sc_handle_remove(loaded);
    if (loaded->context) {
        struct sc_loaded **at = &loaded->context->modules;
        while (*at && *at != loaded) at = &(*at)->next;
        if (*at) *at = loaded->next;
    }
    sc_loaded_unref(loaded);
}

void sc_loaded_unload_all(struct sc_context *context)
{
    while (context->modules) sc_loaded_unload(context->modules);
}

struct sc_func *sc_loaded_function(const struct sc_loaded *loaded, const char *name)
{
    for (size_t i = 0; i < loaded->function_count; i++)
        if (!strcmp(loaded->functions[i].info.name, name)) return &loaded->functions[i];
    return NULL;
}

bool sc_loaded_variable(const struct sc_loaded *loaded, const char *name, uint64_t *address, size_t *bytes)
{
    if (loaded->code) return sc_machine_code_variable(loaded, name, address, bytes);
    return loaded->module && sc_module_variable(loaded->module, name, address, bytes);
}

void sc_jit_log_find(struct sc_jit_log *log, unsigned count, const CUjit_option *options, void *const *values)
{
    *log = (struct sc_jit_log){0};
    for (unsigned i = 0; options && values && i < count; i++) {
        if (options[i] == CU_JIT_ERROR_LOG_BUFFER) log->error = values[i];
        if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) log->error_bytes = (size_t)values[i];
    }
}

static CUresult load_data(CUmodule *out, const void *image, size_t bytes, const struct sc_jit_log *log)
{
    if (!out || !image) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter(SC_NEED_SAFE);
    if (result) return result;
    struct sc_loaded *loaded;
    result = sc_loaded_create(image, bytes, sc_current(), log, &loaded);
    if (!result) *out = (CUmodule)loaded;
    return sc_leave(result);
}

CUresult CUDAAPI cuModuleLoadData(CUmodule *out, const void *image)
{
    return load_data(out, image, 0, NULL);
}

CUresult CUDAAPI cuModuleLoadDataEx(CUmodule *out, const void *image, unsigned int count,
                                    CUjit_option *options, void **values)
{
    struct sc_jit_log log;
    sc_jit_log_find(&log, count, options, values);
    return load_data(out, image, 0, &log);
}

CUresult CUDAAPI cuModuleLoadFatBinary(CUmodule *out, const void *image)
{
    return load_data(out, image, 0, NULL);
}

CUresult sc_file_read(const char *path, void **data, size_t *bytes)
{
    FILE *file = fopen(path, "rbe");
    if (!file) return CUDA_ERROR_FILE_NOT_FOUND;
    CUresult result = CUDA_ERROR_INVALID_IMAGE;
    void *buffer = NULL;
    long size = fseek(file, 0, SEEK_END) ? -1 : ftell(file);
    if (size > 0) buffer = malloc((size_t)size + 1);
    rewind(file);
    if (buffer && fread(buffer, 1, (size_t)size, file) == (size_t)size) {
        *data = buffer;
        *bytes = (size_t)size;
        buffer = NULL;
        result = CUDA_SUCCESS;
    }
    free(buffer);
    fclose(file);
    return result;
}

CUresult CUDAAPI cuModuleLoad(CUmodule *out, const char *path)
{
    if (!out || !path) return CUDA_ERROR_INVALID_VALUE;
    void *data = NULL;
    size_t bytes = 0;
    CUresult result = sc_file_read(path, &data, &bytes);
    if (!result) result = load_data(out, data, bytes, NULL);
    free(data);
    return result;
}

/* On success the lock is held. pre: like sc_enter. */
static CUresult enter_module(CUmodule handle, struct sc_loaded **out)
{
    CUresult result = sc_enter(SC_NEED_CONTEXT);
    if (result) return result;
    if (!sc_handle_is(handle, SC_HANDLE_MODULE)) return sc_leave(CUDA_ERROR_INVALID_HANDLE);
    *out = (struct sc_loaded *)handle;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuModuleUnload(CUmodule handle)
{
    struct sc_loaded *loaded;
    CUresult result = enter_module(handle, &loaded);
    if (result) return result;
    if (loaded->library) return sc_leave(CUDA_ERROR_NOT_PERMITTED);
    result = sc_queue_wait_context(loaded->context);
    if (sc_handle_is(handle, SC_HANDLE_MODULE)) sc_loaded_unload(loaded);
    return sc_leave(result);
}

CUresult CUDAAPI cuModuleGetFunction(CUfunction *out, CUmodule handle, const char *name)
{
    if (!out || !name) return CUDA_ERROR_INVALID_VALUE;
    struct sc_loaded *loaded;
    CUresult result = enter_module(handle, &loaded);
    if (result) return result;
    struct sc_func *func = sc_loaded_function(loaded, name);
    if (func) *out = (CUfunction)func;
    return sc_leave(func ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND);
}

CUresult CUDAAPI cuModuleGetFunctionCount(unsigned int *count, CUmodule handle)
{
    if (!count) return CUDA_ERROR_INVALID_VALUE;
    struct sc_loaded *loaded;
    CUresult result = enter_module(handle, &loaded);
    if (result) return result;
    *count = (unsigned)loaded->function_count;
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuModuleEnumerateFunctions(CUfunction *functions, unsigned int count, CUmodule handle)
{
    if (!functions || !count) return CUDA_ERROR_INVALID_VALUE;
    struct sc_loaded *loaded;
    CUresult result = enter_module(handle, &loaded);
    if (result) return result;
    for (unsigned i = 0; i < count && i < loaded->function_count; i++)
        functions[i] = (CUfunction)&loaded->functions[i];
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *bytes, CUmodule handle, const char *name)
{
    if ((!address && !bytes) || !name) return CUDA_ERROR_INVALID_VALUE;
    struct sc_loaded *loaded;
    CUresult result = enter_module(handle, &loaded);
    if (result) return result;
    uint64_t found;
    size_t size;
    if (!sc_loaded_variable(loaded, name, &found, &size)) return sc_leave(CUDA_ERROR_NOT_FOUND);
    if (address) *address = found;
    if (bytes) *bytes = size;
    return sc_leave(CUDA_SUCCESS);
}

/* A library's kernels are compiled at their first use. */
CUresult CUDAAPI cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
    if (!mode) return CUDA_ERROR_INVALID_VALUE;
    *mode = CU_MODULE_LAZY_LOADING;
    return CUDA_SUCCESS;
}
