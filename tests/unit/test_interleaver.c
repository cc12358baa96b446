/* Programs whose streams go their own ways: each stream's symbols are periodic, and interleave by chance. */
#include "predict/interleaver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "predict/predictor.h"

/* A stream that goes through `period` symbols from `first` on. */
struct stream {
    sl_symbol first;
    uint32_t period, weight, at;
};

struct program {
    struct sl_predictor *whole;
    struct sl_interleaver *interleaver;
    struct stream streams[4];
    uint32_t count;
    unsigned fed, foreseen;
    uint64_t random;
};

static void start(struct program *p)
{
    p->whole = sl_predictor_new(1 << 16);
    p->interleaver = sl_interleaver_new();
    p->random = 1;
}

static void stop(struct program *p)
{
    sl_predictor_delete(p->whole);
    sl_interleaver_delete(p->interleaver);
}

static uint32_t chance(struct program *p, uint32_t below)
{
    p->random = p->random * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)((p->random >> 33) % below);
}

static void feed(struct program *p, uint32_t s)
{
    struct stream *stream = &p->streams[s];
    sl_symbol symbol = stream->first + stream->at++ % stream->period;
    bool whole = sl_predictor_feed(p->whole, symbol),
         hit = sl_interleaver_feed(p->interleaver, s, symbol, whole);
    p->fed++;
    p->foreseen += sl_interleaver_holds(p->interleaver) ? hit : whole;
}

static void run(struct program *p, unsigned launches)
{
    uint32_t weights = 0;
    for (uint32_t s = 0; s < p->count; s++) weights += p->streams[s].weight;
    p->fed = p->foreseen = 0;
    while (launches--) {
        uint32_t drawn = chance(p, weights), s = 0;
        while (drawn >= p->streams[s].weight) drawn -= p->streams[s++].weight;
        feed(p, s);
    }
}

static void assert_foreseen(const struct program *p, unsigned percent)
{
    assert_true(100 * p->foreseen >= percent * p->fed);
}

static void two_streams_are_foreseen(void **state)
{
    (void)state;
    struct program p = {.streams = {{100, 24, 24}, {200, 17, 17}}, .count = 2};
    start(&p);
    run(&p, 300);
    assert_true(sl_interleaver_holds(p.interleaver));
    run(&p, 2000);
    assert_foreseen(&p, 100);
    assert_false(sl_interleaver_is_idle(p.interleaver));
    stop(&p);
}

static void three_streams_are_foreseen(void **state)
{
    (void)state;
    struct program p = {.streams = {{100, 24, 5}, {200, 17, 3}, {300, 5, 1}}, .count = 3};
    start(&p);
    run(&p, 600);
    run(&p, 2000);
    assert_foreseen(&p, 100);
    stop(&p);
}

/* Each stream history in its own order, as often as it came. */
static void the_expected_order_is_right_for_each_stream(void **state)
{
    (void)state;
    struct program p = {.streams = {{100, 24, 24}, {200, 17, 17}}, .count = 2};
    static sl_symbol out[4100];
    static uint8_t histories[4100];
    uint32_t seen[2] = {0};
    start(&p);
    run(&p, 3000);
    assert_in_range(sl_interleaver_period(p.interleaver), 32, 53); /* 41, but for chance */
    assert_int_equal(sl_interleaver_next(p.interleaver, NULL, out, histories, 4100), 4100);
    for (size_t i = 0; i < 4100; i++) {
        uint32_t s = out[i] >= 200;
        assert_int_equal(histories[i], sl_interleaver_history(p.interleaver, s));
        assert_int_equal(out[i], p.streams[s].first + (p.streams[s].at + seen[s]++) % p.streams[s].period);
        if (seen[s] == 1) assert_int_equal(out[i], sl_interleaver_expected(p.interleaver, s));
        assert_in_range(seen[0] + 2, i * 48 / 100, i * 69 / 100 + 4); /* 58.5 % */
    }
    stop(&p);
}

static void what_belongs_to_a_launch_stays_with_it(void **state)
{
    (void)state;
    struct program p = {.streams = {{10, 6, 1}, {20, 7, 1}}, .count = 2};
    struct sl_symbol_record records[32] = {0};
    struct sl_symbols symbols = {.records = records, .count = 32};
    sl_symbol out[500];
    uint8_t histories[500];
    records[11].kind = SL_SYMBOL_ALLOC;
    records[12].kind = records[23].kind = SL_SYMBOL_FREE;
    start(&p);
    run(&p, 400);
    assert_int_equal(sl_interleaver_next(p.interleaver, &symbols, out, histories, 500), 500);
    for (size_t i = 1; i < 500; i++)
        if (records[out[i]].kind != SL_SYMBOL_LAUNCH) assert_int_equal(out[i], out[i - 1] + 1);
    stop(&p);
}

