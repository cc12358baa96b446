/* The waits and checks that keep data, one at a time: each scenario is right, and is wrong without its guard
 * (src/base/test_hooks.h). What is ordered behind what is followed by clocks, one entry for each stream, so
 * no device has to be late for a missing wait to show.
 *
 * usage: guards
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/test_hooks.h"
#include "core/core.h"
#include "tests/host/backend_host.h"
#include "move/reuse.h"

#define CHUNK (2 * SL_MIB)

enum { A, B, C, OUT, IN, STREAMS };

/* How far each stream has come, and what each is known to come behind. */
static int own[STREAMS]; /* their addresses are the program's streams */
static struct clock {
    unsigned at[STREAMS];
} clocks[STREAMS], discarded;
static struct {
    sl_event_handle event;
    struct clock clock;
} events[4096];
static int event_count, discards, host_waits, capturing = -1;
static struct sl_backend host;
static pthread_mutex_t books = PTHREAD_MUTEX_INITIALIZER;
static void (*while_discarding)(void), (*while_waiting)(void), (*while_recording)(void), (*beside)(void);
static bool refuses, says_nothing; /* a driver that neither records nor waits; that answers no question */

static sl_stream stream(int s)
{
    return s == OUT ? host.stream_out(host.self) : s == IN ? host.stream_in(host.self) : &own[s];
}

static _Thread_local int mine = A; /* what CU_STREAM_PER_THREAD names in this thread */

static int number_of(sl_stream handle)
{
    if (handle == SL_STREAM_PER_THREAD) return mine;
    for (int s = 0; s < STREAMS; s++)
        if (stream(s) == handle) return s;
    fprintf(stderr, "an unknown stream\n");
    exit(2);
}

static struct clock *clock_of(sl_event_handle event)
{
    for (int i = 0; i < event_count; i++)
        if (events[i].event == event) return &events[i].clock;
    if (event_count == 4096) exit(2);
    events[event_count].event = event;
    return &events[event_count++].clock;
}

static enum sl_status event_record(void *self, sl_event_handle event, sl_stream handle)
{
    if (refuses) return SL_ERR_DRIVER;
    if (while_recording) while_recording();
    pthread_mutex_lock(&books);
    *clock_of(event) = clocks[number_of(handle)];
    pthread_mutex_unlock(&books);
    return host.event_record(self, event, handle);
}

static enum sl_status stream_wait(void *self, sl_stream handle, sl_event_handle event)
{
    if (while_waiting && handle == stream(OUT)) while_waiting();
    if (beside && handle == stream(C)) beside();
    pthread_mutex_lock(&books);
    struct clock *waits = &clocks[number_of(handle)];
    const struct clock *behind = clock_of(event);
    for (int s = 0; s < STREAMS; s++)
        if (behind->at[s] > waits->at[s]) waits->at[s] = behind->at[s];
    pthread_mutex_unlock(&books);
    return host.stream_wait(self, handle, event);
}

static enum sl_status discard(void *self, uint64_t address, uint64_t bytes, sl_stream on)
{
    if (while_discarding) while_discarding();
    pthread_mutex_lock(&books);
    clocks[OUT].at[OUT]++;
    discarded = clocks[OUT];
    discards++;
    pthread_mutex_unlock(&books);
    return host.discard(self, address, bytes, on);
}

/* Events are never seen to be done: what waits, waits on the device. */
static struct sl_answer event_done(void *self, sl_event_handle event)
{
    (void)self, (void)event;
    return sl_answer_of(false);
}

static struct sl_answer stream_capturing(void *self, sl_stream handle)
{
    (void)self;
    return says_nothing ? sl_no_answer() : sl_answer_of(capturing >= 0 && handle == stream(capturing));
}

/* It has nothing to do with the others. */
static struct sl_answer stream_loose(void *self, sl_stream handle)
{
    (void)self;
    return sl_answer_of(handle == stream(A));
}

static enum sl_status stream_finish(void *self, sl_stream handle)
{
    return refuses ? SL_ERR_DRIVER : host.stream_finish(self, handle);
}

static enum sl_status event_wait(void *self, sl_event_handle event)
{
    host_waits++;
    return host.event_wait(self, event);
}

