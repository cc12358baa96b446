/* Placement: slots, last places, packing, runs, tensors inside slabs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "memory/memory_valid.h"
#include "memory/placement.h"
#include "tests/host/backend_host.h"

#define CHUNK (4 * SL_MIB)

struct world {
    struct sl_backend backend;
    struct sl_arena arena;
    struct sl_placement placement;
};

static struct world *open_world(uint64_t limit)
{
    struct world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    assert_int_equal(sl_backend_host_new(SL_GIB, &world->backend), SL_OK);
    sl_arena_init(&world->arena, &world->backend, CHUNK);
    sl_placement_init(&world->placement, &world->arena, limit);
    return world;
}

static void close_world(struct world *world)
{
    sl_placement_close(&world->placement);
    sl_arena_close(&world->arena, false);
    world->backend.close(world->backend.self);
    free(world);
}

static uint32_t place(struct world *world, uint64_t bytes, uint64_t site)
{
    uint32_t slot;
    assert_int_equal(sl_place(&world->placement, bytes, site, &slot), SL_OK);
    return slot;
}

static uint64_t address_of(const struct world *world, uint32_t slot)
{
    return world->placement.slots[slot].address;
}

static void unplace(struct world *world, uint32_t slot)
{
    uint32_t freed;
    assert_int_equal(sl_unplace(&world->placement, address_of(world, slot), &freed), SL_OK);
    assert_int_equal(freed, slot);
}

static void equal_iterations_get_equal_names_and_places(void **state)
{
    (void)state;
    struct world *world = open_world(UINT64_MAX);
    uint32_t keep = place(world, 1000, 1), slots[3][8];
    uint64_t addresses[8];
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 8; i++)
            slots[round][i] = place(world, (uint64_t)(i % 3 + 1) * 700000, 2 + (uint64_t)(i % 2));
        for (int i = 0; i < 8; i++) {
            assert_int_equal(slots[round][i], slots[0][i]);
            if (round) assert_int_equal(address_of(world, slots[round][i]), addresses[i]);
            addresses[i] = address_of(world, slots[round][i]);
        }
        for (int i = 0; i < 8; i++) unplace(world, slots[round][(i * 3) % 8]);
    }
    unplace(world, keep);
    assert_int_equal(world->arena.virtual_bytes_used, 0);
    close_world(world);
}

static void the_smallest_free_ordinal_is_taken(void **state)
{
    (void)state;
    struct world *world = open_world(UINT64_MAX);
    uint32_t a = place(world, 512, 1), b = place(world, 512, 1), c = place(world, 512, 1);
    unplace(world, b);
    unplace(world, a);
    assert_int_equal(place(world, 512, 1), a);
    assert_int_equal(place(world, 512, 1), b);
    assert_int_not_equal(place(world, 512, 1), c);
    close_world(world);
}

static void check_names(const struct world *world, const uint32_t *slots, uint32_t count, uint32_t first)
{
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(sl_slot_name(&world->placement, slots[i]), first + i);
        assert_int_equal(sl_slot_named(&world->placement, first + i), slots[i]);
    }
}

static void tiny_ones_are_named_by_age(void **state)
{
    (void)state;
    struct world *world = open_world(SL_GIB);
    uint32_t s[4];
    for (int i = 0; i < 4; i++) s[i] = place(world, 4, 1);
    check_names(world, s, 4, s[0]);
    uint32_t others = place(world, 4, 2);
    assert_int_equal(sl_slot_name(&world->placement, others), others);
    assert_int_equal(sl_slot_freed_name(&world->placement, s[1]), s[3]); /* there are four */
    unplace(world, s[1]); /* the younger ones are each called as the next older one was */
    assert_int_equal(sl_slot_freed_name(&world->placement, s[0]), s[2]);
    check_names(world, (uint32_t[]){s[0], s[2], s[3]}, 3, s[0]);
    assert_int_equal(sl_slot_named(&world->placement, s[3]), SL_NONE);
    assert_int_equal(sl_slot_name(&world->placement, s[1]), s[1]); /* it does not live */
    assert_int_equal(place(world, 4, 1), s[1]);
    check_names(world, (uint32_t[]){s[0], s[2], s[3], s[1]}, 4, s[0]);
    close_world(world);
}

static void larger_ones_are_named_by_number(void **state)
{
    (void)state;
    struct world *world = open_world(SL_GIB);
    uint32_t first = place(world, SL_MIB, 1), second = place(world, SL_MIB, 1);
    unplace(world, first);
    assert_int_equal(sl_slot_name(&world->placement, second), second);
    assert_int_equal(sl_slot_freed_name(&world->placement, second), second);
    assert_int_equal(sl_slot_named(&world->placement, first), SL_NONE);
    assert_int_equal(sl_slot_named(&world->placement, second), second);
    close_world(world);
}

