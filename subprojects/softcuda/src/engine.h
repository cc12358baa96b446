/* The execution engine: PTX text in, finished kernels out.
 *
 * The driver half of softcuda (libcuda.so.1) owns memory, modules and time; the engine owns PTX. The engine
 * knows no CUDA type and takes no lock that the driver holds. Device addresses are host addresses.
 */
#ifndef SOFTCUDA_ENGINE_H
#define SOFTCUDA_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/accesses.h"
#include "engine/touches.h"

struct sc_module;   /* one loaded PTX module */
struct sc_profile;  /* engine/profile.h */
struct sc_function; /* one .entry of it; lives as long as its module */

enum sc_engine_status {
    SC_ENGINE_OK = 0,
    SC_ENGINE_INVALID_PTX, /* not PTX, or an instruction that is not built; the diagnostic names line and text
                            */
    SC_ENGINE_NO_MEMORY,
    SC_ENGINE_FAULT, /* the kernel faulted; see sc_fault */
};

/* Where and why loading failed. `line` counts from 1 in the PTX text. */
struct sc_diagnostic {
    uint32_t line;
    char text[256];
};

/* Storage for module-scope .global and .const variables, from the driver's device memory.
 * Returns 0 when there is no memory. The engine frees what it got with `release` in sc_module_unload. */
struct sc_module_memory {
    uint64_t (*allocate)(void *context, size_t bytes, size_t align);
    void (*release)(void *context, uint64_t address);
    void *context;
    /* For variables with .attribute(.managed); NULL: they are like the others. Sets *fresh to false where the
     * memory has its value from an earlier load and keeps it. */
    uint64_t (*allocate_managed)(void *context, const char *name, size_t bytes, size_t align, bool *fresh);
};

/* Makes functions that are loaded from now on able to tell what they touch, at a cost. Once, before the first
 * is loaded. */
void sc_engine_note_touches(void);

/* Parses and decodes `bytes` bytes of PTX (no terminating NUL needed; untrusted). On success *out is set. */
enum sc_engine_status sc_module_load(const char *text, size_t bytes, const struct sc_module_memory *memory,
                                     struct sc_module **out, struct sc_diagnostic *diagnostic);
/* The same for several texts that know each other's .extern names (nvcc -rdc=true). The text that a
 * diagnostic is about is not told. */
struct sc_text {
    const char *text;
    size_t bytes;
};
enum sc_engine_status sc_module_link(const struct sc_text *texts, size_t count,
                                     const struct sc_module_memory *memory, struct sc_module **out,
                                     struct sc_diagnostic *diagnostic);
void sc_module_unload(struct sc_module *module); /* accepts NULL */

/* Entry points and module variables by name or by index; NULL/false when there is none. */
const struct sc_function *sc_module_function(const struct sc_module *module, const char *name);
const struct sc_function *sc_module_function_at(const struct sc_module *module, size_t index);
size_t sc_module_function_count(const struct sc_module *module);
bool sc_module_variable(const struct sc_module *module, const char *name, uint64_t *address, size_t *bytes);

struct sc_parameter {
    uint32_t offset_bytes, size_bytes;
};

struct sc_function_info {
    const char *name;
    uint32_t parameter_count;
    const struct sc_parameter *parameters;
    uint32_t parameter_bytes; /* of the whole block */
    uint32_t static_shared_bytes;
    uint32_t local_bytes;    /* for each thread */
    uint32_t constant_bytes; /* of the module */
    uint32_t registers;      /* an estimate, for cuFuncGetAttribute */
    uint32_t max_threads;    /* .maxntid, or 1024 */
    bool uses_heap;          /* malloc, free */
};
void sc_function_info(const struct sc_function *function, struct sc_function_info *out);

/* What the address space looks like to a kernel. `find` is called on a range-cache miss by any worker thread:
 * it sets [begin, end) to the live allocation that holds `address` and its kind, or returns false. */
enum sc_range_kind { SC_RANGE_DEVICE, SC_RANGE_MANAGED, SC_RANGE_HOST };
struct sc_range {
    uint64_t begin, end;
    enum sc_range_kind kind;
};
struct sc_address_space {
    bool (*find)(void *context, uint64_t address, struct sc_range *out);
    void *context;
};

/* Bytes that a launch moved to and from one 2 MiB block of managed or host memory, counted as a link would
 * see them: contiguous lanes once each, a broadcast once a warp, scattered lanes 32 bytes each. */
struct sc_block_traffic {
    uint64_t block; /* address >> 21 */
    uint64_t bytes_read, bytes_written;
};

/* What the launch cost, independent of the number of workers. Release with sc_cost_free. */
struct sc_cost {
    uint64_t instructions;              /* lanes x PTX instructions */
    uint64_t flops;                     /* an fma counts two */
    uint64_t bytes_read, bytes_written; /* global memory of all kinds, counted as above */
    struct sc_block_traffic *blocks;    /* sorted by block; managed and host ranges only */
    size_t block_count;
    /* Where sc_launch.touches asks for it; a kernel that faulted has touched what is told, and perhaps more.
     */
    struct sc_touched *touched;
    size_t touched_count;
    struct sc_accessed *accessed; /* the same, where sc_launch.accesses asks for it */
    size_t accessed_count;
};
void sc_cost_free(struct sc_cost *cost);

enum sc_fault_kind {
    SC_FAULT_NONE,
    SC_FAULT_ILLEGAL_ADDRESS,
    SC_FAULT_MISALIGNED,
    SC_FAULT_TRAP,
    SC_FAULT_ASSERT,
    SC_FAULT_TIMEOUT, /* the watchdog: too many instructions */
    SC_FAULT_ILLEGAL_INSTRUCTION,
    SC_FAULT_STACK,        /* calls too deep */
    SC_FAULT_INVALID_CALL, /* a call through what is no function */
};
struct sc_fault {
    enum sc_fault_kind kind;
    uint32_t line; /* of the PTX */
    uint32_t block[3], thread[3];
    uint64_t address;
};

struct sc_launch {
    const struct sc_function *function;
    uint32_t grid[3], block[3]; /* validated by the driver: block <= 1024 threads */
    uint32_t dynamic_shared_bytes;
    const void *parameters; /* the packed parameter block, parameter_bytes long */
    const struct sc_address_space *space;
    uint64_t heap,
        heap_bytes;      /* device memory for malloc, zero before its first use; or 0: malloc gives NULL */
    uint64_t grid_state; /* of a cooperative launch, whose blocks run side by side: 8 bytes of device memory
                            for its barrier, zero before its first use; or 0 */
    uint32_t workers;    /* threads to use at most, at least 1 */
    uint64_t watchdog_instructions; /* a block's limit; 0 for none */
    bool touches;                   /* fill sc_cost.touched; sc_engine_note_touches was called */
    bool accesses;                  /* fill sc_cost.accessed; the same */
    struct sc_profile *profile;     /* gets what is executed, or NULL */
};

/* Runs the whole grid before it returns. Results do not depend on `workers`. On SC_ENGINE_FAULT *fault is
 * set; *cost is set either way. Thread safety: any number of launches may run at once. */
enum sc_engine_status sc_run(const struct sc_launch *launch, struct sc_cost *cost, struct sc_fault *fault);

#endif
