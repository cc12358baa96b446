/* The device memory that a module's image is known to need. */
#ifndef SLUICE_SHIM_MODULE_BYTES_H
#define SLUICE_SHIM_MODULE_BYTES_H

#include <stdint.h>

/* The bytes of the variables that PTX text or an ELF image declares; 0 for other images, such as compressed
 * ones. `image`: as for cuModuleLoadData; may be NULL. */
uint64_t sl_module_bytes(const void *image);

#endif
