#include "topology.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "devices.h"
#include "log.h"
#include "options.h"

/* Creates a folder and its parents. */
static bool make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/');; slash = strchr(slash + 1, '/')) {
        if (slash) *slash = 0;
        bool made = mkdir(path, 0755) == 0 || errno == EEXIST;
        if (slash) *slash = '/';
        if (!made || !slash) return made;
    }
}

static bool write_file(const char *path, int number)
{
    char text[16];
    int length = snprintf(text, sizeof text, "%d\n", number);
    int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
                    0644); /* every process writes the same bytes */
    if (file < 0) return false;
    bool good = write(file, text, (size_t)length) == length;
    return close(file) == 0 && good;
}

static bool write_device(const char *folder, int physical)
{
    char path[PATH_MAX], target[128], below[96];
    int node = sc_options()->numa_nodes > 1 ? (int)sc_options()->numa_nodes - 1 : -1;
    snprintf(below, sizeof below, "devices/pci0000:00/0000:00:%02x.0/0000:%02x:00.0",
             (unsigned)sc_device_root_port(physical) + 1, (unsigned)SC_BUS(physical));
    if (snprintf(path, sizeof path, "%s/%s", folder, below) >= (int)sizeof path - 32 || !make_folders(path))
        return false;
    strcat(path, "/numa_node");
    if (!write_file(path, node)) return false;
    snprintf(path, sizeof path, "%s/bus/pci/devices", folder);
    if (!make_folders(path)) return false;
    snprintf(target, sizeof target, "../../../%s", below);
    snprintf(path, sizeof path, "%s/bus/pci/devices/0000:%02x:00.0", folder, (unsigned)SC_BUS(physical));
    return symlink(target, path) == 0 || errno == EEXIST;
}

void sc_topology_write(const char *folder, int count)
{
    for (int i = 0; i < count; i++)
        if (!write_device(folder, i)) {
            sc_log("cannot write the devices' places to %s: %s", folder, strerror(errno));
            return;
        }
}
