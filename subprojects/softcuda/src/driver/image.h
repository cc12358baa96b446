/* From an image to modules: what module.c and library.c share. */
#ifndef SOFTCUDA_IMAGE_H
#define SOFTCUDA_IMAGE_H

#include "../cudart/fatbin.h"
#include "module.h"
#include "native.h"

/* What a block gets without asking for more. */
#define SC_SHARED_BYTES 49152
/* What it gets at most. */
#define SC_SHARED_OPTIN_BYTES 232448

/* What an image holds: PTX, or the kernels of one of softcuda's own libraries. */
struct sc_image {
    struct sc_fatbin_images ptx;
    const struct sc_native_image *native; /* or NULL */
};

/* Looks into an image; `bytes` 0 means that its size is not known. The caller frees *out. */
CUresult sc_image_read(const void *image, size_t bytes, const struct sc_jit_log *log, struct sc_image *out);
void sc_image_free(struct sc_image *image); /* accepts NULL */

/* Loads an image into a context, for a library or for none (NULL); with `context` NULL as a catalogue that
 * cannot run. */
CUresult sc_image_load(const struct sc_image *image, struct sc_context *context, struct sc_library *library,
                       const struct sc_jit_log *log, struct sc_loaded **out);

/* Would the texts load together? Complains if not. */
CUresult sc_image_check(const struct sc_fatbin_images *images, const struct sc_jit_log *log);

/* A whole file; the caller frees *data. */
CUresult sc_file_read(const char *path, void **data, size_t *bytes);

#endif
