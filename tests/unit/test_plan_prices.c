/* What copies cost: a price of 1 is checked by making a copy longer, a credit by following the chunk. Breaks
 * if the search would shun copies that nobody waits for, or make those that all wait for. */
#include "plan/plan_prices.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "plan_check.h"
#include "plan_scene.h"

enum { MOMENTS = SCENE_LAUNCHES + 1, ACCESSES = SCENE_LAUNCHES * SCENE_ACCESSES };

/* A choice without prices and its schedule. */
struct made {
    struct sl_outlook outlook;
    struct sl_choice choice;
    struct sl_plan plan;
    struct sl_course course;
};

static void make(const struct scene *s, struct made *m)
{
    struct sl_policy policy = {0};
    *m = (struct made){0};
    assert_int_equal(sl_outlook_make(&s->in, s->launch_ns, &m->outlook), SL_OK);
    assert_int_equal(sl_plan_choose(&s->in, &m->outlook, &policy, &m->choice), SL_OK);
    assert_int_equal(
        sl_course_new(s->in.launch_count, m->outlook.access_count, s->in.chunk_count, &m->course), SL_OK);
    assert_int_equal(sl_plan_schedule(&s->in, s->launch_ns, &m->choice, &m->plan, &m->course), SL_OK);
}

static void discard(struct made *m)
{
    sl_course_free(&m->course);
    sl_plan_free(&m->plan);
    sl_choice_free(&m->choice);
    sl_outlook_free(&m->outlook);
}

static void learn(const struct scene *s, const struct made *m, double rate, double *in, double *out)
{
    struct sl_prices prices = {in, out};
    sl_prices_learn(&prices, &s->in, s->launch_ns, &m->choice, &m->course, rate);
}

/* --- prices --- */

/* Times that are far longer than what counts as none. */
static void make_long(struct scene *s, uint64_t *seed)
{
    do scene_random(s, seed);
    while (!s->in.launch_count);
    s->in.when = SL_PLAN_AHEAD;
    s->in.in_bytes_per_s = 1000 + random_below(seed, 3000);
    s->in.out_bytes_per_s = 1000 + random_below(seed, 3000);
    for (size_t t = 0; t < s->in.launch_count; t++) s->launch_ns[t] = 1e5 * (1 + random_below(seed, 100));
}

enum { OF_REQUEST, OF_RELEASE };
#define CHANGE_NS 100.0
#define SAME_NS 1.0 /* times that differ by less are one */

/* When the last launch ends if the copy of one request or release, by its number, takes so much longer. */
static double end_with(const struct scene *s, const struct made *m, int what, uint32_t number,
                       double longer_ns)
{
    double link_in = 0, link_out = 0, now = 0, in_end[ACCESSES], out_end[ACCESSES + SCENE_CHUNKS];
    uint32_t request = 0, release = 0, place[2 * ACCESSES];
    size_t a = 0;
    for (uint32_t t = 0; t < s->in.launch_count; t++) {
        for (; a < m->plan.action_count && m->plan.actions[a].after + 1 == s->in.first_tick + t; a++) {
            const struct sl_plan_action *action = &m->plan.actions[a];
            double bytes = (double)s->bytes[action->chunk];
            if (action->kind == SL_ACTION_FETCH || action->kind == SL_ACTION_POPULATE) {
                if (action->frame_from != SL_NONE && link_in < out_end[place[action->frame_from]])
                    link_in = out_end[place[action->frame_from]];
                if (action->kind == SL_ACTION_FETCH) link_in += bytes * 1e9 / (double)s->in.in_bytes_per_s;
                if (what == OF_REQUEST && number == request) link_in += longer_ns;
                in_end[request++] = link_in;
            } else {
                if (link_out < now) link_out = now;
                if (action->kind == SL_ACTION_EVICT) link_out += bytes * 1e9 / (double)s->in.out_bytes_per_s;
                if (what == OF_RELEASE && number == release) link_out += longer_ns;
                place[a] = release;
                out_end[release++] = link_out;
            }
        }
        for (uint32_t r = 0; r < request; r++)
            if (m->choice.requests[r].launch == t && now < in_end[r]) now = in_end[r];
        now += s->launch_ns[t];
    }
    return now;
}

