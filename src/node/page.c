#include "node/page.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/output.h"

#define MAGIC "SLNODE\r\n"
#define VERSION 3
#define ATTEMPTS 100 /* the file may be removed while it is opened */
#define PATIENCE_NS 1000000000u
#define TABLE 0 /* the byte of the table's lock; slot s has byte SLOT + s */
#define SLOT 1
#define HELD_BYTES 1 /* of the mapping that keeps a lock; the kernel takes a page */

_Static_assert(offsetof(struct sl_node_table, entries) == 24, "the entries follow the header");

const char *sl_node_path(const char *option, char standard[SL_NODE_PATH])
{
    if (*option) return option;
    snprintf(standard, SL_NODE_PATH, "/dev/shm/sluice-node-%lu", (unsigned long)geteuid());
    return standard;
}

/* --- locks */

/* `bytes` 0: all from `first` on. */
static bool lock(int file, off_t first, off_t bytes, short type)
{
    struct flock range = {.l_type = type, .l_whence = SEEK_SET, .l_start = first, .l_len = bytes};
    return fcntl(file, F_OFD_SETLK, &range) == 0;
}

/* Whether another process holds the slot's lock. */
static bool is_held(int file, uint32_t slot)
{
    struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = SLOT + slot, .l_len = 1};
    return fcntl(file, F_OFD_GETLK, &range) != 0 || range.l_type != F_UNLCK;
}

/* False with errno; ETIMEDOUT: another process has it. */
static bool lock_table(int file)
{
    uint64_t until = sl_clock_ns(CLOCK_MONOTONIC) + PATIENCE_NS;
    while (!lock(file, TABLE, 1, F_WRLCK)) {
        if (errno != EAGAIN && errno != EACCES && errno != EINTR) return false;
        if (sl_clock_ns(CLOCK_MONOTONIC) > until) {
            errno = ETIMEDOUT;
            return false;
        }
        sched_yield(); /* a holder needs some tens of microseconds, unless it was stopped */
    }
    return true;
}

/* Unlocks what no mapping keeps locked, and closes. Explicitly, as a child that was forked meanwhile has the
 * file open, too. Keeps errno. */
static void close_table(int file)
{
    int error = errno;
    lock(file, TABLE, 1, F_UNLCK);
    close(file);
    errno = error;
}

/* --- the file */

static int open_file(const char *path, bool create)
{
    int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
    int file = create ? open(path, flags | O_CREAT | O_EXCL, 0600) : -1;
    if (file >= 0 && fchmod(file, 0600) != 0) { /* undoes the umask */
        close(file);
        return -1;
    }
    return sl_output_above_standard(file >= 0 || (create && errno != EEXIST) ? file : open(path, flags));
}

/* Locks the table if the file is a private one. False with errno. *removed: meanwhile it was removed. */
static bool enter(int file, struct stat *status, bool *removed)
{
    if (fstat(file, status) != 0) return false;
    if (!S_ISREG(status->st_mode) || status->st_uid != geteuid() || (status->st_mode & 07777) != 0600 ||
        status->st_nlink > 1) {
        errno = EINVAL;
        return false;
    }
    if (!lock_table(file) || fstat(file, status) != 0) return false;
    *removed = !status->st_nlink;
    return !*removed;
}

/* Opens the file, which `create` makes if there is none, and locks the table. -1 with errno. */
static int open_locked(const char *path, bool create, struct stat *status)
{
    bool again = true;
    for (int i = 0; i < ATTEMPTS && again; i++) {
        int file = open_file(path, create);
        again = file < 0 && create && errno == ENOENT;
        if (file < 0) continue;
        if (enter(file, status, &again)) return file;
        close_table(file);
    }
    return -1;
}

static bool read_table(int file, struct sl_node_table *table)
{
    struct stat status;
    return fstat(file, &status) == 0 && status.st_size == sizeof(*table) &&
           pread(file, table, sizeof(*table), 0) == sizeof(*table) && !memcmp(table->magic, MAGIC, 8) &&
           table->version == VERSION && table->slot_count == SL_NODE_SLOTS &&
           table->entry_bytes == sizeof(struct sl_node_entry);
}

/* Writes an empty table: all of it, so that entries have room. False with errno. */
static bool make_table(int file, struct sl_node_table *table)
{
    memset(table, 0, sizeof(*table));
    memcpy(table->magic, MAGIC, sizeof(table->magic));
    table->version = VERSION;
    table->slot_count = SL_NODE_SLOTS;
    table->entry_bytes = sizeof(struct sl_node_entry);
    errno = ENOSPC; /* if less is written */
    if (ftruncate(file, 0) == 0 && sl_output_put_at(file, table, sizeof(*table), 0)) return true;
    int error = errno;
    if (ftruncate(file, 0) != 0) error = errno;
    errno = error;
    return false;
}

/* Clears the entries of dead processes in *table and returns the number of the others. `own` is no other. */
static uint32_t count_live(int file, struct sl_node_table *table, uint32_t own)
{
    uint32_t live = 0;
    for (uint32_t s = 0; s < SL_NODE_SLOTS; s++) {
        if (!table->entries[s].process) continue;
        if (s != own && is_held(file, s))
            live++;
        else
            table->entries[s] = (struct sl_node_entry){0};
    }
    return live;
}

