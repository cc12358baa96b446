/* The system below the driver: virtual machines, sandboxes and host memory in which unified memory is said
 * not to work, or to be slow. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/text.h"
#include "tools/command/doctor.h"

#define PATH_BYTES 4352
#define BLOCK_ORDER 9 /* 2 MiB in pages of 4 KiB: what the driver takes at once */
#define ORDERS_MOST 32
#define PAGE_BYTES 4096u
#define LEAST_FREE ((uint64_t)256 << 20) /* less says nothing */

static FILE *open_below(const char *root, const char *file)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof(path), "%s%s", root, file);
    return fopen(path, "re");
}

static bool exists_below(const char *root, const char *file)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof(path), "%s%s", root, file);
    return access(path, F_OK) == 0;
}

/* Whether a line of the file has the text, in any case. */
static bool has_text(const char *root, const char *file, const char *text)
{
    FILE *in = open_below(root, file);
    char *line = NULL;
    size_t capacity = 0;
    bool found = false;
    while (in && !found && getline(&line, &capacity, in) > 0) found = strcasestr(line, text) != NULL;
    free(line);
    if (in) fclose(in);
    return found;
}

/* What the machine is, if unified memory is said not to work in it; else NULL. */
static const char *sandbox_of(const char *root)
{
    /* gVisor has the version of one build, or names itself. */
    if (has_text(root, "/proc/version", "gvisor") ||
        has_text(root, "/proc/version", "Sun Jan 10 15:06:54 PST 2016"))
        return "gVisor: the driver's unified memory does not work in this sandbox; use another container "
               "runtime (runc, Kata)";
    if (has_text(root, "/proc/version", "microsoft") ||
        has_text(root, "/proc/sys/kernel/osrelease", "microsoft"))
        return "WSL: device memory cannot be oversubscribed on Windows; use Linux itself";
    return NULL;
}

static bool is_confidential(const char *root)
{
    static const char *const devices[] = {"/dev/tdx_guest", "/dev/tdx-guest", "/dev/sev-guest"};
    for (size_t i = 0; i < sizeof(devices) / sizeof(*devices); i++)
        if (exists_below(root, devices[i])) return true;
    return has_text(root, "/proc/cpuinfo", " tdx_guest");
}

/* Adds up the free memory in /proc/buddyinfo: "Node 0, zone Normal", then the free blocks of each order.
 * False: there is no such file. */
static bool read_free_blocks(const char *root, uint64_t *free_bytes, uint64_t *in_blocks_bytes)
{
    FILE *in = open_below(root, "/proc/buddyinfo");
    char *line = NULL;
    size_t capacity = 0;
    *free_bytes = *in_blocks_bytes = 0;
    while (in && getline(&line, &capacity, in) > 0) {
        const char *zone = strstr(line, "zone");
        if (!zone) continue;
        zone += strlen("zone");
        zone += strspn(zone, " \t");
        zone += strcspn(zone, " \t\n");
        char *next;
        for (unsigned order = 0; order < ORDERS_MOST; order++, zone = next) {
            uint64_t blocks = strtoull(zone, &next, 10);
            if (next == zone) break;
            uint64_t bytes = (blocks << order) * PAGE_BYTES;
            *free_bytes += bytes;
            if (order >= BLOCK_ORDER) *in_blocks_bytes += bytes;
        }
    }
    free(line);
    if (in) fclose(in);
    return in != NULL;
}

static void examine_blocks(struct findings *findings, const char *root)
{
    uint64_t free_bytes, in_blocks_bytes;
    char all[SL_BYTES_TEXT], blocks[SL_BYTES_TEXT];
    if (!read_free_blocks(root, &free_bytes, &in_blocks_bytes)) return;
    sl_bytes_text(free_bytes, all);
    sl_bytes_text(in_blocks_bytes, blocks);
    if (free_bytes >= LEAST_FREE && in_blocks_bytes < free_bytes / 2)
        find(findings, VERDICT_NOTE, "fragmentation",
             "%s of %s free host memory are in blocks of 2 MiB, so data may move slowly; as root: "
             "echo 1 >/proc/sys/vm/compact_memory",
             blocks, all);
    else
        find(findings, VERDICT_OK, "fragmentation", "%s of %s free host memory are in blocks of 2 MiB",
             blocks, all);
}

void examine_system(struct findings *findings, const char *root, bool software)
{
    const char *sandbox = sandbox_of(root);
    if (sandbox && !software) find(findings, VERDICT_BROKEN, "system", "%s", sandbox);
    if (is_confidential(root) && !software)
        find(findings, VERDICT_NOTE, "system",
             "a confidential virtual machine: with confidential computing of the GPU, the driver encrypts "
             "what "
             "moves, and host memory is not used in place; sluice is slow there, or does not work");
    examine_blocks(findings, root);
}