/* Which of two streams' is the older is chance. */
static void what_several_streams_allocate_is_named_by_number(void **state)
{
    (void)state;
    struct world *world = open_world(SL_GIB);
    world->placement.stream = 1;
    uint32_t first = place(world, 4, 1), second = place(world, 4, 1);
    unplace(world, first);
    assert_int_equal(sl_slot_name(&world->placement, second), first);
    world->placement.stream = 2;
    uint32_t others = place(world, 4, 1);
    assert_int_equal(sl_slot_name(&world->placement, second), second);
    assert_int_equal(sl_slot_name(&world->placement, others), others);
    assert_int_equal(sl_slot_named(&world->placement, others), others);
    unplace(world, second);
    assert_int_equal(sl_slot_name(&world->placement, others), others);
    close_world(world);
}

/* Whatever is freed, and what is forgotten: names are those of the key's first slots, each once. */
static void names_are_as_many_as_live(void **state)
{
    (void)state;
    enum { MOST = 600 };
    struct world *world = open_world(SL_GIB);
    uint32_t live[MOST], count = 0;
    uint64_t random = 1;
    for (int step = 0; step < 4000; step++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        uint32_t at = count ? (uint32_t)(random >> 33) % count : 0;
        if (count < MOST && (step < MOST / 2 || random >> 63)) {
            live[count++] = place(world, 512, 1);
        } else if (count) {
            unplace(world, live[at]);
            live[at] = live[--count];
        }
        if (step % 1000 == 999) sl_placement_forget(&world->placement);
        if (step % 100) continue;
        const struct sl_slot_key *key = &world->placement.keys[world->placement.slots[live[0]].key];
        assert_int_equal(key->live_count, count);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t name = sl_slot_name(&world->placement, live[i]);
            assert_in_range(world->placement.slots[name].ordinal, 0, count - 1);
            assert_int_equal(sl_slot_named(&world->placement, name), live[i]);
        }
    }
    close_world(world);
}

/* Where sizes vary. A slot that was the first with a number, and then the first with another, names one. */
static void check_own_names(uint64_t unit)
{
    enum { MOST = 300 };
    struct world *world = open_world(SL_GIB);
    uint32_t live[MOST], count = 0;
    uint64_t random = 1;
    world->placement.names.vary = true;
    for (uint64_t size = 1; size < 4; size++) unplace(world, place(world, size * unit, 1));
    for (int step = 0; step < 3000; step++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        uint32_t at = count ? (uint32_t)(random >> 33) % count : 0;
        if (count < MOST && (step < MOST || random >> 63)) {
            live[count++] = place(world, (1 + (random >> 40) % 3) * unit, 1);
        } else if (count) {
            unplace(world, live[at]);
            live[at] = live[--count];
        }
        for (uint32_t i = 0; i < count && (step < 20 || step % 100 == 0); i++) {
            uint32_t name = sl_slot_name(&world->placement, live[i]);
            assert_true(sl_name_is_of_any_size(&world->placement, name));
            assert_int_equal(sl_slot_named(&world->placement, name), live[i]);
        }
    }
    close_world(world);
}

static void what_lives_has_names_of_its_own(void **state)
{
    (void)state;
    check_own_names(SL_MIB);
    check_own_names(SL_KIB); /* by age */
}

static void allocations_do_not_overlap_and_are_found(void **state)
{
    (void)state;
    struct world *world = open_world(UINT64_MAX);
    uint32_t slots[200] = {0};
    bool live[200] = {false};
    srand(5);
    for (int round = 0; round < 4000; round++) {
        int i = rand() % 200;
        if (live[i]) {
            unplace(world, slots[i]);
        } else {
            uint64_t bytes =
                (uint64_t)(rand() % 100 == 0 ? rand() % (20 * (int)SL_MIB) : rand() % 300000) + 1;
            slots[i] = place(world, bytes, (uint64_t)(rand() % 5));
        }
        live[i] = !live[i];
    }
    for (int i = 0; i < 200; i++) {
        if (!live[i]) continue;
        const struct sl_slot *slot = &world->placement.slots[slots[i]];
        assert_int_equal(slot->address % SL_ALLOCATION_ALIGN, 0);
        assert_int_equal(sl_place_find(&world->placement, slot->address), slots[i]);
        assert_int_equal(sl_place_find(&world->placement, slot->address + slot->bytes - 1), slots[i]);
        for (int j = 0; j < i; j++) {
            const struct sl_slot *other = &world->placement.slots[slots[j]];
            if (live[j])
                assert_true(slot->address + slot->bytes <= other->address ||
                            other->address + other->bytes <= slot->address);
        }
        struct sl_chunk_range range = sl_slot_chunks(&world->placement, slot, 0, slot->bytes);
        assert_int_equal(range.count, (slot->bytes + CHUNK - 1) / CHUNK);
        for (uint32_t c = 0; c < range.count; c++)
            assert_in_range(sl_arena_record(&world->arena, range.first + c)->bytes,
                            sl_suballocator_chunk_bytes(&world->arena, slot->address, slot->bytes, c), CHUNK);
    }
    for (int i = 0; i < 200; i++)
        if (live[i]) unplace(world, slots[i]);
    assert_int_equal(world->arena.virtual_bytes_used, 0);
    assert_int_equal(world->arena.chunks_used, 0);
    close_world(world);
}

