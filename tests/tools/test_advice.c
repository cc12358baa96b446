/* Which advice comes first, where a curve of budgets bends, and what the link needs at least. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tools/advise/advice.h"
#include "tools/advise/command_words.h"
#include "tools/replay/floor.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static void the_knee_is_the_least_budget_that_is_as_good(void **state)
{
    (void)state;
    const struct advice_point points[] = {{60, 900}, {70, 600}, {80, 505}, {90, 500}, {100, 499}};
    assert_int_equal(advice_knee(points, COUNT(points), 1000), 2);
    /* 505 is more than 2 % above the shortest. */
    const struct advice_point steeper[] = {{60, 900}, {80, 512}, {90, 500}};
    assert_int_equal(advice_knee(steeper, COUNT(steeper), 1000), 2);
}

static void a_flat_curve_has_no_knee(void **state)
{
    (void)state;
    const struct advice_point points[] = {{60, 1000}, {70, 985}, {80, 980}};
    assert_int_equal(advice_knee(points, COUNT(points), 1000), SIZE_MAX);
    /* The least budget that is almost as good does not pay by itself. */
    const struct advice_point almost[] = {{60, 980}, {70, 965}};
    assert_int_equal(advice_knee(almost, COUNT(almost), 1000), SIZE_MAX);
    assert_int_equal(advice_knee(points, 0, 1000), SIZE_MAX);
}

static void failed_replays_are_no_budgets(void **state)
{
    (void)state;
    const struct advice_point points[] = {{50, 0}, {60, 700}, {70, 690}};
    assert_int_equal(advice_least_budget(points, COUNT(points), 800), 1);
    assert_int_equal(advice_knee(points, COUNT(points), 1000), 1);
    assert_int_equal(advice_least_budget(points, COUNT(points), 600), SIZE_MAX);
}

static struct advice *add(struct advice_list *list, const char *kind, enum advice_basis basis,
                          uint64_t before_ns, uint64_t after_ns)
{
    struct advice *advice = advice_add(list, kind, basis);
    advice->before_ns = before_ns;
    advice->after_ns = after_ns;
    return advice;
}

static void advice_is_ranked_by_what_it_brings(void **state)
{
    (void)state;
    static struct advice_list list;
    struct advice *memory = add(&list, "memory", ADVICE_SIMULATED, 100, 101);
    memory->saves_memory = true;
    memory->before_bytes = 100;
    memory->after_bytes = 5;
    add(&list, "training", ADVICE_BOUND, 100, 1)->changes_training = true;
    add(&list, "bound", ADVICE_BOUND, 100, 2);
    add(&list, "little", ADVICE_SIMULATED, 100, 90);
    add(&list, "much", ADVICE_SIMULATED, 100, 60);
    add(&list, "same", ADVICE_SIMULATED, 200, 120);
    add(&list, "fact", ADVICE_FACT, 0, 0);
    advice_rank(&list);
    const char *const order[] = {"fact", "much", "same", "little", "bound", "memory", "training"};
    assert_int_equal(list.count, COUNT(order));
    for (size_t i = 0; i < COUNT(order); i++) assert_string_equal(list.at[i].kind, order[i]);
}

static void the_list_is_bounded(void **state)
{
    (void)state;
    static struct advice_list list;
    for (int i = 0; i < 2 * ADVICE_MAX; i++) add(&list, "x", ADVICE_BOUND, 10, 5);
    assert_int_equal(list.count, ADVICE_MAX);
}

static void little_gain_is_no_advice(void **state)
{
    (void)state;
    assert_true(advice_pays(1000, 970));
    assert_false(advice_pays(1000, 971));
    assert_false(advice_pays(1000, 2000));
    assert_false(advice_pays(0, 0));
}

static void the_link_takes_its_time(void **state)
{
    (void)state;
    const uint64_t gb = 1000000000;
    assert_int_equal(advice_link_ns(gb, gb, gb, 100), gb);    /* both directions at full speed */
    assert_int_equal(advice_link_ns(gb, gb, gb, 50), 2 * gb); /* one after the other */
    assert_int_equal(advice_link_ns(gb, gb, gb, 80), 1250000000);
    assert_int_equal(advice_link_ns(gb, gb, gb / 4, 100), 4 * gb); /* the slower direction */
    assert_int_equal(advice_link_ns(0, gb, gb, 92), 0);
}

/* --- the least traffic */

