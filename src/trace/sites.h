/* Where the program allocates. */
#ifndef SLUICE_SITES_H
#define SLUICE_SITES_H

#include "base/types.h"

/* A hash of the calling library, the call stack above the shim, and the thread's place in Python
 * (python_frames.h). `caller`: the hook's return address. */
uint64_t sl_site_here(const void *caller);

#endif
