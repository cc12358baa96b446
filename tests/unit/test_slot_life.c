/* What the core notes of an allocation and a free: breaks if two allocations have one number, if a free is
 * not known by the name of its allocation, or if slots that only remember a place are never forgotten. */
#include "core/slot_life.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core_fixture.h"

static uint32_t placed(struct sl_core *core, uint64_t bytes, uint64_t site)
{
    uint32_t slot;
    assert_int_equal(sl_place(&core->placement, bytes, site, &slot), SL_OK);
    return slot;
}

static void each_has_a_number_and_two_symbols(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    struct sl_core *core = sl_core_running();
    sl_lock(&core->order);
    uint32_t slot = placed(core, 4096, 1);
    uint64_t fed = core->history.fed;
    sl_slot_life_begin(core, slot, 9);
    struct sl_slot first = core->placement.slots[slot];
    assert_int_equal(first.tag, 9);
    assert_true(first.taken);
    sl_slot_life_end(core, slot);
    assert_false(core->placement.slots[slot].live);
    assert_true(core->placement.slots[slot].freed);
    assert_int_equal(core->history.fed, fed + 2);
    assert_int_equal(placed(core, 4096, 1), slot);
    sl_slot_life_begin(core, slot, 0);
    const struct sl_slot *again = &core->placement.slots[slot];
    assert_int_equal(again->taken, first.taken);
    assert_true(again->number > first.number);
    sl_unlock(&core->order);
    core_end_child(true);
}

static void too_many_that_only_remember_are_forgotten(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    struct sl_core *core = sl_core_running();
    sl_lock(&core->order);
    uint32_t live = placed(core, 4096, 1);
    for (uint64_t site = 2; site < 65000; site++) sl_slot_life_end(core, placed(core, 512, site));
    sl_slot_lives_forget(core);
    assert_true(sl_placement_remembered(&core->placement) > 60000);
    for (uint64_t site = 65000; site < 66000; site++) sl_slot_life_end(core, placed(core, 512, site));
    sl_slot_lives_forget(core);
    assert_int_equal(sl_placement_remembered(&core->placement), 0);
    bool lives = core->placement.slots[live].live;
    sl_unlock(&core->order);
    core_end_child(lives);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_has_a_number_and_two_symbols),
        cmocka_unit_test(too_many_that_only_remember_are_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
