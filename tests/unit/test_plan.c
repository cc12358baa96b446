#include "plan/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "plan_check.h"
#include "plan_scene.h"

static struct sl_plan make_checked(const struct scene *s, uint64_t seed)
{
    struct sl_plan plan;
    assert_int_equal(sl_plan_make(&s->in, NULL, &plan), SL_OK);
    check_actions(&s->in, &plan);
    check_execution(&s->in, &plan, seed);
    return plan;
}

static void test_random_programs_run_right_in_any_order(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int i = 0; i < 1500; i++) {
        struct scene s;
        scene_random(&s, &seed);
        struct sl_plan plan = make_checked(&s, seed);
        for (int order = 0; order < 2; order++) check_execution(&s.in, &plan, seed + 1 + (uint64_t)order);
        sl_plan_free(&plan);
    }
}

static void test_the_same_input_gives_the_same_plan(void **state)
{
    (void)state;
    uint64_t seed = 5;
    for (int i = 0; i < 100; i++) {
        struct scene s;
        scene_random(&s, &seed);
        struct sl_plan a = make_checked(&s, seed), b = make_checked(&s, seed);
        assert_int_equal(a.action_count, b.action_count);
        for (size_t k = 0; k < a.action_count; k++) {
            const struct sl_plan_action *x = &a.actions[k], *y = &b.actions[k];
            assert_true(x->kind == y->kind && x->chunk == y->chunk && x->after == y->after &&
                        x->deadline == y->deadline && x->frame_from == y->frame_from);
        }
        sl_plan_free(&a);
        sl_plan_free(&b);
    }
}

/* The fewest fetches of any schedule that brings a chunk only when it is needed: by trying every set of
 * residents after every launch. */
static uint32_t fewest_fetches(const struct scene *s, uint32_t frames)
{
    enum { SETS = 1 << 7 };
    uint32_t cost[SETS], next[SETS], start = 0;
    for (uint32_t c = 0; c < s->in.chunk_count; c++) start |= (s->content[c] == SL_CONTENT_RESIDENT) << c;
    for (uint32_t set = 0; set < SETS; set++) cost[set] = set == start ? 0 : 1000;
    for (size_t t = 0; t < s->in.launch_count; t++) {
        uint32_t need = 0;
        for (uint32_t k = 0; k < s->launches[t].access_count; k++)
            need |= 1u << s->accesses[s->launches[t].first_access + k].chunk;
        for (uint32_t to = 0; to < SETS; to++) {
            next[to] = 1000;
            if ((to & need) != need || (uint32_t)__builtin_popcount(to) > frames) continue;
            for (uint32_t from = 0; from < SETS; from++) {
                uint32_t total = cost[from] + (uint32_t)__builtin_popcount(need & ~from);
                if ((to & ~from & ~need) == 0 && total < next[to]) next[to] = total;
            }
        }
        memcpy(cost, next, sizeof cost);
    }
    uint32_t best = 1000;
    for (uint32_t set = 0; set < SETS; set++) best = cost[set] < best ? cost[set] : best;
    return best;
}

static void test_no_schedule_fetches_less(void **state)
{
    (void)state;
    uint64_t seed = 2;
    for (int i = 0; i < 300; i++) {
        struct scene s;
        uint32_t chunks = 2 + random_below(&seed, 6), frames = 2 + random_below(&seed, 4), resident = 0;
        scene_begin(&s, chunks, frames);
        for (size_t c = 0; c < chunks; c++) {
            bool here = resident < frames && random_below(&seed, 2);
            s.content[c] = here ? SL_CONTENT_RESIDENT : SL_CONTENT_HOST;
            resident += here;
        }
        for (size_t t = 0; t < 14; t++) {
            scene_launch(&s, 0); /* a known duration may make it copy more to wait less */
            for (sl_chunk c = 0; c < chunks && s.launches[t].access_count < 2; c++)
                if (random_below(&seed, chunks) < 2) scene_use(&s, c);
        }
        struct sl_plan plan = make_checked(&s, seed);
        assert_int_equal(plan.bytes_in, fewest_fetches(&s, frames));
        sl_plan_free(&plan);
    }
}

