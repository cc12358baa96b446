#include "base/cgroups.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map.h"
#include "base/text_file.h"

#define NO_LIMIT ((uint64_t)1 << 60) /* version 1 writes "no limit" as a size beyond any memory */

enum version { V1, V2, VERSIONS };

static const struct files {
    const char *folder; /* where a system mounts them, should mountinfo not say it */
    const char *usage, *limits[2];
    const char *reclaimable[3]; /* of memory.stat, descendants included */
} files[VERSIONS] = {
    [V1] = {"/sys/fs/cgroup/memory",
            "/memory.usage_in_bytes",
            {"/memory.limit_in_bytes"},
            {"total_inactive_file", "total_active_file"}},
    [V2] = {"/sys/fs/cgroup",
            "/memory.current",
            {"/memory.max", "/memory.high"},
            {"inactive_file", "active_file", "slab_reclaimable"}},
};

/* Not on the stack: the calling thread is the program's, and may have a small one. */
struct reading {
    const char *root;
    struct sl_cgroups *out;
    char own[VERSIONS][PATH_MAX]; /* the process's path in each hierarchy; "": it is in none */
    bool mounted[VERSIONS];       /* mountinfo shows the process's cgroup */
    char folder[PATH_MAX];
    struct sl_text_file lines, file;
};

/* Equal for all processes that see the file, whatever their path to it. 0: there is no file. */
static uint64_t identity_of(struct reading *reading, const char *name)
{
    struct stat status;
    bool known = sl_text_open(&reading->file, reading->root, reading->folder, name) &&
                 fstat(reading->file.file, &status) == 0;
    sl_text_close(&reading->file);
    return known ? sl_hash_word(status.st_dev, status.st_ino) | 1 : 0;
}

static bool number(struct reading *reading, const char *name, const char *key, uint64_t *out)
{
    return sl_text_number(&reading->file, reading->root, reading->folder, name, key, out);
}

/* Lowers what is free by the limit of one cgroup. The kernel counts its cache as used, and gives it up before
 * it kills; shared memory and locked pages are not on these lists. */
static void read_limit(struct reading *reading, enum version version)
{
    const struct files *names = &files[version];
    uint64_t limit = UINT64_MAX, usage, bytes, which = 0;
    for (uint64_t l = 0; l < 2 && names->limits[l]; l++)
        if (number(reading, names->limits[l], "", &bytes) && bytes < limit) {
            limit = bytes;
            which = l;
        }
    /* An ancestor's that is not mounted here. */
    if (version == V1 && number(reading, "/memory.stat", "hierarchical_memory_limit", &bytes) &&
        bytes < limit)
        limit = bytes;
    if (limit >= NO_LIMIT || !number(reading, names->usage, "", &usage)) return;
    for (int r = 0; r < 3 && names->reclaimable[r]; r++)
        if (number(reading, "/memory.stat", names->reclaimable[r], &bytes))
            usage -= bytes < usage ? bytes : usage;
    uint64_t left = limit > usage ? limit - usage : 0;
    if (left >= reading->out->free_bytes) return;
    *reading->out = (struct sl_cgroups){left, limit, identity_of(reading, names->limits[which])};
}

/* From the cgroup at reading->folder up to the mount's root, whose path has `root_length` bytes. Version 1
 * lets an ancestor be without a say. */
static void read_ancestors(struct reading *reading, enum version version, size_t root_length)
{
    uint64_t counts;
    for (bool own = true;; own = false) {
        char *folder = reading->folder, *slash = strrchr(folder, '/');
        if (own || version == V2 || !number(reading, "/memory.use_hierarchy", "", &counts) || counts)
            read_limit(reading, version);
        if (strlen(folder) <= root_length || !slash) return;
        *(slash < folder + root_length ? folder + root_length : slash) = 0;
    }
}

