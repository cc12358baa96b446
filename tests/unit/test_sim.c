/* The simulated device: its clock, its memory, its backend. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* clang-format off */
#include <cmocka.h>
/* clang-format on */

#include "sim/backend_sim.h"
#include "sim/sim_memory.h"

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
    s = (struct setup){.clock = sl_sim_clock_new(&slow)};
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
    struct sl_sim_work one = {.fixed_ns = fixed_ns, .first = true};
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

/* --- memory */

static struct sl_sim_memory memory;

static uint64_t new_slab(uint64_t device_bytes)
{
    uint64_t address;
    sl_sim_memory_close(&memory);
    sl_sim_memory_init(&memory, device_bytes);
    assert_int_equal(sl_sim_slab_new(&memory, SL_GIB, false, &address), SL_OK);
    assert_int_equal(address % SL_GIB, 0);
    return address;
}

static void test_only_content_is_copied(void **state)
{
    (void)state;
    uint64_t at = new_slab(SL_GIB), block = SL_BLOCK_BYTES;
    assert_int_equal(sl_sim_fetch(&memory, at, 4 * block), 0); /* nothing in it yet */
    assert_int_equal(memory.resident_bytes, 4 * block);
    assert_int_equal(sl_sim_fetch(&memory, at, 4 * block), 0);
    assert_int_equal(sl_sim_evict(&memory, at, 2 * block), 2 * block);
    assert_int_equal(sl_sim_evict(&memory, at, 4 * block), 2 * block);
    assert_int_equal(sl_sim_fetch(&memory, at, block), block);
    sl_sim_discard(&memory, at, 2 * block);
    assert_int_equal(sl_sim_fetch(&memory, at, 4 * block), 2 * block);
    sl_sim_memory_close(&memory);
}

static void test_use_in_place(void **state)
{
    (void)state;
    uint64_t at = new_slab(SL_GIB), block = SL_BLOCK_BYTES;
    struct sl_sim_use use = {0};
    sl_sim_fetch(&memory, at, block);
    struct sl_span span = {.address = at + block - 100, .bytes = 300, .write = true};
    sl_sim_use_remote(&memory, &span, &use); /* 100 on the device, 200 new */
    assert_int_equal(use.in, 0);
    assert_int_equal(use.out, 200);
    span.write = false;
    sl_sim_use_remote(&memory, &span, &use);
    assert_int_equal(use.in, 200);
    assert_int_equal(use.out, 200);
    assert_int_equal(use.faults, 0);
    sl_sim_memory_close(&memory);
}

static void test_pinned_slabs_have_whole_gib_of_addresses(void **state)
{
    (void)state;
    uint64_t first = new_slab(SL_GIB), pinned;
    assert_int_equal(sl_sim_slab_new(&memory, SL_BLOCK_BYTES, true, &pinned), SL_OK);
    assert_int_equal(pinned, first + SL_GIB);
    assert_true(sl_sim_is_pinned(&memory, pinned) && !sl_sim_is_pinned(&memory, first));
    assert_int_equal(sl_sim_slab_new(&memory, SL_GIB, false, &first), SL_OK);
    assert_int_equal(first, pinned + SL_GIB);
    sl_sim_memory_close(&memory);
}

/* What came first leaves first, however often it is used. */
static void test_pages_leave_in_the_order_in_which_they_came(void **state)
{
    (void)state;
    uint64_t at = new_slab(2 * SL_BLOCK_BYTES), block = SL_BLOCK_BYTES;
    struct sl_span spans[] = {{at, block, true}, {at + block, block, true}, {at + 2 * block, block, true}};
    struct sl_sim_use use = {0};
    for (int i = 0; i < 2; i++) assert_true(sl_sim_use_paged(&memory, &spans[i], &use));
    assert_true(sl_sim_use_paged(&memory, &spans[0], &use));
    assert_int_equal(use.faults, 2);
    assert_true(sl_sim_use_paged(&memory, &spans[2], &use)); /* in place of the first */
    assert_int_equal(use.out, block);
    assert_true(sl_sim_use_paged(&memory, &spans[1], &use));
    assert_int_equal(use.faults, 3);
    assert_true(sl_sim_use_paged(&memory, &spans[0], &use));
    assert_int_equal(use.faults, 4);
    assert_int_equal(use.in, block);
    assert_int_equal(memory.resident_bytes, 2 * block);
    sl_sim_memory_close(&memory);
}

/* --- the backend */

