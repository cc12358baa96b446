#include "predict.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

enum {
    FORWARD = 100,
    BACKWARD = 300,
    UPDATE = 500,
    EVALUATE = 700,
    WARM_UP = 900,
    NOVEL = 100000,
    LAYERS = 40
};

static uint64_t random_state;

static uint32_t random_below(uint32_t n)
{
    random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)((random_state >> 33) % n);
}

/* Feeds a run of consecutive symbols; returns the surprises. */
static unsigned feed_run(struct sl_predictor *p, sl_symbol first, unsigned count)
{
    unsigned surprises = 0;
    for (unsigned i = 0; i < count; i++) surprises += !sl_predictor_feed(p, first + i);
    return surprises;
}

static unsigned feed_step(struct sl_predictor *p, unsigned accumulate, bool update)
{
    unsigned surprises = 0;
    for (unsigned i = 0; i < accumulate; i++) {
        surprises += feed_run(p, FORWARD, LAYERS);
        surprises += feed_run(p, BACKWARD, LAYERS);
    }
    return surprises + (update ? feed_run(p, UPDATE, LAYERS) : 0);
}

static void test_nothing_is_predicted_at_first(void **state)
{
    (void)state;
    struct sl_predictor *p = sl_predictor_new(100);
    sl_symbol out[4];
    assert_int_equal(sl_predictor_next(p, out, 4), 0);
    for (sl_symbol s = 0; s < 50; s++) assert_false(sl_predictor_feed(p, s));
    assert_int_equal(sl_predictor_next(p, out, 4), 0);
    assert_int_equal(sl_predictor_period(p), 0);
    assert_int_equal(sl_predictor_counts(p).surprises, 50);
    sl_predictor_delete(p);
    sl_predictor_delete(NULL);
}

static void test_the_second_period_is_predicted_whatever_came_before(void **state)
{
    (void)state;
    struct sl_predictor *p = sl_predictor_new(10000);
    feed_run(p, WARM_UP, 77);
    feed_step(p, 1, true);
    assert_int_equal(feed_step(p, 1, true), 1); /* its first symbol: until then all was new */
    for (int i = 0; i < 50; i++) assert_int_equal(feed_step(p, 1, true), 0);
    assert_int_equal(sl_predictor_period(p), 3 * LAYERS);
    sl_predictor_delete(p);
}

static void test_the_future_goes_on_past_the_present(void **state)
{
    (void)state;
    struct sl_predictor *p = sl_predictor_new(10000);
    feed_step(p, 3, true);
    feed_step(p, 3, true);
    feed_run(p, FORWARD, 7);
    static sl_symbol out[7 * LAYERS * 5];
    size_t count = sizeof out / sizeof *out;
    assert_int_equal(sl_predictor_next(p, out, count), count);
    for (size_t i = 0; i < count; i++) assert_true(sl_predictor_feed(p, out[i]));
    assert_int_equal(feed_run(p, FORWARD + 7, LAYERS - 7), 0);
    sl_predictor_delete(p);
}

/* Which of the three equal micro-batches it is, only what lies more than two of them back can tell. */
static void test_accumulation_is_told_apart_by_a_long_context(void **state)
{
    (void)state;
    for (unsigned accumulate = 2; accumulate <= 40; accumulate += 19) {
        struct sl_predictor *p = sl_predictor_new(20000);
        for (int i = 0; i < 3; i++) feed_step(p, accumulate, true);
        for (int i = 0; i < 10; i++) assert_int_equal(feed_step(p, accumulate, true), 0);
        assert_int_equal(sl_predictor_period(p), (2 * accumulate + 1) * LAYERS);
        sl_predictor_delete(p);
    }
}

static void test_evaluation_every_few_steps_is_foreseen(void **state)
{
    (void)state;
    struct sl_predictor *p = sl_predictor_new(20000);
    for (int step = 0; step < 60; step++) {
        unsigned surprises = feed_step(p, 2, true);
        if (step % 5 == 4) surprises += feed_run(p, EVALUATE, 30);
        if (step > 10) assert_int_equal(surprises, 0);
    }
    sl_predictor_delete(p);
}

static void test_a_skipped_update_costs_few_surprises(void **state)
{
    (void)state;
    struct sl_predictor *p = sl_predictor_new(20000);
    for (int i = 0; i < 8; i++) feed_step(p, 1, true);
    for (int i = 0; i < 5; i++) {
        unsigned surprises = feed_step(p, 1, false);
        surprises += feed_step(p, 1, true);
        surprises += feed_step(p, 1, true);
        assert_true(surprises <= 3); /* at it, and where the two steps before it are taken for the pattern */
    }
    sl_predictor_delete(p);
}

