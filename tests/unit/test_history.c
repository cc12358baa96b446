/* Where the program is in what repeats: breaks if an iteration ends too often, too late or where nothing
 * repeats, if streams that interleave by chance are not predicted one by one, or if what was forgotten goes
 * on. */
#include "core/history.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define PERIOD 20
#define STREAMS 2

static struct sl_history history;

static int begin(void **state)
{
    (void)state;
    history = (struct sl_history){.predictor = sl_predictor_new(((size_t)1 << 16) - 1)};
    return history.predictor ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    sl_interleaver_delete(history.interleaver);
    sl_predictor_delete(history.predictor);
    return 0;
}

/* Whether an iteration ended with the symbol. */
static bool feed(sl_symbol symbol)
{
    return sl_history_count(&history, sl_history_feed(&history, symbol, 0, false));
}

/* Feeds `count` symbols of a string with that period, from its beginning. Returns how many iterations ended.
 */
static int feed_string(size_t count)
{
    int ended = 0;
    for (size_t i = 0; i < count; i++) ended += feed((sl_symbol)(i % PERIOD));
    return ended;
}

/* The repetition is seen at the first symbol that comes again, and trusted after a few more. */
static void an_iteration_ends_once_in_a_period(void **state)
{
    (void)state;
    uint64_t seen = PERIOD + 1;
    for (sl_symbol i = 0; i < 10 * PERIOD; i++) {
        bool ended = feed(i % PERIOD);
        bool first = history.fed == seen + SL_STEADY_STREAK;
        assert_int_equal(ended, first || (history.fed > seen && (history.fed - seen) % PERIOD == 0));
        assert_int_equal(history.fed, i + 1);
        assert_int_equal(sl_history_period(&history), history.fed < seen ? 0 : PERIOD);
    }
    assert_int_equal(history.streak, 9 * PERIOD - 1);
}

static void what_never_repeats_has_no_iterations(void **state)
{
    (void)state;
    for (sl_symbol i = 0; i < 1000; i++) {
        assert_false(feed(i));
        assert_int_equal(history.streak, 0);
    }
    assert_int_equal(sl_history_expected(&history, 0), SL_NONE);
    assert_int_equal(sl_history_period(&history), 0);
}

/* A stray symbol just before the end holds it up until what is predicted is trusted again. */
static void an_end_waits_for_a_steady_streak(void **state)
{
    (void)state;
    feed_string(3 * PERIOD);
    assert_int_equal(history.iteration_end, history.fed + 1);
    assert_false(feed(1000));
    assert_int_equal(history.streak, 0);
    for (sl_symbol s = 0; history.streak < SL_STEADY_STREAK - 1; s++) assert_false(feed(s));
    assert_true(feed(sl_history_expected(&history, 0)));
    size_t period = sl_history_period(&history); /* the stray symbol may be a part of it */
    for (size_t i = 1; i <= period; i++)
        assert_int_equal(feed(sl_history_expected(&history, 0)), i == period);
}

/* What was predicted but did not come as planned breaks the streak as well. */
static void what_does_not_come_as_planned_breaks_the_streak(void **state)
{
    (void)state;
    feed_string(3 * PERIOD);
    assert_true(sl_history_feed(&history, sl_history_expected(&history, 0), 0, false));
    assert_false(sl_history_count(&history, false));
    assert_int_equal(history.streak, 0);
    assert_int_equal(history.confidence.runs[0], 2 * PERIOD - 1);
    assert_int_equal(history.confidence.count, 1);
}

static void break_after(uint32_t streak)
{
    history.streak = streak;
    sl_history_break(&history);
    assert_int_equal(history.streak, 0);
}

static void all_is_believed_until_it_is_doubted(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) break_after(40);
    assert_int_equal(sl_history_believed(&history), SIZE_MAX);
    sl_confidence_judge(&history.confidence, 100, 26, 100);
    assert_int_equal(sl_history_believed(&history), 40 - SL_STEADY_STREAK);
    history.streak = 30;
    assert_int_equal(sl_history_believed(&history), 10);
    /* Runs that are too short for a plan are none. */
    for (int i = 0; i < SL_CONFIDENCE_RUNS; i++) break_after(SL_STEADY_STREAK - 1);
    history.streak = 30;
    assert_int_equal(sl_history_believed(&history), 10);
}

/* A whole period came as predicted, and more than ever: it is believed again. */
static void a_whole_period_is_believed_for_good(void **state)
{
    (void)state;
    sl_confidence_judge(&history.confidence, 100, 26, 100);
    feed_string(2 * PERIOD);
    assert_true(sl_history_believed(&history) < PERIOD);
    feed_string(PERIOD);
    assert_int_equal(sl_history_believed(&history), SIZE_MAX);
}

