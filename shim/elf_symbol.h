/* Finding a function in the loaded objects without dlsym, which this library replaces. */
#ifndef SLUICE_SHIM_ELF_SYMBOL_H
#define SLUICE_SHIM_ELF_SYMBOL_H

#include <stdbool.h>
#include <stdint.h>

/* The definition of `name` with symbol version `version` in a loaded object other than this library that
 * defines `beside` as well. `version` NULL takes the default one, `beside` NULL any object. NULL when there
 * is none. Calls nothing and takes no lock: for the time before other threads load objects. */
void *sl_elf_symbol(const char *name, const char *version, const char *beside);

/* The definition that the loader would find for `name` with `version` behind this library: what RTLD_NEXT is
 * to us. NULL when this library was not loaded before the others. As above. */
void *sl_elf_next(const char *name, const char *version);

/* The span of the loaded object that holds `address`. False, and both 0, when there is none. */
bool sl_elf_range(const void *address, uintptr_t *low, uintptr_t *high);

#endif
