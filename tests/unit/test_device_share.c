/* A device beside other managed processes: breaks if one has more than its part, or less for ever; if a
 * device that only has the same name counts as shared; if the others' memory counts as lost; or if a budget
 * that a user gave is changed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/core.h"
#include "core_fixture.h"

#define DEVICE (64 * SL_MIB)
#define WHOLE (60 * SL_MIB) /* less 5 %, in whole blocks */

static void start(const char *budget)
{
    struct sl_backend backend;
    if (budget) setenv("SLUICE_DEVICE_BUDGET", budget, 1);
    setenv("SLUICE_DAEMON", "inline", 1);
    setenv("SLUICE_CHUNK", "2M", 1);
    setenv("SLUICE_LOG", "/dev/null", 1);
    sl_runtime_load();
    assert_int_equal(sl_backend_host_new(DEVICE, &backend), SL_OK);
    assert_int_equal(sl_runtime_start(&backend), SL_OK);
}

static uint64_t budget(void)
{
    return sl_budget_bytes(&sl_core_running()->budget);
}

static bool take_in(struct sl_device_users users, uint64_t missing_bytes)
{
    struct sl_core *core = sl_core_running();
    sl_lock(&core->order);
    bool less = sl_device_share_take_in(core, &users, missing_bytes);
    sl_unlock(&core->order);
    return less;
}

static uint64_t of_others(void)
{
    return sl_core_running()->share.others_bytes;
}

static void divide(void)
{
    start(NULL);
    assert_int_equal(budget(), WHOLE);
    assert_false(take_in((struct sl_device_users){0}, 0));
    assert_int_equal(budget(), WHOLE);
    assert_true(take_in((struct sl_device_users){1, 1, 0, 50 * SL_MIB}, 50 * SL_MIB));
    assert_int_equal(budget(), WHOLE / 2);
    assert_false(take_in((struct sl_device_users){1, 1, 0, 30 * SL_MIB}, 30 * SL_MIB)); /* the same again */
    assert_true(take_in((struct sl_device_users){2, 2, 0, 30 * SL_MIB}, 30 * SL_MIB));
    assert_int_equal(budget(), WHOLE / 3);
    assert_false(take_in((struct sl_device_users){1, 1, 0, 20 * SL_MIB}, 20 * SL_MIB));
    assert_int_equal(budget(), WHOLE / 2);
    assert_false(take_in((struct sl_device_users){0}, 20 * SL_MIB));
    assert_int_equal(budget(), WHOLE);
    assert_true(take_in((struct sl_device_users){200, 200, 0, 50 * SL_MIB}, 50 * SL_MIB));
    assert_int_equal(budget(), SL_LEAST_BUDGET);
}

static void parts_are_equal(void **state)
{
    (void)state;
    core_run_in_child(divide);
}

static void beside_a_budget(void)
{
    start(NULL);
    assert_true(take_in((struct sl_device_users){1, 0, 20 * SL_MIB, 18 * SL_MIB}, 18 * SL_MIB));
    assert_int_equal(budget(), 40 * SL_MIB); /* 95 % of the rest, in blocks */
    assert_int_equal(of_others(), 20 * SL_MIB);
    assert_true(take_in((struct sl_device_users){2, 1, 20 * SL_MIB, 18 * SL_MIB}, 18 * SL_MIB));
    assert_int_equal(budget(), 20 * SL_MIB);
    assert_int_equal(of_others(), 40 * SL_MIB);
    assert_true(
        take_in((struct sl_device_users){1, 0, UINT64_MAX, 18 * SL_MIB}, 18 * SL_MIB)); /* not trusted */
    assert_int_equal(budget(), SL_LEAST_BUDGET);
}

static void what_a_user_gave_comes_first(void **state)
{
    (void)state;
    core_run_in_child(beside_a_budget);
}

static void with_a_budget(void)
{
    start("32M");
    assert_false(take_in((struct sl_device_users){1, 1, 0, 20 * SL_MIB}, 20 * SL_MIB));
    assert_int_equal(budget(), 32 * SL_MIB);
    assert_int_equal(of_others(), 30 * SL_MIB);
    take_in((struct sl_device_users){2, 1, UINT64_MAX, 20 * SL_MIB}, 20 * SL_MIB); /* not trusted */
    assert_int_equal(of_others(), UINT64_MAX);
}

static void a_given_budget_is_kept(void **state)
{
    (void)state;
    core_run_in_child(with_a_budget);
}

static void elsewhere(void)
{
    start(NULL);
    assert_false(take_in((struct sl_device_users){1, 1, 0, 20 * SL_MIB}, 9 * SL_MIB));
    assert_int_equal(budget(), WHOLE);
    assert_int_equal(of_others(), 0);
    assert_true(take_in((struct sl_device_users){1, 1, 0, 20 * SL_MIB}, 10 * SL_MIB));
    /* Once seen, it stays: what it holds may leave. */
    assert_false(take_in((struct sl_device_users){1, 1, 0, 20 * SL_MIB}, 0));
    assert_int_equal(budget(), WHOLE / 2);
}

static void only_those_whose_memory_is_missing_count(void **state)
{
    (void)state;
    core_run_in_child(elsewhere);
}

static void newcomers(void)
{
    start(NULL);
    for (int look = 0; look < 20; look++) {
        assert_false(take_in((struct sl_device_users){1, 1, 0, 0}, 14 * SL_MIB));
        assert_int_equal(of_others(), 14 * SL_MIB);
    }
    assert_false(take_in((struct sl_device_users){1, 1, 0, 0}, 14 * SL_MIB)); /* it holds nothing here */
    assert_int_equal(of_others(), 0);
    assert_int_equal(budget(), WHOLE);
}

static void what_a_newcomer_takes_is_not_lost(void **state)
{
    (void)state;
    core_run_in_child(newcomers);
}

static void leavers(void)
{
    start(NULL);
    take_in((struct sl_device_users){1, 1, 0, 30 * SL_MIB}, 30 * SL_MIB);
    assert_int_equal(of_others(), 30 * SL_MIB);
    take_in((struct sl_device_users){0}, 26 * SL_MIB);
    assert_int_equal(of_others(), 26 * SL_MIB);
    take_in((struct sl_device_users){0}, 1 * SL_MIB);
    assert_int_equal(of_others(), 1 * SL_MIB);
    take_in((struct sl_device_users){0}, 20 * SL_MIB); /* somebody else's */
    assert_int_equal(of_others(), 1 * SL_MIB);
}

/* A process leaves the page before the driver has its memory back. */
static void what_a_leaver_still_has_is_not_lost(void **state)
{
    (void)state;
    core_run_in_child(leavers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_equal),
        cmocka_unit_test(what_a_user_gave_comes_first),
        cmocka_unit_test(a_given_budget_is_kept),
        cmocka_unit_test(only_those_whose_memory_is_missing_count),
        cmocka_unit_test(what_a_newcomer_takes_is_not_lost),
        cmocka_unit_test(what_a_leaver_still_has_is_not_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
