/* Residency of managed memory: what moves, what it costs, what is evicted first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "managed.h"

#define BLOCK SC_BLOCK_BYTES
#define BASE (UINT64_C(1) << 40)

static struct sc_managed model;
static struct sc_effect effect;

static int setup(void **state)
{
    (void)state;
    sc_managed_init(&model, 4 * BLOCK);
    effect = (struct sc_effect){0};
    return sc_managed_allocate(&model, BASE, 8 * BLOCK) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    sc_managed_destroy(&model);
    return 0;
}

static int residency(unsigned block)
{
    return sc_managed_find(&model, BASE + block * BLOCK)->residency;
}

static void prefetch(unsigned first, unsigned count, enum sc_place to)
{
    effect = (struct sc_effect){0};
    sc_managed_prefetch(&model, BASE + first * BLOCK, count * BLOCK, to, &effect);
}

static void touch(unsigned block, uint64_t read, uint64_t written)
{
    effect = (struct sc_effect){0};
    sc_managed_touch(&model, BASE + block * BLOCK, read, written, &effect);
}

static void prefetch_of_new_memory_copies_nothing(void **state)
{
    (void)state;
    prefetch(0, 2, SC_DEVICE);
    assert_int_equal(effect.in[SC_CAUSE_PREFETCH], 0);
    assert_int_equal(effect.gained_bytes, 2 * BLOCK);
    prefetch(0, 2, SC_DEVICE);
    assert_int_equal(effect.gained_bytes, 0);
    prefetch(0, 2, SC_HOST);
    assert_int_equal(effect.out[SC_CAUSE_PREFETCH], 2 * BLOCK);
    assert_int_equal(effect.lost_bytes, 2 * BLOCK);
    prefetch(0, 2, SC_DEVICE);
    assert_int_equal(effect.in[SC_CAUSE_PREFETCH], 2 * BLOCK);
    assert_int_equal(model.resident_bytes, 2 * BLOCK);
}

static void eviction_follows_migration_not_access(void **state)
{
    (void)state;
    prefetch(0, 4, SC_DEVICE);
    touch(0, 100, 0); /* hot, and still the first to go */
    touch(4, 100, 100);
    assert_int_equal(effect.out[SC_CAUSE_EVICTION], BLOCK);
    assert_int_equal(effect.faults, 1);
    assert_int_equal(residency(0), SC_ON_HOST);
    assert_int_equal(residency(4), SC_ON_DEVICE);
    prefetch(1, 1, SC_DEVICE); /* renews its place */
    touch(5, 1, 0);
    assert_int_equal(residency(1), SC_ON_DEVICE);
    assert_int_equal(residency(2), SC_ON_HOST);
}

static void advice_keeps_misses_remote(void **state)
{
    (void)state;
    sc_managed_advise(&model, BASE, 8 * BLOCK, SC_ADVISE_PREFERRED, SC_HOST, &effect);
    sc_managed_advise(&model, BASE, 8 * BLOCK, SC_ADVISE_ACCESSED_BY, SC_DEVICE, &effect);
    touch(0, 640, 64);
    assert_int_equal(effect.in[SC_CAUSE_REMOTE], 640);
    assert_int_equal(effect.out[SC_CAUSE_REMOTE], 64);
    assert_int_equal(effect.faults, 0);
    assert_int_equal(model.resident_bytes, 0);
    prefetch(0, 1, SC_DEVICE);
    assert_int_equal(effect.in[SC_CAUSE_PREFETCH], BLOCK);
    touch(0, 640, 64);
    assert_int_equal(effect.in[SC_CAUSE_REMOTE], 0);
}

/* Accessed-by alone does not bound residency: what was never touched populates on the device. */
static void accessed_by_alone_populates_on_the_device(void **state)
{
    (void)state;
    sc_managed_advise(&model, BASE, 8 * BLOCK, SC_ADVISE_ACCESSED_BY, SC_DEVICE, &effect);
    touch(0, 64, 0);
    assert_int_equal(residency(0), SC_ON_DEVICE);
    prefetch(0, 1, SC_HOST);
    touch(0, 64, 0);
    assert_int_equal(effect.in[SC_CAUSE_REMOTE], 64);
}

