/* Places on the simulated clock: engines, links, kernels, and the peak of device memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "timing.h"

#define BLOCK SC_BLOCK_BYTES
#define BASE (UINT64_C(1) << 40)

static struct sc_timing timing;
static struct sc_placed placed;

/* Round numbers: 1 byte each ns on the link alone, half of it shared; 100 bytes or 1000 flops each ns inside.
 */
static int setup(void **state)
{
    (void)state;
    sc_timing_init(&timing, &(struct sc_machine){.memory_bytes = 4 * BLOCK,
                                                 .device_bytes_per_ns = 100,
                                                 .flops_per_ns = 1000,
                                                 .link_in_bytes_per_ns = 1,
                                                 .link_out_bytes_per_ns = 1,
                                                 .link_both_bytes_per_ns = 0.5,
                                                 .launch_ns = 10,
                                                 .fault_ns = 7});
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sc_timing_destroy(&timing);
    return 0;
}

static void copy(uint64_t ready_ns, enum sc_side to, enum sc_side from, uint64_t bytes)
{
    sc_timing_place(&timing,
                    &(struct sc_work){.kind = SC_WORK_COPY,
                                      .ready_ns = ready_ns,
                                      .destination = {BASE, bytes, 0},
                                      .source = {BASE, bytes, 0},
                                      .to = to,
                                      .from = from},
                    &placed);
}

static void move(enum sc_work_kind kind, uint64_t ready_ns, unsigned first, unsigned count, enum sc_place to)
{
    struct sc_span span = {BASE + first * BLOCK, count * BLOCK, to};
    sc_timing_place(&timing,
                    &(struct sc_work){.kind = kind, .ready_ns = ready_ns, .spans = &span, .span_count = 1},
                    &placed);
}

static void copies_of_one_direction_queue(void **state)
{
    (void)state;
    copy(5, SC_SIDE_DEVICE, SC_SIDE_PINNED, 1000);
    assert_int_equal(placed.start_ns, 5);
    assert_int_equal(placed.end_ns, 1005);
    copy(100, SC_SIDE_DEVICE, SC_SIDE_PINNED, 1000);
    assert_int_equal(placed.start_ns, 1005);
    assert_int_equal(placed.end_ns, 2005);
    assert_int_equal(placed.effect.in[SC_CAUSE_COPY], 1000);
    assert_int_equal(timing.engines[SC_ENGINE_COPY_IN].busy_ns, 2000);
}

static void both_directions_share_the_link_while_they_overlap(void **state)
{
    (void)state;
    copy(100, SC_SIDE_DEVICE, SC_SIDE_PINNED, 1000); /* busy from 100 to 1100 */
    copy(0, SC_SIDE_PINNED, SC_SIDE_DEVICE, 1000);
    /* 100 alone, 500 of the rest during the 1000 ns shared, 400 alone. */
    assert_int_equal(placed.start_ns, 0);
    assert_int_equal(placed.end_ns, 1500);
}

static void meet(uint64_t begin_ns, uint64_t end_ns)
{
    sc_timing_meet(&timing, begin_ns, end_ns, &(struct sc_effect){0});
}

static uint64_t ready_to_meet(uint64_t ready_ns)
{
    struct sc_effect effect = {0};
    uint64_t busy_ns;
    sc_timing_arrive(&timing, &(struct sc_work){.ready_ns = ready_ns, .cost = &(struct sc_cost){0}},
                     &ready_ns, &busy_ns, &effect);
    return ready_ns;
}

/* Without links of their own ranks meet over those to the host, which are not theirs while they wait. */
static void a_meeting_that_waits_leaves_the_link_to_others(void **state)
{
    (void)state;
    copy(0, SC_SIDE_DEVICE, SC_SIDE_PINNED, 100);
    assert_int_equal(ready_to_meet(50), 100);
    meet(400, 500); /* the last rank comes at 400 */
    copy(50, SC_SIDE_DEVICE, SC_SIDE_PINNED, 200);
    assert_int_equal(placed.start_ns, 100);
    assert_int_equal(placed.end_ns, 300);
    copy(50, SC_SIDE_DEVICE, SC_SIDE_PINNED, 200); /* stands still while they meet */
    assert_int_equal(placed.start_ns, 300);
    assert_int_equal(placed.end_ns, 600);
    assert_int_equal(timing.engines[SC_ENGINE_COPY_IN].busy_ns, 100 + 200 + 200 + 100);
    assert_int_equal(ready_to_meet(50), 600);
    copy(420, SC_SIDE_PINNED, SC_SIDE_DEVICE, 10);
    assert_int_equal(placed.end_ns, 520); /* shared with the way in behind the meeting */
}