/* The string of all symbols says more then: it knows the order of the streams, too. */
static void an_order_that_is_certain_is_left_to_the_whole(void **state)
{
    (void)state;
    struct program p = {.streams = {{100, 6, 1}, {200, 9, 1}}, .count = 2};
    start(&p);
    for (int i = 0; i < 3000; i++) feed(&p, i % 5 < 2 ? 0 : 1);
    assert_false(sl_interleaver_holds(p.interleaver));
    assert_true(sl_interleaver_is_idle(p.interleaver));
    assert_false(sl_interleaver_feed(p.interleaver, 0, 999, false));
    assert_false(sl_interleaver_is_idle(p.interleaver));
    stop(&p);
}

static void a_stream_that_changes_is_learned_again(void **state)
{
    (void)state;
    struct program p = {.streams = {{100, 24, 24}, {200, 17, 17}}, .count = 2};
    start(&p);
    run(&p, 1000);
    p.streams[1] = (struct stream){300, 13, 17, 0};
    run(&p, 500); /* not more than one period of the one stream is a misprediction */
    assert_in_range(p.foreseen, 500 - 13 - 4, 500);
    assert_true(sl_interleaver_holds(p.interleaver));
    run(&p, 1000);
    assert_foreseen(&p, 100);
    stop(&p);
}

static void a_stream_that_ends_is_expected_no_longer(void **state)
{
    (void)state;
    struct program p = {.streams = {{100, 24, 24}, {200, 17, 17}}, .count = 2};
    sl_symbol out[200];
    uint8_t histories[200];
    start(&p);
    run(&p, 1000);
    p.streams[1].weight = 0;
    run(&p, 60);
    assert_foreseen(&p, 100);
    assert_int_equal(sl_interleaver_next(p.interleaver, NULL, out, histories, 200), 200);
    for (int i = 0; i < 200; i++) assert_in_range(out[i], 100, 123);
    run(&p, 3000);
    assert_false(sl_interleaver_holds(p.interleaver)); /* one stream is one string */
    assert_true(sl_interleaver_is_idle(p.interleaver));
    stop(&p);
}

/* Its share vanishes while it is waited for: what is planned must not grow meanwhile. */
static void a_rare_stream_that_ends_makes_no_long_period(void **state)
{
    (void)state;
    struct program p = {.streams = {{0, 11, 6}, {100, 7, 5}, {200, 5, 1}}, .count = 3};
    start(&p);
    run(&p, 4000);
    assert_true(sl_interleaver_holds(p.interleaver));
    p.streams[2].weight = 0;
    for (int i = 0; i < 100; i++) {
        run(&p, 20);
        assert_in_range(sl_interleaver_period(p.interleaver), 1, 200); /* 60, but for chance */
    }
    assert_in_range(sl_interleaver_period(p.interleaver), 1, 40);
    stop(&p);
}

static void a_stream_that_begins_late_is_learned(void **state)
{
    (void)state;
    struct program p = {.streams = {{100, 24, 24}, {200, 17, 17}, {300, 11, 0}}, .count = 3};
    start(&p);
    run(&p, 1000);
    p.streams[2].weight = 20;
    run(&p, 200);
    assert_in_range(p.foreseen, 200 - 11 - 4, 200);
    run(&p, 1000);
    assert_foreseen(&p, 100);
    stop(&p);
}

static void more_streams_than_strands_share_one(void **state)
{
    (void)state;
    struct sl_interleaver *interleaver = sl_interleaver_new();
    for (uint32_t stream = 0; stream < 64; stream++) sl_interleaver_feed(interleaver, stream, stream, false);
    for (uint32_t stream = 0; stream < 64; stream++)
        assert_int_equal(sl_interleaver_history(interleaver, stream),
                         stream < SL_STREAM_HISTORIES ? stream : SL_STREAM_HISTORIES - 1);
    sl_interleaver_delete(interleaver);
    sl_interleaver_delete(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_streams_are_foreseen),
        cmocka_unit_test(three_streams_are_foreseen),
        cmocka_unit_test(the_expected_order_is_right_for_each_stream),
        cmocka_unit_test(what_belongs_to_a_launch_stays_with_it),
        cmocka_unit_test(an_order_that_is_certain_is_left_to_the_whole),
        cmocka_unit_test(a_stream_that_changes_is_learned_again),
        cmocka_unit_test(a_stream_that_ends_is_expected_no_longer),
        cmocka_unit_test(a_rare_stream_that_ends_makes_no_long_period),
        cmocka_unit_test(a_stream_that_begins_late_is_learned),
        cmocka_unit_test(more_streams_than_strands_share_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
