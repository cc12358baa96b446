/* What arena and placement look like is found valid, and each invariant that is broken is found to be: one
 * field at a time has another value. Where a test fails, that is a corruption which SL_CHECK_ALL would not
 * see. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "broken.h"
#include "launch/access.h"
#include "memory/memory_valid.h"
#include "tests/host/backend_host.h"

#define CHUNK (4 * SL_MIB)

static struct sl_backend backend;
static struct sl_arena arena;
static struct sl_placement placement;
static uint32_t packed, beside, twin, like, large, behind, pinned; /* slots that live */
static uint32_t other;                                             /* of the same key as `packed`; freed */
static sl_chunk run; /* the first chunk of `large`: three to itself, and a part of one */

static uint32_t place(uint64_t bytes, uint64_t site)
{
    uint32_t slot;
    assert_int_equal(sl_place(&placement, bytes, site, &slot), SL_OK);
    return slot;
}

static struct sl_slot *slot_of(uint32_t s)
{
    return &placement.slots[s];
}

static sl_chunk chunk_of(uint32_t s)
{
    return sl_arena_chunk(&arena, slot_of(s)->address);
}

static struct sl_chunk_record *record_of(uint32_t s)
{
    return sl_arena_record(&arena, chunk_of(s));
}

static int open_world(void **state)
{
    (void)state;
    uint32_t freed;
    if (sl_backend_host_new(SL_GIB, &backend)) return -1;
    sl_arena_init(&arena, &backend, CHUNK);
    sl_placement_init(&placement, &arena, UINT64_MAX);
    if (!sl_backing_parse("site:0000000000000004=pinned", &placement.backing)) return -1;
    packed = place(300 * SL_KIB, 1);
    beside = place(SL_MIB, 2);
    twin = place(SL_MIB, 2); /* of the same key */
    like = place(SL_MIB, 7); /* of as many bytes */
    other = place(300 * SL_KIB, 1);
    large = place(3 * CHUNK + SL_MIB, 3);
    behind = place(2 * CHUNK, 6);
    pinned = place(SL_MIB, 4);
    place(SL_KIB, 5);
    run = chunk_of(large);
    if (!slot_of(pinned)->pinned) return -1;
    for (uint64_t offset = 1; offset <= 3; offset++) sl_slot_learn(slot_of(large), offset * SL_MIB);
    return sl_unplace(&placement, slot_of(other)->address, &freed);
}

static int close_world(void **state)
{
    (void)state;
    sl_placement_close(&placement);
    sl_arena_close(&arena, false);
    backend.close(backend.self);
    return 0;
}

static void bitmaps(void **state)
{
    (void)state;
    struct sl_chunk_bitmap *bitmap = sl_chunk_bitmap_new(8192);
    assert_non_null(bitmap);
    assert_true(sl_chunk_bitmap_is_valid(bitmap));
    sl_chunk_bitmap_use(bitmap, 4096);
    sl_chunk_bitmap_take(bitmap, 0, 10, 1);
    sl_chunk_bitmap_take(bitmap, 3000, 10, 2);
    sl_chunk_bitmap_take(bitmap, 3010, 1086, 3);
    assert_true(sl_chunk_bitmap_is_valid(bitmap));
    assert_breaks(bitmap->end, 8193, sl_chunk_bitmap_is_valid(bitmap));
    assert_breaks(bitmap->longest, 8193, sl_chunk_bitmap_is_valid(bitmap));
    assert_breaks(bitmap->count, 2, sl_chunk_bitmap_is_valid(bitmap));
    assert_breaks(bitmap->stretches[3000].granules, 0, sl_chunk_bitmap_is_valid(bitmap));
    assert_breaks(bitmap->stretches[3000].granules, 11, sl_chunk_bitmap_is_valid(bitmap));
    assert_breaks(bitmap->stretches[3010].granules, 8192 - 3010 + 1, sl_chunk_bitmap_is_valid(bitmap));
    for (int level = 0; level < SL_CHUNK_BITMAP_LEVELS; level++)
        assert_breaks(bitmap->starts[level][0], 0, sl_chunk_bitmap_is_valid(bitmap));
    assert_breaks(bitmap->starts[1][1], 1, sl_chunk_bitmap_is_valid(bitmap));
    assert_breaks(bitmap->granules, 4095, sl_chunk_bitmap_is_valid(bitmap));
    sl_chunk_bitmap_take(bitmap, 5000, 1, 4);
    assert_breaks(bitmap->granules, 4999, sl_chunk_bitmap_is_valid(bitmap));
    sl_chunk_bitmap_delete(bitmap);
}