static void meetings_over_links_of_their_own_hold_up_no_copy(void **state)
{
    (void)state;
    timing.machine.peer_bytes_per_ns = 10;
    meet(0, 500);
    copy(0, SC_SIDE_DEVICE, SC_SIDE_PINNED, 100);
    assert_int_equal(placed.end_ns, 100);
    assert_int_equal(ready_to_meet(0), 500);
}

/* Nothing is placed where forgotten ones were. */
static void forgotten_meetings(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 100; i++) meet(100 * i, 100 * i + 50);
    copy(1000, SC_SIDE_DEVICE, SC_SIDE_PINNED, 10);
    assert_int_equal(placed.start_ns, 1000);
    assert_int_equal(placed.end_ns, 1060);
    assert_int_equal(sc_timing_remembered(&timing), 100 + 100 + 1); /* meetings, peers, the copy */
    sc_timing_forget(&timing, 5000);
    assert_int_equal(sc_timing_remembered(&timing), 50 + 50);
    copy(0, SC_SIDE_PINNED, SC_SIDE_DEVICE, 10);
    assert_int_equal(placed.start_ns, 5000);
    assert_int_equal(placed.end_ns, 5060);
}

static struct sc_order mine, others;

static void copy_of(struct sc_order *order, uint64_t ready_ns, uint64_t bytes)
{
    sc_timing_place(&timing,
                    &(struct sc_work){.kind = SC_WORK_COPY,
                                      .ready_ns = ready_ns,
                                      .order = order,
                                      .destination = {BASE, bytes, 0},
                                      .source = {BASE, bytes, 0},
                                      .to = SC_SIDE_DEVICE,
                                      .from = SC_SIDE_PINNED},
                    &placed);
}

/* A thread that is ahead on the clock must not hold up one that is behind only because it was faster on the
 * host. Of one thread an engine takes them in order. */
static void another_thread_takes_the_first_gap(void **state)
{
    (void)state;
    mine = others = (struct sc_order){0};
    copy_of(&mine, 1000, 100);
    copy_of(&mine, 5000, 100);
    copy_of(&mine, 0, 100);
    assert_int_equal(placed.start_ns, 5100);
    copy_of(&others, 0, 950);
    assert_int_equal(placed.start_ns, 0);
    copy_of(&others, 0, 60); /* too long for the 50 ns before 1000 */
    assert_int_equal(placed.start_ns, 1100);
    copy_of(&others, 0, 20);
    assert_int_equal(placed.start_ns, 1160);
    copy_of(NULL, 0, 20); /* of no thread: behind all */
    assert_int_equal(placed.start_ns, 5200);
    assert_int_equal(timing.engines[SC_ENGINE_COPY_IN].busy_ns, 3 * 100 + 950 + 60 + 2 * 20);
}

/* Where the other direction slows it, it takes longer, and the gap must have room for that. */
static void a_gap_has_room_for_a_slowed_transfer(void **state)
{
    (void)state;
    mine = others = (struct sc_order){0};
    copy_of(&mine, 300, 100);
    copy(0, SC_SIDE_PINNED, SC_SIDE_DEVICE, 250); /* the way out: 0 to 250 */
    copy_of(&others, 0, 200);                     /* 125 of them until 250, 50 until 300: no room */
    assert_int_equal(placed.start_ns, 400);
    copy_of(&(struct sc_order){0}, 0, 175);
    assert_int_equal(placed.start_ns, 0);
    assert_int_equal(placed.end_ns, 300);
}

