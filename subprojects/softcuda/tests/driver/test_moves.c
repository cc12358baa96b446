/* What calls cost that move managed memory, with a driver that maps memory for the CPU: who waits for whom.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "moves.h"

#define BLOCK SC_BLOCK_BYTES
#define FIRST_SLAB (UINT64_C(1) << 40)
#define SECOND_SLAB (UINT64_C(1) << 41)
#define SLAB_BLOCKS 16

enum { COPY = 40000, MAP = 100000, UNMAP = 16000, REMAP = 50000, DISCARD = 20000 }; /* ns for a block */

static struct sc_timing timing;
static struct sc_moves moves;
static struct sc_placed placed;

static int setup(void **state)
{
    (void)state;
    double rate = (double)BLOCK / COPY;
    sc_timing_init(&timing, &(struct sc_machine){.memory_bytes = 64 * BLOCK,
                                                 .device_bytes_per_ns = 1000,
                                                 .flops_per_ns = 1000,
                                                 .link_in_bytes_per_ns = rate,
                                                 .link_out_bytes_per_ns = rate,
                                                 .link_both_bytes_per_ns = rate,
                                                 .driver = {.is_real = true,
                                                            .map_ns = MAP,
                                                            .unmap_ns = UNMAP,
                                                            .remap_ns = REMAP,
                                                            .discard_ns = DISCARD,
                                                            .both_part = 0.75,
                                                            .page_factor = 1}});
    return sc_managed_allocate(&timing.managed, FIRST_SLAB, SLAB_BLOCKS * BLOCK) &&
                   sc_managed_allocate(&timing.managed, SECOND_SLAB, SLAB_BLOCKS * BLOCK)
               ? 0
               : -1;
}

static int teardown(void **state)
{
    (void)state;
    sc_timing_destroy(&timing);
    sc_moves_destroy(&moves);
    return 0;
}

static void call(enum sc_work_kind kind, uint64_t ready_ns, bool is_deferred, uint64_t slab, unsigned first,
                 unsigned count, enum sc_place to)
{
    struct sc_span span = {slab + first * BLOCK, count * BLOCK, to};
    sc_timing_place(&timing,
                    &(struct sc_work){.kind = kind,
                                      .ready_ns = ready_ns,
                                      .spans = &span,
                                      .span_count = 1,
                                      .moves = &moves,
                                      .is_deferred = is_deferred},
                    &placed);
}

static void prefetch(uint64_t ready_ns, uint64_t slab, unsigned first, unsigned count, enum sc_place to)
{
    call(SC_WORK_PREFETCH, ready_ns, false, slab, first, count, to);
}

/* On the device, without time: they have no content yet. */
static void make_resident(uint64_t slab, unsigned first, unsigned count)
{
    prefetch(0, slab, first, count, SC_DEVICE);
    assert_int_equal(placed.end_ns, 0);
}

static void the_caller_maps_what_comes_to_the_host(void **state)
{
    (void)state;
    make_resident(FIRST_SLAB, 0, 4);
    prefetch(0, FIRST_SLAB, 0, 1, SC_HOST);
    assert_int_equal(placed.end_ns, COPY + MAP);
    uint64_t begin_ns = placed.end_ns;
    prefetch(begin_ns, FIRST_SLAB, 1, 3, SC_HOST); /* while one is mapped, the next ones are copied */
    assert_int_equal(placed.start_ns, begin_ns);
    assert_int_equal(placed.end_ns - begin_ns, COPY + 3 * MAP);
    begin_ns = placed.end_ns;
    prefetch(begin_ns, FIRST_SLAB, 0, 4, SC_HOST); /* they are there */
    assert_int_equal(placed.end_ns - begin_ns, 4 * REMAP);
}

static void the_caller_unmaps_what_goes_to_the_device(void **state)
{
    (void)state;
    prefetch(0, FIRST_SLAB, 0, 4, SC_HOST);
    uint64_t begin_ns = placed.end_ns;
    prefetch(begin_ns, FIRST_SLAB, 0, 1, SC_DEVICE);
    assert_int_equal(placed.end_ns - begin_ns, UNMAP + COPY);
    begin_ns = placed.end_ns;
    prefetch(begin_ns, FIRST_SLAB, 1, 3, SC_DEVICE);
    assert_int_equal(placed.end_ns - begin_ns, UNMAP + 3 * COPY);
    begin_ns = placed.end_ns;
    prefetch(begin_ns, FIRST_SLAB, 0, 4, SC_DEVICE); /* resident */
    assert_int_equal(placed.end_ns, begin_ns);
    prefetch(begin_ns, FIRST_SLAB, 0, 1, SC_HOST); /* mapped anew */
    assert_int_equal(placed.end_ns - begin_ns, COPY + MAP);
}

