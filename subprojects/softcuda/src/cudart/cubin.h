/* Machine code in ELF (a cubin), of which only the tables are read: kernels with their parameters and what
 * they need, and variables.
 *
 * Nothing in a cubin is trusted: every offset is checked against its size. Thread safety: all functions are
 * pure.
 */
#ifndef SOFTCUDA_CUBIN_H
#define SOFTCUDA_CUBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../engine.h"

struct sc_cubin_kernel {
    const char *name;
    struct sc_parameter *parameters; /* in their order */
    uint32_t parameter_count, parameter_bytes;
    uint32_t max_threads; /* of a block; 1024 if the kernel does not say */
    uint32_t registers, local_bytes, static_shared_bytes;
};

/* A variable in global or constant memory. */
struct sc_cubin_variable {
    const char *name;
    const unsigned char *initial; /* `bytes` of them; NULL: zeros */
    uint64_t bytes;
    bool managed, constant;
};

struct sc_cubin {
    unsigned char *data; /* the names and initial values lie in it */
    unsigned arch;       /* 90 for sm_90 */
    struct sc_cubin_kernel *kernels;
    size_t kernel_count;
    struct sc_cubin_variable *variables;
    size_t variable_count;
    uint64_t constant_bytes; /* of all variables in constant memory */
};

enum sc_cubin_status { SC_CUBIN_OK = 0, SC_CUBIN_CORRUPT, SC_CUBIN_NO_MEMORY };

/* The length of the ELF file that begins at `data`, of which `readable` bytes can be read: its end as its
 * headers and sections have it. 0: it is none, or it claims to be longer than that. */
size_t sc_cubin_bytes(const void *data, size_t readable);

/* Reads the tables of `data`, `bytes` long, from malloc. On success *out is set and owns `data`; the caller
 * frees it with sc_cubin_free. Otherwise *out is unchanged, `data` still the caller's, and `why`, of
 * `why_bytes` bytes, receives one line with the error and its offset. */
enum sc_cubin_status sc_cubin_read(unsigned char *data, size_t bytes, struct sc_cubin *out, char *why,
                                   size_t why_bytes);

/* Frees what *cubin owns and empties it; accepts an empty one. */
void sc_cubin_free(struct sc_cubin *cubin);

#endif
