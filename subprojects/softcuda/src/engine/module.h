/* A loaded module. */
#ifndef SOFTCUDA_ENGINE_MODULE_H
#define SOFTCUDA_ENGINE_MODULE_H

#include "program.h"
#include "vec.h"

struct sc_variable {
    char *name;
    uint64_t address;
    uint64_t bytes;
};

struct sc_function {
    char *name;
    struct sc_module *module;
    struct sc_program *program;
    sc_vec(struct sc_parameter) parameters;
    uint32_t parameter_bytes, max_threads;
};

struct sc_module {
    struct sc_module_memory memory;
    sc_vec(struct sc_function *) functions;
    sc_vec(struct sc_variable) variables;
    uint64_t function_base; /* address of the first function */
    uint32_t constant_bytes;
};

#endif
