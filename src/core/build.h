/* Allocates, builds and tears down a core. Not thread-safe, except sl_core_virtual_size. */
#ifndef SLUICE_BUILD_H
#define SLUICE_BUILD_H

#include "core/core.h"

/* Returns a zeroed core; NULL: no memory. */
struct sl_core *sl_core_new(void);
/* Initialises all parts. Precondition: backend, options and policy are set. After an error, call
 * sl_core_tear_down. */
enum sl_status sl_core_build(struct sl_core *core);
/* Works after every stage of the build. Frees device memory unless `device_gone`. */
void sl_core_tear_down(struct sl_core *core, bool device_gone);
void sl_core_delete(struct sl_core *core); /* accepts NULL */

/* The device memory that the program sees, decided at the first call. Thread-safe. */
uint64_t sl_core_virtual_size(void);

#endif
