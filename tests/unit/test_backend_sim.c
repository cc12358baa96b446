/* The backend whose device is a clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* clang-format off */
#include <cmocka.h>
/* clang-format on */

#include "tools/sim/backend_sim.h"

static const struct sl_sim_device device = {.bytes = SL_GIB,
                                            .in_bytes_per_s = 2000000000,
                                            .out_bytes_per_s = 2000000000,
                                            .driver = {.both_percent = 100},
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
    assert_int_equal(b.fetch(b.self, at, SL_BLOCK_BYTES, b.stream_in(b.self)), SL_OK);
    assert_int_equal(b.event_record(b.self, here, b.stream_in(b.self)), SL_OK);
    assert_true(sl_is_no(b.event_done(b.self, here)));
    assert_int_equal(b.stream_wait(b.self, stream, here), SL_OK);
    assert_int_equal(sl_backend_sim_launch(&b, &launch), SL_OK);
    assert_int_equal(sl_backend_sim_mark(&b, stream, &marks[1]), SL_OK);
    assert_int_equal(sl_backend_sim_finish_all(&b), SL_OK);
    assert_true(sl_is_yes(b.event_done(b.self, here)));
    assert_float_equal(marks[0].time_ns, 2000 + BLOCK_NS, 1); /* written over the link */
    assert_float_equal(marks[1].time_ns - marks[0].time_ns, 1000 + BLOCK_NS + 100, 1);
    assert_in_range((uint64_t)marks[1].stall_ns, BLOCK_NS - 5000, BLOCK_NS);
    assert_int_equal(sl_backend_sim_books(&b)->bytes_in, SL_BLOCK_BYTES);
    assert_int_equal(sl_backend_sim_books(&b)->remote_bytes_used, SL_BLOCK_BYTES);
    b.event_delete(b.self, here);
    b.close(b.self);
}

