/* SOFTCUDA_TRAP_HOST: notices when the CPU accesses managed memory that only the device has.
 *
 * Device addresses are host addresses, and kernels run in the program's threads, so pages cannot be closed to
 * the one and open to the other. They are closed to all (PROT_NONE) while the device does nothing: blocks
 * that are on the device only, from the end of a call of the program until the next operation is executed.
 * Where an access hits one, a handler for SIGSEGV executes and times what the thread has submitted. If the
 * block is still on the device then, it reports the access and moves the block to the host, in the thread's
 * simulated time.
 *
 * Lock order: the driver's lock, then the one of this file, which guards what is closed.
 */
#ifndef SOFTCUDA_TRAP_H
#define SOFTCUDA_TRAP_H

#include <stdbool.h>
#include <stdint.h>

extern bool sc_trap_on; /* set once, by sc_trap_init */

/* pre: the address space is open. */
void sc_trap_init(void);

/* The device begins to work on memory, or ends: everything is open meanwhile. The driver's lock need not be
 * held. */
void sc_trap_begin(void);
void sc_trap_end(void);

/* Residency may have changed. pre: the driver's lock is held, here and below. */
void sc_trap_moved(void);
/* A call of the program returns: closes what is on the device only, and opens what is not. */
void sc_trap_close(void);
/* Managed memory [begin, begin + bytes) is freed. */
void sc_trap_forget(uint64_t begin, uint64_t bytes);

#endif
