/* The simulated device's clock: when work of several streams ends that share a link and wait for each other.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* clang-format off */
#include <cmocka.h>
/* clang-format on */

#include "tools/sim/sim_clock.h"

/* A byte a nanosecond each way, half of that while both ways are in use. */
static const struct sl_sim_link slow = {.bytes_per_ns = {1, 1}, .both = 0.5};

struct setup {
    struct sl_sim_clock *clock;
    uint32_t streams[3];
    struct sl_sim_mark marks[3];
};

static int set_up(void **state)
{
    static struct setup s;
    s = (struct setup){.clock = sl_sim_clock_new(&slow, 0, NULL)};
    for (int i = 0; i < 3; i++) assert_true(sl_sim_stream_new(s.clock, &s.streams[i]));
    *state = &s;
    return 0;
}

static int tear_down(void **state)
{
    sl_sim_clock_delete(((struct setup *)*state)->clock);
    return 0;
}

static void work(struct setup *s, int stream, uint64_t given_ns, uint64_t fixed_ns)
{
    struct sl_sim_work one = {.fixed_ns = fixed_ns, .launch = true, .alone_ns = fixed_ns};
    assert_true(sl_sim_push(s->clock, s->streams[stream], given_ns, &one));
}

static void move(struct setup *s, int stream, enum sl_sim_way way, double bytes, uint64_t fixed_ns)
{
    struct sl_sim_work one = {.before_ns = fixed_ns};
    one.bytes[way] = bytes;
    assert_true(sl_sim_push(s->clock, s->streams[stream], 0, &one));
}

/* Runs all; marks[i].time_ns is then when stream i had done what it was given. */
static void finish(struct setup *s)
{
    uint64_t now_ns;
    for (int i = 0; i < 3; i++) assert_true(sl_sim_mark(s->clock, s->streams[i], 0, &s->marks[i]));
    assert_true(sl_sim_run_to_end(s->clock, &now_ns));
}

static void test_streams_run_side_by_side(void **state)
{
    struct setup *s = *state;
    work(s, 0, 0, 100);
    work(s, 0, 0, 50);
    work(s, 1, 0, 120);
    work(s, 2, 70, 10);
    finish(s);
    assert_float_equal(s->marks[0].time_ns, 150, 0);
    assert_float_equal(s->marks[1].time_ns, 120, 0);
    assert_float_equal(s->marks[2].time_ns, 80, 0);
}

static void test_a_movement_takes_its_cost_and_its_bytes(void **state)
{
    struct setup *s = *state;
    for (int i = 0; i < 4; i++) move(s, 0, SL_SIM_IN, 250, 10);
    finish(s);
    assert_float_equal(s->marks[0].time_ns, 4 * 260, 0);
}

/* Both ways at half the speed until the shorter is over, the rest alone. */
static void test_ways_share_while_both_are_in_use(void **state)
{
    struct setup *s = *state;
    move(s, 0, SL_SIM_IN, 1000, 0);
    move(s, 1, SL_SIM_OUT, 300, 0);
    finish(s);
    assert_float_equal(s->marks[1].time_ns, 600, 1e-6);
    assert_float_equal(s->marks[0].time_ns, 600 + 700, 1e-6);
}

/* The second begins when the first has 600 left: both have half, until the second is over. */
static void test_one_way_is_divided(void **state)
{
    struct setup *s = *state;
    move(s, 0, SL_SIM_IN, 1000, 0);
    move(s, 1, SL_SIM_IN, 200, 400);
    finish(s);
    assert_float_equal(s->marks[1].time_ns, 800, 1e-6);
    assert_float_equal(s->marks[0].time_ns, 1200, 1e-6);
}

/* A launch that uses memory in place ends when time and bytes are over. */
static void test_bytes_flow_beside_a_launch(void **state)
{
    struct setup *s = *state;
    struct sl_sim_work one = {.fixed_ns = 100, .bytes = {250, 0}, .launch = true, .alone_ns = 100};
    assert_true(sl_sim_push(s->clock, s->streams[0], 0, &one));
    one.bytes[SL_SIM_IN] = 50;
    assert_true(sl_sim_push(s->clock, s->streams[0], 0, &one));
    finish(s);
    assert_float_equal(s->marks[0].time_ns, 250 + 100, 1e-6);
    assert_float_equal(s->marks[0].longer_ns, 150, 1e-6);
}

