#include "plan/plan_relax.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { SWEPT = 20, CHUNKS = SWEPT + 1, PERIODS = 3, LAUNCHES = PERIODS * SWEPT, USES = 2 };
#define CHUNK_BYTES (UINT64_C(1) << 20)
#define COPY_NS (1e9 * (double)CHUNK_BYTES / 1e10)

/* Each launch uses chunk 0 and one of the others in turn. */
struct sweep {
    struct sl_plan_launch launches[LAUNCHES];
    struct sl_plan_access accesses[LAUNCHES * USES];
    sl_chunk deaths[LAUNCHES];
    uint64_t bytes[CHUNKS];
    enum sl_chunk_content content[CHUNKS];
    double launch_ns[LAUNCHES];
    struct sl_plan_input input;
};

static void make(struct sweep *s, uint64_t budget_chunks, double copies_for_launch)
{
    *s = (struct sweep){0};
    for (uint32_t t = 0; t < LAUNCHES; t++) {
        s->launches[t] = (struct sl_plan_launch){.first_access = t * USES, .access_count = USES};
        s->launch_ns[t] = copies_for_launch * COPY_NS;
        s->accesses[t * USES] = (struct sl_plan_access){0};
        s->accesses[t * USES + 1] = (struct sl_plan_access){1 + t % SWEPT};
    }
    for (uint32_t c = 0; c < CHUNKS; c++) {
        s->bytes[c] = CHUNK_BYTES;
        s->content[c] = SL_CONTENT_HOST;
    }
    s->input = (struct sl_plan_input){.first_tick = 1,
                                      .launches = s->launches,
                                      .launch_count = LAUNCHES,
                                      .accesses = s->accesses,
                                      .deaths = s->deaths,
                                      .chunk_count = CHUNKS,
                                      .chunk_bytes = s->bytes,
                                      .content = s->content,
                                      .attempts = 8,
                                      .budget_bytes = budget_chunks * CHUNK_BYTES,
                                      .in_bytes_per_s = 10000000000,
                                      .out_bytes_per_s = 10000000000};
}

static struct sl_relaxation *solved(struct sweep *s, double most_bytes)
{
    struct sl_relaxation *r = sl_relaxation_new(&s->input, s->launch_ns, SWEPT, most_bytes);
    assert_non_null(r);
    for (int i = 0; i < 1000 && !sl_relaxation_is_solved(r); i++) sl_relaxation_improve(r, 1);
    assert_true(sl_relaxation_is_solved(r));
    return r;
}

static unsigned count(const struct sl_guide *guide, uint32_t first, uint32_t step, enum sl_leaving what)
{
    unsigned found = 0;
    for (uint32_t a = first; a < guide->access_count; a += step) found += guide->by_access[a] == what;
    return found;
}

/* 12 frames, one of them spare: nine or ten of the twenty leave after their use, and never what all launches
 * need. */
static void test_what_is_always_used_stays(void **state)
{
    (void)state;
    static struct sweep s;
    make(&s, 12, 1);
    struct sl_relaxation *r = solved(&s, 1e12);
    const struct sl_guide *guide = sl_relaxation_guide(r);
    assert_int_equal(guide->access_count, SWEPT * USES);
    assert_int_equal(count(guide, 0, USES, SL_STAYS), SWEPT);
    unsigned leaves = count(guide, 1, USES, SL_LEAVES), may = count(guide, 1, USES, SL_MAY_LEAVE);
    assert_true(leaves + may >= 10);
    for (uint32_t c = 1; c < CHUNKS; c++)
        assert_int_equal(guide->by_chunk[c], guide->by_access[(c - 1) * USES + 1]);
    sl_relaxation_delete(r);
}

/* Ten chunks come and ten leave in a period: there is time for that in launches as long as a copy, and half
 * of it in launches a quarter as long. */
static void test_waits_are_what_the_link_takes_longer(void **state)
{
    (void)state;
    static struct sweep s;
    make(&s, 12, 1);
    struct sl_relaxation *r = solved(&s, 1e12);
    assert_true(sl_relaxation_wait_ns(r) < 0.1 * COPY_NS);
    sl_relaxation_delete(r);
    make(&s, 12, 0.25);
    r = solved(&s, 1e12);
    assert_true(sl_relaxation_wait_ns(r) > 4 * COPY_NS && sl_relaxation_wait_ns(r) < 8 * COPY_NS);
    sl_relaxation_delete(r);
}

/* What dies leaves for nothing, so nothing else has to. */
static void test_the_dead_need_no_room(void **state)
{
    (void)state;
    static struct sweep s;
    make(&s, 12, 0.25);
    for (uint32_t t = 0; t < LAUNCHES; t++) {
        s.deaths[t] = 1 + t % SWEPT;
        s.launches[t].first_death = t;
        s.launches[t].death_count = 1;
    }
    struct sl_relaxation *r = solved(&s, 1e12);
    assert_true(sl_relaxation_wait_ns(r) < 0.1 * COPY_NS);
    assert_int_equal(count(sl_relaxation_guide(r), 0, 1, SL_STAYS), SWEPT * USES);
    sl_relaxation_delete(r);
}

