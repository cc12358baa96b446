/* Where a plan has the chunks be: against what each chunk's own last action, use and death say. Breaks if a
 * plan that takes over in the middle would fetch what is resident, or take for resident what is not. */
#include "plan/plan_content.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_are_where_their_last_action_left_them),
        cmocka_unit_test(each_action_leaves_its_content),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
