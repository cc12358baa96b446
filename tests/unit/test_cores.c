/* Several cores in one process: whose call it is, and whose memory. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core_fixture.h"

static const uint32_t offsets[] = {0}, sizes[] = {8};
static const struct sl_host_kernel kernel = {"kernel", 1, offsets, sizes};

static uint32_t start_another(void)
{
    static struct sl_backend backend;
    uint32_t number = 0;
    assert_int_equal(sl_backend_host_new(SL_GIB, &backend), SL_OK);
    assert_int_equal(sl_runtime_start_another(&backend, &number), SL_OK);
    return number;
}

static uint32_t accesses_of(uint64_t address)
{
    void *parameters[] = {&address};
    struct sl_launch launch = core_kernel(&kernel, parameters, 1);
    core_scan(&launch);
    return sl_core_running()->scanner.usage.access_count;
}

static void threads_and_addresses_say_whose_it_is(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    struct sl_core *first = sl_core_running();
    uint64_t of_first = core_take(SL_MIB);
    uint32_t owner = 7;
    assert_false(sl_cores_are_several());
    assert_int_equal(start_another(), 1);
    assert_true(sl_cores_are_several());
    assert_ptr_equal(sl_core_running(), first); /* a thread that never said which */
    sl_cores_turn_to(1);
    struct sl_core *second = sl_core_running();
    assert_ptr_not_equal(second, first);
    uint64_t of_second = core_take(SL_MIB);
    assert_ptr_equal(sl_core_of(of_first), first);
    assert_ptr_equal(sl_core_of(of_second), second);
    assert_ptr_equal(sl_core_of(42), second); /* nobody's: the thread's */
    assert_true(sl_cores_owner(of_first, &owner) && owner == 0);
    assert_true(sl_cores_owner(of_second, &owner) && owner == 1);
    assert_false(sl_cores_owner(42, &owner));
    assert_int_equal(sl_arena_chunk(&second->arena, of_first), SL_NONE);
    assert_int_equal(sl_arena_chunk(&first->arena, of_second), SL_NONE);
    /* What another device's memory is used for is not this one's to see. */
    assert_int_equal(accesses_of(of_second), 1);
    assert_int_equal(accesses_of(of_first), 0);
    struct sl_allocation found;
    assert_true(sl_runtime_find(of_first, &found) && found.bytes == SL_MIB);
    assert_int_equal(sl_runtime_free(of_first, NULL), SL_OK); /* from the other's thread */
    assert_false(sl_runtime_find(of_first, &found));
    assert_int_equal(first->placement.live_count, 0);
    sl_cores_turn_to(0);
    core_end_child(second->placement.live_count == 1);
}

static void a_launch_ends_where_it_began(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    struct sl_core *first = sl_core_running();
    uint64_t address = core_take(SL_MIB);
    void *parameters[] = {&address};
    struct sl_launch launch = core_kernel(&kernel, parameters, 1);
    sl_runtime_launch_begin(&launch);
    sl_cores_turn_to(start_another());
    assert_true(sl_ticks_submitted(&first->history.ticks) < launch.tick);
    sl_runtime_launch_end(&launch, true);
    assert_int_equal(sl_ticks_submitted(&first->history.ticks), launch.tick);
    sl_cores_turn_to(0);
    core_end_child(true);
}

static void one_ends_and_the_other_goes_on(void **state)
{
    (void)state;
    if (!core_in_child("thread")) return;
    uint64_t of_first = core_take(SL_MIB), again;
    uint32_t number = start_another(), owner;
    sl_cores_turn_to(number);
    uint64_t of_second = core_take(SL_MIB);
    sl_runtime_stop_one(number, true);
    assert_true(sl_runtime_running());
    assert_null(sl_core_running());
    assert_false(sl_cores_owner(of_second, &owner)); /* another's memory may come to lie there */
    assert_null(sl_core_at_rest(of_second));
    assert_int_equal(sl_runtime_alloc(SL_MIB, 1, 0, NULL, &again), SL_ERR_UNSUPPORTED);
    sl_cores_turn_to(0);
    assert_true(sl_cores_owner(of_first, &owner));
    assert_int_equal(sl_runtime_alloc(SL_MIB, 1, 0, NULL, &again), SL_OK);
    sl_runtime_stop_one(0, false);
    assert_false(sl_runtime_running());
    assert_non_null(sl_core_at_rest(of_first));
    _exit(0);
}

/* The next context of a device follows on the last one. Numbers are used again when there is no other, but
 * not the first one, and the slabs of a core that had the number before are nobody's. */
