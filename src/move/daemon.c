#include "move/daemon.h"

#include <stdlib.h>
#include <time.h>

#include "base/log.h"
#include "base/signals.h"
#include "base/test_hooks.h"
#include "move/carry_out.h"

#define PATIENCE_NS 1000000 /* after a free, until the daemon records its point instead of the program */

enum { AT_WORK, IN_A_WAIT, LEFT_THERE };

struct worker {
    struct sl_daemon *daemon;
    pthread_t thread;
    struct sl_mover mover;
    bool out, started;
    _Atomic int where;
};

struct sl_daemon {
    struct sl_schedule *schedule;
    struct sl_movers *movers; /* the migrator's */
    _Atomic bool stopping;
    _Atomic bool led[2];      /* a worker of the direction decides about the next step of the plan */
    _Atomic uint32_t able[2]; /* the direction's workers that have begun, or have yet to */
    uint32_t worker_count;
    struct worker workers[2 * SL_MOVERS_MOST];
};

void sl_daemon_wake(struct sl_daemon *daemon)
{
    sl_movers_wake(daemon->movers);
}

/* Waits on the host until the step can start at once, or the daemon is stopped. The plan may change
 * meanwhile, so the step is checked again when it is issued. False: the step needs a movement that a mover
 * has yet to carry out, maybe this one. */
static bool wait_until_ready(const struct sl_daemon *daemon, bool out, struct sl_pending *pending)
{
    struct sl_migrator *migrator = daemon->schedule->migrator;
    struct sl_link_direction *other = out ? &migrator->in : &migrator->out;
    const struct sl_chunk_record *chunk = sl_arena_record(migrator->arena, pending->chunk);
    uint64_t before = atomic_load(out ? &chunk->in_sequence : &chunk->out_sequence);
    if (!sl_link_direction_has_landed(other, before) ||
        !sl_link_direction_has_room(other, pending->out_sequence))
        return false;
    if (before && !atomic_load(&daemon->stopping)) sl_migrator_wait_host(migrator, other, before);
    if (!atomic_load(&daemon->stopping))
        sl_link_direction_wait_room(other, migrator->backend, pending->out_sequence);
    for (uint32_t u = 0; u < pending->users.count && !atomic_load(&daemon->stopping); u++)
        /* Only for speed: an eviction copies what is there when it starts. */
        migrator->backend->event_wait(migrator->backend->self, pending->users.events[u]);
    return true;
}

static void begin_wait(struct worker *worker)
{
    atomic_store(&worker->where, IN_A_WAIT);
}

/* False: the daemon was stopped meanwhile and does not wait for this thread, so its data may be gone. */
static bool end_wait(struct worker *worker)
{
    int where = IN_A_WAIT;
    return atomic_compare_exchange_strong(&worker->where, &where, AT_WORK);
}

/* The program records the points of its frees when it continues. If it does something else for long, they are
 * recorded here, so that the freed memory can be discarded. */
static void record_points(struct sl_daemon *daemon, uint32_t seen)
{
    static const struct timespec patience = {.tv_nsec = PATIENCE_NS};
    sl_movers_sleep(daemon->movers, seen, &patience);
    if (!atomic_load(&daemon->stopping)) sl_frees_flush(daemon->schedule->migrator->frees);
}

enum progress { NOTHING, SOMETHING, LEFT };

/* Decides about the next step of the plan, once it can start. Another thread may have begun to. */
static enum progress decide(struct worker *worker, uint32_t seen)
{
    struct sl_daemon *daemon = worker->daemon;
    struct sl_schedule *schedule = daemon->schedule;
    struct sl_pending pending;
    SL_TEST_DELAY(PEEK);
    if (!sl_schedule_peek(schedule, worker->out, &pending)) return NOTHING;
    begin_wait(worker);
    bool ready = wait_until_ready(daemon, worker->out, &pending);
    if (!end_wait(worker)) return LEFT;
    sl_users_let_go(&pending.users);
    SL_TEST_DELAY(ISSUE);
    if (!ready || atomic_load(&daemon->stopping)) return NOTHING;
    if (worker->out && sl_schedule_is_open(schedule, pending.chunk)) record_points(daemon, seen);
    sl_schedule_issue_pending(schedule, worker->out, &pending);
    return SOMETHING;
}

static enum progress lead(struct worker *worker, uint32_t seen)
{
    struct sl_daemon *daemon = worker->daemon;
    bool led = false;
    if (!atomic_compare_exchange_strong(&daemon->led[worker->out], &led, true)) return NOTHING;
    enum progress progress = decide(worker, seen);
    if (progress == LEFT) return LEFT;
    atomic_store(&daemon->led[worker->out], false);
    if (progress == SOMETHING) sl_daemon_wake(daemon); /* the other direction may use the frame */
    return progress;
}

