/* The counts, and what is said of them: breaks if something is counted as what it is not, in the wrong
 * iteration or twice, or if the statistics take the place of a file that is none of ours. */
#include "move/stats.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct sl_stats stats;

static int start(void **state)
{
    (void)state;
    return sl_stats_init(&stats) == SL_OK ? 0 : -1;
}

static int stop(void **state)
{
    (void)state;
    sl_stats_close(&stats);
    return 0;
}

/* --- counting --- */

static void counts_are_of_their_iteration(void **state)
{
    (void)state;
    for (uint64_t i = 1; i <= 3; i++) {
        for (uint64_t k = 0; k < i; k++) sl_stats_launched(&stats);
        SL_COUNT(&stats, demand_misses, 10 * i);
        sl_stats_next_iteration(&stats);
    }
    for (uint64_t i = 1; i <= 3; i++) {
        assert_int_equal(stats.iterations[i - 1].launches, i);
        assert_int_equal(stats.iterations[i - 1].demand_misses, 10 * i);
    }
    assert_int_equal(stats.total.launches, 6);
    assert_int_equal(stats.total.demand_misses, 60);
    assert_ptr_equal(sl_stats_now(&stats), &stats.iterations[3]);
}

static void the_last_iteration_collects_the_rest(void **state)
{
    (void)state;
    for (int i = 0; i < SL_MAX_ITERATIONS + 100; i++) {
        sl_stats_launched(&stats);
        sl_stats_next_iteration(&stats);
    }
    assert_int_equal(stats.iterations[SL_MAX_ITERATIONS - 1].launches, 101);
    assert_int_equal(stats.total.launches, SL_MAX_ITERATIONS + 100);
}

/* Each kind of movement with each cause: a number of bytes that no other has. */
static void movements_count_as_what_they_are(void **state)
{
    (void)state;
    static const enum sl_action_kind kinds[] = {SL_ACTION_EVICT, SL_ACTION_DISCARD, SL_ACTION_FETCH,
                                                SL_ACTION_POPULATE};
    for (uint64_t k = 0; k < 4; k++)
        for (uint64_t cause = SL_CAUSE_PLAN; cause <= SL_CAUSE_LATE; cause++)
            sl_stats_moved(&stats, kinds[k], (enum sl_move_cause)cause, 1, (k * 3 + cause + 1) * 1000);
    assert_int_equal(sl_stats_bytes(stats.total.bytes_out), 1000 + 2000 + 3000);
    for (uint64_t cause = 0; cause < 3; cause++) {
        assert_int_equal(stats.total.bytes_out[cause], (cause + 1) * 1000);
        assert_int_equal(stats.total.bytes_in[cause], (cause + 7) * 1000);
    }
    assert_int_equal(sl_stats_bytes(stats.total.bytes_in), 7000 + 8000 + 9000);
    assert_int_equal(sl_stats_bytes(sl_stats_now(&stats)->bytes_in), sl_stats_bytes(stats.total.bytes_in));
    assert_int_equal(sl_stats_bytes(sl_stats_now(&stats)->bytes_out), sl_stats_bytes(stats.total.bytes_out));
    assert_int_equal(stats.dropped_bytes, 4000 + 5000 + 6000);
    assert_int_equal(stats.populated_bytes, 10000 + 11000 + 12000);
    assert_int_equal(stats.total.late_prefetches, 1); /* the late fetch: only copies are waited for */
}

static void a_movements_record_says_what_moved(void **state)
{
    (void)state;
    atomic_store(&stats.tick, 77);
    struct sl_event late = sl_stats_moved(&stats, SL_ACTION_FETCH, SL_CAUSE_LATE, 5, 4096);
    assert_int_equal(late.type, SL_EVENT_MOVE);
    assert_true(late.id == 5 && late.tick == 77 && late.a == 4096);
    assert_int_equal(late.flags, SL_ACTION_FETCH | SL_CAUSE_LATE << 4);
    struct sl_event populated = sl_stats_moved(&stats, SL_ACTION_POPULATE, SL_CAUSE_LATE, 5, 4096);
    assert_int_equal(populated.flags, SL_ACTION_POPULATE | SL_CAUSE_PLAN << 4);
}

