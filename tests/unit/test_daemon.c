/* The threads that carry out a schedule: breaks if one moves something before its launch was submitted, or
 * before on the device there is what it waits for; if too much piles up in the driver; if they take the
 * program's signals; or if an end waits for what may never come, or is not noticed. */
#include "move/daemon.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/test_hooks.h"
#include "move/steps.h"
#include "tests/host/backend_host.h"

enum {
    FRAMES = 8,
    CHUNKS = 2 * FRAMES,
    FIRST = 100,
    MOST_CALLS = 200,
    MOVERS = 1, /* and so many movements of a direction may be under way */
};
#define CHUNK (2 * SL_MIB)

enum what { EVICTS, FETCHES, DISCARDS, WAITS };

/* What the daemon's threads ask the device for. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct call {
        enum what what;
        sl_chunk chunk;             /* that is moved */
        sl_event_handle event;      /* that is waited for */
        sl_tick submitted;          /* the last launch by then */
        uint64_t in_done, out_done; /* movements that were known to be done by then */
        char thread[16];
        bool takes_signals;
    } calls[MOST_CALLS];
    uint32_t call_count, moved, waiting, ended, looking;
    bool holds_waits;
    enum sl_status attached;
} seen = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static struct sl_backend host, backend;
static struct sl_arena *arena;
static struct sl_stats stats;
static struct sl_migrator migrator;
static _Atomic int captures;
static struct sl_schedule *schedule;
static struct sl_daemon *daemon_of;
static pthread_t tester;
static pthread_key_t ending; /* its destructor runs when a thread has ended */

static void note(struct call call)
{
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    pthread_getname_np(pthread_self(), call.thread, sizeof call.thread);
    call.takes_signals = !sigismember(&blocked, SIGTERM) || !sigismember(&blocked, SIGUSR1);
    call.submitted = atomic_load(&schedule->submitted);
    call.in_done = atomic_load(&migrator.in.done);
    call.out_done = atomic_load(&migrator.out.done);
    pthread_mutex_lock(&seen.lock);
    if (seen.call_count < MOST_CALLS) seen.calls[seen.call_count++] = call;
    seen.moved += call.what != WAITS;
    pthread_cond_broadcast(&seen.changed);
    pthread_mutex_unlock(&seen.lock);
}

static enum sl_status evict(void *self, uint64_t address, uint64_t bytes, sl_stream stream)
{
    if (!pthread_equal(pthread_self(), tester))
        note((struct call){.what = EVICTS, .chunk = sl_arena_chunk(arena, address)});
    return host.evict(self, address, bytes, stream);
}

static enum sl_status fetch(void *self, uint64_t address, uint64_t bytes, sl_stream stream)
{
    if (!pthread_equal(pthread_self(), tester))
        note((struct call){.what = FETCHES, .chunk = sl_arena_chunk(arena, address)});
    return host.fetch(self, address, bytes, stream);
}

static enum sl_status discard(void *self, uint64_t address, uint64_t bytes, sl_stream stream)
{
    if (!pthread_equal(pthread_self(), tester))
        note((struct call){.what = DISCARDS, .chunk = sl_arena_chunk(arena, address)});
    return host.discard(self, address, bytes, stream);
}

static enum sl_status event_wait(void *self, sl_event_handle event)
{
    (void)self;
    if (pthread_equal(pthread_self(), tester)) return SL_OK;
    note((struct call){.what = WAITS, .event = event});
    pthread_mutex_lock(&seen.lock);
    seen.waiting++;
    pthread_cond_broadcast(&seen.changed);
    while (seen.holds_waits) pthread_cond_wait(&seen.changed, &seen.lock);
    seen.waiting--;
    pthread_mutex_unlock(&seen.lock);
    return SL_OK;
}

static enum sl_status thread_attach(void *self)
{
    (void)self;
    pthread_setspecific(ending, &seen);
    pthread_mutex_lock(&seen.lock);
    while (seen.attached && seen.holds_waits) pthread_cond_wait(&seen.changed, &seen.lock);
    pthread_mutex_unlock(&seen.lock);
    return seen.attached;
}

static void note_end(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&seen.lock);
    seen.ended++;
    pthread_cond_broadcast(&seen.changed);
    pthread_mutex_unlock(&seen.lock);
}

static void await(const uint32_t *count, uint32_t value)
{
    pthread_mutex_lock(&seen.lock);
    while (*count < value) pthread_cond_wait(&seen.changed, &seen.lock);
    pthread_mutex_unlock(&seen.lock);
}

