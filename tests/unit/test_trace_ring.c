/* The ring between a thread of the program and the trace's writer: every record once and in order, or counted
 * as lost. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "trace/trace_write.h"

static struct sl_ring *ring;

static int make_ring(void **state)
{
    (void)state;
    ring = aligned_alloc(64, sizeof(*ring));
    if (ring) memset(ring, 0, sizeof(*ring));
    return ring ? 0 : -1;
}

static int free_ring(void **state)
{
    (void)state;
    free(ring);
    return 0;
}

static bool push(enum sl_event_type type, sl_tick tick)
{
    return sl_ring_push(ring,
                        &(struct sl_event){.type = (uint8_t)type, .tick = tick, .time_ns = 1000 + tick});
}

/* Takes the oldest record, which is of this type and tick. */
static struct sl_event pop(enum sl_event_type type, sl_tick tick)
{
    const struct sl_event *oldest = sl_ring_peek(ring);
    assert_non_null(oldest);
    struct sl_event event = *oldest;
    assert_int_equal(event.type, type);
    assert_int_equal(event.tick, tick);
    sl_ring_pop(ring);
    return event;
}

static void records_come_out_as_they_went_in(void **state)
{
    (void)state;
    sl_tick in = 0, out = 0;
    assert_null(sl_ring_peek(ring));
    /* Runs of 1 to 7 records, over the slots' end many times. */
    for (unsigned round = 0; in < 3 * SL_RING_SLOTS; round++) {
        for (unsigned i = 0; i <= round % 7; i++) assert_true(push(SL_EVENT_LAUNCH, in++));
        while (out < in) {
            assert_ptr_equal(sl_ring_peek(ring), sl_ring_peek(ring)); /* as long as it is not popped */
            pop(SL_EVENT_LAUNCH, out++);
        }
        assert_null(sl_ring_peek(ring));
    }
}

static void a_full_ring_keeps_room_for_rare_records(void **state)
{
    (void)state;
    struct sl_event gap;
    sl_tick tick = 0;
    while (push(SL_EVENT_LAUNCH, tick)) tick++;
    assert_int_equal(tick, SL_RING_SLOTS - SL_RING_KEPT);
    assert_false(push(SL_EVENT_ACCESS, tick));
    sl_ring_lose(ring, tick);
    sl_ring_lose(ring, tick + 1);
    uint64_t rare = 0;
    while (push(SL_EVENT_ALLOC, rare)) rare++;
    assert_int_equal(rare, SL_RING_KEPT - 1); /* the gap took one */
    for (uint64_t i = 0; i < tick; i++) pop(SL_EVENT_LAUNCH, i);
    assert_int_equal(pop(SL_EVENT_GAP, tick).a, 2);
    for (uint64_t i = 0; i < rare; i++) pop(SL_EVENT_ALLOC, i);
    assert_null(sl_ring_peek(ring));
    assert_false(sl_ring_take_lost(ring, 0, &gap));
}

/* Who waits for room sees it as soon as the writer has made some. */
static void room_that_was_made_is_used(void **state)
{
    (void)state;
    sl_tick tick = 0, out = 0;
    while (push(SL_EVENT_LAUNCH, tick)) tick++;
    for (int i = 0; i < 3; i++) {
        pop(SL_EVENT_LAUNCH, out++);
        assert_true(push(SL_EVENT_LAUNCH, tick++));
        assert_false(push(SL_EVENT_LAUNCH, tick));
    }
}

/* A gap without the record behind it would say that nothing more was lost. */
static void a_gap_and_its_record_go_in_together(void **state)
{
    (void)state;
    sl_tick tick = 0;
    while (push(SL_EVENT_ALLOC, tick)) tick++;
    assert_int_equal(tick, SL_RING_SLOTS);
    sl_ring_lose(ring, 55);
    pop(SL_EVENT_ALLOC, 0);
    assert_false(push(SL_EVENT_ALLOC, tick)); /* room for one of them */
    pop(SL_EVENT_ALLOC, 1);
    assert_true(push(SL_EVENT_ALLOC, tick));
    for (sl_tick i = 2; i < tick; i++) pop(SL_EVENT_ALLOC, i);
    struct sl_event gap = pop(SL_EVENT_GAP, 55);
    assert_int_equal(gap.a, 1);
    assert_int_equal(gap.time_ns, 1000 + tick); /* of the record that follows: times do not go back */
    pop(SL_EVENT_ALLOC, tick);
}

static void what_was_lost_last_is_counted_at_the_end(void **state)
{
    (void)state;
    struct sl_event gap;
    assert_false(sl_ring_take_lost(ring, 5, &gap));
    sl_ring_lose(ring, 99);
    sl_ring_lose(ring, 100);
    assert_true(sl_ring_take_lost(ring, 5, &gap));
    assert_int_equal(gap.type, SL_EVENT_GAP);
    assert_int_equal(gap.tick, 99);
    assert_int_equal(gap.time_ns, 5);
    assert_int_equal(gap.a, 2);
    assert_false(sl_ring_take_lost(ring, 6, &gap)); /* once */
    sl_ring_lose(ring, 101);
    assert_true(sl_ring_take_lost(ring, 7, &gap));
    assert_int_equal(gap.tick, 101);
    assert_int_equal(gap.a, 1);
}

enum { SENT = 10 * SL_RING_SLOTS };

static void *send_all(void *argument)
{
    for (sl_tick tick = 1; tick <= SENT; tick++)
        while (!push(SL_EVENT_LAUNCH, tick)) sched_yield();
    return argument;
}

/* A record that the consumer sees before it is whole would have another tick, or none. */
static void two_threads_need_no_lock(void **state)
{
    (void)state;
    pthread_t producer;
    assert_int_equal(pthread_create(&producer, NULL, send_all, NULL), 0);
    for (sl_tick tick = 1; tick <= SENT; tick++) {
        while (!sl_ring_peek(ring)) sched_yield();
        assert_int_equal(pop(SL_EVENT_LAUNCH, tick).time_ns, 1000 + tick);
    }
    assert_int_equal(pthread_join(producer, NULL), 0);
    assert_null(sl_ring_peek(ring));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_ring, free_ring)
    const struct CMUnitTest tests[] = {
        TEST(records_come_out_as_they_went_in),
        TEST(a_full_ring_keeps_room_for_rare_records),
        TEST(room_that_was_made_is_used),
        TEST(a_gap_and_its_record_go_in_together),
        TEST(what_was_lost_last_is_counted_at_the_end),
        TEST(two_threads_need_no_lock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
