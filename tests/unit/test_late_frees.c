/* Memory that is freed while another device has work that may use it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/late_frees.h"
#include "core_fixture.h"

static const uint32_t offsets[] = {0}, sizes[] = {8};
static const struct sl_host_kernel kernel = {"kernel", 1, offsets, sizes};

static bool done;
static int records;
static enum sl_status (*real_record)(void *self, sl_event_handle event, sl_stream stream);

static struct sl_answer event_done(void *self, sl_event_handle event)
{
    (void)self, (void)event;
    return sl_answer_of(done);
}

static enum sl_status event_wait(void *self, sl_event_handle event)
{
    (void)self, (void)event;
    done = true;
    return SL_OK;
}

static enum sl_status event_record(void *self, sl_event_handle event, sl_stream stream)
{
    records++;
    return real_record(self, event, stream);
}

/* The second device, whose work is over when the test says so. */
static struct sl_core *start_another(void)
{
    static struct sl_backend backend;
    uint32_t number = 0;
    assert_int_equal(sl_backend_host_new(SL_GIB, &backend), SL_OK);
    real_record = backend.event_record;
    backend.event_done = event_done;
    backend.event_wait = event_wait;
    backend.event_record = event_record;
    assert_int_equal(sl_runtime_start_another(&backend, &number), SL_OK);
    return sl_core_started(number);
}

static struct sl_launch give_it_work(void)
{
    sl_cores_turn_to(1);
    uint64_t address = core_take(SL_MIB);
    void *parameters[] = {&address};
    struct sl_launch launch = core_kernel(&kernel, parameters, 1);
    core_launch(launch);
    sl_cores_turn_to(0);
    return launch;
}

static uint64_t live(void)
{
    return sl_core_started(0)->placement.live_count;
}

static void it_is_freed_when_the_other_is_done(void **state)
{
    struct sl_allocation found;
    (void)state;
    if (!core_in_child("inline")) return;
    uint64_t address = core_take(SL_MIB);
    assert_int_equal(sl_runtime_free_everywhere(core_take(SL_MIB), SL_FREE_NOW, &(struct sl_allocation){0}),
                     SL_OK); /* there is no other */
    assert_int_equal(live(), 1);
    start_another();
    uint64_t idle = core_take(SL_MIB);
    assert_int_equal(sl_runtime_free_everywhere(idle, SL_FREE_NOW, &(struct sl_allocation){0}),
                     SL_OK); /* it has no work */
    assert_int_equal(live(), 1);
    give_it_work();
    assert_int_equal(sl_runtime_free_everywhere(address, SL_FREE_NOW, &found), SL_OK);
    assert_int_equal(found.bytes, SL_MIB);
    assert_false(sl_runtime_find(address, &found));
    assert_int_equal(sl_runtime_free_everywhere(address, SL_FREE_NOW, &(struct sl_allocation){0}),
                     SL_ERR_INVALID);
    assert_true(live() == 1);
    assert_int_not_equal(core_take(SL_MIB), address);
    done = true;
    assert_int_not_equal(core_take(SL_MIB), 0); /* looks */
    assert_false(sl_late_frees_hurry());        /* none is left */
    core_end_child(live() == 2);
}

/* What it was given before is over as well when the program has waited for it. */
static void the_program_waited_for_it(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    uint64_t address = core_take(SL_MIB);
    start_another();
    give_it_work();
    int before = records;
    sl_runtime_hold(1); /* nobody asks the streams */
    assert_int_equal(sl_runtime_free_everywhere(address, SL_FREE_NOW, &(struct sl_allocation){0}), SL_OK);
    sl_late_frees_look();
    assert_true(live() == 1 && records == before);
    sl_cores_turn_to(1);
    sl_runtime_synchronized(sl_runtime_synchronizing());
    sl_cores_turn_to(0);
    sl_runtime_hold(-1);
    core_end_child(live() == 0 && records == before);
}

static void nothing_is_enqueued_behind_a_collective(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    uint64_t address = core_take(SL_MIB);
    struct sl_core *other = start_another();
    struct sl_launch collective = give_it_work();
    sl_core_met_peers(other, &collective);
    int before = records;
    assert_int_equal(sl_runtime_free_everywhere(address, SL_FREE_NOW, &(struct sl_allocation){0}), SL_OK);
    assert_false(sl_late_frees_hurry());
    assert_true(records == before && live() == 1 && !done);
    done = true; /* it is over */
    sl_late_frees_look();
    core_end_child(records > before && live() == 0);
}

static void who_needs_room_waits(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    uint64_t address = core_take(SL_MIB);
    start_another();
    give_it_work();
    assert_int_equal(sl_runtime_free_everywhere(address, SL_FREE_NOW, &(struct sl_allocation){0}), SL_OK);
    assert_int_equal(live(), 1);
    assert_true(sl_late_frees_hurry());
    assert_int_equal(live(), 0);
    core_end_child(!sl_late_frees_hurry());
}

static void a_device_that_is_gone_uses_nothing(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    uint64_t address = core_take(SL_MIB);
    start_another();
    give_it_work();
    assert_int_equal(sl_runtime_free_everywhere(address, SL_FREE_NOW, &(struct sl_allocation){0}), SL_OK);
    assert_int_equal(live(), 1);
    sl_runtime_stop_one(1, true);
    sl_late_frees_look();
    core_end_child(live() == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_freed_when_the_other_is_done),
        cmocka_unit_test(the_program_waited_for_it),
        cmocka_unit_test(nothing_is_enqueued_behind_a_collective),
        cmocka_unit_test(who_needs_room_waits),
        cmocka_unit_test(a_device_that_is_gone_uses_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
