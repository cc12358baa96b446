/* Several ways to plan, of which the best is kept: breaks if a plan with attempts is slower than without, or
 * copies much more, if attempts find nothing, or if the next plan begins anew. How good plans are for a
 * training, test_plan_gpt.c looks at. */
#include "plan/plan_parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "plan/plan.h"
#include "plan_check.h"
#include "plan_scene.h"

#define SAME_END 1.002 /* what is faster at first may end so much later */

static struct sl_plan search(struct scene *s, unsigned attempts, struct sl_plan_lessons *lessons)
{
    struct sl_plan plan = {0};
    s->in.attempts = attempts;
    assert_int_equal(sl_plan_search(&s->in, s->launch_ns, lessons, &plan), SL_OK);
    check_actions(&s->in, &plan);
    return plan;
}

static bool same(const struct sl_plan *a, const struct sl_plan *b)
{
    if (a->action_count != b->action_count || a->seconds_ns != b->seconds_ns) return false;
    for (size_t k = 0; k < a->action_count; k++) {
        const struct sl_plan_action *x = &a->actions[k], *y = &b->actions[k];
        if (x->kind != y->kind || x->chunk != y->chunk || x->after != y->after ||
            x->deadline != y->deadline || x->frame_from != y->frame_from)
            return false;
    }
    return true;
}

/* A program that repeats itself three times, with a link that is slow for it. */
static void make_periodic(struct scene *s, uint64_t *seed)
{
    uint32_t chunks = 6 + random_below(seed, 6), launches = 6 + random_below(seed, 8);
    scene_begin(s, chunks, 3 + random_below(seed, 3));
    for (uint32_t c = 0; c < chunks; c++) s->content[c] = SL_CONTENT_HOST;
    s->in.in_bytes_per_s = s->in.out_bytes_per_s = 1000;
    for (uint32_t t = 0; t < launches; t++) {
        scene_launch(s, 100000 * (1 + random_below(seed, 40)));
        for (int k = 0; k < 2; k++) {
            sl_chunk c = random_below(seed, chunks / 2) * 2 + (sl_chunk)k;
            scene_use(s, c);
        }
        if (random_below(seed, 4) == 0) scene_die(s, random_below(seed, chunks));
    }
    scene_repeat(s, 3);
}

static double copied_until(const struct sl_plan_input *in, const struct sl_plan *plan, size_t launches)
{
    double bytes = 0;
    for (size_t a = 0; a < plan->action_count; a++) {
        const struct sl_plan_action *action = &plan->actions[a];
        bool copied = action->kind == SL_ACTION_FETCH || action->kind == SL_ACTION_EVICT;
        if (copied && action->after + 1 < in->first_tick + launches)
            bytes += (double)in->chunk_bytes[action->chunk];
    }
    return bytes;
}

static struct sl_copied copied_by(const struct sl_plan_input *in, const struct sl_plan *plan)
{
    size_t n = in->launch_count;
    return (struct sl_copied){copied_until(in, plan, n / 3), copied_until(in, plan, n - n / 3),
                              copied_until(in, plan, n)};
}

static void without_attempts_it_is_beladys_choice(void **state)
{
    (void)state;
    uint64_t seed = 71;
    for (int i = 0; i < 300; i++) {
        struct scene s;
        struct sl_outlook outlook;
        struct sl_choice choice;
        struct sl_course course;
        struct sl_plan expected = {0};
        scene_random(&s, &seed);
        struct sl_plan plan = search(&s, 0, NULL);
        check_execution(&s.in, &plan, seed);
        assert_int_equal(sl_outlook_make(&s.in, s.launch_ns, &outlook), SL_OK);
        assert_int_equal(sl_plan_choose(&s.in, &outlook, &(struct sl_choose_options){0}, &choice), SL_OK);
        sl_choice_hold_back(&choice, s.in.when);
        assert_int_equal(sl_plan_schedule(&s.in, s.launch_ns, &choice, &expected, &course), SL_OK);
        assert_true(same(&plan, &expected));
        sl_plan_free(&plan);
        sl_plan_free(&expected);
        sl_choice_free(&choice);
        sl_outlook_free(&outlook);
    }
}