enum { CHUNKS = 4 };
static const uint32_t one_block[CHUNKS] = {1, 1, 1, 1};
static const bool all_alive[CHUNKS] = {true, true, true, true}, none_alive[CHUNKS];

/* Launches that use one chunk each, and nothing dies. */
static uint64_t least(const uint32_t *used, size_t count, uint64_t budget)
{
    size_t first_use[16], first_death[16] = {0};
    uint64_t blocks = UINT64_MAX;
    for (size_t l = 0; l <= count; l++) first_use[l] = l;
    const struct floor_sequence sequence = {count, first_use, used,      first_death,
                                            NULL,  CHUNKS,    one_block, all_alive};
    assert_true(floor_blocks(&sequence, budget, &blocks));
    return blocks;
}

static void what_fits_is_not_fetched(void **state)
{
    (void)state;
    const uint32_t used[] = {0, 1, 2, 3};
    assert_int_equal(least(used, 4, 4), 0);
}

/* In a cycle of four with room for three, each launch but the kept ones misses. Belady: 4 - 2 kept = 2 of 4
 * miss at most; the mean over many cycles is 4 / 3. */
static void a_cycle_is_fetched_in_part(void **state)
{
    (void)state;
    const uint32_t used[] = {0, 1, 2, 3};
    assert_int_equal(least(used, 4, 3), 1);
    assert_int_equal(least(used, 4, 1), 3);
}

static void back_and_forth_needs_less_than_a_cycle(void **state)
{
    (void)state;
    const uint32_t sweep[] = {0, 1, 2, 3, 3, 2, 1, 0}, cycle[] = {0, 1, 2, 3, 0, 1, 2, 3};
    assert_true(least(sweep, 8, 2) < least(cycle, 8, 2));
    assert_int_equal(least(sweep, 8, 2), 4);
}

static void the_dead_are_not_fetched(void **state)
{
    (void)state;
    const size_t first_use[] = {0, 1, 2, 3, 4}, first_death[] = {0, 1, 2, 3, 4};
    const uint32_t used[] = {0, 1, 2, 3}, dead[] = {0, 1, 2, 3};
    uint64_t blocks;
    const struct floor_sequence sequence = {4,    first_use, used,      first_death,
                                            dead, CHUNKS,    one_block, none_alive};
    assert_true(floor_blocks(&sequence, 1, &blocks));
    assert_int_equal(blocks, 0);
}

static void what_exceeds_the_budget_is_used_in_place(void **state)
{
    (void)state;
    const size_t first_use[] = {0, 4}, first_death[] = {0, 0};
    const uint32_t used[] = {0, 1, 2, 3};
    uint64_t blocks;
    const struct floor_sequence sequence = {1,    first_use, used,      first_death,
                                            NULL, CHUNKS,    one_block, all_alive};
    assert_true(floor_blocks(&sequence, 2, &blocks));
    assert_int_equal(blocks, 0);
}

static void large_chunks_leave_in_part(void **state)
{
    (void)state;
    const size_t first_use[] = {0, 1, 2}, first_death[] = {0, 0, 0};
    const uint32_t used[] = {0, 1}, blocks_of[CHUNKS] = {4, 4, 0, 0};
    uint64_t blocks;
    const struct floor_sequence sequence = {2,    first_use, used,      first_death,
                                            NULL, CHUNKS,    blocks_of, all_alive};
    assert_true(floor_blocks(&sequence, 6, &blocks));
    assert_true(blocks >= 3 && blocks <= 4); /* two blocks are away before each of the launches */
}

/* --- the least traffic against all possible choices, for small sequences */

enum { LAUNCHES = 6, PERIODS = 8, MASKS = 1 << CHUNKS };

struct small {
    size_t first_use[LAUNCHES + 1], first_death[LAUNCHES + 1];
    uint32_t used[LAUNCHES * CHUNKS], dead[LAUNCHES * CHUNKS];
};

static unsigned drawn(unsigned *seed, unsigned below)
{
    *seed = *seed * 1103515245 + 12345;
    return (*seed >> 16) % below;
}

/* Launches of one or two chunks; after some, a chunk dies. */
static struct small draw(unsigned *seed)
{
    struct small out = {0};
    size_t uses = 0, deaths = 0;
    for (size_t l = 0; l < LAUNCHES; l++) {
        uint32_t chunk = drawn(seed, CHUNKS), other = drawn(seed, CHUNKS);
        out.used[uses++] = chunk;
        if (other != chunk && drawn(seed, 2)) out.used[uses++] = other;
        if (!drawn(seed, 4)) out.dead[deaths++] = drawn(seed, CHUNKS);
        out.first_use[l + 1] = uses;
        out.first_death[l + 1] = deaths;
    }
    return out;
}

