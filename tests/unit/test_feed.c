/* What follows from a symbol in all parts of the core: breaks if a period is not one iteration, if a plan is
 * carried out on that a misprediction, a smaller budget or full tables made wrong, or if launches are timed
 * where there is nothing to plan.
 *
 * A program that never does the same thing twice must not fill memory with what it did, and one that begins
 * to repeat itself afterwards is predicted like any other. Each test is a process of its own, since the core
 * runs once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/core.h"
#include "core_fixture.h"
#include "move/steps.h"

#define BLOCKS 48 /* of a chunk each: half as much again as the budget */
#define FITS 24   /* of them do */

static const uint32_t offsets[] = {0}, sizes[] = {8};
static const struct sl_host_kernel kernel = {"one", 1, offsets, sizes};

static void launch(uint64_t *address, uint32_t grid)
{
    void *parameters[] = {address};
    core_launch(core_kernel(&kernel, parameters, grid));
}

/* Repeats launches of so many grids until they are recognised. */
static void assert_learns(uint64_t *address, uint32_t grids)
{
    for (uint32_t i = 0; i < 64; i++) launch(address, 1 + i % grids);
    assert_non_null(sl_core_running()->scanner.usage.cached);
}

static void new_launches_all_the_time(void **state)
{
    (void)state;
    if (!core_in_child("thread")) return;
    struct sl_core *core = sl_core_running();
    uint64_t address;
    assert_int_equal(sl_runtime_alloc(SL_MIB, 1, 0, NULL, &address), SL_OK);
    uint32_t most = 0;
    for (uint32_t grid = 10; grid < 300000; grid++) {
        launch(&address, grid);
        if (core->symbols.count > most) most = core->symbols.count;
    }
    assert_in_range(most, 1000, 1 << 18);
    assert_learns(&address, 4);
    core_end_child(sl_runtime_free(address, NULL) == SL_OK);
}

static void new_sizes_all_the_time(void **state)
{
    (void)state;
    if (!core_in_child("thread")) return;
    struct sl_core *core = sl_core_running();
    uint64_t kept[100], address;
    for (uint64_t i = 0; i < 100; i++)
        assert_int_equal(sl_runtime_alloc(4096, 100 + i, 0, NULL, &kept[i]), SL_OK);
    for (uint64_t i = 0; i < 300000; i++) {
        assert_int_equal(sl_runtime_alloc(4 * (i + 1), 2, 0, NULL, &address), SL_OK);
        assert_int_equal(sl_runtime_free(address, NULL), SL_OK);
    }
    assert_in_range(core->placement.slot_count, 100, 70000);
    /* Those that lived all the time are where they were, by the same names. */
    for (uint64_t i = 0; i < 100; i++) {
        uint32_t slot = sl_place_find(&core->placement, kept[i]);
        assert_int_equal(core->placement.slots[slot].site, 100 + i);
        assert_int_equal(core->placement.slots[slot].address, kept[i]);
        launch(&kept[i], 1);
        assert_int_equal(core->scanner.usage.access_count, 1);
        assert_int_equal(core->scanner.usage.accesses[0].slot, slot);
    }
    assert_learns(&kept[7], 1); /* where sizes vary, grids make no other launch */
    for (uint64_t i = 0; i < 100; i++) assert_int_equal(sl_runtime_free(kept[i], NULL), SL_OK);
    core_end_child(core->placement.live_count == 0);
}

static uint64_t blocks[BLOCKS];

static void take(int first, int end)
{
    for (int b = first; b < end; b++) blocks[b] = core_take(2 * SL_MIB);
}

/* A period of the program: each of the blocks in turn. */
static void run_periods(int periods, int count)
{
    for (int i = 0; i < periods * count; i++) launch(&blocks[i % count], 1);
}

