/* Points of frees: what cannot be recorded is waited for, and what cannot be waited for either has not
 * passed.
 */
#include "memory/frees.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "memory/behind.h"
#include "noted_device.h"

static struct noted_device device;
static struct sl_frees frees;
static int a, b; /* their addresses are streams */
static const struct sl_free_stream on_a = {&a, 1}, on_b = {&b, 2};

static int start(void **state)
{
    (void)state;
    noted_device_begin(&device);
    return sl_frees_init(&frees, &device.backend) == SL_OK ? 0 : -1;
}

static int stop(void **state)
{
    (void)state;
    sl_frees_close(&frees, false);
    return device.deleted == device.made ? 0 : -1; /* none is lost */
}

static struct sl_points *record(const struct sl_free_stream *on)
{
    return sl_points_record(&frees, on, 1);
}

static void refuse_all(bool refuses)
{
    device.refuses_records = device.refuses_finishing = device.refuses_waits = device.says_nothing = refuses;
}

static void a_refused_record_is_waited_for(void **state)
{
    (void)state;
    device.refuses_records = true;
    struct sl_points *points = record(&on_a);
    assert_false(sl_points_are_unsure(points));
    assert_ptr_equal(device.finished, &a);
    sl_points_void(&frees, points);
}

static void what_is_neither_recorded_nor_waited_for_is_ahead(void **state)
{
    (void)state;
    device.refuses_records = device.refuses_finishing = true;
    struct sl_points *points = record(&on_a);
    assert_true(sl_points_are_unsure(points));
    assert_true(sl_frees_any_unsure(&frees));
    assert_false(sl_points_have_passed(&frees, points));
    assert_int_equal(sl_points_wait(&frees, points), SL_ERR_DRIVER);
}

/* The point is recorded when the program goes on; who waits for it then finds out. */
static void an_open_point_that_is_refused_is_ahead(void **state)
{
    (void)state;
    struct sl_points *points = sl_points_open(&frees, &on_a);
    device.refuses_records = device.refuses_finishing = true;
    sl_frees_flush(&frees);
    assert_true(sl_points_are_unsure(points));
    assert_int_equal(sl_wait_on_host(&(struct sl_wait){.points = points}), SL_ERR_DRIVER);
    sl_points_void(&frees, points);
}

static void a_point_is_shared_where_the_driver_need_not_be_called(void **state)
{
    (void)state;
    assert_null(sl_points_share(&frees, &on_a)); /* no event is spare */
    sl_points_void(&frees, record(&on_a));
    int made = device.made;
    struct sl_points *points = sl_points_share(&frees, &on_a);
    assert_non_null(points);
    assert_ptr_equal(sl_points_share(&frees, &on_a), points);
    assert_null(sl_points_share(&frees, &on_b)); /* the open one would have to be recorded first */
    assert_true(atomic_load(&points->open));
    assert_false(sl_points_have_passed(&frees, points));
    sl_frees_flush(&frees);
    assert_false(atomic_load(&points->open));
    assert_int_equal(device.made, made);
    sl_points_void(&frees, points);
    sl_points_void(&frees, points);
}

/* Without events the host waits; without that, the one thing that needs neither stands for all of it. */
static void without_events_the_unknown_stands_for_them(void **state)
{
    (void)state;
    device.events_left = 0;
    assert_null(record(&on_a));
    assert_ptr_equal(device.finished, &a);
    assert_null(sl_points_open(&frees, &on_a));
    device.refuses_finishing = true;
    struct sl_points *points = record(&on_a), *open = sl_points_open(&frees, &on_a);
    assert_true(sl_points_are_unsure(points) && sl_points_are_unsure(open));
    sl_points_void(&frees, points);
    sl_points_void(&frees, open);
}

static void *let_go(void *held)
{
    sl_frees_let_go(&frees, *(uint32_t *)held);
    return NULL;
}