/* Faster, or Belady's itself; with hardly more copies in a period; and often much faster. */
static void attempts_are_worth_it(void **state)
{
    (void)state;
    uint64_t seed = 72;
    double without = 0, with = 0;
    for (int i = 0; i < 150; i++) {
        struct scene s;
        make_periodic(&s, &seed);
        struct sl_plan belady = search(&s, 0, NULL), best = search(&s, 30, NULL);
        check_execution(&s.in, &best, seed);
        assert_true((double)best.seconds_ns <= SAME_END * (double)belady.seconds_ns);
        assert_true(sl_excess_bytes(copied_by(&s.in, &best), copied_by(&s.in, &belady)) == 0);
        if (same(&best, &belady)) assert_int_equal(best.bytes_in, belady.bytes_in);
        without += (double)belady.stall_ns;
        with += (double)best.stall_ns;
        sl_plan_free(&belady);
        sl_plan_free(&best);
    }
    print_message("waits are %.3f of Belady's\n", with / without);
    assert_true(with < 0.94 * without);
}

/* Launches of twelve chunks where eight fit. What comes for them is tried, and kept where that is faster than
 * using all in place. */
static void what_does_not_fit_comes_in_parts(void **state)
{
    (void)state;
    uint64_t seed = 73;
    double in_place_ns = 0, best_ns = 0;
    for (int i = 0; i < 60; i++) {
        struct scene s;
        scene_begin(&s, 16, 8);
        for (sl_chunk c = 0; c < 16; c++)
            s.content[c] = random_below(&seed, 2) ? SL_CONTENT_HOST : SL_CONTENT_DEAD;
        for (uint32_t t = 0, ns = 1 + random_below(&seed, 4); t < 8; t++) {
            scene_launch(&s, ns);
            scene_use(&s, 12 + random_below(&seed, 4));
        }
        scene_launch(&s, 2);
        for (sl_chunk c = 0; c < 12; c++) scene_use(&s, c);
        scene_repeat(&s, 3);
        struct sl_plan in_place = search(&s, 0, NULL), best = search(&s, 12, NULL);
        check_execution(&s.in, &best, seed);
        assert_int_equal(best.oversize_launches, 3);
        assert_true(best.seconds_ns <= in_place.seconds_ns);
        in_place_ns += (double)in_place.stall_ns;
        best_ns += (double)best.stall_ns;
        sl_plan_free(&in_place);
        sl_plan_free(&best);
    }
    print_message("waits are %.3f of those in place\n", best_ns / in_place_ns);
    assert_true(best_ns < 0.6 * in_place_ns);
}

/* Where nobody waits nothing is tried, and nothing learned. */
static void where_nobody_waits_nothing_is_tried(void **state)
{
    (void)state;
    struct scene s;
    struct sl_plan_lessons lessons = {0};
    scene_begin(&s, 3, 2);
    s.content[0] = s.content[1] = SL_CONTENT_RESIDENT;
    s.content[2] = SL_CONTENT_HOST;
    scene_string(&s, "abcbabcba");
    for (size_t t = 0; t < s.in.launch_count; t++) s.launch_ns[t] = 1000; /* copies take 1 ns */
    struct sl_plan belady = search(&s, 0, NULL), plan = search(&s, 50, &lessons);
    assert_true(same(&plan, &belady));
    assert_null(lessons.rows);
    sl_plan_free(&belady);
    sl_plan_free(&plan);
    sl_plan_lessons_free(&lessons);
}

/* Nothing in it depends on anything but the input and the lessons. */
static void plans_are_the_same_each_time(void **state)
{
    (void)state;
    uint64_t seed = 74;
    for (int i = 0; i < 30; i++) {
        struct scene s;
        struct sl_plan_lessons one = {0}, other = {0};
        make_periodic(&s, &seed);
        for (int period = 0; period < 3; period++) {
            unsigned attempts = period ? 40 : 4; /* all ways, and then variants by chance */
            struct sl_plan a = search(&s, attempts, &one), b = search(&s, attempts, &other);
            assert_true(same(&a, &b));
            s.in.first_tick += s.in.launch_count / 3;
            sl_plan_free(&a);
            sl_plan_free(&b);
        }
        sl_plan_lessons_free(&one);
        sl_plan_lessons_free(&other);
    }
}