static void a_run_uses_whole_blocks_of_its_last_chunk_only(void **state)
{
    (void)state;
    struct world *world = open_world(UINT64_MAX);
    uint32_t slot = place(world, 2 * CHUNK + 100, 1);
    sl_chunk first = sl_arena_chunk(&world->arena, address_of(world, slot));
    assert_int_equal(sl_arena_record(&world->arena, first)->bytes, CHUNK);
    assert_int_equal(sl_arena_record(&world->arena, first + 2)->bytes, SL_BLOCK_BYTES);
    struct sl_chunk_range range =
        sl_slot_chunks(&world->placement, &world->placement.slots[slot], CHUNK, CHUNK + 1);
    assert_int_equal(range.first, first + 1);
    assert_int_equal(range.count, 2);
    close_world(world);
}

static uint64_t chunk_bytes(const struct world *world, uint64_t address)
{
    return sl_arena_record(&world->arena, sl_arena_chunk(&world->arena, address))->bytes;
}

/* What a large allocation leaves of its last chunk is room for others, which outlive it there; it finds its
 * place again beside them. */
static void the_rest_of_a_runs_last_chunk_is_room(void **state)
{
    (void)state;
    struct world *world = open_world(UINT64_MAX);
    uint32_t large = place(world, CHUNK + SL_MIB, 1), small = place(world, SL_MIB, 2);
    uint64_t at = address_of(world, large), behind = address_of(world, small);
    assert_int_equal(behind, at + CHUNK + SL_MIB);
    assert_int_equal(world->arena.virtual_bytes_used, CHUNK + SL_BLOCK_BYTES);
    assert_int_equal(sl_place_find(&world->placement, behind - 1), large);
    assert_int_equal(sl_place_find(&world->placement, behind), small);
    unplace(world, large);
    assert_int_equal(world->arena.virtual_bytes_used, SL_BLOCK_BYTES);
    assert_int_equal(sl_place_find(&world->placement, behind - 1), SL_NONE);
    assert_int_equal(sl_place_find(&world->placement, at), SL_NONE);
    assert_int_equal(place(world, CHUNK + SL_MIB, 1), large);
    assert_int_equal(address_of(world, large), at);
    unplace(world, small);
    assert_int_equal(world->arena.virtual_bytes_used, CHUNK + SL_BLOCK_BYTES);
    unplace(world, large);
    assert_int_equal(world->arena.virtual_bytes_used, 0);
    /* Alone in the chunk that was the large one's last, it begins where it was. */
    assert_int_equal(place(world, SL_MIB, 2), small);
    assert_int_equal(address_of(world, small), behind);
    assert_int_equal(world->arena.virtual_bytes_used, SL_BLOCK_BYTES);
    close_world(world);
}

/* Where its whole chunks are free but its rest's place is taken, a large one goes elsewhere, and leaves
 * nothing behind. */
static void a_run_whose_rest_is_taken_moves(void **state)
{
    (void)state;
    struct world *world = open_world(UINT64_MAX);
    uint32_t large = place(world, CHUNK + SL_MIB, 1), small = place(world, SL_MIB, 2);
    uint64_t at = address_of(world, large);
    unplace(world, large);
    uint32_t other = place(world, SL_MIB, 3);
    assert_int_equal(address_of(world, other), at + CHUNK);
    assert_int_equal(place(world, CHUNK + SL_MIB, 1), large);
    assert_int_not_equal(address_of(world, large), at);
    assert_int_equal(sl_place_find(&world->placement, at), SL_NONE);
    assert_int_equal(world->arena.virtual_bytes_used, CHUNK + 2 * SL_BLOCK_BYTES);
    unplace(world, large);
    unplace(world, other);
    unplace(world, small);
    assert_int_equal(world->arena.virtual_bytes_used, 0);
    close_world(world);
}

/* Chunks with room are not forgotten when another one is begun. */
static void what_fits_into_an_older_chunk_goes_there(void **state)
{
    (void)state;
    struct world *world = open_world(UINT64_MAX);
    uint64_t first = address_of(world, place(world, 3 * SL_MIB, 1));
    for (uint64_t site = 2; site < 20; site++) place(world, 3 * SL_MIB, site);
    uint64_t used = world->arena.virtual_bytes_used;
    for (uint64_t site = 20; site < 39; site++) place(world, SL_MIB, site);
    assert_int_equal(world->arena.virtual_bytes_used, used);
    assert_int_not_equal(sl_place_find(&world->placement, first + 3 * SL_MIB), SL_NONE);
    close_world(world);
}

