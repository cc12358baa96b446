/* How much host memory chunks may take. Managed pages cannot be swapped, and beyond the limit the kernel's
 * out-of-memory killer ends the program. */
#ifndef SLUICE_HOST_MEMORY_H
#define SLUICE_HOST_MEMORY_H

#include "base/types.h"

struct sl_host_memory {
    uint64_t available_bytes;    /* MemAvailable; 0: unknown */
    uint64_t machine_bytes;      /* MemTotal; 0: unknown */
    uint64_t cgroup_bytes;       /* free in the process's memory cgroups; UINT64_MAX: no limit */
    uint64_t cgroup_limit_bytes; /* the limit with the least left; UINT64_MAX: none */
    uint64_t cgroup;             /* equal for all processes under that limit; 0: none */
};

/* Reads /proc/meminfo and the limits of the process's memory cgroup, of version 1 or 2, and of all its
 * ancestors that are mounted. Pages of files and slabs that the kernel can reclaim count as free: it reclaims
 * them before it kills anything. `root` is put in front of every path: "" for the kernel's files. Never
 * fails. */
void sl_host_memory_read(const char *root, struct sl_host_memory *out);

/* Whether the machine has several NUMA nodes. `sysfs`: the folder in which the kernel shows them (/sys). */
bool sl_host_has_nodes(const char *sysfs);

/* Identifies what limits the memory: processes with equal values share it. 0: the machine, else the
 * cgroup. */
uint64_t sl_host_memory_limited_by(const struct sl_host_memory *memory);

/* What is left to everything else: `given_bytes`, or if that is 0, 1 GiB or an eighth of the limit (the
 * machine's memory or the cgroup's limit), whichever is less. */
uint64_t sl_host_memory_reserve(const struct sl_host_memory *memory, uint64_t given_bytes);

/* min(available, cgroup) minus `reserve_bytes`; UINT64_MAX: both are unknown. */
uint64_t sl_host_memory_limit(const struct sl_host_memory *memory, uint64_t reserve_bytes);

#endif
