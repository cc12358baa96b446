/* How much memory can be read behind an address, as the kernel says. */
#ifndef SOFTCUDA_READABLE_H
#define SOFTCUDA_READABLE_H

#include <stddef.h>
#include <stdint.h>

/* Readable memory: adjacent mappings of one file, or of none */
struct sc_readable {
    uintptr_t begin, end;
};

/* The number of bytes that can be read from `address` on, up to the end of the object or of the memory that
 * holds it; 0: none. *known is what an earlier call found, or {0, 0}; the kernel is asked again where it does
 * not hold the address. Where the kernel does not say (no /proc), everything counts as readable: SIZE_MAX
 * / 2. Thread-safe. */
size_t sc_readable_bytes(struct sc_readable *known, const void *address);

#endif
