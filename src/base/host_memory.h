/* How much host memory chunks may take. Managed pages cannot be swapped, and beyond the limit the kernel's
 * out-of-memory killer ends the program. */
#ifndef SLUICE_HOST_MEMORY_H
#define SLUICE_HOST_MEMORY_H

#include "base/types.h"

struct sl_host_memory {
    uint64_t available_bytes; /* MemAvailable; 0: unknown */
    uint64_t cgroup_bytes;    /* free in the process's memory cgroup; UINT64_MAX: no limit */
    uint64_t cgroup;          /* identifies the cgroup with that limit; 0: none */
};

/* Reads /proc/meminfo and the process's memory cgroup (v2, or v1's memory controller). Never fails. */
void sl_host_memory_read(struct sl_host_memory *out);

/* Whether the machine has several NUMA nodes. `sysfs`: the folder in which the kernel shows them (/sys). */
bool sl_host_has_nodes(const char *sysfs);

/* Identifies what limits the memory: processes with equal values share it. 0: the machine, else the
 * cgroup. */
uint64_t sl_host_memory_limited_by(const struct sl_host_memory *memory);

/* min(available, cgroup) minus `reserve_bytes`; UINT64_MAX: both are unknown. */
uint64_t sl_host_memory_limit(const struct sl_host_memory *memory, uint64_t reserve_bytes);

#endif
