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

#include "base/log.h"
#include "base/quiet_signals.h"

#define MAGIC "SLNODE\r\n"
#define VERSION 1
#define HEADER_BYTES 128
#define ATTEMPTS 100 /* the file may be removed while it is opened */
#define ATTEMPTS_AT_LOCK 100000
#define REGISTRATION 0    /* the byte of the registration lock; slot s has byte 1 + s */
#define ALL_THE_FILE 0, 0 /* from the first byte to the end of the file */

struct head {
    char magic[8];
    uint32_t version, slot_count, slot_bytes, rest;
};
struct sl_node_file {
    struct head head;
    _Alignas(HEADER_BYTES) struct sl_node_slot slots[SL_NODE_SLOTS];
};
#define FILE_BYTES sizeof(struct sl_node_file)
_Static_assert(offsetof(struct sl_node_file, slots) == HEADER_BYTES, "the slots follow the header");

void sl_node_path(const char *option, char out[SL_NODE_PATH])
{
    if (*option)
        snprintf(out, SL_NODE_PATH, "%s", option);
    else
        snprintf(out, SL_NODE_PATH, "/dev/shm/sluice-node-%lu", (unsigned long)geteuid());
}

/* --- locks */

static bool lock(int file, off_t first, off_t bytes, short type)
{
    struct flock range = {.l_type = type, .l_whence = SEEK_SET, .l_start = first, .l_len = bytes};
    return fcntl(file, F_OFD_SETLK, &range) == 0;
}

/* Whether another process holds the byte's lock. */
static bool is_held(int file, off_t byte)
{
    struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
    return fcntl(file, F_OFD_GETLK, &range) != 0 || range.l_type != F_UNLCK;
}

/* The holder needs a few hundred microseconds, unless it was stopped. */
static bool lock_registration(int file)
{
    for (int i = 0; i < ATTEMPTS_AT_LOCK; i++) {
        if (lock(file, REGISTRATION, 1, F_WRLCK)) return true;
        if (errno != EAGAIN && errno != EACCES && errno != EINTR) return false;
        sched_yield();
    }
    errno = ETIMEDOUT;
    return false;
}

/* --- the file */

static bool is_private(const struct stat *status)
{
    return S_ISREG(status->st_mode) && status->st_uid == geteuid() && (status->st_mode & 07777) == 0600 &&
           status->st_nlink <= 1;
}

static bool is_ours(int file, struct stat *status)
{
    struct head head;
    return fstat(file, status) == 0 && is_private(status) && status->st_size == FILE_BYTES &&
           pread(file, &head, sizeof(head), 0) == sizeof(head) && !memcmp(head.magic, MAGIC, 8) &&
           head.version == VERSION && head.slot_count == SL_NODE_SLOTS &&
           head.slot_bytes == sizeof(struct sl_node_slot);
}

static int open_file(const char *path, bool create)
{
    int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
    int file = create ? open(path, flags | O_CREAT | O_EXCL, 0600) : -1;
    if (file >= 0 && fchmod(file, 0600) != 0) { /* undoes the umask */
        close(file);
        return -1;
    }
    return file >= 0 || (create && errno != EEXIST) ? file : open(path, flags);
}

/* Allocates all blocks of the file: a page fault without room would kill the program. */
static bool fill(int file)
{
    struct head head = {.magic = MAGIC,
                        .version = VERSION,
                        .slot_count = SL_NODE_SLOTS,
                        .slot_bytes = sizeof(struct sl_node_slot)};
    struct sl_quiet_signals quiet;
    sl_quiet_signals_begin(&quiet);
    int error = posix_fallocate(file, 0, FILE_BYTES);
    sl_quiet_signals_end(&quiet, error);
    if (error) errno = error;
    return !error && pwrite(file, &head, sizeof(head), 0) == sizeof(head);
}

/* Initialises the file if it is new, or no process is left that uses it. False with errno; EINVAL: it is not
 * ours. Precondition: the registration lock is held. */
