/* What cuLinkComplete makes: several PTX texts in one image, which the program hands back to be loaded. */
#ifndef SOFTCUDA_LINK_H
#define SOFTCUDA_LINK_H

#include "../cudart/fatbin.h"
#include "driver.h"

/* Does the image begin as a linked one does? `bytes` 0: its size is not known, but it is no shorter than its
 * header says. */
bool sc_linked_is(const void *image, size_t bytes);

/* Takes it apart. The caller frees *out. */
CUresult sc_linked_read(const void *image, size_t bytes, struct sc_fatbin_images *out);

#endif
