/* libnccl's access to the device: dlopen of libcuda.so.1, dlsym of cuGetProcAddress_v2, and all other
 * functions through that, so that a library that interposes the driver sees every launch. Thread-safe. */
#ifndef SOFTCUDA_NCCL_GATE_H
#define SOFTCUDA_NCCL_GATE_H

#include <cuda.h>
#include <stdbool.h>

#include "api.h"

/* Loads the driver and the kernels at the first call. If the calling thread has no context, makes the first
 * device's primary context current, as the Runtime API does. */
ncclResult_t sc_gate_open(void);

/* Properties of the links between devices, from the driver. pre: sc_gate_open succeeded once in this
 * process. */
double sc_gate_peer_bytes_per_ns(void);
uint64_t sc_gate_peer_latency_ns(void);

/* The current context and its device. */
ncclResult_t sc_gate_context(CUcontext *context, CUdevice *device);
/* Makes a context current: the given one, or the device's. *before is set to the previous one. */
ncclResult_t sc_gate_enter(CUcontext context, CUcontext *before);
ncclResult_t sc_gate_enter_device(int device, CUcontext *before);
void sc_gate_leave(CUcontext before);
ncclResult_t sc_gate_device_count(int *count);

/* Launches kernel `index` of the image with a copy of `parameters`, of `bytes` bytes. */
ncclResult_t sc_gate_launch(unsigned index, CUstream stream, const void *parameters, size_t bytes);

/* If the stream is being captured, *capture is the capture's number, else 0. */
ncclResult_t sc_gate_capture(CUstream stream, cuuint64_t *capture);
ncclResult_t sc_gate_event_create(CUevent *event);
void sc_gate_event_destroy(CUevent event);
ncclResult_t sc_gate_event_record(CUevent event, CUstream stream);
ncclResult_t sc_gate_event_wait(CUstream stream, CUevent event);
ncclResult_t sc_gate_event_synchronize(CUevent event);

ncclResult_t sc_gate_allocate(void **memory, size_t bytes);
ncclResult_t sc_gate_free(void *memory);
#endif
