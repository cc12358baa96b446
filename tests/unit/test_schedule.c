/* What launches issue of a plan, and when: what they need before they run, the rest behind them, and nothing
 * is copied that the program is about to free. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core_fixture.h"
#include "move/steps.h"

#define CHUNK (2 * SL_MIB)

static const uint32_t offsets[] = {0}, sizes[] = {8};
static const struct sl_host_kernel kernel = {"kernel", 1, offsets, sizes};

static struct sl_core *core;

static uint64_t used_block(void)
{
    uint64_t address = core_take(CHUNK);
    void *parameters[] = {&address};
    core_launch(core_kernel(&kernel, parameters, 1));
    return address;
}

static sl_chunk chunk_of(uint64_t address)
{
    return sl_arena_chunk(&core->arena, address);
}

static int start(void **state)
{
    setenv("SLUICE_DAEMON", "inline", 1);
    if (core_start(state)) return -1;
    core = sl_core_running();
    return 0;
}

static int content_of(sl_chunk c)
{
    return sl_arena_record(&core->arena, c)->content;
}

static uint8_t *in_place; /* of the next plan */

/* Carries out a plan of three launches; the next one is its first. */
static void carry_out(struct sl_plan_action *actions, size_t count)
{
    uint64_t bytes[64];
    for (int c = 0; c < 64; c++) bytes[c] = CHUNK;
    struct sl_plan plan = {.actions = actions, .action_count = count, .in_place = in_place};
    struct sl_plan_input input = {.first_tick = core->history.ticks.now + 1,
                                  .launch_count = 3,
                                  .chunk_bytes = bytes,
                                  .budget_bytes = SL_GIB};
    struct sl_steps steps;
    assert_int_equal(sl_steps_new(&plan, &input, 3, 0, &steps), SL_OK);
    sl_lock(&core->migrator.out.lock);
    sl_lock(&core->migrator.in.lock);
    sl_schedule_take(&core->schedule, &steps);
    sl_unlock(&core->migrator.in.lock);
    sl_unlock(&core->migrator.out.lock);
    sl_steps_free(&steps);
}

static sl_chunk died[8];
static int died_count;

/* What a free does to the chunk; a real one would be a misprediction, which ends the plan. */
static void die(sl_chunk c, int dead)
{
    assert_true(died_count < 8);
    died[died_count++] = c;
    sl_arena_record(&core->arena, c)->content = dead;
    sl_arena_record(&core->arena, c)->bytes = 0;
}

/* Otherwise the next test's allocations would lie where these do. */
static int revive(void **state)
{
    (void)state;
    while (died_count) sl_arena_record(&core->arena, died[--died_count])->bytes = CHUNK;
    return 0;
}

/* What the schedule is told around a launch. */
static void begin(sl_tick tick)
{
    struct sl_schedule_batch batch;
    sl_schedule_begin(&core->schedule, tick, false, &batch);
    sl_schedule_issue(&core->schedule, &batch);
}

static void end(sl_tick tick)
{
    struct sl_schedule_batch batch;
    sl_schedule_submitted(&core->schedule, tick);
    sl_schedule_go_on(&core->schedule, &batch);
    sl_schedule_issue(&core->schedule, &batch);
}

static void what_leaves_after_a_launch_does_not_wait_for_the_next(void **state)
{
    (void)state;
    sl_tick first = core->history.ticks.now + 3;
    sl_chunk goes = chunk_of(used_block()), stays = chunk_of(used_block());
    struct sl_plan_action actions[] = {{SL_ACTION_EVICT, goes, first, first + 2, SL_NONE},
                                       {SL_ACTION_EVICT, stays, first + 1, first + 2, SL_NONE}};
    carry_out(actions, 2);
    begin(first);
    assert_int_equal(content_of(goes), SL_CONTENT_RESIDENT);
    end(first);
    assert_int_equal(content_of(goes), SL_CONTENT_HOST);
    assert_int_equal(content_of(stays), SL_CONTENT_RESIDENT);
}

