/* Plans whose launches come in another order: what each needs is there for it, nothing leaves before those
 * that were to use it have, and the tables say what the lists do. */
#include "move/schedule.h"
#include "move/steps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plan_check.h"

enum { LAUNCHES = 120, CHUNKS = 40, USES = 3, HISTORIES = 3, FIRST = 1000, BUDGET = 20 };

struct fixture {
    struct sl_plan_launch launches[LAUNCHES];
    struct sl_plan_access accesses[LAUNCHES * USES];
    uint8_t histories[LAUNCHES];
    uint64_t bytes[CHUNKS];
    enum sl_chunk_content content[CHUNKS];
    struct sl_steps steps;
    struct sl_step *out, *in;    /* as they were */
    uint32_t order[LAUNCHES];    /* the launches, as they come */
    uint32_t position[LAUNCHES]; /* and where each does */
};

/* Every stream history goes over its own chunks, and now and then uses one of all's. */
static void make(struct fixture *f, uint64_t *random)
{
    memset(f, 0, sizeof *f);
    for (uint32_t c = 0; c < CHUNKS; c++) {
        f->bytes[c] = 1;
        f->content[c] = SL_CONTENT_HOST;
    }
    for (uint32_t t = 0; t < LAUNCHES; t++) {
        struct sl_plan_launch *launch = &f->launches[t];
        uint8_t history = (uint8_t)random_below(random, HISTORIES);
        f->histories[t] = history;
        *launch =
            (struct sl_plan_launch){.first_access = t * USES, .access_count = USES, .duration_ns = 1000000};
        for (uint32_t k = 0; k < USES; k++) {
            sl_chunk c = history * 12 + (k + random_below(random, 4) * USES) % 12;
            if (k == 2 && random_below(random, 3) == 0) c = 36 + random_below(random, 4);
            f->accesses[t * USES + k] = (struct sl_plan_access){c};
        }
        f->order[t] = f->position[t] = t;
    }
    struct sl_plan_input input = {.first_tick = FIRST,
                                  .launches = f->launches,
                                  .launch_count = LAUNCHES,
                                  .accesses = f->accesses,
                                  .chunk_count = CHUNKS,
                                  .chunk_bytes = f->bytes,
                                  .content = f->content,
                                  .histories = f->histories,
                                  .budget_bytes = BUDGET,
                                  .in_bytes_per_s = 1000,
                                  .out_bytes_per_s = 1000};
    struct sl_plan plan;
    assert_int_equal(sl_plan_make(&input, NULL, &plan), SL_OK);
    assert_int_equal(sl_steps_new(&plan, &input, LAUNCHES, 0, &f->steps), SL_OK);
    sl_plan_free(&plan);
    struct sl_steps *steps = &f->steps;
    f->out = malloc(steps->out_count * sizeof *f->out);
    f->in = malloc(steps->in_count * sizeof *f->in);
    for (uint32_t i = 0; i < steps->out_count; i++) steps->out[i].bytes = i; /* who it is */
    for (uint32_t i = 0; i < steps->in_count; i++) steps->in[i].bytes = i;
    memcpy(f->out, steps->out, steps->out_count * sizeof *f->out);
    memcpy(f->in, steps->in, steps->in_count * sizeof *f->in);
}

static void discard(struct fixture *f)
{
    sl_steps_free(&f->steps);
    free(f->out);
    free(f->in);
}

static bool uses(const struct fixture *f, uint32_t launch, sl_chunk c)
{
    for (uint32_t k = 0; k < USES; k++)
        if (f->accesses[launch * USES + k].chunk == c) return true;
    return false;
}

static void check_releases(const struct fixture *f)
{
    const struct sl_steps *steps = &f->steps;
    bool seen[LAUNCHES * USES * 2] = {false};
    for (uint32_t i = 0; i < steps->out_count; i++) {
        const struct sl_step *step = &steps->out[i], *was = &f->out[step->bytes];
        assert_false(seen[step->bytes]);
        seen[step->bytes] = true;
        assert_int_equal(step->chunk, was->chunk);
        if (i) assert_true(step->after >= steps->out[i - 1].after);
        for (uint32_t l = 0; l < LAUNCHES; l++)
            if (uses(f, l, step->chunk) && FIRST + l <= was->after)
                assert_true(FIRST + f->position[l] <= step->after);
    }
    for (size_t x = 0, count = 0; x <= steps->window; x++) {
        while (count < steps->out_count && steps->out[count].after < FIRST + x) count++;
        assert_int_equal(steps->ready_out[x], count);
    }
}