static void a_period_is_an_iteration(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    const struct sl_core *core = sl_core_running();
    take(0, FITS);
    run_periods(3, FITS);
    uint32_t iterations = core->history.iterations;
    assert_in_range(iterations, 1, 3);
    run_periods(5, FITS);
    assert_int_equal(core->history.iterations, iterations + 5);
    assert_int_equal(core->stats.iteration, iterations + 5);
    for (uint32_t i = iterations; i < iterations + 5; i++)
        assert_int_equal(core->stats.iterations[i].launches, FITS);
    core_end_child(true);
}

/* Until chunks lie beyond the budget there is nothing to plan, and no matter how long launches take. */
static void launches_are_timed_once_memory_is_short(void **state)
{
    (void)state;
    static const char *const policies[] = {"plan", "lru"};
    for (int p = 0; p < 2; p++) {
        setenv("SLUICE_POLICY", policies[p], 1);
        if (core_in_child("inline")) {
            const struct sl_core *core = sl_core_running();
            take(0, 32);
            run_periods(4, 32);
            assert_false(core->budget.pressure);
            assert_null(core->sampling.sampler);
            take(32, 33);
            assert_true(core->budget.pressure);
            core_end_child((core->sampling.sampler != NULL) == (p == 0)); /* the other one plans nothing */
        }
    }
    unsetenv("SLUICE_POLICY");
}

static uint64_t elapsed_ns, alternating_ns;

/* Every launch takes as long as the one before, or never as long. */
static uint64_t event_elapsed_ns(void *self, sl_event_handle from, sl_event_handle to)
{
    (void)self, (void)from, (void)to;
    return elapsed_ns ^= alternating_ns;
}

/* Launches of one shape that take as long confirm each other, however many blocks they use; else each block's
 * is timed again. */
static void one_launch_of_a_shape_confirms_another(void **state)
{
    (void)state;
    uint32_t begun[2] = {0};
    for (int c = 0; c < 2; c++) {
        if (!core_in_child("inline")) continue;
        struct sl_core *core = sl_core_running();
        core->backend.event_elapsed_ns = event_elapsed_ns;
        elapsed_ns = 1 << 16;
        alternating_ns = c ? 1 << 15 : 0;
        take(0, BLOCKS);
        run_periods(20, BLOCKS);
        for (sl_symbol s = 0; s < core->symbols.count; s++)
            begun[c] += sl_durations_of(&core->sampling.durations, s)->begun;
        core_end_child(c ? begun[c] >= 2 * BLOCKS : begun[c] > 0 && begun[c] < 2 * BLOCKS);
    }
}

/* In a child, in the middle of a plan for launches that use so many of the blocks. */
static bool in_child_with_a_plan(int count)
{
    if (!core_in_child("inline")) return false;
    const struct sl_core *core = sl_core_running();
    take(0, BLOCKS);
    run_periods(10, count);
    for (int i = 0; i < count && !core->schedule.active; i++) launch(&blocks[i], 1);
    assert_true(core->schedule.active);
    return true;
}

/* Launches that nobody knows. */
static void wander(int launches)
{
    for (int i = 0; i < launches; i++) {
        uint64_t inside = blocks[i % 3] + 512;
        launch(&inside, 1000 + (uint32_t)i);
    }
}

static void another_way_ends_what_is_planned(void **state)
{
    (void)state;
    if (!in_child_with_a_plan(BLOCKS)) return;
    const struct sl_core *core = sl_core_running();
    uint64_t mispredictions = core->stats.total.mispredictions, planning = core->planning.mispredictions;
    wander(1);
    assert_int_equal(core->history.streak, 0);
    assert_true(core->planning.mispredictions > planning);
    assert_true(core->schedule.active);
    wander(40);
    assert_int_equal(core->stats.total.mispredictions, mispredictions + 1);
    core_end_child(!core->schedule.active);
}

static bool knows_where_it_is(const struct sl_core *core)
{
    return !core->planning.astray_at;
}

/* A word of its parameters that looked like an address before does so no more, or a tensor begins elsewhere.
 */
