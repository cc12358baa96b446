/* A schedule that is carried out and what the migrator keeps account of are found valid, and each invariant
 * that is broken is found to be: one field at a time has another value. Where a test fails, that is a
 * corruption which SL_CHECK_ALL would not see. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "broken.h"
#include "core_fixture.h"
#include "move/move_valid.h"
#include "move/steps.h"

#define CHUNK (2 * SL_MIB)
#define LAUNCHES 4

static const uint32_t offsets[] = {0}, sizes[] = {8};
static const struct sl_host_kernel kernel = {"kernel", 1, offsets, sizes};

static struct sl_core *core;
static struct sl_schedule *schedule;
static struct sl_migrator *migrator;
static sl_chunk stays, gone; /* on the device, and not */
static sl_tick first;        /* that is planned */

static sl_chunk used_chunk(void)
{
    uint64_t address = core_take(CHUNK);
    void *parameters[] = {&address};
    core_launch(core_kernel(&kernel, parameters, 1));
    return sl_arena_chunk(&core->arena, address);
}

static void carry_out(struct sl_plan_action *actions, size_t count)
{
    uint64_t bytes[64];
    struct sl_steps steps;
    for (int c = 0; c < 64; c++) bytes[c] = CHUNK;
    struct sl_plan plan = {.actions = actions, .action_count = count};
    struct sl_plan_input input = {
        .first_tick = first, .launch_count = LAUNCHES, .chunk_bytes = bytes, .budget_bytes = SL_GIB};
    assert_int_equal(sl_steps_new(&plan, &input, 3, 0, &steps), SL_OK);
    sl_schedule_take(schedule, &steps);
    sl_steps_free(&steps);
}

/* Two chunks leave behind a launch each, and two come in their frames. Both directions' locks are held. */
static int start(void **state)
{
    setenv("SLUICE_DAEMON", "inline", 1);
    if (core_start(state)) return -1;
    core = sl_core_running();
    schedule = &core->schedule;
    migrator = &core->migrator;
    stays = used_chunk();
    sl_chunk goes = used_chunk(), other = used_chunk();
    gone = used_chunk();
    sl_migrator_lock(migrator);
    sl_migrator_evict(migrator, gone, NULL, SL_CAUSE_DEMAND);
    sl_migrator_evict(migrator, other, NULL, SL_CAUSE_DEMAND);
    first = core->history.ticks.now + 1;
    struct sl_plan_action actions[] = {{SL_ACTION_EVICT, goes, first, first + 2, SL_NONE},
                                       {SL_ACTION_EVICT, stays, first + 1, first + 3, SL_NONE},
                                       {SL_ACTION_FETCH, gone, first, first + 2, 0},
                                       {SL_ACTION_FETCH, other, first + 1, first + 3, 1}};
    carry_out(actions, 4);
    return 0;
}

static int stop(void **state)
{
    sl_migrator_unlock(migrator);
    return core_stop(state);
}

static struct sl_chunk_record *record_of(sl_chunk c)
{
    return sl_arena_record(&core->arena, c);
}

static void counts_of_steps(void **state)
{
    (void)state;
    struct sl_steps *steps = &schedule->steps;
    assert_true(sl_schedule_is_valid(schedule));
    assert_int_equal(sl_schedule_elements(schedule), 2 + 2 + LAUNCHES);
    assert_breaks(schedule->next_out, 3, sl_schedule_is_valid(schedule));
    assert_breaks(schedule->next_in, 3, sl_schedule_is_valid(schedule));
    assert_breaks(schedule->taken_over, 3, sl_schedule_is_valid(schedule));
    assert_breaks(steps->serve, LAUNCHES + 1, sl_schedule_is_valid(schedule));
}

static void evictions(void **state)
{
    (void)state;
    struct sl_steps *steps = &schedule->steps;
    sl_chunk chunks = (sl_chunk)sl_arena_chunk_count(&core->arena);
    assert_breaks(steps->out[1].chunk, chunks, sl_schedule_is_valid(schedule));
    assert_breaks(steps->out[1].after, first - 1, sl_schedule_is_valid(schedule));
    assert_breaks(steps->out[0].after, first + 2, sl_schedule_is_valid(schedule));
    assert_breaks(steps->ready_out[1], 0, sl_schedule_is_valid(schedule));
    assert_breaks(steps->ready_out[LAUNCHES], 3, sl_schedule_is_valid(schedule));
}