static void the_peak_is_the_most(void **state)
{
    (void)state;
    sl_stats_occupied(&stats, 10);
    sl_stats_occupied(&stats, 30);
    sl_stats_occupied(&stats, 20);
    assert_int_equal(stats.peak_occupied_bytes, 30);
}

/* --- what is written --- */

static const struct sl_stats *const devices[] = {&stats, &stats};

static char *printed(uint32_t count, bool complete)
{
    char *text = NULL;
    size_t bytes;
    FILE *memory = open_memstream(&text, &bytes);
    assert_non_null(memory);
    sl_stats_print(memory, devices, count, complete);
    fclose(memory);
    return text;
}

static void assert_says(const char *text, const char *what)
{
    if (!strstr(text, what)) fail_msg("no %s in:\n%s", what, text);
}

/* Each member has a value that no other has. */
static void every_figure_stands_under_its_name(void **state)
{
    (void)state;
    struct sl_counts *iterations = stats.iterations;
    stats = (struct sl_stats){
        .total = {201, 202, 203, 204, 205, 206, {211, 212, 213}, {214, 215, 216}, 208, 1000000009},
        .iterations = iterations,
        .budget_bytes = 101,
        .chunk_bytes = 102,
        .need_bytes = 103,
        .live_bytes = 104,
        .chunks = 105,
        .policy = "plan",
        .daemon = "inline",
        .predicted = 106,
        .fed = 107,
        .link_in_bytes_per_s = 108,
        .link_out_bytes_per_s = 109,
        .placed_bytes = 110,
        .placed_live_bytes = 111,
        .pinned_peak_bytes = 112,
        .primed = 113,
        .host_limit_bytes = 114,
        .checks_failed = 115,
        .link_sharers = 116,
        .link_alone_bytes_per_s = 1000000000,
        .movers = 3,
        .recent_ns = 2000000000,
        .recent.call_ns = {1000000117, 2000000118},
        .recent.stall_ns = 100000000,
        .populated_bytes = 217,
        .dropped_bytes = 218,
        .unused_bytes = 219,
        .peak_occupied_bytes = 220,
        .plans = 221,
        .total.mispredictions = 222,
        .oversize_launches = 223,
        .plan_ns = 2000000224,
        .plans_late = 225,
        .plan_longest_ns = 227};
    iterations[0].launches = 301;
    static const char *const says[] = {
        "\"version\": 1, \"complete\": true,",
        "\"policy\": \"plan\", \"daemon\": \"inline\",",
        "\"budget_bytes\": 101, \"chunk_bytes\": 102, \"need_bytes\": 103, \"live_bytes\": 104, \"chunks\": "
        "105,",
        "\"peak_bytes\": 220, \"populated_bytes\": 217, \"discarded_bytes\": 218, \"unused_bytes\": 219,",
        "\"plans\": 221, \"plans_late\": 225, \"plan_seconds\": 2.000000224,",
        "\"plan_launch_seconds_most\": 0.000000227, \"mispredictions\": 222, \"oversize_launches\": 223,",
        "\"predicted\": 106, \"fed\": 107, \"primed\": 113,",
        "\"placed_bytes\": 110, \"placed_live_bytes\": 111,",
        "\"pinned_peak_bytes\": 112, \"host_limit_bytes\": 114,",
        "\"checks_failed\": 115,",
        "\"link_sharers\": 116, \"link_in_bytes_per_s\": 108, \"link_out_bytes_per_s\": 109, "
        "\"link_alone_bytes_per_s\": "
        "1000000000, \"movers\": 3,",
        "\"host_cores\": 1.500, \"limit\": \"threads\",",
        "\"bytes_in_by_cause\": {\"plan\": 211, \"demand\": 212, \"late\": 213},",
        "\"bytes_out_by_cause\": {\"plan\": 214, \"demand\": 215, \"late\": 216},",
        "\"total\": {\"launches\": 201, \"demand_misses\": 202, \"late_prefetches\": 203, "
        "\"remote_bytes\": 204, \"pinned_bytes\": 205, \"in_place_bytes\": 206, \"bytes_in\": 636, "
        "\"bytes_out\": 645, "
        "\"stalls\": 208, \"stall_seconds\": 1.000000009}",
        "{\"number\": 1, \"launches\": 301,",
    };
    char *text = printed(1, true);
    assert_memory_equal(text, SL_STATS_MARKER, strlen(SL_STATS_MARKER));
    for (size_t i = 0; i < sizeof says / sizeof *says; i++) assert_says(text, says[i]);
    assert_string_equal(text + strlen(text) - 4, "}]}\n");
    free(text);
}

