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
#include "base/output.h"
#include "base/quiet_signals.h"

#define MAGIC "SLNODE\r\n"
#define VERSION 1
#define HEADER_BYTES 128
#define ATTEMPTS 100 /* the file may be removed while it is opened */
#define ATTEMPTS_AT_LOCK 100000
#define REGISTRATION 0    /* the byte of the registration lock; slot s has byte 1 + s */
#define ALL_THE_FILE 0, 0 /* from the first byte to the end of the file */
#define HELD_BYTES 1      /* of the mapping that keeps a lock; the kernel takes a page */
#define AT_ONCE 32        /* slots that are read by one call; on the stack, which may be small */

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

static off_t slot_at(uint32_t slot)
{
    return (off_t)(HEADER_BYTES + slot * sizeof(struct sl_node_slot));
}

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

/* Allocates all blocks of the file, so that statements have room. */
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

/* Takes a slot for as long as the process lives. The mapping keeps the file, and with it the lock; nobody may
 * access it. */
static enum sl_status hold_slot(struct sl_node *node)
{
    struct stat status;
    void *held = mmap(NULL, HELD_BYTES, PROT_NONE, MAP_SHARED, node->file, 0);
    if (held == MAP_FAILED || fstat(node->file, &status) != 0) {
        if (held != MAP_FAILED) munmap(held, HELD_BYTES);
        return SL_ERR_IO;
    }
    node->device = status.st_dev;
    node->inode = status.st_ino;
    /* Without it a child would keep the slot of a dead parent. */
    if (madvise(held, HELD_BYTES, MADV_DONTFORK) == 0 && take_slot(node)) {
        node->held = held;
        return SL_OK;
    }
    munmap(held, HELD_BYTES);
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
    *out = (struct sl_node){.file = -1, .pages = -1};
    if (snprintf(out->path, sizeof(out->path), "%s", path) >= (int)sizeof(out->path)) return SL_ERR_IO;
    for (int i = 0; i < ATTEMPTS && again; i++) out->file = enter(path, &again);
    if (out->file < 0) return refuse(path, errno);
    enum sl_status status = hold_slot(out);
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

static bool is_registered(const struct sl_node *node, int file)
{
    struct stat status;
    return file >= 0 && fstat(file, &status) == 0 && status.st_dev == node->device &&
           status.st_ino == node->inode;
}

/* Opens the registered file by name; -1: it was removed. */
static int open_again(const struct sl_node *node)
{
    int file = open_file(node->path, false);
    if (is_registered(node, file)) return file;
    if (file >= 0) close(file);
    return -1;
}

/* The descriptor by which slots are read and written. It holds no lock, because a child inherits it. If the
 * program closed it, the file is opened again; -1: it is gone. */
static int pages_of(struct sl_node *node)
{
    int file = atomic_load(&node->pages);
    if (is_registered(node, file)) return file;
    int fresh = sl_output_above_standard(open_again(node));
    if (atomic_compare_exchange_strong(&node->pages, &file, fresh)) return fresh;
    if (fresh >= 0) close(fresh); /* another thread has opened it */
    return file;
}

static void close_pages(struct sl_node *node)
{
    int file = atomic_exchange(&node->pages, -1);
    if (is_registered(node, file)) close(file);
}

static void remove_unused(int file, const char *path)
{
    if (lock(file, ALL_THE_FILE, F_WRLCK) && is_linked(file)) unlink(path);
}

void sl_node_leave(struct sl_node *node)
{
    if (!sl_node_is_registered(node)) return;
    sl_node_settle(node);
    sl_node_say(node, &(struct sl_node_entry){0});
    munmap(atomic_exchange(&node->held, NULL), HELD_BYTES);
    close_pages(node);
    int file = open_again(node);
    if (file < 0) return;
    remove_unused(file, node->path);
    close(file);
}

void sl_node_forget(struct sl_node *node)
{
    atomic_store(&node->held, NULL);
    close_pages(node);
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

/* A store of a process and its later loads are in this order for all processes, as claims require. */
static bool write_words(int file, uint32_t slot, size_t word, const void *words, size_t count)
{
    off_t at = slot_at(slot) + (off_t)(word * sizeof(uint64_t));
    bool written = sl_output_put_at(file, words, count * sizeof(uint64_t), at);
    atomic_thread_fence(memory_order_seq_cst);
    return written;
}

void sl_node_say(struct sl_node *node, const struct sl_node_entry *entry)
{
    write_words(pages_of(node), node->slot, 0, entry, SL_NODE_WORDS);
}

void sl_node_set(struct sl_node *node, size_t word, const uint64_t *values, size_t count)
{
    write_words(pages_of(node), node->slot, word, values, count);
}

/* Calls `each` for each slot in use, as far as the file reaches. */
static void read_slots(int file,
                       void (*each)(uint32_t slot, const struct sl_node_entry *entry, void *context),
                       void *context)
{
    struct sl_node_slot slots[AT_ONCE];
    struct sl_node_entry entry;
    for (uint32_t first = 0; file >= 0 && first < SL_NODE_SLOTS; first += AT_ONCE) {
        memset(slots, 0, sizeof(slots));
        if (pread(file, slots, sizeof(slots), slot_at(first)) <= 0) return;
        for (uint32_t s = 0; s < AT_ONCE && first + s < SL_NODE_SLOTS; s++) {
            memcpy(&entry, slots[s].words, sizeof(entry));
            if (entry.process) each(first + s, &entry, context);
        }
    }
}

struct search {
    struct sl_node_entry *out;
    uint32_t count, but; /* slots found, except this one */
    size_t word;
    uint64_t value;
    int held_in; /* -1, or the file in which a slot's lock must be held */
};

static void collect(uint32_t slot, const struct sl_node_entry *entry, void *context)
{
    struct search *search = context;
    if (slot == search->but || (search->held_in >= 0 && !is_held(search->held_in, 1 + slot))) return;
    search->out[search->count++] = *entry;
}

static void count_equal(uint32_t slot, const struct sl_node_entry *entry, void *context)
{
    struct search *search = context;
    uint64_t words[SL_NODE_WORDS];
    memcpy(words, entry, sizeof(words));
    search->count += slot != search->but && words[search->word] == search->value;
}

/* Holds the slot's lock, so that no other process takes the slot meanwhile. */
static void bury_one(uint32_t slot, const struct sl_node_entry *entry, void *context)
{
    struct search *search = context;
    (void)entry;
    if (slot == search->but || !lock(search->held_in, 1 + slot, 1, F_WRLCK)) return;
    search->count += write_words(search->held_in, slot, 0, &(struct sl_node_entry){0}, SL_NODE_WORDS);
    lock(search->held_in, 1 + slot, 1, F_UNLCK);
}

uint32_t sl_node_others(struct sl_node *node, struct sl_node_entry out[SL_NODE_SLOTS])
{
    struct search search = {.out = out, .but = node->slot, .held_in = -1};
    read_slots(pages_of(node), collect, &search);
    return search.count;
}

uint32_t sl_node_count(struct sl_node *node, size_t word, uint64_t value)
{
    struct search search = {.but = node->slot, .word = word, .value = value};
    read_slots(pages_of(node), count_equal, &search);
    return search.count;
}

uint32_t sl_node_bury(struct sl_node *node)
{
    struct search search = {.but = node->slot, .held_in = open_again(node)};
    read_slots(search.held_in, bury_one, &search);
    if (search.held_in >= 0) close(search.held_in);
    return search.count;
}

enum sl_status sl_node_look(const char *path, struct sl_node_entry out[SL_NODE_SLOTS], uint32_t *count)
{
    struct stat status;
    int file = open_file(path, false);
    if (file < 0) return errno == ELOOP || errno == EACCES ? SL_ERR_INVALID : SL_ERR_IO;
    bool good = is_ours(file, &status);
    struct search search = {.out = out, .but = SL_NODE_SLOTS, .held_in = file};
    if (good) read_slots(file, collect, &search);
    close(file);
    if (!good) return SL_ERR_INVALID;
    *count = search.count;
    return SL_OK;
}
