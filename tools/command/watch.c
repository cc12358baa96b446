#include "tools/command/watch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/options.h"
#include "tools/command/live.h"
#include "tools/top/leftovers.h"

#define ON_DISK "/tmp/sluice-XXXXXX"

/* The state of the watcher. */
struct watcher {
    int go, process, made; /* descriptors: the pipe, the command's process, and an inotify of files created in
                              the folder (-1: not watched) */
    int lock;              /* on the folder, while there is a watcher: see leftovers.h. -1: none */
    const char *folder;    /* empty: only `file` */
    char file[PATH_MAX], log[PATH_MAX];
    int verbose;
    bool driver;
    struct run_advice advice;
};

static int process_open(pid_t process)
{
    return (int)syscall(SYS_pidfd_open, process, 0);
}

static void wait_for_end(int process)
{
    struct pollfd end = {.fd = process, .events = POLLIN};
    while (poll(&end, 1, -1) < 0 && errno == EINTR) {
    }
}

/* --- reports */

static void to_log(const char *line)
{
    sl_log(SL_LOG_INFO, "%s", line);
}

/* Reports the statistics at `path` after their process has ended. */
static void report(const char *path)
{
    struct sl_live_record *record;
    if (sl_live_read(path, &record) != SL_OK) return;
    if (record->running) {
        int process = process_open((pid_t)record->live.process);
        if (process >= 0 && sl_process_began((pid_t)record->live.process) == record->live.process_began)
            wait_for_end(process);
        if (process >= 0) close(process);
        sl_live_free(record);
        if (sl_live_read(path, &record) != SL_OK) return; /* the process has reported them itself */
    }
    const struct sl_live *live = &record->live;
    if (live->state == SL_LIVE_COUNTED) {
        sl_log_open(live->verbose, live->log);
        if (live->stats[0])
            sl_stats_write((const struct sl_stats *[]){&record->stats}, 1, false, live->stats);
        if (live->verbose >= 1) sl_stats_say(&record->stats, to_log);
    }
    unlink(path);
    sl_live_free(record);
}

/* Reports each file of the folder once. False: there was none. */
static bool tell_folder(const char *folder)
{
    char path[PATH_MAX];
    bool any = false;
    DIR *open = opendir(folder);
    for (struct dirent *entry; open && (entry = readdir(open));) {
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        report(path);
        any |= unlink(path) == 0 || errno == ENOENT;
    }
    if (open) closedir(open);
    return any;
}

/* Whether a file was created in the folder; true if unknown. */
static bool was_used(const struct watcher *watcher)
{
    char events[4096];
    return watcher->made < 0 || read(watcher->made, events, sizeof(events)) > 0;
}

static void say_unused(const struct watcher *watcher)
{
    if (!watcher->driver && !watcher->log[0]) return; /* stderr has it from the start */
    sl_log_open(watcher->verbose, watcher->log);
    sl_log(SL_LOG_INFO, watcher->driver
                            ? "the program made no CUDA context: sluice had nothing to do"
                            : "there is no CUDA driver (libcuda.so.1): the program ran without sluice");
}

/* --- the process */

/* Moves the needed descriptors to the lowest numbers and closes all others. */
static void keep_files(struct watcher *watcher)
{
    int *kept[] = {&watcher->go, &watcher->process, &watcher->made, &watcher->lock}, lowest = 3;
    for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
        if (*kept[i] >= 0) *kept[i] = fcntl(*kept[i], F_DUPFD_CLOEXEC, 32);
    for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
        if (*kept[i] >= 0) *kept[i] = dup3(*kept[i], lowest, O_CLOEXEC), lowest++;
    if (syscall(SYS_close_range, lowest, ~0U, 0) != 0)
        for (int fd = lowest; fd < (int)sysconf(_SC_OPEN_MAX) && fd < 65536; fd++) close(fd);
    int nothing = open("/dev/null", O_RDWR);
    for (int fd = 0; nothing >= 0 && fd < 3; fd++)
        if (fd != STDERR_FILENO || !(watcher->advice.wanted || (watcher->verbose && !watcher->log[0])))
            dup2(nothing, fd);
    if (nothing > 2) close(nothing);
}

