#include "move/daemon.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/signals.h"
#include "base/test_hooks.h"

#define UNDER_WAY 2         /* movements of a direction that may be in flight */
#define PATIENCE_NS 1000000 /* after a free, until the daemon records its point instead of the program */

enum { AT_WORK, IN_A_WAIT, LEFT_THERE };

struct worker {
    struct sl_daemon *daemon;
    pthread_t thread;
    bool out, started;
    _Atomic int where;
};

struct sl_daemon {
    struct sl_schedule *schedule;
    _Atomic uint32_t news; /* counts wake-ups; the futex word */
    _Atomic uint32_t sleepers;
    _Atomic bool stopping;
    struct worker workers[2];
};

/* `most`: the longest time; NULL: no limit. */
static void sleep_unless_news(struct sl_daemon *daemon, uint32_t seen, const struct timespec *most)
{
    atomic_fetch_add(&daemon->sleepers, 1);
    syscall(SYS_futex, &daemon->news, FUTEX_WAIT_PRIVATE, seen, most, NULL, 0);
    atomic_fetch_sub(&daemon->sleepers, 1);
}

void sl_daemon_wake(struct sl_daemon *daemon)
{
    atomic_fetch_add(&daemon->news, 1);
    if (atomic_load(&daemon->sleepers))
        syscall(SYS_futex, &daemon->news, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* Waits on the host until the step can start at once, or the daemon is stopped. The plan may change
 * meanwhile, so the step is checked again when it is issued. */
static void wait_until_ready(const struct sl_daemon *daemon, bool out, const struct sl_pending *pending)
{
    struct sl_migrator *migrator = daemon->schedule->migrator;
    struct sl_link_direction *direction = out ? &migrator->out : &migrator->in;
    uint64_t issued = atomic_load(&direction->issued);
    if (issued > UNDER_WAY && !atomic_load(&daemon->stopping))
        sl_migrator_wait_host(migrator, direction, issued - UNDER_WAY);
    if (pending->out_sequence && !atomic_load(&daemon->stopping))
        sl_migrator_wait_host(migrator, &migrator->out, pending->out_sequence);
    if (!pending->fence || sl_migrator_is_held(migrator)) return;
    uint64_t users = atomic_load(&sl_arena_record(migrator->arena, pending->chunk)->users);
    for (uint64_t rest = users & atomic_load(&pending->fence->streams); rest; rest &= rest - 1)
        if (!atomic_load(&daemon->stopping))
            /* Only for speed: an eviction copies what is there when it starts. */
            migrator->backend->event_wait(migrator->backend->self,
                                          pending->fence->events[__builtin_ctzll(rest)]);
}

/* False: the daemon was stopped meanwhile and does not wait for this thread, so its data may be gone. */
static bool wait_for_step(struct worker *worker, const struct sl_pending *pending)
{
    const struct sl_daemon *daemon = worker->daemon;
    atomic_store(&worker->where, IN_A_WAIT);
    wait_until_ready(daemon, worker->out, pending);
    int where = IN_A_WAIT;
    return atomic_compare_exchange_strong(&worker->where, &where, AT_WORK);
}

/* The program records the points of its frees when it continues. If it does something else for long, they are
 * recorded here, so that the freed memory can be discarded. */
static void record_points(struct sl_daemon *daemon, uint32_t seen)
{
    static const struct timespec patience = {.tv_nsec = PATIENCE_NS};
    sleep_unless_news(daemon, seen, &patience);
    if (!atomic_load(&daemon->stopping)) sl_frees_flush(daemon->schedule->migrator->frees);
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct sl_daemon *daemon = worker->daemon;
    struct sl_schedule *schedule = daemon->schedule;
    const struct sl_backend *backend = schedule->migrator->backend;
    if (backend->thread_attach(backend->self) != SL_OK) return NULL;
    for (;;) {
        /* Read before `stopping`: the end sets that before it adds the last news, so whoever has seen those
         * does not wait for more. */
        uint32_t seen = atomic_load(&daemon->news);
        struct sl_pending pending;
        SL_TEST_DELAY(NEWS);
        if (atomic_load(&daemon->stopping)) break;
        SL_TEST_DELAY(PEEK);
        if (!sl_schedule_peek(schedule, worker->out, &pending)) {
            sleep_unless_news(daemon, seen, NULL);
            continue;
        }
        if (!wait_for_step(worker, &pending)) break;
        SL_TEST_DELAY(ISSUE);
        if (atomic_load(&daemon->stopping)) break;
        if (worker->out && sl_schedule_is_open(schedule, pending.chunk)) record_points(daemon, seen);
        sl_schedule_issue_pending(schedule, worker->out, &pending);
        if (worker->out) sl_daemon_wake(daemon); /* the other direction may use the frame */
    }
    return NULL;
}

static int start_worker(struct worker *worker)
{
    int error = sl_thread_start(&worker->thread, worker->out ? "sluice-out" : "sluice-in", work, worker);
    worker->started = !error;
    return error;
}

enum sl_status sl_daemon_start(struct sl_schedule *schedule, struct sl_daemon **out)
{
    struct sl_daemon *daemon = calloc(1, sizeof *daemon);
    if (!daemon) return SL_ERR_NO_MEMORY;
    daemon->schedule = schedule;
    int error = 0;
    for (int w = 0; w < 2 && !error; w++) {
        struct worker *worker = &daemon->workers[w];
        *worker = (struct worker){.daemon = daemon, .out = w == 1};
        error = start_worker(worker);
    }
    if (error) {
        sl_daemon_delete(daemon);
        return SL_ERR_IO;
    }
    *out = daemon;
    return SL_OK;
}

void sl_daemon_stop(struct sl_daemon *daemon, bool leave_waiting)
{
    if (!daemon) return;
    atomic_store(&daemon->stopping, true);
    sl_daemon_wake(daemon);
    SL_TEST_DELAY(STOPPED);
    for (int w = 0; w < 2; w++) {
        struct worker *worker = &daemon->workers[w];
        int where = IN_A_WAIT;
        if (!worker->started) continue;
        if (leave_waiting && atomic_compare_exchange_strong(&worker->where, &where, LEFT_THERE)) {
            pthread_detach(worker->thread);
        } else {
            pthread_join(worker->thread, NULL);
        }
        worker->started = false;
    }
}

void sl_daemon_delete(struct sl_daemon *daemon)
{
    sl_daemon_stop(daemon, false);
    free(daemon);
}