static void test_waits(void **state)
{
    struct setup *s = *state;
    struct sl_sim_event *event = sl_sim_event_new(s->clock);
    assert_true(sl_sim_reached(event));
    assert_true(sl_sim_wait(s->clock, s->streams[1], 0, event, true)); /* for nothing */
    work(s, 0, 0, 100);
    assert_true(sl_sim_record(s->clock, s->streams[0], 0, event));
    assert_false(sl_sim_reached(event));
    work(s, 1, 0, 30);
    assert_true(sl_sim_wait(s->clock, s->streams[1], 0, event, true));
    assert_true(sl_sim_wait(s->clock, s->streams[2], 0, event, false));
    sl_sim_event_delete(s->clock, event); /* who waits goes on waiting */
    work(s, 1, 0, 1);
    finish(s);
    assert_float_equal(s->marks[1].time_ns, 101, 0);
    assert_float_equal(s->marks[2].time_ns, 100, 0);
    assert_float_equal(s->marks[1].stall_ns, 70, 0); /* from 30 on; the other wait does not count */
}

/* A wait is for what was recorded last when it was made, and an event may be recorded again. */
static void test_a_wait_is_for_the_last_record(void **state)
{
    struct setup *s = *state;
    struct sl_sim_event *event = sl_sim_event_new(s->clock);
    work(s, 0, 0, 10);
    assert_true(sl_sim_record(s->clock, s->streams[0], 0, event));
    assert_true(sl_sim_wait(s->clock, s->streams[1], 0, event, false));
    work(s, 0, 0, 10);
    assert_true(sl_sim_record(s->clock, s->streams[0], 0, event));
    assert_true(sl_sim_wait(s->clock, s->streams[2], 0, event, false));
    finish(s);
    assert_float_equal(s->marks[1].time_ns, 10, 0);
    assert_float_equal(s->marks[2].time_ns, 20, 0);
    assert_float_equal(sl_sim_reached_ns(event), 20, 0);
}

static void test_time_passes_only_as_far_as_asked(void **state)
{
    struct setup *s = *state;
    struct sl_sim_event *event = sl_sim_event_new(s->clock);
    uint64_t now_ns;
    work(s, 0, 0, 100);
    assert_true(sl_sim_record(s->clock, s->streams[0], 0, event));
    sl_sim_run(s->clock, 99);
    assert_false(sl_sim_reached(event));
    sl_sim_run(s->clock, 100);
    assert_true(sl_sim_reached(event));
    work(s, 0, 500, 10);
    assert_true(sl_sim_record(s->clock, s->streams[0], 500, event));
    assert_true(sl_sim_run_to_event(s->clock, event, &now_ns));
    assert_int_equal(now_ns, 510);
}

/* Two streams that wait for each other: an answer, not an endless loop. */
static void test_what_never_happens_is_told(void **state)
{
    struct setup *s = *state;
    struct sl_sim_event *first = sl_sim_event_new(s->clock);
    uint64_t now_ns;
    work(s, 0, 0, 10);
    assert_true(sl_sim_record(s->clock, s->streams[0], 0, first));
    assert_false(sl_sim_run_to_launch(s->clock, 2, &now_ns));
    assert_true(sl_sim_run_to_launch(s->clock, 1, &now_ns));
    assert_int_equal(now_ns, 10);
}

static void test_a_stream_is_idle_when_its_work_is_over(void **state)
{
    struct setup *s = *state;
    assert_true(sl_sim_idle(s->clock, s->streams[0], NULL));
    work(s, 0, 50, 100);
    assert_false(sl_sim_idle(s->clock, s->streams[0], NULL));
    sl_sim_run(s->clock, 149);
    assert_false(sl_sim_idle(s->clock, s->streams[0], NULL));
    sl_sim_run(s->clock, 150);
    assert_true(sl_sim_idle(s->clock, s->streams[0], NULL));
    assert_true(sl_sim_idle(s->clock, s->streams[1], NULL));
}

/* Another device comes to each meeting at a moment of its own. */
struct others {
    double comes_ns[3]; /* by meeting */
    uint32_t waits_at;
    unsigned arrived, asked;
};

static void arrive(void *context, uint32_t meeting, double now_ns)
{
    struct others *others = context;
    (void)now_ns;
    others->waits_at = meeting;
    others->arrived++;
}

static uint32_t wait_for(void *context, double now_ns, double next_ns, double *until_ns)
{
    struct others *others = context;
    double comes_ns = others->comes_ns[others->waits_at];
    others->asked++;
    *until_ns = comes_ns > now_ns ? comes_ns : now_ns;
    if (next_ns >= comes_ns) return others->waits_at;
    return 0;
}

