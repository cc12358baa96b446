/* Chunks and the look-up of addresses: breaks if two owners get one chunk, if an address is taken for another
 * chunk's, if live content counts as dead, or if memory of one kind is given out as the other. */
#include "memory/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "memory/memory_valid.h"
#include "noted_device.h"

#define CHUNK (64 * SL_MIB)
#define IN_SLAB ((uint32_t)(SL_GIB / CHUNK))

static struct noted_device device;
static struct sl_arena arena;

static int start(void **state)
{
    (void)state;
    noted_device_begin(&device);
    sl_arena_init(&arena, &device.backend, CHUNK);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    sl_arena_close(&arena, false);
    return device.slab_bytes || device.pinned_bytes ? -1 : 0;
}

static sl_chunk take(uint64_t bytes)
{
    sl_chunk first = SL_NONE;
    assert_int_equal(sl_arena_take(&arena, bytes, &first), SL_OK);
    return first;
}

static struct sl_chunk_record *record(sl_chunk c)
{
    return sl_arena_record(&arena, c);
}

static void an_address_is_its_chunks(void **state)
{
    (void)state;
    take(3 * SL_GIB);
    for (sl_chunk c = 0; c < sl_arena_chunk_count(&arena); c++) {
        uint64_t address = record(c)->address;
        assert_int_equal(sl_arena_chunk(&arena, address), c);
        assert_int_equal(sl_arena_chunk(&arena, address + CHUNK - 1), c);
    }
    uint64_t begin = record(0)->address, end = begin + 3 * SL_GIB;
    assert_int_equal(sl_arena_chunk(&arena, begin - 1), SL_NONE);
    assert_int_equal(sl_arena_chunk(&arena, end), SL_NONE);
    assert_true(sl_arena_owns(begin) && sl_arena_owns(end - 1) && !sl_arena_owns(end));
    assert_false(sl_arena_owns(UINT64_MAX));
    assert_true(sl_arena_range.low <= begin && sl_arena_range.high >= end);
    sl_arena_close(&arena, false);
    assert_false(sl_arena_owns(begin));
}

/* --- taking and giving back, against an account of who has what --- */

enum { MOST_CHUNKS = 256, OWNERS = 40, NOBODY = -1 };

struct account {
    int owner[MOST_CHUNKS];
    uint64_t bytes[OWNERS]; /* 0: has none */
    sl_chunk first[OWNERS];
};

static uint64_t chunks_of(uint64_t bytes)
{
    return (bytes + CHUNK - 1) / CHUNK;
}

static void note_taken(struct account *a, int owner, sl_chunk first, uint64_t bytes)
{
    a->bytes[owner] = bytes;
    a->first[owner] = first;
    for (uint64_t i = 0; i < chunks_of(bytes); i++) {
        assert_int_equal(a->owner[first + i], NOBODY);
        a->owner[first + i] = owner;
    }
}

static void check_account(const struct account *a)
{
    uint64_t bytes = 0, chunks = 0;
    for (int o = 0; o < OWNERS; o++) {
        uint64_t count = chunks_of(a->bytes[o]), rest = a->bytes[o] - (count ? count - 1 : 0) * CHUNK;
        uint64_t last = (rest + SL_BLOCK_BYTES - 1) / SL_BLOCK_BYTES * SL_BLOCK_BYTES;
        for (uint64_t i = 0; i < count; i++) {
            const struct sl_chunk_record *chunk = record((sl_chunk)(a->first[o] + i));
            assert_int_equal(chunk->run, a->first[o]);
            assert_int_equal(chunk->run_chunks, count);
            assert_int_equal(chunk->bytes, i + 1 < count ? CHUNK : last);
            assert_int_equal(chunk->address, record(a->first[o])->address + i * CHUNK);
            bytes += chunk->bytes;
        }
        chunks += count;
    }
    for (sl_chunk c = 0; c < sl_arena_chunk_count(&arena); c++)
        if (a->owner[c] == NOBODY) assert_int_equal(record(c)->bytes, 0);
    assert_int_equal(arena.virtual_bytes_used, bytes);
    assert_int_equal(arena.chunks_used, chunks);
    assert_true(arena.peak_chunks_used >= chunks);
}

