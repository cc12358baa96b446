/* Where allocations lie in chunks: breaks if two lie in one place, if one goes where its group or its room
 * does not allow, or if what is given back is not free again. */
#include "memory/suballocator.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "noted_device.h"

#define CHUNK (4 * SL_MIB)

static struct noted_device device;
static struct sl_arena arena;
static struct sl_suballocator suballocator;

static int start(void **state)
{
    (void)state;
    noted_device_begin(&device);
    sl_arena_init(&arena, &device.backend, CHUNK);
    sl_suballocator_init(&suballocator, &arena);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    sl_arena_close(&arena, false);
    return 0;
}

static uint64_t take_in(uint64_t bytes, enum sl_group_kind group, uint32_t slot)
{
    uint64_t address = 0;
    assert_int_equal(sl_suballocator_take(&suballocator, bytes, group, UINT64_MAX, slot, &address), SL_OK);
    return address;
}

static uint64_t take(uint64_t bytes, uint32_t slot)
{
    return take_in(bytes, SL_GROUP_LASTING, slot);
}

static void give_back(uint64_t address, uint64_t bytes)
{
    sl_suballocator_give_back(&suballocator, address, bytes);
}

static bool retake(uint64_t address, uint64_t bytes, uint64_t room_bytes, uint32_t slot)
{
    return sl_suballocator_retake(&suballocator, address, bytes, SL_GROUP_LASTING, room_bytes, slot);
}

static struct sl_chunk_record *record_of(uint64_t address)
{
    return sl_arena_record(&arena, sl_arena_chunk(&arena, address));
}

/* --- against an account of what lies where --- */

enum { PLACES = 120, STEPS = 20000 };

struct place {
    uint64_t address, bytes; /* 0 bytes: nothing lies there; address: where it was */
    uint64_t last_bytes;
    enum sl_group_kind group;
    bool dense; /* memory was short: it may lie anywhere */
};

static uint64_t whole_granules(uint64_t bytes)
{
    return (bytes + SL_GRANULE_BYTES - 1) / SL_GRANULE_BYTES * SL_GRANULE_BYTES;
}

static uint32_t owner(const struct place *places, uint64_t address)
{
    for (uint32_t p = 0; p < PLACES; p++)
        if (places[p].bytes && address - places[p].address < whole_granules(places[p].bytes)) return p;
    return SL_NONE;
}

static bool is_free(const struct place *places, uint64_t address, uint64_t bytes)
{
    for (uint32_t p = 0; p < PLACES; p++)
        if (places[p].bytes && address < places[p].address + whole_granules(places[p].bytes) &&
            places[p].address < address + whole_granules(bytes))
            return false;
    return true;
}

static void check_place(const struct place *places, uint32_t p)
{
    const struct place *x = &places[p];
    uint64_t end = x->address + x->bytes;
    assert_int_equal(x->address % SL_GRANULE_BYTES, 0);
    const uint64_t inside[] = {x->address, x->address + x->bytes / 2, end - 1};
    for (int i = 0; i < 3; i++) assert_int_equal(sl_suballocator_slot(&arena, inside[i]), p);
    const uint64_t around[] = {x->address - 1, x->address + whole_granules(x->bytes)};
    for (int i = 0; i < 2; i++)
        assert_int_equal(sl_suballocator_slot(&arena, around[i]), owner(places, around[i]));
    sl_chunk first = sl_arena_chunk(&arena, x->address), last = sl_arena_chunk(&arena, end - 1);
    uint64_t least_chunks = (x->bytes + CHUNK - 1) / CHUNK, chunks = last - first + 1;
    if (!x->dense && x->bytes >= CHUNK) assert_int_equal(x->address % CHUNK, 0);
    assert_in_range(chunks, least_chunks, least_chunks + x->dense); /* no chunk more than it needs */
    for (sl_chunk c = first; c <= last; c++) {
        uint64_t least = sl_suballocator_chunk_bytes(&arena, x->address, x->bytes, c - first);
        uint64_t in_chunk = c < last ? CHUNK : (end - 1) % CHUNK + 1;
        assert_in_range(least, in_chunk, in_chunk + SL_BLOCK_BYTES - 1);
        assert_int_equal(least % SL_BLOCK_BYTES, 0);
        assert_in_range(sl_arena_record(&arena, c)->bytes, least, CHUNK);
    }
}

