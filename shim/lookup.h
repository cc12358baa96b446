/* The real look-up functions, found without calling them by name: this library defines dlsym and dlvsym. */
#ifndef SLUICE_SHIM_LOOKUP_H
#define SLUICE_SHIM_LOOKUP_H

#include <stdbool.h>

/* The C library's dlsym and dlvsym, with this library as their caller. */
void *sl_real_dlsym(void *handle, const char *name);
void *sl_real_dlvsym(void *handle, const char *name, const char *version);

/* Called by dlsym.S. Fills sl_next_lookup[]. Idempotent; several threads may run it at once. */
void sl_bind_lookup(void);

/* Called by dlsym.S for a name that looks like the driver's. True: *result is the answer. False: the real
 * function answers. */
bool sl_resolve(void *handle, const char *name, const char *version, const void *caller, void **result);

#endif
