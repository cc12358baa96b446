/* Where the program allocates. */
#ifndef SLUICE_SITE_H
#define SLUICE_SITE_H

#include "base/types.h"

/* A hash of the calling library and the call stack above the shim, and of where the thread is in Python
 * (python_frames.h). `caller` is the hook's return address. */
uint64_t sl_site_here(const void *caller);

#endif