static void a_timeline_keeps_what_is_disjoint(void **state)
{
    (void)state;
    struct sc_timeline line = {0};
    sc_timeline_book(&line, 10, 20, 0);
    sc_timeline_book(&line, 30, 40, 0);
    sc_timeline_book(&line, 5, 35, 1); /* its free parts: 5 to 10, 20 to 30 */
    assert_int_equal(line.count, 4);
    assert_int_equal(sc_timeline_at(&line, 20)->start_ns, 20);
    assert_true(sc_timeline_at(&line, 20)->rate == 1);
    assert_int_equal(sc_timeline_at(&line, 39)->end_ns, 40);
    assert_null(sc_timeline_at(&line, 40));
    assert_int_equal(sc_timeline_idle(&line, 0), 0);
    assert_int_equal(sc_timeline_gap(&line, 0, 6), 40);
    sc_timeline_book(&line, 20, 30, 0); /* busy already */
    sc_timeline_book(&line, 40, 50, 0); /* touches: one with that before */
    sc_timeline_book(&line, 60, 70, 0);
    sc_timeline_book(&line, 50, 60, 0); /* touches on both sides */
    assert_int_equal(line.count, 4);
    assert_int_equal(sc_timeline_end(&line), 70);
    assert_int_equal(sc_timeline_at(&line, 30)->end_ns, 70);
    sc_timeline_forget(&line, 30);
    assert_int_equal(line.count, 1);
    assert_int_equal(sc_timeline_idle(&line, 0), 70); /* from the forgotten part on, which is over */
    sc_timeline_forget(&line, 100);
    assert_int_equal(sc_timeline_end(&line), 100);
    sc_timeline_destroy(&line);
}

static void pageable_copies_are_slower(void **state)
{
    (void)state;
    copy(0, SC_SIDE_DEVICE, SC_SIDE_PAGEABLE, 1000);
    assert_int_equal(placed.end_ns, 2000);
}

static void kernels_take_the_longer_of_arithmetic_and_memory(void **state)
{
    (void)state;
    struct sc_cost cost = {.flops = 5000, .bytes_read = 600, .bytes_written = 400};
    struct sc_work work = {.kind = SC_WORK_KERNEL, .cost = &cost};
    sc_timing_place(&timing, &work, &placed);
    assert_int_equal(placed.end_ns, 10 + 10);
    cost.flops = 50000;
    sc_timing_place(&timing, &work, &placed);
    assert_int_equal(placed.start_ns, 20);
    assert_int_equal(placed.end_ns, 20 + 10 + 50);
}

static void kernels_pay_for_remote_bytes_and_faults(void **state)
{
    (void)state;
    assert_true(sc_managed_allocate(&timing.managed, BASE, 4 * BLOCK));
    sc_managed_advise(&timing.managed, BASE, BLOCK, SC_ADVISE_PREFERRED, SC_HOST, &(struct sc_effect){0});
    sc_managed_advise(&timing.managed, BASE, BLOCK, SC_ADVISE_ACCESSED_BY, SC_DEVICE, &(struct sc_effect){0});
    struct sc_block_traffic traffic = {.block = BASE >> SC_BLOCK_SHIFT, .bytes_read = 300};
    struct sc_cost cost = {.bytes_read = 300, .blocks = &traffic, .block_count = 1};
    struct sc_work work = {.kind = SC_WORK_KERNEL, .cost = &cost};
    sc_timing_place(&timing, &work, &placed);
    assert_int_equal(placed.end_ns, 10 + 300);
    move(SC_WORK_PREFETCH, 0, 1, 1, SC_HOST); /* populated on the host: a touch migrates it */
    traffic.block++;
    sc_timing_place(&timing, &work, &placed);
    assert_int_equal(placed.effect.faults, 1);
    assert_int_equal(placed.end_ns - placed.start_ns, 10 + 3 + 7 + 2 * BLOCK);
}

/* A fault, by whatever the device writes with, before the operation goes on; the second write is free of it.
 */
