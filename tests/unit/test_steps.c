/* What a plan is as two lists of steps: breaks if a step is lost or doubled, if a fetch would not wait for
 * the evictions that its frame comes from, or if the tables say something else than the lists. */
#include "move/steps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plan_check.h"

enum { LAUNCHES = 40, CHUNKS = 16, USES = 3, HISTORIES = 3, FIRST = 500, BUDGET = 7, ROOM = 5, SEEDS = 200 };

struct fixture {
    struct sl_plan_launch launches[LAUNCHES];
    struct sl_plan_access accesses[LAUNCHES * USES];
    sl_chunk deaths[LAUNCHES];
    uint8_t histories[LAUNCHES];
    uint64_t bytes[CHUNKS];
    enum sl_chunk_content content[CHUNKS];
    struct sl_plan_input input;
    struct sl_plan plan;
    struct sl_steps steps;
};

static bool is_out(const struct sl_plan_action *action)
{
    return action->kind != SL_ACTION_FETCH && action->kind != SL_ACTION_POPULATE;
}

/* A plan of launches by chance, of three stream histories or of one order. */
static void make(struct fixture *f, uint64_t seed, bool histories, size_t room)
{
    memset(f, 0, sizeof *f);
    for (uint32_t c = 0; c < CHUNKS; c++) {
        f->bytes[c] = 1;
        f->content[c] = random_below(&seed, 2) ? SL_CONTENT_HOST : SL_CONTENT_RESIDENT;
    }
    for (uint32_t t = 0; t < LAUNCHES; t++) {
        f->launches[t] = (struct sl_plan_launch){
            .first_access = t * USES, .access_count = USES, .first_death = t, .duration_ns = 1};
        f->histories[t] = (uint8_t)random_below(&seed, HISTORIES);
        sl_chunk first = random_below(&seed, CHUNKS);
        for (uint32_t k = 0; k < USES; k++) f->accesses[t * USES + k].chunk = (first + k) % CHUNKS;
        f->deaths[t] = random_below(&seed, CHUNKS);
        f->launches[t].death_count = random_below(&seed, 2);
    }
    f->input = (struct sl_plan_input){.first_tick = FIRST,
                                      .launches = f->launches,
                                      .launch_count = LAUNCHES,
                                      .accesses = f->accesses,
                                      .deaths = f->deaths,
                                      .chunk_count = CHUNKS,
                                      .chunk_bytes = f->bytes,
                                      .content = f->content,
                                      .histories = histories ? f->histories : NULL,
                                      .budget_bytes = BUDGET,
                                      .in_bytes_per_s = 1000000000,
                                      .out_bytes_per_s = 1000000000};
    assert_int_equal(sl_plan_make(&f->input, NULL, &f->plan), SL_OK);
    assert_int_equal(sl_steps_new(&f->plan, &f->input, LAUNCHES / 3, room, &f->steps), SL_OK);
}

static void discard(struct fixture *f)
{
    sl_plan_free(&f->plan);
    sl_steps_free(&f->steps);
}

/* Each entry, by counting. */
static void check_tables(const struct sl_steps *steps)
{
    for (size_t x = 0; x <= steps->window; x++) {
        uint32_t ready_out = 0, ready_in = 0, need_in = 0;
        for (uint32_t i = 0; i < steps->out_count; i++)
            ready_out += steps->out[i].after < steps->first_tick + x;
        for (uint32_t i = 0; i < steps->in_count; i++) {
            ready_in += steps->in[i].after < steps->first_tick + x;
            need_in += steps->in[i].deadline <= steps->first_tick + x;
        }
        assert_int_equal(steps->ready_out[x], ready_out);
        assert_int_equal(steps->ready_in[x], ready_in);
        assert_int_equal(steps->need_in[x], need_in);
    }
}

static uint32_t evictions_up_to(const struct sl_plan *plan, uint32_t action)
{
    uint32_t count = 0;
    for (uint32_t a = 0; a <= action; a++) count += is_out(&plan->actions[a]);
    return count;
}

