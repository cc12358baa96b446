#include "predict/predictor.h"

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

/* Feeds a run of consecutive symbols; returns the mispredictions. */
static unsigned feed_run(struct sl_predictor *p, sl_symbol first, unsigned count)
{
    unsigned mispredictions = 0;
    for (unsigned i = 0; i < count; i++) mispredictions += !sl_predictor_feed(p, first + i);
    return mispredictions;
}

static unsigned feed_step(struct sl_predictor *p, unsigned accumulate, bool update)
{
    unsigned mispredictions = 0;
    for (unsigned i = 0; i < accumulate; i++) {
        mispredictions += feed_run(p, FORWARD, LAYERS);
        mispredictions += feed_run(p, BACKWARD, LAYERS);
    }
    return mispredictions + (update ? feed_run(p, UPDATE, LAYERS) : 0);
}

static void test_nothing_is_predicted_at_first(void **state)
{
    (void)state;
    struct sl_predictor *p = sl_predictor_new(100);
    sl_symbol out[4];
    assert_int_equal(sl_predictor_next(p, out, NULL, 4), 0);
    for (sl_symbol s = 0; s < 50; s++) assert_false(sl_predictor_feed(p, s));
    assert_int_equal(sl_predictor_next(p, out, NULL, 4), 0);
    assert_int_equal(sl_predictor_period(p), 0);
    assert_int_equal(sl_predictor_counts(p).mispredictions, 50);
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

/* An update that is skipped now and then, as by a scaler of gradients, costs one misprediction: the steps
 * behind it are predicted as those before it, and the distance is a step again. */
static void test_a_skip_is_an_exception(void **state)
{
    (void)state;
    struct sl_predictor *p = sl_predictor_new(100000);
    for (int i = 0; i < 4; i++) feed_step(p, 1, true);
    for (int i = 0; i < 5; i++) {
        feed_step(p, 1, false);
        assert_int_equal(feed_step(p, 1, true), 1); /* its first symbol, instead of the update's */
        for (int k = 0; k < 7 - i; k++) assert_int_equal(feed_step(p, 1, true), 0);
        if (i > 0) continue;
        assert_int_equal(sl_predictor_distance(p), 3 * LAYERS);
    }
    sl_predictor_delete(p);
}

/* What is predicted far ahead knows that, too. */
static void test_an_exception_is_not_predicted_ahead(void **state)
{
    (void)state;
    enum { AHEAD = 9 * LAYERS };
    static sl_symbol out[AHEAD];
    struct sl_predictor *p = sl_predictor_new(100000);
    for (int i = 0; i < 4; i++) feed_step(p, 1, true);
    feed_step(p, 1, false);
    feed_run(p, FORWARD, LAYERS);
    assert_int_equal(sl_predictor_next(p, out, NULL, AHEAD), AHEAD);
    for (unsigned i = 0; i < AHEAD; i++) {
        const sl_symbol parts[] = {BACKWARD, UPDATE, FORWARD};
        assert_int_equal(out[i], parts[i / LAYERS % 3] + i % LAYERS);
    }
    sl_predictor_delete(p);
}

/* What would come instead may be no longer known, although the exception is. */
static void test_an_exception_outlives_the_rule(void **state)
{
    (void)state;
    enum { PART = 560, CAPACITY = 1000 }; /* less than two steps */
    struct sl_predictor *p = sl_predictor_new(CAPACITY);
    for (int i = 0; i < 4; i++) {
        feed_run(p, NOVEL, PART);
        if (i < 2) feed_run(p, UPDATE, LAYERS);
    }
    assert_int_equal(sl_predictor_expected(p), NOVEL);
    sl_predictor_delete(p);
}

/* A program that goes on otherwise, such as without an optimizer, is mispredicted once more. */
static void test_what_comes_twice_is_no_exception(void **state)
{
    (void)state;
    struct sl_predictor *p = sl_predictor_new(100000);
    for (int i = 0; i < 4; i++) feed_step(p, 1, true);
    unsigned mispredictions = 0;
    for (int i = 0; i < 10; i++) mispredictions += feed_step(p, 1, false);
    assert_int_equal(mispredictions, 2);
    assert_int_equal(sl_predictor_distance(p), 2 * LAYERS);
    sl_predictor_delete(p);
}

/* A step that differs from others in one symbol. */
static unsigned feed_odd_step(struct sl_predictor *p, sl_symbol odd)
{
    unsigned mispredictions = feed_run(p, FORWARD, LAYERS) + feed_run(p, BACKWARD, LAYERS);
    mispredictions += !sl_predictor_feed(p, odd);
    return mispredictions + feed_run(p, BACKWARD + LAYERS, LAYERS) + feed_run(p, UPDATE, LAYERS);
}

static void test_what_is_near_counts_more_than_what_is_longest_the_same(void **state)
{
    (void)state;
    for (int near = 0; near < 2; near++) {
        struct sl_predictor *p = sl_predictor_new(10000);
        if (near) sl_predictor_prefer_near(p);
        for (int i = 0; i < 6; i++) feed_odd_step(p, NOVEL + (sl_symbol)(i % 6));
        feed_odd_step(p, NOVEL + 1); /* as five steps before, and so all of it was */
        assert_int_equal(sl_predictor_distance(p), (near ? 1 : 5) * (4 * LAYERS + 1));
        assert_int_equal(sl_predictor_period(p), (near ? 1 : 5) * (4 * LAYERS + 1));
        sl_predictor_delete(p);
    }
}

/* Directly after an odd symbol that came some steps back the prediction is from there; a step is as long as
 * ever. */
static void test_the_near_period_is_not_the_distance(void **state)
{
    (void)state;
    struct sl_predictor *p = sl_predictor_new(10000);
    sl_predictor_prefer_near(p);
    for (int i = 0; i < 6; i++) feed_odd_step(p, NOVEL + (sl_symbol)i);
    feed_run(p, FORWARD, LAYERS);
    feed_run(p, BACKWARD, LAYERS);
    assert_false(sl_predictor_feed(p, NOVEL + 1));
    assert_int_equal(sl_predictor_distance(p), 5 * (4 * LAYERS + 1));
    assert_int_equal(sl_predictor_period(p), 4 * LAYERS + 1);
    sl_predictor_delete(p);
}

/* Steps of two parts that are alike, and one that is not: the near period is a step, not a part. */
static void test_a_near_period_is_a_whole_step(void **state)
{
    (void)state;
    struct sl_predictor *p = sl_predictor_new(10000);
    sl_predictor_prefer_near(p);
    for (uint32_t i = 0; i < 12; i++) {
        feed_step(p, 2, true);
        sl_predictor_feed(p, NOVEL + i * i % 5);
    }
    for (int i = 0; i < 2; i++) {
        feed_step(p, 2, true);
        sl_predictor_feed(p, NOVEL + 7);
    }
    assert_int_equal(feed_run(p, FORWARD, LAYERS) + feed_run(p, BACKWARD, LAYERS), 0);
    assert_int_equal(sl_predictor_period(p), 5 * LAYERS + 1);
    assert_int_equal(
        feed_run(p, FORWARD, LAYERS) + feed_run(p, BACKWARD, LAYERS) + feed_run(p, UPDATE, LAYERS), 0);
    sl_predictor_delete(p);
}

/* Of the second symbol of each round. */
static uint64_t seventy_seven(void *self, sl_symbol symbol, uint64_t note)
{
    assert_non_null(self);
    return symbol == 1 ? 77 : note;
}

static void test_notes_come_from_where_the_prediction_does(void **state)
{
    (void)state;
    struct sl_predictor *p = sl_predictor_new(10000);
    sl_symbol out[6];
    uint64_t notes[6];
    for (uint32_t round = 0; round < 5; round++)
        for (sl_symbol s = 0; s < 3; s++) {
            if (round == 4) assert_int_equal(sl_predictor_expected_note(p), 10 * 3 + s);
            sl_predictor_feed(p, s);
            sl_predictor_note(p, 10 * round + s); /* notes are no part of what repeats */
        }
    assert_int_equal(sl_predictor_next(p, out, notes, 6), 6);
    for (uint32_t i = 0; i < 6; i++) assert_int_equal(notes[i], 10 * 4 + i % 3);
    sl_predictor_renote(p, 2, seventy_seven, p); /* of all that is predicted from there */
    assert_int_equal(sl_predictor_next(p, out, notes, 6), 6);
    for (uint32_t i = 0; i < 6; i++) assert_int_equal(notes[i], i % 3 == 1 ? 77 : 10 * 4 + i % 3);
    sl_symbol given[] = {1, 8, 1, 8};
    assert_true(sl_predictor_prime(p, given, 4));
    assert_int_equal(sl_predictor_expected_note(p), 0);
    sl_predictor_renote(p, 1, seventy_seven,
                        p); /* also of a profile's past, in which the prediction begins */
    assert_int_equal(sl_predictor_expected_note(p), 77);
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
    assert_int_equal(sl_predictor_next(p, out, NULL, count), count);
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
        unsigned mispredictions = feed_step(p, 2, true);
        if (step % 5 == 4) mispredictions += feed_run(p, EVALUATE, 30);
        if (step > 10) assert_int_equal(mispredictions, 0);
    }
    sl_predictor_delete(p);
}

