/* The execution engine: loads PTX text and runs its kernels on the CPU.
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

struct sc_source;   /* parsed PTX, of which modules are made */
struct sc_module;   /* one loaded PTX module */
struct sc_profile;  /* engine/profile.h */
struct sc_function; /* one .entry of it; lives as long as its module */

enum sc_engine_status {
    SC_ENGINE_OK = 0,
    SC_ENGINE_INVALID_PTX, /* not PTX, or an unsupported instruction; the diagnostic has line and text */
    SC_ENGINE_NO_MEMORY,
    SC_ENGINE_FAULT, /* the kernel faulted; see sc_fault */
};

/* Where and why loading failed. `line` counts from 1 in the PTX text. */
struct sc_diagnostic {
    uint32_t line;
    char text[256];
};

/* Allocates module-scope .global and .const variables in the driver's device memory. `allocate` returns 0
 * when there is no memory. sc_module_unload calls `release` for every address that `allocate` returned. */
struct sc_module_memory {
    uint64_t (*allocate)(void *context, size_t bytes, size_t align);
    void (*release)(void *context, uint64_t address);
    void *context;
    /* For variables with .attribute(.managed). NULL: `allocate` serves them too. Sets *fresh to false if the
     * variable exists already from an earlier load: it keeps its value and is not initialised again. */
    uint64_t (*allocate_managed)(void *context, const char *name, size_t bytes, size_t align, bool *fresh);
};

/* Functions that are loaded after this call can record the memory ranges that they access, at a cost. Call it
 * at most once, before the first module is loaded. */
void sc_engine_note_touches(void);

/* Parses texts (untrusted; no terminating NUL needed) that form one module, and resolves .extern names
 * between them (nvcc -rdc=true). The texts are copied. Instructions are not checked: a function's compilation
 * does that. Sets *out on success, with one reference. The diagnostic, which may be NULL, does not say which
 * text it is about. Thread safety: sources are counted atomically, and each may be used by any number of
 * threads. */
struct sc_text {
    const char *text;
    size_t bytes;
};
enum sc_engine_status sc_source_read(const struct sc_text *texts, size_t count, struct sc_source **out,
                                     struct sc_diagnostic *diagnostic);
void sc_source_unref(struct sc_source *source); /* accepts NULL */

/* Makes a module, which keeps a reference to `source`: allocates and initialises its variables. Its functions
 * are not compiled. With `memory` NULL the variables have no memory: functions can be compiled and described,
 * but not run. Sets *out on success; the only error is SC_ENGINE_NO_MEMORY. */
enum sc_engine_status sc_module_create(struct sc_source *source, const struct sc_module_memory *memory,
                                       struct sc_module **out);

/* Compiles a function with all that it calls, unless that was done. Thread safety: any number of threads may
 * compile functions of one module; a function that is compiled takes no lock. */
enum sc_engine_status sc_function_compile(struct sc_function *function, struct sc_diagnostic *diagnostic);
bool sc_function_is_compiled(const struct sc_function *function);
/* Compiles all functions; stops at the first that fails. */
enum sc_engine_status sc_module_compile(struct sc_module *module, struct sc_diagnostic *diagnostic);

/* Both at once: parses one text or several, makes a module and compiles all of its functions. */
enum sc_engine_status sc_module_load(const char *text, size_t bytes, const struct sc_module_memory *memory,
                                     struct sc_module **out, struct sc_diagnostic *diagnostic);
enum sc_engine_status sc_module_link(const struct sc_text *texts, size_t count,
                                     const struct sc_module_memory *memory, struct sc_module **out,
                                     struct sc_diagnostic *diagnostic);
void sc_module_unload(struct sc_module *module); /* accepts NULL */

/* Look up entry points and module variables by name or by index; return NULL or false if there is none. */
struct sc_function *sc_module_function(const struct sc_module *module, const char *name);
struct sc_function *sc_module_function_at(const struct sc_module *module, size_t index);
size_t sc_module_function_count(const struct sc_module *module);
bool sc_module_variable(const struct sc_module *module, const char *name, uint64_t *address, size_t *bytes);

struct sc_parameter {
    uint32_t offset_bytes, size_bytes;
};

struct sc_function_info {
    const char *name;
    uint32_t parameter_count;
    const struct sc_parameter *parameters;
    uint32_t parameter_bytes; /* of the whole parameter block */
    uint32_t constant_bytes;  /* of the module */
    uint32_t max_threads;     /* .maxntid, or 1024 */
    /* 0 until the function is compiled */
    uint32_t static_shared_bytes;
    uint32_t local_bytes; /* per thread */
    uint32_t registers;   /* an estimate, for cuFuncGetAttribute */
    bool uses_heap;       /* malloc, free */
};
void sc_function_info(const struct sc_function *function, struct sc_function_info *out);

