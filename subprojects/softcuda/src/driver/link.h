/* The output of cuLinkComplete: several PTX texts in one image, which the program then loads. */
#ifndef SOFTCUDA_LINK_H
#define SOFTCUDA_LINK_H

#include "../cudart/fatbin.h"
#include "driver.h"

/* Whether the image starts with the header of a linked image. `bytes` 0: its size is not known; it is at
 * least what its header says. */
bool sc_linked_is(const void *image, size_t bytes);

/* Splits a linked image into its texts. The caller frees *out. */
CUresult sc_linked_read(const void *image, size_t bytes, struct sc_fatbin_images *out);

#endif
