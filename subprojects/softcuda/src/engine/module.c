#include "module.h"

#include <string.h>

#include "parse.h"

/* Function addresses differ between modules and are outside of any memory. */
static uint64_t next_function_base(void)
{
    static uint64_t modules;
    return (0x7a00ull << 48) + (__atomic_add_fetch(&modules, 1, __ATOMIC_RELAXED) << 24);
}

/* Sets *fresh if the variable has no value yet and must be initialised. */
static uint64_t allocate(const struct sc_module_memory *memory, const struct sc_variable *variable,
                         bool *fresh)
{
    size_t bytes = variable->bytes ? variable->bytes : 1, align = variable->align < 16 ? 16 : variable->align;
    *fresh = true;
    if (variable->managed && memory->allocate_managed)
        return memory->allocate_managed(memory->context, variable->name, bytes, align, fresh);
    return memory->allocate(memory->context, bytes, align);
}

static void initialise(const struct sc_variable *variable, uint64_t address)
{
    unsigned char *at = (unsigned char *)(uintptr_t)address;
    uint32_t given = variable->initial.count;
    if (given) memcpy(at, variable->initial.at, given);
    memset(at + given, 0, variable->bytes - given);
}

static void write_addresses(const struct sc_module *module, const bool *fresh)
{
    const struct sc_source *source = module->source;
    for (uint32_t i = 0; i < source->fixups.count; i++) {
        const struct sc_fixup *fixup = &source->fixups.at[i];
        uint64_t value = fixup->function ? sc_module_function_address(module, fixup->index)
                                         : module->variables[fixup->index];
        value += (uint64_t)fixup->addend;
        if (fresh[fixup->variable])
            memcpy((void *)(uintptr_t)(module->variables[fixup->variable] + fixup->offset), &value,
                   sizeof value);
    }
}

static bool place_variables(struct sc_module *module)
{
    const struct sc_source *source = module->source;
    bool *fresh = calloc(source->variables.count + 1, sizeof *fresh), ok = fresh != NULL;
    for (uint32_t i = 0; ok && i < source->variables.count; i++) {
        const struct sc_variable *variable = &source->variables.at[i];
        module->variables[i] = allocate(&module->memory, variable, &fresh[i]);
        ok = module->variables[i] != 0;
        if (ok && fresh[i]) initialise(variable, module->variables[i]);
    }
    if (ok) write_addresses(module, fresh);
    free(fresh);
    return ok;
}

/* Addresses as aligned, and as different, as those of memory would be */
static void pretend_variables(struct sc_module *module)
{
    for (uint32_t i = 0; i < module->source->variables.count; i++)
        module->variables[i] = (0x7b00ull << 48) + ((uint64_t)i << 33);
}

enum sc_engine_status sc_module_create(struct sc_source *source, const struct sc_module_memory *memory,
                                       struct sc_module **out)
{
    struct sc_module *module = calloc(1, sizeof *module);
    if (!module) return SC_ENGINE_NO_MEMORY;
    __atomic_add_fetch(&source->refs, 1, __ATOMIC_RELAXED);
    module->source = source;
    module->function_base = next_function_base();
    module->variables = calloc(source->variables.count + 1, sizeof *module->variables);
    module->functions = calloc(source->entries.count + 1, sizeof *module->functions);
    bool ok = module->variables && module->functions;
    for (uint32_t i = 0; ok && i < source->entries.count; i++)
        module->functions[i] = (struct sc_function){.entry = &source->entries.at[i], .module = module};
    if (memory) module->memory = *memory;
    if (ok && memory)
        ok = place_variables(module);
    else if (ok)
        pretend_variables(module);
    if (ok)
        *out = module;
    else
        sc_module_unload(module);
    return ok ? SC_ENGINE_OK : SC_ENGINE_NO_MEMORY;
}

bool sc_function_is_compiled(const struct sc_function *function)
{
    return __atomic_load_n(&function->program, __ATOMIC_ACQUIRE) != NULL;
}