/* Reads the table, or makes it if nobody uses what is there. False with errno; EINVAL: somebody does. */
static bool make_whole(int file, struct sl_node_table *table)
{
    if (read_table(file, table)) return true;
    bool unused = lock(file, SLOT, 0, F_WRLCK), made = unused && make_table(file, table);
    int error = unused ? errno : EINVAL;
    lock(file, SLOT, 0, F_UNLCK);
    errno = error;
    return made;
}

static void remove_unused(int file, const char *path)
{
    if (lock(file, SLOT, 0, F_WRLCK)) unlink(path);
    lock(file, SLOT, 0, F_UNLCK);
}

/* --- registration */

/* Takes a slot for as long as the process lives. The mapping keeps the file, and with it the lock; nobody may
 * access it. */
static bool hold_slot(struct sl_node *node)
{
    void *held = mmap(NULL, HELD_BYTES, PROT_NONE, MAP_SHARED, node->file, 0);
    if (held == MAP_FAILED) return false;
    /* Without the advice a child would keep the slot of a dead parent. */
    bool advised = madvise(held, HELD_BYTES, MADV_DONTFORK) == 0;
    for (node->slot = 0; advised && node->slot < SL_NODE_SLOTS; node->slot++) {
        if (!lock(node->file, SLOT + node->slot, 1, F_WRLCK)) continue;
        node->held = held;
        return true;
    }
    munmap(held, HELD_BYTES);
    return false;
}

static bool is_foreign(int error)
{
    return error == EINVAL || error == ELOOP || error == EACCES || error == EPERM;
}

static enum sl_status refuse(const char *path, int error)
{
    if (is_foreign(error)) {
        sl_log(SL_LOG_WARN,
               "%s is not what sluice keeps there, of this user and mode 0600: host memory is not shared out "
               "between processes",
               path);
        return SL_ERR_INVALID;
    }
    sl_log(SL_LOG_INFO, "host memory is not shared out between processes: %s: %s", path, strerror(error));
    return error == ENOLCK ? SL_ERR_UNSUPPORTED : SL_ERR_IO;
}

enum sl_status sl_node_join(const char *option, struct sl_node *out, struct sl_node_table *table)
{
    struct stat status;
    memset(table, 0, sizeof(*table));
    *out = (struct sl_node){0};
    out->path = sl_node_path(option, out->standard);
    out->file = open_locked(out->path, true, &status);
    if (out->file < 0) return refuse(out->path, errno);
    out->device = status.st_dev;
    out->inode = status.st_ino;
    if (make_whole(out->file, table)) {
        count_live(out->file, table, SL_NODE_SLOTS);
        if (hold_slot(out)) return SL_OK;
        errno = ENOLCK;
    }
    close_table(out->file);
    out->file = -1;
    return refuse(out->path, errno);
}

/* The file is opened anew for each change: a child that inherits the descriptor would share its locks, and
 * the program may close it. -1 with errno. */
static int open_again(struct sl_node *node)
{
    struct stat status;
    errno = 0;
    int file = node->held && !node->alone ? open_locked(node->path, false, &status) : -1;
    if (file < 0 && errno == ETIMEDOUT) {
        node->alone = true;
        sl_log(SL_LOG_WARN,
               "%s is locked by a process that does not go on: this process takes what host memory is free",
               node->path);
    }
    if (file < 0 || (status.st_dev == node->device && status.st_ino == node->inode)) return file;
    close_table(file);
    return -1;
}

bool sl_node_lock(struct sl_node *node, struct sl_node_table *table)
{
    node->file = open_again(node);
    if (node->file >= 0 && (read_table(node->file, table) || make_table(node->file, table)))
        count_live(node->file, table, node->slot);
    else if (errno != EMFILE && errno != ENFILE)
        memset(table, 0, sizeof(*table));
    return node->file >= 0;
}

void sl_node_unlock(struct sl_node *node, const struct sl_node_entry *own)
{
    off_t at = (off_t)(offsetof(struct sl_node_table, entries) + node->slot * sizeof(*own));
    if (node->file < 0) return;
    sl_output_put_at(node->file, own, sizeof(*own), at);
    close_table(node->file);
    node->file = -1;
}

void sl_node_leave(struct sl_node *node)
{
    if (!node->held) return;
    int file = open_again(node);
    munmap(node->held, HELD_BYTES);
    node->held = NULL;
    if (file < 0) return;
    remove_unused(file, node->path);
    close_table(file);
}

void sl_node_forget(struct sl_node *node)
{
    if (node->file >= 0) close(node->file);
    node->held = NULL;
    node->file = -1;
}