static void what_uses_the_same_chunks_is_no_other_way(void **state)
{
    (void)state;
    if (!in_child_with_a_plan(BLOCKS)) return;
    struct sl_core *core = sl_core_running();
    for (int i = 0; i < 5; i++) launch(&blocks[i], 1);
    uint64_t mispredictions = core->planning.mispredictions, generation = core->schedule.generation,
             inside = blocks[5] + 512, other = blocks[9];
    launch(&inside, 1);
    assert_true(core->planning.mispredictions > mispredictions);
    assert_int_equal(core->planning.astray_at, 0);
    assert_true(core->schedule.active && core->schedule.generation == generation);
    for (int i = 6; i < 12; i++) launch(&blocks[i], 1);
    assert_int_equal(core->planning.astray_at, 0);
    launch(&other, 1);
    core_end_child(core->planning.astray_at != 0);
}

/* Launches too many, then as many too few, then one in place of another: none of them costs the plan. */
static void odd_launches_do_not_end_what_is_planned(void **state)
{
    (void)state;
    static const struct {
        int odd, left_out;
    } cases[] = {{3, 0}, {0, 3}, {1, 1}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        if (!in_child_with_a_plan(BLOCKS)) continue;
        struct sl_core *core = sl_core_running();
        int at = BLOCKS / 2;
        for (int i = 0; i < at; i++) launch(&blocks[i], 1);
        uint64_t generation = core->schedule.generation, first = core->schedule.steps.first_tick;
        sl_tick end = core->schedule.end_tick;
        wander(cases[c].odd);
        bool back = false;
        for (int i = at + cases[c].left_out; i < at + 10 && !back; i++) {
            launch(&blocks[i], 1);
            back = knows_where_it_is(core);
        }
        int64_t delay = cases[c].odd - cases[c].left_out;
        assert_int_equal(core->planning.astray_at, 0);
        assert_int_equal(core->schedule.steps.first_tick, first + (uint64_t)delay);
        assert_int_equal(core->schedule.end_tick, end + (uint64_t)delay);
        assert_int_equal(core->stats.total.mispredictions, 0);
        core_end_child(core->schedule.active && core->schedule.generation == generation);
    }
}

static uint32_t next_use(const struct sl_core *core, int block)
{
    const struct sl_steps *steps = &core->schedule.steps;
    return sl_planned_uses_next(&steps->uses, sl_arena_chunk(&core->arena, blocks[block]),
                                (size_t)(core->history.ticks.now + 1 - steps->first_tick) + 1);
}

static bool is_resident(const struct sl_core *core, int block)
{
    return sl_chunk_is_resident(sl_arena_record(&core->arena, sl_arena_chunk(&core->arena, blocks[block])));
}

/* They fetch what takes the place of what is planned to stay, and that lacks in turn, and so on to the plan's
 * end, unless the next one comes first. */
static void what_odd_launches_took_is_planned_anew(void **state)
{
    (void)state;
    if (!in_child_with_a_plan(BLOCKS)) return;
    const struct sl_core *core = sl_core_running();
    int at = BLOCKS / 2;
    for (int i = 0; i < at; i++) launch(&blocks[i], 1);
    uint64_t generation = core->schedule.generation;
    sl_tick end = core->schedule.end_tick;
    for (int odd = 0, block = 0; odd < 3; odd++) {
        while (is_resident(core, block)) block++;
        launch(&blocks[block], 1000 + (uint32_t)odd);
    }
    for (int i = at; core->schedule.generation == generation && core->history.ticks.now + 8 < end; i++)
        launch(&blocks[i % BLOCKS], 1);
    assert_true(core->schedule.active);
    assert_int_equal(core->stats.total.mispredictions, 0);
    core_end_child(core->schedule.generation > generation);
}

