/* Where a plan has the chunks be: against what each chunk's own last action, use and death say. Breaks if a
 * plan that takes over in the middle would fetch what is resident, or take for resident what is not. */
#include "plan/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plan_check.h"
#include "plan_scene.h"

static bool comes(const struct sl_plan_action *action)
{
    return action->kind == SL_ACTION_FETCH || action->kind == SL_ACTION_POPULATE;
}

/* By its last action of those that may be issued before launch `launch` - 1 was submitted. */
static bool is_resident(const struct scene *s, const struct sl_plan *plan, size_t launch, sl_chunk chunk)
{
    bool resident = s->content[chunk] >= SL_CONTENT_RESIDENT;
    for (size_t a = 0; a < plan->action_count; a++)
        if (plan->actions[a].chunk == chunk && plan->actions[a].after + 1 < s->in.first_tick + launch)
            resident = comes(&plan->actions[a]);
    return resident;
}

/* By the last use or death in the launches before; in one launch the death comes last. */
static bool is_alive(const struct scene *s, size_t launch, sl_chunk chunk)
{
    bool alive = s->content[chunk] == SL_CONTENT_HOST || s->content[chunk] == SL_CONTENT_RESIDENT;
    for (size_t t = 0; t < launch; t++) {
        for (uint32_t k = 0; k < s->launches[t].access_count; k++)
            alive |= s->accesses[s->launches[t].first_access + k].chunk == chunk;
        for (uint32_t k = 0; k < s->launches[t].death_count; k++)
            alive &= s->deaths[s->launches[t].first_death + k] != chunk;
    }
    return alive;
}

static void chunks_are_where_their_last_action_left_them(void **state)
{
    (void)state;
    uint64_t seed = 21;
    for (int i = 0; i < 400; i++) {
        struct scene s;
        struct sl_plan plan;
        enum sl_chunk_content content[SCENE_CHUNKS];
        scene_random(&s, &seed);
        assert_int_equal(sl_plan_make(&s.in, NULL, &plan), SL_OK);
        for (size_t launch = 0; launch <= s.in.launch_count; launch++) {
            sl_plan_content(&s.in, &plan, launch, content);
            for (sl_chunk c = 0; c < s.in.chunk_count; c++) {
                assert_int_equal(content[c] >= SL_CONTENT_RESIDENT, is_resident(&s, &plan, launch, c));
                bool alive = content[c] == SL_CONTENT_HOST || content[c] == SL_CONTENT_RESIDENT;
                assert_int_equal(alive, is_alive(&s, launch, c));
            }
        }
        sl_plan_free(&plan);
    }
}

/* One chunk, an action for it at once, and launches that do or do not use it; a capital dies. */
static enum sl_chunk_content after(enum sl_chunk_content before, enum sl_action_kind kind,
                                   const char *launches)
{
    struct scene s;
    enum sl_chunk_content content[2];
    struct sl_plan_action action = {.kind = kind};
    struct sl_plan plan = {.actions = &action, .action_count = 1};
    scene_begin(&s, 2, 2);
    s.content[0] = before;
    scene_string(&s, launches);
    sl_plan_content(&s.in, &plan, s.in.launch_count, content);
    return content[0];
}

static void each_action_leaves_its_content(void **state)
{
    (void)state;
    assert_int_equal(after(SL_CONTENT_HOST, SL_ACTION_FETCH, "b"), SL_CONTENT_RESIDENT);
    assert_int_equal(after(SL_CONTENT_RESIDENT, SL_ACTION_EVICT, "b"), SL_CONTENT_HOST);
    assert_int_equal(after(SL_CONTENT_RESIDENT_DEAD, SL_ACTION_DISCARD, "b"), SL_CONTENT_DEAD);
    assert_int_equal(after(SL_CONTENT_DEAD, SL_ACTION_POPULATE, "b"), SL_CONTENT_RESIDENT_DEAD);
    assert_int_equal(after(SL_CONTENT_DEAD, SL_ACTION_POPULATE, "a"), SL_CONTENT_RESIDENT);
    assert_int_equal(after(SL_CONTENT_DEAD, SL_ACTION_POPULATE, "A"), SL_CONTENT_RESIDENT_DEAD);
    /* What has content keeps it, though the plan believed it to be new. */
    assert_int_equal(after(SL_CONTENT_RESIDENT, SL_ACTION_POPULATE, "b"), SL_CONTENT_RESIDENT);
    /* What is not there is used, and dies, in host memory. */
    assert_int_equal(after(SL_CONTENT_RESIDENT_DEAD, SL_ACTION_DISCARD, "a"), SL_CONTENT_HOST);
    assert_int_equal(after(SL_CONTENT_RESIDENT, SL_ACTION_EVICT, "A"), SL_CONTENT_DEAD);
}

/* --- A plan that ends earlier: breaks if something is left out that an earlier launch needs, if something is
 * done for a later one, or if what is left waits for the wrong evictions. */

static bool same(const struct sl_plan_action *a, const struct sl_plan_action *b)
{
    return a->kind == b->kind && a->chunk == b->chunk && a->after == b->after && a->deadline == b->deadline;
}