enum sl_status sl_node_look(const char *option, struct sl_node_table *table, uint32_t *count)
{
    char standard[SL_NODE_PATH];
    const char *path = sl_node_path(option, standard);
    struct stat status;
    *count = 0;
    int file = open_locked(path, false, &status);
    if (file < 0) return is_foreign(errno) ? SL_ERR_INVALID : SL_ERR_IO;
    bool good = read_table(file, table);
    if (good) *count = count_live(file, table, SL_NODE_SLOTS);
    if (good && !*count) remove_unused(file, path);
    close_table(file);
    return good ? SL_OK : SL_ERR_INVALID;
}

/* --- shares */

static uint64_t add(uint64_t one, uint64_t other)
{
    return one + other < one ? UINT64_MAX : one + other;
}

static uint64_t equal_part(uint64_t total_bytes, uint64_t kept_bytes, uint64_t size)
{
    return total_bytes > kept_bytes ? (total_bytes - kept_bytes) / size & ~(SL_BLOCK_BYTES - 1) : 0;
}

static bool is_of_job(const struct sl_node_entry *entry, const struct sl_node_entry *like)
{
    return entry->process && entry->size && like->size && entry->job == like->job &&
           entry->pool == like->pool;
}

/* What others leave to the process in `slot`. A job's first slot stands for all of the job, the others for
 * nothing. */
static uint64_t kept_for(const struct sl_node_table *table, uint32_t slot)
{
    const struct sl_node_entry *entry = &table->entries[slot];
    uint64_t claimed = 0, part;
    if (__builtin_mul_overflow(entry->part_bytes, entry->size, &part)) part = UINT64_MAX;
    if (!entry->size) return entry->claimed_bytes;
    for (uint32_t s = 0; s < SL_NODE_SLOTS; s++) {
        if (!is_of_job(&table->entries[s], entry)) continue;
        if (s < slot) return 0;
        claimed = add(claimed, table->entries[s].claimed_bytes);
    }
    return part > claimed ? claimed + (part - claimed) / 2 : claimed;
}

struct sums {
    uint64_t claimed, kept; /* by all others of the pool; for others than the own job */
};

static struct sums sum_up(const struct sl_node_table *table, uint32_t own, const struct sl_node_entry *self)
{
    struct sums sums = {0};
    for (uint32_t s = 0; s < SL_NODE_SLOTS; s++) {
        const struct sl_node_entry *entry = &table->entries[s];
        if (s == own || !entry->process || entry->pool != self->pool) continue;
        sums.claimed = add(sums.claimed, entry->claimed_bytes);
        if (!is_of_job(entry, self)) sums.kept = add(sums.kept, kept_for(table, s));
    }
    return sums;
}

uint64_t sl_shares_total(const struct sl_node_table *table, uint32_t own, uint64_t pool,
                         uint64_t available_bytes, uint64_t most_bytes)
{
    uint64_t total = add(available_bytes, sum_up(table, own, &(struct sl_node_entry){.pool = pool}).claimed);
    total = sl_least(total, most_bytes);
    for (uint32_t s = 0; s < SL_NODE_SLOTS; s++) {
        const struct sl_node_entry *entry = &table->entries[s];
        if (s != own && entry->process && entry->pool == pool && entry->total_bytes)
            total = sl_least(total, entry->total_bytes);
    }
    return total;
}

/* The job's process with this rank, or, if `any`, with any rank; NULL: there is none. */
static const struct sl_node_entry *find_rank(const struct sl_node_table *table,
                                             const struct sl_node_entry *self, bool any)
{
    for (uint32_t s = 0; s < SL_NODE_SLOTS; s++)
        if (is_of_job(&table->entries[s], self) && (any || table->entries[s].rank == self->rank))
            return &table->entries[s];
    return NULL;
}

void sl_shares_join_job(const struct sl_node_table *table, struct sl_node_entry *self, uint64_t total_bytes)
{
    while (find_rank(table, self, false)) self->job++;
    const struct sl_node_entry *peer = find_rank(table, self, true);
    self->part_bytes = peer && peer->part_bytes
                           ? sl_least(peer->part_bytes, total_bytes)
                           : equal_part(total_bytes, sum_up(table, SL_NODE_SLOTS, self).kept, self->size);
}

uint64_t sl_shares_most(const struct sl_node_table *table, uint32_t own, const struct sl_node_entry *self,
                        uint64_t total_bytes)
{
    struct sums others = sum_up(table, own, self);
    uint64_t left = total_bytes > others.claimed ? total_bytes - others.claimed : 0;
    if (!self->size) return total_bytes > others.kept ? total_bytes - others.kept : 0;
    return sl_least(sl_least(left, self->part_bytes), equal_part(total_bytes, others.kept, self->size));
}

struct sl_device_users sl_shares_on_device(const struct sl_node_table *table, uint32_t own, uint64_t id)
{
    struct sl_device_users users = {0};
    for (uint32_t s = 0; s < SL_NODE_SLOTS && id; s++) {
        const struct sl_node_entry *entry = &table->entries[s];
        if (s == own || !entry->process || entry->device.id != id) continue;
        users.count++;
        users.sharing += !entry->device.given_bytes;
        users.given_bytes = add(users.given_bytes, entry->device.given_bytes);
        users.held_bytes = add(users.held_bytes, entry->device.held_bytes);
    }
    return users;
}
