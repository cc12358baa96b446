/* The memory of the backends on the driver: slabs of unified memory, which every device of the process may
 * touch, and pinned host memory. */
#ifndef SLUICE_CUDA_SLABS_H
#define SLUICE_CUDA_SLABS_H

#include "device/cuda_call.h"

/* Where the backend's memory is at home, and where the device uses it. */
CUmemLocation sl_cuda_host(const struct sl_cuda *cuda);
CUmemLocation sl_cuda_device(const struct sl_cuda *cuda);

/* Called when the driver refused `to`. If `to` is a node, falls back to any host memory from here on. False:
 * there is nothing else to try. Thread-safe. */
bool sl_cuda_leaves_node(struct sl_cuda *cuda, CUmemLocation *to);

/* The functions slab_new to pinned_delete of struct sl_backend, whose `self` is a struct sl_cuda. */
enum sl_status sl_cuda_slab_new(void *self, uint64_t bytes, uint64_t *address);
void sl_cuda_slab_delete(void *self, uint64_t address, uint64_t bytes);
enum sl_status sl_cuda_pinned_new(void *self, uint64_t bytes, uint64_t *address);
void sl_cuda_pinned_delete(void *self, uint64_t address, uint64_t bytes);

/* From here on the backend's device may touch the other backends' slabs, and theirs its. Thread-safe. */
void sl_cuda_join(struct sl_cuda *cuda);

/* Before the backend is freed. Accepts one that did not join. Thread-safe. */
void sl_cuda_part(struct sl_cuda *cuda);

#endif
