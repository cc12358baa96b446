/* When chunks leave and come: the times are worked out again from the actions alone. Breaks if something is
 * issued too early to be right, later than it could be, or if a plan promises times that its own actions do
 * not keep. */
#include "plan/plan_parts.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "plan_check.h"
#include "plan_scene.h"

/* A choice without prices, and what the schedule makes of it. Where things are held back nothing comes for
 * launches that exceed the budget, as in the search. */
struct made {
    struct sl_outlook outlook;
    struct sl_choice choice;
    struct sl_plan plan;
    struct sl_course course;
};

static void make(const struct scene *s, double part_of_lacking, struct made *m)
{
    *m = (struct made){0};
    assert_int_equal(sl_outlook_make(&s->in, s->launch_ns, &m->outlook), SL_OK);
    struct sl_choose_options policy = {.part_of_lacking = s->in.when == SL_PLAN_AHEAD ? part_of_lacking : 0};
    assert_int_equal(sl_plan_choose(&s->in, &m->outlook, &policy, &m->choice), SL_OK);
    sl_choice_hold_back(&m->choice, s->in.when);
    assert_int_equal(sl_plan_schedule(&s->in, s->launch_ns, &m->choice, &m->plan, &m->course), SL_OK);
}

static void discard(struct made *m)
{
    sl_plan_free(&m->plan);
    sl_choice_free(&m->choice);
    sl_outlook_free(&m->outlook);
}

static bool comes(const struct sl_plan_action *action)
{
    return action->kind == SL_ACTION_FETCH || action->kind == SL_ACTION_POPULATE;
}

/* Of all bytes of these kinds that are issued up to the launch. */
static uint64_t bytes_of(const struct scene *s, const struct sl_plan *plan, enum sl_action_kind kind,
                         size_t launch)
{
    uint64_t bytes = 0;
    for (size_t a = 0; a < plan->action_count; a++)
        if (plan->actions[a].kind == kind && plan->actions[a].after < s->in.first_tick + launch)
            bytes += s->bytes[plan->actions[a].chunk];
    return bytes;
}

/* --- the actions --- */

/* Each release and each request of the choice is an action, no earlier than its moment. */
static void check_complete(const struct scene *s, const struct made *m)
{
    uint32_t request = 0;
    size_t releases = 0;
    for (size_t a = 0; a < m->plan.action_count; a++) {
        const struct sl_plan_action *action = &m->plan.actions[a];
        size_t moment = action->after + 1 - s->in.first_tick;
        releases += !comes(action);
        if (!comes(action)) continue;
        const struct sl_request *r = &m->choice.requests[request++]; /* in the order of the launches */
        assert_true(action->chunk == r->chunk && action->deadline == s->in.first_tick + r->launch);
        assert_int_equal(action->kind, r->copy ? SL_ACTION_FETCH : SL_ACTION_POPULATE);
        assert_in_range(moment, r->moment, r->launch);
        /* What frees the frame is needed by then; that the chunk itself has left is another matter. */
        const struct sl_plan_action *frame =
            &m->plan.actions[action->frame_from == SL_NONE ? a : action->frame_from];
        if (frame->chunk != action->chunk) assert_true(frame->deadline <= action->deadline);
    }
    assert_int_equal(request, m->choice.request_count);
    if (!s->in.launch_count) return; /* nothing is carried out */
    assert_int_equal(releases, m->choice.eviction_count);
    for (uint32_t e = 0; e < m->choice.eviction_count; e++) {
        const struct sl_eviction *eviction = &m->choice.evictions[e];
        size_t found = 0;
        for (size_t a = 0; a < m->plan.action_count; a++) {
            const struct sl_plan_action *action = &m->plan.actions[a];
            size_t moment = action->after + 1 - s->in.first_tick;
            found += action->kind == eviction->kind && action->chunk == eviction->chunk &&
                     moment >= eviction->moment;
        }
        assert_true(found >= 1);
    }
}

