/* Where tensors end in slots that hold several: breaks if one ends behind the next one's beginning, or before
 * its own end because that lies in the next mapping. */
#include "launch/access.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/host/backend_host.h"

#define CHUNK (4 * SL_MIB)
#define PIECE (6 * SL_MIB) /* every other one begins inside a chunk */

static struct sl_backend backend;
static struct sl_arena arena;
static struct sl_placement placement;
static struct sl_extents extents;
static uint64_t base; /* of reserved addresses */

static int start(void **state)
{
    (void)state;
    if (sl_backend_host_new(SL_GIB, &backend)) return -1;
    sl_arena_init(&arena, &backend, CHUNK);
    sl_placement_init(&placement, &arena, UINT64_MAX);
    return sl_arena_reserve(&arena, SL_GIB, &base) ? -1 : 0;
}

static int stop(void **state)
{
    (void)state;
    sl_placement_close(&placement);
    sl_arena_close(&arena, false);
    backend.close(backend.self);
    return 0;
}

static struct sl_slot *map(uint64_t piece)
{
    uint32_t slot;
    assert_int_equal(sl_place_at(&placement, base + piece * PIECE, PIECE, 1, &slot), SL_OK);
    return &placement.slots[slot];
}

static uint32_t number_of(const struct sl_slot *slot)
{
    return (uint32_t)(slot - placement.slots);
}

static uint64_t end_of(const struct sl_slot *slot, uint64_t offset)
{
    return sl_access_end(&placement, &(struct sl_access){.slot = number_of(slot), .offset = offset});
}

/* Of an access that reaches at least so far. */
static uint64_t end_of_at_least(const struct sl_slot *slot, uint64_t bytes)
{
    return sl_access_end(&placement, &(struct sl_access){.slot = number_of(slot), .at_least = bytes});
}

/* Whether it was news that a launch is given this offset. */
static bool learn(const struct sl_slot *slot, uint64_t offset)
{
    uint64_t version = extents.version;
    struct sl_access access = {.slot = number_of(slot), .offset = offset, .threads = 100};
    sl_extents_note(&extents, &placement, &access);
    assert_int_equal(access.at_least, 400); /* 4 bytes for each thread */
    return extents.version != version;
}

static void inner_tensors_end_where_the_next_begins(void **state)
{
    (void)state;
    uint32_t large, small;
    assert_int_equal(sl_place(&placement, 2 * CHUNK, 1, &large), SL_OK);
    assert_int_equal(sl_place(&placement, CHUNK, 2, &small), SL_OK);
    const struct sl_slot *slot = &placement.slots[large];
    assert_int_equal(sl_slot_extent_end(slot, 0), 2 * CHUNK);
    assert_true(learn(slot, 600));
    assert_true(learn(slot, 200));
    assert_false(learn(slot, 200));
    assert_false(learn(slot, 0));
    assert_int_equal(slot->interior_count, 2);
    assert_int_equal(sl_slot_extent_end(slot, 0), 200);
    assert_int_equal(sl_slot_extent_end(slot, 200), 600);
    assert_int_equal(sl_slot_extent_end(slot, 601), 2 * CHUNK);
    assert_false(learn(&placement.slots[small], 200)); /* it is used whole */
    assert_int_equal(end_of(&placement.slots[small], 0), CHUNK);
}

static void a_tensor_goes_on_until_the_next_begins(void **state)
{
    (void)state;
    for (uint64_t piece = 0; piece < 4; piece++) map(piece);
    struct sl_slot *slots = placement.slots;
    assert_int_equal(end_of(&slots[0], 512), 4 * PIECE);
    assert_true(learn(&slots[2], SL_MIB));
    assert_int_equal(end_of(&slots[0], 512), 2 * PIECE + SL_MIB);
    assert_int_equal(end_of(&slots[2], 0), SL_MIB);
    assert_int_equal(end_of(&slots[2], SL_MIB), 2 * PIECE);
    assert_true(learn(&slots[2], 0)); /* at a mapping's beginning */
    assert_false(learn(&slots[2], 0));
    assert_int_equal(end_of(&slots[0], 512), 2 * PIECE);
    assert_true(learn(&slots[0], 1024));
    assert_int_equal(end_of(&slots[0], 512), 1024);
}

static void a_gap_ends_it(void **state)
{
    uint32_t slot;
    (void)state;
    for (uint64_t piece = 0; piece < 4; piece++) map(piece);
    assert_int_equal(sl_unplace(&placement, base + 2 * PIECE, &slot), SL_OK);
    assert_int_equal(end_of(&placement.slots[0], 512), 2 * PIECE);
    assert_int_equal(end_of(&placement.slots[3], 512), PIECE);
    assert_int_equal(end_of(&placement.slots[slot], 512), PIECE); /* not mapped: where it lay */
    assert_int_equal(end_of_at_least(&placement.slots[0], 3 * PIECE), 2 * PIECE);
    assert_true(learn(&placement.slots[0], 1024));
    assert_int_equal(end_of_at_least(&placement.slots[0], PIECE + 1), PIECE + 1);
    assert_ptr_equal(sl_place_next(&placement, &placement.slots[0]), &placement.slots[1]);
    assert_null(sl_place_next(&placement, &placement.slots[1]));
}

/* The chunks follow those of the slot. */
static void its_chunks_are_those_of_all_mappings(void **state)
{
    (void)state;
    map(0);
    map(1);
    struct sl_chunk_range range = sl_slot_chunks(&placement, &placement.slots[0], SL_MIB, 2 * PIECE - SL_MIB);
    assert_int_equal(range.first, sl_arena_chunk(&arena, base));
    assert_int_equal(range.count, 2 * PIECE / CHUNK);
    range = sl_slot_chunks(&placement, &placement.slots[1], 0, PIECE);
    assert_int_equal(range.first, sl_arena_chunk(&arena, base + PIECE));
    assert_int_equal(range.count, 2);
}

/* Other allocations are neighbours by chance. */
static void nothing_goes_on_in_other_allocations(void **state)
{
    uint32_t one, two;
    (void)state;
    assert_int_equal(sl_place(&placement, 2 * CHUNK, 1, &one), SL_OK);
    assert_int_equal(sl_place(&placement, 2 * CHUNK, 2, &two), SL_OK);
    const struct sl_slot *slots = placement.slots;
    assert_int_equal(slots[one].address + 2 * CHUNK, slots[two].address);
    assert_null(sl_place_next(&placement, &slots[one]));
    assert_int_equal(end_of(&slots[one], 512), 2 * CHUNK);
    assert_int_equal(end_of_at_least(&slots[one], 3 * CHUNK), 2 * CHUNK);
    assert_int_equal(sl_slot_chunks(&placement, &slots[one], CHUNK, 3 * CHUNK).count, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)
    const struct CMUnitTest tests[] = {
        TEST(inner_tensors_end_where_the_next_begins),
        TEST(a_tensor_goes_on_until_the_next_begins),
        TEST(a_gap_ends_it),
        TEST(its_chunks_are_those_of_all_mappings),
        TEST(nothing_goes_on_in_other_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