/* An odd launch of a block that the plan does not have there. */
static void what_is_lacking_takes_the_place_of_what_is_used_last(void **state)
{
    (void)state;
    if (!in_child_with_a_plan(BLOCKS)) return;
    const struct sl_core *core = sl_core_running();
    bool before[BLOCKS];
    uint32_t next[BLOCKS], last = 0, left = 0;
    int absent = -1;
    for (int b = 0; b < BLOCKS; b++) {
        before[b] = is_resident(core, b);
        next[b] = next_use(core, b);
        if (before[b] && next[b] > last) last = next[b];
        if (!before[b]) absent = b;
    }
    assert_true(absent >= 0);
    launch(&blocks[absent], 77);
    assert_true(core->schedule.active);
    for (int b = 0; b < BLOCKS; b++)
        if (before[b] && !is_resident(core, b) && next[b] > left) left = next[b];
    core_end_child(is_resident(core, absent) && left == last);
}

/* Of so many symbols, how many are known to take how long. */
static uint32_t timed(struct sl_core *core, uint32_t symbols)
{
    uint32_t count = 0;
    for (sl_symbol s = 0; s < symbols; s++) count += sl_durations_of(&core->sampling.durations, s)->count > 0;
    return count;
}

/* A symbol is something else from then on. */
static void what_is_forgotten_is_planned_no_more(void **state)
{
    (void)state;
    if (!in_child_with_a_plan(BLOCKS)) return;
    struct sl_core *core = sl_core_running();
    uint64_t plans = core->stats.plans;
    uint32_t symbols = core->symbols.count;
    assert_true(timed(core, symbols) > 0);
    assert_non_null(core->scanner.usage.cached);
    sl_lock(&core->order);
    sl_core_forget(core);
    sl_unlock(&core->order);
    assert_false(core->schedule.active);
    assert_int_equal(sl_history_expected(&core->history, 0), SL_NONE);
    assert_true(core->symbols.count < symbols);
    assert_true(timed(core, symbols) == 0);
    assert_null(core->scanner.usage.cached);
    run_periods(10, BLOCKS); /* and what it does from now on is learned like any other */
    core_end_child(core->stats.plans > plans && core->history.streak > BLOCKS);
}

static struct sl_backend host;
static uint64_t others; /* have so much of the device */

static enum sl_status memory_info(void *self, uint64_t *free_bytes, uint64_t *total_bytes)
{
    enum sl_status status = host.memory_info(self, free_bytes, total_bytes);
    *free_bytes -= *free_bytes < others ? *free_bytes : others;
    return status;
}

static void a_smaller_budget_ends_what_is_planned(void **state)
{
    (void)state;
    if (!in_child_with_a_plan(FITS)) return;
    struct sl_core *core = sl_core_running();
    host = core->backend;
    core->backend.memory_info = memory_info;
    for (int i = 0; i < 3; i++) sl_core_look(core, true);
    assert_true(core->schedule.active);
    others = SL_GIB; /* all but what ever came */
    for (int i = 0; i < 2; i++) sl_core_look(core, true);
    assert_true(sl_budget_bytes(&core->budget) < 64 * SL_MIB);
    assert_false(core->schedule.active);
    run_periods(10, FITS);
    core_end_child(atomic_load(&core->migrator.occupied_bytes) <= sl_budget_bytes(&core->budget));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_launches_all_the_time),
        cmocka_unit_test(new_sizes_all_the_time),
        cmocka_unit_test(a_period_is_an_iteration),
        cmocka_unit_test(launches_are_timed_once_memory_is_short),
        cmocka_unit_test(one_launch_of_a_shape_confirms_another),
        cmocka_unit_test(another_way_ends_what_is_planned),
        cmocka_unit_test(odd_launches_do_not_end_what_is_planned),
        cmocka_unit_test(what_uses_the_same_chunks_is_no_other_way),
        cmocka_unit_test(what_odd_launches_took_is_planned_anew),
        cmocka_unit_test(what_is_lacking_takes_the_place_of_what_is_used_last),
        cmocka_unit_test(what_is_forgotten_is_planned_no_more),
        cmocka_unit_test(a_smaller_budget_ends_what_is_planned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
