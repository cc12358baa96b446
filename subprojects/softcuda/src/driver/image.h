/* Turns images into modules: shared by module.c and library.c. */
#ifndef SOFTCUDA_IMAGE_H
#define SOFTCUDA_IMAGE_H

#include "../cudart/fatbin.h"
#include "module.h"
#include "native.h"

/* Shared memory that a block gets by default. */
#define SC_SHARED_BYTES 49152
/* Maximum shared memory of a block, with opt-in. */
#define SC_SHARED_OPTIN_BYTES 232448

/* The contents of an image: parsed PTX, the kernels of one of softcuda's own libraries, or the tables of
 * machine code, whose kernels are not executed. */
struct sc_image {
    struct sc_source *source;             /* NULL: no PTX */
    const struct sc_native_image *native; /* or NULL */
    struct sc_machine_code *code;         /* or NULL */
    int ptx_version;                      /* 75 for compute_75 */
};

/* Reads and parses an image; `bytes` 0: its size is not known. The caller frees *out. */
CUresult sc_image_read(const void *data, size_t bytes, const struct sc_jit_log *log, struct sc_image *out);
void sc_image_free(struct sc_image *image); /* accepts NULL */

/* The same without parsing: the PTX texts of an image. The caller frees *out. */
CUresult sc_image_texts(const void *data, size_t bytes, const struct sc_jit_log *log,
                        struct sc_fatbin_images *out);

/* Loads an image into a context, for a library or for none (NULL). With `context` NULL it loads a catalogue,
 * which cannot run. No function is compiled. */
CUresult sc_image_load(const struct sc_image *image, struct sc_context *context, struct sc_library *library,
                       struct sc_loaded **out);

/* Compiles a function, unless that was done; func->info is then complete. Logs an error of the PTX the first
 * time. Errors: CUDA_ERROR_INVALID_PTX, CUDA_ERROR_OUT_OF_MEMORY. */
CUresult sc_function_compiled(struct sc_func *func, const struct sc_jit_log *log);

/* Checks whether the texts load and compile together; logs an error if not. */
CUresult sc_image_check(const struct sc_fatbin_images *images, const struct sc_jit_log *log);

/* Reads a whole file; the caller frees *data. */
CUresult sc_file_read(const char *path, void **data, size_t *bytes);

#endif
