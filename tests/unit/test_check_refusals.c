/* The released core, whose checks end nothing: what would corrupt data in silence is refused, each check that
 * failed is counted, and the program goes on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/check.h"
#include "core_fixture.h"
#include "move/steps.h"

#define CHUNK (2 * SL_MIB)

static const uint32_t offsets[] = {0}, sizes[] = {8};
static const struct sl_host_kernel kernel = {"kernel", 1, offsets, sizes};
static struct sl_core *core;

static int start(void **state)
{
    setenv("SLUICE_DAEMON", "inline", 1);
    setenv("SLUICE_LOG", "/dev/null", 1);
    if (core_start(state)) return -1;
    core = sl_core_running();
    return 0;
}

static int fresh(void **state)
{
    (void)state;
    atomic_store(&sl_check_failures, 0);
    return 0;
}

static void use(uint64_t address)
{
    void *parameters[] = {&address};
    core_launch(core_kernel(&kernel, parameters, 1));
}

static struct sl_chunk_record *record_at(uint64_t address)
{
    return sl_arena_record(&core->arena, sl_arena_chunk(&core->arena, address));
}

static void a_content_that_does_not_follow(void **state)
{
    (void)state;
    struct sl_chunk_record *chunk = record_at(core_take(CHUNK));
    chunk->content = SL_CONTENT_HOST;
    assert_false(sl_content_change(chunk, SL_CONTENT_HOST, SL_CONTENT_RESIDENT_DEAD));
    assert_int_equal(chunk->content, SL_CONTENT_HOST);
    assert_int_equal(sl_checks_failed(), 1);
    assert_true(sl_content_change(chunk, SL_CONTENT_HOST, SL_CONTENT_DEAD));
    assert_int_equal(sl_checks_failed(), 1);
}

static void places_that_are_taken_or_free(void **state)
{
    (void)state;
    struct sl_chunk_bitmap *bitmap = sl_chunk_bitmap_new(4096);
    assert_non_null(bitmap);
    sl_chunk_bitmap_use(bitmap, 4096);
    sl_chunk_bitmap_take(bitmap, 8, 8, 1);
    sl_chunk_bitmap_leave(bitmap, 9);
    assert_int_equal(sl_checks_failed(), 1);
    sl_chunk_bitmap_leave(bitmap, 1 << 30);
    assert_int_equal(sl_checks_failed(), 2);
    assert_int_equal(bitmap->count, 1);
    sl_chunk_bitmap_take(bitmap, 15, 8, 2);
    assert_int_equal(sl_checks_failed(), 3);
    sl_chunk_bitmap_delete(bitmap);
}

static void chunks_that_nobody_has(void **state)
{
    (void)state;
    uint64_t address = core_take(3 * CHUNK), used = core->arena.virtual_bytes_used;
    sl_chunk first = sl_arena_chunk(&core->arena, address);
    sl_arena_give(&core->arena, first + 1); /* no run begins there */
    sl_arena_give(&core->arena, core->arena.chunks_per_slab - 1);
    assert_int_equal(sl_checks_failed(), 2);
    assert_int_equal(core->arena.virtual_bytes_used, used);
    core->arena.virtual_bytes_used = CHUNK; /* of the three */
    assert_int_equal(sl_runtime_free(address, NULL), SL_OK);
    assert_int_equal(core->arena.virtual_bytes_used, 0);
    assert_int_equal(sl_checks_failed(), 4);
    core->arena.virtual_bytes_used = used - 3 * CHUNK;
}

static void slots_that_there_are_not(void **state)
{
    (void)state;
    uint64_t address = core_take(CHUNK);
    uint32_t slot = record_at(address)->run_slot;
    record_at(address)->run_slot = 1 << 30;
    assert_int_equal(sl_place_find(&core->placement, address), SL_NONE);
    assert_int_equal(sl_runtime_free(address, NULL), SL_ERR_INVALID);
    assert_int_equal(sl_checks_failed(), 2);
    record_at(address)->run_slot = slot;
    core->placement.slots[slot].live = false;
    assert_int_equal(sl_runtime_free(address, NULL), SL_OK); /* to the program */
    assert_int_equal(sl_checks_failed(), 3);
    assert_true(record_at(address)->bytes > 0);
    core->placement.slots[slot].live = true;
    assert_int_equal(sl_runtime_free(address, NULL), SL_OK);
    assert_int_equal(sl_checks_failed(), 3);
}

