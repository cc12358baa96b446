#include "core/report.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "base/output.h"
#include "base/signals.h"
#include "core/core.h"

#define BESIDE ".live" /* suffix of the live file's name, after the name of the statistics */

#define BETWEEN_WRITES_NS 20000000

#define FILE_BYTES (SL_LIVE_ITERATIONS_AT + SL_LIVE_ITERATIONS_BYTES)

static const struct sl_file_kind live_kind = SL_FILE_KIND("not of this kind", SL_LIVE_MAGIC);

static char stats_path[PATH_MAX]; /* "": nowhere. Not on the stack: the thread's stack may be small */

/* The live file of this process. */
static struct {
    char path[PATH_MAX]; /* while the file exists; else "" */
    struct sl_output file;
    struct sl_live header;
    uint64_t written; /* iterations before this one are complete in the file */
} live = {.file = {.fd = -1}};

/* The thread that writes it. */
static struct {
    pthread_t thread;
    pid_t process; /* the one in which the thread runs; 0: none */
    _Atomic uint32_t stop;
} keeper;

/* --- the start */

/* Checks at the start that the statistics can be written, not only at the end. */
static void check_stats(const char *template)
{
    if (!*template) return;
    bool expanded = sl_options_expand(template, stats_path, sizeof(stats_path));
    if (expanded && sl_output_allowed(stats_path, &sl_file_stats)) return;
    sl_log(SL_LOG_WARN, "no statistics are written to %s: %s", template,
           expanded ? sl_file_problem(&sl_file_stats, errno) : "the name is too long");
    stats_path[0] = 0;
}

/* Decides where the live file goes. False: nobody wants one. */
static bool name_live(const struct sl_options *options, char path[PATH_MAX])
{
    size_t length = strlen(stats_path);
    if (options->live[0] && sl_options_expand(options->live, path, PATH_MAX)) return true;
    if (!length || length + sizeof(BESIDE) > PATH_MAX) return false;
    snprintf(path, PATH_MAX, "%.*s" BESIDE, (int)length, stats_path);
    return true;
}

/* Writes zeros so that the disk has room for all blocks. */
static bool fill(const struct sl_output *created)
{
    static const char zeros[1 << 14];
    for (size_t done = 0; done < FILE_BYTES; done += sizeof(zeros)) {
        size_t rest = FILE_BYTES - done;
        if (sl_output_write(created, zeros, rest < sizeof(zeros) ? rest : sizeof(zeros)) != SL_OK)
            return false;
    }
    return true;
}

static void fill_header(struct sl_live *header, const struct sl_options *options)
{
    memcpy(header->magic, SL_LIVE_MAGIC, sizeof(header->magic));
    snprintf(header->version, sizeof(header->version), "%s", SLUICE_VERSION);
    header->header_bytes = sizeof(struct sl_live);
    header->stats_bytes = SL_FIGURES_BYTES;
    header->iterations = SL_MAX_ITERATIONS;
    header->process = (uint32_t)getpid();
    header->process_began = sl_process_began(getpid());
    header->verbose = options->verbose;
    snprintf(header->program, sizeof(header->program), "%.15s", program_invocation_short_name);
    snprintf(header->stats, sizeof(header->stats), "%s", stats_path);
    snprintf(header->log, sizeof(header->log), "%s", options->log);
}

static void write_header(enum sl_live_state state)
{
    live.header.state = state;
    if (sl_output_valid(&live.file)) sl_output_put_at(live.file.fd, &live.header, sizeof(live.header), 0);
}

/* Creates the file at live.path. An existing file is replaced if it is of this kind. */
static void open_live(const struct sl_options *options)
{
    struct sl_output created = {.fd = -1};
    if (sl_output_open(live.path, &live_kind, &created) != SL_OK) goto error;
    if (!fill(&created)) {
        unlink(live.path);
        goto error;
    }
    live.file = created;
    fill_header(&live.header, options);
    write_header(SL_LIVE_SEEN);
    return;

error:
    sl_log(SL_LOG_INFO, "no figures are kept for a sudden end: cannot write %s: %s", live.path,
           sl_file_problem(&live_kind, errno));
    sl_output_close(&created);
    live.path[0] = 0;
}

void sl_report_open(const struct sl_options *options)
{
    static _Atomic bool done;
    if (atomic_exchange(&done, true)) return;
    check_stats(options->stats);
    if (name_live(options, live.path))
        open_live(options);
    else
        live.path[0] = 0;
}

/* --- while the program runs */

/* Writes the figures, which are a copy of the core's. The process may end between two writes: iterations that
 * the copy calls over are in the file before it is. An error is not reported: the figures are then lost. */
