/* Which launches are taken for the expected one although they differ from it. Stale words have a test of
 * their own: test_stale_words.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core_fixture.h"
#include "launch/access.h"

struct by_value {
    uint64_t first, second;
};

static const uint32_t offsets[] = {0, 8}, sizes[] = {8, sizeof(struct by_value)};
static const struct sl_host_kernel doubted = {"doubted", 2, offsets, sizes},
                                   lacking = {"lacking", 2, offsets, sizes},
                                   others = {"others", 2, offsets, sizes},
                                   moved = {"moved", 2, offsets, sizes};
static uint64_t target, bystander;

/* The symbol, with `expected` as what the core predicts. */
static sl_symbol expect_launch(const struct sl_host_kernel *of, sl_symbol expected, uint64_t address,
                               uint64_t first, uint64_t second)
{
    struct by_value value = {first, second};
    void *parameters[] = {&address, &value};
    struct sl_launch launch = core_kernel(of, parameters, 1);
    return sl_access_scan(&sl_core_running()->scanner, &launch, expected, 0)->symbol;
}

static sl_symbol launch_of(const struct sl_host_kernel *of, uint64_t address, uint64_t first, uint64_t second)
{
    struct by_value value = {first, second};
    void *parameters[] = {&address, &value};
    core_launch(core_kernel(of, parameters, 1));
    return expect_launch(of, SL_NONE, address, first, second);
}

/* The word was 0 until now: it is no evidence, but the launch is most likely the expected one. */
static void what_fills_a_word_that_was_0_is_doubtful(void **state)
{
    (void)state;
    sl_symbol symbol = launch_of(&doubted, target, 0, 0);
    for (int i = 0; i < 2 * SL_MOST_DOUBTFUL; i++) {
        assert_int_equal(expect_launch(&doubted, symbol, target, 0, bystander), symbol);
        assert_int_equal(sl_core_running()->scanner.usage.access_count, 1); /* it is not fetched */
        assert_int_equal(expect_launch(&doubted, symbol, target, 0, 0), symbol);
    }
    for (int i = 0; i < SL_MOST_DOUBTFUL; i++)
        assert_int_equal(expect_launch(&doubted, symbol, target, 0, bystander), symbol);
    sl_symbol other = expect_launch(&doubted, symbol, target, 0, bystander);
    assert_int_not_equal(other, symbol); /* the program fills it, after all */
    assert_int_equal(sl_core_running()->symbols.records[other].access_count, 2);
}

/* The other way round. */
static void a_word_that_is_0_again_is_doubtful(void **state)
{
    (void)state;
    sl_symbol symbol = launch_of(&lacking, target, 0, bystander);
    assert_int_equal(launch_of(&lacking, target, 0, bystander), symbol); /* is in the launch cache */
    for (int i = 0; i < 2 * SL_MOST_DOUBTFUL; i++) {
        assert_int_equal(expect_launch(&lacking, symbol, target, 0, 0), symbol);
        assert_int_equal(sl_core_running()->scanner.usage.access_count, 1);
        assert_int_equal(expect_launch(&lacking, symbol, target, 0, bystander), symbol);
        assert_int_equal(sl_core_running()->scanner.usage.access_count, 2);
    }
    for (int i = 0; i < SL_MOST_DOUBTFUL; i++)
        assert_int_equal(expect_launch(&lacking, symbol, target, 0, 0), symbol);
    assert_int_not_equal(expect_launch(&lacking, symbol, target, 0, 0), symbol);
}

static void other_tensors_are_another_launch(void **state)
{
    (void)state;
    sl_symbol symbol = launch_of(&others, target, 0, 0);
    assert_int_not_equal(expect_launch(&others, symbol, bystander, 3, 0), symbol);
    assert_int_not_equal(expect_launch(&others, symbol, 7, target, bystander), symbol);
    symbol = launch_of(&moved, target, bystander, 0);
    assert_int_not_equal(expect_launch(&moved, symbol, target, bystander + 512, 0), symbol);
}

static int start(void **state)
{
    int failed = core_start(state);
    target = core_take(2 * SL_MIB);
    bystander = core_take(2 * SL_MIB);
    return failed;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_fills_a_word_that_was_0_is_doubtful),
        cmocka_unit_test(a_word_that_is_0_again_is_doubtful),
        cmocka_unit_test(other_tensors_are_another_launch),
    };
    return cmocka_run_group_tests_name("expected launch", tests, start, core_stop);
}
