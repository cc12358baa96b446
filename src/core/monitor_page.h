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
 * that has no page any more is removed by the user's next managed process. Containers that share the folder
 * leave each other's links alone. A child after fork has no part in the page. The layout has a version:
 * readers of another build can read it.
 */
#ifndef SLUICE_MONITOR_PAGE_H
#define SLUICE_MONITOR_PAGE_H

#include <stdatomic.h>
#include <sys/types.h>

#include "base/types.h"

#define SL_MONITOR_VERSION 3
#define SL_MONITOR_DEVICES 32 /* as SL_MOST_CORES */
#define SL_MONITOR_FOLDER "/dev/shm"
#define SL_MONITOR_NAME 64 /* of a kernel, cut */
#define SL_MONITOR_PATH 256

enum sl_monitor_plan {
    SL_MONITOR_NONE_NEEDED, /* everything fits */
    SL_MONITOR_LEARNING,    /* the program does not repeat itself yet, or not any more */
    SL_MONITOR_MAKING,      /* a plan is being made, and none is followed */
    SL_MONITOR_FOLLOWED,
    SL_MONITOR_DEVIATED, /* the program deviates from the plan, which is kept for now */
    SL_MONITOR_NOT_MADE, /* the policy makes none */
};

/* Kinds of allocations, or parts of them, by what the core sees of their use. */
enum sl_kind {
    SL_KIND_LASTING,   /* allocated before the last whole step */
    SL_KIND_IDLE,      /* the same, in chunks that no launch has used since that step began */
    SL_KIND_TEMPORARY, /* allocated later */
    SL_KIND_PINNED,    /* in pinned host memory, used in place */
    SL_KIND_UNKNOWN,   /* no whole step has ended yet */
    SL_KINDS,
};
extern const char *const sl_kind_names[SL_KINDS];

/* The bytes of a kind. allocated = resident + host + empty. */
struct sl_monitor_kind {
    uint64_t allocated_bytes;
    uint64_t resident_bytes; /* on the device, or on their way there */
    uint64_t arriving_bytes; /* of these: not known to have arrived */
    uint64_t host_bytes;     /* only in host memory */
    uint64_t empty_bytes;    /* without a content: not used since they were allocated */
};

/* Sums since the start of the run, or of a step. */
struct sl_monitor_sums {
    uint64_t launches, stalls, stall_ns, unmeasured_stalls;
    uint64_t demand_misses, late_prefetches, mispredictions;
    uint64_t in_bytes[3], out_bytes[3]; /* by enum sl_move_cause */
    uint64_t remote_bytes;
};

/* A device's figures. Moments and durations (updated, step_began, step_time, plan_taken, mispredicted,
 * scanned, scan_time) are in ticks of sl_clock_ticks in the page, and in nanoseconds of CLOCK_MONOTONIC as
 * sl_monitor_read returns them. */
struct sl_monitor_figures {
    uint64_t updated;
    char policy[16], daemon[16];
    uint64_t steps;      /* ended training steps, or other repetitions that the predictor found */
    uint64_t step_began; /* of the current step; 0: none has ended yet */
    uint64_t step_time;  /* duration of the last one, by the host's clock */
    /* The same by the device's clock, on which stalls are measured; a mean if steps end unseen. 0: unknown.
     */
    uint64_t device_step_ns, device_stall_ns;
    struct sl_monitor_sums total, step;
    uint64_t budget_bytes, resident_bytes, peak_resident_bytes, chunk_bytes;
    uint64_t taken_bytes; /* of the device, by the program past sluice; they are not in the budget */
    uint64_t lost_bytes;  /* by others since the start; the same */
    uint64_t live_bytes, need_bytes, pinned_bytes; /* allocated now; their peak; in pinned host memory */
    uint64_t host_bytes, host_limit_bytes;         /* taken by chunks; the most they may take */
    uint64_t link_in_bytes_per_s, link_out_bytes_per_s;
    uint64_t fed, predicted;     /* events: launches, allocations, frees */
    uint64_t plan;               /* enum sl_monitor_plan */
    uint64_t plans;              /* so far */
    uint64_t plan_taken;         /* when the plan that is followed took over; 0: none is followed */
    uint64_t oversize_launches;  /* launches whose chunks exceed the budget */
    uint64_t mispredicted;       /* when the last misprediction was seen; 0: never */
    uint64_t mispredicted_event; /* its number among the events */
    char expected[SL_MONITOR_NAME], came[SL_MONITOR_NAME];
    /* Found by a scan, which a reader asks for: see monitor_memory.h. */
    uint64_t scanned;   /* when it was complete; 0: never */
    uint64_t scan_time; /* from its begin; 0: all is of one moment */
    struct sl_monitor_kind kinds[SL_KINDS];
    uint64_t unused_bytes; /* on the device, in no allocation: dead, or gaps */
};

struct sl_monitor_entry {
    _Alignas(64) _Atomic uint64_t sequence; /* odd: being written; 0: never written */
    struct sl_monitor_figures figures;
};

struct sl_monitor_head {
    char magic[8];
    uint32_t version, head_bytes, entry_bytes, entries;
    uint64_t process;
    char program[32], rank[16];       /* rank: decimal digits, or "" */
    uint64_t opened_ticks, opened_ns; /* the same moment on both clocks */
};

/* The page of this process; one thread opens and closes it. */
struct sl_monitor_page;

/* Writes the name of a process's link: `folder`/sluice-monitor-USER-PROCESS-NAMESPACE, where the last is the
 * number of this process's PID namespace, in which PROCESS counts. False: it is too long. */
bool sl_monitor_path(const char *folder, pid_t process, char path[SL_MONITOR_PATH]);

/* Creates and maps the page and links its name to it, after it has removed the links of the user's processes
 * that are known to be dead. NULL: there is none, with a line in the log. */
struct sl_monitor_page *sl_monitor_page_open(const char *folder);
/* Removes the link. The memory stays valid. Accepts NULL. */
void sl_monitor_page_close(struct sl_monitor_page *page);
/* In a child after fork, where the page is not mapped. */
void sl_monitor_page_leave(void);

/* Entry `device` < SL_MONITOR_DEVICES. */
struct sl_monitor_entry *sl_monitor_page_entry(struct sl_monitor_page *page, uint32_t device);
/* Replaces the entry's figures. One thread at a time for each entry. */
void sl_monitor_page_write(struct sl_monitor_entry *entry, const struct sl_monitor_figures *figures);

/* --- for readers */

struct sl_monitor_record {
    uint64_t process, user; /* user: the number of the one to whom the page belongs */
    char program[32], rank[16];
    uint32_t devices;                     /* number of entries below */
    uint32_t numbers[SL_MONITOR_DEVICES]; /* of the devices in the process */
    struct sl_monitor_figures figures[SL_MONITOR_DEVICES];
};

/* Reads the page to which `path` leads. SL_ERR_IO with errno: there is none any more, or, EPERM, it is
 * another user's; SL_ERR_FORMAT: not such a page; SL_ERR_VERSION: of another version. Texts are terminated.
 */
enum sl_status sl_monitor_read(const char *path, struct sl_monitor_record *out);

/* Calls `each` with each path in `folder` that is named like one of the user's pages, of running processes or
 * not, in this PID namespace; root gets everybody's. */
void sl_monitor_list(const char *folder, void (*each)(const char *path, void *context), void *context);

#endif