static void streams_are_looked_at_where_mispredictions_come_in_a_row(void **state)
{
    (void)state;
    sl_symbol s = 0;
    for (int i = 0; i < 1000; i++) feed(s++); /* one stream, or a policy that plans nothing */
    assert_null(history.interleaver);
    for (uint32_t i = 0; i < 1000;
         i++, s++) /* symbols that come for the first time: nothing could predict them */
        sl_history_count(&history, sl_history_feed(&history, s, i % 2, true));
    assert_null(history.interleaver);
    int more = 0;
    while (!history.interleaver && more < 100) {
        sl_symbol known = (sl_symbol)more * 7; /* what follows 7 was 8 */
        sl_history_count(&history, sl_history_feed(&history, known, (uint32_t)more % 2, true));
        more++;
    }
    assert_int_equal(more, 16);
    assert_false(history.interleaved);
}

static void mispredictions_now_and_then_are_no_reason(void **state)
{
    (void)state;
    feed_string(4 * PERIOD);
    for (sl_symbol stray = 0; stray < 200; stray++) {
        for (sl_symbol i = 0; i < 8 * PERIOD; i++)
            sl_history_count(&history, sl_history_feed(&history, i % PERIOD, 0, true));
        sl_history_count(&history, sl_history_feed(&history, 1000 + stray, 1, true));
    }
    assert_in_range(sl_history_counts(&history).mispredictions, 400, 1200);
    assert_null(history.interleaver);
}

static uint32_t at[STREAMS];
static uint64_t chance = 1;

/* The next symbol of the stream's own string. */
static sl_symbol next_of(uint32_t stream)
{
    static const uint32_t periods[STREAMS] = {PERIOD, 7};
    return stream * 100 + at[stream]++ % periods[stream];
}

/* The streams' own strings, interleaved by chance or in turn. Returns how many symbols were not predicted. */
static int feed_streams(int count, bool in_turn)
{
    int missed = 0;
    for (int i = 0; i < count; i++) {
        chance = chance * UINT64_C(6364136223846793005) + 1442695040888963407;
        uint32_t stream = in_turn ? (uint32_t)i % STREAMS : (uint32_t)(chance >> 40) % STREAMS;
        sl_symbol symbol = next_of(stream);
        bool expected = sl_history_expected(&history, stream) == symbol, was = history.interleaved;
        bool hit = sl_history_feed(&history, symbol, stream, true);
        /* The moment at which another string counts is as good as a misprediction: what is planned is
         * something else. */
        assert_int_equal(hit, expected && was == history.interleaved);
        sl_history_count(&history, hit);
        missed += !hit;
    }
    return missed;
}

static void streams_that_interleave_by_chance_are_predicted_one_by_one(void **state)
{
    (void)state;
    feed_streams(2000, false);
    assert_true(history.interleaved);
    struct sl_predictor_counts before = sl_history_counts(&history);
    assert_int_equal(feed_streams(2000, false), 0);
    struct sl_predictor_counts after = sl_history_counts(&history);
    assert_int_equal(after.fed - before.fed, 2000);
    assert_int_equal(after.predicted - before.predicted, 2000);
    assert_int_equal(after.mispredictions - before.mispredictions, 0);
    assert_int_equal(history.streak >= 2000, true);
    assert_int_equal(sl_history_period(&history), sl_interleaver_period(history.interleaver));
}

static void streams_that_go_in_turn_are_one_string_again(void **state)
{
    (void)state;
    feed_streams(2000, false);
    assert_non_null(history.interleaver);
    feed_streams(4000, true);
    assert_null(history.interleaver);
    assert_false(history.interleaved);
    assert_int_equal(feed_streams(1000, true), 0);
}

static void what_is_forgotten_is_learned_anew(void **state)
{
    (void)state;
    feed_streams(2000, false);
    assert_true(history.interleaved);
    struct sl_predictor_counts before = sl_history_counts(&history);
    sl_history_forget(&history);
    assert_null(history.interleaver);
    for (uint32_t s = 0; s < STREAMS; s++) assert_int_equal(sl_history_expected(&history, s), SL_NONE);
    assert_int_equal(history.streak, 0);
    struct sl_predictor_counts after = sl_history_counts(&history);
    assert_int_equal(after.fed, before.fed); /* what was counted stays */
    assert_int_equal(after.predicted, before.predicted);
    assert_int_equal(history.fed, 2000);
    assert_int_equal(feed_string(2 * PERIOD), 1); /* as at the start */
    assert_int_equal(history.iteration_end, 2000 + 2 * PERIOD + 1);
}

/* A profile: all of it is predicted from the first symbol on, and it says where the first period begins. */
static void a_past_that_was_given_has_iterations_at_once(void **state)
{
    (void)state;
    enum { BEFORE = 30, PERIODS = 6, COUNT = BEFORE + PERIODS * PERIOD };
    sl_symbol past[COUNT];
    for (sl_symbol i = 0; i < COUNT; i++) past[i] = i < BEFORE ? 1000 + i : i % PERIOD;
    assert_true(sl_predictor_prime(history.predictor, past, COUNT));
    for (size_t i = 0; i < COUNT; i++) {
        bool ended = feed(past[i]);
        assert_int_equal(ended, i + 1 >= BEFORE && (i + 1 - BEFORE) % PERIOD == 0);
    }
    assert_int_equal(history.streak, COUNT);
}

