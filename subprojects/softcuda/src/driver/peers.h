/* Launches that wait on the device for launches of other ranks (../native.h). Records of interprocess events
 * and waits for them (ipc_event.h) are executed in the same way.
 *
 * The program of a rank may wait for its peers in ways that the driver does not see, and never wait for the
 * device; hardware would make progress all the same. So a driver thread executes and times all work that was
 * submitted up to the last such launch, and each such launch runs in a thread of its own.
 *
 * pre: the driver's lock is held, everywhere. */
#ifndef SOFTCUDA_PEERS_H
#define SOFTCUDA_PEERS_H

#include "queue.h"

/* Such a launch was submitted: starts the thread. */
void sc_peers_expect(void);

/* Runs a launch, and returns when it has its times. Releases the lock meanwhile. */
void sc_peers_run(struct sc_op *op);

#endif