static bool may_take_at(const struct account *a, sl_chunk first, uint64_t bytes)
{
    for (uint64_t i = 0; i < chunks_of(bytes); i++) {
        uint64_t c = first + i;
        if (c >= sl_arena_chunk_count(&arena) || a->owner[c] != NOBODY) return false;
        if (record((sl_chunk)c)->address != record(first)->address + i * CHUNK) return false;
    }
    return true;
}

static void step(struct account *a, int owner, uint64_t random)
{
    uint64_t bytes = 1 + random % (random % 7 ? 5 * CHUNK : SL_GIB + 3 * CHUNK);
    if (a->bytes[owner]) {
        for (uint64_t i = 0; i < chunks_of(a->bytes[owner]); i++) a->owner[a->first[owner] + i] = NOBODY;
        a->bytes[owner] = 0;
        sl_arena_give(&arena, a->first[owner]);
    } else if (random >> 40 & 1 && sl_arena_chunk_count(&arena)) {
        sl_chunk first = (sl_chunk)(random >> 20) % (sl_chunk)sl_arena_chunk_count(&arena);
        bool may = may_take_at(a, first, bytes);
        assert_int_equal(sl_arena_take_at(&arena, first, bytes), may);
        if (may) note_taken(a, owner, first, bytes);
    } else if (sl_arena_chunk_count(&arena) + IN_SLAB + chunks_of(bytes) < MOST_CHUNKS) {
        note_taken(a, owner, take(bytes), bytes);
    }
}

static void chunks_have_one_owner(void **state)
{
    (void)state;
    static struct account a;
    for (int adjacent = 0; adjacent < 2; adjacent++) {
        uint64_t random = 7;
        a = (struct account){0};
        for (int c = 0; c < MOST_CHUNKS; c++) a.owner[c] = NOBODY;
        for (int i = 0; i < 3000; i++) {
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
            uint64_t slabs = atomic_load(&arena.slab_count);
            step(&a, (int)(random >> 58) % OWNERS, random >> 8);
            check_account(&a);
            /* A run goes on in the next slab only where there is no gap. */
            if (!adjacent && slabs != atomic_load(&arena.slab_count)) device.next_slab += SL_GIB;
        }
        sl_arena_close(&arena, false);
        assert_int_equal(device.slab_bytes, 0);
        sl_arena_init(&arena, &device.backend, CHUNK);
    }
}

static void a_run_may_lie_in_two_slabs(void **state)
{
    (void)state;
    take(SL_GIB - CHUNK);
    assert_int_equal(take(SL_GIB - CHUNK), IN_SLAB); /* the first slab's last chunk is left */
    take(SL_GIB);
    sl_arena_give(&arena, IN_SLAB);
    assert_int_equal(take(2 * CHUNK), IN_SLAB - 1);
}

/* In whichever parts it is taken again. */
static void a_run_that_is_given_back_is_free(void **state)
{
    (void)state;
    assert_int_equal(take(2 * SL_GIB), 0);
    sl_arena_give(&arena, 0);
    assert_int_equal(take(SL_GIB), 0);
    assert_int_equal(take(SL_GIB), IN_SLAB);
    assert_int_equal(device.slab_bytes, 2 * SL_GIB);
}

static void the_last_chunk_of_a_run_can_be_split_off(void **state)
{
    (void)state;
    sl_chunk first = take(3 * CHUNK - 5 * SL_MIB), last = first + 2;
    sl_arena_split(&arena, first);
    assert_true(record(last)->run == last && record(last)->run_chunks == 1);
    assert_int_equal(record(first)->run_chunks, 2);
    sl_arena_give(&arena, first);
    assert_int_equal(arena.virtual_bytes_used, CHUNK - 4 * SL_MIB); /* whole blocks */
    assert_true(!record(first + 1)->bytes && record(last)->bytes);
    sl_arena_give(&arena, last);
    assert_int_equal(arena.virtual_bytes_used, 0);
}

static void a_chunk_only_grows(void **state)
{
    (void)state;
    sl_chunk c = take(1), pinned;
    sl_arena_grow(&arena, c, 3 * SL_BLOCK_BYTES);
    sl_arena_grow(&arena, c, 2 * SL_BLOCK_BYTES);
    assert_int_equal(record(c)->bytes, 3 * SL_BLOCK_BYTES);
    assert_int_equal(arena.virtual_bytes_used, 3 * SL_BLOCK_BYTES);
    assert_int_equal(arena.pinned_bytes_used, 0);
    assert_int_equal(sl_arena_take_pinned(&arena, 1, SL_GIB, &pinned), SL_OK);
    sl_arena_grow(&arena, pinned, 4 * SL_BLOCK_BYTES);
    assert_int_equal(arena.pinned_bytes_used, 4 * SL_BLOCK_BYTES);
    assert_int_equal(sl_arena_moving_bytes(&arena), 3 * SL_BLOCK_BYTES);
}

