/* Modules, libraries and their functions. pre: the driver's lock is held, everywhere. */
#ifndef SOFTCUDA_MODULE_H
#define SOFTCUDA_MODULE_H

#include "driver.h"
#include "engine.h"

struct sc_image;
struct sc_machine_code;
struct sc_native_kernel;

/* A CUfunction. */
struct sc_func {
    struct sc_loaded *loaded;
    struct sc_function *function;
    const struct sc_native_kernel *native; /* instead of `function` */
    struct sc_function_info info;          /* complete if `ready` */
    bool ready;                            /* compiled: sc_function_compiled */
    CUresult refused;                      /* why it does not compile, or 0 */
    int max_dynamic_shared;                /* CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES */
    int carveout;
    int ptx_version; /* 75 for compute_75 */
};

/* A CUmodule: one image in one context. It lives until its handle is gone and no operation refers to it. */
struct sc_loaded {
    struct sc_loaded *next; /* of the context */
    unsigned refs;
    struct sc_context *context;   /* NULL: a library's catalogue, which never runs */
    struct sc_library *library;   /* the library that it belongs to, or NULL */
    struct sc_module *module;     /* all translation units linked; NULL: no PTX */
    struct sc_machine_code *code; /* instead of `module`, or NULL */
    uint64_t *variables;          /* addresses of the variables of `code` */
    struct sc_func *functions;
    size_t function_count;
};

/* A CUkernel: a function of a library, in any context. */
struct sc_kern {
    struct sc_library *library;
    struct sc_func *catalogued; /* its description, which needs no context */
    int max_dynamic_shared;     /* -1: as the function has it */
    int carveout;
};

/* A CUlibrary. It is loaded into a context when one of its kernels is first needed there. */
struct sc_library {
    struct sc_library *next;
    unsigned long long id;       /* never reused */
    struct sc_loaded *catalogue; /* to enumerate the kernels */
    struct sc_image *image;
    struct sc_kern *kernels; /* as many as catalogue->function_count */
};

/* The error log buffer from the program's JIT options. */
struct sc_jit_log {
    char *error;
    size_t error_bytes;
};

/* Loads an image into a module of `context` and compiles all its functions. `bytes` 0: the size is not known.
 */
CUresult sc_loaded_create(const void *image, size_t bytes, struct sc_context *context,
                          const struct sc_jit_log *log, struct sc_loaded **out);
void sc_loaded_unref(struct sc_loaded *loaded); /* accepts NULL */
/* Invalidates the handles of the module and its functions. */
void sc_loaded_unload(struct sc_loaded *loaded);
void sc_loaded_unload_all(struct sc_context *context);
struct sc_func *sc_loaded_function(const struct sc_loaded *loaded, const char *name);
bool sc_loaded_variable(const struct sc_loaded *loaded, const char *name, uint64_t *address, size_t *bytes);

/* The library's module in a context; loads it if necessary. */
CUresult sc_library_in(struct sc_library *library, struct sc_context *context, struct sc_loaded **out);
/* Resolves a launch's handle: a CUfunction, or a CUkernel in the current context. Compiles the function if it
 * was not used before. */
CUresult sc_function_resolve(CUfunction handle, struct sc_func **out);
/* function.c: reports that `handle` is not of the kind that the call needs. Ends the process under
 * SOFTCUDA_STRICT_HANDLES, unless the handle is NULL. */
void sc_function_misnamed(const void *handle, const char *wanted);
/* function.c: shared by cuFuncGet... and cuKernelGet.... The attributes compile the function if need be. */
CUresult sc_function_parameter(const struct sc_func *func, size_t index, size_t *offset, size_t *bytes);
CUresult sc_function_attribute(struct sc_func *func, CUfunction_attribute attribute, int *value);
CUresult sc_function_set_attribute(struct sc_func *func, CUfunction_attribute attribute, int value);

void sc_jit_log_find(struct sc_jit_log *log, unsigned count, const CUjit_option *options,
                     void *const *values);

#endif
