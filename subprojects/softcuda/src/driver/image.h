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

/* The contents of an image: PTX texts, or the kernels of one of softcuda's own libraries. */
struct sc_image {
    struct sc_fatbin_images ptx;
    const struct sc_native_image *native; /* or NULL */
};

/* Parses an image; `bytes` 0: its size is not known. The caller frees *out. */
CUresult sc_image_read(const void *image, size_t bytes, const struct sc_jit_log *log, struct sc_image *out);
void sc_image_free(struct sc_image *image); /* accepts NULL */

/* Loads an image into a context, for a library or for none (NULL). With `context` NULL it loads a catalogue,
 * which cannot run. */
CUresult sc_image_load(const struct sc_image *image, struct sc_context *context, struct sc_library *library,
                       const struct sc_jit_log *log, struct sc_loaded **out);

/* Checks whether the texts load together; logs an error if not. */
CUresult sc_image_check(const struct sc_fatbin_images *images, const struct sc_jit_log *log);

/* Reads a whole file; the caller frees *data. */
CUresult sc_file_read(const char *path, void **data, size_t *bytes);

#endif