/* With as much room as is lacking, or a little less or more. */
static void take_again(struct place *places, uint32_t p, uint64_t random)
{
    struct place *x = &places[p];
    uint64_t used = arena.virtual_bytes_used, room = random % (4 * CHUNK);
    bool may = is_free(places, x->address, x->last_bytes);
    bool taken = sl_suballocator_retake(&suballocator, x->address, x->last_bytes, x->group, room, p);
    if (taken) assert_true(may);
    if (may && room >= x->last_bytes + 2 * CHUNK) assert_true(taken);
    assert_in_range(arena.virtual_bytes_used, used, used + (taken ? room : 0));
    if (taken) x->bytes = x->last_bytes;
}

static void take_new(struct place *places, uint32_t p, uint64_t random)
{
    static const uint64_t most[] = {4096, SL_TINY_BYTES, CHUNK / 2, CHUNK, 3 * CHUNK + 1000};
    struct place *x = &places[p];
    uint64_t bytes = 1 + (random >> 8) % most[random % 5], address;
    enum sl_group_kind group = (enum sl_group_kind)((random >> 4) % SL_GROUP_PINNED);
    uint64_t used = arena.virtual_bytes_used, room = random >> 40 & 3 ? UINT64_MAX : (random >> 42) % CHUNK;
    suballocator.dense = random >> 45 & 1;
    bool dense = suballocator.dense || room < UINT64_MAX;
    enum sl_status status = sl_suballocator_take(&suballocator, bytes, group, room, p, &address);
    if (status) {
        assert_int_equal(status, SL_ERR_NO_MEMORY);
        assert_true(room < UINT64_MAX);
        assert_int_equal(arena.virtual_bytes_used, used);
        return;
    }
    assert_true(is_free(places, address, bytes));
    if (room < UINT64_MAX) assert_in_range(arena.virtual_bytes_used, used, used + room);
    /* Where it is packed, those of other groups are not. */
    if (bytes % CHUNK && !dense) assert_int_equal(record_of(address + bytes - 1)->group, group);
    *x = (struct place){address, bytes, bytes, group, dense};
}

static void places_are_those_of_their_slots(void **state)
{
    (void)state;
    static struct place places[PLACES];
    uint64_t random = 3;
    for (int i = 0; i < STEPS; i++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        uint32_t p = (uint32_t)(random >> 57) % PLACES;
        if (places[p].bytes) {
            check_place(places, p);
            give_back(places[p].address, places[p].bytes);
            places[p].bytes = 0;
            assert_int_equal(sl_suballocator_slot(&arena, places[p].address), SL_NONE);
        } else if (places[p].last_bytes && random >> 20 & 1) {
            take_again(places, p, random >> 21);
        } else {
            take_new(places, p, random >> 8);
        }
    }
    for (uint32_t p = 0; p < PLACES; p++)
        if (places[p].bytes) check_place(places, p);
    for (uint32_t p = 0; p < PLACES; p++)
        if (places[p].bytes) give_back(places[p].address, places[p].bytes);
    assert_int_equal(arena.virtual_bytes_used, 0);
    assert_int_equal(arena.chunks_used, 0);
}

/* --- where it goes --- */

static void groups_do_not_share_chunks(void **state)
{
    (void)state;
    uint64_t chunks[SL_GROUP_PINNED];
    for (int g = 0; g < SL_GROUP_PINNED; g++) {
        chunks[g] = take_in(1000, (enum sl_group_kind)g, (uint32_t)g) / CHUNK;
        for (int other = 0; other < g; other++) assert_int_not_equal(chunks[other], chunks[g]);
        assert_int_equal(take_in(1000, (enum sl_group_kind)g, 100 + (uint32_t)g) / CHUNK, chunks[g]);
    }
}

