/* The best NUMA node for a device's host memory. */
#ifndef SLUICE_HOST_NODE_H
#define SLUICE_HOST_NODE_H

#include "base/types.h"

/* The node nearest to the device, from the driver or else from the kernel; -1: neither knows it. Also -1 if
 * the host has one node (`several` is false). But a node above 0 from the driver is returned in any case. */
int sl_host_node_nearest(int driver_says, int kernel_says, bool several);

/* Makes the kernel prefer the node for new pages of [address, address + bytes), whole pages, while it has
 * room. Does nothing for -1. False: the kernel refuses, and places pages as it likes. Thread-safe. */
bool sl_host_node_prefer(uint64_t address, uint64_t bytes, int node);

#endif