static void the_first_write_to_a_duplicate_pays_for_the_collapse(void **state)
{
    (void)state;
    assert_true(sc_managed_allocate(&timing.managed, BASE, 3 * BLOCK));
    move(SC_WORK_PREFETCH, 0, 0, 3, SC_HOST);
    sc_managed_advise(&timing.managed, BASE, 3 * BLOCK, SC_ADVISE_READ_MOSTLY, SC_NOWHERE,
                      &(struct sc_effect){0});
    move(SC_WORK_PREFETCH, 0, 0, 3, SC_DEVICE);
    uint64_t idle_ns = placed.end_ns;
    struct sc_block_traffic traffic = {.block = BASE >> SC_BLOCK_SHIFT, .bytes_written = 300};
    struct sc_cost cost = {.bytes_written = 300, .blocks = &traffic, .block_count = 1};
    const struct sc_work works[] = {
        {.kind = SC_WORK_KERNEL, .cost = &cost, .ready_ns = idle_ns},
        {.kind = SC_WORK_SET,
         .ready_ns = idle_ns,
         .destination = {BASE + BLOCK, 300, SC_NOWHERE, 0},
         .to = SC_SIDE_MANAGED},
        {.kind = SC_WORK_COPY,
         .ready_ns = 2 * idle_ns, /* behind the others */
         .destination = {BASE + 2 * BLOCK, 300, SC_NOWHERE, 0},
         .source = {BASE, 300, SC_NOWHERE, 0},
         .to = SC_SIDE_MANAGED,
         .from = SC_SIDE_PINNED},
    };
    const uint64_t alone_ns[] = {10 + 3, 10 + 3, 300};
    for (int i = 0; i < 3; i++) {
        for (int again = 0; again < 2; again++) {
            sc_timing_place(&timing, &works[i], &placed);
            uint64_t begin_ns = works[i].kind == SC_WORK_COPY ? works[i].ready_ns : placed.start_ns;
            if (works[i].kind == SC_WORK_COPY && again) begin_ns = 2 * idle_ns + 7 + 300;
            assert_int_equal(placed.effect.collapses, !again);
            assert_int_equal(placed.end_ns - begin_ns, alone_ns[i] + (again ? 0 : 7));
        }
    }
    assert_int_equal(timing.totals.collapsed_bytes, 3 * BLOCK);
}

static void frames_that_are_reused_count_once(void **state)
{
    (void)state;
    assert_true(sc_managed_allocate(&timing.managed, BASE, 8 * BLOCK));
    move(SC_WORK_PREFETCH, 0, 0, 3, SC_DEVICE);
    move(SC_WORK_PREFETCH, 1000, 0, 1, SC_HOST);
    uint64_t freed_ns = placed.end_ns;
    move(SC_WORK_PREFETCH, freed_ns, 3, 1, SC_DEVICE);
    assert_int_equal(sc_footprint_peak(&timing.footprint), 3 * BLOCK);
    move(SC_WORK_DISCARD_PREFETCH, freed_ns + 1, 3, 1, SC_DEVICE);
    assert_int_equal(sc_footprint_peak(&timing.footprint), 3 * BLOCK);
    sc_timing_charge(&timing, freed_ns + 2, (int64_t)BLOCK);
    sc_timing_charge(&timing, freed_ns + 3, -(int64_t)BLOCK);
    assert_int_equal(sc_footprint_peak(&timing.footprint), 4 * BLOCK);
    assert_int_equal(sc_footprint_peak(&timing.allocated), BLOCK);
}

static void a_folded_footprint_keeps_its_peak(void **state)
{
    (void)state;
    struct sc_footprint footprint = {0};
    sc_footprint_add(&footprint, 10, 100);
    sc_footprint_add(&footprint, 30, -100);
    sc_footprint_add(&footprint, 30, 90); /* reused at the same moment */
    sc_footprint_add(&footprint, 20, 5);
    sc_footprint_fold(&footprint, 25);
    assert_int_equal(footprint.count, 2);
    assert_int_equal(sc_footprint_peak(&footprint), 105);
    sc_footprint_add(&footprint, 40, 20);
    assert_int_equal(sc_footprint_peak(&footprint), 115);
    sc_footprint_destroy(&footprint);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(copies_of_one_direction_queue, setup, teardown),
        cmocka_unit_test_setup_teardown(both_directions_share_the_link_while_they_overlap, setup, teardown),
        cmocka_unit_test_setup_teardown(a_meeting_that_waits_leaves_the_link_to_others, setup, teardown),
        cmocka_unit_test_setup_teardown(meetings_over_links_of_their_own_hold_up_no_copy, setup, teardown),
        cmocka_unit_test_setup_teardown(forgotten_meetings, setup, teardown),
        cmocka_unit_test_setup_teardown(another_thread_takes_the_first_gap, setup, teardown),
        cmocka_unit_test_setup_teardown(a_gap_has_room_for_a_slowed_transfer, setup, teardown),
        cmocka_unit_test(a_timeline_keeps_what_is_disjoint),
        cmocka_unit_test_setup_teardown(pageable_copies_are_slower, setup, teardown),
        cmocka_unit_test_setup_teardown(kernels_take_the_longer_of_arithmetic_and_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(kernels_pay_for_remote_bytes_and_faults, setup, teardown),
        cmocka_unit_test_setup_teardown(the_first_write_to_a_duplicate_pays_for_the_collapse, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(frames_that_are_reused_count_once, setup, teardown),
        cmocka_unit_test_setup_teardown(a_folded_footprint_keeps_its_peak, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
