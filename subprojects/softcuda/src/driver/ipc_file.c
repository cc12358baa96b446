#include "ipc_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC UINT64_C(0x316370696475736f)

struct head {
    uint64_t magic, key;
};

static struct sc_ipc_file own_file = {.file = -1};

static void *map_head(int file)
{
    void *head = mmap(NULL, SC_IPC_HEAD_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    return head == MAP_FAILED ? NULL : head;
}

/* Creates a sealed file, so that no process can shrink it under its mappings. */
static bool make(struct sc_ipc_file *out)
{
    struct head head = {.magic = MAGIC};
    if (getrandom(&head.key, sizeof head.key, 0) != sizeof head.key) return false;
    out->file = memfd_create("softcuda-ipc", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    bool whole = out->file >= 0 && !ftruncate(out->file, SC_IPC_HEAD_BYTES) &&
                 !fcntl(out->file, F_ADD_SEALS, F_SEAL_SHRINK) && (out->head = map_head(out->file)) != NULL;
    if (!whole) return false;
    *(struct head *)out->head = head;
    out->bytes = SC_IPC_HEAD_BYTES;
    out->name = (struct sc_ipc_name){.magic = MAGIC, .key = head.key, .process = getpid(), .file = out->file};
    return true;
}

struct sc_ipc_file *sc_ipc_file_own(void)
{
    if (own_file.head) return &own_file;
    if (make(&own_file)) return &own_file;
    sc_ipc_file_close(&own_file);
    return NULL;
}

bool sc_ipc_file_open(const struct sc_ipc_name *name, struct sc_ipc_file *out)
{
    char path[64];
    struct stat status;
    *out = (struct sc_ipc_file){.name = *name, .file = -1};
    if (name->magic != MAGIC || name->process <= 0 || name->file < 0) return false;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", name->process, name->file);
    out->file = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    int seals = out->file < 0 ? -1 : fcntl(out->file, F_GET_SEALS);
    bool sealed = seals >= 0 && seals & F_SEAL_SHRINK && !fstat(out->file, &status) &&
                  status.st_size >= (off_t)SC_IPC_HEAD_BYTES;
    if (sealed) out->head = map_head(out->file);
    const struct head *head = out->head;
    if (!head || head->magic != MAGIC || head->key != name->key) {
        sc_ipc_file_close(out);
        return false;
    }
    out->bytes = (uint64_t)status.st_size;
    return true;
}

void sc_ipc_file_close(struct sc_ipc_file *other)
{
    if (other->head) munmap(other->head, SC_IPC_HEAD_BYTES);
    if (other->file >= 0) close(other->file);
    other->head = NULL;
    other->file = -1;
}

static bool grow(struct sc_ipc_file *own, uint64_t bytes)
{
    if (bytes <= own->bytes) return true;
    if (ftruncate(own->file, (off_t)bytes)) return false;
    own->bytes = bytes;
    return true;
}

/* Edge pages that a neighbour has already shared are written to themselves. */
static bool write_all(int file, uint64_t from, uint64_t bytes, uint64_t offset)
{
    for (uint64_t done = 0; done < bytes;) {
        ssize_t written = pwrite(file, (const char *)from + done, bytes - done, (off_t)(offset + done));
        if (written <= 0) return false;
        done += (uint64_t)written;
    }
    return true;
}

bool sc_ipc_file_share(struct sc_ipc_file *own, uint64_t base, uint64_t begin, uint64_t end)
{
    uint64_t bytes = end - begin, offset = begin - base + SC_IPC_HEAD_BYTES;
    return grow(own, offset + bytes) && write_all(own->file, begin, bytes, offset) &&
           mmap((void *)begin, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, own->file,
                (off_t)offset) != MAP_FAILED;
}

void sc_ipc_file_unshare(struct sc_ipc_file *own, uint64_t base, uint64_t begin, uint64_t end)
{
    uint64_t bytes = end - begin, offset = begin - base + SC_IPC_HEAD_BYTES;
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    /* Emptied first: if mmap fails, the pages stay mapped to the file and are empty all the same. */
    fallocate(own->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)bytes);
    (void)!mmap((void *)begin, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
}

uint64_t sc_ipc_file_map(const struct sc_ipc_file *other, uint64_t offset, uint64_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, other->file, (off_t)offset);
    return at == MAP_FAILED ? 0 : (uint64_t)at;
}
