/* Events between processes (CU_EVENT_INTERPROCESS).
 *
 * Such an event is a slot in the memory file of the process that made it (ipc_file.h): how often it was
 * recorded, by all processes, and for each of the last records whether the work in front of it is done, and
 * when that was on the simulated clock. Records, and waits for another process's, are executed like launches
 * that meet other ranks' (peers.h): hardware would go on with them though no host thread waits.
 *
 * pre: the driver's lock is held. */
#ifndef SOFTCUDA_IPC_EVENT_H
#define SOFTCUDA_IPC_EVENT_H

#include "driver.h"
#include "native.h"

struct sc_ipc_event; /* one process's side of it */

/* What the operation of a record or a wait has. */
struct sc_ipc_work {
    struct sc_ipc_event *event; /* a reference */
    uint64_t generation;        /* the number of the record */
};
extern const struct sc_native_peers sc_ipc_record_peers, sc_ipc_wait_peers; /* parameters: a sc_ipc_work */

/* NULL: no more of them, or no memory. */
struct sc_ipc_event *sc_ipc_event_new(void);
void sc_ipc_event_unref(struct sc_ipc_event *event); /* accepts NULL */

/* The operation of a record, and of a wait for the last record of another process; *out is NULL where there
 * is nothing to wait for: nobody recorded it, or this process did last. */
CUresult sc_ipc_event_record(struct sc_ipc_event *event, struct sc_context *context, struct sc_op **out);
CUresult sc_ipc_event_wait(struct sc_ipc_event *event, struct sc_context *context, struct sc_op **out);

/* Whether another process recorded it last: then the next two say what the event's own operation does not. */
bool sc_ipc_event_is_elsewhere(const struct sc_ipc_event *event);
/* Whether that record is done; the calling thread's clock is then not before it. */
bool sc_ipc_event_ended(struct sc_ipc_event *event);
/* Waits for it, without the lock. CUDA_ERROR_LAUNCH_TIMEOUT: the process that recorded it is gone. */
CUresult sc_ipc_event_synchronize(struct sc_ipc_event *event);

#endif