/* Plans again and again, each for three periods of which one is carried out. The waits of the last plans. */
static double waits_of_training(struct scene *s, unsigned attempts, bool learns, int hurried_from)
{
    struct sl_plan_lessons lessons = {0};
    enum sl_chunk_content content[SCENE_CHUNKS];
    double waits = 0;
    size_t period = s->in.launch_count / 3;
    for (int round = 0; round < 60; round++) {
        s->in.hurried = round >= hurried_from;
        struct sl_plan plan = search(s, attempts, learns ? &lessons : NULL);
        if (round >= 50) waits += (double)plan.stall_ns;
        if (lessons.rows) assert_int_equal(lessons.launch_count, 3 * period);
        sl_plan_content(&s->in, &plan, period, content);
        memcpy(s->content, content, sizeof content);
        s->in.first_tick += period;
        sl_plan_free(&plan);
    }
    sl_plan_lessons_free(&lessons);
    sl_plan_lessons_free(&lessons); /* zeroed by then */
    return waits;
}

/* A few attempts at a time come further where each plan goes on where the last one stopped. */
static void the_next_plan_goes_on_searching(void **state)
{
    (void)state;
    uint64_t seed = 75;
    double anew = 0, learned = 0;
    for (int i = 0; i < 40; i++) {
        struct scene s;
        uint64_t same_again = seed;
        make_periodic(&s, &same_again);
        anew += waits_of_training(&s, 2, false, 60);
        make_periodic(&s, &seed);
        learned += waits_of_training(&s, 2, true, 60);
    }
    print_message("waits are %.3f of those without lessons\n", learned / anew);
    assert_true(learned < 0.99 * anew);
}

/* A hurried plan tries nothing but the best way so far. */
static void a_hurried_plan_goes_the_best_way(void **state)
{
    (void)state;
    uint64_t seed = 75;
    double searched = 0, hurried = 0;
    for (int i = 0; i < 40; i++) {
        struct scene s;
        uint64_t same_again = seed;
        make_periodic(&s, &same_again);
        searched += waits_of_training(&s, 30, true, 60);
        make_periodic(&s, &seed);
        hurried += waits_of_training(&s, 30, true, 45);
    }
    print_message("waits are %.3f of those with a search\n", hurried / searched);
    assert_true(hurried < 1.02 * searched);
}

/* --- Slack. */

enum { TURN_CHUNKS = 64, TURN_BUDGET = TURN_CHUNKS / 2, FEWEST = 2, PERIODS = 3, CHUNK_BYTES = 100 };

/* Each launch uses chunks of its own, period after period, as an optimizer's do. Half of them fit. */
static struct turns {
    struct sl_plan_input in;
    struct sl_plan_launch launches[PERIODS * TURN_CHUNKS / FEWEST];
    struct sl_plan_access accesses[PERIODS * 2 * TURN_CHUNKS];
    uint64_t bytes[TURN_CHUNKS];
    enum sl_chunk_content content[TURN_CHUNKS];
    double launch_ns[PERIODS * TURN_CHUNKS / FEWEST];
    size_t period; /* launches */
} turns;

/* Launches take longer than their chunks take over the link. The first one of a period uses `most`. */
static void take_turns(uint32_t each, uint32_t most)
{
    uint32_t steps = TURN_CHUNKS / each, accesses = 0;
    turns = (struct turns){.in = {.first_tick = 1,
                                  .launches = turns.launches,
                                  .launch_count = (size_t)PERIODS * steps,
                                  .accesses = turns.accesses,
                                  .chunk_count = TURN_CHUNKS,
                                  .chunk_bytes = turns.bytes,
                                  .content = turns.content,
                                  .budget_bytes = TURN_BUDGET * CHUNK_BYTES,
                                  .in_bytes_per_s = 1000000000,
                                  .out_bytes_per_s = 1000000000,
                                  .tries_slack = true},
                           .period = steps};
    for (sl_chunk c = 0; c < TURN_CHUNKS; c++) {
        turns.bytes[c] = CHUNK_BYTES;
        turns.content[c] = c < TURN_BUDGET ? SL_CONTENT_RESIDENT : SL_CONTENT_HOST;
    }
    for (uint32_t t = 0; t < turns.in.launch_count; t++) {
        uint32_t count = t % steps ? each : most;
        uint64_t ns = 2 * each * CHUNK_BYTES;
        turns.launch_ns[t] = (double)ns;
        turns.launches[t] =
            (struct sl_plan_launch){.first_access = accesses, .access_count = count, .duration_ns = ns};
        for (uint32_t k = 0; k < count; k++) turns.accesses[accesses++].chunk = t % steps * each + k;
    }
}