static void what_is_freed_behind_a_launch_is_not_copied(void **state)
{
    (void)state;
    sl_tick first = core->history.ticks.now + 3;
    sl_chunk goes = chunk_of(used_block()), other = chunk_of(used_block());
    uint64_t before = sl_stats_bytes(core->stats.total.bytes_out);
    struct sl_plan_action actions[] = {{SL_ACTION_DISCARD, goes, first, first + 2, SL_NONE},
                                       {SL_ACTION_DISCARD, other, first, first + 2, SL_NONE}};
    struct sl_pending pending;
    carry_out(actions, 2);
    begin(first);
    end(first);
    assert_int_equal(content_of(goes), SL_CONTENT_RESIDENT);
    assert_false(sl_schedule_peek(&core->schedule, true, &pending)); /* nor may the daemon */
    die(goes, SL_CONTENT_RESIDENT_DEAD);
    assert_true(sl_schedule_peek(&core->schedule, true, &pending));
    end(first);
    assert_int_equal(content_of(goes), SL_CONTENT_DEAD);
    assert_int_equal(content_of(other), SL_CONTENT_RESIDENT);
    begin(first + 1); /* it was not freed after all */
    end(first + 1);
    assert_int_equal(content_of(other), SL_CONTENT_HOST);
    assert_int_equal(sl_stats_bytes(core->stats.total.bytes_out) - before, CHUNK);
}

static void what_is_about_to_die_is_not_brought(void **state)
{
    (void)state;
    sl_tick first = core->history.ticks.now + 2;
    sl_chunk comes = chunk_of(used_block());
    struct sl_plan_action actions[] = {{SL_ACTION_POPULATE, comes, first, first + 2, SL_NONE}};
    struct sl_pending pending;
    sl_lock(&core->migrator.out.lock);
    assert_int_not_equal(sl_migrator_evict(&core->migrator, comes, NULL, SL_CAUSE_DEMAND), 0);
    sl_unlock(&core->migrator.out.lock);
    uint64_t before = sl_stats_bytes(core->stats.total.bytes_in);
    carry_out(actions, 1);
    begin(first);
    end(first);
    assert_int_equal(content_of(comes), SL_CONTENT_HOST);
    assert_false(sl_schedule_peek(&core->schedule, false, &pending));
    die(comes, SL_CONTENT_DEAD);
    end(first);
    assert_int_equal(content_of(comes), SL_CONTENT_RESIDENT_DEAD);
    assert_int_equal(sl_stats_bytes(core->stats.total.bytes_in), before);
}

/* Whether evictions are kept off while the device is asked for memory. */
static bool out_is_locked;
static enum sl_status (*real_fetch)(void *self, uint64_t address, uint64_t bytes, sl_stream stream);

static enum sl_status fetch_and_look(void *self, uint64_t address, uint64_t bytes, sl_stream stream)
{
    out_is_locked = pthread_mutex_trylock(&core->migrator.out.lock.mutex) != 0;
    if (!out_is_locked) pthread_mutex_unlock(&core->migrator.out.lock.mutex);
    return real_fetch(self, address, bytes, stream);
}

/* An eviction beside it would take the frame that grows, and content and frame would not match. */
static void a_frame_that_grows_is_kept_from_evictions(void **state)
{
    (void)state;
    struct sl_backend watched = *core->migrator.backend;
    const struct sl_backend *backend = core->migrator.backend;
    sl_chunk comes = chunk_of(used_block()), grows = chunk_of(used_block());
    sl_tick first = core->history.ticks.now + 1;
    sl_migrator_lock(&core->migrator);
    assert_int_not_equal(sl_migrator_evict(&core->migrator, comes, NULL, SL_CAUSE_DEMAND), 0);
    assert_int_not_equal(sl_migrator_evict(&core->migrator, grows, NULL, SL_CAUSE_DEMAND), 0);
    assert_int_not_equal(sl_migrator_fetch(&core->migrator, grows, CHUNK / 2, 0, SL_CAUSE_DEMAND), 0);
    sl_migrator_unlock(&core->migrator);
    real_fetch = watched.fetch;
    watched.fetch = fetch_and_look;
    core->migrator.backend = &watched;
    struct sl_plan_action actions[] = {{SL_ACTION_FETCH, comes, first - 1, first, SL_NONE},
                                       {SL_ACTION_FETCH, grows, first, first + 1, SL_NONE}};
    carry_out(actions, 2);
    begin(first);
    assert_int_equal(content_of(comes), SL_CONTENT_RESIDENT);
    assert_false(out_is_locked);
    begin(first + 1);
    assert_true(out_is_locked);
    core->migrator.backend = backend;
    assert_int_equal(sl_arena_record(&core->arena, grows)->frame_bytes, CHUNK);
    assert_int_equal(sl_arena_record(&core->arena, grows)->content, SL_CONTENT_RESIDENT);
}

/* Memory that was copied out and then freed, or freed while it could not be discarded: its old content is not
 * copied in again. Breaks also if content that somebody owns is discarded. */