static void chunks_in_use(void **state)
{
    (void)state;
    sl_chunk c = chunk_of(packed);
    struct sl_chunk_record *chunk = record_of(packed);
    assert_true(sl_chunk_is_valid(&arena, c));
    assert_breaks(chunk->address, chunk->address + SL_BLOCK_BYTES, sl_chunk_is_valid(&arena, c));
    assert_breaks(chunk->pinned, true, sl_chunk_is_valid(&arena, c));
    assert_breaks(chunk->content, SL_CONTENT_RESIDENT_DEAD + 1, sl_chunk_is_valid(&arena, c));
    assert_breaks(chunk->content, -1, sl_chunk_is_valid(&arena, c));
    assert_breaks(chunk->bytes, chunk->bytes - SL_KIB, sl_chunk_is_valid(&arena, c));
    assert_breaks(chunk->bytes, 0, sl_chunk_is_valid(&arena, c));
    assert_breaks(chunk->frame_bytes, SL_KIB, sl_chunk_is_valid(&arena, c));
    assert_breaks(chunk->frame_bytes, 2 * CHUNK, sl_chunk_is_valid(&arena, c));
    assert_breaks(chunk->run, c + 1, sl_chunk_is_valid(&arena, c));
    assert_breaks(chunk->run, SL_NONE, sl_chunk_is_valid(&arena, c));
    assert_breaks(chunk->run_chunks, 0, sl_chunk_is_valid(&arena, c));
    assert_breaks(chunk->run_chunks, 2, sl_chunk_is_valid(&arena, c));
    assert_breaks(chunk->bitmap, NULL, sl_chunk_is_valid(&arena, c));
    assert_breaks(chunk->bitmap->count, 0, sl_chunk_is_valid(&arena, c));
    assert_breaks(chunk->bitmap->end, chunk->bitmap->end - 1, sl_chunk_is_valid(&arena, c));
    assert_breaks(arena.slabs[0].chunk_count, c, sl_chunk_is_valid(&arena, c));
}

static void nothing_lies_beyond_what_is_in_use(void **state)
{
    (void)state;
    struct sl_chunk_bitmap *bitmap = sl_arena_record(&arena, run + 3)->bitmap;
    uint32_t last = bitmap->end - 1;
    assert_true(sl_chunk_is_valid(&arena, run + 3));
    sl_chunk_bitmap_take(bitmap, last, 2, 0);
    assert_false(sl_chunk_is_valid(&arena, run + 3));
    sl_chunk_bitmap_leave(bitmap, last);
    assert_true(sl_chunk_is_valid(&arena, run + 3));
}

/* A packed chunk that is in use as a whole, and the next one calls it its run. */
static void packed_chunks_are_no_runs(void **state)
{
    (void)state;
    sl_chunk c = chunk_of(packed);
    struct sl_chunk_record *chunk = record_of(packed);
    chunk->bytes = CHUNK;
    chunk->bitmap->end = CHUNK / SL_GRANULE_BYTES;
    assert_true(sl_chunk_is_valid(&arena, c));
    sl_arena_record(&arena, c + 1)->run = c;
    assert_breaks(chunk->run_chunks, 2, sl_chunk_is_valid(&arena, c));
}

