/* Where a period's allocations are to lie: never two at one place at one time, neither when they come to lie
 * there nor later, and together with what is used when they are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "memory/layout.h"

#define CHUNK ((uint64_t)2 << 20)
#define PERIOD 100u
#define MOST 300

static struct sl_layout_item items[MOST], before[MOST];

static enum sl_status make(struct sl_layout_item *of, size_t count, uint32_t bins, uint64_t chunk_bytes,
                           uint32_t period, const struct sl_layout_judge *judge)
{
    struct sl_layout *layout = sl_layout_begin(of, count, bins, chunk_bytes, period, judge);
    assert_non_null(layout);
    while (sl_layout_step(layout)) {
    }
    return sl_layout_end(layout);
}

static struct sl_layout_item item(uint32_t begins, uint32_t ends, uint64_t bytes, uint32_t bin)
{
    return (struct sl_layout_item){
        .begins = begins, .ends = ends, .bytes = bytes, .bin = bin, .kind = SL_LAYOUT_MOVABLE};
}

static void use(struct sl_layout_item *used, unsigned from, unsigned to)
{
    for (unsigned at = from; at < to; at++) used->used[at / 64] |= (uint64_t)1 << at % 64;
}

/* Whether it is there at event `at` of the first period, or, from PERIOD on, of one that follows. */
static bool is_there(const struct sl_layout_item *i, uint32_t at)
{
    if (i->kind == SL_LAYOUT_REST) return at < i->ends;
    if (at < PERIOD) return at >= i->begins && at < i->ends;
    uint32_t in = at - PERIOD;
    return (in >= i->begins && in < i->ends) || in + PERIOD < i->ends;
}

static void assert_no_two_meet(size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_true(items[i].offset + items[i].bytes <= CHUNK);
        for (size_t k = 0; k < i; k++) {
            bool apart = items[i].bin != items[k].bin ||
                         items[i].offset + items[i].bytes <= items[k].offset ||
                         items[k].offset + items[k].bytes <= items[i].offset;
            for (uint32_t at = 0; !apart && at < 2 * PERIOD; at++)
                assert_false(is_there(&items[i], at) && is_there(&items[k], at));
        }
    }
}

/* What was there before lies where it may be in the way of everything. */
/* How long chunks are to be on the device, summed, and half of the period more for each. */
static uint64_t residency_of(void *self, const struct sl_layout_item *of)
{
    static uint64_t used[MOST][SL_LAYOUT_WORDS];
    static bool in_use[MOST];
    uint64_t cost = 0;
    (void)self;
    memset(used, 0, sizeof used);
    memset(in_use, 0, sizeof in_use);
    for (size_t i = 0; i < MOST && items[i].bytes; i++) { /* as many as there are to be placed */
        in_use[of[i].bin] = true;
        for (int w = 0; w < SL_LAYOUT_WORDS; w++) used[of[i].bin][w] |= of[i].used[w];
    }
    for (size_t b = 0; b < MOST; b++) {
        cost += in_use[b] ? SL_LAYOUT_TIMES / 2 : 0;
        for (int w = 0; w < SL_LAYOUT_WORDS; w++) cost += (uint64_t)__builtin_popcountll(used[b][w]);
    }
    return cost;
}
static const struct sl_layout_judge residency = {residency_of, NULL, 0};

