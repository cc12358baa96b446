#include "node/topology.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"

#define PATH_BYTES 512
#define MOST_NODES 1024 /* the most that Linux supports */

static bool name(char out[PATH_BYTES], const char *sysfs, uint32_t domain, uint32_t bus, uint32_t device,
                 const char *file)
{
    int length =
        snprintf(out, PATH_BYTES, "%s/bus/pci/devices/%04x:%02x:%02x.0%s", sysfs, domain, bus, device, file);
    return length > 0 && length < PATH_BYTES;
}

/* The link's target is "../../../devices/pciDDDD:BB/DDDD:BB:DD.F/...": the root, its port, and the devices
 * behind it. */
uint64_t sl_topology_link(const char *sysfs, uint32_t domain, uint32_t bus, uint32_t device)
{
    char path[PATH_BYTES], target[PATH_BYTES];
    ssize_t length =
        name(path, sysfs, domain, bus, device, "") ? readlink(path, target, sizeof(target) - 1) : -1;
    if (length <= 0) return 0;
    target[length] = 0;
    const char *root = strstr(target, "/pci"), *port = root ? strchr(root + 1, '/') : NULL;
    if (!port) return 0;
    const char *end = port + 1 + strcspn(port + 1, "/");
    uint64_t hash = 0;
    for (; root < end; root++) hash = sl_hash_word(hash, (unsigned char)*root);
    return hash | 1;
}

int sl_topology_node(const char *sysfs, uint32_t domain, uint32_t bus, uint32_t device)
{
    char path[PATH_BYTES], text[16], *end;
    int fd = name(path, sysfs, domain, bus, device, "/numa_node") ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0) close(fd);
    if (got <= 0) return -1;
    text[got] = 0;
    long node = strtol(text, &end, 10);
    return end != text && node >= 0 && node < MOST_NODES ? (int)node : -1;
}