static void hold_waits(bool hold)
{
    pthread_mutex_lock(&seen.lock);
    seen.holds_waits = hold;
    pthread_cond_broadcast(&seen.changed);
    pthread_mutex_unlock(&seen.lock);
}

/* The first chunks are on the device, the others are not. */
static int start(void **state)
{
    (void)state;
    tester = pthread_self();
    seen.call_count = seen.moved = seen.waiting = seen.ended = seen.looking = 0;
    seen.holds_waits = false;
    seen.attached = SL_OK;
    arena = calloc(1, sizeof *arena);
    schedule = calloc(1, sizeof *schedule);
    if (!arena || !schedule || sl_backend_host_new(SL_GIB, &host)) return -1;
    backend = host;
    backend.evict = evict;
    backend.fetch = fetch;
    backend.discard = discard;
    backend.event_wait = event_wait;
    backend.thread_attach = thread_attach;
    sl_arena_init(arena, &backend, CHUNK);
    if (sl_stats_init(&stats) || sl_migrator_init(&migrator, &backend, arena, &stats, &captures) ||
        sl_schedule_init(schedule, &migrator))
        return -1;
    for (sl_chunk c = 0; c < CHUNKS; c++) {
        sl_chunk taken;
        if (sl_arena_take(arena, CHUNK, &taken) || taken != c) return -1;
        sl_lock(&migrator.in.lock);
        if (c < FRAMES) sl_migrator_fetch(&migrator, c, CHUNK, 0, SL_CAUSE_DEMAND);
        sl_unlock(&migrator.in.lock);
    }
    return pthread_key_create(&ending, note_end);
}

static int stop(void **state)
{
    (void)state;
    sl_schedule_close(schedule, false);
    sl_migrator_close(&migrator, false);
    sl_arena_close(arena, false);
    sl_stats_close(&stats);
    bool right = !sl_backend_host_books(&host)->wrong;
    host.close(host.self);
    free(arena);
    free(schedule);
    pthread_key_delete(ending);
    return right ? 0 : -1;
}

static void carry_out(struct sl_plan_action *actions, size_t count)
{
    uint64_t bytes[CHUNKS];
    for (int c = 0; c < CHUNKS; c++) bytes[c] = CHUNK;
    struct sl_plan plan = {.actions = actions, .action_count = count};
    struct sl_plan_input input = {.first_tick = FIRST,
                                  .launch_count = FRAMES + 1,
                                  .chunk_bytes = bytes,
                                  .budget_bytes = FRAMES * CHUNK};
    struct sl_steps steps;
    assert_int_equal(sl_steps_new(&plan, &input, FRAMES, 0, &steps), SL_OK);
    sl_migrator_lock(&migrator);
    sl_schedule_take(schedule, &steps);
    sl_migrator_unlock(&migrator);
    sl_steps_free(&steps);
}

/* After each launch one chunk leaves, and with `comes` another one takes its frame. */
static void carry_out_one_by_one(bool comes)
{
    struct sl_plan_action actions[2 * FRAMES];
    uint32_t count = 0;
    for (uint32_t i = 0; i < FRAMES; i++) {
        actions[count] = (struct sl_plan_action){SL_ACTION_EVICT, i, FIRST + i, FIRST + i + 1, SL_NONE};
        count++;
        if (comes)
            actions[count] =
                (struct sl_plan_action){SL_ACTION_FETCH, FRAMES + i, FIRST + i, FIRST + i + 1, count - 1};
        count += comes;
    }
    carry_out(actions, count);
}

static void submit(sl_tick tick)
{
    sl_schedule_submitted(schedule, tick);
    sl_daemon_wake(daemon_of);
}

static void launches_are_followed(void **state)
{
    (void)state;
    assert_int_equal(sl_daemon_start(schedule, MOVERS, &daemon_of), SL_OK);
    carry_out_one_by_one(true);
    sl_daemon_wake(daemon_of);
    for (uint32_t i = 0; i < FRAMES; i++) {
        submit(FIRST + i);
        await(&seen.moved, 2 * i + 2);
    }
    sl_daemon_delete(daemon_of, false);
    uint32_t evicted = 0, fetched = 0;
    for (uint32_t i = 0; i < seen.call_count; i++) {
        const struct call *call = &seen.calls[i];
        assert_false(call->takes_signals);
        if (call->what == WAITS) continue;
        assert_string_equal(call->thread, call->what == EVICTS ? "sluice-out" : "sluice-in");
        uint32_t number = call->what == EVICTS ? evicted++ : fetched++;
        assert_int_equal(call->chunk, call->what == EVICTS ? number : FRAMES + number);
        assert_true(call->submitted >= FIRST + number);
        if (call->what == FETCHES) assert_true(call->out_done >= number + 1); /* its frame is free */
        /* It is not done before it is made. */
        assert_true(call->what == EVICTS ? call->out_done <= number : call->in_done <= FRAMES + number);
    }
    assert_true(evicted == FRAMES && fetched == FRAMES);
    assert_int_equal(sl_backend_host_books(&host)->peak_resident_bytes, FRAMES * CHUNK);
}

