/* The page of the node: a small file in shared memory in which each managed process of a user states its use
 * of the machine.
 *
 * A registered process owns a slot and holds a lock on the byte of the file that stands for the slot. The
 * lock belongs to a mapping that nobody accesses (an open file description lock whose descriptor is closed),
 * so it ends with the process in any case. A child after fork has neither lock nor mapping; a program that
 * closes all its descriptors keeps the lock. A slot with a free lock belongs to a dead process, and any
 * process may clear it. Only the registration lock is waited for, and only for a bounded time. Slots are read
 * and written by system calls, word by word: another process may cut the file short, which would kill a
 * program that accesses it as memory.
 *
 * The file belongs to the user alone (0600), and the last process removes it. It is used only if it is a
 * plain file of the same user with that mode. Its content is not trusted: numbers are only summed up. If the
 * file is lost, cut or overwritten, the processes do not see each other's statements until they are made
 * again.
 */
#ifndef SLUICE_PAGE_H
#define SLUICE_PAGE_H

#include <stdatomic.h>

#include "base/types.h"

#define SL_NODE_SLOTS 255
#define SL_NODE_PATH 4096

/* The statement of a process. All zero: no process. */
struct sl_node_entry {
    uint64_t process;        /* process id */
    uint64_t pool;           /* what limits its host memory: sl_host_memory_limited_by */
    uint64_t job;            /* of sl_launcher; 0: not part of a job */
    uint64_t size, rank;     /* within the job on this machine */
    uint64_t total_bytes;    /* the pool's host memory, as this process computed it */
    uint64_t promised_bytes; /* the part promised to this process, which others do not take */
    uint64_t taken_bytes;    /* the used part of that, pinned memory included */
    uint64_t pinned_bytes;
    uint64_t device; /* 1 + the device's place on the PCI bus; 0: unknown */
    uint64_t link;   /* identifies the device's link to the host; 0: unknown */
};
#define SL_NODE_WORDS (sizeof(struct sl_node_entry) / sizeof(uint64_t))

struct sl_node_slot {
    _Alignas(128) _Atomic uint64_t words[SL_NODE_WORDS]; /* an sl_node_entry's */
};

struct sl_node {
    void *_Atomic held; /* the mapping; NULL: not registered */
    int file;           /* open during registration; else -1 */
    _Atomic int pages;  /* where slots are read and written; -1: not open */
    uint32_t slot;
    uint64_t device, inode;
    char path[SL_NODE_PATH];
};

/* The index of the word of a slot for a member of sl_node_entry. */
#define SL_NODE_WORD(member) (offsetof(struct sl_node_entry, member) / sizeof(uint64_t))

/* The path of the page: `option`, or the user's default path if that is "". */
void sl_node_path(const char *option, char out[SL_NODE_PATH]);

/* Registers this process and blocks other registrations until sl_node_settle. SL_ERR_INVALID, with one line
 * in the log: the file is not as required. SL_ERR_UNSUPPORTED: it is full, or the kernel has no such locks.
 * SL_ERR_IO: any other error. */
enum sl_status sl_node_join(const char *path, struct sl_node *out);
static inline bool sl_node_is_registered(const struct sl_node *node)
{
    return atomic_load(&node->held) != NULL;
}
void sl_node_settle(struct sl_node *node);

/* Gives the slot up; the last process removes the file. Accepts a node that is not registered. In a child
 * after fork only sl_node_forget may be called. */
void sl_node_leave(struct sl_node *node);
void sl_node_forget(struct sl_node *node);

/* Write the process's statement, and `count` words of it from the one that SL_NODE_WORD names. Any thread;
 * not after sl_node_leave. Some system calls, here and below. */
void sl_node_say(struct sl_node *node, const struct sl_node_entry *entry);
void sl_node_set(struct sl_node *node, size_t word, const uint64_t *values, size_t count);

/* The statements of the others, including dead processes whose slots are not cleared yet. Returns their
 * number. */
uint32_t sl_node_others(struct sl_node *node, struct sl_node_entry out[SL_NODE_SLOTS]);

/* The number of others whose word is `value`. Allocates nothing. */
uint32_t sl_node_count(struct sl_node *node, size_t word, uint64_t value);

/* Clears the slots of dead processes and returns their number. */
uint32_t sl_node_bury(struct sl_node *node);

/* For processes that are not registered: the statements of live processes, their number in *count. SL_ERR_IO:
 * there is no page. SL_ERR_INVALID: the file is not as required. Logs nothing. */
enum sl_status sl_node_look(const char *path, struct sl_node_entry out[SL_NODE_SLOTS], uint32_t *count);

/* Removes the file if all registered processes are gone. */
void sl_node_sweep(const char *path);

#endif