/* Small ones in between would leave two halves of a chunk too little room each. */
static void tiny_ones_do_not_divide_the_room_of_others(void **state)
{
    (void)state;
    struct world *world = open_world(UINT64_MAX);
    for (uint64_t site = 0; site < 16; site += 2) {
        place(world, CHUNK / 2, site);
        place(world, 1000, site + 1);
    }
    assert_int_equal(world->arena.virtual_bytes_used, 4 * CHUNK + SL_BLOCK_BYTES);
    close_world(world);
}

static void a_packed_chunk_is_as_large_as_what_lies_in_it(void **state)
{
    (void)state;
    struct world *world = open_world(3 * SL_MIB);
    uint32_t refused, one = place(world, SL_MIB, 1);
    assert_int_equal(chunk_bytes(world, address_of(world, one)), SL_BLOCK_BYTES);
    /* It would have to become larger than the limit. */
    assert_int_equal(sl_place(&world->placement, 3 * SL_MIB / 2, 2, &refused), SL_ERR_NO_MEMORY);
    uint32_t two = place(world, SL_MIB, 3);
    assert_int_equal(world->arena.virtual_bytes_used, SL_BLOCK_BYTES);
    world->placement.live_chunk_bytes_limit = UINT64_MAX;
    uint32_t three = place(world, SL_MIB, 4);
    assert_int_equal(address_of(world, three), address_of(world, one) + 2 * SL_MIB);
    assert_int_equal(chunk_bytes(world, address_of(world, one)), CHUNK);
    assert_int_equal(world->arena.virtual_bytes_used, CHUNK);
    unplace(world, three); /* it stays as large until it is empty */
    assert_int_equal(world->arena.virtual_bytes_used, CHUNK);
    unplace(world, two);
    unplace(world, one);
    assert_int_equal(place(world, SL_MIB, 1), one);
    assert_int_equal(world->arena.virtual_bytes_used, SL_BLOCK_BYTES);
    close_world(world);
}

static void larger_than_a_slab_is_contiguous(void **state)
{
    (void)state;
    struct world *world = open_world(UINT64_MAX);
    uint32_t slot = place(world, 5 * SL_GIB / 2, 1);
    uint64_t base = address_of(world, slot);
    for (uint64_t at = 0; at < 5 * SL_GIB / 2; at += CHUNK)
        assert_int_equal(sl_place_find(&world->placement, base + at), slot);
    assert_int_equal(
        sl_slot_chunks(&world->placement, &world->placement.slots[slot], 0, 5 * SL_GIB / 2).count, 640);
    unplace(world, slot);
    close_world(world);
}

static void the_limit_holds_and_failure_leaves_nothing(void **state)
{
    (void)state;
    struct world *world = open_world(3 * CHUNK);
    uint32_t slot, held = place(world, 2 * CHUNK, 1);
    assert_int_equal(sl_place(&world->placement, 2 * CHUNK, 1, &slot), SL_ERR_NO_MEMORY);
    assert_int_equal(sl_place(&world->placement, UINT64_MAX - 5, 1, &slot), SL_ERR_NO_MEMORY);
    assert_int_equal(world->arena.virtual_bytes_used, 2 * CHUNK);
    unplace(world, held);
    assert_int_equal(world->arena.virtual_bytes_used, 0);
    held = place(world, 2 * CHUNK, 1);
    close_world(world);
}

static void only_starts_can_be_freed(void **state)
{
    (void)state;
    struct world *world = open_world(UINT64_MAX);
    uint32_t freed, slot = place(world, 4096, 1);
    assert_int_equal(sl_unplace(&world->placement, address_of(world, slot) + 512, &freed), SL_ERR_INVALID);
    unplace(world, slot);
    assert_int_equal(sl_unplace(&world->placement, address_of(world, slot), &freed), SL_ERR_INVALID);
    close_world(world);
}

/* While the core only records, addresses are the driver's: names are what they would be. */
static void what_the_driver_placed_is_named_alike(void **state)
{
    (void)state;
    struct world *placed = open_world(SL_GIB), *noted = open_world(SL_GIB);
    uint64_t address = (uint64_t)3 << 40;
    noted->placement.noted = true;
    for (int round = 0; round < 3; round++) {
        uint32_t ours[4], theirs[4];
        for (uint32_t i = 0; i < 4; i++, address += 1000) {
            ours[i] = place(placed, 1000, i / 2);
            assert_int_equal(sl_place_noted(&noted->placement, address, 1000, i / 2, &theirs[i]), SL_OK);
            assert_int_equal(theirs[i], ours[i]);
            assert_true(sl_arena_owns(address));
            assert_int_equal(sl_place_find(&noted->placement, address + 999), theirs[i]);
            assert_int_equal(sl_place_find(&noted->placement, address + 1000), SL_NONE);
        }
        for (uint32_t i = 0; i < 4; i++) {
            unplace(placed, ours[i]);
            uint64_t begin = noted->placement.slots[theirs[i]].address;
            assert_int_equal(sl_unplace(&noted->placement, begin + 1, &theirs[i]), SL_ERR_INVALID);
            unplace(noted, theirs[i]);
            assert_int_equal(sl_place_find(&noted->placement, begin), SL_NONE);
        }
    }
    assert_int_equal(noted->placement.live_bytes, 0);
    assert_int_equal(noted->placement.peak_live_bytes, 4000);
    assert_int_equal(noted->arena.chunks_used, 0);
    close_world(placed);
    close_world(noted);
}

