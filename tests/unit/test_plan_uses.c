/* What comes next for each chunk: against looking at all launches behind. Breaks if a plan takes a chunk for
 * used, or dead, at another time than it is. */
#include "plan/plan_parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "plan_check.h"
#include "plan_scene.h"

/* The first access of the chunk from launch `t` on, as its number among all, and its launch; SL_NONE. */
static uint32_t next_access(const struct scene *s, sl_chunk chunk, size_t t, uint32_t *launch)
{
    for (; t < s->in.launch_count; t++)
        for (uint32_t k = 0; k < s->launches[t].access_count; k++) {
            if (s->accesses[s->launches[t].first_access + k].chunk != chunk) continue;
            *launch = (uint32_t)t;
            return s->launches[t].first_access + k; /* a scene has them in the order of the launches */
        }
    return *launch = SL_NONE;
}

/* The first death from launch `t` on, before launch `end` is run; SL_NONE. */
static uint32_t death_before(const struct scene *s, sl_chunk chunk, size_t t, uint32_t end)
{
    for (; t < s->in.launch_count && t < end; t++)
        for (uint32_t k = 0; k < s->launches[t].death_count; k++)
            if (s->deaths[s->launches[t].first_death + k] == chunk) return (uint32_t)t;
    return SL_NONE;
}

static void check_access(const struct scene *s, const struct sl_outlook *o, uint32_t access, uint32_t t)
{
    sl_chunk chunk = s->accesses[access].chunk;
    uint32_t next;
    next_access(s, chunk, t + 1, &next);
    assert_int_equal(o->next[access], next);
    assert_int_equal(o->death[access], death_before(s, chunk, t, next)); /* behind its own launch, too */
}

static void check_chunk(const struct scene *s, const struct sl_outlook *o, sl_chunk chunk)
{
    uint32_t first, last = SL_NONE;
    next_access(s, chunk, 0, &first);
    for (uint32_t t = 0, use; t < s->in.launch_count; t++)
        if (next_access(s, chunk, t, &use) != SL_NONE) last = use;
    assert_int_equal(o->first[chunk], first);
    assert_int_equal(o->last[chunk], last);
    assert_int_equal(o->first_death[chunk], death_before(s, chunk, 0, first));
}

static void the_outlook_is_what_comes(void **state)
{
    (void)state;
    uint64_t seed = 11;
    for (int i = 0; i < 500; i++) {
        struct scene s;
        struct sl_outlook outlook;
        scene_random(&s, &seed);
        assert_int_equal(sl_outlook_make(&s.in, s.launch_ns, &outlook), SL_OK);
        assert_int_equal(outlook.access_count, s.access_count);
        assert_ptr_equal(outlook.launch_ns, s.launch_ns);
        for (uint32_t t = 0; t < s.in.launch_count; t++)
            for (uint32_t k = 0; k < s.launches[t].access_count; k++)
                check_access(&s, &outlook, s.launches[t].first_access + k, t);
        for (sl_chunk c = 0; c < s.in.chunk_count; c++) check_chunk(&s, &outlook, c);
        sl_outlook_free(&outlook);
        sl_outlook_free(&outlook); /* zeroed by then */
    }
}

/* Launches of the input may lie anywhere among its accesses: they are numbered in the order of the launches.
 */
static void accesses_are_numbered_by_launch(void **state)
{
    (void)state;
    static const struct sl_plan_access accesses[] = {{1, 0}, {0, 0}, {1, 0}, {0, 0}};
    static const struct sl_plan_launch launches[] = {{.first_access = 2, .access_count = 2},
                                                     {.first_access = 0, .access_count = 2}};
    struct sl_plan_input in = {
        .launches = launches, .launch_count = 2, .accesses = accesses, .chunk_count = 2};
    struct sl_outlook outlook;
    assert_int_equal(sl_outlook_make(&in, NULL, &outlook), SL_OK);
    assert_true(outlook.next[0] == 1 && outlook.next[1] == 1);
    assert_true(outlook.next[2] == SL_NONE && outlook.next[3] == SL_NONE);
    sl_outlook_free(&outlook);
}

static void nothing_comes_of_nothing(void **state)
{
    (void)state;
    struct sl_plan_input in = {0};
    struct sl_outlook outlook;
    assert_int_equal(sl_outlook_make(&in, NULL, &outlook), SL_OK);
    assert_int_equal(outlook.access_count, 0);
    sl_outlook_free(&outlook);
}

int main(void)
{
    const struct CMUnitTest tests[] = {

        cmocka_unit_test(the_outlook_is_what_comes),
        cmocka_unit_test(accesses_are_numbered_by_launch),
        cmocka_unit_test(nothing_comes_of_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