static void the_lists_are_the_plan(void **state)
{
    (void)state;
    static struct fixture f;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        uint32_t out = 0, in = 0, waits_for = 0;
        make(&f, seed, false, ROOM);
        for (size_t a = 0; a < f.plan.action_count; a++) {
            const struct sl_plan_action *action = &f.plan.actions[a];
            const struct sl_step *step = is_out(action) ? &f.steps.out[out++] : &f.steps.in[in++];
            assert_true(step->chunk == action->chunk && step->after == action->after &&
                        step->deadline == action->deadline && step->bytes == f.bytes[action->chunk]);
            bool dead = action->kind == SL_ACTION_DISCARD || action->kind == SL_ACTION_POPULATE;
            assert_int_equal(step->dead, dead);
            if (is_out(action)) continue;
            uint32_t own = action->frame_from == SL_NONE ? 0 : evictions_up_to(&f.plan, action->frame_from);
            if (own > waits_for) waits_for = own; /* those in front of it take their frames first */
            assert_int_equal(step->waits_for, waits_for);
        }
        assert_true(out == f.steps.out_count && in == f.steps.in_count);
        assert_true(f.steps.first_tick == FIRST && f.steps.window == LAUNCHES &&
                    f.steps.serve == LAUNCHES / 3 && f.steps.budget_bytes == BUDGET);
        assert_null(f.steps.histories);
        check_tables(&f.steps);
        discard(&f);
    }
}

static bool used_by(const struct fixture *f, sl_chunk c, uint8_t history)
{
    for (uint32_t a = 0; a < LAUNCHES * USES; a++)
        if (f->accesses[a].chunk == c && f->histories[a / USES] == history) return true;
    return false;
}

/* Only what no other stream history uses may leave with the launches of one, in whatever order they come. */
static void a_step_is_of_one_history_if_its_chunk_is(void **state)
{
    (void)state;
    static struct fixture f;
    unsigned own = 0, others = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        make(&f, seed, true, 0);
        assert_memory_equal(f.steps.histories, f.histories, LAUNCHES);
        for (uint32_t i = 0; i < f.steps.out_count; i++) {
            const struct sl_step *step = &f.steps.out[i];
            bool expected = step->after >= FIRST;
            for (uint8_t h = 0; h < HISTORIES && expected; h++)
                expected = used_by(&f, step->chunk, h) == (h == f.histories[step->after - FIRST]);
            assert_int_equal(step->own, expected);
            own += expected;
            others += !expected;
        }
        discard(&f);
    }
    assert_true(own && others);
}

static void an_empty_plan_has_no_steps(void **state)
{
    (void)state;
    struct sl_plan plan = {0};
    struct sl_plan_input input = {.first_tick = 7, .launch_count = 3};
    struct sl_steps steps;
    assert_int_equal(sl_steps_new(&plan, &input, 1, 0, &steps), SL_OK);
    assert_true(!steps.out_count && !steps.in_count);
    check_tables(&steps);
    sl_steps_free(&steps);
    sl_steps_free(&steps); /* zeroed by then */
}

/* --- taking over --- */

static struct sl_arena arena; /* as large as the chunks' numbers need; nothing lies in it */
static struct sl_migrator migrator = {.arena = &arena,
                                      .in.lock = SL_LOCK_INITIALIZER(SL_LOCK_IN),
                                      .out.lock = SL_LOCK_INITIALIZER(SL_LOCK_OUT)};

/* A schedule in the middle of another plan. */
static void busy_schedule(struct sl_schedule *schedule, struct sl_steps *steps)
{
    *schedule = (struct sl_schedule){.migrator = &migrator, .begun_at = 3, .taken_over = 2, .steps = *steps};
    *steps = (struct sl_steps){0};
    atomic_store(&schedule->next_out, 4);
    atomic_store(&schedule->next_in, 5);
}

static void what_there_was_is_given_back(void **state)
{
    (void)state;
    static struct fixture f, before;
    struct sl_schedule schedule;
    make(&before, 1, false, 0);
    make(&f, 2, true, 0);
    struct sl_step *old = before.steps.out_space, *fresh = f.steps.out_space;
    busy_schedule(&schedule, &before.steps);
    uint64_t generation = atomic_load(&schedule.generation);
    sl_schedule_take(&schedule, &f.steps);
    assert_ptr_equal(f.steps.out_space, old);
    assert_ptr_equal(schedule.steps.out_space, fresh);
    assert_true(atomic_load(&schedule.active));
    assert_true(atomic_load(&schedule.generation) > generation); /* a step of the old one is not issued */
    assert_true(!atomic_load(&schedule.next_out) && !atomic_load(&schedule.next_in));
    assert_int_equal(schedule.end_tick, FIRST + LAUNCHES / 3);
    assert_true(!schedule.begun_at && !schedule.taken_over);
    sl_steps_free(&schedule.steps);
    discard(&f);
    sl_plan_free(&before.plan);
}

/* Steps that put the chunks where the plan has them: marked by their bytes. */
struct taken {
    struct sl_step out[ROOM], in[ROOM];
    uint32_t out_count, in_count;
};