static void test_a_skipped_update_costs_few_surprises(void **state)
{
    (void)state;
    struct sl_predictor *p = sl_predictor_new(20000);
    for (int i = 0; i < 8; i++) feed_step(p, 1, true);
    for (int i = 0; i < 5; i++) {
        unsigned mispredictions = feed_step(p, 1, false);
        mispredictions += feed_step(p, 1, true);
        mispredictions += feed_step(p, 1, true);
        assert_true(mispredictions <=
                    3); /* at it, and where the two steps before it are taken for the pattern */
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
        unsigned mispredictions = feed_run(p, BACKWARD, LAYERS) + feed_step(p, 1, true);
        assert_int_equal(mispredictions, 0);
        feed_step(p, 3, true);
    }
    sl_predictor_delete(p);
}

/* What happened once in a long steady stretch is not expected again in each of as many periods. */
static void test_what_was_odd_once_is_soon_forgotten(void **state)
{
    (void)state;
    for (unsigned steps = 10; steps <= 160; steps *= 2) {
        struct sl_predictor *p = sl_predictor_new(200000);
        for (unsigned i = 0; i < steps; i++) feed_step(p, 1, true);
        for (unsigned odd = 0; odd < 3; odd++) {
            feed_run(p, FORWARD, 20);
            assert_false(sl_predictor_feed(p, NOVEL + odd));
            unsigned mispredictions = feed_run(p, FORWARD + 20, 20);
            mispredictions += feed_run(p, BACKWARD, LAYERS) + feed_run(p, UPDATE, LAYERS);
            for (unsigned i = 1; i < steps; i++) mispredictions += feed_step(p, 1, true);
            assert_in_range(mispredictions, 1, 4); /* behind it, and until three periods came */
            assert_int_equal(sl_predictor_period(p), 3 * LAYERS);
        }
        sl_predictor_delete(p);
    }
}

