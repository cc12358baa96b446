/* Finding a function in the loaded objects without dlsym, which this library replaces. */
#ifndef SLUICE_SHIM_ELF_SYMBOL_H
#define SLUICE_SHIM_ELF_SYMBOL_H

#include <stdbool.h>
#include <stdint.h>

/* The definition of `name` with symbol version `version` in a loaded object other than this library that
 * defines `beside` as well. `version` NULL takes the default one, `beside` NULL any object. NULL when there
 * is none. Calls nothing and takes no lock: for the time before other threads load objects. */
void *sl_elf_symbol(const char *name, const char *version, const char *beside);

/* The span of the loaded object that holds `address`. False, and both 0, when there is none. */
bool sl_elf_range(const void *address, uintptr_t *low, uintptr_t *high);

#endif
