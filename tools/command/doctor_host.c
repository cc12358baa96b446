#include "tools/command/doctor.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/options.h"
#include "base/host_memory.h"
#include "base/text.h"
#include "core/host_share.h"
#include "node/page.h"
#include "tools/command/places.h"

static void examine_memory(struct findings *findings)
{
    struct sl_host_memory memory;
    char text[SL_BYTES_TEXT], limit[SL_BYTES_TEXT];
    sl_host_memory_read("", &memory);
    if (memory.available_bytes) {
        find(findings, VERDICT_OK, "host memory", "%s available",
             sl_bytes_text(memory.available_bytes, text));
    } else {
        find(findings, VERDICT_NOTE, "host memory", "/proc/meminfo does not show the available memory");
    }
    bool limited = memory.cgroup_bytes != UINT64_MAX;
    bool small = limited && memory.cgroup_bytes < memory.available_bytes;
    if (limited)
        find(findings, small ? VERDICT_NOTE : VERDICT_OK, "cgroup limit", "%s left of %s",
             sl_bytes_text(memory.cgroup_bytes, text), sl_bytes_text(memory.cgroup_limit_bytes, limit));
    else
        find(findings, VERDICT_OK, "cgroup limit", "none");
}

/* The host memory that this user's managed processes have reserved, and that another process could
 * reserve. */
static void examine_node(struct findings *findings)
{
    static struct sl_node_table table;
    struct sl_options options;
    char standard[SL_NODE_PATH], text[SL_BYTES_TEXT], pinned[SL_BYTES_TEXT];
    uint64_t claimed_bytes = 0, pinned_bytes = 0;
    uint32_t count = 0;
    sl_options_peek(&options);
    if (sl_node_look(options.node, &table, &count) == SL_ERR_INVALID) {
        find(findings, VERDICT_NOTE, "managed",
             "%s is not a file of sluice: processes do not share the node limit",
             sl_node_path(options.node, standard));
        return;
    }
    for (uint32_t s = 0; count && s < SL_NODE_SLOTS; s++) {
        claimed_bytes += table.entries[s].claimed_bytes;
        pinned_bytes += table.entries[s].pinned_bytes;
    }
    if (count)
        find(findings, VERDICT_OK, "managed", "%u process%s of this user, with %s of host memory, %s pinned",
             count, count > 1 ? "es" : "", sl_bytes_text(claimed_bytes, text),
             sl_bytes_text(pinned_bytes, pinned));
    uint64_t limit_bytes = sl_host_share_foresee(&options);
    if (limit_bytes == UINT64_MAX) return;
    char why[SL_HOST_SHARE_WHY];
    if (limit_bytes < SL_BLOCK_BYTES)
        find(findings, VERDICT_BROKEN, "host limit", "no host memory is left for a program's data: %s",
             sl_host_share_why_nothing(&options, why));
    else if (sl_launcher()->local_size && !options.host_limit)
        find(findings, VERDICT_OK, "host limit", "%s for each of %u ranks", sl_bytes_text(limit_bytes, text),
             sl_launcher()->local_size);
    else
        find(findings, VERDICT_OK, "host limit", "%s for each program", sl_bytes_text(limit_bytes, text));
}

static void examine_memlock(struct findings *findings)
{
    struct rlimit limit;
    char text[SL_BYTES_TEXT];
    if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return;
    if (limit.rlim_cur == RLIM_INFINITY)
        find(findings, VERDICT_OK, "locked memory", "no limit");
    else
        find(findings, VERDICT_OK, "locked memory", "%s (does not limit unified memory)",
             sl_bytes_text(limit.rlim_cur, text));
}

static void examine_overcommit(struct findings *findings)
{
    FILE *file = fopen("/proc/sys/vm/overcommit_memory", "re");
    int mode = -1;
    if (file) {
        if (fscanf(file, "%d", &mode) != 1) mode = -1;
        fclose(file);
    }
    static const char *const modes[] = {
        "heuristic", "always",
        "never: address reservations count as memory, and a large virtual device may be refused"};
    if (mode >= 0 && mode <= 2)
        find(findings, mode == 2 ? VERDICT_NOTE : VERDICT_OK, "overcommit", "%s", modes[mode]);
}

void examine_host(struct findings *findings)
{
    examine_memory(findings);
    examine_node(findings);
    examine_memlock(findings);
    examine_overcommit(findings);
}

/* Starts this command with --version and the library preloaded, and its stderr connected to the pipe. Does
 * not return. */
static void start_preloaded(const char *library, int stderr_pipe)
{
    dup2(stderr_pipe, STDERR_FILENO);
    if (!freopen("/dev/null", "w", stdout) || setenv("LD_PRELOAD", library, 1) != 0) _exit(1);
    unsetenv("SLUICE_LOG");
    execl("/proc/self/exe", "sluice", "--version", (char *)NULL);
    _exit(1);
}

/* The dynamic linker continues without an object that it cannot preload, and reports that only on stderr. */
static bool try_preload(const char *library, char *said, size_t bytes)
{
    int ends[2], status = -1;
    if (pipe(ends) != 0) return false;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) start_preloaded(library, ends[1]);
    close(ends[1]);
    size_t used = 0;
    ssize_t got;
    while (child > 0 && used < bytes - 1 && (got = read(ends[0], said + used, bytes - 1 - used)) > 0)
        used += (size_t)got;
    said[used] = 0;
    close(ends[0]);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return child > 0 && status == 0 && !strstr(said, "cannot be preloaded");
}

/* Only traces and profiles need it. */
static void examine_recording(struct findings *findings, const char *library)
{
    char path[PATH_MAX], said[512] = "";
    const char *slash = strrchr(library, '/');
    int folder = slash ? (int)(slash + 1 - library) : 0;
    if (snprintf(path, sizeof(path), "%.*slibsluice-record.so", folder, library) >= (int)sizeof(path)) return;
    if (try_preload(path, said, sizeof(said))) {
        find(findings, VERDICT_OK, "recording", "%s", path);
    } else {
        said[strcspn(said, "\n")] = 0;
        find(findings, VERDICT_NOTE, "recording", "no traces and no profiles: %s", said);
    }
}

void examine_library(struct findings *findings)
{
    char path[PATH_MAX], said[512] = "";
    if (!find_library(path, sizeof(path))) {
        find(findings, VERDICT_BROKEN, "library",
             "cannot find libsluice.so in the places relative to this command");
        return;
    }
    if (try_preload(path, said, sizeof(said))) {
        find(findings, VERDICT_OK, "library", "%s", path);
        examine_recording(findings, path);
    } else {
        said[strcspn(said, "\n")] = 0;
        find(findings, VERDICT_BROKEN, "library", "%s cannot be preloaded: %s", path, said);
    }
}