static void test_what_does_not_repeat_has_none(void **state)
{
    (void)state;
    static struct sweep s;
    make(&s, 12, 1);
    assert_null(sl_relaxation_new(&s.input, s.launch_ns, SWEPT - 1, 1e12));
    assert_null(sl_relaxation_new(&s.input, s.launch_ns, 0, 1e12));
    assert_null(sl_relaxation_new(&s.input, s.launch_ns, LAUNCHES, 1e12));
    s.input.budget_bytes = CHUNK_BYTES; /* less than a launch needs */
    assert_null(sl_relaxation_new(&s.input, s.launch_ns, SWEPT, 1e12));
}

static bool fits(const struct sl_relaxation *r, const struct sweep *s)
{
    return sl_relaxation_fits(r, &s->input, s->launch_ns, 1e12);
}

/* One that was made when launches took longer, or for another budget, would have other chunks leave. */
static void test_it_fits_its_own_launches(void **state)
{
    (void)state;
    static struct sweep s;
    make(&s, 12, 1);
    struct sl_relaxation *r = sl_relaxation_new(&s.input, s.launch_ns, SWEPT, 1e12);
    assert_true(fits(r, &s));
    assert_false(sl_relaxation_fits(r, &s.input, s.launch_ns, 1e11));
    s.input.in_bytes_per_s += s.input.in_bytes_per_s / 10;
    assert_false(fits(r, &s));
    make(&s, 12, 1.02);
    assert_true(fits(r, &s));
    make(&s, 12, 1.2);
    assert_false(fits(r, &s));
    make(&s, 12, 1);
    s.accesses[5 * USES + 1].chunk = 7;
    assert_false(fits(r, &s));
    make(&s, 13, 1);
    assert_false(fits(r, &s));
    make(&s, 12, 1);
    s.input.launch_count = SWEPT / 2; /* behind which nothing is read */
    s.input.launches =
        memcpy(malloc(SWEPT / 2 * sizeof *s.launches), s.launches, SWEPT / 2 * sizeof *s.launches);
    assert_false(fits(r, &s));
    free((void *)s.input.launches);
    sl_relaxation_delete(r);
    sl_relaxation_delete(NULL);
}

static void make_plan(struct sweep *s, struct sl_plan_lessons *lessons, bool hurried)
{
    struct sl_plan plan;
    s->input.hurried = hurried;
    assert_int_equal(sl_plan_make(&s->input, lessons, &plan), SL_OK);
    sl_plan_free(&plan);
    s->input.first_tick += SWEPT;
}

/* Each plan goes on solving it, but one that has no time for that. Once it is solved, plans search again. */
static void test_plans_go_on_solving_it(void **state)
{
    (void)state;
    static struct sweep s;
    make(&s, 12, 0.25);
    for (uint32_t t = 0; t < LAUNCHES; t++) s.launches[t].duration_ns = (uint64_t)(0.25 * COPY_NS);
    s.input.attempts = 1;
    struct sl_plan_lessons lessons = {0};
    make_plan(&s, &lessons, false);
    for (int i = 0; i < 1000; i++) make_plan(&s, &lessons, true);
    assert_false(sl_relaxation_is_solved(lessons.relaxation));
    unsigned idle = 0;
    for (int i = 0; i < 10000 && !sl_relaxation_is_solved(lessons.relaxation); i++) {
        idle = lessons.idle;
        make_plan(&s, &lessons, false);
    }
    assert_true(sl_relaxation_is_solved(lessons.relaxation));
    assert_true(idle > 1 && lessons.idle <= 1);
    sl_plan_lessons_free(&lessons);
}

/* Launches without accesses repeat, and the launches after them need their chunks. */
static void test_launches_without_accesses_have_none(void **state)
{
    (void)state;
    static struct sweep s;
    make(&s, 12, 0.25);
    for (uint32_t t = 0; t < LAUNCHES; t++) s.launches[t].duration_ns = (uint64_t)(0.25 * COPY_NS);
    s.launches[0].access_count = s.launches[1].access_count = 0;
    struct sl_plan_lessons lessons = {0};
    for (int i = 0; i < 2; i++, s.input.first_tick++) {
        struct sl_plan plan;
        assert_int_equal(sl_plan_make(&s.input, &lessons, &plan), SL_OK);
        assert_true(plan.stall_ns > 0);
        sl_plan_free(&plan);
    }
    assert_null(lessons.relaxation);
    sl_plan_lessons_free(&lessons);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_always_used_stays),
        cmocka_unit_test(test_waits_are_what_the_link_takes_longer),
        cmocka_unit_test(test_the_dead_need_no_room),
        cmocka_unit_test(test_what_does_not_repeat_has_none),
        cmocka_unit_test(test_it_fits_its_own_launches),
        cmocka_unit_test(test_plans_go_on_solving_it),
        cmocka_unit_test(test_launches_without_accesses_have_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