enum sc_engine_status sc_function_compile(struct sc_function *function, struct sc_diagnostic *diagnostic)
{
    struct sc_diagnostic unused;
    if (diagnostic) memset(diagnostic, 0, sizeof *diagnostic);
    if (sc_function_is_compiled(function)) return SC_ENGINE_OK;
    struct sc_source *source = function->module->source;
    struct sc_build *build = &source->build;
    pthread_mutex_lock(&source->lock);
    build->status = SC_ENGINE_OK;
    if (!function->program) { /* no other thread was first */
        build->module = function->module;
        build->diagnostic = diagnostic ? diagnostic : &unused;
        struct sc_program *program = sc_compile_entry(build, function->entry);
        __atomic_store_n(&function->program, program, __ATOMIC_RELEASE);
        build->module = NULL;
        build->diagnostic = NULL;
    }
    enum sc_engine_status status = build->status;
    pthread_mutex_unlock(&source->lock);
    return status;
}

enum sc_engine_status sc_module_compile(struct sc_module *module, struct sc_diagnostic *diagnostic)
{
    enum sc_engine_status status = SC_ENGINE_OK;
    for (uint32_t i = 0; !status && i < module->source->entries.count; i++)
        status = sc_function_compile(&module->functions[i], diagnostic);
    return status;
}

enum sc_engine_status sc_module_link(const struct sc_text *texts, size_t count,
                                     const struct sc_module_memory *memory, struct sc_module **out,
                                     struct sc_diagnostic *diagnostic)
{
    struct sc_source *source = NULL;
    struct sc_module *module = NULL;
    enum sc_engine_status status = sc_source_read(texts, count, &source, diagnostic);
    if (!status) status = sc_module_create(source, memory, &module);
    if (!status) status = sc_module_compile(module, diagnostic);
    sc_source_unref(source);
    if (status)
        sc_module_unload(module);
    else
        *out = module;
    return status;
}

enum sc_engine_status sc_module_load(const char *text, size_t bytes, const struct sc_module_memory *memory,
                                     struct sc_module **out, struct sc_diagnostic *diagnostic)
{
    return sc_module_link(&(struct sc_text){text, bytes}, 1, memory, out, diagnostic);
}

void sc_module_unload(struct sc_module *module)
{
    if (!module) return;
    for (uint32_t i = 0; module->functions && i < module->source->entries.count; i++)
        sc_program_free(module->functions[i].program);
    for (uint32_t i = 0; module->memory.allocate && module->variables && i < module->source->variables.count;
         i++)
        if (module->variables[i]) module->memory.release(module->memory.context, module->variables[i]);
    free(module->functions);
    free(module->variables);
    sc_source_unref(module->source);
    free(module);
}

struct sc_function *sc_module_function(const struct sc_module *module, const char *name)
{
    for (uint32_t i = 0; i < module->source->entries.count; i++)
        if (strcmp(module->source->entries.at[i].name, name) == 0) return &module->functions[i];
    return NULL;
}

struct sc_function *sc_module_function_at(const struct sc_module *module, size_t index)
{
    return index < module->source->entries.count ? &module->functions[index] : NULL;
}

size_t sc_module_function_count(const struct sc_module *module)
{
    return module->source->entries.count;
}

bool sc_module_variable(const struct sc_module *module, const char *name, uint64_t *address, size_t *bytes)
{
    const struct sc_source *source = module->source;
    for (uint32_t i = source->variables.count; i-- > 0;) { /* it may have replaced a weak one */
        if (strcmp(source->variables.at[i].name, name) != 0) continue;
        *address = module->variables[i];
        *bytes = source->variables.at[i].bytes;
        return true;
    }
    return false;
}

void sc_function_info(const struct sc_function *function, struct sc_function_info *out)
{
    const struct sc_signature *signature = &function->entry->signature;
    const struct sc_program *program = __atomic_load_n(&function->program, __ATOMIC_ACQUIRE);
    *out = (struct sc_function_info){
        .name = function->entry->name,
        .parameter_count = signature->parameters.count,
        .parameters = signature->parameters.at,
        .parameter_bytes = signature->parameter_bytes,
        .constant_bytes = function->module->source->constant_bytes,
        .max_threads = signature->max_threads,
    };
    if (!program) return;
    out->static_shared_bytes = program->static_shared_bytes;
    out->local_bytes = program->local_bytes;
    out->registers = program->registers;
    out->uses_heap = program->heap;
}