static unsigned mask_of(const uint32_t *chunks, size_t begin, size_t end)
{
    unsigned mask = 0;
    for (size_t i = begin; i < end; i++) mask |= 1u << chunks[i];
    return mask;
}

/* least[m]: fetches so far if the chunks m are on the device. */
static void all_choices(const struct small *small, unsigned budget, size_t l, unsigned live,
                        unsigned least[MASKS])
{
    unsigned next[MASKS], used = mask_of(small->used, small->first_use[l], small->first_use[l + 1]);
    for (unsigned m = 0; m < MASKS; m++) next[m] = UINT32_MAX;
    for (unsigned from = 0; from < MASKS; from++)
        for (unsigned to = 0; to < MASKS && least[from] != UINT32_MAX; to++) {
            if ((to & used) != used || (to & ~(from | used)) || (unsigned)__builtin_popcount(to) > budget)
                continue;
            unsigned cost = least[from] + (unsigned)__builtin_popcount(used & live & ~from);
            if (cost < next[to]) next[to] = cost;
        }
    for (unsigned m = 0; m < MASKS; m++) least[m] = next[m];
}

static unsigned least_of_all(const struct small *small, unsigned budget)
{
    unsigned least[MASKS], live = MASKS - 1, best = UINT32_MAX;
    for (unsigned m = 0; m < MASKS; m++)
        least[m] = (unsigned)__builtin_popcount(m) <= budget ? 0 : UINT32_MAX;
    for (int p = 0; p < PERIODS; p++)
        for (size_t l = 0; l < LAUNCHES; l++) {
            all_choices(small, budget, l, live, least);
            live |= mask_of(small->used, small->first_use[l], small->first_use[l + 1]);
            live &= ~mask_of(small->dead, small->first_death[l], small->first_death[l + 1]);
        }
    for (unsigned m = 0; m < MASKS; m++)
        if (least[m] < best) best = least[m];
    return best / PERIODS;
}

static void no_choice_fetches_less(void **state)
{
    (void)state;
    unsigned seed = 1;
    for (int turn = 0; turn < 500; turn++) {
        struct small small = draw(&seed);
        unsigned budget = 2 + drawn(&seed, 2);
        uint64_t blocks;
        const struct floor_sequence sequence = {LAUNCHES,   small.first_use, small.used, small.first_death,
                                                small.dead, CHUNKS,          one_block,  all_alive};
        assert_true(floor_blocks(&sequence, budget, &blocks));
        assert_int_equal(blocks, least_of_all(&small, budget));
    }
}

/* --- the words of another command */

static void words_that_differ_are_shown_with_their_options(void **state)
{
    (void)state;
    char words[64];
    other_words("gpt --batch 4 --steps 9", "gpt --batch 8 --steps 9 --evaluate", words, sizeof(words));
    assert_string_equal(words, "--batch 8 --evaluate");
    other_words("gpt --steps 9", "gpt --steps 9", words, sizeof(words));
    assert_string_equal(words, "");
    other_words("a", "a --new 5", words, sizeof(words));
    assert_string_equal(words, "--new 5");
    char few[10];
    other_words("a", "a --optimizer adamw-fused", few, sizeof(few));
    assert_string_equal(few, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_knee_is_the_least_budget_that_is_as_good),
        cmocka_unit_test(a_flat_curve_has_no_knee),
        cmocka_unit_test(failed_replays_are_no_budgets),
        cmocka_unit_test(advice_is_ranked_by_what_it_brings),
        cmocka_unit_test(the_list_is_bounded),
        cmocka_unit_test(little_gain_is_no_advice),
        cmocka_unit_test(the_link_takes_its_time),
        cmocka_unit_test(what_fits_is_not_fetched),
        cmocka_unit_test(a_cycle_is_fetched_in_part),
        cmocka_unit_test(back_and_forth_needs_less_than_a_cycle),
        cmocka_unit_test(the_dead_are_not_fetched),
        cmocka_unit_test(what_exceeds_the_budget_is_used_in_place),
        cmocka_unit_test(large_chunks_leave_in_part),
        cmocka_unit_test(no_choice_fetches_less),
        cmocka_unit_test(words_that_differ_are_shown_with_their_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
