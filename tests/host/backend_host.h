/* The backend on plain host memory: no driver, no device; every movement is done at once. It counts resident
 * memory and calls so that tests and benchmarks of the core can check them. */
#ifndef SLUICE_BACKEND_HOST_H
#define SLUICE_BACKEND_HOST_H

#include <stdatomic.h>

#include "device/backend.h"

/* A kernel handle of this backend points to one of these. */
struct sl_host_kernel {
    const char *name;
    uint32_t parameter_count;
    const uint32_t *offsets, *sizes;
    uint64_t module; /* or 0 */
};

struct sl_host_books {
    _Atomic uint64_t resident_bytes, peak_resident_bytes;
    _Atomic uint64_t calls; /* of any kind since the start */
    _Atomic uint64_t bytes_in, bytes_out, bytes_discarded;
    _Atomic uint64_t pinned_bytes;
    _Atomic uint64_t wrong; /* calls that break the contract */
};

/* A device of `device_bytes` bytes. A discard fills memory with a pattern so that tests detect wrong
 * discards. Slabs that are given back are unmapped. */
enum sl_status sl_backend_host_new(uint64_t device_bytes, struct sl_backend *out);
struct sl_host_books *sl_backend_host_books(const struct sl_backend *backend);

#endif
