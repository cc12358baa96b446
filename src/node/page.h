/* The page of the node: a small file in shared memory in which each managed process of the user says what it
 * has of the machine.
 *
 * Whoever registers has a slot, and a lock on a byte of the file that stands for it. The lock belongs to the
 * mapping (an open file description lock whose descriptor is closed), so it ends with the process, however
 * that ends; a child after fork has neither, and a program that closes all its descriptors keeps it. A slot
 * whose lock nobody holds is a dead process's, and whoever finds it clears it. No lock is waited for but that
 * of registration, and that not for long; what slots say is read and written by single words.
 *
 * The file is the user's alone (0600), and whoever is last removes it. It is taken only if it is a plain file
 * of the same user with that mode; what stands in it is not trusted: numbers are only summed up.
 */
#ifndef SLUICE_PAGE_H
#define SLUICE_PAGE_H

#include <stdatomic.h>

#include "base/types.h"

#define SL_NODE_SLOTS 255
#define SL_NODE_PATH 4096

/* What a process says. All zero: nobody. */
struct sl_node_entry {
    uint64_t process;        /* its number */
    uint64_t pool;           /* what limits its host memory: sl_host_memory_limited_by */
    uint64_t job;            /* of sl_launcher; 0: it is by itself */
    uint64_t size, rank;     /* of the job on this machine */
    uint64_t total_bytes;    /* host memory that it took all of the pool to have */
    uint64_t promised_bytes; /* of it, to this process: others do not take it */
    uint64_t taken_bytes;    /* of that, with pinned memory */
    uint64_t pinned_bytes;
    uint64_t device; /* where its device is on the PCI bus, plus 1; 0: not known */
    uint64_t link;   /* stands for the device's link to the host; 0: not known */
};
#define SL_NODE_WORDS (sizeof(struct sl_node_entry) / sizeof(uint64_t))

struct sl_node_slot {
    _Alignas(128) _Atomic uint64_t words[SL_NODE_WORDS]; /* an sl_node_entry's */
};

struct sl_node {
    struct sl_node_file *mapped; /* NULL: not registered */
    int file;                    /* open while registration goes on; else -1 */
    uint32_t slot;
    uint64_t device, inode;
    char path[SL_NODE_PATH];
};

/* The word of a slot that a member of sl_node_entry is. */
#define SL_NODE_WORD(member) (offsetof(struct sl_node_entry, member) / sizeof(uint64_t))

/* Where the page is: `option`, or, where that is "", the user's own place. */
void sl_node_path(const char *option, char out[SL_NODE_PATH]);

/* Registers this process, and keeps others from doing so until sl_node_settle. Where the file is not as it
 * must be one line says so: SL_ERR_INVALID; it is full, or the kernel has no such locks: SL_ERR_UNSUPPORTED;
 * anything else: SL_ERR_IO. */
enum sl_status sl_node_join(const char *path, struct sl_node *out);
void sl_node_settle(struct sl_node *node);

/* Gives the slot up; the last one removes the file. Accepts a node that is not registered. In a child after
 * fork only sl_node_forget may be called. */
void sl_node_leave(struct sl_node *node);
void sl_node_forget(struct sl_node *node);

/* Writes what this process says; one word of it, which SL_NODE_WORD names. Any thread. */
void sl_node_say(struct sl_node *node, const struct sl_node_entry *entry);
void sl_node_set(struct sl_node *node, size_t word, uint64_t value);

/* What the others say, the dead too where nobody has cleared their slots. Returns how many. */
uint32_t sl_node_others(const struct sl_node *node, struct sl_node_entry out[SL_NODE_SLOTS]);

/* Of how many of them a word is `value`. Allocates nothing. */
uint32_t sl_node_count(const struct sl_node *node, size_t word, uint64_t value);

/* Clears the slots of the dead. Returns how many there were. Some system calls for each slot in use. */
uint32_t sl_node_bury(struct sl_node *node);

/* For those who are not registered: what the living say, their number in *count. SL_ERR_IO: there is no page.
 * SL_ERR_INVALID: the file is not as it must be. Says nothing. */
enum sl_status sl_node_look(const char *path, struct sl_node_entry out[SL_NODE_SLOTS], uint32_t *count);

/* Removes the file if all that registered are gone. */
void sl_node_sweep(const char *path);

#endif
