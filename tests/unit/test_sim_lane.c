/* The movements of one direction: when the driver sees it idle, and what runs side by side. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* clang-format off */
#include <cmocka.h>
/* clang-format on */

#include "tools/sim/sim_lane.h"

enum { RETIRE_NS = 50 };

static const struct sl_sim_link link = {.bytes_per_ns = {1, 1}, .both = 1};
static struct sl_sim_lane lane;
static struct sl_sim_event *event;

static void open_lane(enum sl_sim_way way, uint32_t workers)
{
    struct sl_sim_driver driver = {.retire_ns = RETIRE_NS, .workers = workers};
    struct sl_sim_clock *clock = sl_sim_clock_new(&link, workers, NULL);
    assert_non_null(clock);
    assert_true(sl_sim_lane_open(&lane, clock, &driver, way));
    event = sl_sim_event_new(clock);
    assert_non_null(event);
}

static void move(uint64_t host_ns, uint64_t slab, uint64_t took_ns)
{
    struct sl_sim_work work = {.fixed_ns = took_ns, .by_worker = true, .ranged = SL_SIM_RANGE_ALWAYS};
    assert_true(sl_sim_lane_move(&lane, host_ns, slab * SL_GIB, &work));
}

/* When all that the lane has is over. */
static double end_of(uint64_t host_ns)
{
    uint64_t now_ns;
    assert_true(sl_sim_lane_record(&lane, host_ns, event));
    assert_true(sl_sim_run_to_event(lane.clock, event, &now_ns));
    return sl_sim_reached_ns(event);
}

static void test_idle(void **state)
{
    (void)state;
    open_lane(SL_SIM_OUT, 1);
    assert_true(sl_sim_lane_settle(&lane, 0));
    move(0, 0, 100);
    assert_false(sl_sim_lane_settle(&lane, 99));
    assert_false(sl_sim_lane_settle(&lane, 100 + RETIRE_NS - 1)); /* the driver has not noticed yet */
    sl_sim_lane_know(&lane, lane.given);
    assert_true(sl_sim_lane_settle(&lane, 100 + RETIRE_NS - 1));
    assert_true(sl_sim_lane_wait(&lane, 200, event)); /* for what is over */
    assert_false(sl_sim_lane_settle(&lane, 200 + RETIRE_NS - 1));
    assert_true(sl_sim_lane_settle(&lane, 200 + RETIRE_NS));
    sl_sim_lane_know(&lane, 0); /* what was known before stays known */
    assert_int_equal(lane.known, 1);
    sl_sim_clock_delete(lane.clock);
}

/* With one worker all run one after the other; with several, those of one slab do. */
static void test_side_by_side(void **state)
{
    (void)state;
    static const struct {
        enum sl_sim_way way;
        uint32_t workers;
        uint64_t slab, end_ns;
    } rows[] = {
        {SL_SIM_OUT, 1, 1, 200}, {SL_SIM_OUT, 2, 0, 200}, {SL_SIM_OUT, 2, 1, 100}, {SL_SIM_IN, 2, 1, 100}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        open_lane(rows[i].way, rows[i].workers);
        move(0, 0, 100);
        move(0, rows[i].slab, 100);
        assert_float_equal(end_of(0), (double)rows[i].end_ns, 0);
        sl_sim_clock_delete(lane.clock);
    }
}

/* Movers have a direction each: more go to the host. */
static void test_movers(void **state)
{
    (void)state;
    struct sl_sim_driver driver = {.workers = 5, .movers = 3};
    assert_int_equal(sl_sim_driver_threads(&driver, SL_SIM_OUT), 3);
    assert_int_equal(sl_sim_driver_threads(&driver, SL_SIM_IN), 2);
    for (int way = 0; way < SL_SIM_WAYS; way++) {
        struct sl_sim_clock *clock = sl_sim_clock_new(&link, driver.workers, NULL);
        assert_true(clock && sl_sim_lane_open(&lane, clock, &driver, (enum sl_sim_way)way));
        event = sl_sim_event_new(clock);
        for (uint64_t slab = 0; slab < 4; slab++) move(0, slab, 100);
        assert_float_equal(end_of(0), 200, 0);
        move(200, 0, 100);
        move(200, 1, 100);
        move(200, 2, 100);
        assert_float_equal(end_of(200), way == SL_SIM_OUT ? 300 : 400, 0);
        sl_sim_clock_delete(clock);
    }
}

/* A record is reached when all before it is over, and what the lane waits for. */
static void test_order(void **state)
{
    (void)state;
    for (uint32_t workers = 1; workers <= 2; workers++) {
        uint32_t stream;
        open_lane(SL_SIM_OUT, workers);
        struct sl_sim_event *other = sl_sim_event_new(lane.clock);
        struct sl_sim_work work = {.fixed_ns = 300};
        assert_true(other && sl_sim_stream_new(lane.clock, &stream));
        assert_true(sl_sim_push(lane.clock, stream, 0, &work));
        assert_true(sl_sim_record(lane.clock, stream, 0, other));
        move(0, 0, 500);
        assert_true(sl_sim_lane_wait(&lane, 0, other));
        move(0, 1, 10);
        assert_float_equal(end_of(0), workers == 1 ? 510 : 500, 0);
        assert_true(sl_sim_push(lane.clock, stream, 600, &work));
        assert_true(sl_sim_record(lane.clock, stream, 600, other));
        assert_true(sl_sim_lane_wait(&lane, 600, other));
        assert_float_equal(end_of(600), 900, 0);
        sl_sim_clock_delete(lane.clock);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_idle),
        cmocka_unit_test(test_side_by_side),
        cmocka_unit_test(test_movers),
        cmocka_unit_test(test_order),
    };
    return cmocka_run_group_tests_name("sim lane", tests, NULL, NULL);
}
