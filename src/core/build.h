/* The core's parts: made, wired, torn down. One thread. */
#ifndef SLUICE_BUILD_H
#define SLUICE_BUILD_H

#include "core/core.h"

/* Zeroed; NULL: no memory. */
struct sl_core *sl_core_new(void);
/* pre: backend, options and policy are set. After an error sl_core_tear_down is to follow. */
enum sl_status sl_core_build(struct sl_core *core);
/* For every stage of the build. The device's memory goes back only while the device is there. */
void sl_core_tear_down(struct sl_core *core, bool device_gone);
void sl_core_delete(struct sl_core *core); /* accepts NULL */

/* How much device memory the program sees: decided when it is first asked for, by whichever question.
 * Thread-safe. */
uint64_t sl_core_virtual_size(void);

#endif
