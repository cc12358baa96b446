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

#include "base/log.h"
#include "base/options.h"
#include "base/output.h"
#include "base/signals.h"

#define PREFIX "sluice-monitor-"
#define PAGE_NAME "sluice-monitor"
#define TARGET_BYTES 64

#define PAGE_BYTES sizeof(struct sl_monitor_page)
_Static_assert(SL_MONITOR_VERSION == 6 && SL_FIGURES_BYTES == 1184, "other figures are another version");

/* The page of this process. What it holds is never read back. */
static struct {
    struct sl_monitor_page *page; /* NULL: there is none */
    int file;
    uint64_t sequences[SL_MONITOR_DEVICES];
    char path[SL_MONITOR_PATH]; /* of the link while it exists; else "" */
} own = {.file = -1};

/* --- links to pages: the name leads to a descriptor of a process */

/* Processes of other namespaces have other numbers here, or none. 0: not known. */
static unsigned long process_namespace(void)
{
    struct stat status;
    return stat("/proc/self/ns/pid", &status) == 0 ? (unsigned long)status.st_ino : 0;
}

bool sl_monitor_path(const char *folder, pid_t process, char path[SL_MONITOR_PATH])
{
    int length = snprintf(path, SL_MONITOR_PATH, "%s/" PREFIX "%lu-%ld-%lu", folder, (unsigned long)geteuid(),
                          (long)process, process_namespace());
    return length > 0 && length < SL_MONITOR_PATH;
}

/* Reads the link at `path`: the page's descriptor as the kernel names it, and the user to whom the link
 * belongs. False with errno. */
static bool read_link(const char *path, char target[TARGET_BYTES], uid_t *user)
{
    struct stat status;
    unsigned long process, file;
    int end = 0;
    ssize_t length = lstat(path, &status) == 0 ? readlink(path, target, TARGET_BYTES - 1) : -1;
    if (length < 0) return false;
    target[length] = 0;
    *user = status.st_uid;
    if (sscanf(target, "/proc/%lu/fd/%lu%n", &process, &file, &end) == 2 && end == length) return true;
    errno = EINVAL;
    return false;
}

enum presence { PAGE, NO_PAGE, UNKNOWN };

/* Whether the process still has a page there: it may have ended, or have another file under that number.
 * Nobody may say of a process in another user namespace. Opens nothing, because opening a device may have
 * consequences. */
static enum presence look(const char *target)
{
    char name[sizeof("/memfd:" PAGE_NAME)] = "";
    if (readlink(target, name, sizeof(name)) < 0) return errno == ENOENT ? NO_PAGE : UNKNOWN;
    return memcmp(name, "/memfd:" PAGE_NAME, sizeof(name) - 1) ? NO_PAGE : PAGE;
}

int sl_monitor_open(const char *path, uint64_t *user_out)
{
    char target[TARGET_BYTES];
    struct stat status;
    uid_t user;
    if (!read_link(path, target, &user)) return -1;
    if (look(target) != PAGE) {
        errno = ENOENT;
        return -1;
    }
    int file = open(target, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0) return -1;
    bool visible = user == geteuid() || geteuid() == 0;
    if (visible && fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == user) {
        *user_out = user;
        return file;
    }
    close(file);
    errno = EPERM;
    return -1;
}

/* --- the owner */

static void remove_if_dead(const char *path, void *unused)
{
    char target[TARGET_BYTES];
    uid_t user;
    (void)unused;
    if (read_link(path, target, &user) && user == geteuid() && look(target) == NO_PAGE) unlink(path);
}

/* Gives the file its size and memory, and forbids everybody to change them. Where the kernel can (5.1),
 * nobody else may write to it either. */
static bool seal(int file)
{
    int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    struct sl_quiet_signals quiet;
    sl_quiet_signals_begin(&quiet);
    int error = posix_fallocate(file, 0, PAGE_BYTES); /* else a store without room would kill the program */
    sl_quiet_signals_end(&quiet, error);
    if (error) errno = error;
    if (error || fchmod(file, 0600) != 0) return false;
    own.page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (own.page == MAP_FAILED) own.page = NULL;
    /* A child must not write to its parent's page. */
    return own.page && madvise(own.page, PAGE_BYTES, MADV_DONTFORK) == 0 &&
           (fcntl(file, F_ADD_SEALS, seals | F_SEAL_FUTURE_WRITE) == 0 ||
            fcntl(file, F_ADD_SEALS, seals) == 0);
}