/* What the device wrote first in host memory, the CPU has no entries for. */
static void what_was_never_mapped_is_not_unmapped(void **state)
{
    (void)state;
    struct sc_effect effect = {0};
    sc_managed_advise(&timing.managed, FIRST_SLAB, BLOCK, SC_ADVISE_PREFERRED, SC_HOST, &effect);
    sc_managed_advise(&timing.managed, FIRST_SLAB, BLOCK, SC_ADVISE_ACCESSED_BY, SC_DEVICE, &effect);
    sc_managed_touch(&timing.managed, FIRST_SLAB, 0, BLOCK, &effect);
    assert_int_equal(effect.out[SC_CAUSE_REMOTE], BLOCK);
    prefetch(0, FIRST_SLAB, 0, 1, SC_DEVICE);
    assert_int_equal(placed.end_ns, COPY);
}

/* Nobody maps or copies what read-mostly leaves on the host; a collapse unmaps it. */
static void read_mostly_taken_back_maps_nothing(void **state)
{
    (void)state;
    struct sc_effect effect = {0};
    prefetch(0, FIRST_SLAB, 0, 3, SC_HOST);
    sc_managed_advise(&timing.managed, FIRST_SLAB, 3 * BLOCK, SC_ADVISE_PREFERRED, SC_HOST, &effect);
    sc_managed_advise(&timing.managed, FIRST_SLAB, 3 * BLOCK, SC_ADVISE_READ_MOSTLY, SC_NOWHERE, &effect);
    prefetch(placed.end_ns, FIRST_SLAB, 0, 3, SC_DEVICE);
    struct sc_block_traffic traffic = {.block = FIRST_SLAB >> SC_BLOCK_SHIFT, .bytes_written = 1};
    struct sc_cost cost = {.bytes_written = 1, .blocks = &traffic, .block_count = 1};
    struct sc_work work = {.kind = SC_WORK_KERNEL, .cost = &cost, .ready_ns = placed.end_ns};
    sc_timing_place(&timing, &work, &placed);
    assert_int_equal(placed.end_ns - placed.start_ns, 1 + UNMAP);
    sc_managed_advise(&timing.managed, FIRST_SLAB, 3 * BLOCK, SC_ADVISE_NOT_READ_MOSTLY, SC_NOWHERE, &effect);
    uint64_t begin_ns = placed.end_ns;
    prefetch(begin_ns, FIRST_SLAB, 1, 2, SC_HOST); /* there, with the entries that the host had before */
    assert_int_equal(placed.end_ns - begin_ns, 2 * REMAP);
    begin_ns = placed.end_ns;
    prefetch(begin_ns, FIRST_SLAB, 0, 1, SC_HOST); /* the collapsed one */
    assert_int_equal(placed.end_ns - begin_ns, COPY + MAP);
}

static void a_block_in_part_costs_its_part(void **state)
{
    (void)state;
    assert_true(sc_managed_allocate(&timing.managed, 2 * SECOND_SLAB, BLOCK / 4));
    make_resident(2 * SECOND_SLAB, 0, 1);
    prefetch(0, 2 * SECOND_SLAB, 0, 1, SC_HOST);
    assert_int_equal(placed.end_ns, COPY / 4 + MAP / 4);
}

/* Page tables are changed by one thread at a time in a slab, by several in several. */
static void threads_wait_for_each_other_in_a_slab(void **state)
{
    (void)state;
    make_resident(FIRST_SLAB, 0, 2);
    make_resident(SECOND_SLAB, 0, 1);
    prefetch(0, FIRST_SLAB, 0, 1, SC_HOST);
    prefetch(0, FIRST_SLAB, 1, 1, SC_HOST);
    assert_int_equal(placed.end_ns, COPY + 2 * MAP);
    prefetch(0, SECOND_SLAB, 0, 1, SC_HOST);
    assert_int_equal(placed.end_ns, 3 * COPY + MAP);
}

/* On streams that are not idle: one after the other, but what is ready early does not wait for what was asked
 * for before and is ready late. */