/* However far the launches are ahead of the device. */
static void few_movements_are_under_way(void **state)
{
    (void)state;
    hold_waits(true);
    assert_int_equal(sl_daemon_start(schedule, MOVERS, &daemon_of), SL_OK);
    carry_out_one_by_one(false);
    submit(FIRST + FRAMES);
    await(&seen.waiting, 1);
    assert_true(seen.moved <= MOVERS);
    hold_waits(false);
    await(&seen.moved, FRAMES);
    sl_daemon_delete(daemon_of, false);
    uint32_t moved = 0, waited = 0;
    for (uint32_t i = 0; i < seen.call_count; i++) {
        moved += seen.calls[i].what == EVICTS;
        waited += seen.calls[i].what == WAITS;
        assert_true(moved <= waited + MOVERS);
    }
}

/* The chunk leaves when those who use it are done, as far as the fence says so. */
static void an_eviction_waits_for_its_fence(void **state)
{
    (void)state;
    enum { USED, BY_ANOTHER, HELD };
    struct sl_fence *fence = sl_schedule_fence(schedule);
    assert_int_equal(backend.event_new(backend.self, &fence->events[5]), SL_OK);
    atomic_store(&fence->streams, (uint64_t)1 << 5);
    sl_fences_put(&schedule->fences, fence, FIRST);
    for (sl_chunk c = USED; c <= HELD; c++)
        atomic_store(&sl_arena_record(arena, c)->users, (uint64_t)1 << (c == BY_ANOTHER ? 6 : 5));
    assert_int_equal(sl_daemon_start(schedule, MOVERS, &daemon_of), SL_OK);
    uint32_t waited = 0;
    for (sl_chunk c = USED; c <= HELD; c++) {
        struct sl_plan_action action = {SL_ACTION_EVICT, c, FIRST, FIRST + 1, SL_NONE};
        atomic_store(&migrator.held, c == HELD); /* it might wait for the program for ever */
        carry_out(&action, 1);
        submit(FIRST);
        await(&seen.moved, c + 1);
    }
    sl_daemon_delete(daemon_of, false);
    for (uint32_t i = 0, moved = 0; i < seen.call_count; i++) {
        bool waits = seen.calls[i].what == WAITS && seen.calls[i].event == fence->events[5];
        waited += waits;
        if (waits) assert_int_equal(moved, USED);
        moved += seen.calls[i].what == EVICTS;
    }
    assert_int_equal(waited, 1);
    assert_int_equal(atomic_load(&fence->holders), 0); /* else it never serves again */
}

/* What was freed is discarded, and not copied, though the program does nothing that records the point. */
static void points_are_recorded_for_a_program_that_pauses(void **state)
{
    (void)state;
    static struct sl_frees frees;
    const struct sl_free_stream where = {backend.stream_in(backend.self), 1};
    uint64_t address = sl_arena_record(arena, 0)->address;
    assert_int_equal(sl_frees_init(&frees, &backend), SL_OK);
    migrator.frees = &frees;
    sl_frees_add(&frees, address, address + CHUNK, sl_points_open(&frees, &where));
    sl_arena_give(arena, 0);
    assert_true(sl_schedule_is_open(schedule, 0));
    assert_false(sl_schedule_is_open(schedule, 1));
    assert_int_equal(sl_daemon_start(schedule, MOVERS, &daemon_of), SL_OK);
    struct sl_plan_action action = {SL_ACTION_DISCARD, 0, FIRST, FIRST + 1, SL_NONE};
    carry_out(&action, 1);
    submit(FIRST + 1);
    await(&seen.moved, 1);
    sl_daemon_delete(daemon_of, false);
    assert_int_equal(seen.calls[seen.call_count - 1].what, DISCARDS);
    assert_false(sl_schedule_is_open(schedule, 0));
    sl_frees_close(&frees, false);
}