static struct sl_plan plan_turns(unsigned attempts, struct sl_plan_lessons *lessons)
{
    struct sl_plan plan = {0};
    turns.in.attempts = attempts;
    assert_int_equal(sl_plan_search(&turns.in, turns.launch_ns, lessons, &plan), SL_OK);
    check_actions(&turns.in, &plan);
    for (uint64_t seed = 1; seed <= 5; seed++) check_execution(&turns.in, &plan, seed);
    return plan;
}

/* The next period's plan begins with what the last one's first period leaves. */
static void go_to_next_period(const struct sl_plan *plan)
{
    enum sl_chunk_content content[TURN_CHUNKS];
    sl_plan_content(&turns.in, plan, turns.period, content);
    memcpy(turns.content, content, sizeof content);
    turns.in.first_tick += turns.period;
}

static double waits_of(const struct sl_plan *plan)
{
    return (double)plan->stall_ns / (double)plan->seconds_ns;
}

/* Else each launch's fetches begin when the launch before it has ended. */
static void what_is_left_free_saves_waits(void **state)
{
    (void)state;
    struct sl_plan_lessons lessons = {0};
    take_turns(4, 4);
    struct sl_plan belady = plan_turns(0, NULL), plan = plan_turns(1, &lessons);
    assert_true(lessons.slack > 0);
    assert_true((double)plan.stall_ns < 0.7 * (double)belady.stall_ns);
    assert_true(copied_by(&turns.in, &plan).most <= 1.15 * copied_by(&turns.in, &belady).most);
    sl_plan_free(&plan);
    sl_plan_free(&belady);
    sl_plan_lessons_free(&lessons);
}

/* Waits of a hurried plan in the second period, after a plan with `lessons`. */
static double hurry(struct sl_plan_lessons *lessons)
{
    turns.in.hurried = true;
    struct sl_plan plan = plan_turns(1, lessons);
    double waits = waits_of(&plan);
    sl_plan_free(&plan);
    return waits;
}

/* Whether waits are left with it (each 4) or not (each 2). */
static void a_hurried_plan_leaves_as_much_free(void **state)
{
    (void)state;
    for (uint32_t each = 2; each <= 4; each += 2) {
        struct sl_plan_lessons lessons = {0};
        take_turns(each, each);
        struct sl_plan first = plan_turns(1, &lessons);
        double slack = lessons.slack, waits = waits_of(&first);
        go_to_next_period(&first);
        double anew = hurry(NULL), learned = hurry(&lessons);
        print_message("of each %u: slack %.3f, waits %.3f, hurried %.3f, and without lessons %.3f\n", each,
                      slack, waits, learned, anew);
        assert_true(slack > 0);
        assert_true(learned < 0.8 * anew);
        assert_true(lessons.slack == slack);
        sl_plan_free(&first);
        sl_plan_lessons_free(&lessons);
    }
}

/* Nothing is left free that a launch needs. */
static void a_launch_that_needs_the_budget_gets_it(void **state)
{
    (void)state;
    for (uint32_t most = TURN_BUDGET - 4; most <= TURN_BUDGET; most++) {
        struct sl_plan_lessons lessons = {0};
        take_turns(4, most);
        struct sl_plan belady = plan_turns(0, NULL), plan = plan_turns(1, &lessons);
        assert_int_equal(plan.oversize_launches, 0);
        assert_true(plan.stall_ns <= belady.stall_ns);
        assert_non_null(lessons.rows);
        assert_true(lessons.slack * TURN_BUDGET <= TURN_BUDGET - most);
        assert_int_equal(lessons.slack > 0, most < TURN_BUDGET);
        sl_plan_free(&plan);
        sl_plan_free(&belady);
        sl_plan_lessons_free(&lessons);
    }
}

/* Fetches that begin late, or in one thread with evictions, need no frames early. */
static void who_does_not_fetch_ahead_beside_evictions_leaves_nothing_free(void **state)
{
    (void)state;
    for (int when = SL_PLAN_AHEAD; when <= SL_PLAN_ON_DEMAND; when++) {
        struct sl_plan_lessons lessons = {0};
        take_turns(4, 4);
        turns.in.when = (enum sl_plan_when)when;
        turns.in.tries_slack = when != SL_PLAN_AHEAD;
        struct sl_plan plan = plan_turns(1, &lessons);
        assert_non_null(lessons.rows);
        assert_true(lessons.slack == 0);
        sl_plan_free(&plan);
        sl_plan_lessons_free(&lessons);
    }
}

/* --- How many copies a plan may make beyond Belady's. */

static const struct sl_copied least = {100, 200, 300};

