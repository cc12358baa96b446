/* The lists of what movers are to carry out: breaks if a direction's movements change their order or get
 * lost, if one begins with what is left of another, if a thread sleeps although there is news, or if an event
 * is recorded anew while it still stands for a movement. */
#include "move/movers.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "move/link_direction.h"
#include "noted_device.h"

enum { MANY = 200, EVENTS = 2 * SL_MOVER_EVENTS_KEPT };

static struct sl_movers *movers;

static int start(void **state)
{
    (void)state;
    return sl_movers_new(&movers) == SL_OK ? 0 : -1;
}

static int stop(void **state)
{
    (void)state;
    sl_movers_delete(movers);
    movers = NULL;
    return 0;
}

static void add(bool out, uint64_t sequence)
{
    struct sl_movement *movement = sl_movers_make(movers);
    assert_non_null(movement);
    movement->out = out;
    movement->sequence = sequence;
    sl_movers_add(movers, movement);
}

/* 0: there is none. */
static uint64_t take(bool out)
{
    struct sl_movement *movement = sl_movers_take(movers, out);
    if (!movement) return 0;
    uint64_t sequence = movement->sequence;
    assert_int_equal(movement->out, out);
    sl_movers_give(movers, movement);
    return sequence;
}

/* However many wait, also when the list is empty now and then. */
static void each_direction_keeps_its_order(void **state)
{
    (void)state;
    uint64_t added[2] = {0}, taken[2] = {0};
    uint32_t dice = 1;
    assert_int_equal(take(false), 0);
    assert_int_equal(take(true), 0);
    for (int i = 0; i < 20 * MANY; i++) {
        dice = dice * 1664525 + 1013904223;
        bool out = dice >> 31, adds = dice >> 30 & 1;
        if (adds)
            add(out, ++added[out]);
        else
            assert_int_equal(take(out), taken[out] < added[out] ? ++taken[out] : 0);
    }
    for (int out = 0; out < 2; out++) {
        while (taken[out] < added[out]) assert_int_equal(take(out), ++taken[out]);
        assert_int_equal(take(out), 0);
    }
}

static void one_that_was_given_back_serves_again(void **state)
{
    (void)state;
    struct sl_movement *first = sl_movers_make(movers), *second = sl_movers_make(movers);
    const struct sl_movement none = {0};
    assert_true(first && second && first != second);
    assert_memory_equal(first, &none, sizeof none);
    memset(first, 0xff, sizeof *first);
    memset(second, 0xff, sizeof *second);
    sl_movers_give(movers, first);
    sl_movers_give(movers, second);
    struct sl_movement *third = sl_movers_make(movers), *fourth = sl_movers_make(movers);
    assert_true((third == first && fourth == second) || (third == second && fourth == first));
    assert_memory_equal(third, &none, sizeof none);
    assert_memory_equal(fourth, &none, sizeof none);
    struct sl_movement *fifth = sl_movers_make(movers);
    assert_true(fifth != first && fifth != second);
    sl_movers_give(movers, third);
    sl_movers_give(movers, fourth);
    sl_movers_give(movers, fifth);
}

/* What nobody took and what was given back is freed; a sanitizer would tell. */
static void what_is_left_is_deleted(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < MANY; i++) add(i % 3 == 0, i + 1);
    for (int i = 0; i < 5; i++) take(false);
    sl_movers_delete(NULL);
}

/* --- News. */

static void who_has_not_seen_the_news_does_not_sleep(void **state)
{
    (void)state;
    uint32_t seen = atomic_load(&movers->news);
    add(false, 1);
    assert_int_not_equal(atomic_load(&movers->news), seen);
    sl_movers_sleep(movers, seen, NULL);
    seen = atomic_load(&movers->news);
    sl_movers_wake(movers);
    sl_movers_sleep(movers, seen, NULL);
    assert_int_equal(atomic_load(&movers->sleepers), 0);
}

/* It ends by itself. */
static void a_sleep_has_a_limit(void **state)
{
    (void)state;
    static const struct timespec shortly = {.tv_nsec = 1};
    sl_movers_sleep(movers, atomic_load(&movers->news), &shortly);
    assert_int_equal(atomic_load(&movers->sleepers), 0);
}

static void *take_all(void *out)
{
    for (uint64_t next = 1; next <= MANY;) {
        uint32_t seen = atomic_load(&movers->news);
        uint64_t taken = take(out != NULL);
        if (!taken) sl_movers_sleep(movers, seen, NULL);
        if (taken && taken != next) return NULL;
        next += taken != 0;
    }
    return movers;
}