static void chunks_of_runs(void **state)
{
    (void)state;
    struct sl_chunk_record *first = sl_arena_record(&arena, run), *middle = first + 1, *last = first + 2;
    for (sl_chunk c = run; c <= run + 3; c++) assert_true(sl_chunk_is_valid(&arena, c));
    assert_breaks(middle->bytes, CHUNK / 2, sl_chunk_is_valid(&arena, run + 1));
    assert_breaks(middle->run, run + 1, sl_chunk_is_valid(&arena, run));
    assert_breaks(last->run, run + 1, sl_chunk_is_valid(&arena, run + 2));
    assert_breaks(first->run_chunks, 2, sl_chunk_is_valid(&arena, run + 2));
    assert_breaks(first->run_chunks, 0, sl_chunk_is_valid(&arena, run));
    assert_breaks(first->run, run + 1, sl_chunk_is_valid(&arena, run + 1));
    assert_breaks(middle->run, chunk_of(behind), sl_chunk_is_valid(&arena, run + 1));
    last->bytes = CHUNK / 2; /* as the last chunk of a run may be */
    assert_breaks(last->bytes, CHUNK / 2 + SL_KIB, sl_chunk_is_valid(&arena, run + 2));
    assert_breaks(last->bytes, 2 * CHUNK, sl_chunk_is_valid(&arena, run + 2));
    last->bytes = CHUNK;
    first->run_chunks = 4; /* the packed chunk behind it has a run of its own */
    assert_breaks(sl_arena_record(&arena, run + 3)->run, run, sl_chunk_is_valid(&arena, run + 3));
}

/* Behind the last slab there are no chunks to look at. */
static void a_run_at_the_end_of_the_arena(void **state)
{
    (void)state;
    static struct sl_arena small;
    sl_chunk first;
    sl_arena_init(&small, &backend, CHUNK);
    assert_int_equal(sl_arena_take(&small, SL_GIB, &first), SL_OK);
    assert_true(sl_arena_is_valid(&small));
    assert_breaks(sl_arena_record(&small, first)->run_chunks, small.chunks_per_slab + 1,
                  sl_chunk_is_valid(&small, first));
    sl_arena_close(&small, false);
}

static void free_chunks(void **state)
{
    (void)state;
    sl_chunk c = arena.chunks_per_slab - 1;
    struct sl_chunk_record *chunk = sl_arena_record(&arena, c);
    assert_true(sl_chunk_is_valid(&arena, c));
    assert_breaks(chunk->run, c - 1, sl_chunk_is_valid(&arena, c));
    assert_breaks(chunk->run_chunks, 1, sl_chunk_is_valid(&arena, c));
    assert_breaks(chunk->run_slot, 0, sl_chunk_is_valid(&arena, c));
    assert_breaks(chunk->group, 0, sl_chunk_is_valid(&arena, c));
}

static void pinned_chunks(void **state)
{
    (void)state;
    sl_chunk c = chunk_of(pinned);
    struct sl_chunk_record *chunk = record_of(pinned);
    assert_true(sl_chunk_is_valid(&arena, c));
    assert_breaks(chunk->content, SL_CONTENT_HOST, sl_chunk_is_valid(&arena, c));
    assert_breaks(chunk->frame_bytes, CHUNK / 2, sl_chunk_is_valid(&arena, c));
    assert_breaks(chunk->pinned, false, sl_chunk_is_valid(&arena, c));
}

static void arenas(void **state)
{
    (void)state;
    struct sl_slab *slab = &arena.slabs[0];
    _Atomic uint32_t *leads = &sl_slab_of[slab->address >> SL_SLAB_SHIFT];
    assert_true(sl_arena_is_valid(&arena));
    assert_breaks(slab->address, slab->address + SL_GIB, sl_arena_is_valid(&arena));
    assert_breaks(slab->chunk_count, arena.chunks_per_slab + 1, sl_arena_is_valid(&arena));
    assert_breaks(slab->free_chunks, slab->free_chunks - 1, sl_arena_is_valid(&arena));
    assert_breaks(*leads, 2, sl_arena_is_valid(&arena));
    assert_breaks(sl_arena_range.low, slab->address + 1, sl_arena_is_valid(&arena));
    assert_breaks(sl_arena_range.high, slab->address + SL_GIB - 1, sl_arena_is_valid(&arena));
    assert_breaks(arena.slab_count, 3, sl_arena_is_valid(&arena));
    assert_breaks(arena.chunks_used, arena.chunks_used - 1, sl_arena_is_valid(&arena));
    assert_breaks(arena.peak_chunks_used, arena.chunks_used - 1, sl_arena_is_valid(&arena));
    assert_breaks(arena.virtual_bytes_used, arena.virtual_bytes_used - SL_BLOCK_BYTES,
                  sl_arena_is_valid(&arena));
    assert_breaks(arena.pinned_bytes_used, 0, sl_arena_is_valid(&arena));
    assert_breaks(arena.pinned_bytes, arena.pinned_bytes_used - 1, sl_arena_is_valid(&arena));
    assert_breaks(record_of(packed)->run_chunks, 0, sl_arena_is_valid(&arena));
    for (uint32_t c = 0; c < arena.chunks_per_slab; c++) slab->chunks[c].address += SL_BLOCK_BYTES;
    sl_arena_range.high += SL_BLOCK_BYTES;
    slab->address += SL_BLOCK_BYTES; /* as a whole it is moved */
    assert_false(sl_arena_is_valid(&arena));
    slab->address -= SL_BLOCK_BYTES;
}

