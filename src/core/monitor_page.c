#include "core/monitor_page.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/options_path.h"
#include "base/quiet_signals.h"

#define MAGIC "SLMONIT\n"
#define PREFIX "sluice-monitor-"
#define ATTEMPTS 8 /* a new file may be taken for a dead process's before it is locked */
#define READS 1000 /* of an entry that is being written: that takes less than a microsecond */

struct sl_monitor_page {
    struct sl_monitor_head head;
    struct sl_monitor_entry entries[SL_MONITOR_DEVICES];
};
#define PAGE_BYTES sizeof(struct sl_monitor_page)
#define WORDS (sizeof(struct sl_monitor_figures) / sizeof(uint64_t))
_Static_assert(sizeof(struct sl_monitor_figures) % sizeof(uint64_t) == 0, "it is copied word by word");

const char *const sl_kind_names[SL_KINDS] = {
    [SL_KIND_LASTING] = "lasting", [SL_KIND_IDLE] = "idle",       [SL_KIND_TEMPORARY] = "temporary",
    [SL_KIND_PINNED] = "pinned",   [SL_KIND_UNKNOWN] = "unknown",
};

static char opened[SL_MONITOR_PATH]; /* path of the file while it exists; else "" */

/* --- locks: on the first byte, as long as the file is mapped */

static bool lock(int file)
{
    struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
    return fcntl(file, F_OFD_SETLK, &range) == 0;
}

static bool is_locked(int file)
{
    struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
    return fcntl(file, F_OFD_GETLK, &range) == 0 && range.l_type != F_UNLCK;
}

static bool is_private(int file)
{
    struct stat status;
    return fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
           (status.st_mode & 07777) == 0600 && status.st_nlink == 1;
}

/* --- the owner */

static void remove_if_dead(const char *path, void *unused)
{
    (void)unused;
    int file = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (file < 0) return;
    if (is_private(file) && lock(file)) unlink(path);
    close(file);
}

static bool fill(int file)
{
    struct sl_quiet_signals quiet;
    sl_quiet_signals_begin(&quiet);
    int error = posix_fallocate(file, 0, PAGE_BYTES); /* else a store without room would kill the program */
    sl_quiet_signals_end(&quiet, error);
    if (error) errno = error;
    return !error;
}

/* A new, locked file of the page's size; -1 with errno. */
static int create(const char *path)
{
    for (int i = 0; i < ATTEMPTS; i++) {
        int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (file < 0 && errno == EEXIST) {
            remove_if_dead(path, NULL);
            continue;
        }
        if (file < 0) return -1;
        bool locked = fchmod(file, 0600) == 0 && lock(file), ours = locked && is_private(file);
        if (ours && fill(file)) return file;
        int error = errno;
        if (ours) unlink(path);
        close(file);
        errno = error;
        if (ours) return -1;
    }
    return -1;
}

static void fill_head(struct sl_monitor_head *head)
{
    const char *rank = sl_options_rank();
    head->version = SL_MONITOR_VERSION;
    head->head_bytes = sizeof(*head);
    head->entry_bytes = sizeof(struct sl_monitor_entry);
    head->entries = SL_MONITOR_DEVICES;
    head->process = (uint64_t)getpid();
    head->opened_ticks = sl_clock_ticks();
    head->opened_ns = sl_clock_ns(CLOCK_MONOTONIC);
    snprintf(head->program, sizeof(head->program), "%.31s", program_invocation_short_name);
    snprintf(head->rank, sizeof(head->rank), "%.15s", rank ? rank : "");
    atomic_thread_fence(memory_order_release);
    memcpy(head->magic, MAGIC, sizeof(head->magic));
}

struct sl_monitor_page *sl_monitor_page_open(const char *folder)
{
    char path[SL_MONITOR_PATH];
    int length = snprintf(path, sizeof(path), "%s/" PREFIX "%lu-%ld", folder, (unsigned long)geteuid(),
                          (long)getpid());
    if (length < 0 || (size_t)length >= sizeof(path)) return NULL;
    sl_monitor_list(folder, remove_if_dead, NULL);
    int file = create(path);
    void *mapped =
        file < 0 ? MAP_FAILED : mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    /* Without it a child would keep the lock of a dead parent. */
    if (mapped != MAP_FAILED && madvise(mapped, PAGE_BYTES, MADV_DONTFORK) != 0) {
        munmap(mapped, PAGE_BYTES);
        mapped = MAP_FAILED;
    }
    if (mapped == MAP_FAILED) {
        sl_log(SL_LOG_INFO, "sluice top cannot show this run: cannot create %s: %s", path, strerror(errno));
        if (file >= 0) {
            unlink(path);
            close(file);
        }
        return NULL;
    }
    close(file); /* the mapping keeps the lock */
    fill_head(mapped);
    strcpy(opened, path);
    return mapped;
}

void sl_monitor_page_close(struct sl_monitor_page *page)
{
    if (page && opened[0]) unlink(opened);
    opened[0] = 0;
}

void sl_monitor_page_leave(void)
{
    opened[0] = 0;
}

struct sl_monitor_entry *sl_monitor_page_entry(struct sl_monitor_page *page, uint32_t device)
{
    return &page->entries[device];
}

const _Atomic uint64_t *sl_monitor_page_asked(const struct sl_monitor_page *page)
{
    return &page->head.asked;
}