static void what_overlaps_or_lies_beyond_is_not_noted(void **state)
{
    (void)state;
    struct world *world = open_world(SL_GIB);
    uint64_t address = (uint64_t)5 << 40;
    uint32_t slot;
    world->placement.noted = true;
    assert_int_equal(sl_place_noted(&world->placement, address, 4096, 1, &slot), SL_OK);
    for (int64_t by = -1; by <= 4095; by += 1024)
        assert_int_equal(sl_place_noted(&world->placement, address + (uint64_t)by, 2, 1, &slot),
                         SL_ERR_INVALID);
    assert_int_equal(sl_place_noted(&world->placement, address - 2, 2, 1, &slot), SL_OK);
    assert_int_equal(sl_place_noted(&world->placement, (uint64_t)1 << 50, 2, 1, &slot), SL_ERR_INVALID);
    assert_int_equal(sl_place_noted(&world->placement, UINT64_MAX, 2, 1, &slot), SL_ERR_INVALID);
    assert_int_equal(world->placement.live_count, 2);
    close_world(world);
}

/* A slot that were mistaken for another of more bytes would be given memory of its neighbour. */
static void equal_sums_of_site_and_size_are_told_apart(void **state)
{
    (void)state;
    struct world *world = open_world(SL_GIB);
    uint32_t one = place(world, 1024, 2090), two = place(world, 2048, 1066);
    unplace(world, one);
    unplace(world, two);
    assert_int_equal(place(world, 2048, 1066), two);
    assert_int_equal(place(world, 1024, 2090), one);
    assert_int_equal(world->placement.slots[one].bytes, 1024);
    assert_int_equal(world->placement.slots[two].bytes, 2048);
    close_world(world);
}

/* What placement.md promises of waste: chunks in use hold at most twice what lives, and one more for each
 * group; iterations that are alike take no more than the first did, in whatever order they free, but for a
 * chunk for each site that fills chunks. */
static void waste_is_bounded(void **state)
{
    (void)state;
    struct world *world = open_world(UINT64_MAX);
    enum { SITES = 7 };
    uint32_t slots[600], random = 1;
    uint64_t bytes[600], most_placed = 0;
    for (int i = 0; i < 600; i++) {
        random = random * 1664525 + 1013904223;
        uint64_t largest = i % 5 ? 4096 : i % 10 ? CHUNK / 2 : 3 * CHUNK;
        bytes[i] = 1 + random % largest;
    }
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < 600; i++) {
            if (round && i % 3 == 0) continue; /* lives long, in the chunks where it came */
            slots[i] = place(world, bytes[i], (uint64_t)(1 + i % SITES));
        }
        uint64_t placed = world->arena.virtual_bytes_used, live = world->placement.live_bytes;
        uint64_t padding = (uint64_t)600 * SL_ALLOCATION_ALIGN;
        assert_in_range(placed, live, 2 * (live + padding) + (SL_GROUP_OF_SITE + SITES) * CHUNK);
        if (!round) most_placed = placed + SITES * CHUNK;
        assert_in_range(placed, live, most_placed);
        if (round) most_placed = placed;
        for (int i = 0; i < 600; i++) {
            int freed = round % 2 ? 599 - i : i;
            if (freed % 3) unplace(world, slots[freed]);
        }
    }
    close_world(world);
}

static sl_chunk chunk_of(const struct world *world, uint32_t slot)
{
    return sl_arena_chunk(&world->arena, address_of(world, slot));
}

/* An optimizer makes both moments of a weight, then those of the next one. Launches that pass over one of
 * them would need the chunks of both. */
static void what_one_site_fills_chunks_with_lies_by_itself(void **state)
{
    (void)state;
    enum { EACH = 32 };
    struct world *world = open_world(SL_GIB);
    uint32_t first[EACH], second[EACH];
    bool shared[EACH] = {false};
    for (int i = 0; i < EACH; i++) {
        first[i] = place(world, CHUNK / 4, 1);
        second[i] = place(world, CHUNK / 4, 2);
    }
    int count = 0;
    for (int i = 0; i < EACH; i++)
        for (int j = 0; j < EACH && !shared[i]; j++)
            shared[i] = chunk_of(world, first[i]) == chunk_of(world, second[j]);
    for (int i = 0; i < EACH; i++) count += shared[i];
    assert_in_range(count, 0, 4); /* from before it was known that they fill chunks */
    assert_int_equal(world->arena.virtual_bytes_used, 2 * EACH * (CHUNK / 4));
    close_world(world);
}