/* Those who hold when it begins to wait, and no others. */
static void holders_are_waited_for(void **state)
{
    (void)state;
    pthread_t thread;
    uint32_t held = sl_frees_hold(&frees);
    assert_int_equal(pthread_create(&thread, NULL, let_go, &held), 0);
    sl_frees_wait_for_holders(&frees);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(atomic_load(&frees.holders[0]) + atomic_load(&frees.holders[1]), 0);
    sl_frees_wait_for_holders(&frees);
    held = sl_frees_hold(&frees);
    assert_int_equal(atomic_load(&frees.holders[held]), 1);
    sl_frees_let_go(&frees, held);
    refuse_all(false);
    sl_points_void(&frees, record(&on_b));
}

static _Atomic bool is_held, too_early;
static _Atomic int returned;

static void *wait_for_holders(void *unused)
{
    (void)unused;
    sl_frees_wait_for_holders(&frees);
    if (atomic_load(&is_held)) atomic_store(&too_early, true);
    atomic_fetch_add(&returned, 1);
    return NULL;
}

/* One of those who wait must not make another one overlook a holder. The yields give a thread that does not
 * wait the time to return. */
static void all_who_wait_see_the_holder(void **state)
{
    (void)state;
    enum { WAITERS = 3, YIELDS = 2000 };
    pthread_t threads[WAITERS];
    atomic_store(&is_held, true);
    uint32_t held = sl_frees_hold(&frees);
    for (int t = 0; t < WAITERS; t++) {
        uint32_t epoch = atomic_load(&frees.epoch);
        assert_int_equal(pthread_create(&threads[t], NULL, wait_for_holders, NULL), 0);
        while (atomic_load(&frees.epoch) == epoch) sched_yield();
    }
    for (int i = 0; i < YIELDS && !atomic_load(&returned); i++) sched_yield();
    atomic_store(&is_held, false);
    sl_frees_let_go(&frees, held);
    for (int t = 0; t < WAITERS; t++) assert_int_equal(pthread_join(threads[t], NULL), 0);
    assert_false(atomic_load(&too_early));
    assert_int_equal(atomic_load(&returned), WAITERS);
}

/* --- Lists of events: a list that lacks one says so, and no event is dropped that is not known to have
 * passed.
 */

static void an_event_in_the_list_is_waited_for(void **state)
{
    (void)state;
    struct sl_waits waits = {0};
    sl_points_give(&frees, record(&on_a), &waits);
    sl_points_give(&frees, record(&on_b), &waits);
    assert_int_equal(waits.count, 2);
    assert_int_equal(sl_waits_enqueue(&waits, &device.backend, &b), SL_OK);
    assert_int_equal(device.wait_count, 2);
    assert_false(device.waits[0].by_host);
    assert_int_equal(sl_waits_beside(&waits, &device.backend, &b), SL_OK);
    assert_true(device.waits[2].by_host && device.waits[3].by_host);
    sl_waits_end(&waits, &frees);
    assert_false(sl_waits_any(&waits));
}

static void a_list_that_lacks_one_says_so(void **state)
{
    (void)state;
    struct sl_waits waits = {0};
    refuse_all(true);
    sl_points_give(&frees, record(&on_a), &waits);
    assert_true(waits.unsure && sl_waits_any(&waits));
    refuse_all(false);
    assert_int_equal(sl_waits_enqueue(&waits, &device.backend, &b), SL_ERR_DRIVER);
    sl_waits_end(&waits, &frees);
}

static void refused_waits_are_told(void **state)
{
    (void)state;
    struct sl_waits waits = {0};
    sl_points_give(&frees, record(&on_a), &waits);
    refuse_all(true);
    assert_int_equal(sl_waits_enqueue(&waits, &device.backend, &b), SL_ERR_DRIVER);
    assert_int_equal(sl_waits_beside(&waits, &device.backend, &b), SL_ERR_DRIVER);
    assert_int_equal(sl_wait_on_host(&waits.at[0]), SL_ERR_DRIVER);
    sl_waits_prune(&waits, &frees); /* nobody says that it has passed */
    assert_int_equal(waits.count, 1);
    refuse_all(false);
    sl_waits_prune(&waits, &frees);
    assert_int_equal(waits.count, 1);
    ((struct noted_event *)waits.at[0].event)->done = true;
    sl_waits_prune(&waits, &frees);
    assert_int_equal(waits.count, 0);
    sl_waits_end(&waits, &frees);
}

