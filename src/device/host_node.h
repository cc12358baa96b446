/* The NUMA node on which host memory of a device lies best. */
#ifndef SLUICE_HOST_NODE_H
#define SLUICE_HOST_NODE_H

#include "base/types.h"

/* The node that is nearest to the device: what the driver says, else what the kernel does; -1: neither does.
 * -1 as well where memory lies on it anyway, because the host has one node (`several` is false). A node
 * beyond the first that the driver names is there in any case. */
int sl_host_node_nearest(int driver_says, int kernel_says, bool several);

/* Has pages that [address, address + bytes), whole pages, is given from now on lie on the node while it has
 * room, else on another. Nothing for -1. False: the kernel does not do it, or is not allowed to; they lie
 * wherever it puts them. Thread-safe. */
bool sl_host_node_prefer(uint64_t address, uint64_t bytes, int node);

#endif
