/* Host memory among the cores of the process. The first core's share (host_share.h) is the process's, as the
 * other processes see it; the others borrow of it what they need, and lend it back when it runs short.
 * Thread-safe; but for sl_host_lending_link no order lock may be held. */
#ifndef SLUICE_HOST_LENDING_H
#define SLUICE_HOST_LENDING_H

#include <stdbool.h>
#include <stdint.h>

struct sl_core;

/* There was no room for `bytes` bytes. True: there may be now, as other cores gave some up. False at once
 * where there is only one. */
bool sl_host_lending_more(struct sl_core *core, uint64_t bytes);

/* How many devices are at the end of the link of this core's, as far as is known, itself included: those of
 * other processes and of this one. */
uint32_t sl_host_lending_link(const struct sl_core *core);

/* The core has stopped. `device_gone`: it has no memory any more. */
void sl_host_lending_end(struct sl_core *core, bool device_gone);

#endif
