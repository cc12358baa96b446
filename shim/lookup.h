/* Look-ups that end elsewhere, found without calling them by name: this library defines dlsym and dlvsym. */
#ifndef SLUICE_SHIM_LOOKUP_H
#define SLUICE_SHIM_LOOKUP_H

#include <stdbool.h>

/* The C library's dlsym and dlvsym, with this library as their caller. */
void *sl_real_dlsym(void *handle, const char *name);
void *sl_real_dlvsym(void *handle, const char *name, const char *version);

/* Called by dlsym.S. Fills sl_next_lookup[]; idempotent, may run in several threads at once. */
void sl_bind_lookup(void);

/* Called by dlsym.S for a name like the driver's. True: the look-up's answer is *result. False: the real
 * function answers. */
bool sl_resolve(void *handle, const char *name, const char *version, const void *caller, void **result);

#endif
