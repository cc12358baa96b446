/* A loaded module. */
#ifndef SOFTCUDA_ENGINE_MODULE_H
#define SOFTCUDA_ENGINE_MODULE_H

#include "program.h"
#include "source.h"

struct sc_function {
    const struct sc_entry *entry; /* of the module's source */
    struct sc_module *module;
    struct sc_program *program; /* atomic; NULL until it is compiled */
};

struct sc_module {
    struct sc_source *source;
    struct sc_module_memory memory; /* `allocate` NULL: the variables have addresses, but no memory */
    uint64_t *variables;            /* addresses, in the order of the source's variables; 0: not allocated */
    struct sc_function *functions;  /* in the order of the source's entries */
    uint64_t function_base;         /* address of the first .func */
};

/* The address of a .func, by its index in the source; outside of any memory. */
static inline uint64_t sc_module_function_address(const struct sc_module *module, uint32_t index)
{
    return module->function_base + 16ull * index;
}

#endif