/* --- content --- */

/* Content dies when nobody owns it, and only then; what was dead on the device has an owner again. */
static void content_dies_with_its_owner(void **state)
{
    (void)state;
    static const struct {
        int owned, given, taken;
    } cases[] = {
        {SL_CONTENT_RESIDENT, SL_CONTENT_RESIDENT_DEAD, SL_CONTENT_RESIDENT},
        {SL_CONTENT_HOST, SL_CONTENT_DEAD, SL_CONTENT_DEAD},
        {SL_CONTENT_DEAD, SL_CONTENT_DEAD, SL_CONTENT_DEAD}, /* never used */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sl_chunk c = take(2 * CHUNK);
        for (sl_chunk k = c; k < c + 2; k++) atomic_store(&record(k)->content, cases[i].owned);
        sl_arena_give(&arena, c);
        for (sl_chunk k = c; k < c + 2; k++) assert_int_equal(record(k)->content, cases[i].given);
        assert_int_equal(take(2 * CHUNK), c);
        for (sl_chunk k = c; k < c + 2; k++) assert_int_equal(record(k)->content, cases[i].taken);
        sl_arena_give(&arena, c);
        for (sl_chunk k = c; k < c + 2; k++) atomic_store(&record(k)->content, SL_CONTENT_DEAD);
    }
}

static void content_changes_only_from_what_it_is(void **state)
{
    (void)state;
    sl_chunk c = take(CHUNK);
    assert_false(sl_content_change(record(c), SL_CONTENT_HOST, SL_CONTENT_RESIDENT));
    assert_int_equal(record(c)->content, SL_CONTENT_DEAD);
    assert_true(sl_content_change(record(c), SL_CONTENT_DEAD, SL_CONTENT_HOST));
    assert_false(sl_chunk_is_resident(record(c)));
    assert_true(sl_content_change(record(c), SL_CONTENT_HOST, SL_CONTENT_RESIDENT));
    assert_true(sl_chunk_is_resident(record(c)));
}

/* --- pinned memory --- */

static void pinned_chunks_are_resident_and_apart(void **state)
{
    (void)state;
    sl_chunk pinned, other = take(CHUNK);
    assert_int_equal(sl_arena_take_pinned(&arena, CHUNK, SL_GIB, &pinned), SL_OK);
    assert_true(record(pinned)->pinned && !record(other)->pinned);
    assert_true(sl_chunk_is_resident(record(pinned)));
    assert_int_equal(arena.pinned_bytes_used, CHUNK);
    sl_arena_give(&arena, other);
    sl_arena_give(&arena, pinned);
    assert_int_equal(arena.pinned_bytes_used, 0);
    assert_int_equal(record(pinned)->content, SL_CONTENT_RESIDENT_DEAD); /* it never leaves */
    assert_int_equal(take(CHUNK), other);
    sl_chunk again;
    assert_int_equal(sl_arena_take_pinned(&arena, CHUNK, 0, &again), SL_OK);
    assert_int_equal(again, pinned);
    assert_int_equal(sl_arena_host_bytes(&arena), CHUNK + device.pinned_bytes);
}

/* The backend is asked for no more than there is room for; for few slabs, and little that nobody needs. */
static void pinned_memory_keeps_to_its_room(void **state)
{
    (void)state;
    sl_chunk first;
    assert_int_equal(sl_arena_take_pinned(&arena, 2 * CHUNK, 2 * CHUNK - 1, &first), SL_ERR_NO_MEMORY);
    assert_int_equal(device.pinned_bytes, 0);
    assert_int_equal(sl_arena_take_pinned(&arena, CHUNK + 1, 2 * CHUNK, &first), SL_OK);
    assert_int_equal(device.pinned_bytes, 2 * CHUNK);
    assert_int_equal(sl_arena_take_pinned(&arena, 20 * CHUNK, SL_GIB * 2, &first), SL_OK);
    assert_int_equal(device.pinned_bytes, 22 * CHUNK);
    sl_chunk again;
    sl_arena_give(&arena, first); /* behind the end of a slab's memory there is none */
    assert_int_equal(sl_arena_take_pinned(&arena, 21 * CHUNK, 0, &again), SL_ERR_NO_MEMORY);
    assert_int_equal(sl_arena_take_pinned(&arena, 20 * CHUNK, 0, &again), SL_OK);
    assert_int_equal(again, first);
    assert_int_equal(sl_arena_take_pinned(&arena, 1, CHUNK, &first), SL_OK);
    assert_int_equal(device.pinned_bytes, 23 * CHUNK);
    assert_int_equal(sl_arena_take_pinned(&arena, CHUNK, SL_GIB, &first), SL_OK);
    assert_in_range(device.pinned_bytes, 23 * CHUNK + 23 * CHUNK / 8, 23 * CHUNK + 23 * CHUNK / 4);
}