static struct sl_plan copy_of(const struct sl_plan *plan)
{
    struct sl_plan copy = *plan;
    copy.actions = malloc((plan->action_count + 1) * sizeof *copy.actions);
    assert_non_null(copy.actions);
    memcpy(copy.actions, plan->actions, plan->action_count * sizeof *copy.actions);
    return copy;
}

/* All that comes for earlier launches, nothing for later ones, in the order in which it was; each behind the
 * same eviction as before. */
static void check_left(const struct sl_plan *whole, const struct sl_plan *cut, sl_tick end)
{
    size_t at = 0;
    for (size_t a = 0; a < whole->action_count; a++) {
        const struct sl_plan_action *action = &whole->actions[a];
        bool left = at < cut->action_count && same(action, &cut->actions[at]);
        if (comes(action)) assert_int_equal(left, action->deadline < end);
        if (!comes(action) && action->deadline < end) assert_true(left);
        if (left && comes(action)) {
            uint32_t from = cut->actions[at].frame_from;
            assert_int_equal(from == SL_NONE, action->frame_from == SL_NONE);
            if (from != SL_NONE)
                assert_true(from < at && same(&cut->actions[from], &whole->actions[action->frame_from]));
        }
        at += left;
    }
    assert_int_equal(at, cut->action_count);
}

/* Evictions for later launches are left only in front of one that is waited for: indices say by which. */
static void check_needed(const struct sl_plan *cut, sl_tick end)
{
    size_t waited_for = 0;
    for (size_t a = 0; a < cut->action_count; a++)
        if (comes(&cut->actions[a]) && cut->actions[a].frame_from != SL_NONE &&
            cut->actions[a].frame_from >= waited_for)
            waited_for = cut->actions[a].frame_from + 1;
    for (size_t a = waited_for; a < cut->action_count; a++)
        if (!comes(&cut->actions[a])) assert_true(cut->actions[a].deadline < end);
}

static void what_is_left_serves_the_launches_before(void **state)
{
    (void)state;
    uint64_t seed = 31;
    for (int i = 0; i < 600; i++) {
        struct scene s;
        struct sl_plan whole;
        scene_random(&s, &seed);
        assert_int_equal(sl_plan_make(&s.in, NULL, &whole), SL_OK);
        struct sl_plan cut = copy_of(&whole);
        size_t launches = random_below(&seed, (uint32_t)s.in.launch_count + 2);
        sl_tick end = s.in.first_tick + launches;
        sl_plan_cut(&cut, end);
        check_left(&whole, &cut, end);
        check_needed(&cut, end);
        assert_true(cut.bytes_in == whole.bytes_in && cut.seconds_ns == whole.seconds_ns);
        /* The earlier launches alone, in any order that a device may choose. */
        if (launches < s.in.launch_count) s.in.launch_count = launches;
        check_execution(&s.in, &cut, seed);
        sl_plan_free(&cut);
        sl_plan_free(&whole);
    }
}

/* Who waits for an eviction waits for all in front of it: they stay, though later launches need their frames.
 */
static void what_stands_in_front_of_an_eviction_stays(void **state)
{
    (void)state;
    struct sl_plan_action actions[] = {
        {SL_ACTION_EVICT, 0, 0, 9, SL_NONE}, {SL_ACTION_EVICT, 1, 0, 9, SL_NONE},
        {SL_ACTION_FETCH, 2, 0, 2, 1},       {SL_ACTION_EVICT, 3, 0, 9, SL_NONE},
        {SL_ACTION_EVICT, 4, 1, 3, SL_NONE}, {SL_ACTION_FETCH, 5, 1, 9, 4},
    };
    static const sl_chunk left[] = {0, 1, 2, 4};
    struct sl_plan plan = {.actions = actions, .action_count = 6};
    sl_plan_cut(&plan, 5);
    assert_int_equal(plan.action_count, 4);
    for (int a = 0; a < 4; a++) assert_int_equal(actions[a].chunk, left[a]);
    assert_int_equal(actions[2].frame_from, 1);
}

static void a_plan_of_no_launches_does_nothing(void **state)
{
    (void)state;
    struct scene s;
    struct sl_plan plan;
    scene_begin(&s, 3, 2);
    s.content[0] = s.content[1] = SL_CONTENT_RESIDENT;
    s.content[2] = SL_CONTENT_HOST;
    scene_string(&s, "abcba");
    assert_int_equal(sl_plan_make(&s.in, NULL, &plan), SL_OK);
    size_t count = plan.action_count;
    sl_plan_cut(&plan, s.in.first_tick + s.in.launch_count); /* nor does one that ends where it did */
    assert_int_equal(plan.action_count, count);
    sl_plan_cut(&plan, s.in.first_tick);
    assert_int_equal(plan.action_count, 0);
    sl_plan_cut(&plan, s.in.first_tick);
    sl_plan_free(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_are_where_their_last_action_left_them),
        cmocka_unit_test(each_action_leaves_its_content),
        cmocka_unit_test(what_is_left_serves_the_launches_before),
        cmocka_unit_test(what_stands_in_front_of_an_eviction_stays),
        cmocka_unit_test(a_plan_of_no_launches_does_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