static void suballocators(void **state)
{
    (void)state;
    struct sl_suballocator *suballocator = &placement.suballocator;
    struct sl_group *group = &suballocator->groups[record_of(beside)->group];
    assert_true(sl_suballocator_is_valid(suballocator));
    assert_true(group->partial_count >= 2);
    assert_breaks(group->partial[0], arena.chunks_per_slab * 2, sl_suballocator_is_valid(suballocator));
    assert_breaks(group->partial[1], group->partial[0], sl_suballocator_is_valid(suballocator));
    assert_breaks(group->newest, arena.chunks_per_slab * 2, sl_suballocator_is_valid(suballocator));
    assert_breaks(record_of(packed)->group, SL_GROUPS, sl_suballocator_is_valid(suballocator));
    assert_breaks(record_of(packed)->group, SL_GROUP_PINNED, sl_suballocator_is_valid(suballocator));
    assert_breaks(record_of(pinned)->group, SL_GROUP_LASTING, sl_suballocator_is_valid(suballocator));
    assert_breaks(record_of(packed)->bitmap->count, 1, sl_suballocator_is_valid(suballocator));
    for (uint32_t i = 0; i < SL_PARTIAL; i++) group->partial[i] = i;
    group->partial_count = SL_PARTIAL;
    assert_breaks(group->partial_count, SL_PARTIAL + 1, sl_suballocator_is_valid(suballocator));
}

static void slots(void **state)
{
    (void)state;
    struct sl_slot *slot = slot_of(packed);
    struct sl_slot_key *key = &placement.keys[slot->key];
    assert_true(sl_slot_is_valid(&placement, packed));
    assert_true(sl_slot_is_valid(&placement, other));
    assert_breaks(placement.slot_count, packed, sl_slot_is_valid(&placement, packed));
    assert_breaks(placement.key_count, slot->key, sl_slot_is_valid(&placement, packed));
    assert_breaks(slot->ordinal, key->count, sl_slot_is_valid(&placement, packed));
    assert_breaks(slot->ordinal, 1, sl_slot_is_valid(&placement, packed));
    assert_breaks(slot->site, 7, sl_slot_is_valid(&placement, packed));
    assert_breaks(slot->bytes, slot->bytes - 1, sl_slot_is_valid(&placement, packed));
    assert_breaks(slot->address, 0, sl_slot_is_valid(&placement, packed));
    assert_breaks(slot->address, slot_of(beside)->address, sl_slot_is_valid(&placement, packed));
    assert_breaks(slot->address, slot->address - 512, sl_slot_is_valid(&placement, packed));
    assert_breaks(slot->address, slot->address + 512, sl_slot_is_valid(&placement, packed));
    assert_breaks(slot->pinned, true, sl_slot_is_valid(&placement, packed));
    assert_breaks(record_of(packed)->bitmap->end, 0, sl_slot_is_valid(&placement, packed));
    struct sl_slot *inner = slot_of(large);
    assert_breaks(inner->interior[0], 0, sl_slot_is_valid(&placement, large));
    assert_breaks(inner->interior[1], inner->interior[0], sl_slot_is_valid(&placement, large));
    assert_breaks(inner->interior[2], inner->bytes, sl_slot_is_valid(&placement, large));
    assert_breaks(inner->interior_capacity, 2, sl_slot_is_valid(&placement, large));
    assert_breaks(sl_arena_record(&arena, run + 1)->run, run + 1, sl_slot_is_valid(&placement, large));
}