/* Slabs that were pinned one by one: a copy that goes from one into the next is refused by the driver. */
static void nothing_lies_in_two_pinned_slabs(void **state)
{
    (void)state;
    sl_chunk first, second;
    assert_int_equal(sl_arena_take_pinned(&arena, SL_GIB, SL_GIB, &first), SL_OK);
    assert_int_equal(sl_arena_take_pinned(&arena, SL_GIB, SL_GIB, &second), SL_OK);
    assert_int_equal(record(second)->address - record(first)->address, SL_GIB);
    sl_arena_give(&arena, first);
    sl_arena_give(&arena, second);
    assert_int_equal(sl_arena_take_pinned(&arena, SL_GIB + CHUNK, 0, &first), SL_ERR_NO_MEMORY);
    assert_int_equal(sl_arena_take_pinned(&arena, SL_GIB / 2, 0, &first), SL_OK);
    assert_int_equal(sl_arena_take_pinned(&arena, SL_GIB, 0, &second), SL_OK);
    assert_int_equal(second, IN_SLAB);
}

static void a_backend_that_refuses_is_not_asked_again(void **state)
{
    (void)state;
    sl_chunk first;
    device.slabs_are = SL_ERR_DRIVER;
    assert_int_equal(sl_arena_take_pinned(&arena, 1, SL_GIB, &first), SL_ERR_DRIVER);
    device.slabs_are = SL_OK;
    assert_int_equal(sl_arena_take_pinned(&arena, 1, SL_GIB, &first), SL_ERR_NO_MEMORY);
    assert_int_equal(device.pinned_bytes, 0);
    take(1); /* unified memory is another matter */
}

/* --- where there is none --- */

static void what_cannot_be_had_changes_nothing(void **state)
{
    (void)state;
    sl_chunk first;
    device.slabs_are = SL_ERR_NO_MEMORY;
    assert_int_equal(sl_arena_take(&arena, 1, &first), SL_ERR_NO_MEMORY);
    device.slabs_are = SL_ERR_DRIVER;
    assert_int_equal(sl_arena_take(&arena, 1, &first), SL_ERR_DRIVER);
    device.slabs_are = SL_OK;
    assert_int_equal(sl_arena_take(&arena, (SL_MAX_SLABS + 1) * SL_GIB, &first), SL_ERR_NO_MEMORY);
    device.next_slab = (uint64_t)SL_SLAB_TABLE << SL_SLAB_SHIFT;
    assert_int_equal(sl_arena_take(&arena, 1, &first), SL_ERR_UNSUPPORTED);
    device.next_slab = (SL_SLAB_TABLE - 1) << SL_SLAB_SHIFT; /* of two slabs the second */
    assert_int_equal(sl_arena_take(&arena, 2 * SL_GIB, &first), SL_ERR_UNSUPPORTED);
    assert_int_equal(device.slab_bytes, 0);
    assert_int_equal(sl_arena_chunk_count(&arena), 0);
    assert_int_equal(arena.virtual_bytes_used, 0);
    assert_false(sl_arena_take_at(&arena, 0, 1));
}

/* --- streams, and the driver's own memory --- */