/* After the second time it is known when it comes: neither the steps before it nor itself are mispredicted.
 */
static void test_a_rare_evaluation_is_foreseen_from_the_third_on(void **state)
{
    (void)state;
    struct sl_predictor *p = sl_predictor_new(200000);
    for (unsigned time = 0; time < 6; time++) {
        unsigned mispredictions = 0;
        for (unsigned i = 0; i < 50; i++) mispredictions += feed_step(p, 1, true);
        mispredictions += feed_run(p, EVALUATE, 30);
        if (time == 1) assert_in_range(mispredictions, 1, 5);
        if (time > 1) assert_in_range(mispredictions, 0, time == 2);
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

/* Against the definition: the cursor stands after the longest earlier occurrence of the present's suffix, or
 * where the present came for the third time in a row, or, at few places, behind an exception. */
static void test_the_longest_suffix_is_found(void **state)
{
    (void)state;
    enum { COUNT = 1500, TEXTS = 8, BEHIND_EXCEPTIONS = 40 /* one of these */ };
    static sl_symbol text[COUNT];
    unsigned others = 0;
    for (random_state = 1; random_state <= TEXTS;) {
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
            size_t match = period ? suffix_length(text, i + 1 - period, i + 1) : 0;
            assert_int_equal(sl_predictor_match(p), match);
            others += (match < 2 * period || !match) && match != best;
        }
        sl_predictor_delete(p);
        random_state = seed + 1;
    }
    assert_in_range(others, 0, COUNT * TEXTS / BEHIND_EXCEPTIONS);
}

static void test_counts_add_up_on_noise(void **state)
{
    (void)state;
    random_state = 7;
    struct sl_predictor *p = sl_predictor_new(4096);
    uint64_t hits = 0, count = 200000;
    for (uint64_t i = 0; i < count; i++) {
        sl_symbol next, symbol = random_below(4);
        bool predicted = sl_predictor_next(p, &next, NULL, 1) && next == symbol;
        assert_int_equal(sl_predictor_feed(p, symbol), predicted);
        hits += predicted;
    }
    struct sl_predictor_counts counts = sl_predictor_counts(p);
    assert_int_equal(counts.fed, count);
    assert_int_equal(counts.predicted, hits);
    assert_int_equal(counts.mispredictions, count - hits);
    sl_predictor_delete(p);
}

enum { WARM_UP_LENGTH = 77, GIVEN_MOST = 20000, STEP = 3 * LAYERS };

/* A run of `steps` steps, with an evaluation behind every `evaluate`th; returns its length. */
static size_t make_run(sl_symbol *out, unsigned steps, unsigned evaluate)
{
    size_t count = 0;
    const struct {
        sl_symbol first;
        unsigned length;
    } parts[] = {{FORWARD, LAYERS}, {BACKWARD, LAYERS}, {UPDATE, LAYERS}};
    for (unsigned i = 0; i < WARM_UP_LENGTH; i++) out[count++] = WARM_UP + i;
    for (unsigned step = 0; step < steps; step++) {
        for (unsigned p = 0; p < 3; p++)
            for (unsigned i = 0; i < parts[p].length; i++) out[count++] = parts[p].first + i;
        for (unsigned i = 0; evaluate && step % evaluate == evaluate - 1 && i < 30; i++)
            out[count++] = EVALUATE + i;
    }
    return count;
}

static void test_what_another_run_did_is_foreseen_from_the_first_symbol(void **state)
{
    (void)state;
    static sl_symbol past[GIVEN_MOST], now[GIVEN_MOST], out[GIVEN_MOST];
    for (unsigned evaluate = 0; evaluate <= 3; evaluate += 3) {
        struct sl_predictor *p = sl_predictor_new(200000);
        size_t given = make_run(past, 10, evaluate);
        feed_run(p, NOVEL, 50); /* is forgotten */
        assert_true(sl_predictor_prime(p, past, given));
        assert_int_equal(sl_predictor_counts(p).fed, 50);
        assert_int_equal(sl_predictor_expected(p), WARM_UP);
        size_t count = make_run(now, 10, evaluate);
        assert_int_equal(sl_predictor_next(p, out, NULL, count), count);
        assert_memory_equal(out, now, count * sizeof *out);
        for (size_t i = 0; i < count; i++) assert_true(sl_predictor_feed(p, now[i]));
        assert_int_equal(sl_predictor_begun(p, out, GIVEN_MOST), count);
        assert_memory_equal(out, now, count * sizeof *out);
        sl_predictor_delete(p);
    }
}

/* A run that goes on for longer than the one before, and one that ends elsewhere. */
static void test_the_future_goes_on_past_the_given_past(void **state)
{
    (void)state;
    static sl_symbol past[GIVEN_MOST], now[GIVEN_MOST], out[4 * STEP];
    for (unsigned extra = 0; extra < STEP; extra += 7) {
        struct sl_predictor *p = sl_predictor_new(200000);
        size_t given = make_run(past, 5, 0) - extra, count = make_run(now, 60, 0);
        assert_true(sl_predictor_prime(p, past, given));
        for (size_t i = 0; i + 4 * STEP < count; i++) {
            if (i % 17 == 0) {
                assert_int_equal(sl_predictor_next(p, out, NULL, 4 * STEP), 4 * STEP);
                assert_memory_equal(out, now + i, sizeof out);
            }
            assert_true(sl_predictor_feed(p, now[i]));
        }
        sl_predictor_delete(p);
    }
}

static void test_the_given_past_has_its_periods(void **state)
{
    (void)state;
    static sl_symbol past[GIVEN_MOST];
    struct sl_predictor *p = sl_predictor_new(200000);
    size_t given = make_run(past, 10, 0);
    assert_true(sl_predictor_prime(p, past, given));
    for (size_t i = 0; i < given; i++) {
        assert_int_equal(sl_predictor_period(p), i < WARM_UP_LENGTH ? 0 : STEP);
        assert_true(sl_predictor_feed(p, past[i]));
    }
    assert_int_equal(sl_predictor_period(p), STEP);
    sl_predictor_delete(p);
}

/* What seems to repeat inside of the first step is no period. */
static void test_a_stutter_is_no_period(void **state)
{
    (void)state;
    static sl_symbol past[GIVEN_MOST];
    struct sl_predictor *p = sl_predictor_new(200000);
    size_t given = 0;
    for (int step = 0; step < 6; step++) {
        for (unsigned i = 0; i < 40; i++) past[given++] = FORWARD + i;
        for (unsigned i = 0; i < 40; i++) past[given++] = EVALUATE;
        for (unsigned i = 0; i < 40; i++) past[given++] = UPDATE + i;
    }
    assert_true(sl_predictor_prime(p, past, given));
    for (size_t i = 0; i < given; i++) {
        assert_int_equal(sl_predictor_period(p), STEP);
        assert_true(sl_predictor_feed(p, past[i]));
    }
    sl_predictor_delete(p);
}

static void test_a_run_that_differs_finds_its_place(void **state)
{
    (void)state;
    static sl_symbol past[GIVEN_MOST];
    struct sl_predictor *p = sl_predictor_new(200000);
    assert_true(sl_predictor_prime(p, past, make_run(past, 10, 3)));
    assert_int_equal(feed_run(p, NOVEL, 20), 20);
    unsigned mispredictions = feed_step(p, 1, true);
    for (int i = 0; i < 20; i++) mispredictions += feed_step(p, 1, true);
    assert_in_range(mispredictions, 1, 5);
    assert_int_equal(sl_predictor_period(p), STEP);
    sl_predictor_delete(p);
}

static void test_a_past_without_period_ends(void **state)
{
    (void)state;
    sl_symbol past[100], out[200];
    struct sl_predictor *p = sl_predictor_new(10000);
    for (unsigned i = 0; i < 100; i++) past[i] = NOVEL + i;
    assert_true(sl_predictor_prime(p, past, 100));
    assert_int_equal(sl_predictor_next(p, out, NULL, 200), 100);
    assert_int_equal(feed_run(p, NOVEL, 100), 0);
    assert_int_equal(sl_predictor_next(p, out, NULL, 200), 0);
    assert_true(sl_predictor_feed(p, NOVEL) == false);
    sl_predictor_clear(p);
    assert_int_equal(sl_predictor_next(p, out, NULL, 200), 0);
    assert_true(sl_predictor_prime(p, past, 0));
    assert_int_equal(sl_predictor_expected(p), SL_NONE);
    sl_predictor_delete(p);
}

/* The past is forgotten like everything else when the ring goes round. */
static void test_the_given_past_leaves_the_ring(void **state)
{
    (void)state;
    static sl_symbol past[GIVEN_MOST], out[GIVEN_MOST];
    struct sl_predictor *p = sl_predictor_new(3000);
    size_t given = make_run(past, 5, 0);
    assert_true(sl_predictor_prime(p, past, given));
    feed_run(p, WARM_UP, WARM_UP_LENGTH);
    unsigned mispredictions = 0;
    for (int i = 0; i < 200; i++) mispredictions += feed_step(p, 1, true);
    assert_int_equal(mispredictions, 0);
    for (unsigned i = 0; i < 5000; i++) assert_false(sl_predictor_feed(p, NOVEL + i));
    feed_step(p, 1, true);
    assert_true(feed_step(p, 1, true) <= 1);
    assert_int_equal(sl_predictor_begun(p, out, GIVEN_MOST), 0);
    sl_predictor_delete(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_predicted_at_first),
        cmocka_unit_test(test_the_second_period_is_predicted_whatever_came_before),
        cmocka_unit_test(test_a_skip_is_an_exception),
        cmocka_unit_test(test_an_exception_is_not_predicted_ahead),
        cmocka_unit_test(test_an_exception_outlives_the_rule),
        cmocka_unit_test(test_what_comes_twice_is_no_exception),
        cmocka_unit_test(test_what_is_near_counts_more_than_what_is_longest_the_same),
        cmocka_unit_test(test_the_near_period_is_not_the_distance),
        cmocka_unit_test(test_a_near_period_is_a_whole_step),
        cmocka_unit_test(test_notes_come_from_where_the_prediction_does),
        cmocka_unit_test(test_the_future_goes_on_past_the_present),
        cmocka_unit_test(test_accumulation_is_told_apart_by_a_long_context),
        cmocka_unit_test(test_evaluation_every_few_steps_is_foreseen),
        cmocka_unit_test(test_a_skipped_update_costs_few_surprises),
        cmocka_unit_test(test_a_novel_symbol_does_not_lose_the_context),
        cmocka_unit_test(test_what_was_odd_once_is_soon_forgotten),
        cmocka_unit_test(test_a_rare_evaluation_is_foreseen_from_the_third_on),
        cmocka_unit_test(test_the_ring_forgets_but_goes_on),
        cmocka_unit_test(test_a_period_beyond_the_capacity_is_not_predicted),
        cmocka_unit_test(test_the_longest_suffix_is_found),
        cmocka_unit_test(test_counts_add_up_on_noise),
        cmocka_unit_test(test_what_another_run_did_is_foreseen_from_the_first_symbol),
        cmocka_unit_test(test_the_future_goes_on_past_the_given_past),
        cmocka_unit_test(test_the_given_past_has_its_periods),
        cmocka_unit_test(test_a_stutter_is_no_period),
        cmocka_unit_test(test_a_run_that_differs_finds_its_place),
        cmocka_unit_test(test_a_past_without_period_ends),
        cmocka_unit_test(test_the_given_past_leaves_the_ring),
    };
    return cmocka_run_group_tests_name("predict", tests, NULL, NULL);
}
