/* The memory of the backends on the driver: slabs of unified memory, which every device of the process may
 * touch, and pinned host memory. */
#ifndef SLUICE_CUDA_SLABS_H
#define SLUICE_CUDA_SLABS_H

#include "base/types.h"
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

/* The function lost of struct sl_backend; also called before the backend is freed. Accepts one that did not
 * join. Thread-safe. */
void sl_cuda_part(void *self);

/* The NUMA node nearest to the device, from the driver or else from the kernel; -1: neither knows it. Also -1
 * if the host has one node (`several` is false). But a node above 0 from the driver is returned in any case.
 */
int sl_host_node_nearest(int driver_says, int kernel_says, bool several);

/* Makes the kernel prefer the node for new pages of [address, address + bytes), whole pages, while it has
 * room. Does nothing for -1. False: the kernel refuses, and places pages as it likes. Thread-safe. */
bool sl_host_node_prefer(uint64_t address, uint64_t bytes, int node);

/* Reserves host memory for a pinned slab: `bytes` bytes, whole pages, from a multiple of 1 GiB on; the rest
 * of their last GiB is reserved too, and inaccessible. A child after fork does not have them. Thread-safe.
 * SL_ERR_NO_MEMORY. */
enum sl_status sl_reserve(uint64_t bytes, uint64_t *address);
void sl_unreserve(uint64_t address, uint64_t bytes);

#endif