static struct taken draw_taken(uint64_t *seed, sl_tick tick)
{
    struct taken t = {.out_count = random_below(seed, ROOM + 1), .in_count = random_below(seed, ROOM + 1)};
    sl_tick deadline = tick;
    uint32_t waits_for = 0;
    uint32_t early = random_below(seed, t.out_count + 1); /* what the schedule before was about to evict */
    for (uint32_t i = 0; i < t.out_count; i++)
        t.out[i] = (struct sl_step){.chunk = 1000 + i, .after = tick - (i < early)};
    for (uint32_t i = 0; i < t.in_count; i++) {
        deadline += random_below(seed, 6);
        waits_for += random_below(seed, t.out_count - waits_for + 1);
        t.in[i] = (struct sl_step){
            .chunk = 2000 + i, .after = tick - 1, .deadline = deadline, .waits_for = waits_for};
    }
    return t;
}

static uint32_t count_behind(const struct sl_step *steps, uint32_t count, sl_tick tick)
{
    uint32_t behind = 0;
    for (uint32_t i = 0; i < count; i++) behind += steps[i].after >= tick;
    return behind;
}

/* What leaves: first what was taken over, then the plan's that is yet to come. */
static void check_switched_out(const struct sl_steps *now, const struct sl_step *was, uint32_t was_count,
                               const struct taken *t, sl_tick tick)
{
    uint32_t left = was_count - count_behind(was, was_count, tick);
    assert_int_equal(now->out_count, t->out_count + was_count - left);
    for (uint32_t i = 0; i < now->out_count; i++)
        assert_int_equal(now->out[i].chunk,
                         i < t->out_count ? t->out[i].chunk : was[left + i - t->out_count].chunk);
}

/* What comes: both in their own order, and in that of the deadlines; each behind what it waited for before,
 * as far as that is still to leave. */
static void check_switched_in(const struct sl_steps *now, const struct sl_step *was, uint32_t was_count,
                              const struct taken *t, sl_tick tick, uint32_t out_left)
{
    uint32_t from_taken = 0, from_was = was_count - count_behind(was, was_count, tick), waits_for = 0;
    assert_int_equal(now->in_count, t->in_count + was_count - from_was);
    for (uint32_t i = 0; i < now->in_count; i++) {
        const struct sl_step *step = &now->in[i];
        bool taken = step->chunk >= 2000;
        const struct sl_step *expected = taken ? &t->in[from_taken++] : &was[from_was++];
        assert_true(step->chunk == expected->chunk && step->deadline == expected->deadline);
        if (i) assert_true(step->deadline >= now->in[i - 1].deadline);
        uint32_t own = expected->waits_for;
        if (!taken) own = t->out_count + (own > out_left ? own - out_left : 0);
        if (own > waits_for) waits_for = own;
        assert_int_equal(step->waits_for, waits_for);
    }
    assert_true(from_taken == t->in_count && from_was == was_count);
}

static void a_switch_goes_on_from_where_the_chunks_are(void **state)
{
    (void)state;
    static struct fixture f;
    for (uint64_t seed = 1; seed <= 5 * SEEDS; seed++) {
        uint64_t random = seed;
        struct sl_schedule schedule = {.migrator = &migrator};
        struct sl_step out[LAUNCHES * USES * 2], in[LAUNCHES * USES * 2];
        make(&f, seed, seed % 2, ROOM);
        uint32_t out_count = f.steps.out_count, in_count = f.steps.in_count;
        memcpy(out, f.steps.out, out_count * sizeof *out);
        memcpy(in, f.steps.in, in_count * sizeof *in);
        sl_tick tick = FIRST - 1 + random_below(&random, LAUNCHES);
        struct taken t = draw_taken(&random, tick);
        if (seed % 10 == 0) { /* the chunks are where the plan begins, and so are the launches */
            tick = FIRST - 1;
            t = (struct taken){0};
        }
        uint32_t out_left = out_count - count_behind(out, out_count, tick),
                 in_left = in_count - count_behind(in, in_count, tick);
        sl_schedule_switch(&schedule, &f.steps, tick, t.out, t.out_count, t.in, t.in_count);
        check_switched_out(&schedule.steps, out, out_count, &t, tick);
        check_switched_in(&schedule.steps, in, in_count, &t, tick, out_left);
        check_tables(&schedule.steps);
        bool changed = out_left || in_left || t.out_count || t.in_count;
        assert_int_equal(schedule.begun_at, changed ? tick : 0);
        assert_int_equal(schedule.taken_over, t.out_count);
        assert_true(atomic_load(&schedule.active));
        sl_steps_free(&schedule.steps);
        discard(&f);
    }
}

