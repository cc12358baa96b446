#include "core/report.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/check.h"
#include "base/file_kind.h"
#include "base/log.h"
#include "base/options.h"
#include "base/options_path.h"
#include "base/output.h"
#include "base/thread.h"
#include "core/core.h"
#include "core/live.h"

#define BESIDE ".live" /* suffix of the live file's name, after the name of the statistics */

#define BETWEEN_WRITES_NS 20000000

static struct sl_live *live;
static struct {
    pthread_t thread;
    pid_t process; /* the one in which the thread runs; 0: none */
    _Atomic uint32_t stop;
} keeper;
static char stats_path[PATH_MAX], live_path[PATH_MAX]; /* not on the stack: the thread's stack may be small */

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

void sl_report_open(const struct sl_options *options)
{
    static _Atomic bool done;
    if (atomic_exchange(&done, true)) return;
    check_stats(options->stats);
    size_t length = strlen(stats_path);
    bool named = options->live[0] && sl_options_expand(options->live, live_path, sizeof(live_path));
    if (!named && (!length || length + sizeof(BESIDE) > sizeof(live_path))) return;
    if (!named) snprintf(live_path, sizeof(live_path), "%.*s" BESIDE, (int)length, stats_path);
    live = sl_live_open(live_path, options, stats_path);
}

/* Writes the figures while they change. Takes the order lock only if that is free, because the end of the run
 * waits for this thread under it. */
static void *keep_figures(void *argument)
{
    struct sl_core *core = argument;
    const struct timespec pause = {.tv_nsec = BETWEEN_WRITES_NS};
    uint64_t launches = UINT64_MAX;
    while (!atomic_load(&keeper.stop)) {
        uint64_t now = atomic_load(&core->stats.total.launches);
        if (now != launches && sl_try_lock(&core->order)) {
            sl_report_summary(core, &live->summary);
            sl_unlock(&core->order);
            sl_live_write(live, &core->stats);
            launches = now;
        }
        syscall(SYS_futex, &keeper.stop, FUTEX_WAIT_PRIVATE, 0, &pause, NULL, 0);
    }
    return NULL;
}

void sl_report_count(struct sl_core *core)
{
    if (!live) return;
    sl_report_summary(core, &live->summary);
    sl_live_write(live, &core->stats);
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

void sl_report_summary(const struct sl_core *core, struct sl_run_summary *out)
{
    struct sl_predictor_counts predictor = sl_history_counts(&core->history);
    *out = (struct sl_run_summary){
        .budget_bytes = core->budget.bytes,
        .chunk_bytes = core->arena.chunk_bytes,
        .need_bytes = core->placement.peak_live_bytes,
        .live_bytes = core->placement.live_bytes,
        .chunks = core->arena.peak_chunks_used,
        .placed_bytes = core->placement.peak_placed_bytes,
        .placed_live_bytes = core->placement.live_at_peak,
        .pinned_peak_bytes = core->placement.peak_pinned_live_bytes,
        .host_limit_bytes = core->host.share->limit_bytes,
        .link_sharers = core->migrator.link_sharers,
        .predicted = predictor.predicted,
        .fed = predictor.fed,
        .memory = core->policy->memory,
        .link_in_bytes_per_s = core->migrator.link_in_bytes_per_s,
        .link_out_bytes_per_s = core->migrator.link_out_bytes_per_s,
        .primed = core->history.primed_symbols,
        .checks_failed = sl_checks_failed(),
    };
    snprintf(out->policy, sizeof(out->policy), "%s", core->policy->name);
    snprintf(out->daemon, sizeof(out->daemon), "%s", core->daemon ? "thread" : "inline");
}

static void to_log(const char *line)
{
    sl_log(SL_LOG_INFO, "%s", line);
}

static void to_log_of_other(const char *line)
{
    sl_log(SL_LOG_INFO, "another context: %s", line);
}

/* The first core writes the file. Once it has ended, each further core that ends writes the file anew,
 * with all cores. */
static void write_stats(const struct sl_core *core)
{
    uint32_t count = sl_cores_started();
    struct sl_device_run *runs = count ? calloc(count, sizeof *runs) : NULL;
    if (!runs || (core->number && sl_core_numbered(0))) {
        free(runs);
        return;
    }
    for (uint32_t c = 0; c < count; c++) {
        runs[c].stats = &sl_core_started(c)->stats;
        sl_report_summary(sl_core_started(c), &runs[c].summary);
        runs[c].summary.complete = true;
    }
    sl_stats_write_devices(runs, count, stats_path);
    free(runs);
}

void sl_report_end(const struct sl_core *core)
{
    struct sl_run_summary summary;
    if (core) {
        sl_report_summary(core, &summary);
        summary.complete = true;
        if (stats_path[0]) write_stats(core);
        if (core->options->verbose >= 1)
            sl_stats_say(&core->stats, &summary, core->number ? to_log_of_other : to_log);
    }
    if (core && core->number) return;
    stop_keeper();
    sl_live_close(live);
}

void sl_report_leave(void)
{
    stop_keeper();
    sl_live_leave(live);
    live = NULL;
}