/* No chunk is begun for a site while those of what lasts have room. */
static void what_a_site_fills_chunks_with_begins_in_rests(void **state)
{
    (void)state;
    struct world *world = open_world(SL_GIB);
    place(world, CHUNK / 2, 100);
    for (int i = 0; i < 5; i++) place(world, CHUNK / 2, 1 + (uint64_t)i % 2);
    assert_int_equal(world->arena.virtual_bytes_used, 3 * CHUNK);
    close_world(world);
}

/* What was forgotten and lives on is counted all the same. */
static void sites_are_known_by_what_lives(void **state)
{
    (void)state;
    struct world *world = open_world(SL_GIB);
    uint32_t slots[6];
    for (int i = 0; i < 6; i++) slots[i] = place(world, CHUNK / 4, 1);
    sl_placement_forget(&world->placement);
    assert_int_equal(world->placement.sites.sites[0].live_bytes, 6 * (CHUNK / 4));
    for (int i = 0; i < 6; i++) unplace(world, slots[i]);
    assert_int_equal(world->placement.sites.sites[0].live_bytes, 0);
    close_world(world);
}

/* Another one's place is no place for it. */
static void what_is_expected_somewhere_lies_there_if_that_is_free(void **state)
{
    (void)state;
    struct world *world = open_world(SL_GIB);
    uint32_t a = place(world, CHUNK, 1), first = a;
    uint64_t before = address_of(world, a);
    unplace(world, a);
    uint32_t b = place(world, CHUNK, 2); /* where it was */
    a = place(world, CHUNK, 1);
    uint64_t after = address_of(world, a);
    assert_int_equal(a, first);
    assert_int_not_equal(after, before);
    unplace(world, a);
    world->placement.expected_slot = a;
    world->placement.expected_address = before;
    a = place(world, CHUNK, 1);
    assert_int_equal(address_of(world, a), after); /* the other one is still there */
    unplace(world, a);
    unplace(world, b);
    world->placement.expected_address = after;
    b = place(world, CHUNK, 3); /* what is expected is not this one */
    assert_int_equal(address_of(world, b), before);
    unplace(world, b);
    world->placement.expected_address = before;
    a = place(world, CHUNK, 1);
    assert_int_equal(address_of(world, a), before);
    close_world(world);
}

/* Without that, a program that frees in another order once has other slots from then on. */
static void what_is_expected_takes_its_slot_though_a_smaller_one_is_free(void **state)
{
    (void)state;
    struct world *world = open_world(SL_GIB);
    struct sl_placement *placement = &world->placement;
    uint32_t a = place(world, 4096, 1), b = place(world, 4096, 1), c = place(world, 4096, 1);
    uint32_t other_size = place(world, 8192, 1), other_site = place(world, 4096, 2);
    unplace(world, a);
    placement->expected_slot = c;
    assert_int_equal(place(world, 4096, 1), a); /* c is live */
    unplace(world, c);
    unplace(world, b);
    assert_int_equal(place(world, 4096, 1), c);
    unplace(world, c);
    unplace(world, other_size);
    placement->expected_slot = other_size;
    assert_int_equal(place(world, 4096, 1), b);
    unplace(world, b);
    unplace(world, other_site);
    placement->expected_slot = other_site;
    assert_int_equal(place(world, 4096, 1), b);
    unplace(world, b);
    placement->stream = 1;
    placement->expected_slot = c;
    assert_int_equal(place(world, 4096, 1), c);
    unplace(world, c);
    placement->stream = 2; /* would wait for the first one's work */
    assert_int_equal(place(world, 4096, 1), b);
    close_world(world);
}

/* What is expected by its number may have been forgotten meanwhile, or never have been. */
static void a_slot_that_is_nobodys_is_not_taken(void **state)
{
    (void)state;
    struct world *world = open_world(SL_GIB);
    uint32_t keep = place(world, 4096, 1), gone = place(world, 4096, 2);
    unplace(world, gone);
    sl_placement_forget(&world->placement);
    world->placement.expected_slot = gone;
    uint32_t s = place(world, 4096, 1);
    assert_int_equal(world->placement.slots[s].bytes, 4096);
    world->placement.expected_slot = world->placement.slot_count;
    place(world, 4096, 1);
    assert_true(world->placement.slots[keep].live);
    close_world(world);
}

/* --- what the program maps --- */

static uint64_t reserve(struct world *world, uint64_t bytes)
{
    uint64_t address = 0;
    assert_int_equal(sl_arena_reserve(&world->arena, bytes, &address), SL_OK);
    return address;
}

static enum sl_status map(struct world *world, uint64_t address, uint64_t bytes, uint32_t *slot)
{
    return sl_place_at(&world->placement, address, bytes, 5, slot);
}