static void movements_that_were_not_issued(void **state)
{
    (void)state;
    struct sl_link_direction *in = &core->migrator.in;
    uint64_t done = in->done;
    sl_link_direction_set_done(in, in->issued + 1);
    assert_int_equal(in->done, done);
    assert_int_equal(sl_checks_failed(), 1);
    sl_link_direction_set_done(in, in->issued);
    assert_int_equal(in->done, in->issued);
    assert_int_equal(sl_checks_failed(), 1);
}

static void movements_that_do_not_add_up(void **state)
{
    (void)state;
    struct sl_migrator *migrator = &core->migrator;
    uint64_t address = core_take(CHUNK), occupied;
    sl_chunk c = sl_arena_chunk(&core->arena, address);
    use(address);
    occupied = migrator->occupied_bytes;
    sl_migrator_lock(migrator);
    assert_int_equal(sl_migrator_fetch(migrator, c, 2 * CHUNK, 0, SL_CAUSE_PLAN), 0);
    assert_int_equal(sl_checks_failed(), 1);
    migrator->occupied_bytes = CHUNK / 2;
    assert_int_not_equal(sl_migrator_evict(migrator, c, NULL, SL_CAUSE_DEMAND), 0);
    assert_int_equal(migrator->occupied_bytes, 0);
    assert_int_equal(sl_checks_failed(), 2);
    migrator->occupied_bytes = occupied - CHUNK;
    record_at(address)->in_sequence = migrator->in.issued + 1;
    assert_int_not_equal(sl_migrator_fetch(migrator, c, CHUNK, 0, SL_CAUSE_DEMAND), 0);
    assert_int_equal(sl_checks_failed(), 3);
    record_at(address)->out_sequence = migrator->out.issued + 1;
    assert_int_not_equal(sl_migrator_evict(migrator, c, NULL, SL_CAUSE_DEMAND), 0);
    assert_int_equal(sl_checks_failed(), 4);
    sl_migrator_unlock(migrator);
    use(address);
    assert_int_equal(sl_checks_failed(), 4);
}

/* Steps of chunks that there are not are not issued, nor what comes behind them. */
static void steps_of_chunks_that_there_are_not(void **state)
{
    (void)state;
    uint64_t bytes[1] = {CHUNK};
    struct sl_plan_action actions[] = {
        {SL_ACTION_EVICT, 0, core->history.ticks.now, core->history.ticks.now + 2, SL_NONE},
        {SL_ACTION_FETCH, 0, core->history.ticks.now, core->history.ticks.now + 2, SL_NONE}};
    struct sl_plan plan = {.actions = actions, .action_count = 2};
    struct sl_plan_input input = {.first_tick = core->history.ticks.now + 1,
                                  .launch_count = 3,
                                  .chunk_bytes = bytes,
                                  .budget_bytes = SL_GIB};
    struct sl_steps steps;
    struct sl_pending pending;
    assert_int_equal(sl_steps_new(&plan, &input, 3, 0, &steps), SL_OK);
    steps.out[0].chunk = steps.in[0].chunk = SL_NONE - 1;
    sl_migrator_lock(&core->migrator);
    sl_schedule_take(&core->schedule, &steps);
    sl_migrator_unlock(&core->migrator);
    sl_steps_free(&steps);
    uint64_t out = core->migrator.out.issued, in = core->migrator.in.issued;
    struct sl_schedule_batch batch;
    sl_schedule_begin(&core->schedule, core->history.ticks.now + 1, true, &batch);
    sl_schedule_issue(&core->schedule, &batch);
    assert_int_equal(sl_checks_failed(), 2);
    assert_false(sl_schedule_peek(&core->schedule, true, &pending));
    assert_false(sl_schedule_peek(&core->schedule, false, &pending));
    assert_int_equal(sl_checks_failed(), 4);
    assert_true(core->migrator.out.issued == out && core->migrator.in.issued == in);
}

#define TEST(name) cmocka_unit_test_setup(name, fresh)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_content_that_does_not_follow),
        TEST(places_that_are_taken_or_free),
        TEST(chunks_that_nobody_has),
        TEST(slots_that_there_are_not),
        TEST(movements_that_were_not_issued),
        TEST(movements_that_do_not_add_up),
        TEST(steps_of_chunks_that_there_are_not),
    };
    return cmocka_run_group_tests(tests, start, core_stop);
}