static void no_two_meet(void **state)
{
    (void)state;
    unsigned seed = 7;
    int made = 0;
    for (int round = 0; round < 60; round++) {
        size_t count = 20 + (size_t)rand_r(&seed) % 120;
        uint32_t rests = (uint32_t)rand_r(&seed) % 8, fixed = (uint32_t)rand_r(&seed) % 8, bins = 40;
        memset(items, 0, sizeof items);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t begins = (uint32_t)rand_r(&seed) % PERIOD;
            uint32_t lives = 1 + (uint32_t)rand_r(&seed) % PERIOD;
            items[i] = item(begins, begins + lives, 512 * (1 + (uint64_t)rand_r(&seed) % 4096), i % bins);
            use(&items[i], begins * 5, begins * 5 + 3);
            if (i < rests) items[i].kind = SL_LAYOUT_REST, items[i].begins = 0;
            if (i >= rests && i < rests + fixed) items[i].kind = SL_LAYOUT_FIXED, items[i].ends = 2 * PERIOD;
        }
        memcpy(before, items, sizeof items);
        if (make(items, count, bins, CHUNK, PERIOD, &residency)) {
            assert_memory_equal(before, items, sizeof items);
            continue;
        }
        made++;
        assert_no_two_meet(count);
        for (size_t i = 0; i < rests + fixed; i++) {
            assert_int_equal(items[i].bin, before[i].bin);
            assert_int_equal(items[i].offset, before[i].offset);
        }
    }
    assert_in_range(made, 40, 60);
}

static uint64_t count_judged(void *self, const struct sl_layout_item *of)
{
    (void)of;
    return ++*(uint64_t *)self;
}

/* Of parts that fill their chunks in one way only: most orders lead nowhere, and do not count. */
static void orders_that_lead_nowhere_are_made_up_for(void **state)
{
    (void)state;
    static const unsigned sixteenths[] = {9, 7, 8, 8};
    uint64_t judged = 0;
    const struct sl_layout_judge judge = {count_judged, &judged, 100, 0};
    memset(items, 0, sizeof items);
    for (uint32_t i = 0; i < 4; i++) {
        items[i] = item(10, 20, sixteenths[i] * CHUNK / 16, i);
        use(&items[i], 50, 100);
    }
    assert_int_equal(make(items, 4, 2, CHUNK, PERIOD, &judge), SL_OK);
    assert_no_two_meet(4);
    assert_in_range(judged, 100, 106);
}

/* Six of a third of a chunk, which two phases use by turns, in two chunks that both phases need. */
static void what_is_used_together_lies_together(void **state)
{
    (void)state;
    memset(items, 0, sizeof items);
    for (uint32_t i = 0; i < 6; i++) {
        items[i] = item(1 + i, 90 + i, CHUNK / 3 & ~(uint64_t)511, i / 3);
        use(&items[i], i % 2 ? 0 : 256, i % 2 ? 100 : 356);
    }
    assert_int_equal(residency_of(NULL, items), 2 * (200 + SL_LAYOUT_TIMES / 2));
    assert_int_equal(make(items, 6, 2, CHUNK, PERIOD, &residency), SL_OK);
    assert_no_two_meet(6);
    assert_int_equal(residency_of(NULL, items), 2 * (100 + SL_LAYOUT_TIMES / 2));
    for (uint32_t i = 2; i < 6; i++) assert_int_equal(items[i].bin, items[i % 2].bin);
}

/* A chunk that lacks some of an item's times, in any of them, is worse than one that lacks fewer. */
static void the_least_added_time_decides(void **state)
{
    (void)state;
    uint64_t random = 88172645463325252;
    for (int round = 0; round < 200; round++) {
        unsigned added[2] = {0, 0};
        memset(items, 0, sizeof items);
        for (uint32_t i = 0; i < 3; i++) {
            items[i] = item(0, PERIOD, CHUNK / 2, i % 2);
            items[i].kind = i < 2 ? SL_LAYOUT_FIXED : SL_LAYOUT_MOVABLE;
            for (unsigned at = 0; at < SL_LAYOUT_TIMES; at++) {
                random = random * 6364136223846793005 + 1442695040888963407;
                if (random >> 62 || i == 2) use(&items[i], at, at + 1);
            }
        }
        for (unsigned at = 0; at < SL_LAYOUT_TIMES; at++)
            for (unsigned i = 0; i < 2; i++) added[i] += !(items[i].used[at / 64] >> at % 64 & 1);
        uint64_t judged = 0;
        const struct sl_layout_judge first = {count_judged, &judged, 0, 0};
        assert_int_equal(make(items, 3, 2, CHUNK, PERIOD, &first), SL_OK);
        if (added[0] != added[1]) assert_int_equal(items[2].bin, added[1] < added[0]);
    }
}