/* Against an account of every block, in pieces that begin and end anywhere in chunks. */
static void mappings_lie_where_they_are_wanted(void **state)
{
    (void)state;
    enum { BLOCKS = 700, NOBODY = -1 };
    struct world *world = open_world(UINT64_MAX);
    uint64_t base = reserve(world, 2 * SL_GIB);
    int owner[BLOCKS], length[BLOCKS] = {0};
    for (int b = 0; b < BLOCKS; b++) owner[b] = NOBODY;
    srand(7);
    for (int round = 0; round < 6000; round++) {
        int first = rand() % BLOCKS, count = 1 + rand() % 12, blocked = 0;
        uint64_t address = base + (uint64_t)first * SL_BLOCK_BYTES;
        uint32_t slot;
        if (first + count > BLOCKS) continue;
        for (int b = first; b < first + count; b++) blocked |= owner[b] != NOBODY;
        if (length[first]) {
            assert_int_equal(sl_unplace(&world->placement, address, &slot), SL_OK);
            for (int b = first; b < first + length[first]; b++) owner[b] = NOBODY;
            length[first] = 0;
            continue;
        }
        assert_int_equal(map(world, address, (uint64_t)count * SL_BLOCK_BYTES, &slot),
                         blocked ? SL_ERR_INVALID : SL_OK);
        if (blocked) continue;
        assert_int_equal(address_of(world, slot), address);
        for (int b = first; b < first + count; b++) owner[b] = (int)slot;
        length[first] = count;
    }
    for (int b = 0; b < BLOCKS; b++) {
        uint32_t found = sl_place_find(&world->placement, base + (uint64_t)b * SL_BLOCK_BYTES + 77);
        assert_int_equal(found == SL_NONE ? NOBODY : (int)found, owner[b]);
    }
    for (int b = 0; b < BLOCKS; b++)
        if (length[b]) unplace(world, (uint32_t)owner[b]);
    assert_int_equal(world->arena.virtual_bytes_used, 0);
    assert_int_equal(world->placement.live_bytes, 0);
    sl_arena_unreserve(&world->arena, base, 2 * SL_GIB);
    close_world(world);
}

static void the_same_place_has_the_same_name(void **state)
{
    (void)state;
    struct world *world = open_world(UINT64_MAX);
    uint64_t base = reserve(world, SL_GIB);
    uint32_t slots[8], again;
    for (uint64_t i = 0; i < 8; i++)
        assert_int_equal(map(world, base + i * 5 * CHUNK, 3 * CHUNK, &slots[i]), SL_OK);
    for (int i = 0; i < 8; i++) unplace(world, slots[i]);
    for (uint64_t i = 8; i-- > 0;) {
        assert_int_equal(map(world, base + i * 5 * CHUNK, 3 * CHUNK, &again), SL_OK);
        assert_int_equal(again, slots[i]);
    }
    close_world(world);
}

/* Where a mapping lay in the middle of a chunk no other allocation may. */
static void a_mappings_last_place_is_not_taken_by_others(void **state)
{
    (void)state;
    struct world *world = open_world(UINT64_MAX);
    uint64_t base = reserve(world, SL_GIB);
    uint32_t slot;
    assert_int_equal(map(world, base + SL_BLOCK_BYTES, 2 * CHUNK, &slot), SL_OK);
    unplace(world, slot);
    sl_arena_unreserve(&world->arena, base, SL_GIB);
    assert_int_equal(place(world, 2 * CHUNK, 5), slot); /* its site and size */
    assert_int_equal(address_of(world, slot) % CHUNK, 0);
    uint64_t plain = address_of(world, slot);
    unplace(world, slot);
    assert_int_equal(reserve(world, SL_GIB), base); /* with that place in it */
    assert_int_equal(plain & ~(SL_GIB - 1), base);
    assert_int_equal(place(world, 2 * CHUNK, 5), slot);
    assert_int_not_equal(address_of(world, slot) & ~(SL_GIB - 1), base);
    close_world(world);
}

static void only_reserved_blocks_can_be_mapped(void **state)
{
    (void)state;
    struct world *world = open_world(UINT64_MAX);
    uint32_t plain = place(world, CHUNK, 1), slot;
    uint64_t base = reserve(world, SL_GIB), version = world->placement.version;
    assert_int_equal(map(world, address_of(world, plain) + CHUNK, CHUNK, &slot), SL_ERR_INVALID);
    assert_int_equal(map(world, base + 512, CHUNK, &slot), SL_ERR_INVALID);
    assert_int_equal(map(world, base, CHUNK + 512, &slot), SL_ERR_INVALID);
    assert_int_equal(map(world, base, 0, &slot), SL_ERR_INVALID);
    assert_int_equal(map(world, base + SL_GIB - CHUNK, 2 * CHUNK, &slot), SL_ERR_INVALID);
    assert_int_equal(world->placement.version, version);
    assert_int_equal(world->arena.virtual_bytes_used, CHUNK);
    close_world(world);
}

