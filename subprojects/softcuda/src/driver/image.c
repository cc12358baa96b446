#include "image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "link.h"
#include "machine_code.h"
#include "variable.h"

#define WHY_BYTES 256

static void complain(const struct sc_jit_log *log, const char *text)
{
    sc_log("%s", text);
    if (log && log->error && log->error_bytes) snprintf(log->error, log->error_bytes, "%s", text);
}

/* The result of the engine's; reports text that is not right. `kernel`: its name, or NULL. */
static CUresult result_of(enum sc_engine_status status, const struct sc_diagnostic *diagnostic,
                          const char *kernel, const struct sc_jit_log *log)
{
    char text[600];
    if (status == SC_ENGINE_OK) return CUDA_SUCCESS;
    if (status == SC_ENGINE_NO_MEMORY) return CUDA_ERROR_OUT_OF_MEMORY;
    snprintf(text, sizeof text, "PTX line %u: %s%s%.200s", diagnostic->line, diagnostic->text,
             kernel ? ", in kernel " : "", kernel ? kernel : "");
    complain(log, text);
    return CUDA_ERROR_INVALID_PTX;
}

/* nvcc adds the toolkit's device runtime, with which kernels launch kernels, to every -rdc image. It calls
 * functions of a real driver. Without it, only kernels that launch kernels fail to load. */
static bool is_device_runtime(const struct sc_fatbin_image *image)
{
    static const char mark[] = ".u32 __CNPRT_VERSION_NUMBER__";
    return memmem(image->text, image->bytes, mark, sizeof mark - 1) != NULL;
}

/* Parses all texts of an image together: one may define what another declares. */
static CUresult parse(const struct sc_fatbin_images *images, const struct sc_jit_log *log,
                      struct sc_source **out)
{
    struct sc_diagnostic diagnostic = {0};
    struct sc_text *texts = calloc(images->count ? images->count : 1, sizeof *texts);
    if (!texts) return CUDA_ERROR_OUT_OF_MEMORY;
    size_t count = 0;
    for (size_t i = 0; i < images->count; i++)
        if (images->count == 1 || !is_device_runtime(&images->items[i]))
            texts[count++] = (struct sc_text){images->items[i].text, images->items[i].bytes};
    CUresult result = result_of(sc_source_read(texts, count, out, &diagnostic), &diagnostic, NULL, log);
    free(texts);
    return result;
}

CUresult sc_image_check(const struct sc_fatbin_images *images, const struct sc_jit_log *log)
{
    struct sc_diagnostic diagnostic = {0};
    struct sc_source *source = NULL;
    struct sc_module *module = NULL;
    CUresult result = parse(images, log, &source);
    if (!result && sc_module_create(source, NULL, &module)) result = CUDA_ERROR_OUT_OF_MEMORY;
    if (!result) result = result_of(sc_module_compile(module, &diagnostic), &diagnostic, NULL, log);
    sc_module_unload(module);
    sc_source_unref(source);
    return result;
}

/* Without the program's asking, a block has what its own shared memory leaves of the default. */
static void allow_dynamic_shared(struct sc_func *func)
{
    int room = SC_SHARED_BYTES - (int)func->info.static_shared_bytes;
    if (room > func->max_dynamic_shared) func->max_dynamic_shared = room;
}

CUresult sc_function_compiled(struct sc_func *func, const struct sc_jit_log *log)
{
    if (func->ready || func->refused) return func->refused;
    struct sc_diagnostic diagnostic;
    CUresult result =
        result_of(sc_function_compile(func->function, &diagnostic), &diagnostic, func->info.name, log);
    if (result == CUDA_ERROR_INVALID_PTX) func->refused = result;
    if (result) return result;
    sc_function_info(func->function, &func->info);
    allow_dynamic_shared(func);
    func->ready = true;
    return CUDA_SUCCESS;
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
    if (image->code) count += sc_machine_code_kernels(image->code);
    return count;
}

static bool add_native_functions(struct sc_loaded *loaded, const struct sc_native_image *native)
{
    for (size_t i = 0; i < native->kernel_count; i++) {
        struct sc_func *func = &loaded->functions[loaded->function_count];
        func->loaded = loaded;
        func->native = &native->kernels[i];
        func->ready = true;
        func->carveout = -1;
        func->ptx_version = (int)(sc_options()->capability * 10 + 0.5);
        sc_native_info(func->native, &func->info);
        if (loaded->context && !sc_handle_add(func, SC_HANDLE_FUNCTION)) return false;
        loaded->function_count++;
    }
    return true;
}

