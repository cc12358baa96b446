/* What happens to each chunk in a period: against looking at all of it. Breaks if a linear program would be
 * made of what does not repeat, or put chunks together that are used differently. */
#include "plan/plan_uses.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "plan_check.h"
#include "plan_scene.h"

#define MANY 1000000

/* A period of few launches over few chunks, so that some are used alike; it comes twice or more. */
static size_t make_periodic(struct scene *s, uint64_t *seed)
{
    size_t chunks = 1 + random_below(seed, SCENE_CHUNKS), period = 1 + random_below(seed, 5);
    scene_begin(s, chunks, 10);
    for (size_t c = 0; c < chunks; c++) s->bytes[c] = 1 + random_below(seed, 2);
    for (size_t t = 0; t < period; t++) {
        scene_launch(s, 1);
        for (sl_chunk c = 0; c < chunks && s->launches[t].access_count < SCENE_ACCESSES; c++)
            if (random_below(seed, 4) == 0) scene_use(s, c);
        if (random_below(seed, 3) == 0) scene_die(s, random_below(seed, (uint32_t)chunks));
    }
    scene_repeat(s, 2 + random_below(seed, 2));
    return period;
}

/* The chunk's uses and deaths, found launch by launch. */
static uint32_t find_events(const struct scene *s, size_t period, sl_chunk chunk,
                            struct sl_chunk_event *events)
{
    uint32_t count = 0;
    for (uint32_t t = 0; t < period; t++) {
        const struct sl_plan_launch *launch = &s->launches[t];
        for (uint32_t a = launch->first_access; a < launch->first_access + launch->access_count; a++) {
            if (s->accesses[a].chunk != chunk) continue;
            events[count++] = (struct sl_chunk_event){t, a, SL_EVENT_USE};
        }
        for (uint32_t k = 0; k < launch->death_count; k++)
            if (s->deaths[launch->first_death + k] == chunk)
                events[count++] = (struct sl_chunk_event){t, SL_NONE, SL_EVENT_DEATH};
    }
    return count;
}

static void check_events(const struct scene *s, const struct sl_uses *uses)
{
    for (sl_chunk c = 0; c < uses->chunk_count; c++) {
        struct sl_chunk_event expected[64];
        uint32_t count = find_events(s, uses->period, c, expected);
        assert_int_equal(uses->first_event[c + 1] - uses->first_event[c], count);
        for (uint32_t e = 0; e < count; e++) {
            const struct sl_chunk_event *event = &uses->events[uses->first_event[c] + e];
            assert_true(event->launch == expected[e].launch && event->kind == expected[e].kind &&
                        event->access == expected[e].access);
        }
    }
}

static bool are_alike(const struct scene *s, size_t period, sl_chunk a, sl_chunk b)
{
    struct sl_chunk_event of_a[64], of_b[64];
    uint32_t count = find_events(s, period, a, of_a);
    bool alike = s->bytes[a] == s->bytes[b] && find_events(s, period, b, of_b) == count;
    for (uint32_t e = 0; e < count && alike; e++)
        alike = of_a[e].launch == of_b[e].launch && of_a[e].kind == of_b[e].kind;
    return alike;
}

/* Each chunk once, with those that are used alike around it. */
static void check_order(const struct scene *s, const struct sl_uses *uses)
{
    uint32_t place[SCENE_CHUNKS] = {0}, seen = 0;
    for (uint32_t i = 0; i < uses->chunk_count; i++) {
        place[uses->order[i]] = i;
        seen |= 1u << uses->order[i];
    }
    assert_int_equal(seen, (1u << uses->chunk_count) - 1);
    for (sl_chunk a = 0; a < uses->chunk_count; a++) {
        uint32_t alike = 0, first = place[a] - uses->rank_of[a];
        for (sl_chunk b = 0; b < uses->chunk_count; b++) {
            bool are = are_alike(s, uses->period, a, b);
            alike += are;
            assert_int_equal(place[b] >= first && place[b] < first + uses->alike_count[a], are);
        }
        assert_int_equal(uses->alike_count[a], alike);
    }
}

static void assert_none(const struct scene *s, size_t period, size_t most)
{
    struct sl_uses uses;
    assert_int_equal(sl_uses_make(&s->in, period, most, &uses), SL_ERR_UNSUPPORTED);
}