static void what_is_promised_is_nobody_elses(void **state)
{
    (void)state;
    struct world *world = open_world(4 * CHUNK);
    uint32_t slot;
    assert_int_equal(sl_placement_promise(&world->placement, 3 * CHUNK), SL_OK);
    assert_int_equal(sl_placement_promise(&world->placement, 2 * CHUNK), SL_ERR_NO_MEMORY);
    assert_int_equal(sl_place(&world->placement, 2 * CHUNK, 1, &slot), SL_ERR_NO_MEMORY);
    place(world, CHUNK, 1);
    sl_placement_unpromise(&world->placement, CHUNK);
    place(world, CHUNK, 2);
    close_world(world);
}

/* Nine tenths of the limit can be had, in blocks of any size; and again by another site when they are freed.
 */
static void equal_blocks_fill_the_limit(void **state)
{
    (void)state;
    enum { LIMIT_MIB = 256, MOST = LIMIT_MIB * 4 };
    static const uint64_t kibs[] = {256, 257, 700, 1034, 2058, 2600, 3082, 4106, 5000, 7475, 17408};
    static uint32_t slots[MOST];
    for (size_t i = 0; i < sizeof(kibs) / sizeof(*kibs); i++) {
        uint64_t bytes = kibs[i] * SL_KIB, count = LIMIT_MIB * SL_MIB / 10 * 9 / bytes;
        struct world *world = open_world(LIMIT_MIB * SL_MIB);
        for (uint64_t site = 1; site < 4; site++) {
            for (uint64_t b = 0; b < count; b++) slots[b] = place(world, bytes, site);
            assert_true(sl_placement_is_valid(&world->placement));
            for (uint64_t b = 0; b < count; b += 2) unplace(world, slots[b]);
            for (uint64_t b = 0; b < count; b += 2) slots[b] = place(world, bytes, site + 100);
            for (uint64_t b = 0; b < count; b++) unplace(world, slots[b]);
        }
        assert_int_equal(world->arena.virtual_bytes_used, 0);
        close_world(world);
    }
}

/* While memory is ample, those that fit into a chunk are in one. */
static void nothing_is_dense_while_memory_is_ample(void **state)
{
    (void)state;
    struct world *world = open_world(SL_GIB);
    for (int b = 0; b < 30; b++) {
        uint32_t slot = place(world, CHUNK - SL_MIB, 1);
        assert_int_equal(address_of(world, slot) % CHUNK, 0);
        assert_int_equal(sl_slot_chunks(&world->placement, &world->placement.slots[slot], 0, CHUNK).count, 1);
    }
    close_world(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_blocks_fill_the_limit),
        cmocka_unit_test(nothing_is_dense_while_memory_is_ample),
        cmocka_unit_test(what_is_expected_somewhere_lies_there_if_that_is_free),
        cmocka_unit_test(what_is_expected_takes_its_slot_though_a_smaller_one_is_free),
        cmocka_unit_test(a_slot_that_is_nobodys_is_not_taken),
        cmocka_unit_test(equal_sums_of_site_and_size_are_told_apart),
        cmocka_unit_test(equal_iterations_get_equal_names_and_places),
        cmocka_unit_test(the_smallest_free_ordinal_is_taken),
        cmocka_unit_test(tiny_ones_are_named_by_age),
        cmocka_unit_test(larger_ones_are_named_by_number),
        cmocka_unit_test(what_several_streams_allocate_is_named_by_number),
        cmocka_unit_test(names_are_as_many_as_live),
        cmocka_unit_test(what_lives_has_names_of_its_own),
        cmocka_unit_test(allocations_do_not_overlap_and_are_found),
        cmocka_unit_test(a_run_uses_whole_blocks_of_its_last_chunk_only),
        cmocka_unit_test(the_rest_of_a_runs_last_chunk_is_room),
        cmocka_unit_test(a_run_whose_rest_is_taken_moves),
        cmocka_unit_test(what_fits_into_an_older_chunk_goes_there),
        cmocka_unit_test(tiny_ones_do_not_divide_the_room_of_others),
        cmocka_unit_test(a_packed_chunk_is_as_large_as_what_lies_in_it),
        cmocka_unit_test(larger_than_a_slab_is_contiguous),
        cmocka_unit_test(the_limit_holds_and_failure_leaves_nothing),
        cmocka_unit_test(only_starts_can_be_freed),
        cmocka_unit_test(what_the_driver_placed_is_named_alike),
        cmocka_unit_test(what_overlaps_or_lies_beyond_is_not_noted),
        cmocka_unit_test(waste_is_bounded),
        cmocka_unit_test(what_one_site_fills_chunks_with_lies_by_itself),
        cmocka_unit_test(what_a_site_fills_chunks_with_begins_in_rests),
        cmocka_unit_test(sites_are_known_by_what_lives),
        cmocka_unit_test(mappings_lie_where_they_are_wanted),
        cmocka_unit_test(the_same_place_has_the_same_name),
        cmocka_unit_test(a_mappings_last_place_is_not_taken_by_others),
        cmocka_unit_test(only_reserved_blocks_can_be_mapped),
        cmocka_unit_test(what_is_promised_is_nobody_elses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
