/* A free waits for the program's work, but only for work that is not known to be done: breaks if a program
 * that frees much asks the driver each time, or not at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core_fixture.h"

static const uint32_t offsets[] = {0}, sizes[] = {8};
static const struct sl_host_kernel kernel = {"one", 1, offsets, sizes};
static uint64_t memory;

static int start(void **state)
{
    if (core_start(state)) return -1;
    memory = core_take(SL_MIB);
    return 0;
}

static void launch(void)
{
    void *parameters[] = {&memory};
    core_launch(core_kernel(&kernel, parameters, 1));
}

/* How often a wait for the program's work calls the driver. */
static uint64_t calls_to_finish(void)
{
    struct sl_core *core = sl_core_running();
    struct sl_host_books *books = sl_backend_host_books(&core->backend);
    uint64_t before = books->calls;
    sl_runtime_finish();
    return books->calls - before;
}

static void asks_once_for_each_work(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        launch();
        assert_true(calls_to_finish() > 0);
        assert_int_equal(calls_to_finish(), 0);
    }
}

/* The wait of another thread comes before a launch of this one that it has not seen. */
static void a_launch_under_way_is_waited_for(void **state)
{
    (void)state;
    void *parameters[] = {&memory};
    struct sl_launch open = core_kernel(&kernel, parameters, 1);
    sl_runtime_launch_begin(&open);
    assert_true(calls_to_finish() > 0);
    sl_runtime_launch_end(&open, true);
    assert_true(calls_to_finish() > 0);
    assert_int_equal(calls_to_finish(), 0);
}

/* What a stream was given before it began to capture is not waited for. */
static void captures_hide_work(void **state)
{
    (void)state;
    struct sl_core *core = sl_core_running();
    launch();
    atomic_fetch_add(&core->streams.captures, 1);
    assert_true(calls_to_finish() > 0);
    atomic_fetch_sub(&core->streams.captures, 1);
    assert_true(calls_to_finish() > 0);
    assert_int_equal(calls_to_finish(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asks_once_for_each_work),
        cmocka_unit_test(a_launch_under_way_is_waited_for),
        cmocka_unit_test(captures_hide_work),
    };
    return cmocka_run_group_tests(tests, start, core_stop);
}
