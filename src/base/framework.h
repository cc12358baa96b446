/* Frameworks keep what they freed and give it out again, so that the driver never hears of tensors. Where the
 * user has not chosen otherwise, PyTorch is asked, by the variable that it documents for this, to allocate
 * each tensor in the order of its stream (backend:cudaMallocAsync): then sluice sees when each begins and
 * ends, and places it. `sluice run` does so for the program that it runs, and the preloaded object, without
 * it, for Python.
 */
#ifndef SLUICE_FRAMEWORK_H
#define SLUICE_FRAMEWORK_H

#include <stdbool.h>
#include <stddef.h>

#define SL_FRAMEWORK_VARIABLES 2
#define SL_FRAMEWORK_ENTRY 4096 /* bytes; a longer value stays as it is */

/* Whether the process is one that PyTorch may be loaded into later: an interpreter of Python. What is linked
 * with it reads the environment before a preloaded object could add to it. */
bool sl_framework_may_come(void);

/* What the environment should have, as "NAME=VALUE", in place of what it has of these names. Returns how
 * many: none where the user has chosen an allocator, or set what only the caching one obeys. To be called
 * before main: frameworks read their variables when they are loaded. Allocates nothing. */
size_t sl_framework_settings(char entries[SL_FRAMEWORK_VARIABLES][SL_FRAMEWORK_ENTRY]);

#endif
