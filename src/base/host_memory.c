#include "base/host_memory.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map.h"

/* --- files of the kernel, line by line, without stdio: it would allocate behind the program's back */

struct text_file {
    int file;
    bool cut; /* the line is longer than the buffer, and its rest is skipped */
    size_t begin, end;
    char text[8192]; /* large: not for the stack of a thread of the program */
};

/* Opens the file `name` in `folder`, below `root`; the path is their concatenation. False: it cannot be read.
 */
static bool open_text(struct text_file *file, const char *root, const char *folder, const char *name)
{
    file->cut = false;
    file->begin = file->end = 0;
    /* The path lies in the buffer, which is not needed before. */
    int length = snprintf(file->text, sizeof file->text, "%s%s%s", root, folder, name);
    file->file = length < 0 || length >= PATH_MAX ? -1 : open(file->text, O_RDONLY | O_CLOEXEC);
    return file->file >= 0;
}

static void close_text(struct text_file *file)
{
    if (file->file >= 0) close(file->file);
    file->file = -1;
}

/* Reads more behind what is there. False: nothing more comes. */
static bool read_more(struct text_file *file)
{
    memmove(file->text, file->text + file->begin, file->end - file->begin);
    file->end -= file->begin;
    file->begin = 0;
    if (file->end == sizeof file->text - 1) {
        file->cut = true;
        file->end = 0;
    }
    ssize_t got = read(file->file, file->text + file->end, sizeof file->text - 1 - file->end);
    if (got <= 0) return false;
    file->end += (size_t)got;
    return true;
}

/* The next line without its end, valid until the next call. Lines that are too long are left out. False:
 * there are no more. */
static bool next_line(struct text_file *file, char **line)
{
    for (;;) {
        char *at = file->text + file->begin, *end = memchr(at, '\n', file->end - file->begin);
        bool more = end || read_more(file);
        if (!more && file->begin == file->end) return false;
        if (more && !end) continue;
        at = file->text + file->begin;
        if (!end) end = file->text + file->end; /* the last line has no end */
        bool rest = file->cut;
        file->cut = false;
        file->begin = (size_t)(end - file->text) + more;
        *end = 0;
        if (rest) continue;
        *line = at;
        return true;
    }
}

/* The number after `key` and blanks at the beginning of a line. False: no such line. */
static bool read_number(struct text_file *file, const char *root, const char *folder, const char *name,
                        const char *key, uint64_t *out)
{
    size_t length = strlen(key);
    bool found = false;
    if (!open_text(file, root, folder, name)) return false;
    for (char *line; !found && next_line(file, &line);) {
        if (strncmp(line, key, length) != 0 || (length && line[length] != ' ')) continue;
        const char *digits = line + length + strspn(line + length, " ");
        if (*digits < '0' || *digits > '9') break;
        *out = strtoull(digits, NULL, 10);
        found = true;
    }
    close_text(file);
    return found;
}

/* --- cgroups: version 2, version 1's memory controller, or both */

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
    struct sl_host_memory *out;
    char own[VERSIONS][PATH_MAX]; /* the process's path in each hierarchy; "": it is in none */
    bool mounted[VERSIONS];       /* mountinfo shows the process's cgroup */
    char folder[PATH_MAX];
    struct text_file lines, file;
};

/* Equal for all processes that see the file, whatever their path to it. 0: there is no file. */
static uint64_t identity_of(struct reading *reading, const char *name)
{
    struct stat status;
    bool known = open_text(&reading->file, reading->root, reading->folder, name) &&
                 fstat(reading->file.file, &status) == 0;
    close_text(&reading->file);
    return known ? sl_hash_word(status.st_dev, status.st_ino) | 1 : 0;
}

static bool number(struct reading *reading, const char *name, const char *key, uint64_t *out)
{
    return read_number(&reading->file, reading->root, reading->folder, name, key, out);
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
    if (left >= reading->out->cgroup_bytes) return;
    reading->out->cgroup_bytes = left;
    reading->out->cgroup_limit_bytes = limit;
    reading->out->cgroup = identity_of(reading, names->limits[which]);
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
    if (!open_text(&reading->lines, reading->root, "/proc/self/cgroup", "")) return;
    for (char *line; next_line(&reading->lines, &line);) {
        char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path || path[1] != '/' || strlen(path + 1) >= PATH_MAX) continue;
        *path++ = 0;
        enum version version = controllers[1] ? V1 : V2;
        if (version == V2 || has_word(controllers + 1, "memory")) strcpy(reading->own[version], path);
    }
    close_text(&reading->lines);
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

static void read_cgroups(struct reading *reading)
{
    read_own_paths(reading);
    if (open_text(&reading->lines, reading->root, "/proc/self/mountinfo", "")) {
        for (char *line; next_line(&reading->lines, &line);) read_mount_line(reading, line);
        close_text(&reading->lines);
    }
    for (enum version v = 0; v < VERSIONS; v++)
        if (reading->own[v][0] && !reading->mounted[v])
            read_mount(reading, v, files[v].folder, leaves_root(reading->own[v]) ? "" : reading->own[v]);
}

/* --- all of it */

void sl_host_memory_read(const char *root, struct sl_host_memory *out)
{
    uint64_t kib;
    *out = (struct sl_host_memory){.cgroup_bytes = UINT64_MAX, .cgroup_limit_bytes = UINT64_MAX};
    struct reading *reading = calloc(1, sizeof *reading);
    if (!reading) return;
    reading->root = root;
    reading->out = out;
    read_cgroups(reading);
    if (read_number(&reading->file, root, "/proc/meminfo", "", "MemAvailable:", &kib))
        out->available_bytes = kib * SL_KIB;
    if (read_number(&reading->file, root, "/proc/meminfo", "", "MemTotal:", &kib))
        out->machine_bytes = kib * SL_KIB;
    free(reading);
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
    struct text_file *file = malloc(sizeof *file);
    char *line; /* such as 0-1,4 */
    if (!file) return false;
    bool several = open_text(file, "", sysfs, "/devices/system/node/online") && next_line(file, &line) &&
                   strpbrk(line, "-,");
    close_text(file);
    free(file);
    return several;
}
