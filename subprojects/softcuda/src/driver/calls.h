/* Threads that run the program's host functions, as a driver has them: never a thread of the program, which
 * may itself be what the function waits for. And those that run launches which wait for other ranks'. */
#ifndef SOFTCUDA_CALLS_H
#define SOFTCUDA_CALLS_H

#include "queue.h"

/* Runs the SC_OP_CALL `op` in another thread, which hands it to sc_queue_called afterwards; or a launch that
 * meets peers, by sc_peers_run. What is under way does not wait for each other. false: no thread could be
 * started, and nothing happens. pre: the driver's lock is held; `op` has a reference for the other thread. */
bool sc_calls_begin(struct sc_op *op);

/* A thread of the driver's. false: it could not be started. */
bool sc_calls_start_thread(void *(*body)(void *unused));

#endif