/* --- Up to which launch all have ended: breaks if a launch that the driver does not have yet counts as
 * submitted, or if one that was submitted holds up what waits for it. */

static void ticks_begin(struct sl_ticks *ticks, sl_tick tick)
{
    ticks->now = tick;
    atomic_store(&ticks->open[tick % SL_OPEN_LAUNCHES], tick);
}

static void ticks_end(struct sl_ticks *ticks, sl_tick tick)
{
    atomic_store(&ticks->open[tick % SL_OPEN_LAUNCHES], 0);
}

static void without_open_launches_it_is_the_newest(void **state)
{
    (void)state;
    struct sl_ticks ticks = {0};
    assert_int_equal(sl_ticks_submitted(&ticks), 0);
    ticks.now = 1;
    assert_int_equal(sl_ticks_submitted(&ticks), 1);
    ticks.now = UINT64_C(1) << 40;
    assert_int_equal(sl_ticks_submitted(&ticks), UINT64_C(1) << 40);
}

static void the_first_launch_waits_for_nothing(void **state)
{
    (void)state;
    struct sl_ticks ticks = {0};
    ticks_begin(&ticks, 1);
    assert_int_equal(sl_ticks_submitted(&ticks), 0);
    ticks_end(&ticks, 1);
    assert_int_equal(sl_ticks_submitted(&ticks), 1);
}

/* Threads ticks_end their launches in any order. */
static void the_oldest_that_is_open_counts(void **state)
{
    (void)state;
    struct sl_ticks ticks = {0};
    for (sl_tick tick = 1; tick <= 7; tick++) ticks_begin(&ticks, tick);
    for (sl_tick tick = 1; tick <= 2; tick++) ticks_end(&ticks, tick);
    assert_int_equal(sl_ticks_submitted(&ticks), 2);
    ticks_end(&ticks, 7);
    ticks_end(&ticks, 4);
    assert_int_equal(sl_ticks_submitted(&ticks), 2);
    ticks_end(&ticks, 3);
    assert_int_equal(sl_ticks_submitted(&ticks), 4);
    ticks_end(&ticks, 6);
    ticks_end(&ticks, 5);
    assert_int_equal(sl_ticks_submitted(&ticks), 7);
}

static void every_place_counts(void **state)
{
    (void)state;
    for (sl_tick tick = 1000; tick < 1000 + SL_OPEN_LAUNCHES; tick++) {
        struct sl_ticks ticks = {0};
        ticks_begin(&ticks, tick);
        ticks.now += 3;
        assert_int_equal(sl_ticks_submitted(&ticks), tick - 1);
    }
}

static void as_many_as_there_are_places(void **state)
{
    (void)state;
    struct sl_ticks ticks = {0};
    sl_tick first = 100, last = first + SL_OPEN_LAUNCHES - 1;
    for (sl_tick tick = first; tick <= last; tick++) ticks_begin(&ticks, tick);
    for (sl_tick tick = last; tick >= first; tick--) {
        assert_int_equal(sl_ticks_submitted(&ticks), first - 1);
        ticks_end(&ticks, tick);
    }
    assert_int_equal(sl_ticks_submitted(&ticks), last);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_iteration_ends_once_in_a_period, begin, end),
        cmocka_unit_test_setup_teardown(what_never_repeats_has_no_iterations, begin, end),
        cmocka_unit_test_setup_teardown(an_end_waits_for_a_steady_streak, begin, end),
        cmocka_unit_test_setup_teardown(what_does_not_come_as_planned_breaks_the_streak, begin, end),
        cmocka_unit_test_setup_teardown(all_is_believed_until_it_is_doubted, begin, end),
        cmocka_unit_test_setup_teardown(a_whole_period_is_believed_for_good, begin, end),
        cmocka_unit_test_setup_teardown(streams_are_looked_at_where_mispredictions_come_in_a_row, begin, end),
        cmocka_unit_test_setup_teardown(mispredictions_now_and_then_are_no_reason, begin, end),
        cmocka_unit_test_setup_teardown(streams_that_interleave_by_chance_are_predicted_one_by_one, begin,
                                        end),
        cmocka_unit_test_setup_teardown(streams_that_go_in_turn_are_one_string_again, begin, end),
        cmocka_unit_test_setup_teardown(what_is_forgotten_is_learned_anew, begin, end),
        cmocka_unit_test_setup_teardown(a_past_that_was_given_has_iterations_at_once, begin, end),
        cmocka_unit_test(without_open_launches_it_is_the_newest),
        cmocka_unit_test(the_first_launch_waits_for_nothing),
        cmocka_unit_test(the_oldest_that_is_open_counts),
        cmocka_unit_test(every_place_counts),
        cmocka_unit_test(as_many_as_there_are_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
