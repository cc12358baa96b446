/* What the process's memory cgroups still allow it: version 2, version 1's memory controller, or both. */
#ifndef SLUICE_CGROUPS_H
#define SLUICE_CGROUPS_H

#include "base/types.h"

struct sl_cgroups {
    uint64_t free_bytes;  /* within the tightest limit; UINT64_MAX: no limit */
    uint64_t limit_bytes; /* that limit */
    uint64_t identity;    /* equal for all processes under that limit; 0: none */
};

/* Reads the limits of the process's cgroup and of all its ancestors that are mounted. Pages of files and
 * slabs that the kernel can reclaim count as free: it reclaims them before it kills anything. `root` is put
 * in front of every path: "" for the kernel's files. Never fails. */
void sl_cgroups_read(const char *root, struct sl_cgroups *out);

#endif