static bool make_whole(int file)
{
    struct stat status;
    if (is_ours(file, &status)) return true;
    if (!is_private(&status)) {
        errno = EINVAL;
        return false;
    }
    if (status.st_size && !lock(file, ALL_THE_FILE, F_WRLCK)) {
        errno = EINVAL;
        return false;
    }
    bool good = ftruncate(file, 0) == 0 && fill(file);
    int error = errno;
    if (!good && ftruncate(file, 0) != 0) error = errno;
    errno = error;
    return lock(file, 1, 0, F_UNLCK) && good;
}

static bool is_linked(int file)
{
    struct stat status;
    return fstat(file, &status) == 0 && status.st_nlink > 0;
}

/* Opens the file and locks registration. *again: the file was, or may have been, removed meanwhile. -1 with
 * errno. */
static int enter(const char *path, bool *again)
{
    struct stat status;
    *again = false;
    int file = open_file(path, true);
    if (file < 0) {
        *again = errno == ENOENT;
        return -1;
    }
    if (fstat(file, &status) != 0 || !is_private(&status)) {
        errno = EINVAL;
    } else if (lock_registration(file)) {
        *again = !is_linked(file);
        if (!*again && make_whole(file)) return file;
    }
    int error = errno;
    close(file);
    errno = error;
    return -1;
}

/* --- registration */

static bool take_slot(struct sl_node *node)
{
    for (uint32_t s = 0; s < SL_NODE_SLOTS; s++) {
        if (!lock(node->file, 1 + s, 1, F_WRLCK)) continue;
        node->slot = s;
        sl_node_say(node, &(struct sl_node_entry){0});
        return true;
    }
    return false;
}

static enum sl_status map(struct sl_node *node)
{
    struct stat status;
    void *mapped = mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, node->file, 0);
    if (mapped == MAP_FAILED || fstat(node->file, &status) != 0) {
        if (mapped != MAP_FAILED) munmap(mapped, FILE_BYTES);
        return SL_ERR_IO;
    }
    node->mapped = mapped;
    node->device = status.st_dev;
    node->inode = status.st_ino;
    /* Without it a child would keep the slot of a dead parent. */
    if (madvise(mapped, FILE_BYTES, MADV_DONTFORK) == 0 && take_slot(node)) return SL_OK;
    munmap(mapped, FILE_BYTES);
    node->mapped = NULL;
    return SL_ERR_UNSUPPORTED;
}

static enum sl_status refuse(const char *path, int error)
{
    if (error == EINVAL || error == ELOOP || error == EACCES || error == EPERM) {
        sl_log(SL_LOG_WARN,
               "%s is not what sluice keeps there, of this user and mode 0600: host memory is not shared out "
               "between processes",
               path);
        return SL_ERR_INVALID;
    }
    sl_log(SL_LOG_INFO, "host memory is not shared out between processes: %s: %s", path, strerror(error));
    return SL_ERR_IO;
}

enum sl_status sl_node_join(const char *path, struct sl_node *out)
{
    bool again = true;
    *out = (struct sl_node){.file = -1};
    if (snprintf(out->path, sizeof(out->path), "%s", path) >= (int)sizeof(out->path)) return SL_ERR_IO;
    for (int i = 0; i < ATTEMPTS && again; i++) out->file = enter(path, &again);
    if (out->file < 0) return refuse(path, errno);
    enum sl_status status = map(out);
    if (status) {
        sl_log(SL_LOG_INFO, "host memory is not shared out between processes: no place in %s", path);
        close(out->file);
        out->file = -1;
    }
    return status;
}

/* Unlocks explicitly, because the mapping keeps the file open after the close. */
void sl_node_settle(struct sl_node *node)
{
    if (node->file < 0) return;
    lock(node->file, REGISTRATION, 1, F_UNLCK);
    close(node->file);
    node->file = -1;
}

/* Opens the registered file by name; -1: it was removed. */
static int open_again(const struct sl_node *node)
{
    struct stat status;
    int file = open_file(node->path, false);
    if (file >= 0 && fstat(file, &status) == 0 && status.st_dev == node->device &&
        status.st_ino == node->inode)
        return file;
    if (file >= 0) close(file);
    return -1;
}

static void remove_unused(int file, const char *path)
{
    if (lock(file, ALL_THE_FILE, F_WRLCK) && is_linked(file)) unlink(path);
}