static void every_choice_is_scheduled(void **state)
{
    (void)state;
    uint64_t seed = 51;
    for (int i = 0; i < 600; i++) {
        struct scene s;
        struct made m;
        scene_random(&s, &seed);
        make(&s, 1, &m);
        check_complete(&s, &m);
        check_actions(&s.in, &m.plan);
        check_execution(&s.in, &m.plan, seed);
        discard(&m);
    }
}

/* A chunk that leaves without a copy frees its frame at once: it is not issued behind copies. */
static void what_is_not_copied_goes_first(void **state)
{
    (void)state;
    struct scene s;
    struct made m;
    scene_begin(&s, 8, 4);
    for (sl_chunk c = 0; c < 4; c++) s.content[c] = SL_CONTENT_RESIDENT;
    scene_launch(&s, 1);
    for (sl_chunk c = 0; c < 4; c++) scene_use(&s, c);
    scene_die(&s, 3);
    scene_launch(&s, 1);
    for (sl_chunk c = 4; c < 8; c++) scene_use(&s, c);
    make(&s, 1, &m);
    assert_int_equal(m.plan.actions[0].kind, SL_ACTION_DISCARD);
    assert_int_equal(m.plan.actions[0].chunk, 3);
    discard(&m);
}

/* Where the budget has become less: in front of the first launch, however long the link takes for it. */
static void what_exceeds_the_budget_leaves_at_once(void **state)
{
    (void)state;
    struct scene s;
    struct made m;
    scene_begin(&s, 8, 20);
    for (sl_chunk c = 0; c < 8; c++) {
        s.content[c] = SL_CONTENT_RESIDENT;
        s.bytes[c] = 10;
    }
    scene_string(&s, "abab");
    make(&s, 1, &m);
    assert_int_equal(m.plan.action_count, 6);
    for (size_t a = 0; a < 6; a++) assert_int_equal(m.plan.actions[a].after, s.in.first_tick - 1);
    discard(&m);
}

/* --- the times --- */

#define NEAR(a, b) (fabs((a) - (b)) <= 1e-6 * (1 + fabs(a)))

static double copy_ns(const struct scene *s, const struct sl_plan_action *action)
{
    double bytes = (double)s->bytes[action->chunk];
    if (action->kind == SL_ACTION_FETCH) return bytes * 1e9 / (double)s->in.in_bytes_per_s;
    return action->kind == SL_ACTION_EVICT ? bytes * 1e9 / (double)s->in.out_bytes_per_s : 0;
}

/* Where an action stands among those of its direction. */
static uint32_t place_of(const struct sl_plan *plan, uint32_t action)
{
    uint32_t place = 0;
    for (uint32_t a = 0; a < action; a++) place += !comes(&plan->actions[a]);
    return place;
}

static double later(double a, double b)
{
    return a > b ? a : b;
}

/* Releases one after the other, each when its launch has ended; requests one after the other, each when its
 * frame is free; launches when their chunks are there. */
static void check_times(const struct scene *s, const struct made *m)
{
    double link_out = 0, link_in = 0, now = 0, ready[SCENE_LAUNCHES + 1] = {0};
    double *out_end = calloc(m->plan.action_count + 1, sizeof *out_end);
    assert_non_null(out_end);
    size_t a = 0;
    uint32_t place = 0, request = 0;
    for (uint32_t t = 0; t <= s->in.launch_count; t++) {
        for (; a < m->plan.action_count && m->plan.actions[a].after + 1 == s->in.first_tick + t; a++) {
            const struct sl_plan_action *action = &m->plan.actions[a];
            if (comes(action)) {
                uint32_t from = action->frame_from,
                         frame = from == SL_NONE ? SL_NONE : place_of(&m->plan, from);
                if (frame != SL_NONE) link_in = later(link_in, out_end[frame]);
                link_in += copy_ns(s, action);
                uint32_t launch = m->choice.requests[request++].launch;
                ready[launch] = later(ready[launch], link_in);
            } else {
                link_out = later(link_out, now) + copy_ns(s, action);
                out_end[place++] = link_out;
            }
        }
        size_t third = s->in.launch_count / 3;
        now = later(now, ready[t]) + (t < s->in.launch_count ? s->launch_ns[t] : 0);
        if (t + 1 == s->in.launch_count - third) assert_true(NEAR(m->course.most_ns, now));
    }
    assert_true(a == m->plan.action_count && fabs((double)m->plan.seconds_ns - now) <= 1);
    free(out_end);
}

