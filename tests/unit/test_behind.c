/* Which streams may wait for other ranks in vain: breaks if a movement could be made to wait behind a message
 * that a peer sends only later, or if streams that cannot wait in vain are taken for such that can. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "memory/behind.h"
#include "noted_device.h"

enum { LEGACY, COMPUTE, MESSAGES, COLLECTIVES };
#define BIT(s) (UINT64_C(1) << (s))

static struct noted_device device;
static struct sl_behind *behind;
static _Atomic int captures;
static int handles[4], events[1200];
static struct noted_event *last; /* behind what was launched last */

static int start(void **state)
{
    (void)state;
    noted_device_begin(&device);
    behind = malloc(sizeof *behind);
    return behind && sl_behind_init(behind, &device.backend, &captures) == SL_OK ? 0 : -1;
}

static int stop(void **state)
{
    (void)state;
    sl_behind_close(behind, false);
    free(behind);
    return device.deleted == device.made ? 0 : -1; /* no event is lost */
}

static struct sl_behind_stream stream(uint32_t s)
{
    return (struct sl_behind_stream){s, s + 1, &handles[s], s == MESSAGES || s == COLLECTIVES};
}

static void launch(uint32_t s)
{
    struct sl_behind_stream on = stream(s);
    sl_behind_launched(behind, &on);
    last = device.last;
}

/* The streams that may wait for other ranks now, by bit. */
static uint64_t waiting(void)
{
    uint64_t bits = 0;
    for (uint32_t s = 0; s < 4; s++)
        if (!sl_behind_is_over(behind, sl_behind_number(behind, s))) bits |= BIT(s);
    return bits;
}

static void recorded(uint32_t s, const void *event)
{
    struct sl_behind_stream on = stream(s);
    sl_behind_recorded(behind, &on, event);
}

static void wait_for(uint32_t s, const void *event)
{
    struct sl_behind_stream waits = stream(s);
    sl_behind_waits(behind, &waits, event);
}

static void without_collectives_nothing_waits(void **state)
{
    (void)state;
    recorded(COMPUTE, &events[0]);
    wait_for(MESSAGES, &events[0]);
    assert_int_equal(waiting(), 0);
    assert_false(sl_behind_is(behind, 0));
    assert_int_equal(device.records, 0);
}

/* A receive that is pending: its stream, and who waits for it, until it is over. */
static void messages_are_waited_for_in_vain(void **state)
{
    (void)state;
    launch(MESSAGES);
    assert_int_equal(waiting(), BIT(MESSAGES));
    assert_true(sl_behind_is(behind, MESSAGES + 1));
    assert_false(sl_behind_is(behind, COMPUTE + 1));
    assert_true(sl_behind_is(behind, 0));
    recorded(MESSAGES, &events[0]);
    recorded(COMPUTE, &events[1]);
    wait_for(COLLECTIVES, &events[1]);
    assert_int_equal(waiting(), BIT(MESSAGES));
    wait_for(COLLECTIVES, &events[0]);
    assert_int_equal(waiting(), BIT(MESSAGES) | BIT(COLLECTIVES));
    last->done = true;
    assert_int_equal(waiting(), 0);
    assert_false(sl_behind_is(behind, 0));
}

/* An event that was recorded before the message is not behind it; recorded anew it is. */
static void events_are_behind_what_came_before_them(void **state)
{
    (void)state;
    launch(MESSAGES);
    last->done = true;
    recorded(MESSAGES, &events[0]);
    launch(MESSAGES);
    wait_for(COLLECTIVES, &events[0]);
    assert_int_equal(waiting(), BIT(MESSAGES));
    recorded(MESSAGES, &events[0]);
    wait_for(COLLECTIVES, &events[0]);
    assert_int_equal(waiting(), BIT(MESSAGES) | BIT(COLLECTIVES));
}

/* Another event may get a destroyed one's handle: before it is recorded, it is behind nothing. */
static void a_destroyed_event_is_behind_nothing(void **state)
{
    (void)state;
    launch(MESSAGES);
    uint64_t number = sl_behind_number(behind, MESSAGES);
    recorded(MESSAGES, &events[0]);
    sl_behind_destroyed(behind, &events[0]);
    sl_behind_destroyed(behind, &events[1]); /* which was never recorded */
    wait_for(COLLECTIVES, &events[0]);
    assert_int_equal(waiting(), BIT(MESSAGES));
    assert_false(sl_behind_orders(behind, COLLECTIVES + 1, number));
    recorded(MESSAGES, &events[0]);
    wait_for(COLLECTIVES, &events[0]);
    assert_int_equal(waiting(), BIT(MESSAGES) | BIT(COLLECTIVES));
    assert_true(sl_behind_orders(behind, COLLECTIVES + 1, number));
}

/* Streams that wait for the legacy one wait with it. */
static void blocking_streams_wait_together(void **state)
{
    (void)state;
    launch(MESSAGES);
    recorded(MESSAGES, &events[0]);
    wait_for(LEGACY, &events[0]);
    assert_int_equal(waiting(), BIT(LEGACY) | BIT(COMPUTE) | BIT(MESSAGES) | BIT(COLLECTIVES));
    assert_true(sl_behind_is(behind, 99)); /* a stream that was not heard of */
    last->done = true;
    assert_int_equal(waiting(), 0);
}

/* Where no event can be had it counts until the program has waited for everything. */
static void what_nobody_watches_counts(void **state)
{
    (void)state;
    device.refuses_records = true;
    launch(COLLECTIVES);
    device.refuses_records = false;
    assert_int_equal(waiting(), BIT(COLLECTIVES));
    launch(COLLECTIVES);
    sl_behind_synchronized(behind);
    assert_int_equal(waiting(), BIT(COLLECTIVES));
    last->done = true;
    assert_int_equal(waiting(), BIT(COLLECTIVES)); /* the one before is not known to be over */
    sl_behind_synchronized(behind);
    assert_int_equal(waiting(), 0);
}