#define GB UINT64_C(1000000000)

/* 1 s in which 6 GB go each way over a link of 10 GB/s; threads are in calls for 0.5 and 1.2 s. */
static const struct sl_moving half = {.ns = GB,
                                      .stall_ns = GB / 10,
                                      .bytes = {6 * GB, 6 * GB},
                                      .call_ns = {GB / 2, 12 * GB / 10},
                                      .bytes_per_s = {10 * GB, 10 * GB},
                                      .threads = {1, 2}};

static void what_is_busier_limits(void **state)
{
    (void)state;
    struct sl_moving moving = half;
    sl_moving_judge(&moving);
    assert_float_equal(moving.cores, 1.7, 1e-9);
    assert_float_equal(moving.link[0], 0.6, 1e-9);
    assert_float_equal(moving.link[1], 0.6, 1e-9);
    assert_string_equal(moving.limit, "link"); /* 12 GB of 15 that it carries both ways, threads 0.6 */
    moving.threads[1] = 1;
    moving.call_ns[1] = 9 * GB / 10;
    sl_moving_judge(&moving);
    assert_string_equal(moving.limit, "threads");
    moving.bytes[0] = 95 * GB / 10; /* one direction is full, whatever the other does */
    moving.bytes[1] = 0;
    sl_moving_judge(&moving);
    assert_string_equal(moving.limit, "link");
    moving.call_ns[0] = 96 * GB / 100;
    sl_moving_judge(&moving);
    assert_string_equal(moving.limit, "threads");
    moving.threads[0] = moving.threads[1] = 0;
    sl_moving_judge(&moving);
    assert_string_equal(moving.limit, "link");
}

static void who_does_not_wait_is_not_limited(void **state)
{
    (void)state;
    struct sl_moving moving = half;
    moving.stall_ns = GB / 200;
    sl_moving_judge(&moving);
    assert_string_equal(moving.limit, "neither");
    assert_float_equal(moving.cores, 1.7, 1e-9);
    moving.ns = 0;
    sl_moving_judge(&moving);
    assert_string_equal(moving.limit, "unknown");
    assert_float_equal(moving.cores, 0, 0);
    struct sl_stats inlined = {.recent_ns = GB, .link_alone_bytes_per_s = GB};
    sl_stats_moving(&inlined, &moving); /* it has no movers */
    assert_string_equal(moving.limit, "unknown");
}

static void further_devices_are_within_the_first(void **state)
{
    (void)state;
    char *text = printed(2, true);
    assert_says(text, ",\n \"other_devices\": [\n" SL_STATS_MARKER);
    assert_string_equal(text + strlen(text) - 6, "}]}]}\n");
    free(text);
}

/* One that has no launches yet is none; the first is listed in any case. */
static void iterations_are_listed_that_had_launches(void **state)
{
    (void)state;
    char *text = printed(1, false);
    assert_says(text, "\"complete\": false");
    assert_says(text, "{\"number\": 1, \"launches\": 0,");
    assert_null(strstr(text, "\"number\": 2"));
    free(text);
    sl_stats_launched(&stats);
    sl_stats_next_iteration(&stats);
    text = printed(1, false);
    assert_null(strstr(text, "\"number\": 2"));
    free(text);
    sl_stats_launched(&stats);
    text = printed(1, false);
    assert_says(text, "},\n  {\"number\": 2, \"launches\": 1,");
    free(text);
}

static void fill(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void assert_begins(const char *path, const char *with)
{
    char begins[64] = {0};
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_true(fread(begins, 1, strlen(with), file) > 0);
    fclose(file);
    assert_string_equal(begins, with);
}

static void only_statistics_are_replaced(void **state)
{
    (void)state;
    char folder[] = "/tmp/sluice-stats-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/s.json", folder);
    assert_int_equal(sl_stats_write(devices, 1, false, path), SL_OK);
    assert_int_equal(sl_stats_write(devices, 1, false, path), SL_OK);
    assert_begins(path, SL_STATS_MARKER);
    fill(path, "a letter");
    assert_int_equal(sl_stats_write(devices, 1, false, path), SL_ERR_IO);
    assert_begins(path, "a letter");
    unlink(path);
    rmdir(folder);
    assert_int_equal(sl_stats_write(devices, 1, false, path), SL_ERR_IO); /* there is no such folder */
}

