#include "machine_code.h"

#include <stdlib.h>
#include <string.h>

#include "../cudart/cubin.h"
#include "estimate.h"
#include "variable.h"

#define ALIGN 256 /* of every variable: no type needs more */

struct sc_machine_code {
    unsigned refs;
    struct sc_cubin cubin;
    struct sc_native_kernel *kernels; /* as many as cubin.kernel_count */
};

static void describe_kernels(struct sc_machine_code *code)
{
    for (size_t i = 0; i < code->cubin.kernel_count; i++) {
        const struct sc_cubin_kernel *kernel = &code->cubin.kernels[i];
        code->kernels[i] = (struct sc_native_kernel){
            .name = kernel->name,
            .parameters = kernel->parameters,
            .parameter_count = kernel->parameter_count,
            .parameter_bytes = kernel->parameter_bytes,
            .describe = sc_estimate_describe,
            .run = sc_estimate_run,
        };
    }
}

CUresult sc_machine_code_read(struct sc_fatbin_image *image, struct sc_machine_code **out, char *why,
                              size_t why_bytes)
{
    struct sc_machine_code *code = calloc(1, sizeof *code);
    if (!code) return CUDA_ERROR_OUT_OF_MEMORY;
    enum sc_cubin_status status =
        sc_cubin_read((unsigned char *)image->text, image->bytes, &code->cubin, why, why_bytes);
    if (status == SC_CUBIN_OK) {
        image->text = NULL;
        code->kernels = calloc(code->cubin.kernel_count + 1, sizeof *code->kernels);
        if (!code->kernels) status = SC_CUBIN_NO_MEMORY;
    }
    if (status != SC_CUBIN_OK) {
        sc_cubin_free(&code->cubin);
        free(code);
        return status == SC_CUBIN_CORRUPT ? CUDA_ERROR_INVALID_IMAGE : CUDA_ERROR_OUT_OF_MEMORY;
    }
    describe_kernels(code);
    code->refs = 1;
    *out = code;
    return CUDA_SUCCESS;
}

struct sc_machine_code *sc_machine_code_ref(struct sc_machine_code *code)
{
    code->refs++;
    return code;
}

void sc_machine_code_unref(struct sc_machine_code *code)
{
    if (!code || --code->refs) return;
    sc_cubin_free(&code->cubin);
    free(code->kernels);
    free(code);
}

int sc_machine_code_arch(const struct sc_machine_code *code)
{
    return (int)code->cubin.arch;
}

size_t sc_machine_code_kernels(const struct sc_machine_code *code)
{
    return code->cubin.kernel_count;
}

const struct sc_native_kernel *sc_machine_code_kernel(const struct sc_machine_code *code, size_t index,
                                                      struct sc_function_info *info)
{
    const struct sc_cubin_kernel *kernel = &code->cubin.kernels[index];
    *info = (struct sc_function_info){
        .name = kernel->name,
        .parameter_count = kernel->parameter_count,
        .parameters = kernel->parameters,
        .parameter_bytes = kernel->parameter_bytes,
        .constant_bytes = (uint32_t)code->cubin.constant_bytes,
        .max_threads = kernel->max_threads,
        .static_shared_bytes = kernel->static_shared_bytes,
        .local_bytes = kernel->local_bytes,
        .registers = kernel->registers,
    };
    return &code->kernels[index];
}

static bool place_variable(const struct sc_module_memory *memory, const struct sc_cubin_variable *variable,
                           uint64_t *address)
{
    bool fresh = true;
    *address = variable->managed
                   ? memory->allocate_managed(memory->context, variable->name, variable->bytes, ALIGN, &fresh)
                   : memory->allocate(memory->context, variable->bytes, ALIGN);
    if (!*address) return false;
    if (fresh && variable->initial) memcpy((void *)(uintptr_t)*address, variable->initial, variable->bytes);
    if (fresh && !variable->initial) memset((void *)(uintptr_t)*address, 0, variable->bytes);
    return true;
}

CUresult sc_machine_code_place_variables(struct sc_loaded *loaded)
{
    const struct sc_cubin *cubin = &loaded->code->cubin;
    const struct sc_module_memory memory = sc_variable_memory(loaded);
    loaded->variables = calloc(cubin->variable_count + 1, sizeof *loaded->variables);
    bool ok = loaded->variables != NULL;
    for (size_t i = 0; ok && i < cubin->variable_count; i++)
        ok = place_variable(&memory, &cubin->variables[i], &loaded->variables[i]);
    return ok ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

void sc_machine_code_drop_variables(struct sc_loaded *loaded)
{
    const struct sc_module_memory memory = sc_variable_memory(loaded);
    for (size_t i = 0; loaded->variables && i < loaded->code->cubin.variable_count; i++)
        if (loaded->variables[i]) memory.release(memory.context, loaded->variables[i]);
    free(loaded->variables);
    loaded->variables = NULL;
}

bool sc_machine_code_variable(const struct sc_loaded *loaded, const char *name, uint64_t *address,
                              size_t *bytes)
{
    const struct sc_cubin *cubin = &loaded->code->cubin;
    for (size_t i = 0; loaded->variables && i < cubin->variable_count; i++) {
        if (strcmp(cubin->variables[i].name, name) != 0) continue;
        *address = loaded->variables[i];
        *bytes = cubin->variables[i].bytes;
        return true;
    }
    return false;
}

void sc_machine_code_launched(const struct sc_func *func)
{
    static bool said;
    if (said || !func->loaded->code) return;
    said = true;
    sc_log("of kernels such as %.200s there is machine code only: they are not executed, and their times are "
           "estimated "
           "from the memory that their parameters point to",
           func->info.name);
}