static void the_uses_are_those_of_a_period(void **state)
{
    (void)state;
    uint64_t seed = 3;
    for (int i = 0; i < 500; i++) {
        struct scene s;
        struct sl_uses uses;
        size_t period = make_periodic(&s, &seed);
        if (s.launches[period].first_access == 0) { /* the scene has no accesses */
            assert_none(&s, period, MANY);
            continue;
        }
        assert_int_equal(sl_uses_make(&s.in, period, MANY, &uses), SL_OK);
        assert_true(uses.period == period && uses.chunk_count == s.in.chunk_count);
        assert_int_equal(uses.access_count, s.launches[period].first_access);
        check_events(&s, &uses);
        check_order(&s, &uses);
        assert_true(sl_uses_fit(&uses, &s.in));
        sl_uses_free(&uses);
        sl_uses_free(&uses); /* zeroed by then */
    }
}

/* Three launches of two chunks each, which come twice. */
static void make_three(struct scene *s)
{
    scene_begin(s, 4, 10);
    for (sl_chunk c = 0; c < 3; c++) {
        scene_launch(s, 1);
        scene_use(s, c);
        scene_use(s, c + 1);
    }
    scene_die(s, 2);
    scene_repeat(s, 2);
}

enum { PERIOD = 3, USES = 6 };

static void what_does_not_repeat_has_none(void **state)
{
    (void)state;
    struct scene s;
    struct sl_uses uses;
    make_three(&s);
    assert_none(&s, 0, MANY);
    assert_none(&s, PERIOD - 1, MANY);
    assert_none(&s, 2 * PERIOD, MANY); /* not known to come again */
    assert_none(&s, PERIOD, USES - 1);
    assert_int_equal(sl_uses_make(&s.in, PERIOD, USES, &uses), SL_OK);
    sl_uses_free(&uses);
    s.in.launch_count--; /* of the second time one is missing */
    assert_none(&s, PERIOD, MANY);
    make_three(&s);
    s.accesses[USES + 3].chunk = 0; /* the second time another chunk is used */
    assert_none(&s, PERIOD, MANY);
    make_three(&s);
    s.deaths[1] = 1; /* or dies */
    assert_none(&s, PERIOD, MANY);
    make_three(&s);
    s.launches[2 * PERIOD - 1].death_count = 0;
    assert_none(&s, PERIOD, MANY);
    scene_begin(&s, 4, 10);
    for (int t = 0; t < 2; t++) scene_launch(&s, 1); /* repeats, but uses nothing */
    assert_none(&s, 1, MANY);
}

/* What was made for one input serves others that begin in the same way, whatever follows. */
static void they_fit_what_begins_alike(void **state)
{
    (void)state;
    struct scene s;
    struct sl_uses uses;
    make_three(&s);
    assert_int_equal(sl_uses_make(&s.in, PERIOD, MANY, &uses), SL_OK);
    s.in.first_tick += 100;
    s.content[0] = SL_CONTENT_RESIDENT;
    s.accesses[USES].chunk = 3;
    assert_true(sl_uses_fit(&uses, &s.in));
    s.in.launch_count = PERIOD;
    assert_true(sl_uses_fit(&uses, &s.in));
    s.in.launch_count = PERIOD - 1;
    assert_false(sl_uses_fit(&uses, &s.in));
    s.in.launch_count = PERIOD;
    s.in.budget_bytes++;
    assert_false(sl_uses_fit(&uses, &s.in));
    s.in.budget_bytes--;
    s.in.chunk_count++;
    assert_false(sl_uses_fit(&uses, &s.in));
    s.in.chunk_count--;
    s.accesses[1].chunk = 3;
    assert_false(sl_uses_fit(&uses, &s.in));
    make_three(&s);
    s.deaths[0] = 1;
    assert_false(sl_uses_fit(&uses, &s.in));
    sl_uses_free(&uses);
}

/* --- What comes next for each chunk: against looking at all launches behind. Breaks if a plan takes a chunk
 * for used, or dead, at another time than it is. */

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
        cmocka_unit_test(the_uses_are_those_of_a_period),  cmocka_unit_test(what_does_not_repeat_has_none),
        cmocka_unit_test(they_fit_what_begins_alike),      cmocka_unit_test(the_outlook_is_what_comes),
        cmocka_unit_test(accesses_are_numbered_by_launch), cmocka_unit_test(nothing_comes_of_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