static void read_mostly_copies_outlive_a_prefetch_to_the_host(void **state)
{
    (void)state;
    prefetch(0, 1, SC_HOST);
    sc_managed_advise(&model, BASE, BLOCK, SC_ADVISE_READ_MOSTLY, SC_NOWHERE, &effect);
    prefetch(0, 1, SC_DEVICE);
    assert_int_equal(residency(0), SC_ON_HOST | SC_ON_DEVICE);
    prefetch(0, 1, SC_HOST);
    assert_int_equal(residency(0), SC_ON_HOST | SC_ON_DEVICE);
    assert_int_equal(effect.out[SC_CAUSE_PREFETCH], 0);
    prefetch(1, 4, SC_DEVICE); /* evicts the copy, for nothing */
    assert_int_equal(effect.out[SC_CAUSE_EVICTION], 0);
    assert_int_equal(residency(0), SC_ON_HOST);
    touch(0, 64, 0); /* a miss duplicates */
    assert_int_equal(effect.in[SC_CAUSE_FAULT], BLOCK);
    assert_int_equal(residency(0), SC_ON_HOST | SC_ON_DEVICE);
    touch(0, 0, 64); /* a write leaves one copy */
    assert_int_equal(residency(0), SC_ON_DEVICE);
}

static void make_duplicates(unsigned first, unsigned count)
{
    prefetch(first, count, SC_HOST);
    sc_managed_advise(&model, BASE + first * BLOCK, count * BLOCK, SC_ADVISE_READ_MOSTLY, SC_NOWHERE,
                      &effect);
    prefetch(first, count, SC_DEVICE);
}

static void expect_collapses(unsigned count)
{
    assert_int_equal(effect.faults, count);
    assert_int_equal(effect.collapses, count);
    assert_int_equal(effect.collapsed_bytes, count * BLOCK);
    assert_int_equal(effect.unmapped_bytes, count * BLOCK);
}

/* Once for each block; nothing crosses the link, and no frame is taken or freed. */
static void a_write_to_a_duplicate_is_a_fault(void **state)
{
    (void)state;
    make_duplicates(0, 4);
    touch(0, 64, 0);
    expect_collapses(0);
    touch(0, 64, 64);
    expect_collapses(1);
    assert_int_equal(effect.lost_bytes + effect.gained_bytes + effect.in[SC_CAUSE_FAULT], 0);
    touch(0, 0, 64);
    expect_collapses(0);
    effect = (struct sc_effect){0};
    sc_managed_populate(&model, BASE, 3 * BLOCK, &effect); /* a copy writes */
    expect_collapses(2);
    assert_int_equal(residency(2), SC_ON_DEVICE);
    assert_int_equal(residency(3), SC_ON_HOST | SC_ON_DEVICE);
}

/* Only the Nth, and the block stays as it was until another write comes. */
static void a_hidden_write_collapses_nothing(void **state)
{
    (void)state;
    make_duplicates(0, 3);
    model.hide_write = 2;
    touch(0, 0, 64);
    expect_collapses(1);
    touch(0, 0, 64); /* there is no other copy any more */
    touch(1, 0, 64);
    expect_collapses(0);
    assert_int_equal(residency(1), SC_ON_HOST | SC_ON_DEVICE);
    assert_true(sc_managed_find(&model, BASE + BLOCK)->hidden);
    touch(2, 0, 64);
    expect_collapses(1);
    touch(1, 0, 64);
    expect_collapses(1);
    assert_false(sc_managed_find(&model, BASE + BLOCK)->hidden);
}

/* A collapsed block is on the device only: its way back is a copy, and read-mostly taken back leaves it. */
static void a_collapsed_block_is_not_clean(void **state)
{
    (void)state;
    make_duplicates(0, 2);
    touch(0, 0, 64);
    sc_managed_advise(&model, BASE, 2 * BLOCK, SC_ADVISE_PREFERRED, SC_HOST, &effect);
    effect = (struct sc_effect){0};
    sc_managed_advise(&model, BASE, 2 * BLOCK, SC_ADVISE_NOT_READ_MOSTLY, SC_NOWHERE, &effect);
    assert_int_equal(residency(0), SC_ON_DEVICE);
    assert_int_equal(residency(1), SC_ON_HOST);
    assert_int_equal(effect.lost_bytes, BLOCK);
    prefetch(0, 2, SC_HOST);
    assert_int_equal(effect.out[SC_CAUSE_PREFETCH], BLOCK);
}