/* Each thread falls asleep before what it waits for comes: one that missed it would sleep for ever. */
static void news_wake_those_who_sleep(void **state)
{
    (void)state;
    pthread_t threads[2];
    assert_int_equal(pthread_create(&threads[0], NULL, take_all, NULL), 0);
    assert_int_equal(pthread_create(&threads[1], NULL, take_all, movers), 0);
    for (uint64_t i = 1; i <= MANY; i++) {
        while (atomic_load(&movers->sleepers) < 2 && i % 2) sched_yield();
        add(false, i);
        add(true, i);
    }
    for (int t = 0; t < 2; t++) {
        void *all = NULL;
        assert_int_equal(pthread_join(threads[t], &all), 0);
        assert_ptr_equal(all, movers);
    }
}

/* --- A mover. */

static void an_event_stands_for_its_movement_for_a_while(void **state)
{
    (void)state;
    struct noted_device device;
    struct sl_mover mover = {0};
    sl_event_handle last[EVENTS];
    noted_device_begin(&device);
    assert_int_equal(sl_mover_open(&mover, &device.backend), SL_OK);
    assert_non_null(mover.stream);
    assert_int_equal(device.made, EVENTS);
    for (int i = 0; i < 3 * EVENTS; i++) {
        sl_event_handle event = sl_mover_event(&mover);
        assert_true(noted_event(event)->timed); /* the stalls of launches end with fetches */
        for (int before = 1; before <= i && before <= SL_MOVER_EVENTS_KEPT; before++)
            assert_ptr_not_equal(event, last[(i - before) % EVENTS]);
        last[i % EVENTS] = event;
    }
    sl_mover_close(&mover, &device.backend);
    assert_int_equal(device.deleted, device.made);
    assert_int_equal(device.streams_made, 1);
    assert_int_equal(device.streams_deleted, 1);
    sl_mover_close(&mover, &device.backend); /* closed already */
    assert_int_equal(device.deleted, device.made);
}

static void the_event_of_a_beginning_is_deleted(void **state)
{
    (void)state;
    struct noted_device device;
    struct sl_mover mover = {0};
    noted_device_begin(&device);
    assert_int_equal(sl_mover_open(&mover, &device.backend), SL_OK);
    assert_int_equal(device.backend.timed_event_new(device.backend.self, &mover.begin), SL_OK);
    sl_mover_close(&mover, &device.backend);
    assert_int_equal(device.made, EVENTS + 1);
    assert_int_equal(device.deleted, device.made);
}

static void one_that_was_not_built_is_closed(void **state)
{
    (void)state;
    struct noted_device device;
    struct sl_mover mover = {0};
    noted_device_begin(&device);
    sl_mover_close(&mover, &device.backend);
    device.refuses_streams = true;
    assert_int_equal(sl_mover_open(&mover, &device.backend), SL_ERR_DRIVER);
    sl_mover_close(&mover, &device.backend);
    assert_int_equal(device.streams_deleted, 0);
    device.refuses_streams = false;
    device.events_left = 7;
    assert_int_equal(sl_mover_open(&mover, &device.backend), SL_ERR_DRIVER);
    sl_mover_close(&mover, &device.backend);
    assert_int_equal(device.made, 7);
    assert_int_equal(device.deleted, 7);
    assert_int_equal(device.streams_deleted, 1);
}

/* Where the device is gone its streams and events are not touched any more. */
static void a_device_that_is_gone_is_not_asked(void **state)
{
    (void)state;
    static struct noted_device gone;
    struct sl_mover mover = {0};
    sl_event_handle events[EVENTS];
    noted_device_begin(&gone);
    assert_int_equal(sl_mover_open(&mover, &gone.backend), SL_OK);
    sl_stream stream = mover.stream;
    memcpy(events, mover.events, sizeof events);
    sl_mover_close(&mover, NULL);
    assert_null(mover.events);
    assert_int_equal(gone.deleted + gone.streams_deleted, 0);
    for (int i = 0; i < EVENTS; i++) free(events[i]);
    free(stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_direction_keeps_its_order, start, stop),
        cmocka_unit_test_setup_teardown(one_that_was_given_back_serves_again, start, stop),
        cmocka_unit_test_setup_teardown(what_is_left_is_deleted, start, stop),
        cmocka_unit_test_setup_teardown(who_has_not_seen_the_news_does_not_sleep, start, stop),
        cmocka_unit_test_setup_teardown(a_sleep_has_a_limit, start, stop),
        cmocka_unit_test_setup_teardown(news_wake_those_who_sleep, start, stop),
        cmocka_unit_test(an_event_stands_for_its_movement_for_a_while),
        cmocka_unit_test(the_event_of_a_beginning_is_deleted),
        cmocka_unit_test(one_that_was_not_built_is_closed),
        cmocka_unit_test(a_device_that_is_gone_is_not_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