static void check_fetches(const struct fixture *f, uint32_t issued)
{
    const struct sl_steps *steps = &f->steps;
    bool seen[LAUNCHES * USES * 2] = {false};
    for (uint32_t i = 0; i < steps->in_count; i++) {
        const struct sl_step *step = &steps->in[i], *was = &f->in[step->bytes];
        assert_false(seen[step->bytes]);
        seen[step->bytes] = true;
        assert_int_equal(step->chunk, was->chunk);
        assert_int_equal(step->waits_for, f->in[i].waits_for);
        if (i < issued) continue;
        assert_true(step->after < step->deadline);
        assert_int_equal(step->deadline, FIRST + f->position[was->deadline - FIRST]);
        if (i > issued) assert_true(step->deadline >= steps->in[i - 1].deadline);
    }
    for (size_t x = 0; x < steps->window; x++) {
        uint32_t needed = 0;
        for (uint32_t i = issued; i < steps->in_count; i++)
            if (steps->in[i].deadline <= FIRST + x) needed = i + 1;
        assert_true(steps->need_in[x] >= needed && steps->ready_in[x] >= needed);
        if (needed) assert_int_equal(steps->need_in[x], needed);
    }
}

/* The next launch of the stream history comes as number `t`. False: there is none. */
static bool pull(struct fixture *f, uint32_t t, uint8_t history)
{
    uint32_t at = t;
    while (at < LAUNCHES && f->histories[f->order[at]] != history) at++;
    if (at == LAUNCHES) return false;
    uint32_t launch = f->order[at];
    memmove(&f->order[t + 1], &f->order[t], (at - t) * sizeof *f->order);
    f->order[t] = launch;
    for (uint32_t i = t; i <= at; i++) f->position[f->order[i]] = i;
    return true;
}

static void any_order_is_served(void **state)
{
    (void)state;
    static struct fixture f;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        uint64_t random = seed;
        make(&f, &random);
        for (uint32_t t = 0; t < LAUNCHES; t++) {
            uint8_t history = (uint8_t)random_below(&random, HISTORIES);
            bool there = pull(&f, t, history);
            assert_int_equal(sl_steps_pull(&f.steps, FIRST + t, history), there);
            if (!there) assert_true(sl_steps_pull(&f.steps, FIRST + t, f.histories[f.order[t]]));
            for (uint32_t i = 0; i < LAUNCHES; i++)
                assert_int_equal(f.steps.histories[i], f.histories[f.order[i]]);
            check_releases(&f);
            check_fetches(&f, 0);
        }
        discard(&f);
    }
}

/* While a plan is carried out, some of what comes is on its way already. */
static void what_was_issued_stays(void **state)
{
    (void)state;
    static struct fixture f;
    static struct sl_arena arena;
    struct sl_migrator migrator = {.arena = &arena,
                                   .in.lock = SL_LOCK_INITIALIZER(SL_LOCK_IN),
                                   .out.lock = SL_LOCK_INITIALIZER(SL_LOCK_OUT)};
    sl_arena_init(&arena, NULL, SL_BLOCK_BYTES);
    atomic_store(&arena.slab_count, 1);
    for (uint64_t seed = 1; seed <= 40; seed++) {
        uint64_t random = seed;
        size_t early;
        make(&f, &random);
        struct sl_schedule schedule = {.migrator = &migrator, .steps = f.steps};
        for (uint32_t t = 0; t < LAUNCHES; t++) {
            uint8_t history = (uint8_t)random_below(&random, HISTORIES);
            uint32_t issued = atomic_load(&schedule.next_in), more = issued + random_below(&random, 4);
            if (more < f.steps.need_in[t ? t - 1 : 0]) more = f.steps.need_in[t ? t - 1 : 0];
            if (more > f.steps.in_count) more = f.steps.in_count;
            atomic_store(&schedule.next_in, more);
            if (!pull(&f, t, history)) break;
            assert_true(sl_schedule_pull(&schedule, FIRST + t, history, &early));
            check_releases(&f);
            check_fetches(&f, more);
        }
        discard(&f);
    }
}

static void a_launch_that_is_not_planned_is_none_of_it(void **state)
{
    (void)state;
    static struct fixture f;
    uint64_t random = 7;
    make(&f, &random);
    assert_false(sl_steps_pull(&f.steps, FIRST, HISTORIES));
    assert_false(sl_steps_pull(&f.steps, FIRST - 1, 0));
    assert_false(sl_steps_pull(&f.steps, FIRST + LAUNCHES, 0));
    discard(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_order_is_served),
        cmocka_unit_test(what_was_issued_stays),
        cmocka_unit_test(a_launch_that_is_not_planned_is_none_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