static enum progress carry_out(struct worker *worker, struct sl_movement *movement)
{
    struct sl_daemon *daemon = worker->daemon;
    struct sl_migrator *migrator = daemon->schedule->migrator;
    begin_wait(worker);
    bool waited = sl_carry_out_wait_before(migrator, &worker->mover, movement);
    if (!end_wait(worker)) return LEFT;
    if (!waited && atomic_load(&daemon->stopping)) {
        sl_movers_give(daemon->movers, movement); /* it has not begun */
        return NOTHING;
    }
    sl_carry_out_call(migrator, &worker->mover, movement);
    begin_wait(worker);
    sl_carry_out_wait_behind(migrator, movement);
    if (!end_wait(worker)) return LEFT;
    sl_carry_out_land(migrator, &worker->mover, movement);
    sl_daemon_wake(worker->daemon); /* a step may have waited for it */
    return SOMETHING;
}

static struct sl_link_direction *direction_of(const struct worker *worker)
{
    struct sl_migrator *migrator = worker->daemon->schedule->migrator;
    return worker->out ? &migrator->out : &migrator->in;
}

/* The driver does not want this thread. If it wants none, what was decided already is not carried out. */
static void give_up(struct worker *worker)
{
    struct sl_daemon *daemon = worker->daemon;
    atomic_store(&daemon->movers->off, true);
    if (atomic_fetch_sub(&daemon->able[worker->out], 1) == 1) sl_link_direction_end(direction_of(worker));
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct sl_daemon *daemon = worker->daemon;
    const struct sl_backend *backend = daemon->schedule->migrator->backend;
    if (backend->thread_attach(backend->self) != SL_OK || sl_mover_open(&worker->mover, backend) != SL_OK) {
        give_up(worker);
        return NULL;
    }
    for (;;) {
        /* Read before `stopping`: the end sets that before it adds the last news, so whoever has seen those
         * does not wait for more. */
        uint32_t seen = atomic_load(&daemon->movers->news);
        SL_TEST_DELAY(NEWS);
        if (atomic_load(&daemon->stopping)) break;
        struct sl_movement *movement = sl_movers_take(daemon->movers, worker->out);
        enum progress progress = movement ? carry_out(worker, movement) : lead(worker, seen);
        if (progress == LEFT) break;
        if (progress == NOTHING) sl_movers_sleep(daemon->movers, seen, NULL);
    }
    return NULL;
}

static int start_worker(struct worker *worker)
{
    int error = sl_thread_start(&worker->thread, worker->out ? "sluice-out" : "sluice-in", work, worker);
    worker->started = !error;
    return error;
}

/* `movers`: each way to the host; half as many go to the device, whose movements need less of a thread. */
static int start_workers(struct sl_daemon *daemon, uint32_t movers)
{
    int error = 0;
    uint32_t in = (movers + 1) / 2;
    atomic_store(&daemon->able[true], movers);
    atomic_store(&daemon->able[false], in);
    while (daemon->worker_count < movers + in && !error) {
        struct worker *worker = &daemon->workers[daemon->worker_count];
        *worker = (struct worker){.daemon = daemon, .out = daemon->worker_count < movers};
        error = start_worker(worker);
        daemon->worker_count++;
    }
    return error;
}

enum sl_status sl_daemon_start(struct sl_schedule *schedule, uint32_t movers, struct sl_daemon **out)
{
    struct sl_migrator *migrator = schedule->migrator;
    struct sl_daemon *daemon = calloc(1, sizeof *daemon);
    if (!daemon || sl_movers_new(&migrator->movers)) {
        free(daemon);
        return SL_ERR_NO_MEMORY;
    }
    daemon->schedule = schedule;
    daemon->movers = migrator->movers;
    if (start_workers(daemon, movers)) {
        sl_daemon_delete(daemon, false);
        return SL_ERR_IO;
    }
    *out = daemon;
    return SL_OK;
}

void sl_daemon_stop(struct sl_daemon *daemon, bool leave_waiting)
{
    if (!daemon) return;
    atomic_store(&daemon->stopping, true);
    atomic_store(&daemon->movers->off, true);
    sl_daemon_wake(daemon);
    /* A movement that waits for one that is not begun any more does not begin either. */
    sl_link_direction_end(&daemon->schedule->migrator->out);
    sl_link_direction_end(&daemon->schedule->migrator->in);
    SL_TEST_DELAY(STOPPED);
    for (uint32_t w = 0; w < daemon->worker_count; w++) {
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

void sl_daemon_delete(struct sl_daemon *daemon, bool device_gone)
{
    if (!daemon) return;
    sl_daemon_stop(daemon, false);
    for (uint32_t w = 0; w < daemon->worker_count; w++)
        sl_mover_close(&daemon->workers[w].mover, device_gone ? NULL : daemon->schedule->migrator->backend);
    free(daemon);
}