static bool add_machine_code(struct sc_loaded *loaded, struct sc_machine_code *code)
{
    for (size_t i = 0; i < sc_machine_code_kernels(code); i++) {
        struct sc_func *func = &loaded->functions[loaded->function_count];
        func->loaded = loaded;
        func->native = sc_machine_code_kernel(code, i, &func->info);
        func->ready = true;
        func->carveout = -1;
        func->ptx_version = sc_machine_code_arch(code);
        allow_dynamic_shared(func);
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
        func->ptx_version = image->ptx_version;
        sc_function_info(func->function, &func->info);
        if (loaded->context && !sc_handle_add(func, SC_HANDLE_FUNCTION)) return false;
        loaded->function_count++;
    }
    if (image->code) return add_machine_code(loaded, image->code);
    return !image->native || add_native_functions(loaded, image->native);
}

CUresult sc_image_load(const struct sc_image *image, struct sc_context *context, struct sc_library *library,
                       struct sc_loaded **out)
{
    struct sc_loaded *loaded = calloc(1, sizeof *loaded);
    if (!loaded) return CUDA_ERROR_OUT_OF_MEMORY;
    loaded->refs = 1;
    loaded->context = context;
    loaded->library = library;
    if (image->code) loaded->code = sc_machine_code_ref(image->code);
    struct sc_module_memory memory = sc_variable_memory(loaded);
    bool ok = !image->source || !sc_module_create(image->source, context ? &memory : NULL, &loaded->module);
    ok = ok && (!image->code || !context || !sc_machine_code_place_variables(loaded));
    ok = ok && list_functions(loaded, image) && (!context || sc_handle_add(loaded, SC_HANDLE_MODULE));
    if (!ok) {
        sc_loaded_unload(loaded);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (context) {
        loaded->next = context->modules;
        context->modules = loaded;
    }
    *out = loaded;
    return CUDA_SUCCESS;
}

static const CUresult results[] = {
    [SC_FATBIN_OK] = CUDA_SUCCESS,
    [SC_FATBIN_UNKNOWN] = CUDA_ERROR_INVALID_IMAGE,
    [SC_FATBIN_CORRUPT] = CUDA_ERROR_INVALID_IMAGE,
    [SC_FATBIN_NO_PTX] = CUDA_ERROR_NO_BINARY_FOR_GPU,
    [SC_FATBIN_NO_MEMORY] = CUDA_ERROR_OUT_OF_MEMORY,
};

static unsigned device_arch(void)
{
    return (unsigned)(sc_options()->capability * 10 + 0.5);
}

/* As sc_image_texts, without a word on the log: `why` receives it. */
static CUresult read_texts(const void *data, size_t bytes, struct sc_fatbin_images *out, char *why,
                           size_t why_bytes)
{
    *out = (struct sc_fatbin_images){0};
    if (sc_linked_is(data, bytes)) return sc_linked_read(data, bytes, out);
    return results[bytes ? sc_fatbin_ptx_bounded(data, bytes, device_arch(), out, why, why_bytes)
                         : sc_fatbin_ptx(data, device_arch(), out, why, why_bytes)];
}

CUresult sc_image_texts(const void *data, size_t bytes, const struct sc_jit_log *log,
                        struct sc_fatbin_images *out)
{
    char why[WHY_BYTES] = "";
    CUresult result = read_texts(data, bytes, out, why, sizeof why);
    if (*why) complain(log, why);
    return result;
}

static CUresult read_machine_code(const void *data, size_t bytes, struct sc_image *out, char *why,
                                  size_t why_bytes)
{
    struct sc_fatbin_images images = {0};
    CUresult result = results[sc_fatbin_cubin(data, bytes, device_arch(), &images, why, why_bytes)];
    if (!result) result = sc_machine_code_read(&images.items[0], &out->code, why, why_bytes);
    sc_fatbin_images_free(&images);
    return result;
}

CUresult sc_image_read(const void *data, size_t bytes, const struct sc_jit_log *log, struct sc_image *out)
{
    *out = (struct sc_image){0};
    if (sc_native_trusted(data)) {
        out->native = data;
        return CUDA_SUCCESS;
    }
    struct sc_fatbin_images images;
    char why[WHY_BYTES] = "";
    CUresult result = read_texts(data, bytes, &images, why, sizeof why);
    /* Where kernels need not be executed, the tables of their machine code will do. */
    if (result == CUDA_ERROR_NO_BINARY_FOR_GPU && sc_options()->sampled) {
        *why = '\0';
        result = read_machine_code(data, bytes, out, why, sizeof why);
    }
    if (*why) complain(log, why);
    if (!result && images.count) {
        out->ptx_version = ptx_version(&images.items[0]);
        result = parse(&images, log, &out->source);
    }
    sc_fatbin_images_free(&images);
    return result;
}

void sc_image_free(struct sc_image *image)
{
    if (!image) return;
    sc_source_unref(image->source);
    sc_machine_code_unref(image->code);
}