static struct sl_core *start(void)
{
    static struct sl_backend backend;
    setenv("SLUICE_DEVICE_BUDGET", "64M", 1);
    setenv("SLUICE_HOST_LIMIT", "1G", 1);   /* one slab, */
    setenv("SLUICE_VIRTUAL_SIZE", "1G", 1); /* and the device keeps nothing beyond it */
    setenv("SLUICE_CHUNK", "2M", 1);
    setenv("SLUICE_POLICY", "lru", 1);
    setenv("SLUICE_DAEMON", "inline", 1);
    sl_runtime_load();
    if (sl_backend_host_new(SL_GIB, &host)) exit(2);
    backend = host;
    backend.event_record = event_record;
    backend.stream_wait = stream_wait;
    backend.discard = discard;
    backend.event_done = event_done;
    backend.event_wait = event_wait;
    backend.stream_capturing = stream_capturing;
    backend.stream_loose = stream_loose;
    backend.stream_finish = stream_finish;
    if (sl_runtime_start(&backend)) exit(2);
    return sl_core_running();
}

/* Work on the stream, which uses the memory if it is told of any. */
static void work(int s, uint64_t address)
{
    struct sl_launch launch = {.kind = SL_LAUNCH_MEMSET, .stream = stream(s)};
    if (address) launch.spans[launch.span_count++] = (struct sl_span){address, CHUNK, true};
    sl_runtime_launch_begin(&launch);
    clocks[s].at[s]++;
    sl_runtime_launch_end(&launch, true);
}

static uint64_t take(int s)
{
    uint64_t address = 0;
    if (sl_runtime_alloc(CHUNK, 1, 0, &(sl_stream){stream(s)}, &address)) exit(2);
    return address;
}

static uint64_t take_for_all(void)
{
    uint64_t address = 0;
    if (sl_runtime_alloc(CHUNK, 1, 0, NULL, &address)) exit(2);
    return address;
}

static void give(uint64_t address, int s)
{
    if (sl_runtime_free_async(address, stream(s), NULL)) exit(2);
}

/* As a launch or the daemon does, in front of which points are recorded. */
static void release(struct sl_core *core, uint64_t address)
{
    sl_frees_flush(&core->reuse.frees);
    sl_lock(&core->migrator.out.lock);
    sl_migrator_evict(&core->migrator, sl_arena_chunk(&core->arena, address), NULL, SL_CAUSE_DEMAND);
    sl_unlock(&core->migrator.out.lock);
}

/* All that is left of host memory, so that what comes next takes what was freed. */
static void fill(void)
{
    uint64_t address;
    while (sl_runtime_alloc(CHUNK, 2, 0, NULL, &address) == SL_OK) {
    }
}

/* Whether the stream comes behind all that the other one did until now. */
static bool is_behind(int s, int other)
{
    return clocks[s].at[other] >= clocks[other].at[other];
}

static bool is_behind_discard(int s)
{
    return clocks[s].at[OUT] >= discarded.at[OUT];
}

/* Memory that stream A used and freed; there is no other left. */
static struct sl_core *start_with_freed(uint64_t *memory)
{
    struct sl_core *core = start();
    *memory = take(A);
    work(A, *memory);
    fill();
    give(*memory, A);
    return core;
}

/* --- scenarios --- */

static bool another_stream_waits_for_the_free(void)
{
    uint64_t memory;
    start_with_freed(&memory);
    return take(B) == memory && is_behind(B, A) && !is_behind(C, A);
}

static bool any_stream_waits_behind_a_plain_allocation(void)
{
    uint64_t memory;
    start_with_freed(&memory);
    bool same = take_for_all() == memory;
    work(C, 0); /* by whatever pointers */
    return same && is_behind(C, A);
}

static bool a_discard_waits_for_the_free(void)
{
    struct sl_core *core = start();
    uint64_t memory = take(A);
    work(A, memory);
    work(B, memory);
    clocks[A].at[B] = clocks[B].at[B]; /* by an event of the program's */
    give(memory, A);
    release(core, memory);
    return discards == 1 && discarded.at[A] >= clocks[A].at[A] && discarded.at[B] >= clocks[B].at[B];
}

/* A message that a peer may send only after this rank's next launch. */
static void receive(int s, uint64_t address)
{
    struct sl_launch launch = {.kind = SL_LAUNCH_COLLECTIVE,
                               .stream = stream(s),
                               .spans = {{address, CHUNK, true}},
                               .span_count = 1};
    sl_runtime_launch_begin(&launch);
    clocks[s].at[s]++;
    sl_runtime_launch_end(&launch, true);
}

