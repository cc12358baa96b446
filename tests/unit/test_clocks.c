/* Clocks of ranks: an offset and a drift are found again, whatever a few late ends say; and where collectives
 * tell nothing, the time since 1970 does. */
#include "tools/analyses/clocks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { PAIRS = 200, MANY = 150000, STEP_NS = 1000000, RANKS = 3, REDUCE = 1, LATE_NS = 40000 };
#define BEGIN_NS UINT64_C(5000000000000)

static uint64_t own_ns[PAIRS], first_ns[PAIRS];

/* Every `odd`th end, if not 0, comes 50 ms late. */
static void make(int64_t offset_ns, double drift, size_t odd)
{
    for (size_t i = 0; i < PAIRS; i++) {
        own_ns[i] = BEGIN_NS + i * STEP_NS;
        first_ns[i] = own_ns[i] + (uint64_t)(offset_ns + (int64_t)(drift * (double)(i * STEP_NS)));
        if (odd && i % odd == 0) first_ns[i] += 50 * STEP_NS;
    }
}

static void check(int64_t offset_ns, double drift, size_t odd)
{
    struct clock clock;
    make(offset_ns, drift, odd);
    assert_true(clock_fit(own_ns, first_ns, PAIRS, &clock));
    make(offset_ns, drift, 0);
    for (size_t i = 0; i < PAIRS; i++) {
        assert_true(llabs((int64_t)(clock_on_first(&clock, own_ns[i]) - first_ns[i])) < 100);
        assert_true(llabs((int64_t)(clock_from_first(&clock, first_ns[i]) - own_ns[i])) < 100);
    }
    assert_true(clock.error_ns < 100);
}

static void offset_and_drift_are_found(void **state)
{
    (void)state;
    check(0, 0, 0);
    check(123456789, 0, 0);
    check(-123456789, 0, 0);
    check(777, 2e-5, 0);
    check(-777000, -2e-5, 0);
}

static void late_ends_do_not_count(void **state)
{
    (void)state;
    check(4711, 0, 7);
    check(-4711, 1e-5, 5);
}

static void few_pairs_tell_no_drift(void **state)
{
    (void)state;
    struct clock clock = {.pairs = 7};
    make(1000, 5e-4, 0);
    assert_false(clock_fit(own_ns, first_ns, 0, &clock));
    assert_int_equal(clock.pairs, 7);
    assert_true(clock_fit(own_ns, first_ns, CLOCK_DRIFT_PAIRS - 1, &clock));
    assert_true(clock.drift == 0);
    assert_true(clock_fit(own_ns, first_ns, CLOCK_DRIFT_PAIRS, &clock));
    assert_true(clock.drift > 0.4e-3 && clock.drift < 0.6e-3);
}

/* Whatever a file says: no moment is before zero or behind the end, and no slope is that of a clock. */
static void no_figure_is_too_large(void **state)
{
    (void)state;
    struct clock clock = {.offset_ns = -1000};
    assert_true(clock_on_first(&clock, 500) == 0);
    clock.offset_ns = 1000;
    assert_true(clock_on_first(&clock, UINT64_MAX - 500) == UINT64_MAX);
    assert_true(clock_from_first(&clock, 500) == 0);
    clock = (struct clock){.offset_ns = 1e300, .drift = 1e300};
    assert_true(clock_on_first(&clock, 5) > 5);
    for (size_t i = 0; i < PAIRS; i++) {
        own_ns[i] = i;
        first_ns[i] = i * (UINT64_MAX / PAIRS);
    }
    assert_true(clock_fit(own_ns, first_ns, PAIRS, &clock));
    assert_true(clock.drift == 0);
    clock_on_first(&clock, UINT64_MAX);
    clock_from_first(&clock, UINT64_MAX);
    clock_from_first(&clock, 0);
}

static struct model models[RANKS];
static struct model_collective collectives[RANKS][PAIRS];
static struct model_duration durations[RANKS][PAIRS];
static const int64_t shift_ns[RANKS] = {0, 5000000000, -3000000000};
static struct meetings meetings;
static struct clock *clocks;

/* The first rank meets the second, and the second the third: no other two do. Each clock shows the job's time
 * and its shift. The third comes early and waits. */
static void start(void)
{
    for (size_t r = 0; r < RANKS; r++) {
        models[r] = (struct model){.collectives = {collectives[r], PAIRS, PAIRS},
                                   .durations = {durations[r], PAIRS, PAIRS}};
        models[r].header.monotonic_ns = (uint64_t)((int64_t)BEGIN_NS + shift_ns[r]);
        models[r].header.realtime_ns = UINT64_C(1763690400000000000);
        for (uint64_t i = 0; i < PAIRS; i++) {
            uint64_t launched = (uint64_t)((int64_t)(BEGIN_NS + i * STEP_NS) + shift_ns[r]);
            uint64_t arrives = launched + (r == 2 ? 0 : LATE_NS);
            bool with_third = r == 2 || (r == 1 && i % 2);
            collectives[r][i] = (struct model_collective){
                .tick = i + 1, .time_ns = launched, .communicator = with_third ? 9 : 7, .function = REDUCE};
            durations[r][i] = (struct model_duration){i + 1, launched + LATE_NS + 7000 - arrives, arrives};
        }
    }
    /* So the third has only what the second has. */
    for (size_t i = 0; i < PAIRS / 2; i++) {
        collectives[0][i] = collectives[0][2 * i];
        durations[0][i] = durations[0][2 * i];
        collectives[2][i] = collectives[2][2 * i + 1];
        durations[2][i] = durations[2][2 * i + 1];
    }
    for (size_t r = 0; r < RANKS; r += 2) models[r].collectives.count = models[r].durations.count = PAIRS / 2;
}