static void placements(void **state)
{
    (void)state;
    struct sl_slot_key *key = &placement.keys[slot_of(packed)->key],
                       *twins = &placement.keys[slot_of(twin)->key];
    assert_true(sl_placement_is_valid(&placement));
    assert_breaks(placement.live_count, placement.live_count - 1, sl_placement_is_valid(&placement));
    assert_breaks(placement.live_bytes, placement.live_bytes + 1, sl_placement_is_valid(&placement));
    assert_breaks(placement.peak_live_bytes, placement.live_bytes - 1, sl_placement_is_valid(&placement));
    assert_breaks(placement.pinned_live_bytes, 0, sl_placement_is_valid(&placement));
    assert_breaks(placement.peak_pinned_live_bytes, 0, sl_placement_is_valid(&placement));
    assert_breaks(placement.slot_count, placement.slot_count - 1, sl_placement_is_valid(&placement));
    assert_breaks(placement.slot_capacity, placement.slot_count - 1, sl_placement_is_valid(&placement));
    assert_breaks(key->count, 1, sl_placement_is_valid(&placement));
    assert_breaks(key->capacity, 1, sl_placement_is_valid(&placement));
    assert_breaks(key->lowest_free, 2, sl_placement_is_valid(&placement)); /* `other` is free */
    assert_breaks(twins->lowest_free, 3, sl_placement_is_valid(&placement));
    assert_breaks(key->slots[1], packed, sl_placement_is_valid(&placement));
    assert_breaks(twins->slots[1], beside, sl_placement_is_valid(&placement));
    assert_breaks(twins->slots[0], like, sl_placement_is_valid(&placement));
    assert_breaks(slot_of(other)->live, true, sl_placement_is_valid(&placement));
    assert_breaks(placement.suballocator.groups[0].newest, SL_NONE - 1, sl_placement_is_valid(&placement));
    assert_breaks(arena.chunks_used, 0, sl_placement_is_valid(&placement));
}

/* Slots that are nobody's are those that were forgotten. */
static void lists_of_free_slots(void **state)
{
    (void)state;
    sl_placement_forget(&placement);
    assert_int_equal(placement.free_slots, 1);
    assert_true(sl_placement_is_valid(&placement));
    assert_breaks(placement.free_slots, 0, sl_placement_is_valid(&placement));
    assert_breaks(placement.free_slot, packed, sl_placement_is_valid(&placement));
    assert_breaks(placement.free_slot, placement.slot_count, sl_placement_is_valid(&placement));
    assert_breaks(slot_of(other)->live, true, sl_placement_is_valid(&placement));
    uint32_t freed;
    assert_int_equal(sl_unplace(&placement, slot_of(beside)->address, &freed), SL_OK);
    assert_breaks(placement.free_slot, freed, sl_placement_is_valid(&placement));
}

/* While the core only records, allocations lie where the driver has them. */
static void noted_allocations(void **state)
{
    (void)state;
    struct sl_arena none;
    struct sl_placement noted;
    uint32_t slot;
    sl_arena_init(&none, &backend, CHUNK);
    sl_placement_init(&noted, &none, UINT64_MAX);
    noted.noted = true;
    assert_int_equal(sl_place_noted(&noted, SL_GIB << 8, SL_MIB, 1, &slot), SL_OK);
    assert_true(sl_placement_is_valid(&noted));
    assert_breaks(noted.slots[slot].address, SL_GIB, sl_placement_is_valid(&noted));
    assert_breaks(noted.slots[slot].address, (SL_GIB << 8) + 1, sl_placement_is_valid(&noted));
    assert_breaks(noted.live_bytes, 0, sl_placement_is_valid(&noted));
    sl_placement_close(&noted);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(bitmaps),
        TEST(chunks_in_use),
        TEST(nothing_lies_beyond_what_is_in_use),
        TEST(packed_chunks_are_no_runs),
        TEST(chunks_of_runs),
        TEST(a_run_at_the_end_of_the_arena),
        TEST(free_chunks),
        TEST(pinned_chunks),
        TEST(arenas),
        TEST(suballocators),
        TEST(slots),
        TEST(placements),
        TEST(lists_of_free_slots),
        TEST(noted_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