static void test_work_of_a_meeting_begins_with_it(void **state)
{
    struct setup *s = *state;
    struct others others = {.comes_ns = {0, 500, 600}};
    const struct sl_sim_meetings meetings = {&others, arrive, wait_for};
    struct sl_sim_work met = {.fixed_ns = 50, .launch = true, .alone_ns = 50, .meeting = 1};
    sl_sim_clock_delete(s->clock);
    s->clock = sl_sim_clock_new(&slow, 0, &meetings);
    for (int i = 0; i < 3; i++) assert_true(sl_sim_stream_new(s->clock, &s->streams[i]));
    work(s, 0, 0, 100);
    assert_true(sl_sim_push(s->clock, s->streams[0], 0, &met));
    work(s, 0, 0, 10);
    met.meeting = 2; /* the other has been there by then for a while: nobody waits */
    work(s, 1, 0, 30);
    for (int i = 0; i < 20; i++) work(s, 1, 0, 30);
    assert_true(sl_sim_push(s->clock, s->streams[1], 0, &met));
    finish(s);
    assert_float_equal(s->marks[0].time_ns, 500 + 50 + 10, 0);
    assert_float_equal(s->marks[1].time_ns, 21 * 30 + 50, 0); /* others go on beside it */
    assert_float_equal(s->marks[1].waited_ns, 400, 0);
    assert_float_equal(s->marks[1].longer_ns, 0, 0);
    assert_int_equal(others.arrived, 2);
}

/* A host that only looks is told no more than others allow, and nothing has begun. */
static void test_a_meeting_is_waited_for_when_time_passes(void **state)
{
    struct setup *s = *state;
    struct others others = {.comes_ns = {0, 500}};
    const struct sl_sim_meetings meetings = {&others, arrive, wait_for};
    struct sl_sim_work met = {.fixed_ns = 50, .launch = true, .alone_ns = 50, .meeting = 1};
    uint64_t now_ns;
    sl_sim_clock_delete(s->clock);
    s->clock = sl_sim_clock_new(&slow, 0, &meetings);
    assert_true(sl_sim_stream_new(s->clock, &s->streams[0]));
    assert_true(sl_sim_push(s->clock, s->streams[0], 0, &met));
    sl_sim_run(s->clock, 300);
    assert_false(sl_sim_idle(s->clock, s->streams[0], NULL));
    sl_sim_run(s->clock, 400); /* up to 500 was granted */
    assert_int_equal(others.asked, 1);
    assert_true(sl_sim_run_to_end(s->clock, &now_ns));
    assert_int_equal(now_ns, 550);
}

/* Many operations: rings grow, nothing is lost, times add up. */
static void test_many(void **state)
{
    struct setup *s = *state;
    struct sl_sim_event *event = sl_sim_event_new(s->clock);
    for (int i = 0; i < 10000; i++) {
        move(s, 0, SL_SIM_IN, 3, 0);
        assert_true(sl_sim_record(s->clock, s->streams[0], 0, event));
        assert_true(sl_sim_wait(s->clock, s->streams[1], 0, event, true));
        work(s, 1, 0, 1);
    }
    finish(s);
    assert_float_equal(s->marks[0].time_ns, 30000, 1e-3);
    assert_float_equal(s->marks[1].time_ns, 30001, 1e-3);
    assert_float_equal(s->marks[1].stall_ns, 20001, 1e-3);
}

static void push_served(struct setup *s, int stream, uint64_t given_ns, uint64_t before_ns, double bytes,
                        uint64_t after_ns)
{
    struct sl_sim_work one = {.before_ns = before_ns, .after_ns = after_ns, .by_worker = true};
    one.bytes[SL_SIM_IN] = bytes;
    assert_true(sl_sim_push(s->clock, s->streams[stream], given_ns, &one));
}

static void set_workers(struct setup *s, uint32_t workers)
{
    sl_sim_clock_delete(s->clock);
    s->clock = sl_sim_clock_new(&slow, workers, NULL);
    for (int i = 0; i < 3; i++) assert_true(sl_sim_stream_new(s->clock, &s->streams[i]));
}

/* The first is at work until 100 + 50 + 30; then comes what was ready at 20, and then what was at 40. Work
 * that needs no worker does not wait. */