static void what_was_copied_and_freed_does_not_come_back(void **state)
{
    (void)state;
    sl_chunk freed = chunk_of(used_block()), owned = chunk_of(used_block()),
             discarded = chunk_of(used_block());
    struct sl_migrator *migrator = &core->migrator;
    sl_migrator_lock(migrator);
    die(discarded, SL_CONTENT_RESIDENT_DEAD);
    sl_migrator_evict(migrator, freed, NULL, SL_CAUSE_DEMAND);
    sl_migrator_evict(migrator, owned, NULL, SL_CAUSE_DEMAND);
    sl_migrator_evict(migrator, discarded, NULL, SL_CAUSE_DEMAND);
    sl_migrator_unlock(migrator);
    die(freed, SL_CONTENT_DEAD);
    sl_arena_record(&core->arena, owned)->content = SL_CONTENT_DEAD; /* as after its next allocation */
    assert_true(sl_migrator_may_discard(migrator, freed));
    sl_tick first = core->history.ticks.now + 4;
    uint64_t issued = atomic_load(&migrator->out.issued);
    struct sl_plan_action actions[] = {{SL_ACTION_FETCH, freed, first - 1, first, SL_NONE},
                                       {SL_ACTION_FETCH, owned, first - 1, first, SL_NONE},
                                       {SL_ACTION_FETCH, discarded, first - 1, first, SL_NONE}};
    carry_out(actions, 3);
    begin(first);
    end(first);
    assert_int_equal(content_of(freed), SL_CONTENT_RESIDENT_DEAD);
    assert_int_equal(content_of(owned), SL_CONTENT_RESIDENT);
    assert_int_equal(content_of(discarded), SL_CONTENT_RESIDENT_DEAD);
    assert_int_equal(atomic_load(&migrator->out.issued), issued + 1);
    assert_int_equal(sl_arena_record(&core->arena, freed)->out_sequence, issued + 1);
    assert_false(sl_arena_record(&core->arena, freed)->copied);
    assert_true(sl_arena_record(&core->arena, owned)->copied);
}

/* A launch that is to use memory in place does not fetch it, and is no miss; any other does. */
static void what_is_to_stay_away_is_used_where_it_is(void **state)
{
    (void)state;
    uint8_t chosen[] = {true, false, false};
    uint64_t address = used_block(), misses = core_misses(), used = core->stats.total.in_place_bytes;
    sl_chunk stays_away = chunk_of(address);
    void *parameters[] = {&address};
    for (int i = 0; i < 20; i++)
        core_launch(core_kernel(&kernel, parameters, 1)); /* what comes is predicted */
    sl_migrator_lock(&core->migrator);
    assert_int_not_equal(sl_migrator_evict(&core->migrator, stays_away, NULL, SL_CAUSE_DEMAND), 0);
    sl_migrator_unlock(&core->migrator);
    in_place = chosen;
    carry_out(NULL, 0);
    in_place = NULL;
    assert_true(sl_schedule_is_in_place(&core->schedule, core->history.ticks.now + 1, 7));
    assert_false(sl_schedule_is_in_place(&core->schedule, core->history.ticks.now + 2, 7));
    assert_false(sl_schedule_is_in_place(&core->schedule, core->history.ticks.now + 4, 7));
    core_launch(core_kernel(&kernel, parameters, 1));
    assert_int_equal(content_of(stays_away), SL_CONTENT_HOST);
    assert_int_equal(core->stats.total.in_place_bytes, used + CHUNK);
    assert_int_equal(core_misses(), misses);
    core_launch(core_kernel(&kernel, parameters, 1));
    assert_int_equal(content_of(stays_away), SL_CONTENT_RESIDENT);
    assert_int_equal(core->stats.total.in_place_bytes, used + CHUNK);
    assert_int_equal(core_misses(), misses + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* First: checks of the whole core do not hold for what the others do. */
        cmocka_unit_test(what_is_to_stay_away_is_used_where_it_is),
        cmocka_unit_test_teardown(what_leaves_after_a_launch_does_not_wait_for_the_next, revive),
        cmocka_unit_test_teardown(what_is_freed_behind_a_launch_is_not_copied, revive),
        cmocka_unit_test_teardown(what_is_about_to_die_is_not_brought, revive),
        cmocka_unit_test_teardown(a_frame_that_grows_is_kept_from_evictions, revive),
        cmocka_unit_test_teardown(what_was_copied_and_freed_does_not_come_back, revive),
    };
    return cmocka_run_group_tests(tests, start, core_stop);
}