/* The event of an open point whose recording failed may have passed long ago, on another stream. */
static void an_event_that_was_not_recorded_is_not_dropped(void **state)
{
    (void)state;
    struct sl_waits waits = {0};
    sl_points_give(&frees, sl_points_open(&frees, &on_a), &waits);
    assert_true(sl_waits_are_open(&waits));
    device.refuses_records = device.refuses_finishing = true;
    sl_frees_flush(&frees);
    ((struct noted_event *)waits.at[0].event)->done = true;
    sl_waits_prune(&waits, &frees);
    assert_int_equal(waits.count, 1);
    assert_int_equal(sl_waits_enqueue(&waits, &device.backend, &b), SL_ERR_DRIVER);
    sl_waits_end(&waits, &frees);
}

static bool is_behind(struct sl_points *points, uint64_t serial)
{
    struct sl_wait wait = {.event = points->at[0].event, .points = points, .serial = points->at[0].serial};
    return sl_wait_is_behind(&wait, serial);
}

/* Breaks if a free counts as behind a collective that the stream got only later, or if one in front of it is
 * forgotten: memory would be copied out for nothing, or a movement would wait for other ranks. */
static void a_free_is_behind_what_came_before_it(void **state)
{
    (void)state;
    static struct sl_behind behind;
    static const _Atomic int captures;
    struct sl_behind_stream stream = {1, on_a.serial, on_a.handle, true};
    assert_int_equal(sl_behind_init(&behind, &device.backend, &captures), SL_OK);
    frees.behind = &behind;
    struct sl_points *before = record(&on_a), *open = sl_points_open(&frees, &on_a);
    sl_frees_flush(&frees);
    sl_behind_launched(&behind, &stream);
    struct noted_event *first = device.last;
    assert_false(is_behind(before, 0) || is_behind(open, 0));
    struct sl_points *between = record(&on_a), *still_open = sl_points_open(&frees, &on_a);
    assert_true(is_behind(between, 0) && is_behind(still_open, 0));
    sl_frees_flush(&frees);
    assert_true(is_behind(still_open, 0));
    sl_behind_launched(&behind, &stream);
    struct sl_points *after = record(&on_a);
    sl_behind_begins(&behind); /* on a stream that is not known yet */
    struct sl_points *meanwhile = record(&on_b);
    sl_behind_launched(&behind, &(struct sl_behind_stream){2, on_b.serial, on_b.handle, true});
    sl_behind_ends(&behind);
    assert_true(is_behind(meanwhile, 0));
    first->done = true;
    assert_false(is_behind(between, 0) || is_behind(still_open, 0));
    assert_true(is_behind(after, 0) && is_behind(after, on_b.serial));
    assert_false(is_behind(after, on_a.serial));
    struct sl_points *all[] = {before, open, between, still_open, after, meanwhile};
    for (int i = 0; i < 6; i++) sl_points_void(&frees, all[i]);
    sl_behind_close(&behind, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_refused_record_is_waited_for, start, stop),
        cmocka_unit_test_setup_teardown(what_is_neither_recorded_nor_waited_for_is_ahead, start, stop),
        cmocka_unit_test_setup_teardown(an_open_point_that_is_refused_is_ahead, start, stop),
        cmocka_unit_test_setup_teardown(a_point_is_shared_where_the_driver_need_not_be_called, start, stop),
        cmocka_unit_test_setup_teardown(without_events_the_unknown_stands_for_them, start, stop),
        cmocka_unit_test_setup_teardown(holders_are_waited_for, start, stop),
        cmocka_unit_test_setup_teardown(all_who_wait_see_the_holder, start, stop),
        cmocka_unit_test_setup_teardown(an_event_in_the_list_is_waited_for, start, stop),
        cmocka_unit_test_setup_teardown(a_list_that_lacks_one_says_so, start, stop),
        cmocka_unit_test_setup_teardown(refused_waits_are_told, start, stop),
        cmocka_unit_test_setup_teardown(an_event_that_was_not_recorded_is_not_dropped, start, stop),
        cmocka_unit_test_setup_teardown(a_free_is_behind_what_came_before_it, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