static void test_enough_room_needs_no_releases(void **state)
{
    (void)state;
    struct scene s;
    scene_begin(&s, 6, 6);
    s.content[0] = SL_CONTENT_RESIDENT;
    s.content[1] = SL_CONTENT_RESIDENT_DEAD;
    s.content[2] = SL_CONTENT_HOST;
    scene_string(&s, "abCdEFabCdEF");
    struct sl_plan plan = make_checked(&s, 1);
    /* c is fetched, d, e and f are populated; what dies keeps its frame for its next birth. */
    assert_int_equal(plan.action_count, 4);
    assert_int_equal(plan.bytes_in, 1);
    assert_int_equal(plan.bytes_out, 0);
    for (size_t i = 0; i < plan.action_count; i++) {
        assert_int_equal(plan.actions[i].frame_from, SL_NONE);
        assert_int_equal(plan.actions[i].after, 0);
    }
    sl_plan_free(&plan);
}

static void test_dead_frames_are_dropped_before_anything_is_copied(void **state)
{
    (void)state;
    struct scene s;
    scene_begin(&s, 4, 2);
    s.content[1] = SL_CONTENT_RESIDENT;
    s.content[2] = SL_CONTENT_HOST;
    scene_string(&s, "Abcb");
    struct sl_plan plan = make_checked(&s, 1);
    assert_int_equal(plan.bytes_out, 0);
    assert_int_equal(plan.action_count, 3);
    assert_int_equal(plan.actions[0].kind, SL_ACTION_POPULATE);
    assert_int_equal(plan.actions[1].kind, SL_ACTION_DISCARD);
    assert_int_equal(plan.actions[1].after, 1);
    assert_int_equal(plan.actions[1].deadline, 3);
    assert_int_equal(plan.actions[2].kind, SL_ACTION_FETCH);
    assert_int_equal(plan.actions[2].after, 1);
    assert_int_equal(plan.actions[2].frame_from, 1);
    sl_plan_free(&plan);
}

/* Belady's victim, out right after its last use, and back in time. */
static void test_the_furthest_use_leaves_right_after_its_last(void **state)
{
    (void)state;
    struct scene s;
    scene_begin(&s, 3, 2);
    s.content[0] = s.content[1] = SL_CONTENT_RESIDENT;
    s.content[2] = SL_CONTENT_HOST;
    scene_string(&s, "abcba");
    struct sl_plan plan = make_checked(&s, 1);
    assert_int_equal(plan.action_count, 4);
    const struct sl_plan_action *a = plan.actions;
    assert_true(a[0].kind == SL_ACTION_EVICT && a[0].chunk == 0 && a[0].after == 1 && a[0].deadline == 3);
    assert_true(a[1].kind == SL_ACTION_FETCH && a[1].chunk == 2 && a[1].after == 1 && a[1].frame_from == 0);
    assert_true(a[2].kind == SL_ACTION_EVICT && a[2].chunk == 2 && a[2].after == 3 && a[2].deadline == 5);
    assert_true(a[3].kind == SL_ACTION_FETCH && a[3].chunk == 0 && a[3].after == 3 && a[3].deadline == 5);
    /* One ns each: a, then b while a leaves, one to fetch c, c, b while c leaves, one to fetch a, a. */
    assert_int_equal(plan.seconds_ns, 7);
    assert_int_equal(plan.stall_ns, 2);
    sl_plan_free(&plan);
}

