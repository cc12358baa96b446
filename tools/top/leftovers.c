#include "tools/top/leftovers.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/options.h"
#include "core/monitor_page.h"
#include "core/report.h"
#include "node/page.h"

#define UNWATCHED_S 60 /* a folder is locked sooner than so long after it was made */

int watch_folder_lock(const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
    close(fd);
    return -1;
}

/* Whether the file is a live file whose process is known to be over. */
static bool is_of_the_dead(int folder, const char *name)
{
    struct sl_live live;
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    bool read_it = fd >= 0 && read(fd, &live, sizeof(live)) == (ssize_t)sizeof(live);
    if (fd >= 0) close(fd);
    return read_it && !memcmp(live.magic, SL_LIVE_MAGIC, sizeof(live.magic)) &&
           live.header_bytes == sizeof(live) && live.process_began &&
           sl_process_began((pid_t)live.process) != live.process_began;
}

/* Removes the files of the dead. False: there are others. */
static bool empty_folder(int fd)
{
    int again = dup(fd);
    DIR *files = again < 0 ? NULL : fdopendir(again);
    bool empty = files != NULL;
    if (!files && again >= 0) close(again);
    for (struct dirent *entry; files && (entry = readdir(files));) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
        bool dead = is_of_the_dead(fd, entry->d_name);
        empty &= dead && unlinkat(fd, entry->d_name, 0) == 0;
    }
    if (files) closedir(files);
    return empty;
}

static void remove_folder(const char *path)
{
    struct stat at;
    if (lstat(path, &at) != 0 || !S_ISDIR(at.st_mode) || at.st_uid != geteuid()) return;
    if (time(NULL) - at.st_mtime < UNWATCHED_S) return;
    int fd = watch_folder_lock(path);
    if (fd < 0) return;
    if (empty_folder(fd)) rmdir(path);
    close(fd);
}

static void remove_folders(void)
{
    char place[] = WATCH_FOLDER, path[PATH_MAX];
    char *name = strrchr(place, '/');
    *name++ = 0;
    size_t prefix = strcspn(name, "X");
    DIR *all = opendir(place);
    for (struct dirent *entry; all && (entry = readdir(all));) {
        if (strncmp(entry->d_name, name, prefix) != 0 || strlen(entry->d_name) != strlen(name)) continue;
        snprintf(path, sizeof(path), "%s/%s", place, entry->d_name);
        remove_folder(path);
    }
    if (all) closedir(all);
}

void leftovers_remove(void)
{
    static struct sl_node_table table; /* static because it is large */
    struct sl_options options;
    uint32_t count;
    sl_monitor_sweep(SL_MONITOR_FOLDER);
    remove_folders();
    sl_options_peek(&options);
    (void)sl_node_look(options.node, &table, &count); /* removes a page without processes */
}
