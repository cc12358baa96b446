/* Finds functions in the loaded objects without dlsym, which this library replaces. */
#ifndef SLUICE_SHIM_ELF_SYMBOL_H
#define SLUICE_SHIM_ELF_SYMBOL_H

#include <stdbool.h>
#include <stdint.h>

/* The definition of `name` with symbol version `version` in a loaded object, other than this library, that
 * also defines `beside`. `version` NULL: the default version; `beside` NULL: any object. NULL: there is none.
 * Calls nothing and takes no lock. For the time before other threads load objects. */
void *sl_elf_symbol(const char *name, const char *version, const char *beside);

/* The definition that the loader would find for `name` with `version` after this library, as RTLD_NEXT would.
 * NULL if this library was not loaded before the others. Same restrictions. */
void *sl_elf_next(const char *name, const char *version);

/* The addresses of the loaded object that holds `address`. False, and both 0: there is none. */
bool sl_elf_range(const void *address, uintptr_t *low, uintptr_t *high);

#endif