static bool no_discard_waits_behind_a_receive(void)
{
    struct sl_core *core = start();
    uint64_t memory = take(A);
    receive(A, memory);
    give(memory, A);
    release(core, memory);
    return discards == 0 && !is_behind(OUT, A);
}

/* Neither what leaves after it was used there. */
static bool no_eviction_waits_behind_a_receive(void)
{
    static struct sl_fence fence;
    struct sl_core *core = start();
    uint64_t memory = take(A);
    receive(A, memory);
    work(B, memory);
    if (!sl_backend_has_event(&core->backend, &fence.events[0]) ||
        !sl_backend_has_event(&core->backend, &fence.events[1]))
        exit(2);
    for (int s = A; s <= B; s++) {
        event_record(core->backend.self, fence.events[s], stream(s));
        fence.behind[s] = sl_behind_number(&core->migrator.behind, (uint32_t)s);
    }
    fence.streams = 3;
    sl_lock(&core->migrator.out.lock);
    sl_migrator_evict(&core->migrator, sl_arena_chunk(&core->arena, memory), &fence, SL_CAUSE_PLAN);
    sl_unlock(&core->migrator.out.lock);
    return !is_behind(OUT, A) && is_behind(OUT, B);
}

/* Nor do all streams, because anybody gets the memory of one that receives. */
static bool no_plain_allocation_waits_behind_a_receive(void)
{
    uint64_t memory, other;
    start();
    if (sl_runtime_alloc(4096, 1, 0, &(sl_stream){stream(A)}, &memory)) exit(2);
    receive(A, memory);
    give(memory, A);
    if (sl_runtime_alloc(4096, 1, 0, NULL, &other)) exit(2);
    work(C, 0);
    return other != memory && !is_behind(C, A);
}

static bool a_stream_waits_for_the_discard(void)
{
    uint64_t memory;
    struct sl_core *core = start_with_freed(&memory);
    release(core, memory);
    return take(A) == memory && discards == 1 && is_behind_discard(A);
}

static bool all_streams_wait_for_the_discard(void)
{
    uint64_t memory;
    struct sl_core *core = start_with_freed(&memory);
    release(core, memory);
    bool same = take_for_all() == memory;
    work(C, 0);
    return same && discards == 1 && is_behind_discard(C);
}

static uint64_t take_in_own(void)
{
    uint64_t address = 0;
    if (sl_runtime_alloc(CHUNK, 1, 0, &(sl_stream){SL_STREAM_PER_THREAD}, &address)) exit(2);
    return address;
}

static void work_in_own(uint64_t address)
{
    struct sl_launch launch = {.kind = SL_LAUNCH_MEMSET, .stream = SL_STREAM_PER_THREAD};
    if (address) launch.spans[launch.span_count++] = (struct sl_span){address, CHUNK, true};
    sl_runtime_launch_begin(&launch);
    clocks[mine].at[mine]++;
    sl_runtime_launch_end(&launch, true);
}

static void *take_beside(void *memory)
{
    mine = B;
    work_in_own(0);
    *(uint64_t *)memory = take_in_own();
    return NULL;
}

/* By the same handle another thread would record the point in its own stream. */
static bool a_threads_own_stream_is_waited_for_in_anothers(void)
{
    start();
    pthread_t other;
    uint64_t memory = take_in_own(), again = 0;
    work_in_own(memory);
    fill();
    if (sl_runtime_free_async(memory, SL_STREAM_PER_THREAD, NULL)) exit(2);
    if (pthread_create(&other, NULL, take_beside, &again) || pthread_join(other, NULL)) exit(2);
    return again == memory && is_behind(B, A);
}

/* Its point would have to be recorded in a stream that may be full, under a lock. */
static bool what_has_no_recorded_point_is_copied(void)
{
    uint64_t memory;
    struct sl_core *core = start_with_freed(&memory);
    sl_lock(&core->migrator.out.lock);
    sl_migrator_evict(&core->migrator, sl_arena_chunk(&core->arena, memory), NULL, SL_CAUSE_DEMAND);
    sl_unlock(&core->migrator.out.lock);
    return discards == 0;
}

