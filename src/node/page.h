/* The page of the node: a small file in shared memory with a table of a user's managed processes, and what
 * each uses of the machine.
 *
 * A process reads and changes the table under one lock on the file, which is waited for during a second at
 * most. A registered process owns a slot, and holds a lock on the byte of the file that stands for it. That
 * lock belongs to a mapping that nobody accesses (an open file description lock whose descriptor is closed),
 * so it ends with the process in any case. A child after fork has neither lock nor mapping; a program that
 * closes all its descriptors keeps the lock. What is in a slot with a free lock counts as nothing. The table
 * is read and written by system calls: another process may cut the file short, which would kill a program
 * that accesses it as memory.
 *
 * The file belongs to the user alone (0600), and the last process removes it. It is used only if it is a
 * plain file of the same user with that mode. Its content is not trusted: numbers are only summed up. A table
 * that was cut or overwritten is made again by whoever locks it next, and each process's entry with the
 * process's next change. Without the file or the lock a process goes on alone.
 */
#ifndef SLUICE_PAGE_H
#define SLUICE_PAGE_H

#include "base/types.h"

#define SL_NODE_SLOTS 255
#define SL_NODE_PATH 48 /* bytes of the default path */

/* What a process states of its device. */
struct sl_node_device {
    uint64_t id;          /* identifies the device; 0: unknown */
    uint64_t given_bytes; /* the budget that the user chose; 0: none */
    uint64_t held_bytes;  /* that its data occupy at present */
};

/* What a process states. All zero: no process. */
struct sl_node_entry {
    uint64_t process;       /* process id */
    uint64_t pool;          /* what limits its host memory: see host_share.c */
    uint64_t job;           /* of a rank: as in sl_launcher, or the next number that distinguishes its job */
    uint64_t size, rank;    /* within the job on this machine; size 0: no rank */
    uint64_t total_bytes;   /* the pool's host memory, as this process computed it; 0: unknown */
    uint64_t part_bytes;    /* a rank's equal part of that */
    uint64_t claimed_bytes; /* which others may not take: what it uses, and a little more */
    uint64_t pinned_bytes;  /* the pinned part of that */
    uint64_t link;          /* identifies the device's link to the host; 0: unknown */
    struct sl_node_device device;
};

/* The file. */
struct sl_node_table {
    char magic[8];
    uint32_t version, slot_count, entry_bytes, rest;
    struct sl_node_entry entries[SL_NODE_SLOTS]; /* by slot */
};

struct sl_node {
    void *held; /* the mapping; NULL: not registered */
    int file;   /* open while the table is locked; else -1 */
    bool alone; /* the lock was not to be had in time: it is not tried again */
    uint32_t slot;
    uint64_t device, inode;
    const char *path;
    char standard[SL_NODE_PATH];
};

/* The path of the page: `option` (SLUICE_NODE), or if that is "" the user's default path, which is written to
 * `standard`. */
const char *sl_node_path(const char *option, char standard[SL_NODE_PATH]);

/* Registers this process, with an empty entry, and locks the table as sl_node_lock does. `option` is kept.
 * SL_ERR_INVALID, with one line in the log: the file is not as required. SL_ERR_UNSUPPORTED: it is full, or
 * the kernel has no such locks. SL_ERR_IO: any other error. *out accepts all other calls in any case, and
 * then is alone. */
enum sl_status sl_node_join(const char *option, struct sl_node *out, struct sl_node_table *table);

/* Locks the table and reads the entries of live processes into *table. False: this process is alone, and
 * *table is empty; or the program has no descriptor left, and *table is unchanged. Some system calls, and a
 * second's wait at most, once. One thread at a time, for this and the following functions. */
bool sl_node_lock(struct sl_node *node, struct sl_node_table *table);
/* Writes the process's entry and unlocks the table. Does nothing if it is not locked. */
void sl_node_unlock(struct sl_node *node, const struct sl_node_entry *own);

/* Gives the slot up; the last process removes the file. Accepts a node that is not registered. In a child
 * after fork only sl_node_forget may be called. */
void sl_node_leave(struct sl_node *node);
void sl_node_forget(struct sl_node *node);

/* For processes that are not registered: the entries of live processes, their number in *count. Removes the
 * file if there are none. SL_ERR_IO: there is no page, or it stays locked. SL_ERR_INVALID: the file is not as
 * required. Logs nothing. */
enum sl_status sl_node_look(const char *option, struct sl_node_table *table, uint32_t *count);

/* --- How the processes of a pool share the host's memory, computed from the table of the node. Pure
 * functions; the table is not trusted, so sums saturate. `own`: the slot of the process that asks, or
 * SL_NODE_SLOTS. `self`: its entry, of which only pool, job, size, rank and part_bytes are used.
 *
 * What processes claimed never exceeds the pool's total, but for limits that users gave. A rank claims no
 * more than the equal part of its job's ranks, which the first of them finds. Of the part that a job's ranks,
 * present or not, have not claimed yet, all other processes leave one half alone: the first job is given
 * everything, but most jobs never use it, and later jobs need memory. Where others have claimed the other
 * half, the ranks have equal parts of what is left. A process that is no rank of a job may claim all the
 * rest, because its need is unknown, and memory in use cannot be taken back for others. */

/* The bytes that all processes of the pool may have together: `available_bytes`, free at present, plus what
 * the others claimed; at most `most_bytes` and the least total that any of them stated. */
uint64_t sl_shares_total(const struct sl_node_table *table, uint32_t own, uint64_t pool,
                         uint64_t available_bytes, uint64_t most_bytes);

/* For a rank, sets part_bytes: what the job's other ranks have, else an equal part of what is left, in whole
 * 2 MiB blocks. If another process of the job has the same rank, self->job becomes the next number where none
 * has: that is another job of the same name. Precondition: self->size is not 0. */
void sl_shares_join_job(const struct sl_node_table *table, struct sl_node_entry *self, uint64_t total_bytes);

/* Other processes on a device. */
struct sl_device_users {
    uint32_t count, sharing; /* all, and those without a budget of their user's */
    uint64_t given_bytes;    /* the budgets together */
    uint64_t held_bytes;     /* what they hold */
};
struct sl_device_users sl_shares_on_device(const struct sl_node_table *table, uint32_t own, uint64_t id);

/* The most that the process may claim now. */
uint64_t sl_shares_most(const struct sl_node_table *table, uint32_t own, const struct sl_node_entry *self,
                        uint64_t total_bytes);

#endif
