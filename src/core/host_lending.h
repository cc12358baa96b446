/* Distributes host memory among the cores of the process. The first core's share (host_share.h) is the
 * process's share, as other processes see it. The other cores borrow from it what they need, and return it
 * when it runs short. Thread-safe; except for sl_host_lending_link, which makes some system calls, no order
 * lock may be held. */
#ifndef SLUICE_HOST_LENDING_H
#define SLUICE_HOST_LENDING_H

#include <stdbool.h>
#include <stdint.h>

struct sl_core;

/* `bytes` bytes found no room. True: other cores gave memory up, so try again. False at once if there is only
 * one core. */
bool sl_host_lending_more(struct sl_core *core, uint64_t bytes);

/* The number of known devices on the link of this core's device, itself included: other processes' and this
 * one's. */
uint32_t sl_host_lending_link(struct sl_core *core);

/* The core has stopped, and its memory is gone. */
void sl_host_lending_end(struct sl_core *core);
/* The process ends: other processes may have all of its memory. Caller holds the first core's order lock. */
void sl_host_lending_over(void);

#endif
