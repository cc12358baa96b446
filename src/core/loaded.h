/* Device memory that modules take: variables, code, and what the driver reserves for kernels. Only the driver
 * knows how much it is, so its free memory is compared before and after. Thread-safe; no lock of a core may
 * be held. */
#ifndef SLUICE_LOADED_H
#define SLUICE_LOADED_H

#include <stdbool.h>
#include <stdint.h>

struct sl_core;

struct sl_loading {
    bool on;
    uint64_t free_bytes, known_bytes; /* known: that sluice brought to the device, and that are charged */
    uint64_t expected_bytes;          /* charged until the end */
};

/* A call that may load a module is about to be made. Of at least `expected_bytes` bytes it is known
 * before: chunks are evicted for them, if the budget has so much. */
void sl_runtime_load_begins(struct sl_loading *loading, uint64_t expected_bytes);
/* It was made: the bytes by which the driver's free memory fell for it (or rose, less than 0). Returns the
 * charge of the expected bytes. */
uint64_t sl_runtime_load_ended(const struct sl_loading *loading);

#endif
