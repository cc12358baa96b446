#include "base/host_memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map.h"

enum { TEXT_BYTES = 8192 };

/* Reads the start of a small file as text. */
static bool read_text(const char *path, char *out, size_t bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    ssize_t got = read(fd, out, bytes - 1);
    close(fd);
    if (got < 0) return false;
    out[got] = 0;
    return true;
}

static bool read_number(const char *folder, const char *name, uint64_t *out)
{
    char path[512], text[64], *end;
    int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (length < 0 || (size_t)length >= sizeof path || !read_text(path, text, sizeof text)) return false;
    unsigned long long value = strtoull(text, &end, 10);
    if (end == text) return false; /* "max" */
    *out = value;
    return true;
}

/* Equal for all processes that see the file, whatever their path to it. 0: there is no file. */
static uint64_t identity_of(const char *folder, const char *name)
{
    char path[512];
    struct stat status;
    int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = length < 0 || (size_t)length >= sizeof path ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    bool known = fd >= 0 && fstat(fd, &status) == 0;
    if (fd >= 0) close(fd);
    return known ? sl_hash_word(status.st_dev, status.st_ino) | 1 : 0;
}

/* The free bytes within one cgroup folder's limit. The kernel counts inactive page cache as used, but
 * reclaims it first. */
static uint64_t allowed_by(const char *folder, const char *limit_name, const char *usage_name, char *text)
{
    uint64_t limit, usage, cache = 0;
    if (!read_number(folder, limit_name, &limit) || !read_number(folder, usage_name, &usage))
        return UINT64_MAX;
    char path[512];
    int length = snprintf(path, sizeof path, "%s/memory.stat", folder);
    if (length > 0 && (size_t)length < sizeof path && read_text(path, text, TEXT_BYTES)) {
        const char *line = strstr(text, "\ninactive_file ");
        if (line) cache = strtoull(line + strlen("\ninactive_file "), NULL, 10);
    }
    usage = usage > cache ? usage - cache : 0;
    return limit > usage ? limit - usage : 0;
}

/* Finds the tightest limit from the process's own cgroup up to the root. */
static void read_cgroups(char *text, char *more_text, struct sl_host_memory *out)
{
    if (!read_text("/proc/self/cgroup", text, TEXT_BYTES)) return;
    char *rest = text, *line;
    while ((line = strsep(&rest, "\n"))) {
        char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path) continue;
        *path++ = 0;
        bool v2 = controllers[1] == 0, v1 = strcmp(controllers + 1, "memory") == 0;
        if (!v2 && !v1) continue;
        for (char *slash = path + strlen(path); slash; slash = strrchr(path, '/')) {
            *slash = 0;
            char folder[512];
            int length = snprintf(folder, sizeof folder, "/sys/fs/cgroup%s%s", v1 ? "/memory" : "", path);
            if (length < 0 || (size_t)length >= sizeof folder) break;
            uint64_t allowed =
                v2 ? allowed_by(folder, "memory.max", "memory.current", more_text)
                   : allowed_by(folder, "memory.limit_in_bytes", "memory.usage_in_bytes", more_text);
            if (allowed >= out->cgroup_bytes) continue;
            out->cgroup_bytes = allowed;
            out->cgroup = identity_of(folder, v2 ? "memory.max" : "memory.limit_in_bytes");
        }
    }
}

/* The texts are on the heap: the calling thread is the program's, and may have a small stack. */
void sl_host_memory_read(struct sl_host_memory *out)
{
    *out = (struct sl_host_memory){.cgroup_bytes = UINT64_MAX};
    char *texts = malloc(2 * TEXT_BYTES);
    if (!texts) return;
    read_cgroups(texts, texts + TEXT_BYTES, out);
    const char *line = read_text("/proc/meminfo", texts, TEXT_BYTES) ? strstr(texts, "MemAvailable:") : NULL;
    if (line) out->available_bytes = strtoull(line + strlen("MemAvailable:"), NULL, 10) * SL_KIB;
    free(texts);
}

uint64_t sl_host_memory_limited_by(const struct sl_host_memory *memory)
{
    bool machine = memory->available_bytes && memory->available_bytes <= memory->cgroup_bytes;
    return machine ? 0 : memory->cgroup;
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
    char path[512], text[256]; /* such as 0-1,4 */
    int length = snprintf(path, sizeof path, "%s/devices/system/node/online", sysfs);
    return length > 0 && (size_t)length < sizeof path && read_text(path, text, sizeof text) &&
           strpbrk(text, "-,");
}
