/* The place of a device in the machine, as the kernel shows it: the root port that its host traffic passes,
 * and the nearest NUMA node. `sysfs`: /sys, or a folder like it. Its content is parsed as text and not
 * trusted. */
#ifndef SLUICE_TOPOLOGY_H
#define SLUICE_TOPOLOGY_H

#include "base/types.h"

/* A number for the root port, equal for devices behind the same port; 0: unknown. A device directly at the
 * root has a number of its own. */
uint64_t sl_topology_link(const char *sysfs, uint32_t domain, uint32_t bus, uint32_t device);

/* The nearest node; -1: unknown, or there is none. */
int sl_topology_node(const char *sysfs, uint32_t domain, uint32_t bus, uint32_t device);

#endif