static void taking_read_mostly_back_keeps_the_preferred_copy(void **state)
{
    (void)state;
    prefetch(0, 1, SC_HOST);
    sc_managed_advise(&model, BASE, BLOCK, SC_ADVISE_READ_MOSTLY, SC_NOWHERE, &effect);
    sc_managed_advise(&model, BASE, BLOCK, SC_ADVISE_PREFERRED, SC_HOST, &effect);
    prefetch(0, 1, SC_DEVICE);
    effect = (struct sc_effect){0};
    sc_managed_advise(&model, BASE, BLOCK, SC_ADVISE_NOT_READ_MOSTLY, SC_NOWHERE, &effect);
    assert_int_equal(residency(0), SC_ON_HOST);
    assert_int_equal(effect.lost_bytes, BLOCK);
    assert_int_equal(model.resident_bytes, 0);
    sc_managed_advise(&model, BASE, BLOCK, SC_ADVISE_READ_MOSTLY, SC_NOWHERE, &effect);
    sc_managed_advise(&model, BASE, BLOCK, SC_ADVISE_PREFERRED, SC_NOWHERE, &effect);
    prefetch(0, 1, SC_DEVICE);
    effect = (struct sc_effect){0};
    sc_managed_advise(&model, BASE, BLOCK, SC_ADVISE_NOT_READ_MOSTLY, SC_NOWHERE, &effect);
    assert_int_equal(residency(0), SC_ON_DEVICE);
    assert_int_equal(effect.lost_bytes, 0);
}

static void discarded_blocks_cost_nothing(void **state)
{
    (void)state;
    prefetch(0, 4, SC_DEVICE);
    effect = (struct sc_effect){0};
    sc_managed_discard(&model, BASE, 2 * BLOCK + 100, &effect); /* the third is not whole */
    assert_int_equal(effect.lost_bytes, 2 * BLOCK);
    assert_int_equal(residency(1), 0);
    assert_int_equal(residency(2), SC_ON_DEVICE);
    prefetch(0, 2, SC_DEVICE);
    assert_int_equal(effect.in[SC_CAUSE_PREFETCH], 0);
    assert_int_equal(effect.out[SC_CAUSE_EVICTION], 0);
}

static void allocated_memory_evicts_managed_but_not_the_other_way(void **state)
{
    (void)state;
    prefetch(0, 4, SC_DEVICE);
    effect = (struct sc_effect){0};
    sc_managed_charge(&model, 3 * (int64_t)BLOCK, &effect);
    assert_int_equal(effect.out[SC_CAUSE_EVICTION], 3 * BLOCK);
    sc_managed_charge(&model, (int64_t)BLOCK, &effect);
    assert_int_equal(model.resident_bytes, 0);
    touch(0, 64, 0); /* no frame left: over the link */
    assert_int_equal(effect.in[SC_CAUSE_REMOTE], 64);
    assert_int_equal(effect.faults, 0);
}

static void small_allocations_do_not_fill_blocks(void **state)
{
    (void)state;
    assert_true(sc_managed_allocate(&model, BASE + 16 * BLOCK, 100));
    effect = (struct sc_effect){0};
    sc_managed_prefetch(&model, BASE + 16 * BLOCK, 100, SC_DEVICE, &effect);
    assert_int_equal(effect.gained_bytes, 65536);
    effect = (struct sc_effect){0};
    sc_managed_free(&model, BASE + 16 * BLOCK, &effect);
    assert_int_equal(effect.lost_bytes, 65536);
    assert_null(sc_managed_find(&model, BASE + 16 * BLOCK));
}

