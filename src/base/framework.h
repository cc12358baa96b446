/* Frameworks cache freed memory and reuse it, so the driver does not see their tensors. Unless the user has
 * chosen otherwise, sluice sets the documented variable that makes PyTorch allocate each tensor in stream
 * order (backend:cudaMallocAsync). Then sluice sees when each tensor begins and ends, and places it. `sluice
 * run` does so for its program; without it, the preloaded object does so for Python. */
#ifndef SLUICE_FRAMEWORK_H
#define SLUICE_FRAMEWORK_H

#include <stdbool.h>
#include <stddef.h>

#define SL_FRAMEWORK_VARIABLES 2
#define SL_FRAMEWORK_ENTRY 4096 /* bytes; longer values are left alone */

/* Whether PyTorch may be loaded into the process later: it is a Python interpreter. A program linked with
 * PyTorch reads the environment before a preloaded object could change it. */
bool sl_framework_may_come(void);

/* The variables that the environment should have, as "NAME=VALUE", replacing those of the same name. Returns
 * their number: 0 if the user has chosen an allocator, or set what only the caching one obeys. Must be called
 * before main: frameworks read their variables when they are loaded. Allocates nothing. */
size_t sl_framework_settings(char entries[SL_FRAMEWORK_VARIABLES][SL_FRAMEWORK_ENTRY]);

#endif