void sl_node_leave(struct sl_node *node)
{
    if (!node->mapped) return;
    sl_node_settle(node);
    sl_node_say(node, &(struct sl_node_entry){0});
    munmap(node->mapped, FILE_BYTES);
    node->mapped = NULL;
    int file = open_again(node);
    if (file < 0) return;
    remove_unused(file, node->path);
    close(file);
}

void sl_node_forget(struct sl_node *node)
{
    node->mapped = NULL;
    node->file = -1;
}

void sl_node_sweep(const char *path)
{
    struct stat status;
    int file = open_file(path, false);
    if (file >= 0 && is_ours(file, &status)) remove_unused(file, path);
    if (file >= 0) close(file);
}

/* --- statements */

static void read_slot(const struct sl_node_slot *slot, struct sl_node_entry *out)
{
    uint64_t words[SL_NODE_WORDS];
    for (size_t i = 0; i < SL_NODE_WORDS; i++) words[i] = atomic_load(&slot->words[i]);
    memcpy(out, words, sizeof(*out));
}

static void write_slot(struct sl_node_slot *slot, const struct sl_node_entry *entry)
{
    uint64_t words[SL_NODE_WORDS];
    memcpy(words, entry, sizeof(words));
    for (size_t i = 0; i < SL_NODE_WORDS; i++) atomic_store(&slot->words[i], words[i]);
}

void sl_node_say(struct sl_node *node, const struct sl_node_entry *entry)
{
    write_slot(&node->mapped->slots[node->slot], entry);
}

void sl_node_set(struct sl_node *node, size_t word, uint64_t value)
{
    atomic_store(&node->mapped->slots[node->slot].words[word], value);
}

uint32_t sl_node_others(const struct sl_node *node, struct sl_node_entry out[SL_NODE_SLOTS])
{
    uint32_t count = 0;
    for (uint32_t s = 0; s < SL_NODE_SLOTS; s++) {
        const struct sl_node_slot *slot = &node->mapped->slots[s];
        if (s == node->slot || !atomic_load(&slot->words[SL_NODE_WORD(process)])) continue;
        read_slot(slot, &out[count++]);
    }
    return count;
}

uint32_t sl_node_count(const struct sl_node *node, size_t word, uint64_t value)
{
    uint32_t count = 0;
    for (uint32_t s = 0; s < SL_NODE_SLOTS; s++) {
        const struct sl_node_slot *slot = &node->mapped->slots[s];
        count += s != node->slot && atomic_load(&slot->words[SL_NODE_WORD(process)]) &&
                 atomic_load(&slot->words[word]) == value;
    }
    return count;
}

/* Holds the slot's lock, so that no other process takes the slot meanwhile. */
static bool bury_one(struct sl_node *node, int file, uint32_t s)
{
    if (!lock(file, 1 + s, 1, F_WRLCK)) return false;
    write_slot(&node->mapped->slots[s], &(struct sl_node_entry){0});
    lock(file, 1 + s, 1, F_UNLCK);
    return true;
}

uint32_t sl_node_bury(struct sl_node *node)
{
    uint32_t count = 0;
    int file = open_again(node);
    for (uint32_t s = 0; s < SL_NODE_SLOTS && file >= 0; s++)
        if (s != node->slot && atomic_load(&node->mapped->slots[s].words[SL_NODE_WORD(process)]))
            count += bury_one(node, file, s);
    if (file >= 0) close(file);
    return count;
}

enum sl_status sl_node_look(const char *path, struct sl_node_entry out[SL_NODE_SLOTS], uint32_t *count)
{
    struct stat status;
    struct sl_node_slot slot;
    int file = open_file(path, false);
    if (file < 0) return errno == ELOOP || errno == EACCES ? SL_ERR_INVALID : SL_ERR_IO;
    bool good = is_ours(file, &status);
    uint32_t found = 0;
    for (uint32_t s = 0; s < SL_NODE_SLOTS && good; s++) {
        off_t at = (off_t)(HEADER_BYTES + s * sizeof(slot));
        good = pread(file, &slot, sizeof(slot), at) == sizeof(slot);
        if (!good || !slot.words[SL_NODE_WORD(process)] || !is_held(file, 1 + s)) continue;
        read_slot(&slot, &out[found++]);
    }
    close(file);
    if (!good) return SL_ERR_INVALID;
    *count = found;
    return SL_OK;
}
