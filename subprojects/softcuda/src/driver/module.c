#include "module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../cudart/fatbin.h"
#include "image.h"
#include "link.h"
#include "queue.h"
#include "variable.h"

static void complain(const struct sc_jit_log *log, const char *text)
{
    sc_log("%s", text);
    if (log && log->error && log->error_bytes) snprintf(log->error, log->error_bytes, "%s", text);
}

/* nvcc adds the toolkit's device runtime, with which kernels launch kernels, to every -rdc image. It calls
 * functions of a real driver. Without it, only kernels that launch kernels fail to load. */
static bool is_device_runtime(const struct sc_fatbin_image *image)
{
    static const char mark[] = ".u32 __CNPRT_VERSION_NUMBER__";
    return memmem(image->text, image->bytes, mark, sizeof mark - 1) != NULL;
}

/* Loads all texts of an image together: one may define what another declares. */
static CUresult load_texts(const struct sc_fatbin_images *images, const struct sc_module_memory *memory,
                           const struct sc_jit_log *log, struct sc_module **out)
{
    struct sc_diagnostic diagnostic = {0};
    struct sc_text *texts = calloc(images->count ? images->count : 1, sizeof *texts);
    if (!texts) return CUDA_ERROR_OUT_OF_MEMORY;
    size_t count = 0;
    for (size_t i = 0; i < images->count; i++)
        if (images->count == 1 || !is_device_runtime(&images->items[i]))
            texts[count++] = (struct sc_text){images->items[i].text, images->items[i].bytes};
    enum sc_engine_status status = sc_module_link(texts, count, memory, out, &diagnostic);
    free(texts);
    if (status == SC_ENGINE_OK) return CUDA_SUCCESS;
    char text[400];
    snprintf(text, sizeof text, "PTX line %u: %s", diagnostic.line, diagnostic.text);
    if (status == SC_ENGINE_NO_MEMORY) return CUDA_ERROR_OUT_OF_MEMORY;
    complain(log, text);
    return CUDA_ERROR_INVALID_PTX;
}

CUresult sc_image_check(const struct sc_fatbin_images *images, const struct sc_jit_log *log)
{
    struct sc_loaded nowhere = {0}; /* no context: variables need no device memory */
    const struct sc_module_memory memory = sc_variable_memory(&nowhere);
    struct sc_module *module = NULL;
    CUresult result = load_texts(images, &memory, log, &module);
    sc_module_unload(module);
    return result;
}

/* Plain text states its target architecture itself. */
static int ptx_version(const struct sc_fatbin_image *image)
{
    if (image->arch) return (int)image->arch;
    const char *target = strstr(image->text, ".target");
    const char *architecture = target ? strstr(target, "sm_") : NULL;
    return architecture ? atoi(architecture + 3) : 0;
}

static size_t count_functions(const struct sc_loaded *loaded, const struct sc_image *image)
{
    size_t count = image->native ? image->native->kernel_count : 0;
    if (loaded->module) count += sc_module_function_count(loaded->module);
    return count;
}

static bool add_native_functions(struct sc_loaded *loaded, const struct sc_native_image *native)
{
    for (size_t i = 0; i < native->kernel_count; i++) {
        struct sc_func *func = &loaded->functions[loaded->function_count];
        func->loaded = loaded;
        func->native = &native->kernels[i];
        func->carveout = -1;
        func->ptx_version = (int)(sc_options()->capability * 10 + 0.5);
        sc_native_info(func->native, &func->info);
        if (loaded->context && !sc_handle_add(func, SC_HANDLE_FUNCTION)) return false;
        loaded->function_count++;
    }
    return true;
}