static void read_mount(struct reading *reading, enum version version, const char *folder, const char *below)
{
    while (*below == '/' && below[1] == 0) below++;
    int length = snprintf(reading->folder, sizeof reading->folder, "%s%s", folder, below);
    if (length > 0 && (size_t)length < sizeof reading->folder)
        read_ancestors(reading, version, strlen(folder));
}

/* --- where they are */

static bool has_word(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)); at += length)
        if ((at == list || at[-1] == ',') && (at[length] == ',' || !at[length])) return true;
    return false;
}

/* A path that leaves the namespace's root is none that can be followed. */
static bool leaves_root(const char *path)
{
    while ((path = strstr(path, "/..")))
        if (*(path += 3) == '/' || !*path) return true;
    return false;
}

/* Lines such as 4:memory:/path, and 0::/path of version 2. */
static void read_own_paths(struct reading *reading)
{
    if (!sl_text_open(&reading->lines, reading->root, "/proc/self/cgroup", "")) return;
    for (char *line; sl_text_line(&reading->lines, &line);) {
        char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path || path[1] != '/' || strlen(path + 1) >= PATH_MAX) continue;
        *path++ = 0;
        enum version version = controllers[1] ? V1 : V2;
        if (version == V2 || has_word(controllers + 1, "memory")) strcpy(reading->own[version], path);
    }
    sl_text_close(&reading->lines);
}

/* Undoes mountinfo's octal escapes of blanks and the like. */
static void unescape(char *text)
{
    char *to = text;
    for (const char *from = text; *from; to++) {
        bool octal = from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] >= '0' &&
                     from[2] <= '7' && from[3] >= '0' && from[3] <= '7';
        *to = octal ? (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 | (from[3] - '0')) : *from;
        from += octal ? 4 : 1;
    }
    *to = 0;
}

/* The rest of `path` below `ancestor`; NULL: it is not below. */
static const char *below(const char *path, const char *ancestor)
{
    size_t length = strcmp(ancestor, "/") ? strlen(ancestor) : 0;
    if (leaves_root(path) || strncmp(path, ancestor, length) != 0) return NULL;
    return path[length] == '/' || !path[length] ? path + length : NULL;
}

/* A line of mountinfo: id, parent, device, root, mount point, options, others - type, source, options. */
static void read_mount_line(struct reading *reading, char *line)
{
    char *type = strstr(line, " - "), *fields[5];
    if (!type) return;
    *type = 0;
    type += 3;
    char *options = strrchr(type, ' ');
    bool v2 = strncmp(type, "cgroup2 ", 8) == 0;
    if (!v2 && (strncmp(type, "cgroup ", 7) != 0 || !options || !has_word(options + 1, "memory"))) return;
    for (int f = 0; f < 5; f++)
        if (!(fields[f] = strsep(&line, " "))) return;
    unescape(fields[3]);
    unescape(fields[4]);
    enum version version = v2 ? V2 : V1;
    const char *rest = reading->own[version][0] ? below(reading->own[version], fields[3]) : NULL;
    if (!rest) return;
    reading->mounted[version] = true;
    read_mount(reading, version, fields[4], rest);
}

void sl_cgroups_read(const char *root, struct sl_cgroups *out)
{
    *out = (struct sl_cgroups){.free_bytes = UINT64_MAX, .limit_bytes = UINT64_MAX};
    struct reading *reading = calloc(1, sizeof *reading);
    if (!reading) return;
    reading->root = root;
    reading->out = out;
    read_own_paths(reading);
    if (sl_text_open(&reading->lines, root, "/proc/self/mountinfo", "")) {
        for (char *line; sl_text_line(&reading->lines, &line);) read_mount_line(reading, line);
        sl_text_close(&reading->lines);
    }
    for (enum version v = 0; v < VERSIONS; v++)
        if (reading->own[v][0] && !reading->mounted[v])
            read_mount(reading, v, files[v].folder, leaves_root(reading->own[v]) ? "" : reading->own[v]);
    free(reading);
}