static void find(void)
{
    const struct model *all[RANKS] = {&models[0], &models[1], &models[2]};
    free(clocks);
    meetings_free(&meetings);
    assert_true(meetings_find(all, RANKS, false, &meetings));
    assert_true(clocks_find(&meetings, &clocks));
}

static void check_shifts(uint64_t most_ns)
{
    for (size_t r = 0; r < RANKS; r++) {
        uint64_t own = (uint64_t)((int64_t)BEGIN_NS + shift_ns[r]) + 12345678;
        assert_true(llabs((int64_t)(clock_on_first(&clocks[r], own) - BEGIN_NS - 12345678)) <=
                    (long long)most_ns);
    }
}

static void clocks_are_lined_up_at_the_ends(void **state)
{
    (void)state;
    start();
    models[1].header.realtime_ns += 1234567; /* who asked for the time of day got another answer */
    find();
    assert_int_equal(clocks[0].basis, CLOCK_IS_FIRST);
    assert_int_equal(clocks[1].basis, CLOCK_BY_COLLECTIVES);
    assert_int_equal(clocks[2].basis, CLOCK_BY_COLLECTIVES); /* by way of the second */
    assert_int_equal(clocks[1].pairs, PAIRS / 2);
    check_shifts(2);
    const struct meeting_entry *entry = meeting_entry(&meetings, &meetings.members[0]);
    assert_int_equal(clock_arrived(&clocks[0], entry), entry->launched_ns + LATE_NS);
}

static void a_device_with_a_clock_of_its_own_tells_nothing(void **state)
{
    (void)state;
    start();
    for (size_t i = 0; i < PAIRS; i++) durations[1][i].began_ns -= i * STEP_NS / 2;
    find();
    assert_true(clocks[1].own_device_clock);
    assert_false(clocks[0].own_device_clock);
    assert_int_equal(clocks[1].basis, CLOCK_BY_REALTIME);
    assert_int_equal(clocks[2].basis, CLOCK_BY_REALTIME); /* it met nobody else */
    check_shifts(0);
    const struct meeting_entry *entry = &meetings.ranks[1].entries[3];
    assert_int_equal(clock_arrived(&clocks[1], entry), entry->launched_ns);
}

static void what_was_not_timed_tells_nothing(void **state)
{
    (void)state;
    start();
    models[0].durations.count = 0;
    find();
    for (size_t r = 1; r < RANKS; r++) assert_int_equal(clocks[r].basis, CLOCK_BY_REALTIME);
    assert_int_equal(clock_arrived(&clocks[0], &meetings.ranks[0].entries[3]),
                     meetings.ranks[0].entries[3].launched_ns);
    check_shifts(0);
}

/* Of very many collectives some are taken, from the beginning to the end. */
static void some_of_many_do(void **state)
{
    (void)state;
    struct model many[2] = {{.header.process = 1}, {.header.process = 2}};
    const struct model *all[2] = {&many[0], &many[1]};
    struct meetings met;
    struct clock *found;
    for (size_t r = 0; r < 2; r++) {
        many[r].collectives =
            (__typeof__(many[r].collectives)){calloc(MANY, sizeof(struct model_collective)), MANY, MANY};
        many[r].durations =
            (__typeof__(many[r].durations)){calloc(MANY, sizeof(struct model_duration)), MANY, MANY};
        for (uint64_t i = 0; i < MANY; i++) {
            uint64_t at = BEGIN_NS + i * STEP_NS - (r ? i * STEP_NS / 50000 : 0);
            many[r].collectives.at[i] =
                (struct model_collective){i + 1, at, 8, .communicator = 7, .function = REDUCE};
            many[r].durations.at[i] = (struct model_duration){i + 1, 5000, at};
        }
    }
    assert_true(meetings_find(all, 2, false, &met));
    assert_true(clocks_find(&met, &found));
    assert_in_range(found[1].pairs, 20000, 70000);
    assert_true(found[1].drift > 1.9e-5 && found[1].drift < 2.1e-5);
    for (size_t i = 0; i < MANY; i += MANY - 1)
        assert_true(llabs((int64_t)(clock_on_first(&found[1], many[1].collectives.at[i].time_ns) -
                                    many[0].collectives.at[i].time_ns)) < 1000);
    free(found);
    meetings_free(&met);
    for (size_t r = 0; r < 2; r++) {
        free(many[r].collectives.at);
        free(many[r].durations.at);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(offset_and_drift_are_found),
        cmocka_unit_test(late_ends_do_not_count),
        cmocka_unit_test(few_pairs_tell_no_drift),
        cmocka_unit_test(no_figure_is_too_large),
        cmocka_unit_test(clocks_are_lined_up_at_the_ends),
        cmocka_unit_test(a_device_with_a_clock_of_its_own_tells_nothing),
        cmocka_unit_test(what_was_not_timed_tells_nothing),
        cmocka_unit_test(some_of_many_do),
    };
    int failed = cmocka_run_group_tests_name("clocks", tests, NULL, NULL);
    free(clocks);
    meetings_free(&meetings);
    return failed;
}