/* What becomes free within what a chunk takes already is used before the chunk becomes larger. */
static void gaps_are_used_before_chunks_grow(void **state)
{
    (void)state;
    uint64_t first = take(SL_MIB, 1), second = take(SL_MIB, 2);
    assert_int_equal(second, first + SL_MIB);
    give_back(first, SL_MIB);
    assert_int_equal(take(SL_MIB, 3), first);
    assert_int_equal(arena.virtual_bytes_used, SL_BLOCK_BYTES);
    assert_int_equal(take(SL_MIB, 4), second + SL_MIB);
    assert_int_equal(arena.virtual_bytes_used, 2 * SL_BLOCK_BYTES);
    take(SL_MIB, 5);
    take(SL_MIB, 6); /* in the next chunk */
    uint64_t other = take(SL_MIB, 7);
    give_back(first, SL_MIB);
    give_back(other, SL_MIB);
    assert_int_equal(take(SL_MIB, 8), other); /* where something went last */
    assert_int_equal(take(SL_MIB, 9), first);
    assert_int_equal(arena.virtual_bytes_used, 3 * SL_BLOCK_BYTES);
}

/* Of more chunks with room than are remembered the one with least is forgotten. */
static void the_most_room_is_remembered(void **state)
{
    (void)state;
    uint64_t gap = 0;
    for (uint32_t i = 0; i < SL_PARTIAL + 20; i++) {
        uint64_t bytes = i == 5 ? CHUNK / 2 + SL_MIB : CHUNK - SL_MIB / 2;
        uint64_t address = take(bytes, i);
        if (i == 5) gap = address + bytes;
    }
    assert_int_equal(take(SL_MIB, 1000), gap);
}

static void a_large_one_has_its_chunks_to_itself(void **state)
{
    (void)state;
    uint64_t large = take(2 * CHUNK + 1000, 1), small = take(1000, 2);
    assert_int_equal(large % CHUNK, 0);
    assert_int_equal(small, large + 2 * CHUNK + 1024); /* beside its rest */
    give_back(large, 2 * CHUNK + 1000);
    assert_int_equal(sl_suballocator_slot(&arena, large + 2 * CHUNK), SL_NONE);
    assert_int_equal(sl_suballocator_slot(&arena, small), 2);
    assert_int_equal(arena.chunks_used, 1);
}

/* --- where memory is short --- */

static void dense_places_go_on_in_the_next_chunk(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {CHUNK / 2 + 1000, CHUNK + 3000, 2 * CHUNK + SL_MIB, SL_TINY_BYTES + 1};
    enum { COUNT = 100 };
    suballocator.dense = true;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        uint64_t places[COUNT], whole = whole_granules(sizes[i]);
        for (uint32_t p = 0; p < COUNT; p++) {
            places[p] = take(sizes[i], p);
            if (p) assert_int_equal(places[p], places[p - 1] + whole);
        }
        assert_in_range(arena.virtual_bytes_used, COUNT * whole, COUNT * whole + SL_BLOCK_BYTES);
        for (uint32_t p = 0; p < COUNT; p++)
            for (uint64_t at = 0; at < sizes[i]; at += SL_MIB)
                assert_int_equal(sl_suballocator_slot(&arena, places[p] + at), p);
        for (uint32_t p = 0; p < COUNT; p++) give_back(places[(p * 7) % COUNT], sizes[i]);
        assert_int_equal(arena.virtual_bytes_used, 0);
        assert_int_equal(arena.chunks_used, 0);
    }
}

static void a_dense_place_ends_before_what_is_not_free(void **state)
{
    (void)state;
    suballocator.dense = true;
    uint64_t first = take(CHUNK - SL_MIB, 1), next = take_in(SL_MIB, SL_GROUP_FREED, 2);
    assert_int_equal(next, first + CHUNK); /* another group's */
    uint64_t third = take(CHUNK - SL_MIB, 3);
    assert_int_equal(third, next + CHUNK);
    give_back(third, CHUNK - SL_MIB);
    give_back(next, SL_MIB);
    assert_int_equal(take(2 * SL_MIB, 4), first + CHUNK - SL_MIB);
    /* Nothing is left of an attempt that has too little room. */
    uint64_t used = arena.virtual_bytes_used, address;
    assert_int_equal(sl_suballocator_take(&suballocator, 3 * CHUNK, SL_GROUP_LASTING,
                                          3 * CHUNK - SL_BLOCK_BYTES, 5, &address),
                     SL_ERR_NO_MEMORY);
    assert_int_equal(arena.virtual_bytes_used, used);
}