static bool what_is_taken_again_is_copied(void)
{
    uint64_t memory;
    struct sl_core *core = start_with_freed(&memory);
    bool same = take(A) == memory;
    release(core, memory);
    return same && discards == 0;
}

static bool what_is_taken_while_it_is_away_is_copied(void)
{
    uint64_t memory;
    struct sl_core *core = start_with_freed(&memory);
    release(core, memory);
    bool same = take(A) == memory;
    sl_lock(&core->migrator.in.lock);
    sl_migrator_fetch(&core->migrator, sl_arena_chunk(&core->arena, memory), CHUNK, 0, SL_CAUSE_PLAN);
    sl_unlock(&core->migrator.in.lock);
    release(core, memory);
    return same && discards == 1;
}

static bool what_is_taken_is_not_discarded_in_host_memory(void)
{
    uint64_t memory;
    struct sl_core *core = start_with_freed(&memory);
    release(core, memory);
    bool same = take(A) == memory;
    sl_lock(&core->migrator.out.lock);
    sl_migrator_discard(&core->migrator, sl_arena_chunk(&core->arena, memory));
    sl_unlock(&core->migrator.out.lock);
    return same && discards == 1;
}

/* Another thread launches on the stream while this one makes it wait. */
static bool other_is_behind;

static void launch_beside(void)
{
    beside = NULL;
    work(C, 0);
    other_is_behind = is_behind(C, A) && (!discards || is_behind_discard(C));
}

static bool another_thread_does_not_slip_in_front_of_the_wait(void)
{
    uint64_t memory;
    start_with_freed(&memory);
    bool same = take_for_all() == memory;
    beside = launch_beside;
    work(C, 0);
    return same && !beside && other_is_behind;
}

static bool nor_in_front_of_the_wait_for_the_discard(void)
{
    uint64_t memory;
    struct sl_core *core = start_with_freed(&memory);
    release(core, memory);
    bool same = take_for_all() == memory;
    beside = launch_beside;
    work(C, 0);
    return same && discards == 1 && !beside && other_is_behind;
}

/* The memory is taken by another thread between the moment when its content is dead and the discard. */
static struct sl_core *discarding;
static uint64_t wanted;
static pthread_t taker;

static void *take_wanted(void *unused)
{
    (void)unused;
    wanted = take(A);
    return NULL;
}

static _Atomic bool taken;

/* It is the taker's, and known what that has to wait for. */
static void note_taken(enum sl_delay_place place)
{
    if (place == SL_DELAY_ALLOCATED) atomic_store(&taken, true);
}

static void let_it_be_taken(void)
{
    while_discarding = while_waiting = NULL;
    sl_test_delay_hook = note_taken;
    pthread_create(&taker, NULL, take_wanted, NULL);
    while (!atomic_load(&taken)) sched_yield();
    sl_test_delay_hook = NULL;
}

static bool who_takes_it_meanwhile_sees_the_discard(void)
{
    uint64_t memory;
    discarding = start_with_freed(&memory);
    while_discarding = let_it_be_taken;
    release(discarding, memory);
    pthread_join(taker, NULL);
    return wanted == memory && discards == 1 && is_behind_discard(A);
}

/* The same before the discard looks at the frees, which whoever takes the memory has no reason to wait for.
 */
static bool who_takes_it_before_hides_no_free(void)
{
    discarding = start();
    struct sl_fence fence = {0};
    uint64_t memory = take(A);
    work(A, memory);
    unsigned used = clocks[A].at[A];
    uint32_t number = sl_stream_number(&discarding->streams, stream(A));
    if (host.event_new(host.self, &fence.events[number])) exit(2);
    event_record(host.self, fence.events[number], stream(C)); /* so that something is waited for */
    atomic_store(&fence.streams, (uint64_t)1 << number);
    fill();
    give(memory, A);
    while_waiting = let_it_be_taken;
    sl_lock(&discarding->migrator.out.lock);
    sl_migrator_evict(&discarding->migrator, sl_arena_chunk(&discarding->arena, memory), &fence,
                      SL_CAUSE_DEMAND);
    sl_unlock(&discarding->migrator.out.lock);
    pthread_join(taker, NULL);
    return wanted == memory && !while_waiting && (!discards || discarded.at[A] >= used);
}

