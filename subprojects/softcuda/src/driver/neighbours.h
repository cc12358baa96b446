/* Other processes on the same devices (SOFTCUDA_SHARED): each process publishes in a file how many bytes it
 * has allocated on each device; all others count these bytes as taken.
 *
 * A process has a slot of the file, and a lock on the byte with the slot's number. The lock belongs to the
 * process's mapping of the file, so the system releases it when the process ends, however it ends. A slot
 * without its lock belongs to a dead process. Only the user can open the file; the last process removes it.
 *
 * Without the option there are no neighbours: other processes do not affect this one.
 *
 * pre: the driver's lock is held. */
#ifndef SOFTCUDA_NEIGHBOURS_H
#define SOFTCUDA_NEIGHBOURS_H

#include <stdint.h>

/* Opens the file, if the option names one. If it cannot be used, that is logged and there are no
 * neighbours. */
void sc_neighbours_open(void);
void sc_neighbours_close(void);

/* Publishes this process's allocated bytes on the device with this physical number. */
void sc_neighbours_say(int physical, uint64_t bytes);

/* Publishes its managed bytes on the device. Unlike allocated bytes, they can be evicted. */
void sc_neighbours_say_resident(int physical, uint64_t bytes);

/* The sums over the other processes. */
uint64_t sc_neighbours_bytes(int physical);
uint64_t sc_neighbours_resident(int physical);

/* Clears the slots of dead processes. Call it before refusing something, or reporting it, because of other
 * processes' memory. */
void sc_neighbours_bury(void);

#endif