static void fetches(void **state)
{
    (void)state;
    struct sl_steps *steps = &schedule->steps;
    sl_chunk chunks = (sl_chunk)sl_arena_chunk_count(&core->arena);
    assert_breaks(steps->in[1].chunk, chunks, sl_schedule_is_valid(schedule));
    assert_breaks(steps->in[1].bytes, CHUNK + 1, sl_schedule_is_valid(schedule));
    assert_breaks(steps->in[1].waits_for, 3, sl_schedule_is_valid(schedule));
    assert_breaks(steps->in[1].waits_for, 0, sl_schedule_is_valid(schedule));
    assert_breaks(steps->in[0].after, first + 2, sl_schedule_is_valid(schedule));
    assert_breaks(steps->in[0].deadline, first + 4, sl_schedule_is_valid(schedule));
    steps->in[0].deadline = first + 4;
    schedule->next_in = 1; /* what was issued may have had any */
    assert_true(sl_schedule_is_valid(schedule));
    schedule->next_in = 0;
    steps->histories = calloc(LAUNCHES, 1); /* and so may all where another order of launches was predicted */
    assert_true(sl_schedule_is_valid(schedule));
    free(steps->histories);
    steps->histories = NULL;
    steps->in[0].deadline = first + 2;
    assert_true(sl_schedule_is_valid(schedule));
}

static void tables_of_fetches(void **state)
{
    (void)state;
    struct sl_steps *steps = &schedule->steps;
    assert_breaks(steps->ready_in[0], 2, sl_schedule_is_valid(schedule));       /* it falls */
    assert_breaks(steps->need_in[LAUNCHES], 1, sl_schedule_is_valid(schedule)); /* it falls */
    assert_breaks(steps->ready_in[LAUNCHES], 3, sl_schedule_is_valid(schedule));
    steps->ready_in[1] = 0;
    assert_true(sl_schedule_is_valid(schedule));
    assert_breaks(steps->need_in[1], 1, sl_schedule_is_valid(schedule)); /* it must be before it may be */
    steps->ready_in[1] = 1;
}

static void directions(void **state)
{
    (void)state;
    assert_true(sl_migrator_is_valid(migrator));
    assert_breaks(migrator->in.done, migrator->in.issued + 1, sl_migrator_is_valid(migrator));
    assert_breaks(migrator->out.done, migrator->out.issued + 1, sl_migrator_is_valid(migrator));
    assert_breaks(migrator->in.enqueued.event_count, SL_EVENTS_MOST + 1, sl_migrator_is_valid(migrator));
}

static void chunks_that_move(void **state)
{
    (void)state;
    struct sl_chunk_record *held = record_of(stays), *absent = record_of(gone);
    assert_breaks(held->content, SL_CONTENT_HOST, sl_migrator_is_valid(migrator));
    assert_breaks(held->content, SL_CONTENT_RESIDENT_DEAD, sl_migrator_is_valid(migrator));
    assert_breaks(absent->content, SL_CONTENT_RESIDENT, sl_migrator_is_valid(migrator));
    assert_breaks(held->frame_bytes, CHUNK / 2, sl_migrator_is_valid(migrator));
    assert_breaks(migrator->occupied_bytes, migrator->occupied_bytes - CHUNK, sl_migrator_is_valid(migrator));
    assert_breaks(held->in_sequence, migrator->in.issued + 1, sl_migrator_is_valid(migrator));
    assert_breaks(absent->out_sequence, migrator->out.issued + 1, sl_migrator_is_valid(migrator));
    assert_breaks(absent->discard_sequence, absent->out_sequence + 1, sl_migrator_is_valid(migrator));
    held->pinned = true; /* its frame is in no account */
    assert_breaks(migrator->occupied_bytes, migrator->occupied_bytes - CHUNK,
                  !sl_migrator_is_valid(migrator));
    held->pinned = false;
}

/* Nothing is planned. */
static void no_schedule(void **state)
{
    (void)state;
    sl_schedule_clear(schedule);
    assert_true(sl_schedule_is_valid(schedule));
    assert_breaks(schedule->next_in, 1, sl_schedule_is_valid(schedule));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_of_steps),   cmocka_unit_test(evictions),  cmocka_unit_test(fetches),
        cmocka_unit_test(tables_of_fetches), cmocka_unit_test(directions), cmocka_unit_test(chunks_that_move),
        cmocka_unit_test(no_schedule),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
