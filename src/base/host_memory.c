#include "base/host_memory.h"

#include <stdlib.h>
#include <string.h>

#include "base/cgroups.h"
#include "base/text_file.h"

void sl_host_memory_read(const char *root, struct sl_host_memory *out)
{
    struct sl_cgroups cgroups;
    uint64_t kib;
    sl_cgroups_read(root, &cgroups);
    *out = (struct sl_host_memory){.cgroup_bytes = cgroups.free_bytes,
                                   .cgroup_limit_bytes = cgroups.limit_bytes,
                                   .cgroup = cgroups.identity};
    struct sl_text_file *file = malloc(sizeof *file);
    if (!file) return;
    if (sl_text_number(file, root, "/proc/meminfo", "", "MemAvailable:", &kib))
        out->available_bytes = kib * SL_KIB;
    if (sl_text_number(file, root, "/proc/meminfo", "", "MemTotal:", &kib)) out->machine_bytes = kib * SL_KIB;
    free(file);
}

static bool machine_limits(const struct sl_host_memory *memory)
{
    return memory->available_bytes && memory->available_bytes <= memory->cgroup_bytes;
}

uint64_t sl_host_memory_limited_by(const struct sl_host_memory *memory)
{
    return machine_limits(memory) ? 0 : memory->cgroup;
}

uint64_t sl_host_memory_reserve(const struct sl_host_memory *memory, uint64_t given_bytes)
{
    uint64_t most = machine_limits(memory) ? memory->machine_bytes : memory->cgroup_limit_bytes;
    if (given_bytes) return given_bytes;
    return most && most / 8 < SL_GIB ? most / 8 : SL_GIB;
}

uint64_t sl_host_memory_limit(const struct sl_host_memory *memory, uint64_t reserve_bytes)
{
    uint64_t limit = memory->available_bytes ? memory->available_bytes : UINT64_MAX;
    if (memory->cgroup_bytes < limit) limit = memory->cgroup_bytes;
    if (limit == UINT64_MAX) return limit;
    return limit > reserve_bytes ? limit - reserve_bytes : 0;
}

bool sl_host_has_nodes(const char *sysfs)
{
    struct sl_text_file *file = malloc(sizeof *file);
    char *line; /* such as 0-1,4 */
    if (!file) return false;
    bool several = sl_text_open(file, "", sysfs, "/devices/system/node/online") &&
                   sl_text_line(file, &line) && strpbrk(line, "-,");
    sl_text_close(file);
    free(file);
    return several;
}