/* While a thread waits for the context another one frees. */
static bool what_is_freed_during_a_wait_is_not_over(void)
{
    start();
    uint64_t memory = take(A);
    fill();
    struct sl_sync_mark before = sl_runtime_synchronizing();
    give(memory, A);
    clocks[A].at[A]++;
    uint64_t again = take(A);
    work(A, again);
    give(again, A);
    sl_runtime_synchronized(before);
    return take(B) == memory && is_behind(B, A);
}

static bool what_is_launched_during_a_wait_is_not_over(void)
{
    start();
    uint64_t memory = take(A);
    fill();
    struct sl_sync_mark before = sl_runtime_synchronizing();
    work(A, memory);
    sl_runtime_synchronized(before);
    sl_runtime_free(memory, NULL);
    return take(B) == memory && is_behind(B, A);
}

static bool a_number_that_was_another_streams_is_no_reason_not_to_wait(void)
{
    start();
    uint64_t memory = take(A);
    fill();
    struct sl_sync_mark before = sl_runtime_synchronizing();
    clocks[A].at[A]++;
    give(memory, A);
    sl_runtime_synchronized(before);
    sl_runtime_stream_gone(stream(A));
    return take(B) == memory && is_behind(B, A);
}

static bool what_a_destroyed_stream_left_is_waited_for(void)
{
    start();
    uint64_t memory = take(A);
    work(A, memory);
    sl_runtime_stream_gone(stream(A));
    sl_runtime_free(memory, NULL);
    return host_waits > 0; /* there is no stream any more that could be waited for */
}

static bool two_threads_free_on_one_stream(void)
{
    struct sl_core *core = start();
    const struct sl_free_stream where = {stream(A), 1};
    struct sl_points *first = sl_points_record(&core->reuse.frees, &where, 1);
    clocks[A].at[A]++;
    struct sl_points *second = sl_points_record(&core->reuse.frees, &where, 1);
    struct sl_waits waits = {0};
    sl_frees_add(&core->reuse.frees, 4096, 8192, second);
    sl_frees_add(&core->reuse.frees, 0, 4096, first);
    sl_frees_take(&core->reuse.frees, 0, 8192, 2, &waits);
    sl_waits_enqueue(&waits, &core->backend, stream(B));
    return is_behind(B, A);
}

static bool what_a_stream_had_before_it_captured_is_waited_for(void)
{
    start();
    uint64_t memory = take(A);
    work(A, memory);
    sl_runtime_capture_may_begin(stream(A));
    sl_runtime_capture(1);
    capturing = A;
    sl_runtime_free(memory, NULL);
    return host_waits > 0; /* nothing can be recorded there now */
}

/* As soon as the memory can be had another thread takes it. */
static void take_at_once(enum sl_delay_place place)
{
    if (place != SL_DELAY_FREED) return;
    sl_test_delay_hook = NULL;
    wanted = take(B);
}

static bool memory_is_not_given_out_before_its_points_are_known(void)
{
    start();
    uint64_t memory = take(A);
    work(A, memory);
    fill();
    sl_test_delay_hook = take_at_once;
    give(memory, A);
    return wanted == memory && is_behind(B, A);
}

static bool what_cannot_be_recorded_is_not_given_out(void)
{
    uint64_t address;
    struct sl_core *core = start();
    uint64_t memory = take(A);
    work(A, memory);
    fill();
    refuses = true;
    give(memory, A);
    sl_frees_flush(&core->reuse.frees);
    bool kept = sl_runtime_alloc(CHUNK, 1, 0, &(sl_stream){stream(B)}, &address) != SL_OK &&
                sl_runtime_alloc(CHUNK, 1, 0, NULL, &address) != SL_OK;
    refuses = false;
    return kept && take(B) == memory && is_behind(B, A); /* and is tried again */
}

static bool a_launch_that_may_be_captured_uses_memory(void)
{
    start();
    uint64_t memory = take_for_all();
    fill();
    sl_runtime_capture(1);
    says_nothing = true;
    work(C, memory);
    says_nothing = false;
    sl_runtime_capture(-1);
    sl_runtime_free(memory, NULL);
    return take(B) == memory && is_behind(B, C);
}

static _Atomic bool destroyed, destroyed_meanwhile;
static const struct sl_frees *held; /* its epoch changes when a thread waits for holders */

static void *destroy(void *nothing)
{
    (void)nothing;
    sl_runtime_stream_gone(stream(A));
    atomic_store(&destroyed, true);
    return NULL;
}

