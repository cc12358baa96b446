/* How much host memory chunks may take: managed pages cannot be swapped, and beyond the limit the kernel's
 * out-of-memory killer ends the program. */
#ifndef SLUICE_HOST_MEMORY_H
#define SLUICE_HOST_MEMORY_H

#include "base/types.h"

struct sl_host_memory {
    uint64_t available_bytes; /* MemAvailable; 0 when unknown */
    uint64_t cgroup_bytes;    /* what the process's memory cgroup still allows; UINT64_MAX without a limit */
    uint64_t cgroup;          /* stands for the cgroup whose limit that is; 0 without one */
};

/* Reads /proc/meminfo and the process's memory cgroup (v2, or v1's memory controller). Never fails. */
void sl_host_memory_read(struct sl_host_memory *out);

/* Whether the machine has several NUMA nodes. `sysfs`: the folder in which the kernel shows it (/sys). */
bool sl_host_has_nodes(const char *sysfs);

/* Stands for whatever limits the memory: processes for which it is equal share what there is. 0: the machine,
 * else the cgroup. */
uint64_t sl_host_memory_limited_by(const struct sl_host_memory *memory);

/* min(available, cgroup) less `reserve_bytes`; UINT64_MAX when nothing is known. */
uint64_t sl_host_memory_limit(const struct sl_host_memory *memory, uint64_t reserve_bytes);

#endif