/* Steps that were taken over may be older than the delay: they are due at once, not in 2^64 launches. */
static void a_delay_moves_all_and_nothing_before_tick_0(void **state)
{
    (void)state;
    static struct fixture f;
    make(&f, 1, false, 0);
    struct sl_step in = f.steps.in[0], out = f.steps.out[0];
    sl_steps_delay(&f.steps, 3);
    assert_int_equal(f.steps.first_tick, FIRST + 3);
    assert_true(f.steps.in[0].after == in.after + 3 && f.steps.in[0].deadline == in.deadline + 3);
    assert_int_equal(f.steps.out[0].after, out.after + 3);
    check_tables(&f.steps);
    f.steps.out[0].after = 10;
    f.steps.in[0].after = 11;
    sl_steps_delay(&f.steps, -12);
    assert_int_equal(f.steps.first_tick, FIRST - 9);
    assert_true(f.steps.in[0].after == 0 && f.steps.in[0].deadline == in.deadline - 9);
    assert_int_equal(f.steps.out[0].after, 0);
    sl_steps_delay(&f.steps, 1);
    assert_int_equal(f.steps.out[0].after, 1);
    check_tables(&f.steps);
    discard(&f);
}

/* --- When a plan uses each chunk: breaks if a launch is lost, or one that has been is named as the next. */

enum { USES_LAUNCHES = 60, USES_CHUNKS = 20, MOST = 4, USES_SEEDS = 50 };

static struct sl_plan_launch launches[USES_LAUNCHES];
static struct sl_plan_access accesses[USES_LAUNCHES * MOST];

/* Launches that use some chunks each, by chance; the last chunk is nobody's. */
static struct sl_plan_input draw_uses(uint64_t seed)
{
    uint32_t count = 0;
    for (uint32_t l = 0; l < USES_LAUNCHES; l++) {
        launches[l] = (struct sl_plan_launch){.first_access = count,
                                              .access_count = (uint32_t)random_below(&seed, MOST + 1)};
        sl_chunk first = (sl_chunk)random_below(&seed, USES_CHUNKS - 1);
        for (uint32_t k = 0; k < launches[l].access_count; k++)
            accesses[count++].chunk = (first + k) % (USES_CHUNKS - 1);
    }
    return (struct sl_plan_input){.launches = launches,
                                  .launch_count = USES_LAUNCHES,
                                  .accesses = accesses,
                                  .chunk_count = USES_CHUNKS};
}

static struct sl_steps steps_of(const struct sl_plan_input *input)
{
    struct sl_steps steps;
    assert_int_equal(sl_steps_new(&(struct sl_plan){0}, input, 0, 0, &steps), SL_OK);
    return steps;
}

static uint32_t look(sl_chunk chunk, uint32_t from)
{
    for (uint32_t l = from; l < USES_LAUNCHES; l++)
        for (uint32_t k = 0; k < launches[l].access_count; k++)
            if (accesses[launches[l].first_access + k].chunk == chunk) return l;
    return UINT32_MAX;
}

static void the_next_use_is_found(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= USES_SEEDS; seed++) {
        struct sl_plan_input input = draw_uses(seed);
        struct sl_steps steps = steps_of(&input);
        for (sl_chunk c = 0; c < USES_CHUNKS; c++)
            for (uint32_t l = 0; l <= USES_LAUNCHES + 1; l++)
                assert_int_equal(sl_planned_uses_next(&steps.uses, c, l), look(c, l));
        sl_steps_free(&steps);
    }
}

static void what_is_not_known_is_not_used(void **state)
{
    (void)state;
    struct sl_steps steps = {0};
    assert_int_equal(sl_planned_uses_next(&steps.uses, 0, 0), UINT32_MAX);
    struct sl_plan_input input = draw_uses(1);
    steps = steps_of(&input);
    assert_int_equal(sl_planned_uses_next(&steps.uses, USES_CHUNKS, 0), UINT32_MAX); /* newer than the plan */
    sl_steps_free(&steps);
    sl_steps_free(&steps);
    input.launch_count = input.chunk_count = 0;
    steps = steps_of(&input);
    assert_int_equal(sl_planned_uses_next(&steps.uses, 0, 0), UINT32_MAX);
    sl_steps_free(&steps);
}

int main(void)
{
    sl_arena_init(&arena, NULL, SL_BLOCK_BYTES);
    atomic_store(&arena.slab_count, 5);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_lists_are_the_plan),
        cmocka_unit_test(a_step_is_of_one_history_if_its_chunk_is),
        cmocka_unit_test(an_empty_plan_has_no_steps),
        cmocka_unit_test(what_there_was_is_given_back),
        cmocka_unit_test(a_delay_moves_all_and_nothing_before_tick_0),
        cmocka_unit_test(a_switch_goes_on_from_where_the_chunks_are),
        cmocka_unit_test(the_next_use_is_found),
        cmocka_unit_test(what_is_not_known_is_not_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