/* Links `path` to the page. False with errno. */
static bool announce(const char *path)
{
    char target[TARGET_BYTES];
    snprintf(target, sizeof(target), "/proc/%ld/fd/%d", (long)getpid(), own.file);
    if (symlink(target, path) == 0) return true;
    if (errno != EEXIST) return false;
    remove_if_dead(path, NULL); /* the image before an exec had the same number */
    return symlink(target, path) == 0;
}

static void fill_head(struct sl_monitor_head *head)
{
    const char *rank = sl_options_rank();
    head->version = SL_MONITOR_VERSION;
    head->head_bytes = sizeof(*head);
    head->entry_bytes = sizeof(struct sl_monitor_entry);
    head->entries = SL_MONITOR_DEVICES;
    head->process = (uint64_t)getpid();
    snprintf(head->program, sizeof(head->program), "%.31s", program_invocation_short_name);
    snprintf(head->rank, sizeof(head->rank), "%.15s", rank ? rank : "");
    atomic_thread_fence(memory_order_release);
    memcpy(head->magic, SL_MONITOR_MAGIC, sizeof(head->magic));
}

void sl_monitor_sweep(const char *folder)
{
    sl_monitor_list(folder, remove_if_dead, NULL);
}

bool sl_monitor_page_open(const char *folder)
{
    char path[SL_MONITOR_PATH];
    if (!sl_monitor_path(folder, getpid(), path)) return false;
    sl_monitor_sweep(folder);
    memset(own.sequences, 0, sizeof(own.sequences));
    own.file = sl_output_above_standard(memfd_create(PAGE_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING));
    bool good = own.file >= 0 && seal(own.file);
    if (good) fill_head(&own.page->head);
    if (!good || !announce(path)) {
        sl_log(SL_LOG_INFO, "sluice top cannot show this run: cannot create %s: %s", path, strerror(errno));
        if (own.page) munmap(own.page, PAGE_BYTES);
        if (own.file >= 0) close(own.file);
        own.page = NULL;
        own.file = -1;
        return false;
    }
    strcpy(own.path, path);
    return true;
}

void sl_monitor_page_close(void)
{
    if (own.path[0]) unlink(own.path);
    own.path[0] = 0;
}

void sl_monitor_page_leave(void)
{
    char target[TARGET_BYTES];
    snprintf(target, sizeof(target), "/proc/self/fd/%d", own.file);
    if (own.file >= 0 && look(target) == PAGE) close(own.file); /* else another file has the number */
    own.file = -1;
    own.page = NULL;
    own.path[0] = 0;
}

void sl_monitor_page_write(uint32_t device, const struct sl_stats *stats)
{
    if (!own.page) return;
    struct sl_monitor_entry *entry = &own.page->entries[device];
    uint64_t *sequence = &own.sequences[device];
    atomic_store_explicit(&entry->sequence, *sequence + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    sl_words_copy(entry->figures, sl_figures_of(stats), SL_FIGURES_BYTES);
    *sequence += 2;
    atomic_store_explicit(&entry->sequence, *sequence, memory_order_release);
}

/* --- readers */

/* Whether the name is PREFIX USER-PROCESS-NAMESPACE, of this user and the namespace; root sees everybody's.
 */
static bool is_name(const char *name, unsigned long namespace)
{
    unsigned long user, process, of;
    int end = 0;
    return sscanf(name, PREFIX "%lu-%lu-%lu%n", &user, &process, &of, &end) == 3 && !name[end] &&
           of == namespace && (user == geteuid() || geteuid() == 0);
}

void sl_monitor_list(const char *folder, void (*each)(const char *path, void *context), void *context)
{
    char path[SL_MONITOR_PATH];
    const struct dirent *found;
    unsigned long namespace = process_namespace();
    DIR *all = opendir(folder);
    if (!all) return;
    while ((found = readdir(all)) != NULL) {
        int length = snprintf(path, sizeof(path), "%s/%s", folder, found->d_name);
        if (is_name(found->d_name, namespace) && length > 0 && (size_t)length < sizeof(path))
            each(path, context);
    }
    closedir(all);
}