/* The address space as a kernel sees it. Worker threads call `find` on a range-cache miss, concurrently. It
 * sets `out` to the kind and the range [begin, end) of the live allocation that holds `address`, or returns
 * false. */
enum sc_range_kind { SC_RANGE_DEVICE, SC_RANGE_MANAGED, SC_RANGE_HOST };
struct sc_range {
    uint64_t begin, end;
    enum sc_range_kind kind;
};
struct sc_address_space {
    bool (*find)(void *context, uint64_t address, struct sc_range *out);
    void *context;
};

/* Bytes that a launch moved to and from one 2 MiB block of managed or host memory, counted as link traffic:
 * contiguous lanes count their bytes once, a broadcast counts once per warp, scattered lanes count 32 bytes
 * each. */
struct sc_block_traffic {
    uint64_t block; /* address >> 21 */
    uint64_t bytes_read, bytes_written;
};

/* Units that multiply matrices faster than others do, by what they multiply: tf32, 16 bits, 8 bits or fewer.
 */
enum sc_matrix_rate { SC_RATE_NONE, SC_RATE_TF32, SC_RATE_HALF, SC_RATE_BYTE, SC_RATES };

/* The products of one launch: m by n results, each a sum of k. Zeros: the shape is not known. */
struct sc_matrix_work {
    enum sc_matrix_rate rate;
    uint64_t m, n, k, batch;
};

/* The cost of a launch; it does not depend on the number of workers. Free it with sc_cost_free. */
struct sc_cost {
    uint64_t instructions;              /* lanes x PTX instructions */
    uint64_t flops;                     /* an fma counts two */
    struct sc_matrix_work product;      /* if it has a rate, most flops are its */
    uint64_t bytes_read, bytes_written; /* global memory of all kinds, counted like sc_block_traffic */
    struct sc_block_traffic *blocks;    /* sorted by block; managed and host ranges only */
    size_t block_count;
    /* Set if sc_launch.touches is set. After a fault the list may be incomplete. */
    struct sc_touched *touched;
    size_t touched_count;
    struct sc_accessed *accessed; /* the same, if sc_launch.accesses is set */
    size_t accessed_count;
    uint64_t grid_blocks, executed_blocks;
};
void sc_cost_free(struct sc_cost *cost);

enum sc_fault_kind {
    SC_FAULT_NONE,
    SC_FAULT_ILLEGAL_ADDRESS,
    SC_FAULT_MISALIGNED,
    SC_FAULT_TRAP,
    SC_FAULT_ASSERT,
    SC_FAULT_TIMEOUT, /* the watchdog: the block executed too many instructions */
    SC_FAULT_ILLEGAL_INSTRUCTION,
    SC_FAULT_STACK,        /* call stack overflow */
    SC_FAULT_INVALID_CALL, /* an indirect call to an address that is not a function */
};
struct sc_fault {
    enum sc_fault_kind kind;
    uint32_t line; /* in the PTX text */
    uint32_t block[3], thread[3];
    uint64_t address;
};

struct sc_launch {
    const struct sc_function *function; /* compiled */
    uint32_t grid[3], block[3];         /* validated by the driver: block <= 1024 threads */
    uint32_t dynamic_shared_bytes;
    const void *parameters; /* the packed parameter block, parameter_bytes long */
    const struct sc_address_space *space;
    uint64_t heap, heap_bytes;      /* device memory for the kernel's malloc, zeroed before its first use; 0:
                                       malloc returns NULL */
    bool cooperative;               /* all blocks run side by side and share a grid barrier of their own */
    uint32_t workers;               /* maximum number of threads, at least 1 */
    uint64_t watchdog_instructions; /* limit per block; 0: none */
    uint32_t sample_over; /* of a grid of more blocks only some are executed, and the cost is foretold from
                             them (engine/sample.h); 0: of none. Needs sc_engine_note_touches */
    uint64_t sample_instructions; /* a grid that is foretold to execute no more is executed wholly, too */
    /* Told, at the end, what larger pieces of memory the blocks wrote that were executed of a grid, where
     * others were not: nobody can rely on what is there. By the calling thread; NULL: not told. */
    void (*scrap)(uint64_t address, uint64_t bytes);
    bool touches;               /* fill sc_cost.touched; needs sc_engine_note_touches */
    bool accesses;              /* fill sc_cost.accessed; needs sc_engine_note_touches */
    struct sc_profile *profile; /* counts the executed instructions, or NULL */
};

/* Runs the whole grid before it returns. Results do not depend on `workers`. Sets *fault on SC_ENGINE_FAULT,
 * and *cost in any case. Thread safety: any number of launches may run at once. */
enum sc_engine_status sc_run(const struct sc_launch *launch, struct sc_cost *cost, struct sc_fault *fault);

#endif
