/* Reports accesses of the CPU to managed memory that only a device has (trap.h), once for each place in the
 * program and allocation. pre: the driver's lock is held, everywhere. */
#ifndef SOFTCUDA_TRAP_REPORT_H
#define SOFTCUDA_TRAP_REPORT_H

#include <stdbool.h>
#include <stdint.h>

struct sc_device;

void sc_trap_report_init(void);
/* `instruction`: the one that accesses, in the calling thread, below a signal handler. */
void sc_trap_report(uint64_t address, bool is_write, const void *instruction, const struct sc_device *holder);

#endif