/* Better another chunk than one that is waited for; but better that than another slab. */
static void what_another_stream_freed_is_taken_last(void **state)
{
    (void)state;
    static int streams[2];
    struct sl_frees frees;
    assert_int_equal(sl_frees_init(&frees, &device.backend), SL_OK);
    arena.frees = &frees;
    take(CHUNK);
    sl_arena_give(&arena, 0);
    struct sl_free_stream first = {&streams[0], 1};
    uint64_t begin = record(0)->address;
    sl_frees_add(&frees, begin + SL_MIB, begin + 2 * SL_MIB, sl_points_record(&frees, &first, 1));
    arena.serial = 1; /* its own */
    assert_int_equal(take(CHUNK), 0);
    sl_arena_give(&arena, 0);
    arena.serial = 2;
    assert_true(sl_arena_is_foreign(&arena, begin, CHUNK));
    assert_false(sl_arena_is_foreign(&arena, begin, SL_MIB));
    assert_int_equal(take(CHUNK), 1);
    for (uint32_t c = 2; c < IN_SLAB; c++) assert_int_equal(take(CHUNK), c);
    assert_int_equal(take(CHUNK), 0);
    assert_int_equal(device.slab_bytes, SL_GIB);
    arena.frees = NULL;
    sl_frees_close(&frees, false);
}

static void the_drivers_memory_is_noted(void **state)
{
    (void)state;
    uint64_t address = ((uint64_t)1 << 43) + SL_GIB - 4096;
    assert_true(sl_arena_note(address, 8192)); /* it lies in two slabs' worth of addresses */
    assert_true(sl_arena_owns(address) && sl_arena_owns(address + 8191));
    assert_false(sl_arena_owns(address + SL_GIB + 4096));
    assert_true(sl_arena_range.high >= address + 8192);
    assert_true(sl_arena_note(((uint64_t)1 << 47) - 1, 1));
    assert_false(sl_arena_note(((uint64_t)1 << 47) - 1, 2));
    assert_false(sl_arena_note(UINT64_MAX, 1));
    assert_int_equal(sl_arena_chunk_count(&arena), 0);
}

static void a_device_that_is_gone_gets_nothing_back(void **state)
{
    (void)state;
    static struct sl_arena zeroed;
    sl_arena_close(&zeroed, false);
    take(SL_GIB + 1);
    uint64_t begin = record(0)->address;
    sl_arena_close(&arena, true);
    assert_int_equal(device.slab_bytes, 2 * SL_GIB);
    assert_false(sl_arena_owns(begin));
    device.slab_bytes = 0;
}

static uint64_t reserve(uint64_t bytes)
{
    uint64_t address = 0;
    assert_int_equal(sl_arena_reserve(&arena, bytes, &address), SL_OK);
    assert_int_equal(address % SL_GIB, 0);
    return address;
}

/* They are whole slabs that follow each other, and of no one else until they are given back. */
static void reserved_addresses_are_kept_apart(void **state)
{
    (void)state;
    sl_chunk used = take(CHUNK);
    uint64_t two = reserve(SL_GIB + 1), one = reserve(SL_GIB);
    for (uint64_t at = two; at < two + 2 * SL_GIB; at += CHUNK)
        assert_true(sl_arena_is_reserved(&arena, sl_arena_chunk(&arena, at)));
    assert_false(sl_arena_is_reserved(&arena, used));
    for (uint32_t i = 0; i < 4 * IN_SLAB; i++) assert_false(sl_arena_is_reserved(&arena, take(CHUNK)));
    assert_true(sl_arena_take_at(&arena, sl_arena_chunk(&arena, two), CHUNK));
    assert_int_equal(arena.virtual_bytes_used, (2 + 4 * IN_SLAB) * CHUNK);
    sl_arena_unreserve(&arena, one, SL_GIB);
    sl_chunk back = SL_NONE;
    while (back != sl_arena_chunk(&arena, one)) { /* in its turn */
        back = take(CHUNK);
        assert_true(arena.virtual_bytes_used < 16 * SL_GIB);
    }
}

/* As they were taken, so that a reservation can be given up without another one. */
static void addresses_are_reserved_again(void **state)
{
    (void)state;
    uint64_t three = reserve(3 * SL_GIB), one = reserve(SL_GIB), used = device.slab_bytes;
    sl_arena_unreserve(&arena, three, 3 * SL_GIB);
    assert_int_equal(reserve(3 * SL_GIB - 1), three);
    sl_arena_unreserve(&arena, three, 3 * SL_GIB - 1);
    sl_arena_unreserve(&arena, one, SL_GIB);
    assert_int_equal(reserve(SL_GIB), one);
    sl_arena_unreserve(&arena, one, SL_GIB);
    assert_int_equal(reserve(4 * SL_GIB), three); /* all that was taken for two */
    assert_int_equal(device.slab_bytes, used);
    sl_arena_unreserve(&arena, three, 4 * SL_GIB);
    uint64_t two = reserve(2 * SL_GIB); /* a part of it would not do */
    assert_true(two != three && two != three + SL_GIB && two != three + 2 * SL_GIB);
    uint64_t address;
    assert_int_equal(sl_arena_reserve(&arena, UINT64_MAX, &address), SL_ERR_UNSUPPORTED);
}