/* What was begun is complete: the schedule knows of every movement that there was. What was only decided
 * stays where it is. */
static void a_stop_ends_between_movements(void **state)
{
    (void)state;
    assert_int_equal(sl_daemon_start(schedule, MOVERS, &daemon_of), SL_OK);
    carry_out_one_by_one(true);
    submit(FIRST + FRAMES);
    await(&seen.moved, 3);
    sl_daemon_delete(daemon_of, false);
    uint32_t decided = atomic_load(&schedule->next_out) + atomic_load(&schedule->next_in);
    assert_in_range(decided - seen.moved, 0, 2 * MOVERS);
    assert_int_equal(seen.ended, 2);
    sl_daemon_delete(NULL, false);
    sl_daemon_stop(NULL, true);
}

/* Holds the daemon's threads between its news and whether it is to end, until it was told to. */
static void hold_until_told(enum sl_delay_place place)
{
    if (place == SL_DELAY_STOPPED) hold_waits(false);
    if (place != SL_DELAY_NEWS) return;
    pthread_mutex_lock(&seen.lock);
    seen.looking++;
    pthread_cond_broadcast(&seen.changed);
    while (seen.holds_waits) pthread_cond_wait(&seen.changed, &seen.lock);
    pthread_mutex_unlock(&seen.lock);
}

/* It would wait for ever for news that it has: an end while its threads begin to look for work. */
static void a_stop_while_it_looks_is_seen(void **state)
{
    (void)state;
    hold_waits(true);
    sl_test_delay_hook = hold_until_told;
    assert_int_equal(sl_daemon_start(schedule, MOVERS, &daemon_of), SL_OK);
    await(&seen.looking, 2);
    sl_daemon_delete(daemon_of, false);
    sl_test_delay_hook = NULL;
    assert_int_equal(seen.ended, 2);
}

static _Atomic bool decided;

/* As a launch does that needs a chunk for itself: between the thread's look for movements and its look at the
 * plan. The second one to leave waits for one that this thread is to bring. */
static void decide_meanwhile(enum sl_delay_place place)
{
    char name[16] = "";
    if (place != SL_DELAY_PEEK) return;
    /* A thread gets its name when it has begun. */
    while (pthread_getname_np(pthread_self(), name, sizeof name) || strncmp(name, "sluice-", 7))
        sched_yield();
    if (strcmp(name, "sluice-in") != 0 || atomic_exchange(&decided, true)) return;
    sl_migrator_lock(&migrator);
    uint64_t left = sl_migrator_evict(&migrator, 0, NULL, SL_CAUSE_DEMAND);
    sl_migrator_fetch(&migrator, FRAMES + 1, CHUNK, left, SL_CAUSE_DEMAND);
    sl_migrator_evict(&migrator, FRAMES + 1, NULL, SL_CAUSE_DEMAND);
    sl_migrator_unlock(&migrator);
}

/* The plan's next step needs room behind a movement that the thread itself has yet to make way for. */
static void who_decides_waits_for_no_room_that_is_to_come(void **state)
{
    (void)state;
    struct sl_plan_action action = {SL_ACTION_FETCH, FRAMES, FIRST, FIRST + 1, SL_NONE};
    atomic_store(&decided, false);
    sl_link_direction_patience_s = 1; /* in which nothing would go on */
    sl_test_delay_hook = decide_meanwhile;
    carry_out(&action, 1);
    sl_schedule_submitted(schedule, FIRST);
    assert_int_equal(sl_daemon_start(schedule, MOVERS, &daemon_of), SL_OK);
    await(&seen.moved, 4);
    bool ended = atomic_load(&migrator.out.ended) || atomic_load(&migrator.in.ended);
    sl_daemon_delete(daemon_of, false);
    sl_test_delay_hook = NULL;
    sl_link_direction_patience_s = 10;
    assert_false(ended);
    assert_int_equal(sl_backend_host_books(&host)->peak_resident_bytes, FRAMES * CHUNK);
}

/* At the process's end, when the device may never finish. Should it do so after all, nothing is moved. */
static void a_thread_that_waits_is_left_there(void **state)
{
    (void)state;
    hold_waits(true);
    assert_int_equal(sl_daemon_start(schedule, MOVERS, &daemon_of), SL_OK);
    carry_out_one_by_one(false);
    submit(FIRST + FRAMES);
    await(&seen.waiting, 1);
    static struct sl_daemon *volatile left; /* with the thread, so it is not freed */
    left = daemon_of;
    uint32_t moved = seen.moved;
    sl_daemon_stop(left, true);
    await(&seen.ended, 1); /* the other one */
    hold_waits(false);
    await(&seen.ended, 2);
    assert_int_equal(seen.moved, moved);
}