/* Of more chunks than are remembered. */
static void room_is_found_wherever_it_is(void **state)
{
    (void)state;
    enum { COUNT = 3 * SL_PARTIAL };
    static uint64_t places[COUNT];
    uint64_t address;
    for (uint32_t p = 0; p < COUNT; p++) places[p] = take(SL_MIB * 3 / 2, p);
    for (uint32_t p = 0; p < COUNT; p += 2) give_back(places[p], SL_MIB * 3 / 2);
    for (uint32_t p = 0; p < COUNT; p += 2)
        assert_int_equal(sl_suballocator_take(&suballocator, SL_MIB * 3 / 2, SL_GROUP_FREED, 0, p, &address),
                         SL_OK);
    assert_int_equal(sl_suballocator_take(&suballocator, SL_MIB * 3 / 2, SL_GROUP_FREED, 0, COUNT, &address),
                     SL_ERR_NO_MEMORY);
}

/* --- room --- */

static void chunks_grow_by_no_more_than_the_room(void **state)
{
    (void)state;
    uint64_t address;
    assert_int_equal(
        sl_suballocator_take(&suballocator, 1000, SL_GROUP_LASTING, SL_BLOCK_BYTES - 1, 1, &address),
        SL_ERR_NO_MEMORY);
    assert_int_equal(
        sl_suballocator_take(&suballocator, UINT64_MAX - 5, SL_GROUP_LASTING, UINT64_MAX - 6, 1, &address),
        SL_ERR_NO_MEMORY);
    assert_int_equal(arena.virtual_bytes_used, 0);
    assert_int_equal(sl_suballocator_take(&suballocator, 1000, SL_GROUP_LASTING, SL_BLOCK_BYTES, 1, &address),
                     SL_OK);
    /* What lies within the block takes nothing more. */
    assert_int_equal(sl_suballocator_take(&suballocator, SL_MIB, SL_GROUP_LASTING, 0, 2, &address), SL_OK);
    assert_int_equal(
        sl_suballocator_take(&suballocator, SL_MIB, SL_GROUP_LASTING, SL_BLOCK_BYTES - 1, 3, &address),
        SL_ERR_NO_MEMORY);
    assert_int_equal(arena.virtual_bytes_used, SL_BLOCK_BYTES);
}

static void a_place_is_taken_again_as_far_as_there_is_room(void **state)
{
    (void)state;
    uint64_t large = take(CHUNK + SL_MIB, 1);
    give_back(large, CHUNK + SL_MIB);
    assert_false(retake(large, CHUNK + SL_MIB, CHUNK - 1, 1));
    assert_false(retake(large, CHUNK + SL_MIB, CHUNK + SL_BLOCK_BYTES - 1, 1));
    assert_int_equal(arena.virtual_bytes_used, 0); /* nothing is left of the attempts */
    assert_true(retake(large, CHUNK + SL_MIB, CHUNK + SL_BLOCK_BYTES, 1));
    assert_int_equal(sl_suballocator_slot(&arena, large + CHUNK), 1);
    assert_false(retake(large, CHUNK + SL_MIB, UINT64_MAX, 2));
    assert_false(retake(large + CHUNK, 1000, UINT64_MAX, 2));
    assert_int_equal(sl_suballocator_slot(&arena, large), 1);
}

/* A run lies there now: no packed chunk, whatever is free in it. */
static void a_place_in_what_became_a_run_is_taken(void **state)
{
    (void)state;
    uint64_t small = take(1000, 1);
    give_back(small, 1000);
    uint64_t large = take(CHUNK, 2);
    assert_int_equal(large, small);
    assert_false(retake(small, 1000, UINT64_MAX, 1));
}

/* Pinned memory that the backend has given is there whether it is used or not: it takes no room. */
static void pinned_memory_takes_what_the_backend_gives(void **state)
{
    (void)state;
    uint64_t address, second, used = 0;
    assert_int_equal(sl_suballocator_take(&suballocator, 1000, SL_GROUP_PINNED, 0, 1, &address),
                     SL_ERR_NO_MEMORY);
    assert_int_equal(sl_suballocator_take(&suballocator, 1000, SL_GROUP_PINNED, SL_GIB, 1, &address), SL_OK);
    used = device.pinned_bytes;
    assert_true(used && used == arena.pinned_bytes);
    assert_int_equal(sl_suballocator_take(&suballocator, 3 * SL_MIB, SL_GROUP_PINNED, 0, 2, &second), SL_OK);
    assert_int_equal(sl_suballocator_take(&suballocator, 2 * CHUNK, SL_GROUP_PINNED, 0, 3, &second), SL_OK);
    assert_true(record_of(address)->pinned && record_of(second)->pinned);
    give_back(second, 2 * CHUNK);
    assert_true(sl_suballocator_retake(&suballocator, second, 2 * CHUNK, SL_GROUP_PINNED, 0, 3));
    assert_int_equal(device.pinned_bytes, used);
}