static void so_many_are_pending(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * SL_BEHIND_PENDING; i++) launch(COLLECTIVES);
    assert_int_equal(waiting(), BIT(COLLECTIVES));
}

/* Events that find no room are taken to be behind the last message that any of them was. */
static void events_are_many(void **state)
{
    (void)state;
    launch(MESSAGES);
    for (int i = 0; i < 1200; i++) recorded(i % 2 ? COMPUTE : MESSAGES, &events[i]);
    wait_for(COLLECTIVES, &events[1100]);
    assert_int_equal(waiting(), BIT(MESSAGES) | BIT(COLLECTIVES));
    last->done = true;
    assert_int_equal(waiting(), 0);
    launch(MESSAGES);
    for (int i = 0; i < 600; i++) recorded(COMPUTE, &events[i]);
    wait_for(COLLECTIVES, &events[599]);
    assert_int_equal(waiting(), BIT(MESSAGES));
}

/* The driver is asked nothing then. */
static void captures_leave_it_as_it_is(void **state)
{
    (void)state;
    launch(MESSAGES);
    last->done = true;
    captures = 1;
    uint64_t questions = device.questions;
    assert_int_equal(waiting(), BIT(MESSAGES));
    assert_int_equal(device.questions, questions);
    captures = 0;
    assert_int_equal(waiting(), 0);
}

static bool orders(uint32_t s, uint64_t number)
{
    return sl_behind_orders(behind, stream(s).serial, number);
}

/* Breaks if a stream may be made to wait for a collective that the program did not make it wait for. */
static void what_waits_for_a_later_collective_is_behind_the_earlier(void **state)
{
    (void)state;
    launch(COLLECTIVES);
    uint64_t first = sl_behind_number(behind, COLLECTIVES);
    launch(COLLECTIVES);
    uint64_t second = sl_behind_number(behind, COLLECTIVES);
    assert_false(orders(COMPUTE, first));
    recorded(COLLECTIVES, &events[0]);
    wait_for(COMPUTE, &events[0]);
    launch(COLLECTIVES);
    uint64_t third = sl_behind_number(behind, COLLECTIVES);
    assert_true(orders(COMPUTE, first) && orders(COMPUTE, second));
    assert_false(orders(COMPUTE, third) || orders(MESSAGES, first) || sl_behind_orders(behind, 0, first));
    recorded(COMPUTE, &events[1]); /* it is passed on */
    wait_for(MESSAGES, &events[1]);
    assert_true(orders(MESSAGES, second) && !orders(MESSAGES, third));
}

static void streams_are_ordered_by_what_is_sure(void **state)
{
    (void)state;
    launch(COLLECTIVES);
    uint64_t first = sl_behind_number(behind, COLLECTIVES);
    launch(MESSAGES);
    recorded(MESSAGES, &events[0]);
    wait_for(COMPUTE, &events[0]);
    assert_false(orders(COMPUTE, first)); /* later, but on another stream */
    launch(LEGACY);
    uint64_t legacy = sl_behind_number(behind, LEGACY);
    recorded(COMPUTE, &events[1]);
    wait_for(MESSAGES, &events[1]);
    assert_int_equal(sl_behind_number(behind, MESSAGES), legacy); /* perhaps in front of it, */
    assert_false(orders(MESSAGES, legacy));                       /* perhaps not */
}

/* The number of a destroyed stream is given to another one. */
static void another_stream_is_not_ordered(void **state)
{
    (void)state;
    struct sl_behind_stream other = {COLLECTIVES, 100, &handles[COLLECTIVES], true};
    launch(COLLECTIVES);
    uint64_t first = sl_behind_number(behind, COLLECTIVES);
    sl_behind_recorded(behind, &other, &events[1]);
    wait_for(MESSAGES, &events[1]);
    assert_false(orders(MESSAGES, first));
    sl_behind_launched(behind, &other);
    last = device.last;
    sl_behind_recorded(behind, &other, &events[0]);
    wait_for(COMPUTE, &events[0]);
    assert_true(orders(COMPUTE, sl_behind_number(behind, COLLECTIVES)));
    assert_false(orders(COMPUTE, first));
}

static void *launch_beside(void *unused)
{
    launch(COLLECTIVES);
    return unused;
}

/* Another thread may launch it after the event was recorded, and before that is told. */
static void what_another_thread_launches_may_come_later(void **state)
{
    (void)state;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, launch_beside, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    recorded(COLLECTIVES, &events[0]);
    wait_for(COMPUTE, &events[0]);
    assert_false(orders(COMPUTE, sl_behind_number(behind, COLLECTIVES)));
    assert_int_equal(waiting(), BIT(LEGACY) | BIT(COMPUTE) | BIT(MESSAGES) | BIT(COLLECTIVES));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(without_collectives_nothing_waits),
        TEST(messages_are_waited_for_in_vain),
        TEST(events_are_behind_what_came_before_them),
        TEST(a_destroyed_event_is_behind_nothing),
        TEST(blocking_streams_wait_together),
        TEST(what_nobody_watches_counts),
        TEST(so_many_are_pending),
        TEST(events_are_many),
        TEST(captures_leave_it_as_it_is),
        TEST(what_waits_for_a_later_collective_is_behind_the_earlier),
        TEST(streams_are_ordered_by_what_is_sure),
        TEST(another_stream_is_not_ordered),
        TEST(what_another_thread_launches_may_come_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