static void test_a_worker_takes_what_is_ready_first(void **state)
{
    struct setup *s = *state;
    set_workers(s, 1);
    push_served(s, 0, 0, 100, 50, 30);
    push_served(s, 1, 40, 0, 0, 7);
    push_served(s, 2, 20, 0, 0, 5);
    finish(s);
    assert_float_equal(s->marks[0].time_ns, 180, 0);
    assert_float_equal(s->marks[2].time_ns, 185, 0);
    assert_float_equal(s->marks[1].time_ns, 192, 0);
    work(s, 0, 1000, 10);
    push_served(s, 1, 1000, 100, 0, 0);
    finish(s);
    assert_float_equal(s->marks[0].time_ns, 1010, 0);
}

/* Two at a time; both free again afterwards. */
static void test_two_workers(void **state)
{
    struct setup *s = *state;
    set_workers(s, 2);
    for (uint64_t from_ns = 0; from_ns <= 1000; from_ns += 1000) {
        for (int i = 0; i < 3; i++) push_served(s, i, from_ns + (uint64_t)i, 100, 0, 0);
        finish(s);
        assert_float_equal(s->marks[1].time_ns, (double)from_ns + 101, 0);
        assert_float_equal(s->marks[2].time_ns, (double)from_ns + 200, 0);
    }
}

static void push_ranged(struct setup *s, int stream, enum sl_sim_way way, uint64_t range, int ranged,
                        uint64_t ns)
{
    struct sl_sim_work one = {.moves = true, .way = way, .range = range, .bytes = {[SL_SIM_OUT] = 10}};
    one.ranged = ranged;
    if (ranged == SL_SIM_RANGE_BEFORE)
        one.before_ns = ns;
    else
        one.after_ns = ns;
    assert_true(sl_sim_push(s->clock, s->streams[stream], 0, &one));
}

/* Bytes flow one after the other, and beside them the work on page tables, that of one range one after the
 * other. */
static void test_a_range_is_one_works(void **state)
{
    struct setup *s = *state;
    push_ranged(s, 0, SL_SIM_OUT, 7, SL_SIM_RANGE_AFTER, 100);
    push_ranged(s, 1, SL_SIM_OUT, 7, SL_SIM_RANGE_AFTER, 100);
    push_ranged(s, 2, SL_SIM_OUT, 8, SL_SIM_RANGE_AFTER, 100);
    finish(s);
    assert_float_equal(s->marks[0].time_ns, 110, 0);
    assert_float_equal(s->marks[1].time_ns, 210, 0);
    assert_float_equal(s->marks[2].time_ns, 130, 0);
    /* Who waits for the range is in its call. */
    assert_float_equal(s->marks[1].moving_ns[SL_SIM_OUT], 110 + 210 + 130, 0);
    assert_float_equal(s->marks[1].moving_ns[SL_SIM_IN], 0, 0);
}

static void test_a_range_is_free_behind_its_part_of_a_work(void **state)
{
    struct setup *s = *state;
    push_ranged(s, 0, SL_SIM_IN, 7, SL_SIM_RANGE_BEFORE, 20); /* bytes until 30 */
    push_ranged(s, 1, SL_SIM_IN, 7, SL_SIM_RANGE_BEFORE, 20); /* from 20 on, bytes until 50 */
    push_ranged(s, 2, SL_SIM_OUT, 7, SL_SIM_RANGE_ALWAYS, 5); /* from 40 on, bytes until 60 */
    finish(s);
    assert_float_equal(s->marks[0].time_ns, 30, 0);
    assert_float_equal(s->marks[1].time_ns, 50, 0);
    assert_float_equal(s->marks[2].time_ns, 65, 0);
    assert_float_equal(s->marks[2].moving_ns[SL_SIM_IN], 80, 0);
    assert_float_equal(s->marks[2].moving_ns[SL_SIM_OUT], 65, 0);
    push_ranged(s, 0, SL_SIM_IN, 7, SL_SIM_RANGE_NOT, 0);
    finish(s);
    assert_float_equal(s->marks[0].time_ns, 75, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_range_is_one_works, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_range_is_free_behind_its_part_of_a_work, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_streams_run_side_by_side, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_movement_takes_its_cost_and_its_bytes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_ways_share_while_both_are_in_use, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_one_way_is_divided, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bytes_flow_beside_a_launch, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_waits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_wait_is_for_the_last_record, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_time_passes_only_as_far_as_asked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_never_happens_is_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_stream_is_idle_when_its_work_is_over, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_work_of_a_meeting_begins_with_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_meeting_is_waited_for_when_time_passes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_worker_takes_what_is_ready_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_two_workers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("sim clock", tests, NULL, NULL);
}
