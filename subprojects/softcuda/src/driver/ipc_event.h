/* Events between processes (CU_EVENT_INTERPROCESS).
 *
 * Such an event is a slot in the memory file of the process that created it (ipc_file.h). The slot holds the
 * number of records by all processes and, for each of the last records, whether the work before it is done
 * and when it ended on the simulated clock. Records, and waits for another process's record, are executed
 * like launches that meet other ranks (peers.h): as on hardware, they proceed even if no host thread waits.
 *
 * pre: the driver's lock is held. */
#ifndef SOFTCUDA_IPC_EVENT_H
#define SOFTCUDA_IPC_EVENT_H

#include "driver.h"
#include "native.h"

struct sc_ipc_event; /* one process's side of it */

/* Payload of the operation of a record or a wait. */
struct sc_ipc_work {
    struct sc_ipc_event *event; /* a reference */
    uint64_t generation;        /* number of the record */
};
extern const struct sc_native_peers sc_ipc_record_peers, sc_ipc_wait_peers; /* parameters: a sc_ipc_work */

/* NULL: all slots are taken, or no memory. */
struct sc_ipc_event *sc_ipc_event_new(void);
void sc_ipc_event_unref(struct sc_ipc_event *event); /* accepts NULL */

/* Creates the operation of a record, or of a wait for another process's last record. sc_ipc_event_wait sets
 * *out to NULL if there is nothing to wait for: nothing was recorded, or this process recorded last. */
CUresult sc_ipc_event_record(struct sc_ipc_event *event, struct sc_context *context, struct sc_op **out);
CUresult sc_ipc_event_wait(struct sc_ipc_event *event, struct sc_context *context, struct sc_op **out);

/* Whether another process made the last record. If so, the event's own operation is outdated; use the next
 * two functions instead. */
bool sc_ipc_event_is_elsewhere(const struct sc_ipc_event *event);
/* Whether that record is done. If so, the calling thread's clock advances at least to its end. */
bool sc_ipc_event_ended(struct sc_ipc_event *event);
/* Waits for that record and releases the lock meanwhile. CUDA_ERROR_LAUNCH_TIMEOUT: the process that recorded
 * it is gone. */
CUresult sc_ipc_event_synchronize(struct sc_ipc_event *event);

#endif