/* By how much the program ends later, at most, if a copy for launch or moment `t` takes `longer_ns` longer;
 * or earlier, if that is negative. */
static double most_change(const struct scene *s, const struct made *m, int what, uint32_t t, double longer_ns)
{
    double end = m->course.start[s->in.launch_count], most = 0;
    uint32_t count = what == OF_REQUEST ? m->choice.request_count : m->choice.eviction_count;
    for (uint32_t i = 0; i < count; i++) {
        bool copied = what == OF_REQUEST ? m->choice.requests[i].copy
                                         : m->course.out_end[i] > m->course.out_begin[i] + CHANGE_NS;
        if ((what == OF_REQUEST ? m->choice.requests[i].launch : m->course.out_moment[i]) != t) continue;
        if (longer_ns < 0 && !copied) continue; /* it cannot take less than no time */
        double change = (end_with(s, m, what, i, longer_ns) - end) / longer_ns;
        if (change > most) most = change;
    }
    return most * CHANGE_NS;
}

/* What has a price makes the end later if it takes longer; what would make the end earlier if it took less
 * has one. */
static void check_prices(const struct scene *s, const struct made *m, const double *price, int what)
{
    for (uint32_t t = 0; t <= s->in.launch_count; t++) {
        assert_true(price[t] == 0 || price[t] == 1);
        if (price[t] > 0) assert_true(most_change(s, m, what, t, CHANGE_NS) >= CHANGE_NS - SAME_NS);
        if (price[t] == 0) assert_true(most_change(s, m, what, t, -CHANGE_NS) < CHANGE_NS - SAME_NS);
    }
}

static void the_end_waits_for_what_has_a_price(void **state)
{
    (void)state;
    uint64_t seed = 61;
    double most_in = 0, most_out = 0;
    for (int i = 0; i < 600; i++) {
        struct scene s;
        struct made m;
        double in[MOMENTS], out[MOMENTS], sum = 0;
        make_long(&s, &seed);
        make(&s, &m);
        for (int t = 0; t < MOMENTS; t++) in[t] = out[t] = 0.5; /* forgotten at this rate */
        learn(&s, &m, 1, in, out);
        if (!m.choice.remote_count) { /* what is used in place takes the link as well */
            check_prices(&s, &m, in, OF_REQUEST);
            check_prices(&s, &m, out, OF_RELEASE);
            for (uint32_t t = 0; t <= s.in.launch_count; t++) {
                sum += in[t];
                most_out += out[t];
            }
            most_in += sum;
            assert_int_equal(sum > 0, m.plan.stall_ns > 1);
        }
        discard(&m);
    }
    assert_true(most_in > 100 && most_out > 100);
}

/* Part of the way. */
static void prices_move_at_their_rate(void **state)
{
    (void)state;
    uint64_t seed = 62;
    static const double rates[] = {0, 0.25, 1};
    for (int i = 0; i < 50; i++) {
        struct scene s;
        struct made m;
        double goal_in[MOMENTS] = {0}, goal_out[MOMENTS] = {0};
        make_long(&s, &seed);
        make(&s, &m);
        learn(&s, &m, 1, goal_in, goal_out);
        for (int r = 0; r < 3; r++) {
            double in[MOMENTS], out[MOMENTS];
            for (int t = 0; t < MOMENTS; t++) {
                in[t] = 0.1 * t;
                out[t] = 0.2 * t;
            }
            learn(&s, &m, rates[r], in, out);
            for (uint32_t t = 0; t <= s.in.launch_count; t++) {
                assert_true(fabs(in[t] - (0.1 * t * (1 - rates[r]) + goal_in[t] * rates[r])) < 1e-9);
                assert_true(fabs(out[t] - (0.2 * t * (1 - rates[r]) + goal_out[t] * rates[r])) < 1e-9);
            }
        }
        discard(&m);
    }
}

/* --- credits --- */

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_end_waits_for_what_has_a_price),
        cmocka_unit_test(prices_move_at_their_rate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