/* --- what is said --- */

static char said[4096];

static void say(const char *text)
{
    assert_null(strchr(text, '\n'));
    assert_true(strlen(said) + strlen(text) + 2 < sizeof said);
    strcat(strcat(said, text), "\n");
}

static const char *saying(void)
{
    said[0] = 0;
    sl_stats_say(&stats, say);
    return said;
}

static void the_summary_says_what_there_was(void **state)
{
    (void)state;
    stats.memory = SL_MEMORY_MOVED;
    stats.need_bytes = 3 * SL_GIB;
    stats.budget_bytes = SL_GIB;
    stats.chunk_bytes = 2 * SL_MIB;
    stats.predicted = 3;
    stats.fed = 4;
    SL_COUNT(&stats, bytes_in[SL_CAUSE_DEMAND], 5 * SL_MIB);
    SL_COUNT(&stats, stalls, 2);
    SL_COUNT(&stats, stall_ns, 1500000000);
    const char *text = saying();
    assert_says(text, "needed 3 GiB, was given 1 GiB, used 0 B; chunks of 2 MiB\n");
    assert_says(
        text, "moved: 5 MiB in, 0 B out; 0 launches, 0 demand misses, 0 late prefetches, 2 stalls (1.500 s)");
    assert_says(text, "0 plans, 0 mispredictions, 75.0 % of 4 events predicted");
    assert_null(strstr(text, "placed"));
    assert_null(strstr(text, "fits"));
    assert_null(strstr(text, "pinned"));
    stats.placed_bytes = 4 * SL_MIB;
    stats.placed_live_bytes = 3 * SL_MIB;
    stats.pinned_peak_bytes = SL_MIB;
    text = saying();
    assert_says(text, "placed: chunks held 4 MiB for 3 MiB of data, 25.0 % of it unused\n");
    assert_says(text, "pinned: 1 MiB of it lay in pinned host memory");
    assert_says(text, "fits: all of it had room in the budget, so nothing was evicted; sluice has work with "
                      "less than 4 MiB\n");
    SL_COUNT(&stats, bytes_out[SL_CAUSE_PLAN], 2 * SL_MIB);
    assert_null(strstr(saying(), "fits"));
}

/* Where nothing is moved nothing is said of movements; where nothing was fed, of no part of it. */
static void what_is_not_moved_is_said_shortly(void **state)
{
    (void)state;
    stats.memory = SL_MEMORY_NOTED;
    stats.need_bytes = SL_GIB;
    sl_stats_launched(&stats);
    assert_string_equal(saying(), "recorded only: the program used 1 GiB of device memory; 1 launches, "
                                  "0.0 % of 0 events predicted\n");
    stats.memory = SL_MEMORY_PAGED;
    assert_string_equal(saying(), "left to the driver: the program needed 1 GiB, 0 B were free; "
                                  "1 launches, 0.0 % of 0 events predicted\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(counts_are_of_their_iteration, start, stop),
        cmocka_unit_test_setup_teardown(the_last_iteration_collects_the_rest, start, stop),
        cmocka_unit_test_setup_teardown(movements_count_as_what_they_are, start, stop),
        cmocka_unit_test_setup_teardown(a_movements_record_says_what_moved, start, stop),
        cmocka_unit_test_setup_teardown(the_peak_is_the_most, start, stop),
        cmocka_unit_test_setup_teardown(every_figure_stands_under_its_name, start, stop),
        cmocka_unit_test(what_is_busier_limits),
        cmocka_unit_test(who_does_not_wait_is_not_limited),
        cmocka_unit_test_setup_teardown(further_devices_are_within_the_first, start, stop),
        cmocka_unit_test_setup_teardown(iterations_are_listed_that_had_launches, start, stop),
        cmocka_unit_test_setup_teardown(only_statistics_are_replaced, start, stop),
        cmocka_unit_test_setup_teardown(the_summary_says_what_there_was, start, stop),
        cmocka_unit_test_setup_teardown(what_is_not_moved_is_said_shortly, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