static void many_follow_each_other(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    uint64_t kept = core_take(SL_MIB), address = 0;
    uint32_t owner, before = 0;
    for (int c = 0; c < 3 * SL_MOST_CORES; c++) {
        uint32_t next = sl_cores_next(), number = start_another();
        assert_int_equal(number, next);
        assert_in_range(number, 1, SL_MOST_CORES - 1);
        if (c && c < SL_MOST_CORES - 1) assert_int_equal(number, before + 1);
        before = number;
        sl_cores_turn_to(number);
        assert_int_equal(sl_runtime_alloc(SL_MIB, 1, 0, NULL, &address), SL_OK);
        assert_true(sl_cores_owner(address, &owner) && owner == number);
        sl_runtime_stop_one(number, true);
        assert_false(sl_cores_owner(address, &owner));
    }
    assert_int_equal(sl_cores_started(), SL_MOST_CORES);
    for (uint32_t c = 1; c < SL_MOST_CORES; c++) start_another();
    assert_int_equal(sl_cores_next(), SL_MOST_CORES);
    core_end_child(sl_cores_owner(kept, &owner) && owner == 0);
}

/* And no file of the program is closed in it. */
static void a_child_has_none_of_them(void **state)
{
    (void)state;
    if (!core_in_child("thread")) return;
    uint64_t address = core_take(SL_MIB);
    int input = open("/dev/null", O_RDONLY);
    dup2(input, 0);
    start_another();
    int status;
    pid_t child = fork();
    if (!child) {
        sl_runtime_after_fork();
        bool is_closed = fcntl(0, F_GETFD) < 0;
        _exit(sl_runtime_running() || sl_core_of(address) || sl_core_numbered(1) || is_closed ? 1 : 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    core_end_child(status == 0);
}

/* What holds up streams, or captures, does so for all of them, also for those that come later, and for those
 * that have stopped, where other threads may still be inside calls. */
static void what_is_the_same_everywhere(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    sl_runtime_hold(1);
    sl_runtime_capture(1);
    const struct sl_core *second = sl_core_started(start_another());
    assert_true(sl_migrator_is_held(&second->migrator));
    assert_int_equal(second->streams.captures, 1);
    sl_runtime_hold(-1);
    sl_runtime_capture(-1);
    assert_false(sl_migrator_is_held(&second->migrator));
    assert_int_equal(second->streams.captures, 0);
    sl_runtime_stop_one(second->number, false);
    sl_runtime_capture(1);
    sl_runtime_capture_ends();
    assert_int_equal(sl_core_running()->streams.captures, 1);
    core_end_child(second->streams.captures == 1 && second->streams.capture_ends == 1);
}

static bool passed;

static struct sl_answer event_done(void *self, sl_event_handle event)
{
    (void)self, (void)event;
    return sl_answer_of(passed);
}

/* What is made to wait for another device's collective lies behind it as well. */
static void waits_for_another_s_collective(void **state)
{
    static int event, other_event, destroyed;
    sl_stream stream = &event;
    (void)state;
    if (!core_in_child("inline")) return;
    struct sl_core *first = sl_core_running(), *second = sl_core_started(start_another());
    first->backend.event_done = second->backend.event_done = event_done;
    sl_cores_turn_to(1);
    struct sl_launch collective = {.kind = SL_LAUNCH_COLLECTIVE};
    sl_runtime_event_recorded(&other_event, NULL); /* in front of it */
    sl_core_met_peers(second, &collective);
    sl_runtime_event_recorded(&event, NULL);
    sl_runtime_event_recorded(&destroyed, NULL);
    sl_cores_turn_to(0);
    sl_runtime_event_destroyed(&destroyed);
    sl_runtime_stream_waits(stream, &destroyed);
    sl_runtime_stream_waits(stream, &other_event);
    assert_false(sl_behind_is(&first->migrator.behind, 0));
    sl_runtime_stream_waits(stream, &event);
    assert_true(sl_behind_is(&first->migrator.behind, 0));
    passed = true;
    core_end_child(!sl_behind_is(&first->migrator.behind, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_and_addresses_say_whose_it_is),
        cmocka_unit_test(a_launch_ends_where_it_began),
        cmocka_unit_test(one_ends_and_the_other_goes_on),
        cmocka_unit_test(many_follow_each_other),
        cmocka_unit_test(a_child_has_none_of_them),
        cmocka_unit_test(what_is_the_same_everywhere),
        cmocka_unit_test(waits_for_another_s_collective),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
