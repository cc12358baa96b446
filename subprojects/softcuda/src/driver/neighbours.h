/* Other processes on the same devices (SOFTCUDA_SHARED): each says in a file what it has allocated of each,
 * so that all see it as taken.
 *
 * A process has a slot of the file, and a lock on the byte of the same number that its mapping of the file
 * holds: it ends with the process, however that ends. What a slot without its lock says is of a dead process.
 * The file is the user's alone; the last one removes it.
 *
 * Without the option there are no neighbours: what a process sees then depends on nothing that another does.
 *
 * pre: the driver's lock is held. */
#ifndef SOFTCUDA_NEIGHBOURS_H
#define SOFTCUDA_NEIGHBOURS_H

#include <stdint.h>

/* Opens the file, if one is named. One that cannot be used is logged, and there are no neighbours. */
void sc_neighbours_open(void);
void sc_neighbours_close(void);

/* This process now has so much of the device, by its physical number. */
void sc_neighbours_say(int physical, uint64_t bytes);

/* The same of managed memory on it, which gives way to what is allocated. */
void sc_neighbours_say_resident(int physical, uint64_t bytes);

/* What the others have of it. */
uint64_t sc_neighbours_bytes(int physical);
uint64_t sc_neighbours_resident(int physical);

/* Forgets the dead. To be called before something is refused for what others have, or said of it. */
void sc_neighbours_bury(void);

#endif
