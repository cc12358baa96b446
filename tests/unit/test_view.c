/* What a replay sees of the running core: breaks if it is not the core's own, or not of the newest launch,
 * since what `sluice plan` says is made of these. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core_fixture.h"

#define CHUNK (2 * SL_MIB)
enum { BLOCKS = 48 }; /* of a chunk each; 32 fit */

static const uint32_t offsets[] = {0, 8}, sizes[] = {8, 8};
static const struct sl_host_kernel two = {"two", 2, offsets, sizes};
static uint64_t blocks[BLOCKS], large;
static struct sl_view view;

static int start(void **state)
{
    if (core_start(state)) return -1;
    view = sl_runtime_view();
    for (int i = 0; i < BLOCKS; i++) blocks[i] = core_take(CHUNK);
    large = core_take(80 * SL_MIB);
    return 0;
}

static sl_chunk chunk_at(uint64_t address)
{
    return sl_arena_chunk(view.arena, address);
}

static bool is_dead(uint64_t address)
{
    return sl_content_is_dead(sl_arena_record(view.arena, chunk_at(address))->content);
}

static void allocations_have_slots_and_chunks(void **state)
{
    (void)state;
    uint32_t slot = sl_place_find(view.placement, blocks[3]);
    assert_int_not_equal(slot, SL_NONE);
    assert_int_equal(sl_place_find(view.placement, blocks[3] + CHUNK - 1), slot);
    assert_int_not_equal(sl_place_find(view.placement, blocks[4]), slot);
    assert_int_equal(sl_place_find(view.placement, 8), SL_NONE);

    sl_chunk chunk = chunk_at(blocks[3]);
    assert_true(chunk < sl_arena_chunk_count(view.arena));
    assert_int_equal(chunk_at(blocks[3] + CHUNK - 1), chunk);
    assert_int_not_equal(chunk_at(blocks[4]), chunk);
    assert_int_equal(chunk_at(8), SL_NONE);
}

static void a_free_leaves_nothing_there(void **state)
{
    (void)state;
    uint64_t before = view.arena->virtual_bytes_used, address = core_take(CHUNK);
    sl_chunk chunk = chunk_at(address);
    assert_int_equal(view.arena->virtual_bytes_used, before + CHUNK);
    assert_int_equal(sl_arena_record(view.arena, chunk)->bytes, CHUNK);
    assert_int_not_equal(sl_place_find(view.placement, address), SL_NONE);
    assert_int_equal(sl_runtime_free(address, NULL), SL_OK);
    assert_int_equal(view.arena->virtual_bytes_used, before);
    assert_int_equal(sl_arena_record(view.arena, chunk)->bytes, 0);
    assert_int_equal(sl_place_find(view.placement, address), SL_NONE);
}

static void a_launch_has_its_chunks(void **state)
{
    (void)state;
    void *parameters[] = {&blocks[5], &blocks[7]};
    struct sl_launch launch = core_kernel(&two, parameters, 1);
    assert_true(is_dead(blocks[7]));
    sl_runtime_launch_begin(&launch);
    assert_int_equal(view.usage->chunk_count, 2);
    assert_int_equal(view.usage->chunks[0], chunk_at(blocks[5]));
    assert_int_equal(view.usage->chunks[1], chunk_at(blocks[7]));
    sl_runtime_launch_end(&launch, true);
    assert_false(is_dead(blocks[7]));
    assert_true(is_dead(blocks[6]));
}

/* The first use of each block populates its chunk, which is no miss; the first ones have left by the second.
 */
static void what_comes_on_demand_is_counted(void **state)
{
    (void)state;
    for (int i = 0; i < BLOCKS; i++) {
        void *parameters[] = {&blocks[i], &blocks[i]};
        core_launch(core_kernel(&two, parameters, 1));
    }
    uint64_t before = view.stats->total.demand_misses;
    void *parameters[] = {&blocks[0], &blocks[1]};
    core_launch(core_kernel(&two, parameters, 1));
    assert_int_equal(view.stats->total.demand_misses, before + 2);
    core_launch(core_kernel(&two, parameters, 1));
    assert_int_equal(view.stats->total.demand_misses, before + 2);
}

static void launches_that_exceed_the_budget_are_counted(void **state)
{
    (void)state;
    uint64_t before = view.stats->oversize_launches;
    struct sl_launch launch = {
        .kind = SL_LAUNCH_MEMSET, .spans = {{large, 80 * SL_MIB, true}}, .span_count = 1};
    core_launch(launch);
    assert_int_equal(view.stats->oversize_launches, before + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocations_have_slots_and_chunks),
        cmocka_unit_test(a_free_leaves_nothing_there),
        cmocka_unit_test(a_launch_has_its_chunks),
        cmocka_unit_test(what_comes_on_demand_is_counted),
        cmocka_unit_test(launches_that_exceed_the_budget_are_counted),
    };
    /* In order: no daemon moves anything in between. */
    setenv("SLUICE_DAEMON", "inline", 1);
    return cmocka_run_group_tests(tests, start, core_stop);
}