static void report_folder(const struct watcher *watcher, bool started)
{
    bool used = !started || was_used(watcher);
    while (tell_folder(watcher->folder)) {
    }
    rmdir(watcher->folder);
    if (!used && watcher->verbose) say_unused(watcher);
}

static void watch(struct watcher *watcher)
{
    char word;
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    keep_files(watcher);
    prctl(PR_SET_NAME, "sluice-watch");
    if (chdir("/") != 0) return;
    bool started = read(watcher->go, &word, 1) == 0;
    if (started) wait_for_end(watcher->process);
    if (!watcher->folder[0] && started) report(watcher->file);
    if (watcher->folder[0]) report_folder(watcher, started);
    if (started) run_advice_give(&watcher->advice);
}

/* Whether orphaned processes become children of this one: as the first process of a container, or as a child
 * subreaper. */
static bool adopts(void)
{
    int adopting = 0;
    return getpid() == 1 || prctl(PR_GET_CHILD_SUBREAPER, &adopting) != 0 || adopting;
}

static bool is_asked_for(const char *variable)
{
    const char *value = getenv(variable);
    return value && *value && strcmp(value, "0") != 0;
}

/* Chooses the names of the live files. */
static bool choose_files(struct watch *watch, struct watcher *watcher)
{
    char template[sizeof(watch->folder) + 4];
    const char *named = getenv("SLUICE_LIVE");
    if (named && *named) return sl_options_expand(named, watcher->file, sizeof(watcher->file));
    bool made = mkdtemp(strcpy(watch->folder, WATCH_FOLDER)) || mkdtemp(strcpy(watch->folder, ON_DISK));
    if (!made) {
        watch->folder[0] = 0;
        return false;
    }
    watcher->lock = watch_folder_lock(watch->folder);
    snprintf(template, sizeof(template), "%s/%%p", watch->folder);
    watcher->made = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (watcher->made >= 0 && inotify_add_watch(watcher->made, watch->folder, IN_CREATE) < 0) {
        close(watcher->made);
        watcher->made = -1;
    }
    return setenv("SLUICE_LIVE", template, 1) == 0;
}

/* Forks twice, so that the watcher is a child of init. */
static bool start(struct watcher *watcher)
{
    int status;
    pid_t between = fork();
    if (between < 0) return false;
    if (between == 0) {
        pid_t last = setsid() < 0 ? -1 : fork();
        if (last == 0) watch(watcher);
        _exit(last < 0);
    }
    while (waitpid(between, &status, 0) < 0)
        if (errno != EINTR) return false;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void watch_start(struct watch *watch, bool driver, const struct run_advice *advice)
{
    static struct watcher watcher; /* static because its paths are long */
    int ends[2];
    *watch = (struct watch){.go = -1};
    if (adopts() || !(advice->wanted || is_asked_for("SLUICE_VERBOSE") || is_asked_for("SLUICE_STATS")))
        return;
    const char *verbose = getenv("SLUICE_VERBOSE"), *log = getenv("SLUICE_LOG");
    watcher = (struct watcher){
        .made = -1, .lock = -1, .driver = driver, .verbose = verbose ? atoi(verbose) : 0, .advice = *advice};
    watcher.process = process_open(getpid());
    if (watcher.process < 0) return;
    if (watcher.process < 3 || pipe2(ends, O_CLOEXEC) != 0) { /* some of the standard streams are closed */
        close(watcher.process);
        return;
    }
    if (log && *log && !sl_options_expand(log, watcher.log, sizeof(watcher.log))) watcher.log[0] = 0;
    watcher.go = ends[0];
    watch->go = ends[1];
    bool watched = choose_files(watch, &watcher);
    watcher.folder = watch->folder;
    watched = watched && start(&watcher);
    close(watcher.go);
    close(watcher.process);
    if (watcher.made >= 0) close(watcher.made);
    if (watcher.lock >= 0) close(watcher.lock);
    if (watched) return;
    if (watch->folder[0]) {
        rmdir(watch->folder);
        unsetenv("SLUICE_LIVE");
    }
    close(watch->go);
    watch->go = -1;
}

void watch_cancel(struct watch *watch)
{
    if (watch->go < 0) return;
    if (write(watch->go, "x", 1) != 1) return; /* the watcher then waits for the end of this process */
    close(watch->go);
    watch->go = -1;
}