static double excess(double first, double most, double all)
{
    return sl_excess_bytes((struct sl_copied){first, most, all}, least);
}

/* --- in place: an optimizer passes over moments that do not fit, once a step; the other launches read
 * weights again and again. */

enum { WEIGHTS = 4, MOMENTS = 8, STEPS = 3 };

static void make_optimizer(struct scene *s, uint64_t budget_bytes, double in_place_cost)
{
    scene_begin(s, WEIGHTS + MOMENTS, budget_bytes);
    s->in.in_bytes_per_s = s->in.out_bytes_per_s = s->in.link_bytes_per_s = 1000; /* a chunk in 1 ms */
    for (sl_chunk c = 0; c < WEIGHTS + MOMENTS; c++) s->content[c] = SL_CONTENT_HOST;
    for (sl_chunk w = 0; w < WEIGHTS; w++) {
        scene_launch(s, 500000);
        scene_use(s, w);
        scene_use(s, (w + 1) % WEIGHTS);
    }
    for (sl_chunk m = 0; m < MOMENTS; m++) {
        scene_launch(s, 10000);
        scene_use(s, m % WEIGHTS);
        scene_use(s, WEIGHTS + m);
    }
    scene_repeat(s, STEPS);
    for (size_t t = 0; t < s->in.launch_count; t++)
        if (t % (WEIGHTS + MOMENTS) >= WEIGHTS) s->launches[t].in_place_cost = in_place_cost;
}

static uint32_t launches_in_place(const struct sl_plan *plan, const struct scene *s)
{
    uint32_t count = 0;
    for (size_t t = 0; plan->in_place && t < s->in.launch_count; t++) {
        count += plan->in_place[t];
        assert_true(!plan->in_place[t] || s->launches[t].in_place_cost > 0);
    }
    return count;
}

static void what_is_used_once_a_step_need_not_come(void **state)
{
    (void)state;
    static struct scene s;
    for (uint64_t budget = WEIGHTS; budget <= WEIGHTS + 2; budget++) {
        make_optimizer(&s, budget, 0);
        struct sl_plan moved = search(&s, 8, NULL);
        make_optimizer(&s, budget, 1);
        struct sl_plan in_place = search(&s, 8, NULL);
        print_message("%u of %u: %.1f ms moved, %.1f ms in place, by %u launches\n", (unsigned)budget,
                      WEIGHTS + MOMENTS, (double)moved.seconds_ns / 1e6, (double)in_place.seconds_ns / 1e6,
                      launches_in_place(&in_place, &s));
        assert_null(moved.in_place);
        assert_true(launches_in_place(&in_place, &s) >= STEPS * (MOMENTS - 2 - (budget - WEIGHTS)));
        assert_true((double)in_place.seconds_ns < 0.7 * (double)moved.seconds_ns);
        sl_plan_free(&moved);
        sl_plan_free(&in_place);
    }
}

/* A kernel that reads its memory again and again, and one of which nothing is known. */
static void what_costs_more_in_place_comes(void **state)
{
    (void)state;
    static struct scene s;
    static const double costs[] = {4, 0};
    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++) {
        make_optimizer(&s, WEIGHTS + 1, costs[i]);
        struct sl_plan plan = search(&s, 8, NULL);
        assert_int_equal(launches_in_place(&plan, &s), 0);
        sl_plan_free(&plan);
    }
}

/* Near the limit plans would change between the two, and pay for each change. */
static void what_the_last_plan_used_in_place_stays_for_less(void **state)
{
    (void)state;
    static struct scene s;
    uint32_t differ = 0;
    for (double cost = 1; cost < 4; cost += 0.02) {
        uint32_t counts[2];
        for (int was = 0; was < 2; was++) {
            struct sl_plan_lessons lessons = {.in_place = was};
            make_optimizer(&s, WEIGHTS + 1, cost);
            struct sl_plan plan = search(&s, 8, &lessons);
            counts[was] = launches_in_place(&plan, &s);
            assert_int_equal(lessons.in_place, counts[was] > 0);
            sl_plan_free(&plan);
            sl_plan_lessons_free(&lessons);
        }
        assert_true(counts[1] || !counts[0]);
        differ += !counts[0] && counts[1];
    }
    assert_true(differ > 0);
}