static void destroy_meanwhile(void)
{
    static pthread_t destroyer;
    uint32_t epoch = atomic_load(&held->epoch);
    while_recording = NULL;
    if (pthread_create(&destroyer, NULL, destroy, NULL)) exit(2);
    while (atomic_load(&held->epoch) == epoch && !atomic_load(&destroyed)) sched_yield();
    atomic_store(&destroyed_meanwhile, atomic_load(&destroyed));
}

static bool a_stream_lives_while_an_event_is_recorded_on_it(void)
{
    struct sl_core *core = start();
    uint64_t memory = take(A);
    work(A, memory);
    give(memory, A);
    held = &core->reuse.frees;
    while_recording = destroy_meanwhile;
    sl_frees_flush(&core->reuse.frees);
    while (!atomic_load(&destroyed)) sched_yield();
    return !atomic_load(&destroyed_meanwhile);
}

static _Atomic bool held_back, given;

static void note_held_back(enum sl_delay_place place)
{
    if (place == SL_DELAY_HELD_BACK) atomic_store(&held_back, true);
}

static void *give_to_all(void *memory)
{
    sl_runtime_free(*(uint64_t *)memory, NULL);
    atomic_store(&given, true);
    return NULL;
}

/* A wait for a stream that captures ends its capture. */
static bool no_free_looks_at_streams_while_a_capture_begins(void)
{
    pthread_t other;
    start();
    uint64_t memory = take(A);
    work(A, memory);
    sl_runtime_capture_may_begin(stream(A));
    struct sl_capture_begin begin = sl_runtime_capture_begins();
    sl_test_delay_hook = note_held_back;
    if (pthread_create(&other, NULL, give_to_all, &memory)) exit(2);
    while (!atomic_load(&held_back) && !atomic_load(&given)) sched_yield();
    bool waits = !atomic_load(&given);
    sl_runtime_capture_begun(begin);
    pthread_join(other, NULL);
    return waits;
}

static const struct scenario {
    enum sl_guard guard;
    const char *name;
    bool (*is_right)(void);
} scenarios[] = {
#define SCENARIO(guard, function)                                                                            \
    {                                                                                                        \
        SL_GUARD_##guard, #guard ": " #function, function                                                    \
    }
    SCENARIO(POINT_OF_FREE, another_stream_waits_for_the_free),
    SCENARIO(POINT_OF_FREE, a_discard_waits_for_the_free),
    SCENARIO(OPEN_POINT_IS_RECORDED, another_stream_waits_for_the_free),
    SCENARIO(OPEN_POINT_IS_RECORDED, any_stream_waits_behind_a_plain_allocation),
    SCENARIO(OPEN_POINT_IS_RECORDED, a_discard_waits_for_the_free),
    SCENARIO(OWN_STREAM_IS_RECORDED, a_threads_own_stream_is_waited_for_in_anothers),
    SCENARIO(OPEN_IS_NOT_DISCARDED, what_has_no_recorded_point_is_copied),
    SCENARIO(POINT_BEFORE_GIVEN, memory_is_not_given_out_before_its_points_are_known),
    SCENARIO(STREAM_WAITS, another_stream_waits_for_the_free),
    SCENARIO(STREAM_WAITS_DISCARD, a_stream_waits_for_the_discard),
    SCENARIO(ALL_WAIT, any_stream_waits_behind_a_plain_allocation),
    SCENARIO(ALL_WAIT_DISCARD, all_streams_wait_for_the_discard),
    SCENARIO(JOINED_AFTER_WAIT, another_thread_does_not_slip_in_front_of_the_wait),
    SCENARIO(JOINED_AFTER_WAIT, nor_in_front_of_the_wait_for_the_discard),
    SCENARIO(DISCARD_WAITS, a_discard_waits_for_the_free),
    SCENARIO(NOTHING_BEHIND_PEERS, no_discard_waits_behind_a_receive),
    SCENARIO(NOTHING_BEHIND_PEERS, no_eviction_waits_behind_a_receive),
    SCENARIO(NOTHING_BEHIND_PEERS, no_plain_allocation_waits_behind_a_receive),
    SCENARIO(NONE, what_is_taken_again_is_copied),
    SCENARIO(NONE, what_is_taken_while_it_is_away_is_copied),
    SCENARIO(NONE, what_is_taken_is_not_discarded_in_host_memory),
    SCENARIO(TAKEN_MEANWHILE, who_takes_it_before_hides_no_free),
    SCENARIO(DISCARD_IS_TOLD_FIRST, who_takes_it_meanwhile_sees_the_discard),
    SCENARIO(WORK_BEFORE_CAPTURE, what_a_stream_had_before_it_captured_is_waited_for),
    SCENARIO(WORK_OF_THE_GONE, what_a_destroyed_stream_left_is_waited_for),
    SCENARIO(SERIALS_DIFFER, a_number_that_was_another_streams_is_no_reason_not_to_wait),
    SCENARIO(LATER_BY_RECORDING, two_threads_free_on_one_stream),
    SCENARIO(PASSED_BEFORE, what_is_freed_during_a_wait_is_not_over),
    SCENARIO(QUIET_BEFORE, what_is_launched_during_a_wait_is_not_over),
    SCENARIO(UNSURE_IS_AHEAD, what_cannot_be_recorded_is_not_given_out),
    SCENARIO(UNKNOWN_IS_IN_USE, a_launch_that_may_be_captured_uses_memory),
    SCENARIO(HANDLES_ARE_HELD, a_stream_lives_while_an_event_is_recorded_on_it),
    SCENARIO(CAPTURE_BEGINS_ALONE, no_free_looks_at_streams_while_a_capture_begins),
};