static void note_looks(enum sl_delay_place place)
{
    if (place == SL_DELAY_STOPPED) hold_waits(false);
    if (place != SL_DELAY_LANDING) return;
    pthread_mutex_lock(&seen.lock);
    seen.looking++;
    pthread_cond_broadcast(&seen.changed);
    pthread_mutex_unlock(&seen.lock);
}

/* A movement waits for one that nobody carries out any more. */
static void a_stop_does_not_wait_for_what_was_not_begun(void **state)
{
    (void)state;
    hold_waits(true);
    sl_link_direction_patience_s = 3600; /* nobody waits so long */
    sl_test_delay_hook = note_looks;
    assert_int_equal(sl_daemon_start(schedule, MOVERS, &daemon_of), SL_OK);
    sl_migrator_lock(&migrator);
    uint64_t begun = sl_migrator_evict(&migrator, 0, NULL, SL_CAUSE_DEMAND);
    uint64_t left = sl_migrator_evict(&migrator, 1, NULL, SL_CAUSE_DEMAND);
    uint64_t back = sl_migrator_fetch(&migrator, 1, CHUNK, 0, SL_CAUSE_DEMAND);
    sl_migrator_unlock(&migrator);
    await(&seen.waiting, 1); /* for the fetch of the first */
    await(&seen.looking, 1); /* whether the second has left */
    sl_daemon_delete(daemon_of, false);
    sl_test_delay_hook = NULL;
    sl_link_direction_patience_s = 10;
    assert_int_equal(seen.ended, 2);
    assert_int_equal(seen.moved, 1);
    assert_true(sl_migrator_done(&migrator, &migrator.out, begun));
    assert_int_equal(sl_migrator_wait_host(&migrator, &migrator.out, left), SL_ERR_DRIVER);
    assert_int_equal(sl_migrator_wait_host(&migrator, &migrator.in, back), SL_ERR_DRIVER);
}

/* What they got before that is known holds nobody up. */
static void without_the_context_nobody_waits(void **state)
{
    (void)state;
    seen.attached = SL_ERR_DRIVER;
    hold_waits(true);
    sl_link_direction_patience_s = 3600; /* nobody waits so long */
    assert_int_equal(sl_daemon_start(schedule, 3, &daemon_of), SL_OK);
    sl_lock(&migrator.out.lock);
    uint64_t left = sl_migrator_evict(&migrator, 0, NULL, SL_CAUSE_DEMAND);
    sl_unlock(&migrator.out.lock);
    hold_waits(false);
    assert_int_equal(sl_migrator_wait_host(&migrator, &migrator.out, left), SL_ERR_DRIVER);
    sl_daemon_delete(daemon_of, false);
    sl_link_direction_patience_s = 10;
    assert_int_equal(seen.moved, 0);
}

/* Threads that the driver does not want leave the work to the launches. */
static void without_the_context_nothing_is_moved(void **state)
{
    (void)state;
    seen.attached = SL_ERR_DRIVER;
    assert_int_equal(sl_daemon_start(schedule, MOVERS, &daemon_of), SL_OK);
    await(&seen.ended, 2);
    carry_out_one_by_one(true);
    submit(FIRST + FRAMES);
    sl_daemon_delete(daemon_of, false);
    assert_int_equal(seen.moved, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(launches_are_followed, start, stop),
        cmocka_unit_test_setup_teardown(few_movements_are_under_way, start, stop),
        cmocka_unit_test_setup_teardown(an_eviction_waits_for_its_fence, start, stop),
        cmocka_unit_test_setup_teardown(points_are_recorded_for_a_program_that_pauses, start, stop),
        cmocka_unit_test_setup_teardown(a_stop_ends_between_movements, start, stop),
        cmocka_unit_test_setup_teardown(a_stop_while_it_looks_is_seen, start, stop),
        cmocka_unit_test_setup_teardown(who_decides_waits_for_no_room_that_is_to_come, start, stop),
        cmocka_unit_test_setup_teardown(a_thread_that_waits_is_left_there, start, stop),
        cmocka_unit_test_setup_teardown(a_stop_does_not_wait_for_what_was_not_begun, start, stop),
        cmocka_unit_test_setup_teardown(without_the_context_nothing_is_moved, start, stop),
        cmocka_unit_test_setup_teardown(without_the_context_nobody_waits, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
