#include "module.h"

#include <string.h>

#include "parse.h"

enum sc_engine_status sc_module_link(const struct sc_text *texts, size_t count,
                                     const struct sc_module_memory *memory, struct sc_module **out,
                                     struct sc_diagnostic *diagnostic)
{
    enum sc_engine_status status = SC_ENGINE_NO_MEMORY;
    struct sc_diagnostic unused;
    struct sc_module *module = calloc(1, sizeof *module);
    if (diagnostic) memset(diagnostic, 0, sizeof *diagnostic);
    if (!module) return status;
    module->memory = *memory;
    if (sc_read_module(module, texts, count, &status, diagnostic ? diagnostic : &unused)) {
        *out = module;
        return SC_ENGINE_OK;
    }
    sc_module_unload(module);
    return status;
}

enum sc_engine_status sc_module_load(const char *text, size_t bytes, const struct sc_module_memory *memory,
                                     struct sc_module **out, struct sc_diagnostic *diagnostic)
{
    return sc_module_link(&(struct sc_text){text, bytes}, 1, memory, out, diagnostic);
}

static void free_function(struct sc_function *function)
{
    free(function->name);
    sc_vec_free(&function->parameters);
    sc_program_free(function->program);
    free(function);
}

void sc_module_unload(struct sc_module *module)
{
    if (!module) return;
    for (uint32_t i = 0; i < module->functions.count; i++) free_function(module->functions.at[i]);
    for (uint32_t i = 0; i < module->variables.count; i++) {
        free(module->variables.at[i].name);
        module->memory.release(module->memory.context, module->variables.at[i].address);
    }
    sc_vec_free(&module->functions);
    sc_vec_free(&module->variables);
    free(module);
}

const struct sc_function *sc_module_function(const struct sc_module *module, const char *name)
{
    for (uint32_t i = 0; i < module->functions.count; i++)
        if (strcmp(module->functions.at[i]->name, name) == 0) return module->functions.at[i];
    return NULL;
}

const struct sc_function *sc_module_function_at(const struct sc_module *module, size_t index)
{
    return index < module->functions.count ? module->functions.at[index] : NULL;
}

size_t sc_module_function_count(const struct sc_module *module)
{
    return module->functions.count;
}

bool sc_module_variable(const struct sc_module *module, const char *name, uint64_t *address, size_t *bytes)
{
    for (uint32_t i = module->variables.count; i-- > 0;) { /* it may have replaced a weak one */
        if (strcmp(module->variables.at[i].name, name) != 0) continue;
        *address = module->variables.at[i].address;
        *bytes = module->variables.at[i].bytes;
        return true;
    }
    return false;
}

void sc_function_info(const struct sc_function *function, struct sc_function_info *out)
{
    const struct sc_program *program = function->program;
    *out = (struct sc_function_info){
        .name = function->name,
        .parameter_count = function->parameters.count,
        .parameters = function->parameters.at,
        .parameter_bytes = function->parameter_bytes,
        .static_shared_bytes = program->static_shared_bytes,
        .local_bytes = program->local_bytes,
        .constant_bytes = function->module->constant_bytes,
        .registers = program->registers,
        .max_threads = function->max_threads,
        .uses_heap = program->heap,
    };
}