/* --- locks: what docs/concurrency.md forbids ends a build with checks --- */

static struct sl_lock order, out, frees;

static void take_an_earlier_one(void)
{
    sl_lock(&out);
    sl_lock(&order);
}

static void wait_for_a_direction_under_order(void)
{
    sl_lock(&order);
    sl_lock(&out);
}

static void enqueue_under_order(void)
{
    sl_lock(&order);
    sl_check_may_enqueue();
}

static void enqueue_under_a_leaf(void)
{
    sl_lock(&out);
    sl_check_may_enqueue(); /* allowed */
    sl_lock(&frees);
    sl_check_may_enqueue();
}

static void (*const forbidden[])(void) = {take_an_earlier_one, wait_for_a_direction_under_order,
                                          enqueue_under_order, enqueue_under_a_leaf};

static bool ends(void (*breaks)(void))
{
    int status;
    fflush(NULL);
    pid_t child = fork();
    if (!child) {
        if (!freopen("/dev/null", "w", stderr)) _exit(2);
        breaks();
        _exit(0);
    }
    return waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static bool locks_are_checked(void)
{
    bool all = sl_lock_init(&order, SL_LOCK_ORDER, true) && sl_lock_init(&out, SL_LOCK_OUT, false) &&
               sl_lock_init(&frees, SL_LOCK_FREES, true);
    for (size_t i = 0; i < sizeof forbidden / sizeof *forbidden; i++) all &= ends(forbidden[i]);
    sl_lock(&order); /* what is allowed */
    all &= sl_try_lock(&out);
    sl_lock(&frees);
    sl_unlock(&frees);
    sl_unlock(&out);
    sl_unlock(&order);
    return all;
}

/* Whether the scenario is right without the guard; in a process of its own. */
static bool is_right(const struct scenario *scenario, enum sl_guard without)
{
    int status;
    char number[16];
    snprintf(number, sizeof number, "%d", (int)without);
    fflush(NULL);
    pid_t child = fork();
    if (!child) {
        setenv("SLUICE_TEST_MUTANT", number, 1);
        _exit(scenario->is_right() ? 0 : 1);
    }
    return waitpid(child, &status, 0) == child && status == 0;
}

int main(void)
{
    int failed = !locks_are_checked();
    printf("locks that are taken wrongly %s\n", failed ? "GO UNSEEN" : "are seen");
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        bool right = is_right(&scenarios[i], SL_GUARD_NONE);
        bool alone = scenarios[i].guard == SL_GUARD_NONE; /* kept by two checks, each of which would do */
        bool noticed = alone || !is_right(&scenarios[i], scenarios[i].guard);
        printf("%-80s %s%s\n", scenarios[i].name, right ? "right" : "WRONG",
               alone     ? ""
               : noticed ? ", and wrong without"
                         : ", AND RIGHT WITHOUT");
        failed += !right || !noticed;
    }
    return failed != 0;
}
