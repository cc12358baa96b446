/* Turns the works of one communicator in a group into a launch. */
#ifndef SOFTCUDA_NCCL_ENQUEUE_H
#define SOFTCUDA_NCCL_ENQUEUE_H

#include "comm.h"

struct sc_enqueue {
    ncclComm_t comm;
    struct sc_work *works;
    size_t count, room;
    CUstream *streams; /* each once; the launch goes to the first */
    size_t stream_count, stream_room;
};

ncclResult_t sc_enqueue_add(struct sc_enqueue *enqueue, CUstream stream, const struct sc_work *work);
/* Launches after the work of all its streams and the communicator's last launch; the streams then wait for
 * the launch. */
ncclResult_t sc_enqueue_launch(struct sc_enqueue *enqueue);
void sc_enqueue_free(struct sc_enqueue *enqueue);

#endif
