/* Launches that wait on the device for launches of other ranks (../native.h), and records of interprocess
 * events and waits for them (ipc_event.h), which are executed like such launches.
 *
 * A rank's program may wait for its peers in ways that the driver does not see, and so hold them up without
 * ever waiting for the device. Hardware would go on all the same. So a thread of the driver's executes, and
 * times, all that was submitted up to the last such launch; and each of these runs in a thread of its own.
 *
 * pre: the driver's lock is held, everywhere. */
#ifndef SOFTCUDA_PEERS_H
#define SOFTCUDA_PEERS_H

#include "queue.h"

/* Such a launch was submitted. */
void sc_peers_expect(void);

/* Runs a launch, and stays until it is timed. Releases the lock meanwhile. */
void sc_peers_run(struct sc_op *op);

#endif