/* They wait for nothing, or the next plan would not choose it again. */
static void the_next_plan_stays_in_place(void **state)
{
    (void)state;
    static struct scene s;
    make_optimizer(&s, WEIGHTS + 1, 1);
    struct sl_plan_lessons lessons = {0};
    uint32_t first = 0;
    for (int p = 0; p < 20; p++) {
        s.in.hurried = p % 2;
        struct sl_plan plan = search(&s, 8, &lessons);
        uint32_t count = launches_in_place(&plan, &s);
        if (!p) first = count;
        assert_true(count > 0 && 4 * count >= 3 * first);
        sl_plan_free(&plan);
        s.in.first_tick += s.in.launch_count / STEPS;
    }
    sl_plan_lessons_free(&lessons);
}

static void a_little_more_is_nothing(void **state)
{
    (void)state;
    assert_true(excess(100, 200, 300) == 0);
    assert_true(excess(50, 100, 150) == 0);
    assert_true(excess(101, 202, 303) == 0);
}

/* What is copied once brings chunks to other places; if it is copied in each period, it is too much. */
static void more_may_be_copied_once(void **state)
{
    (void)state;
    assert_true(excess(140, 240, 340) == 0);
    assert_true(excess(140, 280, 420) > 30);
    assert_true(excess(100, 240, 340) > 15); /* not at the beginning */
}

/* What a plan copied once is made up for by those behind it that copy less, or forgotten by and by. */
static void what_was_copied_once_is_remembered(void **state)
{
    (void)state;
    const struct sl_copied once = {140, 240, 340}, same = {100, 200, 300}, fewer = {70, 170, 270};
    double over = sl_over_bytes(0, once, least);
    assert_true(over > 35 && over < 40);
    assert_true(sl_over_bytes(over, fewer, least) == 0);
    double later = sl_over_bytes(over, same, least);
    assert_true(later > 0 && later < over);
    assert_true(sl_over_bytes(over, once, least) > over);
    for (int plan = 0; plan < 20; plan++) over = sl_over_bytes(over, same, least);
    assert_true(over == 0);
}

/* What a period copies too much is about what it copies more. */
static void excess_is_of_a_period(void **state)
{
    (void)state;
    double by_half = excess(150, 300, 450);
    assert_true(by_half > 45 && by_half < 50);
}

/* Copies that save half of their own time are worth it, and others are not. */
static void copies_must_save_time(void **state)
{
    (void)state;
    double before = sl_plan_cost_ns(1e9, 0, 1e9); /* 100 ms a period for 1e8 bytes */
    assert_true(before == 1e9);
    assert_true(sl_plan_cost_ns(1e9 - 2 * 6.5e7, 1e8, 1e9) < before);
    assert_true(sl_plan_cost_ns(1e9 - 2 * 4.5e7, 1e8, 1e9) > before);
}

/* However few they are. */
static void copies_that_save_next_to_nothing_are_not_worth_it(void **state)
{
    (void)state;
    double before = sl_plan_cost_ns(1e9, 0, 1e9);
    assert_true(sl_plan_cost_ns(0.99e9, 1e5, 1e9) > before);
    assert_true(sl_plan_cost_ns(0.97e9, 1e5, 1e9) < before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_attempts_it_is_beladys_choice),
        cmocka_unit_test(attempts_are_worth_it),
        cmocka_unit_test(what_does_not_fit_comes_in_parts),
        cmocka_unit_test(where_nobody_waits_nothing_is_tried),
        cmocka_unit_test(plans_are_the_same_each_time),
        cmocka_unit_test(the_next_plan_goes_on_searching),
        cmocka_unit_test(a_hurried_plan_goes_the_best_way),
        cmocka_unit_test(what_is_left_free_saves_waits),
        cmocka_unit_test(a_hurried_plan_leaves_as_much_free),
        cmocka_unit_test(a_launch_that_needs_the_budget_gets_it),
        cmocka_unit_test(who_does_not_fetch_ahead_beside_evictions_leaves_nothing_free),
        cmocka_unit_test(what_is_used_once_a_step_need_not_come),
        cmocka_unit_test(what_costs_more_in_place_comes),
        cmocka_unit_test(what_the_last_plan_used_in_place_stays_for_less),
        cmocka_unit_test(the_next_plan_stays_in_place),
        cmocka_unit_test(a_little_more_is_nothing),
        cmocka_unit_test(more_may_be_copied_once),
        cmocka_unit_test(what_was_copied_once_is_remembered),
        cmocka_unit_test(excess_is_of_a_period),
        cmocka_unit_test(copies_must_save_time),
        cmocka_unit_test(copies_that_save_next_to_nothing_are_not_worth_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