/* A drop must not queue up behind copies that nobody waits for yet. */
static void test_a_drop_overtakes_copies_that_can_wait(void **state)
{
    (void)state;
    enum { OLD = 8, DYING = OLD, NEXT, ALL = 16 };
    struct scene s;
    scene_begin(&s, ALL, OLD + 1);
    for (size_t i = 0; i < OLD; i++) s.content[i] = SL_CONTENT_RESIDENT;
    scene_launch(&s, 1); /* what leaves for the last launch */
    for (sl_chunk c = 0; c < OLD; c++) scene_use(&s, c);
    scene_launch(&s, 1);
    scene_use(&s, DYING);
    scene_die(&s, DYING);
    scene_launch(&s, 100);
    scene_use(&s, NEXT);
    scene_launch(&s, 1);
    for (sl_chunk c = DYING; c < ALL; c++) scene_use(&s, c);
    struct sl_plan plan = make_checked(&s, 1);
    size_t drop = 0, before = 0, copies = 0;
    for (size_t i = 0; i < plan.action_count; i++) {
        if (plan.actions[i].kind == SL_ACTION_DISCARD) drop = i;
        copies += plan.actions[i].kind == SL_ACTION_EVICT;
    }
    for (size_t i = 0; i < drop; i++) before += plan.actions[i].kind == SL_ACTION_EVICT;
    assert_int_equal(plan.actions[drop].chunk, DYING);
    assert_true(copies >= 7);
    assert_true(before <= 4);
    sl_plan_free(&plan);
}

/* Fetches of a string whose chunks are all in host memory, with room for two. */
static void check_when(enum sl_plan_when when, const sl_tick *after)
{
    struct scene s;
    scene_begin(&s, 4, 2);
    for (size_t c = 0; c < 4; c++) s.content[c] = SL_CONTENT_HOST;
    s.in.when = when;
    s.in.attempts = 0;
    scene_string(&s, "abcd");
    struct sl_plan plan = make_checked(&s, 1);
    size_t fetches = 0;
    for (size_t i = 0; i < plan.action_count; i++) {
        if (plan.actions[i].kind != SL_ACTION_FETCH) continue;
        assert_int_equal(plan.actions[i].chunk, fetches);
        assert_int_equal(plan.actions[i].after, after[fetches]);
        fetches++;
    }
    assert_int_equal(fetches, 4);
    sl_plan_free(&plan);
}

static void test_how_far_ahead_is_as_asked(void **state)
{
    (void)state;
    check_when(SL_PLAN_AHEAD, (sl_tick[]){0, 0, 2, 3});
    check_when(SL_PLAN_NEXT, (sl_tick[]){0, 0, 2, 3});
    check_when(SL_PLAN_ON_DEMAND, (sl_tick[]){0, 1, 2, 3});
    struct scene s;
    scene_begin(&s, 6, 6);
    for (size_t c = 0; c < 6; c++) s.content[c] = SL_CONTENT_HOST;
    s.in.when = SL_PLAN_NEXT;
    scene_string(&s, "abcdef");
    struct sl_plan plan = make_checked(&s, 1);
    assert_int_equal(plan.actions[5].after, 4); /* with room for all, still only one ahead */
    sl_plan_free(&plan);
}

static void test_a_launch_beyond_the_budget_gets_what_fits(void **state)
{
    (void)state;
    struct scene s;
    scene_begin(&s, 4, 2);
    s.content[0] = SL_CONTENT_RESIDENT;
    s.content[2] = SL_CONTENT_HOST;
    scene_launch(&s, 1);
    for (sl_chunk c = 0; c < 4; c++) scene_use(&s, c);
    struct sl_plan plan = make_checked(&s, 1);
    assert_int_equal(plan.oversize_launches, 1);
    assert_int_equal(plan.action_count, 1); /* beside chunk 0 one of the others */
    assert_int_equal(plan.actions[0].kind, SL_ACTION_POPULATE);
    sl_plan_free(&plan);
    /* What it wrote in place has content from then on: fetched, not populated. */
    scene_string(&s, "d");
    plan = make_checked(&s, 1);
    assert_int_equal(plan.action_count, 1);
    assert_int_equal(plan.actions[0].kind, SL_ACTION_FETCH);
    sl_plan_free(&plan);
}

/* One launch uses 12 chunks in 8 frames; 4 others are used before and behind it. While those launches run the
 * link has time to bring something for it, but not as much as could leave. */