static const struct sl_sim_device device = {.bytes = SL_GIB,
                                            .in_bytes_per_s = 2000000000,
                                            .out_bytes_per_s = 2000000000,
                                            .both_percent = 100,
                                            .call_ns = 1000,
                                            .queue = 4};

/* 2 MiB at 2 bytes a nanosecond. */
enum { BLOCK_NS = 1 << 20 };

static void test_a_launch_waits_for_its_fetch(void **state)
{
    (void)state;
    struct sl_backend b;
    uint64_t at;
    sl_event_handle here;
    struct sl_sim_mark marks[2];
    sl_stream stream = marks;
    assert_int_equal(sl_backend_sim_new(&device, &b), SL_OK);
    assert_int_equal(b.slab_new(b.self, SL_GIB, &at), SL_OK);
    assert_int_equal(b.event_new(b.self, &here), SL_OK);
    struct sl_span span = {at, SL_BLOCK_BYTES, true};
    struct sl_sim_launch launch = {.stream = stream, .took_ns = 100, .spans = &span, .span_count = 1};
    assert_int_equal(sl_backend_sim_launch(&b, &launch), SL_OK); /* fills it in place */
    assert_int_equal(sl_backend_sim_mark(&b, stream, &marks[0]), SL_OK);
    assert_int_equal(sl_backend_sim_finish(&b, stream), SL_OK);
    assert_int_equal(b.fetch(b.self, at, SL_BLOCK_BYTES), SL_OK);
    assert_int_equal(b.event_record(b.self, here, b.stream_in(b.self)), SL_OK);
    assert_false(b.event_done(b.self, here));
    assert_int_equal(b.stream_wait(b.self, stream, here), SL_OK);
    assert_int_equal(sl_backend_sim_launch(&b, &launch), SL_OK);
    assert_int_equal(sl_backend_sim_mark(&b, stream, &marks[1]), SL_OK);
    assert_int_equal(sl_backend_sim_finish_all(&b), SL_OK);
    assert_true(b.event_done(b.self, here));
    assert_float_equal(marks[0].time_ns, 2000 + BLOCK_NS, 1); /* written over the link */
    assert_float_equal(marks[1].time_ns - marks[0].time_ns, 1000 + BLOCK_NS + 100, 1);
    assert_in_range((uint64_t)marks[1].stall_ns, BLOCK_NS - 5000, BLOCK_NS);
    assert_int_equal(sl_backend_sim_books(&b)->bytes_in, SL_BLOCK_BYTES);
    assert_int_equal(sl_backend_sim_books(&b)->remote_bytes_used, SL_BLOCK_BYTES);
    b.event_delete(b.self, here);
    b.close(b.self);
}

/* The host is never more than the queue's length ahead. */
static void test_a_full_queue_lets_the_host_wait(void **state)
{
    (void)state;
    struct sl_backend b;
    struct sl_sim_mark mark;
    sl_stream first = &b, second = &mark;
    assert_int_equal(sl_backend_sim_new(&device, &b), SL_OK);
    struct sl_sim_launch launch = {.stream = first, .took_ns = 1000000};
    for (int i = 0; i < 6; i++) assert_int_equal(sl_backend_sim_launch(&b, &launch), SL_OK);
    assert_int_equal(sl_backend_sim_mark(&b, second, &mark), SL_OK); /* an idle stream: at once */
    assert_int_equal(sl_backend_sim_finish_all(&b), SL_OK);
    assert_float_equal(mark.time_ns, 2001000, 0); /* when the sixth launch was taken, the second was over */
    b.close(b.self);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_streams_run_side_by_side, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_movement_takes_its_cost_and_its_bytes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_ways_share_while_both_are_in_use, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_one_way_is_divided, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bytes_flow_beside_a_launch, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_waits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_wait_is_for_the_last_record, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_time_passes_only_as_far_as_asked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_never_happens_is_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many, set_up, tear_down),
        cmocka_unit_test(test_only_content_is_copied),
        cmocka_unit_test(test_use_in_place),
        cmocka_unit_test(test_pinned_slabs_have_whole_gib_of_addresses),
        cmocka_unit_test(test_pages_leave_in_the_order_in_which_they_came),
        cmocka_unit_test(test_a_launch_waits_for_its_fetch),
        cmocka_unit_test(test_a_full_queue_lets_the_host_wait),
    };
    return cmocka_run_group_tests_name("sim", tests, NULL, NULL);
}
