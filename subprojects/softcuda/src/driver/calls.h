/* Driver threads that run the program's host functions, and launches that wait for other ranks. As in a
 * vendor's driver, a host function never runs in a thread of the program: that thread may be what the
 * function waits for. */
#ifndef SOFTCUDA_CALLS_H
#define SOFTCUDA_CALLS_H

#include "queue.h"

/* Runs `op` in another thread: the host function of an SC_OP_CALL, followed by sc_queue_called, or a launch
 * that meets peers, by sc_peers_run. Calls that are under way do not wait for each other. false: no thread
 * could be started; nothing happened. pre: the driver's lock is held; the caller has taken a reference to
 * `op` for the other thread. */
bool sc_calls_begin(struct sc_op *op);

/* Starts a thread of the driver. false: it could not be started. */
bool sc_calls_start_thread(void *(*body)(void *unused));

#endif
