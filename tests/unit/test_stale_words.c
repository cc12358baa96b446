/* What a structure's room that nobody fills holds makes no other launch of it, and is not fetched. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core_fixture.h"
#include "launch/kernels.h"

/* As calculators of offsets are: strides, of which the kernel uses as many as there are dimensions. */
struct by_value {
    uint64_t used, room;
};

static const uint32_t offsets[] = {0, 8}, sizes[] = {8, sizeof(struct by_value)};
static const struct sl_host_kernel kernel = {"kernel", 2, offsets, sizes},
                                   later = {"later", 2, offsets, sizes}, shown = {"shown", 2, offsets, sizes},
                                   twice = {"twice", 2, offsets, sizes};
static uint64_t target, bystander;

static sl_symbol launch_of(const struct sl_host_kernel *of, uint64_t address, uint64_t used, uint64_t room)
{
    struct by_value value = {used, room};
    void *parameters[] = {&address, &value};
    struct sl_launch launch = core_kernel(of, parameters, 1);
    sl_symbol symbol = core_scan(&launch);
    core_launch(launch);
    return symbol;
}

static sl_symbol launch(uint64_t address, uint64_t used, uint64_t room)
{
    return launch_of(&kernel, address, used, room);
}

/* The symbol, with `expected` as what the core predicts. */
static sl_symbol expect_launch(const struct sl_host_kernel *of, sl_symbol expected, uint64_t address,
                               uint64_t used, uint64_t room)
{
    struct by_value value = {used, room};
    void *parameters[] = {&address, &value};
    struct sl_launch launch = core_kernel(of, parameters, 1);
    return sl_access_scan(&sl_core_running()->scanner, &launch, expected, 0)->symbol;
}

static void a_word_is_stale_once_both_were_seen(void **state)
{
    (void)state;
    struct sl_word_evidence evidence = {0};
    for (int i = 0; i < 1000; i++) assert_false(sl_word_note(&evidence, true));
    assert_false(sl_word_is_stale(&evidence));
    assert_true(sl_word_note(&evidence, false)); /* now */
    assert_false(sl_word_note(&evidence, false));
    assert_true(sl_word_is_stale(&evidence));
    assert_int_equal(evidence.live, UINT8_MAX);
}

static void what_was_left_there_makes_no_other_launch(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        launch(target, 3, bystander);
        launch(target, 3, 0x1234);
    }
    sl_symbol symbol = launch(target, 3, 0);
    assert_int_equal(launch(target, 3, bystander), symbol);
    assert_int_equal(launch(target, 3, 0x5678), symbol);
    assert_int_equal(launch(target, 3, bystander + 512), symbol);
    const struct sl_symbol_record *record = &sl_core_running()->symbols.records[symbol];
    assert_int_equal(record->access_count, 1); /* the parameter of its own */
}

/* A launch that is known has nothing by a word that is stale from now on. */
static void a_word_that_turns_stale_leaves_the_launch_the_same(void **state)
{
    (void)state;
    sl_symbol symbol = launch_of(&later, target, 3, bystander);
    for (int i = 0; i < 2; i++) assert_int_equal(launch_of(&later, target, 3, bystander), symbol);
    assert_int_equal(sl_core_running()->symbols.records[symbol].access_count, 2);
    expect_launch(&later, symbol, target, 3, 0x1234);
    assert_int_equal(sl_core_running()->scanner.usage.access_count, 1);
    assert_int_equal(expect_launch(&later, symbol, target, 3, bystander), symbol);
    assert_int_equal(sl_core_running()->symbols.records[symbol].access_count, 1);
    assert_int_equal(sl_core_running()->scanner.usage.access_count, 1);
    assert_int_equal(launch_of(&later, target, 3, 0x1234), symbol); /* is found without being expected */
}

static void the_launch_that_shows_it_is_without_it(void **state)
{
    (void)state;
    sl_symbol symbol = expect_launch(&shown, 0, target, 3, 0x1234);
    assert_int_equal(expect_launch(&shown, 0, target, 3, bystander), symbol);
    assert_int_equal(sl_core_running()->scanner.usage.access_count, 1);
}

/* An address of the launch's own again: from the launch before, as often as not. */
static void an_address_that_is_repeated_makes_no_other_launch(void **state)
{
    (void)state;
    sl_symbol symbol = launch_of(&twice, target, bystander, 0);
    assert_int_equal(launch_of(&twice, target, bystander, bystander), symbol);
    assert_int_equal(launch_of(&twice, target, bystander, target), symbol);
    assert_int_equal(launch_of(&twice, target, 0, bystander), symbol); /* whichever word holds it */
    assert_int_equal(sl_core_running()->symbols.records[symbol].access_count, 2);
    assert_int_not_equal(launch_of(&twice, target, 0, bystander + 512), symbol);
    expect_launch(&twice, symbol, target, 0, 0);
    assert_int_equal(sl_core_running()->scanner.usage.access_count, 1); /* it lacks one that counts */
}

/* A parameter of its own is what the program passes: twice the same is another launch than that and nothing.
 */
static void parameters_that_repeat_an_address_stay(void **state)
{
    (void)state;
    const uint32_t at[] = {0, 8}, each[] = {8, 8};
    const struct sl_host_kernel plain = {"plain", 2, at, each};
    uint64_t first = target, second = target;
    void *parameters[] = {&first, &second};
    struct sl_launch launch = core_kernel(&plain, parameters, 1);
    sl_symbol both = core_scan(&launch);
    assert_int_equal(sl_core_running()->symbols.records[both].access_count, 2);
    second = 0;
    assert_int_not_equal(core_scan(&launch), both);
}

/* An address where otherwise nothing is may be left out; one beside others is another launch. */
static void addresses_that_are_used_stay(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        launch(target, bystander, 7);
        launch(target, 0, 7);
    }
    sl_symbol with = launch(target, bystander, 7), without = launch(target, 0, 7);
    assert_int_not_equal(with, without);
    assert_int_equal(sl_core_running()->symbols.records[with].access_count, 2);
}

/* A parameter that is no larger than an address is filled, or the program is wrong. */
static void parameters_of_their_own_are_never_stale(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        launch(target, 9, 9);
        launch(0x1234, 9, 9);
    }
    assert_int_equal(sl_core_running()->symbols.records[launch(target, 9, 9)].access_count, 1);
    assert_int_equal(sl_core_running()->symbols.records[launch(0x1234, 9, 9)].access_count, 0);
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
        cmocka_unit_test(a_word_is_stale_once_both_were_seen),
        cmocka_unit_test(a_word_that_turns_stale_leaves_the_launch_the_same),
        cmocka_unit_test(the_launch_that_shows_it_is_without_it),
        cmocka_unit_test(addresses_that_are_used_stay),
        cmocka_unit_test(an_address_that_is_repeated_makes_no_other_launch),
        cmocka_unit_test(parameters_that_repeat_an_address_stay),
        cmocka_unit_test(parameters_of_their_own_are_never_stale),
        cmocka_unit_test(what_was_left_there_makes_no_other_launch),
    };
    return cmocka_run_group_tests_name("stale words", tests, start, core_stop);
}
