/* Which fence stands behind which launch: breaks if a fence is recorded anew while an eviction may still wait
 * for it, or if one is lost or never serves again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "move/fences.h"
#include "noted_device.h"

static struct noted_device device;
static struct sl_fences *fences;

static int start(void **state)
{
    (void)state;
    noted_device_begin(&device);
    fences = calloc(1, sizeof *fences);
    return fences && sl_fences_init(fences, &device.backend) == SL_OK ? 0 : -1;
}

static int stop(void **state)
{
    (void)state;
    sl_fences_close(fences, false);
    free(fences);
    return device.deleted == device.made ? 0 : -1; /* none is lost */
}

/* No fence is recorded anew while a release of its launch is left. */
static void fences_are_kept(void **state)
{
    (void)state;
    for (sl_tick tick = 1; tick <= 200; tick++) {
        struct sl_fence *fence = sl_fences_new(fences, tick > 100 ? tick - 100 : 0);
        assert_non_null(fence);
        for (sl_tick kept = tick > 100 ? tick - 100 : 1; kept < tick; kept++)
            assert_true(sl_fences_find(fences, kept) && sl_fences_find(fences, kept) != fence);
        sl_fences_put(fences, fence, tick);
        assert_ptr_equal(sl_fences_find(fences, tick), fence);
    }
    assert_null(sl_fences_find(fences, 50));
    assert_int_equal(fences->made, 101);
}

static void launches_may_end_in_any_order(void **state)
{
    static const sl_tick order[] = {3, 1, 2, 5, 4};
    struct sl_fence *put[6];
    (void)state;
    for (int i = 0; i < 5; i++) {
        put[order[i]] = sl_fences_new(fences, 0);
        sl_fences_put(fences, put[order[i]], order[i]);
    }
    for (sl_tick tick = 1; tick <= 5; tick++) assert_ptr_equal(sl_fences_find(fences, tick), put[tick]);
    assert_null(sl_fences_find(fences, 6));
}

/* What is given back, without having been put behind a launch, serves next. */
static void what_is_not_needed_serves_again(void **state)
{
    (void)state;
    struct sl_fence *fence = sl_fences_new(fences, 0);
    uint32_t made = fences->made;
    for (int i = 0; i < 100; i++) {
        sl_fences_give(fences, fence);
        assert_ptr_equal(sl_fences_new(fences, 0), fence);
    }
    assert_int_equal(fences->made, made);
    sl_fences_give(fences, fence);
}

/* Movers wait for its events after the eviction was decided: were these recorded anew meanwhile, they would
 * wait for later work, or for a capture's event, which the driver refuses. */
static void a_held_fence_does_not_serve_yet(void **state)
{
    (void)state;
    struct sl_fence *held = sl_fences_new(fences, 0), *put = sl_fences_new(fences, 0);
    atomic_store(&held->holders, 1);
    atomic_store(&put->holders, 1);
    sl_fences_give(fences, held);
    sl_fences_put(fences, put, 1);
    for (int i = 0; i < 40; i++) { /* more than are spare */
        struct sl_fence *fence = sl_fences_new(fences, 2 + (sl_tick)i);
        assert_true(fence && fence != held && fence != put);
        sl_fences_put(fences, fence, 100 + (sl_tick)i);
    }
    atomic_store(&held->holders, 0);
    atomic_store(&put->holders, 0);
    struct sl_fence *one = sl_fences_new(fences, 2), *two = sl_fences_new(fences, 2);
    assert_true((one == held && two == put) || (one == put && two == held));
    sl_fences_give(fences, one);
    sl_fences_give(fences, two);
}

/* The ring goes round many times, and there are never more than SL_FENCES of them. */
static void beyond_the_most_launches_get_none(void **state)
{
    (void)state;
    sl_tick tick = 1;
    for (; tick <= SL_FENCES; tick++) {
        struct sl_fence *fence = sl_fences_new(fences, 0);
        assert_non_null(fence);
        sl_fences_put(fences, fence, tick);
    }
    assert_null(sl_fences_new(fences, 0));
    assert_null(sl_fences_new(fences, 1)); /* a release of launch 1 is left */
    for (sl_tick kept = 1; kept < tick; kept++) assert_int_equal(sl_fences_find(fences, kept)->tick, kept);
    for (sl_tick oldest = 2; oldest < 3 * SL_FENCES; oldest++, tick++) {
        struct sl_fence *fence = sl_fences_new(fences, oldest);
        assert_non_null(fence);
        assert_null(sl_fences_new(fences, oldest));
        sl_fences_put(fences, fence, tick);
        assert_null(sl_fences_find(fences, oldest - 1));
        assert_int_equal(sl_fences_find(fences, oldest)->tick, oldest);
        assert_int_equal(sl_fences_find(fences, tick)->tick, tick);
    }
    assert_int_equal(fences->made, SL_FENCES);
}

/* A driver that has no more events leaves launches without a fence, and the others as they are. */
static void without_an_event_there_is_no_fence(void **state)
{
    (void)state;
    uint32_t at_start = fences->spare_count;
    device.events_left = 0;
    for (sl_tick tick = 1; tick <= at_start; tick++) sl_fences_put(fences, sl_fences_new(fences, 0), tick);
    assert_null(sl_fences_new(fences, 0));
    assert_null(sl_fences_find(fences, at_start + 1));
    device.events_left = 1;
    struct sl_fence *fence = sl_fences_new(fences, 0);
    assert_non_null(fence);
    sl_fences_give(fences, fence);
}

/* A start that fails is closed like any other, and so is what was never begun. */
static void a_half_built_one_is_closed(void **state)
{
    (void)state;
    struct sl_fences *half = calloc(1, sizeof *half);
    sl_fences_close(half, false);
    device.events_left = 3;
    assert_int_equal(sl_fences_init(half, &device.backend), SL_ERR_NO_MEMORY);
    sl_fences_close(half, false);
    assert_int_equal(half->made, 0);
    free(half);
}

/* Where the device is gone its events are not touched any more. */
static void a_device_that_is_gone_is_not_asked(void **state)
{
    (void)state;
    struct noted_device gone;
    struct sl_fences *left = calloc(1, sizeof *left);
    noted_device_begin(&gone);
    assert_int_equal(sl_fences_init(left, &gone.backend), SL_OK);
    sl_event_handle events[SL_FENCES];
    uint32_t count = left->spare_count;
    for (uint32_t i = 0; i < count; i++) events[i] = left->spare[i]->events[0];
    sl_fences_close(left, true);
    assert_int_equal(gone.deleted, 0);
    for (uint32_t i = 0; i < count; i++) free(events[i]);
    free(left);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(fences_are_kept, start, stop),
        cmocka_unit_test_setup_teardown(launches_may_end_in_any_order, start, stop),
        cmocka_unit_test_setup_teardown(what_is_not_needed_serves_again, start, stop),
        cmocka_unit_test_setup_teardown(a_held_fence_does_not_serve_yet, start, stop),
        cmocka_unit_test_setup_teardown(beyond_the_most_launches_get_none, start, stop),
        cmocka_unit_test_setup_teardown(without_an_event_there_is_no_fence, start, stop),
        cmocka_unit_test_setup_teardown(a_half_built_one_is_closed, start, stop),
        cmocka_unit_test_setup_teardown(a_device_that_is_gone_is_not_asked, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