static void what_was_given_up_is_nobodys(void **state)
{
    (void)state;
    sl_chunk used = take(CHUNK);
    uint64_t one = reserve(SL_GIB), two = reserve(2 * SL_GIB), before = device.slab_bytes;
    sl_chunk first = sl_arena_chunk(&arena, two);
    assert_true(sl_arena_take_at(&arena, first, CHUNK));
    sl_arena_give(&arena, first);
    uint32_t slab;
    sl_arena_give_up(&arena, two, 2 * SL_GIB, &slab);
    assert_int_equal(slab, first / IN_SLAB);
    assert_false(sl_arena_owns(two) || sl_arena_owns(two + SL_GIB));
    assert_true(sl_arena_owns(one) && sl_arena_owns(record(used)->address));
    assert_int_equal(device.slab_bytes, before);
    sl_arena_delete(&arena, slab, 2 * SL_GIB);
    assert_int_equal(device.slab_bytes, before - 2 * SL_GIB);
    assert_true(sl_arena_is_valid(&arena));
    for (uint32_t i = 0; i < 4 * IN_SLAB; i++) assert_false(take(CHUNK) / IN_SLAB - slab < 2);
    sl_chunk pinned;
    assert_int_equal(sl_arena_take_pinned(&arena, CHUNK, SL_GIB, &pinned), SL_OK);
    assert_false(pinned / IN_SLAB - slab < 2);
    assert_true(reserve(2 * SL_GIB) != two);
}

/* Who goes through all chunks, or asks how much can have been on the device, leaves out mere addresses. */
static void addresses_that_were_never_used_are_left_out(void **state)
{
    (void)state;
    sl_chunk used = take(CHUNK);
    uint64_t three = reserve(3 * SL_GIB);
    size_t count = sl_arena_chunk_count(&arena), slab = used / IN_SLAB * IN_SLAB;
    assert_int_equal(count, 4 * IN_SLAB);
    assert_int_equal(sl_arena_touched_bytes(&arena), CHUNK);
    assert_int_equal(sl_arena_skip_unused(&arena, slab, count), slab);
    assert_int_equal(sl_arena_skip_unused(&arena, slab + 1, count), count);
    sl_chunk first = sl_arena_chunk(&arena, three), middle = first + IN_SLAB + 1;
    assert_int_equal(sl_arena_skip_unused(&arena, first, count), count);
    assert_true(sl_arena_take_at(&arena, middle, CHUNK));
    assert_int_equal(sl_arena_touched_bytes(&arena), 3 * CHUNK);
    assert_int_equal(sl_arena_skip_unused(&arena, slab + 1, count), first + IN_SLAB);
    assert_int_equal(sl_arena_skip_unused(&arena, middle, count), middle);
    assert_int_equal(sl_arena_skip_unused(&arena, middle + 1, count), count);
    sl_arena_give(&arena, middle); /* its frame may be there still */
    assert_int_equal(sl_arena_skip_unused(&arena, first, count), first + IN_SLAB);
    assert_int_equal(sl_arena_touched_bytes(&arena), 3 * CHUNK);
}

static uint32_t slab_of_next(uint64_t bytes)
{
    return take(bytes) / IN_SLAB;
}

/* Threads could not move at once what lies in one slab. */
static void slabs_take_turns(void **state)
{
    (void)state;
    uint32_t first = slab_of_next(CHUNK), full[3];
    sl_arena_spread(&arena, 3);
    /* The one that is there, and is not full, is not left out. */
    for (uint32_t i = 0; i < 3; i++) full[i] = slab_of_next(CHUNK);
    assert_int_equal(full[0], first);
    assert_true(full[1] != first && full[2] != first && full[1] != full[2]);
    for (uint32_t i = 0; i < 9; i++) assert_int_equal(slab_of_next(2 * CHUNK), full[i % 3]);
    /* One that has no room is followed by another, and what it has left is used. */
    assert_int_equal(slab_of_next(SL_GIB - CHUNK), 3);
    assert_int_equal(slab_of_next(CHUNK), full[1]);
    assert_int_equal(slab_of_next(CHUNK), full[2]);
    assert_int_equal(slab_of_next(CHUNK), 3);
    assert_int_equal(slab_of_next(CHUNK), full[1]);
    assert_int_equal(slab_of_next(CHUNK), full[2]);
    assert_int_equal(slab_of_next(CHUNK), first);
    assert_true(sl_arena_is_valid(&arena));
}