static void check_sums(const struct scene *s, const struct made *m)
{
    size_t n = s->in.launch_count, third = n / 3;
    double busy = 0, end = (double)m->plan.seconds_ns;
    for (size_t t = 0; t < n; t++) busy += s->launch_ns[t];
    assert_true(fabs((double)m->plan.stall_ns - (end - busy)) <= 2);
    const size_t until[] = {third, n - third, n};
    const double said[] = {m->course.bytes.first, m->course.bytes.most, m->course.bytes.all};
    for (int i = 0; i < 3; i++) {
        uint64_t bytes = 0;
        if (until[i])
            bytes = bytes_of(s, &m->plan, SL_ACTION_FETCH, until[i] - 1) +
                    bytes_of(s, &m->plan, SL_ACTION_EVICT, until[i] - 1);
        assert_true(said[i] == (double)bytes);
    }
}

/* Of those that use nothing in place, and hold nothing back. */
static void times_follow_from_the_actions(void **state)
{
    (void)state;
    uint64_t seed = 52;
    int checked = 0;
    for (int i = 0; i < 600; i++) {
        struct scene s;
        struct made m;
        scene_random(&s, &seed);
        s.in.when = SL_PLAN_AHEAD;
        make(&s, 1, &m);
        if (!m.choice.remote_count) {
            check_times(&s, &m);
            check_sums(&s, &m);
            checked++;
        }
        discard(&m);
    }
    assert_true(checked > 200);
}

/* What a launch uses in place goes over the link meanwhile, behind what is under way: then it ends later. Two
 * chunks that are larger than the budget, of 30 ns each on the link. */
static void check_in_place(bool has_content, double copied_bytes)
{
    struct scene s;
    struct made m;
    scene_begin(&s, 3, 1);
    s.content[0] = SL_CONTENT_RESIDENT;
    s.content[1] = s.content[2] = has_content ? SL_CONTENT_HOST : SL_CONTENT_DEAD;
    s.bytes[1] = s.bytes[2] = 30;
    scene_string(&s, "a");
    scene_launch(&s, 1);
    for (sl_chunk c = 1; c < 3; c++) scene_use(&s, c);
    scene_string(&s, "a");
    make(&s, 0, &m);
    assert_int_equal(m.choice.remote_count, 1);
    double end = 1 + 60 * SL_IN_PLACE_COST;
    assert_in_range(m.plan.seconds_ns, (uint64_t)end, (uint64_t)end + 1);
    assert_true(m.course.bytes.all == copied_bytes);
    assert_in_range(m.plan.stall_ns, (uint64_t)end - 3, (uint64_t)end - 1);
    assert_int_equal(m.plan.oversize_launches, 1);
    discard(&m);
}

static void use_in_place_takes_the_link(void **state)
{
    (void)state;
    check_in_place(false, 60);
    check_in_place(true, 120);
}

static void nothing_to_do_takes_the_launches_time(void **state)
{
    (void)state;
    struct scene s;
    struct made m;
    scene_begin(&s, 2, 2);
    s.content[0] = s.content[1] = SL_CONTENT_RESIDENT;
    scene_string(&s, "abab");
    make(&s, 1, &m);
    assert_true(m.plan.action_count == 0 && m.plan.seconds_ns == 4 && m.plan.stall_ns == 0);
    assert_true(m.course.bytes.all == 0);
    discard(&m);
    scene_begin(&s, 2, 2); /* no launches at all */
    make(&s, 1, &m);
    assert_true(m.plan.action_count == 0 && m.plan.seconds_ns == 0 && m.course.most_ns == 0);
    discard(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_choice_is_scheduled),
        cmocka_unit_test(what_is_not_copied_goes_first),
        cmocka_unit_test(what_exceeds_the_budget_leaves_at_once),
        cmocka_unit_test(times_follow_from_the_actions),
        cmocka_unit_test(use_in_place_takes_the_link),
        cmocka_unit_test(nothing_to_do_takes_the_launches_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