void sl_monitor_page_write(struct sl_monitor_entry *entry, const struct sl_monitor_figures *figures)
{
    const uint64_t *from = (const void *)figures;
    uint64_t *to = (void *)&entry->figures;
    uint64_t sequence = atomic_load_explicit(&entry->sequence, memory_order_relaxed);
    atomic_store_explicit(&entry->sequence, sequence + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    for (size_t i = 0; i < WORDS; i++) __atomic_store_n(&to[i], from[i], __ATOMIC_RELAXED);
    atomic_store_explicit(&entry->sequence, sequence + 2, memory_order_release);
}

/* --- readers */

static bool read_at(int file, void *to, size_t bytes, size_t at)
{
    return pread(file, to, bytes, (off_t)at) == (ssize_t)bytes;
}

#define END(text) ((text)[sizeof(text) - 1] = 0)

/* False: the file ends early. *written: the entry was in use, and is consistent. */
static bool read_entry(int file, size_t at, struct sl_monitor_figures *out, bool *written)
{
    uint64_t before, after;
    *written = false;
    for (int i = 0; i < READS; i++) {
        if (!read_at(file, &before, sizeof(before), at)) return false;
        if (!before) return true;
        if (before % 2) continue;
        if (!read_at(file, out, sizeof(*out), at + offsetof(struct sl_monitor_entry, figures)) ||
            !read_at(file, &after, sizeof(after), at))
            return false;
        if (before != after) continue;
        END(out->policy);
        END(out->daemon);
        END(out->expected);
        END(out->came);
        *written = true;
        return true;
    }
    return true;
}

/* Converts ticks to nanoseconds by the two moments at which both clocks are known: opening and now. */
static void convert(const struct sl_monitor_head *head, struct sl_monitor_figures *figures)
{
    uint64_t ticks = sl_clock_ticks() - head->opened_ticks,
             ns = sl_clock_ns(CLOCK_MONOTONIC) - head->opened_ns;
    double ns_per_tick = ticks ? (double)ns / (double)ticks : 0;
    uint64_t *moments[] = {&figures->updated, &figures->step_began, &figures->plan_taken,
                           &figures->mispredicted, &figures->scanned};
    for (size_t i = 0; i < sizeof(moments) / sizeof(*moments); i++)
        if (*moments[i])
            *moments[i] =
                head->opened_ns + (uint64_t)((double)(*moments[i] - head->opened_ticks) * ns_per_tick);
    figures->step_time = (uint64_t)((double)figures->step_time * ns_per_tick);
    figures->scan_time = (uint64_t)((double)figures->scan_time * ns_per_tick);
}

static enum sl_status read_page(int file, struct sl_monitor_record *out)
{
    struct sl_monitor_head head;
    if (!read_at(file, &head, sizeof(head), 0) || memcmp(head.magic, MAGIC, sizeof(head.magic)) != 0)
        return SL_ERR_FORMAT;
    if (head.version != SL_MONITOR_VERSION || head.head_bytes != sizeof(head) ||
        head.entry_bytes != sizeof(struct sl_monitor_entry) || head.entries != SL_MONITOR_DEVICES)
        return SL_ERR_VERSION;
    out->process = head.process;
    memcpy(out->program, head.program, sizeof(out->program));
    memcpy(out->rank, head.rank, sizeof(out->rank));
    END(out->program);
    END(out->rank);
    out->devices = 0;
    for (uint32_t d = 0; d < SL_MONITOR_DEVICES; d++) {
        bool written;
        size_t at = offsetof(struct sl_monitor_page, entries) + d * sizeof(struct sl_monitor_entry);
        if (!read_entry(file, at, &out->figures[out->devices], &written)) return SL_ERR_FORMAT;
        if (!written) continue;
        convert(&head, &out->figures[out->devices]);
        out->numbers[out->devices++] = d;
    }
    return SL_OK;
}

enum sl_status sl_monitor_read(const char *path, bool ask, struct sl_monitor_record *out)
{
    int flags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
    int file = open(path, (ask ? O_RDWR : O_RDONLY) | flags);
    if (file < 0) return SL_ERR_IO;
    enum sl_status status = read_page(file, out);
    out->running = is_locked(file);
    uint64_t ticks = sl_clock_ticks();
    if (status == SL_OK && ask && out->running &&
        pwrite(file, &ticks, sizeof(ticks), offsetof(struct sl_monitor_head, asked)) < 0)
        status = SL_ERR_IO;
    close(file);
    return status;
}

/* Whether the name is PREFIX USER-PROCESS, of this user; root sees everybody's. */
static bool is_name(const char *name)
{
    char *end;
    if (strncmp(name, PREFIX, sizeof(PREFIX) - 1) != 0) return false;
    unsigned long user = strtoul(name + sizeof(PREFIX) - 1, &end, 10);
    return *end == '-' && (user == geteuid() || geteuid() == 0);
}

void sl_monitor_list(const char *folder, void (*each)(const char *path, void *context), void *context)
{
    char path[SL_MONITOR_PATH];
    const struct dirent *found;
    DIR *all = opendir(folder);
    if (!all) return;
    while ((found = readdir(all)) != NULL) {
        int length = snprintf(path, sizeof(path), "%s/%s", folder, found->d_name);
        if (is_name(found->d_name) && length > 0 && (size_t)length < sizeof(path)) each(path, context);
    }
    closedir(all);
}