/* What managed.h promises between any two calls. */
static void check_invariants(int64_t frames)
{
    uint64_t resident = 0, listed = 0;
    for (size_t i = 0; i < model.range_count; i++)
        for (size_t b = 0; b < model.ranges[i]->block_count; b++) {
            const struct sc_managed_block *block = &model.ranges[i]->blocks[b];
            bool on_device = block->residency & SC_ON_DEVICE;
            if (on_device) resident += block->bytes;
            assert_true(on_device == (block->next != NULL));
            assert_true(block->residency != (SC_ON_HOST | SC_ON_DEVICE) || block->read_mostly);
        }
    for (struct sc_managed_block *at = model.order.next; at != &model.order; at = at->next)
        listed += at->bytes;
    assert_int_equal(model.resident_bytes, resident);
    assert_int_equal(listed, resident);
    assert_true(model.allocated_bytes + resident <= model.capacity_bytes);
    assert_int_equal(frames, model.allocated_bytes + resident); /* what was gained less what was lost */
}

static void invariants_hold_under_random_use(void **state)
{
    (void)state;
    uint32_t random = 12345;
    int64_t frames = 0;
    bool extra = false;
    for (int step = 0; step < 20000; step++) {
        random = random * 1664525 + 1013904223;
        uint32_t what = random >> 28, first = random >> 8 & 7, count = 1 + (random >> 12 & 3),
                 side = random >> 16 & 1;
        uint64_t address = BASE + first * BLOCK + (random >> 20 & 1) * 4096, bytes = count * BLOCK;
        enum sc_place place = side ? SC_DEVICE : SC_HOST;
        effect = (struct sc_effect){0};
        if (what < 5) {
            sc_managed_touch(&model, address, 64, side * 64, &effect);
        } else if (what < 8) {
            sc_managed_prefetch(&model, address, bytes, place, &effect);
        } else if (what < 10) {
            sc_managed_discard(&model, address, bytes, &effect);
        } else if (what < 12) {
            sc_managed_advise(&model, address, bytes, random >> 17 & 3, place, &effect);
        } else if (what < 13) {
            sc_managed_advise(&model, address, bytes, SC_ADVISE_NOT_READ_MOSTLY, SC_NOWHERE, &effect);
        } else if (what < 14) {
            sc_managed_populate(&model, address, bytes, &effect);
        } else if (what < 15) {
            int64_t charge = model.allocated_bytes ? -(int64_t)model.allocated_bytes : (int64_t)(BLOCK + 512);
            sc_managed_charge(&model, charge, &effect);
        } else {
            if (extra)
                sc_managed_free(&model, BASE + 16 * BLOCK, &effect);
            else
                assert_true(sc_managed_allocate(&model, BASE + 16 * BLOCK, BLOCK + 5));
            extra = !extra;
        }
        frames += (int64_t)effect.gained_bytes - (int64_t)effect.lost_bytes;
        assert_true(effect.evicted_bytes <= effect.lost_bytes);
        assert_true(effect.collapses <= effect.faults && effect.unmapped_bytes <= effect.collapsed_bytes);
        check_invariants(frames);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(prefetch_of_new_memory_copies_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(eviction_follows_migration_not_access, setup, teardown),
        cmocka_unit_test_setup_teardown(advice_keeps_misses_remote, setup, teardown),
        cmocka_unit_test_setup_teardown(accessed_by_alone_populates_on_the_device, setup, teardown),
        cmocka_unit_test_setup_teardown(read_mostly_copies_outlive_a_prefetch_to_the_host, setup, teardown),
        cmocka_unit_test_setup_teardown(a_write_to_a_duplicate_is_a_fault, setup, teardown),
        cmocka_unit_test_setup_teardown(a_hidden_write_collapses_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(a_collapsed_block_is_not_clean, setup, teardown),
        cmocka_unit_test_setup_teardown(taking_read_mostly_back_keeps_the_preferred_copy, setup, teardown),
        cmocka_unit_test_setup_teardown(discarded_blocks_cost_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(allocated_memory_evicts_managed_but_not_the_other_way, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(small_allocations_do_not_fill_blocks, setup, teardown),
        cmocka_unit_test_setup_teardown(invariants_hold_under_random_use, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