/* A launch that reads twice what is in host memory takes the link twice as long, and writes once. */
static void test_a_launch_reads_in_place_more_than_once(void **state)
{
    (void)state;
    struct sl_backend b;
    uint64_t at;
    struct sl_sim_mark marks[3];
    sl_stream stream = marks;
    assert_int_equal(sl_backend_sim_new(&device, &b), SL_OK);
    assert_int_equal(b.slab_new(b.self, SL_GIB, &at), SL_OK);
    struct sl_span span = {at, SL_BLOCK_BYTES, true};
    struct sl_sim_launch launch = {.stream = stream, .took_ns = 100, .spans = &span, .span_count = 1};
    assert_int_equal(sl_backend_sim_launch(&b, &launch), SL_OK); /* fills it in place */
    assert_int_equal(sl_backend_sim_mark(&b, stream, &marks[0]), SL_OK);
    span.write = false;
    launch.reads = 2;
    assert_int_equal(sl_backend_sim_launch(&b, &launch), SL_OK);
    assert_int_equal(sl_backend_sim_mark(&b, stream, &marks[1]), SL_OK);
    launch.reads = 0.5;
    assert_int_equal(sl_backend_sim_launch(&b, &launch), SL_OK);
    assert_int_equal(sl_backend_sim_mark(&b, stream, &marks[2]), SL_OK);
    assert_int_equal(sl_backend_sim_finish_all(&b), SL_OK);
    assert_float_equal(marks[1].time_ns - marks[0].time_ns, 2 * BLOCK_NS, 1);
    assert_float_equal(marks[2].time_ns - marks[1].time_ns, BLOCK_NS, 1);
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

static uint64_t open_with_slab(const struct sl_sim_device *as, struct sl_backend *b)
{
    uint64_t at;
    assert_int_equal(sl_backend_sim_new(as, b), SL_OK);
    assert_int_equal(b->slab_new(b->self, SL_GIB, &at), SL_OK);
    return at;
}

/* How long the launch took that was the only one, from where nothing had been done. */
static double time_of(const struct sl_backend *b, struct sl_sim_launch launch)
{
    struct sl_sim_mark before, after;
    assert_int_equal(sl_backend_sim_finish_all(b), SL_OK);
    assert_int_equal(sl_backend_sim_mark(b, launch.stream, &before), SL_OK);
    assert_int_equal(sl_backend_sim_launch(b, &launch), SL_OK);
    assert_int_equal(sl_backend_sim_mark(b, launch.stream, &after), SL_OK);
    assert_int_equal(sl_backend_sim_finish_all(b), SL_OK);
    return after.time_ns - before.time_ns;
}

/* Left to the driver, a block comes when it is used: a fault, at half the link's speed, and then it is there.
 * Pinned memory stays where it is. */
static void test_a_driver_that_pages_brings_what_is_used(void **state)
{
    (void)state;
    struct sl_sim_device paging = device;
    struct sl_backend b;
    uint64_t pinned;
    paging.pages = true;
    paging.fault_ns = 500;
    uint64_t at = open_with_slab(&paging, &b);
    assert_int_equal(b.pinned_new(b.self, SL_BLOCK_BYTES, &pinned), SL_OK);
    struct sl_span span = {at, SL_BLOCK_BYTES, true};
    struct sl_sim_launch launch = {.stream = &b, .took_ns = 100, .spans = &span, .span_count = 1};
    time_of(&b, launch);
    assert_int_equal(b.evict(b.self, at, SL_BLOCK_BYTES, b.stream_out(b.self)), SL_OK);
    assert_float_equal(time_of(&b, launch), 1000 + 500 + 100 + 2 * BLOCK_NS, 1);
    assert_float_equal(time_of(&b, launch), 1000 + 100, 1);
    const struct sl_sim_books *books = sl_backend_sim_books(&b);
    assert_int_equal(books->faults, 2); /* with the first, which had nothing to copy */
    assert_int_equal(books->bytes_in, SL_BLOCK_BYTES);
    assert_int_equal(books->remote_bytes_used, 0);
    span.address = pinned;
    assert_float_equal(time_of(&b, launch), 1000 + BLOCK_NS, 1);
    assert_int_equal(books->faults, 2);
    assert_int_equal(books->remote_bytes_used, SL_BLOCK_BYTES);
    b.close(b.self);
}

static uint64_t copied_address, copied_bytes_out;

static void note_copy(void *context, uint64_t address, uint64_t bytes)
{
    assert_ptr_equal(context, &copied_address);
    copied_address = address;
    copied_bytes_out += bytes;
}

/* Nothing is copied for what has no content, nor for what is discarded. */
static void test_only_what_is_copied_out_is_reported(void **state)
{
    (void)state;
    struct sl_sim_device watched = device;
    struct sl_backend b;
    watched.copied_out = note_copy;
    watched.context = &copied_address;
    uint64_t at = open_with_slab(&watched, &b), block = SL_BLOCK_BYTES;
    copied_bytes_out = 0;
    assert_int_equal(b.evict(b.self, at, block, b.stream_out(b.self)), SL_OK);
    assert_int_equal(b.fetch(b.self, at, 3 * block, b.stream_in(b.self)), SL_OK);
    assert_int_equal(b.discard(b.self, at, block, b.stream_out(b.self)), SL_OK);
    assert_int_equal(copied_bytes_out, 0);
    assert_int_equal(b.evict(b.self, at + 2 * block, block, b.stream_out(b.self)), SL_OK);
    assert_int_equal(copied_bytes_out, block);
    assert_int_equal(copied_address, at + 2 * block);
    assert_int_equal(sl_backend_sim_books(&b)->bytes_out, block);
    b.close(b.self);
}

/* What another stream was given before counts; what it is given later does not. */
static void test_a_stream_follows_another(void **state)
{
    (void)state;
    struct sl_backend b;
    struct sl_sim_mark mark;
    sl_stream first = &b, second = &mark;
    assert_int_equal(sl_backend_sim_new(&device, &b), SL_OK);
    struct sl_sim_launch launch = {.stream = first, .took_ns = 50000};
    assert_int_equal(sl_backend_sim_launch(&b, &launch), SL_OK);
    assert_int_equal(sl_backend_sim_follow(&b, second, first), SL_OK);
    assert_int_equal(sl_backend_sim_launch(&b, &launch), SL_OK);
    assert_int_equal(sl_backend_sim_mark(&b, second, &mark), SL_OK);
    assert_int_equal(sl_backend_sim_finish_all(&b), SL_OK);
    assert_float_equal(mark.time_ns, 1000 + 50000, 0);
    assert_float_equal(mark.stall_ns, 0, 0); /* the program's own order is no stall */
    b.close(b.self);
}

static void test_the_device_says_what_is_free(void **state)
{
    (void)state;
    struct sl_sim_device small = device;
    struct sl_backend b;
    uint64_t free_bytes, total_bytes;
    small.bytes = 3 * SL_BLOCK_BYTES;
    uint64_t at = open_with_slab(&small, &b);
    assert_int_equal(b.fetch(b.self, at, SL_BLOCK_BYTES, b.stream_in(b.self)), SL_OK);
    assert_int_equal(b.memory_info(b.self, &free_bytes, &total_bytes), SL_OK);
    assert_int_equal(free_bytes, 2 * SL_BLOCK_BYTES);
    assert_int_equal(total_bytes, 3 * SL_BLOCK_BYTES);
    assert_int_equal(b.fetch(b.self, at, 4 * SL_BLOCK_BYTES, b.stream_in(b.self)),
                     SL_OK); /* more than there is */
    assert_int_equal(b.memory_info(b.self, &free_bytes, &total_bytes), SL_OK);
    assert_int_equal(free_bytes, 0);
    b.close(b.self);
}

/* The host's time goes on with what it waits for, and an event that came first is no negative time away. */
static void test_times_between_events(void **state)
{
    (void)state;
    struct sl_backend b;
    sl_event_handle begin, end;
    assert_int_equal(sl_backend_sim_new(&device, &b), SL_OK);
    assert_int_equal(b.timed_event_new(b.self, &begin), SL_OK);
    assert_int_equal(b.timed_event_new(b.self, &end), SL_OK);
    assert_true(sl_is_yes(b.event_done(b.self, begin))); /* nothing was recorded in it */
    struct sl_sim_launch launch = {.stream = &b, .took_ns = 50000};
    assert_int_equal(b.event_record(b.self, begin, &b), SL_OK);
    assert_int_equal(sl_backend_sim_launch(&b, &launch), SL_OK);
    assert_int_equal(b.event_record(b.self, end, &b), SL_OK);
    assert_true(sl_is_no(b.event_done(b.self, end)));
    assert_int_equal(b.event_wait(b.self, end), SL_OK);
    assert_true(sl_is_yes(b.event_done(b.self, end)));
    assert_int_equal(b.event_elapsed_ns(b.self, begin, end), 51000); /* the launch's own call is before it */
    assert_int_equal(b.event_elapsed_ns(b.self, end, begin), 0);
    b.event_delete(b.self, begin);
    b.event_delete(b.self, end);
    b.close(b.self);
}

enum { MAP_NS = 100000, UNMAP_NS = 30000, DISCARD_NS = 50, RETIRE_NS = 5000 };

/* A device on a driver whose page tables cost time, with two blocks. */
static uint64_t open_real(struct sl_backend *b, bool daemon, uint32_t workers)
{
    struct sl_sim_device real = device;
    struct sl_sim_mark mark;
    real.daemon = daemon;
    real.driver = (struct sl_sim_driver){.map_ns = MAP_NS,
                                         .unmap_ns = UNMAP_NS,
                                         .discard_ns = DISCARD_NS,
                                         .retire_ns = RETIRE_NS,
                                         .both_percent = 100,
                                         .workers = workers};
    uint64_t at = open_with_slab(&real, b);
    struct sl_span span = {at, 2 * SL_BLOCK_BYTES, true};
    struct sl_sim_launch launch = {.stream = &mark, .took_ns = 100, .spans = &span, .span_count = 1};
    assert_int_equal(b->fetch(b->self, at, 2 * SL_BLOCK_BYTES, b->stream_in(b->self)), SL_OK);
    assert_int_equal(sl_backend_sim_launch(b, &launch), SL_OK);
    assert_int_equal(sl_backend_sim_finish_all(b), SL_OK);
    return at;
}

/* The moment at which the host is: that of a mark on a stream where nothing is. */
static double host_ns(const struct sl_backend *b)
{
    static int nothing;
    struct sl_sim_mark mark;
    assert_int_equal(sl_backend_sim_mark(b, &nothing, &mark), SL_OK);
    assert_int_equal(sl_backend_sim_finish(b, &nothing), SL_OK);
    return mark.time_ns;
}

/* The host takes its time from one launch to the next, however short they are. */
static void test_the_host_is_not_faster_than_it_is(void **state)
{
    (void)state;
    struct sl_sim_device slow = device;
    struct sl_backend b;
    slow.launch_ns = 9000;
    open_with_slab(&slow, &b);
    struct sl_sim_launch launch = {.stream = &slow, .took_ns = 100};
    double before_ns = host_ns(&b);
    for (int i = 0; i < 3; i++) assert_int_equal(sl_backend_sim_launch(&b, &launch), SL_OK);
    assert_float_equal(host_ns(&b) - before_ns, 3 * 9000 + device.call_ns + 100, 101);
    b.close(b.self);
}

/* How long a call holds the host up, beside the time of any call. */
static double held_up(const struct sl_backend *b,
                      enum sl_status (*move)(void *, uint64_t, uint64_t, sl_stream), uint64_t at)
{
    double before_ns = host_ns(b);
    assert_int_equal(move(b->self, at, SL_BLOCK_BYTES, NULL), SL_OK);
    return host_ns(b) - before_ns - 2 * (double)device.call_ns;
}

/* The caller does the work of a call on an idle stream: one whose last operation the host knows to be over,
 * or that ended a while ago. */
static void test_a_call_on_an_idle_stream_is_its_callers_work(void **state)
{
    (void)state;
    struct sl_backend b;
    uint64_t at = open_real(&b, false, 1), next = at + SL_BLOCK_BYTES;
    sl_event_handle event;
    assert_int_equal(b.event_new(b.self, &event), SL_OK);
    assert_float_equal(held_up(&b, b.evict, at), BLOCK_NS + MAP_NS, 2);
    assert_float_equal(held_up(&b, b.fetch, at), BLOCK_NS + UNMAP_NS, 2);
    assert_float_equal(held_up(&b, b.discard, at), DISCARD_NS, 2);
    assert_int_equal(b.event_record(b.self, event, b.stream_out(b.self)), SL_OK);
    assert_float_equal(held_up(&b, b.evict, next), 0, 2); /* the event may not be over */
    assert_int_equal(sl_backend_sim_finish_all(&b), SL_OK);
    assert_float_equal(held_up(&b, b.fetch, next), BLOCK_NS + UNMAP_NS, 2);
    assert_int_equal(b.event_record(b.self, event, b.stream_out(b.self)), SL_OK);
    host_ns(&b);
    assert_true(sl_is_yes(b.event_done(b.self, event)));
    assert_float_equal(held_up(&b, b.evict, next), BLOCK_NS + MAP_NS, 2);
    assert_int_equal(b.stream_wait(b.self, b.stream_in(b.self), event), SL_OK);
    for (int i = 0; i * (double)device.call_ns < RETIRE_NS; i++) host_ns(&b);
    assert_float_equal(held_up(&b, b.fetch, next), BLOCK_NS + UNMAP_NS, 2);
    b.event_delete(b.self, event);
    b.close(b.self);
}

/* Behind waits that are over, both directions are the work of one thread; the host is not held up. So it is
 * with a thread of sluice's own. */
static void test_calls_on_busy_streams_are_one_threads_work(void **state)
{
    (void)state;
    for (int daemon = 0; daemon < 2; daemon++) {
        struct sl_backend b;
        uint64_t at = open_real(&b, daemon, 1), next = at + SL_BLOCK_BYTES;
        sl_event_handle event;
        assert_int_equal(b.event_new(b.self, &event), SL_OK);
        assert_int_equal(b.evict(b.self, at, SL_BLOCK_BYTES, b.stream_out(b.self)), SL_OK);
        assert_int_equal(sl_backend_sim_finish_all(&b), SL_OK);
        double begin_ns = host_ns(&b);
        if (!daemon) {
            assert_int_equal(b.stream_wait(b.self, b.stream_out(b.self), event), SL_OK);
            assert_int_equal(b.stream_wait(b.self, b.stream_in(b.self), event), SL_OK);
        }
        assert_float_equal(held_up(&b, b.evict, next), 0, 2);
        assert_float_equal(held_up(&b, b.fetch, at), 0, 2);
        assert_int_equal(sl_backend_sim_finish_all(&b), SL_OK);
        assert_in_range((uint64_t)(host_ns(&b) - begin_ns), 2 * BLOCK_NS + MAP_NS + UNMAP_NS,
                        2 * BLOCK_NS + MAP_NS + UNMAP_NS + 12 * device.call_ns);
        b.event_delete(b.self, event);
        b.close(b.self);
    }
}

/* Both directions at once, and of one direction copies and page tables; an event is over when all before it
 * is. */
static void test_several_workers(void **state)
{
    (void)state;
    struct sl_backend b;
    uint64_t at = open_real(&b, false, 3), next = at + SL_BLOCK_BYTES, other;
    sl_event_handle small, large;
    struct sl_sim_mark mark;
    assert_int_equal(b.slab_new(b.self, SL_GIB, &other), SL_OK);
    assert_int_equal(b.event_new(b.self, &small), SL_OK);
    assert_int_equal(b.event_new(b.self, &large), SL_OK);
    struct sl_span span = {other, SL_BLOCK_BYTES, true};
    struct sl_sim_launch launch = {.stream = &mark, .took_ns = 100, .spans = &span, .span_count = 1};
    assert_int_equal(b.fetch(b.self, other, SL_BLOCK_BYTES, b.stream_in(b.self)), SL_OK);
    assert_int_equal(sl_backend_sim_finish_all(&b), SL_OK);
    assert_int_equal(sl_backend_sim_launch(&b, &launch), SL_OK);
    assert_int_equal(sl_backend_sim_finish_all(&b), SL_OK);
    double begin_ns = host_ns(&b);
    assert_int_equal(b.evict(b.self, at, SL_BLOCK_BYTES, b.stream_out(b.self)), SL_OK);
    assert_int_equal(b.evict(b.self, next, SL_BLOCK_BYTES, b.stream_out(b.self)), SL_OK);
    assert_int_equal(b.event_record(b.self, large, b.stream_out(b.self)), SL_OK);
    assert_int_equal(b.discard(b.self, other, SL_BLOCK_BYTES, b.stream_out(b.self)), SL_OK);
    assert_int_equal(b.event_record(b.self, small, b.stream_out(b.self)), SL_OK);
    assert_true(sl_is_no(b.event_done(b.self, small)));
    assert_int_equal(b.stream_wait(b.self, b.stream_in(b.self), large), SL_OK);
    assert_int_equal(b.fetch(b.self, at, SL_BLOCK_BYTES, b.stream_in(b.self)), SL_OK);
    assert_int_equal(b.fetch(b.self, next, SL_BLOCK_BYTES, b.stream_in(b.self)), SL_OK);
    assert_int_equal(sl_backend_sim_finish_all(&b), SL_OK);
    /* Two blocks out, of which one is mapped while the other is copied, and then both in the same way. */
    uint64_t least_ns = 2 * BLOCK_NS + MAP_NS + 2 * BLOCK_NS + UNMAP_NS;
    assert_in_range((uint64_t)(host_ns(&b) - begin_ns), least_ns, least_ns + 12 * device.call_ns);
    b.event_delete(b.self, small);
    b.event_delete(b.self, large);
    b.close(b.self);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_launch_waits_for_its_fetch),
        cmocka_unit_test(test_a_launch_reads_in_place_more_than_once),
        cmocka_unit_test(test_a_full_queue_lets_the_host_wait),
        cmocka_unit_test(test_a_driver_that_pages_brings_what_is_used),
        cmocka_unit_test(test_only_what_is_copied_out_is_reported),
        cmocka_unit_test(test_a_stream_follows_another),
        cmocka_unit_test(test_the_device_says_what_is_free),
        cmocka_unit_test(test_times_between_events),
        cmocka_unit_test(test_the_host_is_not_faster_than_it_is),
        cmocka_unit_test(test_a_call_on_an_idle_stream_is_its_callers_work),
        cmocka_unit_test(test_calls_on_busy_streams_are_one_threads_work),
        cmocka_unit_test(test_several_workers),
    };
    return cmocka_run_group_tests_name("backend sim", tests, NULL, NULL);
}