/* A symbol never seen before must not make the cursor forget which micro-batch this is. */
static void test_a_novel_symbol_does_not_lose_the_context(void **state)
{
    (void)state;
    struct sl_predictor *p = sl_predictor_new(20000);
    for (int i = 0; i < 4; i++) feed_step(p, 3, true);
    for (unsigned i = 0; i < 10; i++) {
        feed_step(p, 1, false);
        assert_int_equal(feed_run(p, FORWARD, 20), 0);
        assert_false(sl_predictor_feed(p, NOVEL + i));
        assert_int_equal(feed_run(p, FORWARD + 20, 20), 1);
        unsigned surprises = feed_run(p, BACKWARD, LAYERS) + feed_step(p, 1, true);
        assert_int_equal(surprises, 0);
        feed_step(p, 3, true);
    }
    sl_predictor_delete(p);
}

static void test_the_ring_forgets_but_goes_on(void **state)
{
    (void)state;
    struct sl_predictor *p = sl_predictor_new(1000);
    for (int i = 0; i < 3; i++) feed_step(p, 3, true);
    for (int i = 0; i < 300; i++) assert_int_equal(feed_step(p, 3, true), 0);
    for (unsigned i = 0; i < 5000; i++) assert_false(sl_predictor_feed(p, NOVEL + i));
    assert_int_equal(feed_step(p, 1, true), 3 * LAYERS);
    assert_true(feed_step(p, 1, true) <= 1);
    sl_predictor_delete(p);
}

/* A period longer than what is kept cannot be predicted; it must not be mistaken either. */
static void test_a_period_beyond_the_capacity_is_not_predicted(void **state)
{
    (void)state;
    struct sl_predictor *p = sl_predictor_new(1000);
    for (int i = 0; i < 10; i++)
        for (sl_symbol s = 0; s < 3000; s++) assert_false(sl_predictor_feed(p, s));
    sl_predictor_delete(p);
}

static size_t suffix_length(const sl_symbol *text, size_t end, size_t count)
{
    size_t length = 0;
    while (length < end && text[end - 1 - length] == text[count - 1 - length]) length++;
    return length;
}

/* Against the definition: the cursor stands after the longest earlier occurrence of the present's suffix. */
static void test_the_longest_suffix_is_found(void **state)
{
    (void)state;
    enum { COUNT = 1500 };
    static sl_symbol text[COUNT];
    for (random_state = 1; random_state <= 8;) {
        uint64_t seed = random_state;
        struct sl_predictor *p = sl_predictor_new(COUNT);
        uint32_t alphabet = 12 + random_below(60), copy = 0, from = 0;
        for (size_t i = 0; i < COUNT; i++) {
            if (copy == 0 && i > 20 && random_below(8) == 0) {
                copy = 1 + random_below(100);
                from = random_below((uint32_t)i);
            }
            text[i] = copy ? text[from++] : random_below(alphabet);
            copy -= copy > 0;
            sl_predictor_feed(p, text[i]);
            size_t best = 0;
            for (size_t end = 1; end <= i; end++) {
                size_t length = suffix_length(text, end, i + 1);
                if (length > best) best = length;
            }
            size_t period = sl_predictor_period(p);
            assert_int_equal(period ? suffix_length(text, i + 1 - period, i + 1) : 0, best);
        }
        sl_predictor_delete(p);
        random_state = seed + 1;
    }
}

static void test_counts_add_up_on_noise(void **state)
{
    (void)state;
    random_state = 7;
    struct sl_predictor *p = sl_predictor_new(4096);
    uint64_t hits = 0, count = 200000;
    for (uint64_t i = 0; i < count; i++) {
        sl_symbol next, symbol = random_below(4);
        bool predicted = sl_predictor_next(p, &next, 1) && next == symbol;
        assert_int_equal(sl_predictor_feed(p, symbol), predicted);
        hits += predicted;
    }
    struct sl_predictor_counts counts = sl_predictor_counts(p);
    assert_int_equal(counts.fed, count);
    assert_int_equal(counts.predicted, hits);
    assert_int_equal(counts.surprises, count - hits);
    sl_predictor_delete(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_predicted_at_first),
        cmocka_unit_test(test_the_second_period_is_predicted_whatever_came_before),
        cmocka_unit_test(test_the_future_goes_on_past_the_present),
        cmocka_unit_test(test_accumulation_is_told_apart_by_a_long_context),
        cmocka_unit_test(test_evaluation_every_few_steps_is_foreseen),
        cmocka_unit_test(test_a_skipped_update_costs_few_surprises),
        cmocka_unit_test(test_a_novel_symbol_does_not_lose_the_context),
        cmocka_unit_test(test_the_ring_forgets_but_goes_on),
        cmocka_unit_test(test_a_period_beyond_the_capacity_is_not_predicted),
        cmocka_unit_test(test_the_longest_suffix_is_found),
        cmocka_unit_test(test_counts_add_up_on_noise),
    };
    return cmocka_run_group_tests_name("predict", tests, NULL, NULL);
}
