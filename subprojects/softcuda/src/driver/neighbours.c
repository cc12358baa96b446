#include "neighbours.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "devices.h"
#include "log.h"
#include "options.h"

#define MAGIC UINT64_C(0x31736e6465766373)
#define SLOTS 127
#define ATTEMPTS 100000
/* Bytes of the file that are locked; slot s has byte 1 + s. */
#define OPENING 0
#define ALL 0, 0

struct slot {
    _Alignas(64) _Atomic uint64_t used, bytes[SC_DEVICES], resident[SC_DEVICES];
};
struct file {
    _Atomic uint64_t magic; /* written last */
    struct slot slots[SLOTS];
};

static struct {
    struct file *file; /* NULL: no neighbours */
    unsigned slot;
    dev_t device;
    ino_t inode;
} here;

static bool lock(int file, off_t first, off_t bytes, short type)
{
    struct flock range = {.l_type = type, .l_whence = SEEK_SET, .l_start = first, .l_len = bytes};
    return fcntl(file, F_OFD_SETLK, &range) == 0;
}

static int open_file(int more)
{
    return open(sc_options()->shared, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | more, 0600);
}

static bool is_private(int file, struct stat *status)
{
    if (fstat(file, status) == 0 && S_ISREG(status->st_mode) && status->st_uid == geteuid() &&
        !(status->st_mode & 077))
        return true;
    errno = EPERM;
    return false;
}

/* Whether the file's contents are valid. A file that no other process uses is initialised again. pre: no
 * other process is opening it. */
static bool make_whole(int file, const struct stat *status)
{
    uint64_t magic = 0;
    if (status->st_size == sizeof(struct file) && pread(file, &magic, sizeof magic, 0) == sizeof magic &&
        magic == MAGIC)
        return true;
    if (status->st_size && !lock(file, ALL, F_WRLCK)) {
        errno = EINVAL;
        return false;
    }
    magic = MAGIC;
    int error = ftruncate(file, 0) ? errno : posix_fallocate(file, 0, sizeof(struct file));
    if (error) errno = error;
    bool good = !error && pwrite(file, &magic, sizeof magic, 0) == sizeof magic;
    return lock(file, 1, 0, F_UNLCK) && good;
}

/* Opens the file and locks its byte OPENING. *again: the file was removed meanwhile. */
static int enter(bool *again)
{
    struct stat status;
    *again = false;
    int file = open_file(O_CREAT);
    if (file < 0) return -1;
    bool locked = false;
    for (int i = 0; is_private(file, &status) && !locked && i < ATTEMPTS; i++) {
        locked = lock(file, OPENING, 1, F_WRLCK);
        if (!locked) sched_yield();
    }
    *again = locked && fstat(file, &status) == 0 && !status.st_nlink;
    if (locked && !*again && make_whole(file, &status)) return file;
    int error = errno;
    close(file);
    errno = error;
    return -1;
}

static void clear(struct slot *slot)
{
    for (int i = 0; i < SC_DEVICES; i++) {
        atomic_store(&slot->bytes[i], 0);
        atomic_store(&slot->resident[i], 0);
    }
    atomic_store(&slot->used, 0);
}

static bool take_slot(int file)
{
    for (here.slot = 0; here.slot < SLOTS; here.slot++) {
        if (!lock(file, 1 + here.slot, 1, F_WRLCK)) continue;
        clear(&here.file->slots[here.slot]);
        atomic_store(&here.file->slots[here.slot].used, 1);
        return true;
    }
    errno = ENOSPC;
    return false;
}

/* The mapping keeps the slot's lock; a forked child does not inherit it. */
static bool attach(int file)
{
    struct stat status;
    void *mapped = mmap(NULL, sizeof(struct file), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED) return false;
    here.file = mapped;
    if (madvise(mapped, sizeof(struct file), MADV_DONTFORK) == 0 && fstat(file, &status) == 0 &&
        take_slot(file)) {
        here.device = status.st_dev;
        here.inode = status.st_ino;
        return true;
    }
    munmap(mapped, sizeof(struct file));
    here.file = NULL;
    return false;
}

void sc_neighbours_open(void)
{
    bool again = true, good = false;
    if (!sc_options()->shared[0]) return;
    int file = -1;
    for (int i = 0; i < ATTEMPTS && again; i++) file = enter(&again);
    if (file >= 0) {
        good = attach(file);
        lock(file, OPENING, 1, F_UNLCK);
    }
    if (!good)
        sc_log("SOFTCUDA_SHARED=%s: %s; what other processes allocate is not seen", sc_options()->shared,
               strerror(errno));
    if (file >= 0) close(file);
}

/* Opens the mapped file again by its name; -1: it was removed. */
static int open_again(void)
{
    struct stat status;
    int file = open_file(0);
    if (file < 0 ||
        (fstat(file, &status) == 0 && status.st_dev == here.device && status.st_ino == here.inode))
        return file;
    close(file);
    return -1;
}

void sc_neighbours_close(void)
{
    struct stat status;
    if (!here.file) return;
    clear(&here.file->slots[here.slot]);
    munmap(here.file, sizeof(struct file));
    here.file = NULL;
    int file = open_again();
    if (file < 0) return;
    if (lock(file, ALL, F_WRLCK) && fstat(file, &status) == 0 && status.st_nlink)
        unlink(sc_options()->shared);
    close(file);
}

void sc_neighbours_say(int physical, uint64_t bytes)
{
    if (here.file) atomic_store(&here.file->slots[here.slot].bytes[physical], bytes);
}

void sc_neighbours_say_resident(int physical, uint64_t bytes)
{
    if (here.file) atomic_store(&here.file->slots[here.slot].resident[physical], bytes);
}

/* Saturates, because the file's contents are not trusted. */
static uint64_t add(uint64_t sum, uint64_t bytes)
{
    return sum + bytes < sum ? UINT64_MAX : sum + bytes;
}

uint64_t sc_neighbours_bytes(int physical)
{
    uint64_t sum = 0;
    for (unsigned s = 0; here.file && s < SLOTS; s++)
        if (s != here.slot) sum = add(sum, atomic_load(&here.file->slots[s].bytes[physical]));
    return sum;
}

uint64_t sc_neighbours_resident(int physical)
{
    uint64_t sum = 0;
    for (unsigned s = 0; here.file && s < SLOTS; s++)
        if (s != here.slot) sum = add(sum, atomic_load(&here.file->slots[s].resident[physical]));
    return sum;
}

void sc_neighbours_bury(void)
{
    int file = here.file ? open_again() : -1;
    if (file < 0) return;
    for (unsigned s = 0; s < SLOTS; s++) {
        struct slot *slot = &here.file->slots[s];
        if (s == here.slot || !atomic_load(&slot->used) || !lock(file, 1 + s, 1, F_WRLCK)) continue;
        clear(slot);
        lock(file, 1 + s, 1, F_UNLCK);
    }
    close(file);
}
