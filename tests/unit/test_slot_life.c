/* What the core notes of an allocation and a free: breaks if two allocations have one number, if a free is
 * not known by the name of its allocation, if slots that only remember a place are never forgotten, or if two
 * buffers that are used by turns make every second step another one. */
#include "core/core.h"

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

static const uint32_t offsets[] = {0}, sizes[] = {8};
static const struct sl_host_kernel kernel = {"kernel", 1, offsets, sizes};

static sl_symbol launch(uint64_t address)
{
    void *parameters[] = {&address};
    struct sl_launch launch = core_kernel(&kernel, parameters, 1);
    core_launch(launch);
    return sl_core_running()->scanner.usage.symbol;
}

/* A step's loss is freed when the next one's is there, so each lies where the last but one lay. */
static void steps_with_two_buffers_by_turns_are_alike(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    struct sl_core *core = sl_core_running();
    uint64_t losses[2] = {core_take_at(7, 4), 0}, weights = core_take(SL_MIB);
    sl_symbol written = 0, read = 0;
    for (int step = 0; step < 8; step++) {
        uint64_t *loss = &losses[(step + 1) % 2], *last = &losses[step % 2], fed = core->history.fed;
        *loss = core_take_at(7, 4);
        sl_symbol young = launch(*loss);
        assert_int_equal(sl_runtime_free(*last, NULL), SL_OK);
        launch(weights);
        sl_symbol old = launch(*loss);
        assert_int_not_equal(young, old);
        if (step) assert_true(young == written && old == read);
        written = young;
        read = old;
        if (step >= 3) assert_int_equal(sl_predictor_period(core->history.predictor), 5);
        assert_int_equal(core->history.fed - fed, 5);
        const struct sl_symbol_record *record = &core->symbols.records[old];
        const struct sl_access *access = &core->symbols.accesses[record->first_access];
        assert_int_equal(core->placement.slots[access->slot].address, *loss); /* what it now stands for */
    }
    core_end_child(true);
}

/* At its end a program frees all it has: that is no period. */
static void frees_in_a_row_differ(void **state)
{
    (void)state;
    enum { COUNT = 40 };
    if (!core_in_child("inline")) return;
    struct sl_core *core = sl_core_running();
    uint64_t memory[COUNT];
    for (int i = 0; i < COUNT; i++) memory[i] = core_take_at(7, 4);
    for (int i = 0; i < COUNT; i++) assert_int_equal(sl_runtime_free(memory[i], NULL), SL_OK);
    assert_int_equal(sl_predictor_period(core->history.predictor), 0);
    core_end_child(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_has_a_number_and_two_symbols),
        cmocka_unit_test(too_many_that_only_remember_are_forgotten),
        cmocka_unit_test(steps_with_two_buffers_by_turns_are_alike),
        cmocka_unit_test(frees_in_a_row_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