static void write_live(const struct sl_core *core, const struct sl_stats *copy)
{
    if (!sl_output_valid(&live.file)) return;
    for (uint64_t i = live.written; i <= copy->iteration; i++) {
        struct sl_counts counts;
        sl_words_copy(&counts, &core->stats.iterations[i], sizeof(counts));
        off_t at = (off_t)(SL_LIVE_ITERATIONS_AT + i * sizeof(counts));
        if (!sl_output_put_at(live.file.fd, &counts, sizeof(counts), at)) return;
    }
    live.written = copy->iteration;
    if (sl_output_put_at(live.file.fd, sl_figures_of(copy), SL_FIGURES_BYTES, SL_LIVE_STATS_AT) &&
        live.header.state == SL_LIVE_SEEN)
        write_header(SL_LIVE_COUNTED);
}

/* Precondition: the order lock is held, or no other thread exists yet. */
static void copy_figures(struct sl_core *core, struct sl_stats *copy)
{
    sl_monitor_observe(core);
    sl_words_copy(sl_figures_of(copy), sl_figures_of(&core->stats), SL_FIGURES_BYTES);
}

/* Writes the figures while they change. Takes the order lock only if that is free, because the end of the run
 * waits for this thread under it. */
static void *keep_figures(void *argument)
{
    struct sl_core *core = argument;
    const struct timespec pause = {.tv_nsec = BETWEEN_WRITES_NS};
    uint64_t launches = UINT64_MAX;
    struct sl_stats copy;
    while (!atomic_load(&keeper.stop)) {
        if (atomic_load(&core->stats.total.launches) != launches && sl_try_lock(&core->order)) {
            copy_figures(core, &copy);
            sl_unlock(&core->order);
            write_live(core, &copy);
            launches = copy.total.launches;
        }
        syscall(SYS_futex, &keeper.stop, FUTEX_WAIT_PRIVATE, 0, &pause, NULL, 0);
    }
    return NULL;
}

void sl_report_count(struct sl_core *core)
{
    struct sl_stats copy;
    if (!live.path[0]) return;
    copy_figures(core, &copy);
    write_live(core, &copy);
    atomic_store(&keeper.stop, 0);
    if (sl_thread_start(&keeper.thread, "sluice-figures", keep_figures, core) == 0) keeper.process = getpid();
}

/* Precondition: the calling process started it, if any did. */
static void stop_keeper(void)
{
    if (keeper.process != getpid()) return;
    keeper.process = 0;
    atomic_store(&keeper.stop, 1);
    syscall(SYS_futex, &keeper.stop, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    pthread_join(keeper.thread, NULL);
}

/* --- the end */

static void to_log(const char *line)
{
    sl_log(SL_LOG_INFO, "%s", line);
}

static void to_log_of_other(const char *line)
{
    sl_log(SL_LOG_INFO, "another context: %s", line);
}

/* The first core writes the file. Once it has ended, each further core that ends writes the file anew,
 * with all cores; those that still run, as they were last observed. */
static void write_stats(const struct sl_core *core)
{
    const struct sl_stats *devices[SL_MOST_CORES];
    uint32_t count = sl_cores_started();
    if (!count || (core->number && sl_core_numbered(0))) return;
    for (uint32_t c = 0; c < count; c++) devices[c] = &sl_core_started(c)->stats;
    sl_stats_write(devices, count, true, stats_path);
}

void sl_report_end(const struct sl_core *core)
{
    if (core && stats_path[0]) write_stats(core);
    if (core && core->options->verbose >= 1)
        sl_stats_say(&core->stats, core->number ? to_log_of_other : to_log);
    if (core && core->number) return;
    stop_keeper();
    if (!live.path[0]) return;
    write_header(SL_LIVE_REPORTED);
    sl_output_close(&live.file);
    unlink(live.path);
    live.path[0] = 0;
}

void sl_report_leave(void)
{
    stop_keeper();
    if (live.path[0]) sl_output_close(&live.file);
    live.path[0] = 0;
}

uint64_t sl_process_began(pid_t process)
{
    char path[32], text[1024];
    snprintf(path, sizeof(path), "/proc/%ld/stat", (long)process);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0) close(fd);
    if (got <= 0) return 0;
    text[got] = 0;
    /* "PID (NAME) STATE ...": the name may contain any character. */
    const char *at = strrchr(text, ')');
    if (!at || strlen(at) < 4 || at[2] == 'Z' || at[2] == 'X') return 0;
    for (int field = 2; at && field < 22; field++) at = strchr(at + 1, ' ');
    return at ? strtoull(at, NULL, 10) : 0;
}