/* As without turns: better a chunk that is waited for than another slab, and better any other one. */
static void in_turns_too_what_another_stream_freed_is_taken_last(void **state)
{
    (void)state;
    static int stream;
    struct sl_frees frees;
    assert_int_equal(sl_frees_init(&frees, &device.backend), SL_OK);
    sl_arena_spread(&arena, 2);
    arena.frees = &frees;
    for (uint32_t i = 0; i < 2 * IN_SLAB; i++) take(CHUNK);
    assert_int_equal(device.slab_bytes, 2 * SL_GIB);
    struct sl_free_stream where = {&stream, 1};
    for (sl_chunk c = 0; c < 2; c++) {
        sl_chunk freed = c * IN_SLAB + 3;
        uint64_t begin = record(freed)->address;
        sl_arena_give(&arena, freed);
        sl_frees_add(&frees, begin, begin + CHUNK, sl_points_record(&frees, &where, 1));
    }
    sl_arena_give(&arena, 5);
    arena.serial = 2;
    assert_int_equal(take(CHUNK), 5);
    assert_int_equal(take(CHUNK), 3);
    assert_int_equal(take(CHUNK), IN_SLAB + 3);
    assert_int_equal(device.slab_bytes, 2 * SL_GIB);
    arena.frees = NULL;
    sl_frees_close(&frees, false);
}

/* A slab that takes allocations in turn may become the program's, or nobody's, while it is empty. */
static void turns_leave_out_what_was_reserved_or_given_up(void **state)
{
    (void)state;
    uint32_t slabs[2], given_up;
    sl_arena_spread(&arena, 2);
    for (int i = 0; i < 2; i++) {
        sl_chunk c = take(CHUNK);
        slabs[i] = c / IN_SLAB;
        sl_arena_give(&arena, c);
    }
    uint64_t one = reserve(SL_GIB);
    assert_int_equal(sl_arena_slab(&arena, one) - 1, slabs[0]);
    for (uint32_t i = 0; i < IN_SLAB; i++) assert_int_not_equal(slab_of_next(CHUNK), slabs[0]);
    sl_arena_give_up(&arena, one, SL_GIB, &given_up);
    sl_arena_delete(&arena, given_up, SL_GIB);
    for (uint32_t i = 0; i < 2 * IN_SLAB; i++) assert_int_not_equal(slab_of_next(CHUNK), slabs[0]);
    uint64_t back = reserve(SL_GIB);
    sl_arena_unreserve(&arena, back, SL_GIB);
    uint64_t slabs_before = device.slab_bytes;
    for (uint32_t i = 0; i < IN_SLAB / 2; i++) take(SL_GIB / IN_SLAB);
    assert_int_equal(device.slab_bytes, slabs_before); /* it is used again */
    assert_true(sl_arena_is_valid(&arena));
}

/* Pinned memory has a budget of its own: it takes no turn, and what moves is never placed there. */
static void pinned_memory_takes_no_turn(void **state)
{
    (void)state;
    sl_chunk pinned, again;
    sl_arena_spread(&arena, 3);
    uint32_t first = slab_of_next(CHUNK);
    assert_int_equal(sl_arena_take_pinned(&arena, CHUNK, SL_GIB, &pinned), SL_OK);
    uint64_t had = device.pinned_bytes;
    for (uint32_t i = 1; i < 3 * IN_SLAB; i++) {
        sl_chunk c = take(CHUNK);
        assert_false(record(c)->pinned);
        if (i % 3 == 0) assert_int_equal(c / IN_SLAB, first);
    }
    sl_arena_give(&arena, pinned);
    assert_int_equal(sl_arena_take_pinned(&arena, CHUNK, 0, &again), SL_OK);
    assert_int_equal(again, pinned);
    assert_int_equal(device.pinned_bytes, had);
}

