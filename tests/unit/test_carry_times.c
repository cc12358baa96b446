/* The times of movements that movers carry out: breaks if the link's speed is not that of the movements, if
 * something is timed that says nothing of it, or if the time in the driver's calls is not what they took. */
#include "carry_scene.h"

/* The event in front of it is recorded when nothing is left to wait for. */
static void a_movement_is_timed_from_its_call_to_its_end(void **state)
{
    (void)state;
    device.now_ns = 1000 * MS;
    sl_migrator_time(&migrator, NULL);
    seen.takes_ns = 5 * MS;
    bring_now(0);
    assert_int_equal(migrator.link.in.count + migrator.link.out.count, 0); /* nobody has asked */
    sl_transfers_time_some(migrator.in.transfers);
    sl_transfers_time_some(migrator.out.transfers);
    release(0);
    seen.takes_ns = 7 * MS;
    carry_next(true);
    assert_int_equal(migrator.link.out.count, 1);
    const struct sl_link_span *span = &migrator.link.out.spans[0];
    assert_int_equal(span->end_ns - span->begin_ns, 7 * MS);
    assert_int_equal(span->bytes, CHUNK);
    assert_int_equal(noted_host_waits(&device, mover.begin), 1);
    assert_ptr_equal(noted_event(mover.begin)->stream, mover.stream);
    seen.takes_ns = 3 * MS;
    bring_now(0);
    assert_int_equal(migrator.link.in.count, 1);
    span = &migrator.link.in.spans[0];
    assert_int_equal(span->end_ns - span->begin_ns, 3 * MS);
    assert_int_equal(span->bytes, CHUNK);
}

static void what_says_nothing_of_the_link_is_not_timed(void **state)
{
    (void)state;
    device.now_ns = 1000 * MS;
    sl_migrator_time(&migrator, NULL);
    sl_transfers_time_some(migrator.in.transfers);
    seen.takes_ns = MS;
    for (sl_chunk c = 0; c < 2; c++) {
        bring_now(c); /* it never held anything */
        release(c);
        carry_next(true);
    }
    sl_arena_give(arena, 0);
    bring_now(0); /* nor does it now */
    assert_int_equal(migrator.link.in.count, 0);
    atomic_store(&captures, 1);
    bring_now(1);
    atomic_store(&captures, 0);
    assert_int_equal(migrator.link.in.count, 0);
    atomic_store(&record(2)->content, SL_CONTENT_HOST);
    bring_now(2); /* it never left, so who knows where it is */
    assert_int_equal(migrator.link.in.count, 0);
    release(2);
    carry_next(true);
    release(1);
    carry_next(true);
    bring_now(1);
    assert_int_equal(migrator.link.in.count, 1); /* one that says something */
    seen.answer = SL_ERR_DRIVER;
    bring_now(2);
    assert_int_equal(migrator.link.in.count, 1);
}

/* Two at a time, each of which gets half of the link. */
static void movements_side_by_side_have_the_links_speed(void **state)
{
    (void)state;
    struct sl_mover *movers[] = {&mover, &second};
    struct sl_movement *under_way[2] = {NULL};
    device.now_ns = 1000 * MS;
    sl_migrator_time(&migrator, NULL);
    for (sl_chunk c = 0; c < CHUNKS; c++) bring_now(c);
    sl_transfers_time_some(migrator.out.transfers);
    for (uint32_t i = 0; i < SL_LINK_SPANS + 2; i++) {
        struct sl_mover *by = movers[i % 2];
        if (under_way[i % 2]) {
            sl_carry_out_call(&migrator, by, under_way[i % 2]);
            sl_carry_out_wait_behind(&migrator, under_way[i % 2]);
            sl_carry_out_land(&migrator, by, under_way[i % 2]);
        }
        if (i >= CHUNKS) {
            bring(i % CHUNKS);
            carry(by, sl_movers_take(migrator.movers, false));
        }
        release(i % CHUNKS);
        under_way[i % 2] = sl_movers_take(migrator.movers, true);
        sl_carry_out_wait_before(&migrator, by, under_way[i % 2]);
        device.now_ns += MS;
        seen.count = device.wait_count = 0;
    }
    assert_int_equal(migrator.link.out.count, SL_LINK_SPANS);
    for (uint32_t i = 0; i < SL_LINK_SPANS; i++)
        assert_int_equal(migrator.link.out.spans[i].end_ns - migrator.link.out.spans[i].begin_ns, 2 * MS);
    uint64_t in = 0, out = 0, whole = (uint64_t)(SL_LINK_SHARED * CHUNK * 1e9 / MS);
    sl_link_speeds(&migrator.link, &in, &out);
    assert_in_range(out, whole - whole / 1000, whole + whole / 1000);
    assert_int_equal(in, out);
    for (int m = 0; m < 2; m++) sl_movers_give(migrator.movers, under_way[m]);
}

/* One of four calls of a mover is measured, unless a trace wants all: then each stands for itself alone. */
static void the_time_in_calls_is_counted(void **state)
{
    (void)state;
    device.now_ns = 1000 * MS;
    sl_migrator_time(&migrator, NULL);
    for (sl_chunk c = 0; c < CHUNKS; c++) bring_now(c); /* there is nothing to copy yet */
    assert_int_equal(stats.total.call_ns[0], 0);
    uint64_t in_ns = 0, out_ns = 0;
    for (uint32_t i = 0; i < 16; i++) {
        migrator.traced = i >= 8;
        seen.takes_ns = 5 * MS;
        out_ns += migrator.traced ? 5 * MS : second.count % 4 ? 0 : 20 * MS;
        release(i % CHUNKS);
        carry(&second, sl_movers_take(migrator.movers, true));
        assert_int_equal(stats.total.call_ns[1], out_ns);
        seen.takes_ns = 3 * MS;
        in_ns += migrator.traced ? 3 * MS : mover.count % 4 ? 0 : 12 * MS;
        bring_now(i % CHUNKS);
        assert_int_equal(stats.total.call_ns[0], in_ns);
        seen.count = device.wait_count = 0;
    }
    assert_int_equal(in_ns, 16 * 3 * MS);
    assert_int_equal(out_ns, 16 * 5 * MS);
    assert_int_equal(sl_stats_now(&stats)->call_ns[1], stats.total.call_ns[1]);
    release(0);
    carry(&second, sl_movers_take(migrator.movers, true));
    uint64_t before = stats.total.call_ns[0];
    seen.answer = SL_ERR_DRIVER;
    bring_now(0); /* a refused call moves nothing */
    assert_int_equal(stats.total.call_ns[0], before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_movement_is_timed_from_its_call_to_its_end, start, stop),
        cmocka_unit_test_setup_teardown(what_says_nothing_of_the_link_is_not_timed, start, stop),
        cmocka_unit_test_setup_teardown(movements_side_by_side_have_the_links_speed, start, stop),
        cmocka_unit_test_setup_teardown(the_time_in_calls_is_counted, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