static void test_a_launch_beyond_the_budget_gets_what_the_link_has_time_for(void **state)
{
    (void)state;
    struct scene s;
    scene_begin(&s, 16, 8);
    for (sl_chunk c = 0; c < 16; c++) s.content[c] = c < 4 || c >= 12 ? SL_CONTENT_RESIDENT : SL_CONTENT_HOST;
    for (int period = 0; period < 3; period++) {
        static const sl_chunk others[] = {12, 13, 14, 15, 15, 14, 13, 12};
        for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
            scene_launch(&s, 2);
            scene_use(&s, others[i]);
        }
        scene_launch(&s, 2);
        for (sl_chunk c = 0; c < 12; c++) scene_use(&s, c);
    }
    struct sl_plan plan = make_checked(&s, 1);
    s.in.attempts = 0;
    struct sl_plan in_place = make_checked(&s, 1);
    assert_int_equal(in_place.bytes_in, 0);
    assert_in_range(plan.seconds_ns, 1, in_place.seconds_ns - 3 * 2); /* two of the four, three times */
    sl_plan_free(&in_place);
    sl_plan_free(&plan);
}

static void test_a_smaller_budget_is_obeyed_at_once(void **state)
{
    (void)state;
    struct scene s;
    scene_begin(&s, 5, 3);
    for (size_t i = 0; i < 5; i++) s.content[i] = SL_CONTENT_RESIDENT;
    s.content[4] = SL_CONTENT_RESIDENT_DEAD;
    scene_string(&s, "abc");
    struct sl_plan plan = make_checked(&s, 1);
    assert_int_equal(plan.action_count, 2);
    assert_int_equal(plan.actions[0].kind, SL_ACTION_DISCARD);
    assert_int_equal(plan.actions[1].kind, SL_ACTION_EVICT);
    assert_int_equal(plan.actions[1].chunk, 3); /* the one that is not used */
    assert_int_equal(plan.actions[1].after, 0);
    sl_plan_free(&plan);
}

static void test_wrong_input_is_refused(void **state)
{
    (void)state;
    struct scene s;
    struct sl_plan plan = {0};
    scene_begin(&s, 2, 2);
    scene_string(&s, "c");
    assert_int_equal(sl_plan_make(&s.in, NULL, &plan), SL_ERR_INVALID);
    scene_begin(&s, 2, 2);
    scene_string(&s, "a");
    scene_die(&s, 2);
    assert_int_equal(sl_plan_make(&s.in, NULL, &plan), SL_ERR_INVALID);
    s.deaths[0] = 0;
    s.in.first_tick = 0;
    assert_int_equal(sl_plan_make(&s.in, NULL, &plan), SL_ERR_INVALID);
    s.in.first_tick = 1;
    s.in.out_bytes_per_s = 0;
    assert_int_equal(sl_plan_make(&s.in, NULL, &plan), SL_ERR_INVALID);
    assert_null(plan.actions);
    sl_plan_free(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_programs_run_right_in_any_order),
        cmocka_unit_test(test_the_same_input_gives_the_same_plan),
        cmocka_unit_test(test_no_schedule_fetches_less),
        cmocka_unit_test(test_enough_room_needs_no_releases),
        cmocka_unit_test(test_dead_frames_are_dropped_before_anything_is_copied),
        cmocka_unit_test(test_the_furthest_use_leaves_right_after_its_last),
        cmocka_unit_test(test_a_drop_overtakes_copies_that_can_wait),
        cmocka_unit_test(test_how_far_ahead_is_as_asked),
        cmocka_unit_test(test_a_launch_beyond_the_budget_gets_what_fits),
        cmocka_unit_test(test_a_launch_beyond_the_budget_gets_what_the_link_has_time_for),
        cmocka_unit_test(test_a_smaller_budget_is_obeyed_at_once),
        cmocka_unit_test(test_wrong_input_is_refused),
    };
    return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
