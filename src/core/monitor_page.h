/* Shared memory in which a managed process shows how its run is going. `sluice top` reads it.
 *
 * The process maps a file that has no name (memfd), sealed so that nobody can shrink it or, since Linux 5.1,
 * write to it, and stores to it; it makes no call for that, takes no lock and reads nothing back. A symbolic
 * link in a folder leads to the process's descriptor of the file, so a process that closes all its
 * descriptors is no longer shown. Each device has an entry, which is consistent if its sequence number is
 * even and the same before and after it is read (Lameter, "Effective synchronization on Linux/NUMA systems",
 * 2005: sequence locks).
 *
 * Readers only read, and only what belongs to their user; root reads everybody's pages. A link to a process
 * that has no page any more is removed by the user's next managed process, or by `sluice top`. Containers
 * that share the folder leave each other's links alone. A child after fork has no part in the page. The
 * layout has a version: readers of another build can read it.
 */
#ifndef SLUICE_MONITOR_PAGE_H
#define SLUICE_MONITOR_PAGE_H

#include <stdatomic.h>
#include <sys/types.h>

#include "move/stats.h"

#define SL_MONITOR_MAGIC "SLMONIT\n"
#define SL_MONITOR_VERSION 6
#define SL_MONITOR_DEVICES 32 /* as SL_MOST_CORES */
#define SL_MONITOR_FOLDER "/dev/shm"
#define SL_MONITOR_PATH 256

struct sl_monitor_entry {
    _Alignas(64) _Atomic uint64_t sequence;                /* odd: being written; 0: never written */
    uint64_t figures[SL_FIGURES_BYTES / sizeof(uint64_t)]; /* the published part of struct sl_stats */
};

struct sl_monitor_head {
    char magic[8];
    uint32_t version, head_bytes, entry_bytes, entries;
    uint64_t process;
    char program[32], rank[16]; /* rank: decimal digits, or "" */
};

/* Writes the name of a process's link: `folder`/sluice-monitor-USER-PROCESS-NAMESPACE, where the last is the
 * number of this process's PID namespace, in which PROCESS counts. False: it is too long. */
bool sl_monitor_path(const char *folder, pid_t process, char path[SL_MONITOR_PATH]);

/* --- for the owner: one thread opens and closes the page of this process */

/* Creates and maps the page and links its name to it, after it has removed the links of the user's processes
 * that are known to be dead. False: there is none, with a line in the log. */
bool sl_monitor_page_open(const char *folder);
/* Removes the link, if there is one. The memory stays valid. */
void sl_monitor_page_close(void);
/* In a child after fork, where the page is not mapped. */
void sl_monitor_page_leave(void);
/* Replaces the figures of entry `device` < SL_MONITOR_DEVICES by a copy, if there is a page. One thread at a
 * time for each entry. */
void sl_monitor_page_write(uint32_t device, const struct sl_stats *stats);

/* --- for readers (tools/top/page.h) */

struct sl_monitor_page {
    struct sl_monitor_head head;
    struct sl_monitor_entry entries[SL_MONITOR_DEVICES];
};

/* Opens the page of a running process for reading. -1 with errno; EPERM: it is another user's. */
int sl_monitor_open(const char *path, uint64_t *user);

/* Removes the links of this user's processes that are known to be dead. */
void sl_monitor_sweep(const char *folder);

/* Calls `each` with each path in `folder` that is named like one of the user's pages, of running processes or
 * not, in this PID namespace; root gets everybody's. */
void sl_monitor_list(const char *folder, void (*each)(const char *path, void *context), void *context);

#endif