/* More than a slab lies in several, and leaves the turns as they are. */
static void what_is_larger_than_a_slab_takes_no_turn(void **state)
{
    (void)state;
    sl_arena_spread(&arena, 2);
    uint32_t first = slab_of_next(CHUNK), second = slab_of_next(CHUNK);
    sl_chunk large = take(SL_GIB + CHUNK);
    assert_int_equal(record(large + IN_SLAB)->address, record(large)->address + SL_GIB);
    assert_int_equal(slab_of_next(CHUNK), first);
    assert_int_equal(slab_of_next(CHUNK), second);
    assert_int_equal(slab_of_next(SL_GIB), 4);
    assert_int_equal(slab_of_next(CHUNK), second);
    assert_true(sl_arena_is_valid(&arena));
}

/* Memory that the device refuses is looked for in every slab. */
static void turns_end_where_there_are_no_more_slabs(void **state)
{
    (void)state;
    uint32_t first = slab_of_next(CHUNK);
    sl_arena_spread(&arena, SL_SLABS_OPEN + 1);
    device.slabs_are = SL_ERR_NO_MEMORY;
    for (uint32_t i = 1; i < IN_SLAB; i++) assert_int_equal(slab_of_next(CHUNK), first);
    sl_chunk none;
    assert_int_equal(sl_arena_take(&arena, CHUNK, &none), SL_ERR_NO_MEMORY);
    device.slabs_are = SL_OK; /* none is opened before there is no room */
    for (uint32_t i = 0; i < 3; i++) sl_arena_give(&arena, i);
    for (uint32_t i = 0; i < 3; i++) assert_int_equal(slab_of_next(CHUNK), first);
    assert_int_not_equal(slab_of_next(CHUNK), first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_address_is_its_chunks, start, stop),
        cmocka_unit_test_setup_teardown(chunks_have_one_owner, start, stop),
        cmocka_unit_test_setup_teardown(a_run_may_lie_in_two_slabs, start, stop),
        cmocka_unit_test_setup_teardown(a_run_that_is_given_back_is_free, start, stop),
        cmocka_unit_test_setup_teardown(the_last_chunk_of_a_run_can_be_split_off, start, stop),
        cmocka_unit_test_setup_teardown(a_chunk_only_grows, start, stop),
        cmocka_unit_test_setup_teardown(content_dies_with_its_owner, start, stop),
        cmocka_unit_test_setup_teardown(content_changes_only_from_what_it_is, start, stop),
        cmocka_unit_test_setup_teardown(pinned_chunks_are_resident_and_apart, start, stop),
        cmocka_unit_test_setup_teardown(pinned_memory_keeps_to_its_room, start, stop),
        cmocka_unit_test_setup_teardown(nothing_lies_in_two_pinned_slabs, start, stop),
        cmocka_unit_test_setup_teardown(a_backend_that_refuses_is_not_asked_again, start, stop),
        cmocka_unit_test_setup_teardown(what_cannot_be_had_changes_nothing, start, stop),
        cmocka_unit_test_setup_teardown(what_another_stream_freed_is_taken_last, start, stop),
        cmocka_unit_test_setup_teardown(the_drivers_memory_is_noted, start, stop),
        cmocka_unit_test_setup_teardown(reserved_addresses_are_kept_apart, start, stop),
        cmocka_unit_test_setup_teardown(addresses_are_reserved_again, start, stop),
        cmocka_unit_test_setup_teardown(what_was_given_up_is_nobodys, start, stop),
        cmocka_unit_test_setup_teardown(addresses_that_were_never_used_are_left_out, start, stop),
        cmocka_unit_test_setup_teardown(slabs_take_turns, start, stop),
        cmocka_unit_test_setup_teardown(in_turns_too_what_another_stream_freed_is_taken_last, start, stop),
        cmocka_unit_test_setup_teardown(turns_leave_out_what_was_reserved_or_given_up, start, stop),
        cmocka_unit_test_setup_teardown(pinned_memory_takes_no_turn, start, stop),
        cmocka_unit_test_setup_teardown(what_is_larger_than_a_slab_takes_no_turn, start, stop),
        cmocka_unit_test_setup_teardown(turns_end_where_there_are_no_more_slabs, start, stop),
        cmocka_unit_test_setup_teardown(a_device_that_is_gone_gets_nothing_back, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
