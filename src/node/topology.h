/* Where a device hangs, as the kernel shows it: which of the root's ports its traffic with the host passes,
 * and which NUMA node is nearest. `sysfs`: the folder that /sys is, or one like it. What is there is read as
 * text, and is not trusted. */
#ifndef SLUICE_TOPOLOGY_H
#define SLUICE_TOPOLOGY_H

#include "base/types.h"

/* Equal for devices behind the same port; 0: not known. A device that is at the root itself is alone. */
uint64_t sl_topology_link(const char *sysfs, uint32_t domain, uint32_t bus, uint32_t device);

/* The nearest node; -1: not known, or there is none. */
int sl_topology_node(const char *sysfs, uint32_t domain, uint32_t bus, uint32_t device);

#endif
