/* From an image to modules: what module.c and library.c share. */
#ifndef SOFTCUDA_IMAGE_H
#define SOFTCUDA_IMAGE_H

#include "../cudart/fatbin.h"
#include "module.h"

/* What a block gets without asking for more. */
#define SC_SHARED_BYTES 49152
/* What it gets at most. */
#define SC_SHARED_OPTIN_BYTES 232448

/* Takes PTX out of an image; `bytes` 0 means that its size is not known. The caller frees *out. */
CUresult sc_image_read(const void *image, size_t bytes, const struct sc_jit_log *log,
                       struct sc_fatbin_images *out);

/* Loads PTX into a context; with `context` NULL as a catalogue that cannot run. */
CUresult sc_image_load(const struct sc_fatbin_images *images, struct sc_context *context,
                       const struct sc_jit_log *log, struct sc_loaded **out);

/* A whole file; the caller frees *data. */
CUresult sc_file_read(const char *path, void **data, size_t *bytes);

#endif