static bool list_functions(struct sc_loaded *loaded, const struct sc_image *image)
{
    size_t count = count_functions(loaded, image);
    loaded->functions = calloc(count ? count : 1, sizeof *loaded->functions);
    if (!loaded->functions) return false;
    size_t entries = loaded->module ? sc_module_function_count(loaded->module) : 0;
    for (size_t i = 0; i < entries; i++) {
        struct sc_func *func = &loaded->functions[loaded->function_count];
        func->loaded = loaded;
        func->function = sc_module_function_at(loaded->module, i);
        func->carveout = -1;
        func->ptx_version = ptx_version(&image->ptx.items[0]);
        sc_function_info(func->function, &func->info);
        int room = SC_SHARED_BYTES - (int)func->info.static_shared_bytes;
        func->max_dynamic_shared = room > 0 ? room : 0;
        if (loaded->context && !sc_handle_add(func, SC_HANDLE_FUNCTION)) return false;
        loaded->function_count++;
    }
    return !image->native || add_native_functions(loaded, image->native);
}

CUresult sc_image_load(const struct sc_image *image, struct sc_context *context, struct sc_library *library,
                       const struct sc_jit_log *log, struct sc_loaded **out)
{
    struct sc_loaded *loaded = calloc(1, sizeof *loaded);
    if (!loaded) return CUDA_ERROR_OUT_OF_MEMORY;
    loaded->refs = 1;
    loaded->context = context;
    loaded->library = library;
    const struct sc_fatbin_images *images = &image->ptx;
    struct sc_module_memory memory = sc_variable_memory(loaded);
    CUresult result = images->count ? load_texts(images, &memory, log, &loaded->module) : CUDA_SUCCESS;
    if (!result && !list_functions(loaded, image)) result = CUDA_ERROR_OUT_OF_MEMORY;
    if (!result && context && !sc_handle_add(loaded, SC_HANDLE_MODULE)) result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result) {
        sc_loaded_unload(loaded);
        return result;
    }
    if (context) {
        loaded->next = context->modules;
        context->modules = loaded;
    }
    *out = loaded;
    return CUDA_SUCCESS;
}

CUresult sc_image_read(const void *image, size_t bytes, const struct sc_jit_log *log, struct sc_image *out)
{
    *out = (struct sc_image){0};
    if (sc_native_trusted(image)) {
        out->native = image;
        return CUDA_SUCCESS;
    }
    if (sc_linked_is(image, bytes)) return sc_linked_read(image, bytes, &out->ptx);
    static const CUresult results[] = {
        [SC_FATBIN_OK] = CUDA_SUCCESS,
        [SC_FATBIN_UNKNOWN] = CUDA_ERROR_INVALID_IMAGE,
        [SC_FATBIN_CORRUPT] = CUDA_ERROR_INVALID_IMAGE,
        [SC_FATBIN_NO_PTX] = CUDA_ERROR_NO_BINARY_FOR_GPU,
        [SC_FATBIN_NO_MEMORY] = CUDA_ERROR_OUT_OF_MEMORY,
    };
    char why[256] = "";
    unsigned arch = (unsigned)(sc_options()->capability * 10 + 0.5);
    enum sc_fatbin_status status = bytes
                                       ? sc_fatbin_ptx_bounded(image, bytes, arch, &out->ptx, why, sizeof why)
                                       : sc_fatbin_ptx(image, arch, &out->ptx, why, sizeof why);
    if (status != SC_FATBIN_OK) complain(log, why);
    return results[status];
}

void sc_image_free(struct sc_image *image)
{
    if (image) sc_fatbin_images_free(&image->ptx);
}

CUresult sc_loaded_create(const void *image, size_t bytes, struct sc_context *context,
                          const struct sc_jit_log *log, struct sc_loaded **out)
{
    struct sc_image read;
    CUresult result = sc_image_read(image, bytes, log, &read);
    if (!result) result = sc_image_load(&read, context, NULL, log, out);
    sc_image_free(&read);
    return result;
}

void sc_loaded_unref(struct sc_loaded *loaded)
{
    if (!loaded || --loaded->refs) return;
    sc_module_unload(loaded->module);
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

/* Modules are always loaded eagerly. */
CUresult CUDAAPI cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
    if (!mode) return CUDA_ERROR_INVALID_VALUE;
    *mode = CU_MODULE_EAGER_LOADING;
    return CUDA_SUCCESS;
}