static void the_drivers_thread_does_one_call_at_a_time(void **state)
{
    (void)state;
    const uint64_t late_ns = 1000000;
    make_resident(FIRST_SLAB, 0, 2);
    make_resident(SECOND_SLAB, 0, 1);
    call(SC_WORK_PREFETCH, late_ns, true, FIRST_SLAB, 0, 1, SC_HOST);
    assert_int_equal(placed.end_ns, late_ns + COPY + MAP);
    call(SC_WORK_PREFETCH, late_ns, true, SECOND_SLAB, 0, 1, SC_HOST);
    assert_int_equal(placed.start_ns, late_ns + COPY + MAP);
    call(SC_WORK_PREFETCH, 0, true, FIRST_SLAB, 1, 1, SC_HOST);
    assert_int_equal(placed.start_ns, 0);
    assert_int_equal(placed.end_ns, COPY + MAP);
    call(SC_WORK_PREFETCH, 0, true, FIRST_SLAB, 0, 9, SC_HOST); /* no gap is long enough */
    assert_int_equal(placed.start_ns, late_ns + 2 * (COPY + MAP));
}

static void advice_waits_for_calls_and_they_for_it(void **state)
{
    (void)state;
    make_resident(FIRST_SLAB, 0, 1);
    make_resident(SECOND_SLAB, 0, 1);
    prefetch(0, FIRST_SLAB, 0, 1, SC_HOST);
    assert_int_equal(sc_moves_wait(&moves, 10), COPY + MAP);
    prefetch(20, SECOND_SLAB, 0, 1, SC_HOST);
    assert_int_equal(placed.start_ns, COPY + MAP);
    assert_int_equal(sc_moves_wait(&moves, 3 * (COPY + MAP)), 3 * (COPY + MAP));
    prefetch(10 * MAP, FIRST_SLAB, 0, 1, SC_HOST);
    assert_int_equal(sc_moves_wait(&moves, 9 * MAP), 9 * MAP); /* it comes later */
}

static void discarded_blocks_are_not_copied(void **state)
{
    (void)state;
    prefetch(0, FIRST_SLAB, 0, 4, SC_HOST);
    uint64_t begin_ns = placed.end_ns;
    call(SC_WORK_DISCARD, begin_ns, false, FIRST_SLAB, 0, 2, SC_NOWHERE);
    assert_int_equal(placed.end_ns - begin_ns, 2 * DISCARD);
    begin_ns = placed.end_ns;
    call(SC_WORK_DISCARD_PREFETCH, begin_ns, false, FIRST_SLAB, 2, 2, SC_DEVICE);
    assert_int_equal(placed.end_ns - begin_ns, 2 * DISCARD);
    begin_ns = placed.end_ns;
    prefetch(begin_ns, FIRST_SLAB, 0, 4, SC_DEVICE);
    assert_int_equal(placed.end_ns, begin_ns);
}

/* Two threads in turn, each without mapping: together they get one and a half times the link's rate, whoever
 * was placed first. */
static void both_directions_share_what_they_have_together(void **state)
{
    (void)state;
    timing.machine.driver.map_ns = timing.machine.driver.unmap_ns = 0;
    make_resident(FIRST_SLAB, 0, SLAB_BLOCKS);
    prefetch(0, SECOND_SLAB, 0, SLAB_BLOCKS, SC_HOST);
    uint64_t out_ns = placed.end_ns, in_ns = placed.end_ns;
    for (unsigned i = 0; i < SLAB_BLOCKS; i++) {
        prefetch(out_ns, FIRST_SLAB, i, 1, SC_HOST);
        out_ns = placed.end_ns;
        prefetch(in_ns, SECOND_SLAB, i, 1, SC_DEVICE);
        in_ns = placed.end_ns;
    }
    double last_ns = (double)(out_ns > in_ns ? out_ns : in_ns);
    double blocks_each_copy = 2 * SLAB_BLOCKS * COPY / last_ns;
    assert_true(blocks_each_copy > 1.45 && blocks_each_copy <= 1.5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_caller_maps_what_comes_to_the_host, setup, teardown),
        cmocka_unit_test_setup_teardown(the_caller_unmaps_what_goes_to_the_device, setup, teardown),
        cmocka_unit_test_setup_teardown(what_was_never_mapped_is_not_unmapped, setup, teardown),
        cmocka_unit_test_setup_teardown(read_mostly_taken_back_maps_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(a_block_in_part_costs_its_part, setup, teardown),
        cmocka_unit_test_setup_teardown(threads_wait_for_each_other_in_a_slab, setup, teardown),
        cmocka_unit_test_setup_teardown(the_drivers_thread_does_one_call_at_a_time, setup, teardown),
        cmocka_unit_test_setup_teardown(advice_waits_for_calls_and_they_for_it, setup, teardown),
        cmocka_unit_test_setup_teardown(discarded_blocks_are_not_copied, setup, teardown),
        cmocka_unit_test_setup_teardown(both_directions_share_what_they_have_together, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