/* What lives on beside it in the period in which it moves, and in later ones. */
static void a_life_goes_on_in_the_next_period(void **state)
{
    (void)state;
    memset(items, 0, sizeof items);
    items[0] = item(80, 120, CHUNK, 0); /* to the 20th event of the next period */
    items[1] = item(10, 30, CHUNK, 1);  /* meets it there */
    items[2] = item(30, 60, CHUNK, 1);  /* does not */
    items[3] = item(0, 50, CHUNK, 2);   /* was there before, until then */
    items[3].kind = SL_LAYOUT_REST;
    assert_int_equal(make(items, 4, 3, CHUNK, PERIOD, &residency), SL_OK);
    assert_no_two_meet(4);
    assert_int_not_equal(items[0].bin, items[1].bin);
    assert_int_not_equal(items[1].bin, 2);
    assert_int_not_equal(items[2].bin, 2);
}

static void without_room_nothing_changes(void **state)
{
    (void)state;
    memset(items, 0, sizeof items);
    for (uint32_t i = 0; i < 3; i++) items[i] = item(i, 50 + i, CHUNK / 2 + 512, i % 2);
    memcpy(before, items, sizeof items);
    assert_int_equal(make(items, 3, 2, CHUNK, PERIOD, &residency), SL_ERR_NO_MEMORY);
    assert_memory_equal(before, items, sizeof items);
    memset(&items[2], 0, sizeof items[2]);
    assert_int_equal(make(items, 2, 2, CHUNK, PERIOD, &residency), SL_OK);
    memset(items, 0, sizeof items);
    assert_int_equal(make(items, 0, 0, CHUNK, PERIOD, &residency), SL_OK);
}

struct opinion {
    unsigned asked;
    uint32_t wanted; /* the bin of the third item that costs nothing */
    bool known;
};

static uint64_t cost_of(void *self, const struct sl_layout_item *of)
{
    struct opinion *opinion = self;
    opinion->asked++;
    if (!opinion->known) return UINT64_MAX;
    return of[2].bin == opinion->wanted ? 0 : 100;
}

/* Each of three that meet fills a chunk: which of them lies where is for the judge to say. */
static void the_judge_decides(void **state)
{
    (void)state;
    for (uint32_t wanted = 0; wanted < 3; wanted++) {
        memset(items, 0, sizeof items);
        for (uint32_t i = 0; i < 3; i++) items[i] = item(i, 50 + 2 * i, CHUNK - 512 * i, i);
        struct opinion opinion = {.wanted = wanted, .known = true};
        struct sl_layout_judge judge = {cost_of, &opinion, 60};
        assert_int_equal(make(items, 3, 3, CHUNK, PERIOD, &judge), SL_OK);
        assert_in_range(opinion.asked, 7, 66);
        assert_int_equal(items[2].bin, wanted);
        assert_no_two_meet(3);
    }
}

static void what_the_judge_does_not_know_changes_nothing(void **state)
{
    (void)state;
    memset(items, 0, sizeof items);
    for (uint32_t i = 0; i < 3; i++) items[i] = item(i, 50 + i, CHUNK, 2 - i);
    memcpy(before, items, sizeof items);
    struct opinion opinion = {0};
    struct sl_layout_judge judge = {cost_of, &opinion, 5};
    assert_int_equal(make(items, 3, 3, CHUNK, PERIOD, &judge), SL_ERR_NO_MEMORY);
    assert_int_equal(opinion.asked, 11);
    assert_memory_equal(before, items, sizeof items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_judge_decides),
        cmocka_unit_test(what_the_judge_does_not_know_changes_nothing),
        cmocka_unit_test(no_two_meet),
        cmocka_unit_test(what_is_used_together_lies_together),
        cmocka_unit_test(the_least_added_time_decides),
        cmocka_unit_test(a_life_goes_on_in_the_next_period),
        cmocka_unit_test(without_room_nothing_changes),
        cmocka_unit_test(orders_that_lead_nowhere_are_made_up_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
