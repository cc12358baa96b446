#include "segment.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC UINT64_C(0x6c63636e61647563)
#define VERSION 1
#define PREFIX "softcuda-nccl-"
#define FOLDER "/dev/shm"
/* How often the name may appear or disappear while the segment is being opened. */
#define ATTEMPTS 1000

_Static_assert(sizeof(struct sc_segment_header) == 4096, "the rows follow in whole pages");

static size_t bytes_for(unsigned ranks)
{
    return sc_segment_slot_offset(ranks, ranks, 0);
}

/* Whether the file still has a name. */
static bool is_linked(int file)
{
    struct stat status;
    return fstat(file, &status) == 0 && status.st_nlink > 0;
}

static bool lock(int file, int how)
{
    int result;
    do result = flock(file, how);
    while (result != 0 && errno == EINTR);
    return result == 0;
}

static enum sc_segment_status map(struct sc_segment *segment)
{
    void *base =
        mmap(NULL, segment->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, segment->file, 0);
    if (base == MAP_FAILED) return SC_SEGMENT_NO_ROOM;
    segment->base = base;
    return SC_SEGMENT_OK;
}

/* Initialises the file. pre: it has no name yet. */
static enum sc_segment_status fill(struct sc_segment *segment, const struct sc_key *key)
{
    off_t head = (off_t)sc_segment_slot_offset(segment->ranks, 0, 0);
    if (ftruncate(segment->file, (off_t)segment->bytes) != 0) return SC_SEGMENT_NO_ROOM;
    if (posix_fallocate(segment->file, 0, head) != 0) return SC_SEGMENT_NO_ROOM;
    enum sc_segment_status status = map(segment);
    if (status) return status;
    struct sc_segment_header *header = sc_segment_header(segment);
    header->version = VERSION;
    header->ranks = segment->ranks;
    header->bytes = segment->bytes;
    memcpy(header->key, &key->words[2], sizeof header->key);
    header->magic = MAGIC;
    return SC_SEGMENT_OK;
}

/* Creates a segment. The file gets its name only when it is complete and locked, so no process sees an
 * incomplete one. *again: another file has the name. */
static enum sc_segment_status create(struct sc_segment *segment, const struct sc_key *key, bool *again)
{
    char self[32], path[sizeof FOLDER + sizeof segment->name];
    segment->file = open(FOLDER, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
    if (segment->file < 0 || !lock(segment->file, LOCK_SH)) return SC_SEGMENT_SYSTEM;
    enum sc_segment_status status = fill(segment, key);
    if (status) return status;
    snprintf(self, sizeof self, "/proc/self/fd/%d", segment->file);
    snprintf(path, sizeof path, FOLDER "%s", segment->name);
    if (linkat(AT_FDCWD, self, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0) return SC_SEGMENT_OK;
    *again = errno == EEXIST;
    return SC_SEGMENT_SYSTEM;
}

static enum sc_segment_status check(struct sc_segment *segment, const struct sc_key *key)
{
    struct stat status;
    if (fstat(segment->file, &status) != 0) return SC_SEGMENT_SYSTEM;
    if (!S_ISREG(status.st_mode) || status.st_uid != geteuid() || (status.st_mode & 077))
        return SC_SEGMENT_MISMATCH;
    if ((uint64_t)status.st_size != segment->bytes) return SC_SEGMENT_MISMATCH;
    struct sc_segment_header header;
    if (pread(segment->file, &header, sizeof header, 0) != (ssize_t)sizeof header) return SC_SEGMENT_SYSTEM;
    if (header.magic != MAGIC || header.version != VERSION || header.ranks != segment->ranks ||
        header.bytes != segment->bytes || memcmp(header.key, &key->words[2], sizeof header.key) != 0)
        return SC_SEGMENT_MISMATCH;
    return map(segment);
}

/* One attempt to open the segment; *again: the name appeared or disappeared meanwhile. */
static enum sc_segment_status try_open(struct sc_segment *segment, const struct sc_key *key, bool *again)
{
    *again = false;
    segment->file = shm_open(segment->name, O_RDWR | O_CLOEXEC, 0600);
    if (segment->file < 0) return errno == ENOENT ? create(segment, key, again) : SC_SEGMENT_SYSTEM;
    /* No process removes the name of a locked file, but one may have done so before the lock was taken. */
    if (!lock(segment->file, LOCK_SH)) return SC_SEGMENT_SYSTEM;
    *again = !is_linked(segment->file);
    return *again ? SC_SEGMENT_SYSTEM : check(segment, key);
}

enum sc_segment_status sc_segment_open(const struct sc_key *key, unsigned ranks, struct sc_segment *out)
{
    *out = (struct sc_segment){.file = -1, .ranks = ranks, .bytes = bytes_for(ranks)};
    snprintf(out->name, sizeof out->name, "/" PREFIX "%016llx%016llx", (unsigned long long)key->words[0],
             (unsigned long long)key->words[1]);
    for (int i = 0; i < ATTEMPTS; i++) {
        bool again;
        enum sc_segment_status status = try_open(out, key, &again);
        if (!status) return SC_SEGMENT_OK;
        int error = errno;
        sc_segment_close(out);
        errno = error;
        if (!again) return status;
    }
    return SC_SEGMENT_SYSTEM;
}

void sc_segment_unlink(const struct sc_segment *segment)
{
    shm_unlink(segment->name);
}

void sc_segment_close(struct sc_segment *segment)
{
    if (segment->base) munmap(segment->base, segment->bytes);
    if (segment->file >= 0) close(segment->file);
    segment->base = NULL;
    segment->file = -1;
}

bool sc_segment_reserve(const struct sc_segment *segment, unsigned from, unsigned to)
{
    int error;
    do
        error = posix_fallocate(segment->file, (off_t)sc_segment_slot_offset(segment->ranks, from, to),
                                SC_SLOTS * SC_SLOT_BYTES);
    while (error == EINTR);
    return error == 0;
}

/* Removes a name if no process holds a lock on its file. A process that opens the file at the same time
 * notices that the name is gone, and starts again. */
static void reclaim(const char *name)
{
    char path[80];
    struct stat status;
    if (snprintf(path, sizeof path, "/%s", name) >= (int)sizeof path) return;
    int file = shm_open(path, O_RDWR | O_CLOEXEC, 0600);
    if (file < 0) return;
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
        status.st_nlink > 0 && flock(file, LOCK_EX | LOCK_NB) == 0 && is_linked(file))
        shm_unlink(path);
    close(file);
}

void sc_segment_reclaim(void)
{
    DIR *folder = opendir(FOLDER);
    if (!folder) return;
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder))
        if (!strncmp(entry->d_name, PREFIX, strlen(PREFIX))) reclaim(entry->d_name);
    closedir(folder);
}

/* The final mix of 64-bit MurmurHash3 (Appleby). */
static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 33)) * UINT64_C(0xff51afd7ed558ccd);
    x = (x ^ (x >> 33)) * UINT64_C(0xc4ceb9fe1a85ec53);
    return x ^ (x >> 33);
}

struct sc_key sc_key_derive(const struct sc_key *key, uint64_t number)
{
    struct sc_key out;
    uint64_t state = mix(number + UINT64_C(0x9e3779b97f4a7c15));
    for (unsigned i = 0; i < 8; i++) {
        state = mix(state + key->words[i % 4] + i);
        if (i >= 4) out.words[i - 4] = state;
    }
    return out;
}