static bool retake_pinned(uint64_t address, uint64_t bytes)
{
    return sl_suballocator_retake(&suballocator, address, bytes, SL_GROUP_PINNED, UINT64_MAX, 1);
}

/* Of a pinned slab's addresses only the first have memory: what is larger than what lay there must not lie
 * beyond that, nor go on in a slab that is pinned by itself or not at all. */
static void nothing_is_placed_where_no_pinned_memory_is(void **state)
{
    (void)state;
    uint64_t address, whole, next, unified;
    assert_int_equal(sl_suballocator_take(&suballocator, 1000, SL_GROUP_PINNED, SL_GIB, 1, &address), SL_OK);
    uint64_t end = (address & ~(SL_GIB - 1)) + device.pinned_bytes;
    give_back(address, 1000);
    assert_true(retake_pinned(end - SL_MIB, SL_MIB));
    give_back(end - SL_MIB, SL_MIB);
    assert_false(retake_pinned(end - SL_MIB, SL_MIB + 1));
    assert_false(retake_pinned(end, 1000));
    assert_int_equal(sl_suballocator_take(&suballocator, SL_GIB, SL_GROUP_PINNED, SL_GIB, 1, &whole), SL_OK);
    assert_int_equal(sl_suballocator_take(&suballocator, SL_GIB, SL_GROUP_PINNED, SL_GIB, 2, &next), SL_OK);
    unified = take(1000, 3);
    assert_true(next == whole + SL_GIB && unified == next + SL_GIB);
    give_back(whole, SL_GIB);
    give_back(next, SL_GIB);
    give_back(unified, 1000);
    assert_false(retake_pinned(next - SL_MIB, 2 * SL_MIB));
    assert_false(retake_pinned(unified - SL_MIB, 2 * SL_MIB));
    assert_true(retake_pinned(next, SL_GIB));
}

static void what_the_backend_refuses_is_said(void **state)
{
    (void)state;
    uint64_t address;
    device.slabs_are = SL_ERR_DRIVER;
    assert_int_equal(sl_suballocator_take(&suballocator, 1000, SL_GROUP_LASTING, UINT64_MAX, 1, &address),
                     SL_ERR_DRIVER);
    assert_int_equal(sl_suballocator_slot(&arena, 4096), SL_NONE); /* an address that is none of ours */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(places_are_those_of_their_slots, start, stop),
        cmocka_unit_test_setup_teardown(groups_do_not_share_chunks, start, stop),
        cmocka_unit_test_setup_teardown(gaps_are_used_before_chunks_grow, start, stop),
        cmocka_unit_test_setup_teardown(the_most_room_is_remembered, start, stop),
        cmocka_unit_test_setup_teardown(a_large_one_has_its_chunks_to_itself, start, stop),
        cmocka_unit_test_setup_teardown(dense_places_go_on_in_the_next_chunk, start, stop),
        cmocka_unit_test_setup_teardown(a_dense_place_ends_before_what_is_not_free, start, stop),
        cmocka_unit_test_setup_teardown(room_is_found_wherever_it_is, start, stop),
        cmocka_unit_test_setup_teardown(chunks_grow_by_no_more_than_the_room, start, stop),
        cmocka_unit_test_setup_teardown(a_place_is_taken_again_as_far_as_there_is_room, start, stop),
        cmocka_unit_test_setup_teardown(a_place_in_what_became_a_run_is_taken, start, stop),
        cmocka_unit_test_setup_teardown(pinned_memory_takes_what_the_backend_gives, start, stop),
        cmocka_unit_test_setup_teardown(nothing_is_placed_where_no_pinned_memory_is, start, stop),
        cmocka_unit_test_setup_teardown(what_the_backend_refuses_is_said, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
