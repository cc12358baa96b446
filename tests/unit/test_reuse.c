/* Who waits for what before memory that was freed is used again: breaks if an owner would not wait for the
 * work of the last one, or for the discard of the chunk; and if streams wait twice, or for what is not theirs
 * to wait for. */
#include "move/reuse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "noted_device.h"

#define CHUNK (2 * SL_MIB)

static struct noted_device device;
static struct sl_lock order = SL_LOCK_INITIALIZER(SL_LOCK_ORDER);
static struct sl_arena *arena;
static struct sl_placement placement;
static struct sl_migrator migrator;
static struct sl_stats stats;
static struct sl_streams streams;
static struct sl_reuse *reuse;
static int handles[SL_STREAMS]; /* their addresses are streams */

static int start(void **state)
{
    (void)state;
    noted_device_begin(&device);
    arena = calloc(1, sizeof *arena);
    reuse = calloc(1, sizeof *reuse);
    if (!arena || !reuse) return -1;
    sl_arena_init(arena, &device.backend, CHUNK);
    sl_placement_init(&placement, arena, UINT64_MAX);
    streams = (struct sl_streams){.order = &order, .migrator = &migrator, .frees = &reuse->frees};
    reuse->order = &order;
    reuse->migrator = &migrator;
    reuse->streams = &streams;
    reuse->placement = &placement;
    if (sl_stats_init(&stats) || sl_frees_init(&reuse->frees, &device.backend) ||
        sl_migrator_init(&migrator, &device.backend, arena, &stats, &streams.captures))
        return -1;
    for (uint32_t s = 0; s < 3; s++) sl_stream_number(&streams, &handles[s]);
    device.wait_count = 0;
    return 0;
}

static int stop(void **state)
{
    (void)state;
    sl_joins_end(reuse);
    sl_frees_close(&reuse->frees, false);
    sl_migrator_close(&migrator, false);
    sl_placement_close(&placement);
    sl_arena_close(arena, false);
    sl_stats_close(&stats);
    free(arena);
    free(reuse);
    return device.made == device.deleted ? 0 : -1;
}

/* A copy: those of the placement move when there are more. */
static struct sl_slot place(uint64_t bytes)
{
    static uint64_t site = 1;
    uint32_t slot;
    assert_int_equal(sl_place(&placement, bytes, site++, &slot), SL_OK);
    return placement.slots[slot];
}

/* It was freed on stream number `s`. The event of its point. */
static sl_event_handle freed(const struct sl_slot *slot, uint32_t s)
{
    struct sl_free_stream on = {&handles[s], sl_stream_serial(&streams, s)};
    sl_reuse_freed(reuse, slot->address, slot->bytes, sl_points_record(&reuse->frees, &on, 1));
    return device.last;
}

/* Discards what lies in the slot's chunk, as if the slot's memory were free. The out movement. */
static uint64_t discard(const struct sl_slot *slot)
{
    sl_chunk c = sl_arena_chunk(arena, slot->address);
    struct sl_chunk_record *chunk = sl_arena_record(arena, c);
    uint64_t bytes = chunk->bytes;
    atomic_store(&chunk->content, SL_CONTENT_RESIDENT_DEAD);
    atomic_store(&chunk->frame_bytes, bytes);
    atomic_fetch_add(&migrator.occupied_bytes, bytes);
    atomic_store(&chunk->bytes, 0);
    sl_lock(&migrator.out.lock);
    uint64_t sequence = sl_migrator_evict(&migrator, c, NULL, SL_CAUSE_PLAN);
    sl_unlock(&migrator.out.lock);
    atomic_store(&chunk->bytes, bytes);
    assert_int_equal(chunk->discard_sequence, sequence);
    return sequence;
}

/* --- an owner on one stream --- */

static void an_owner_waits_for_frees_on_other_streams(void **state)
{
    (void)state;
    const struct sl_slot slot = place(1000);
    struct sl_reuse_waits waits;
    sl_event_handle event = freed(&slot, 0);
    sl_reuse_by_stream(reuse, &slot, 1, &waits);
    assert_int_equal(waits.discard_sequence, 0);
    assert_int_equal(device.wait_count, 0); /* not under the lock */
    sl_reuse_wait(reuse, &waits, &handles[1]);
    assert_int_equal(noted_stream_waits(&device, &handles[1], event), 1);
    sl_reuse_by_stream(reuse, &slot, 2, &waits); /* it has an owner */
    sl_reuse_wait(reuse, &waits, &handles[2]);
    assert_int_equal(device.wait_count, 1);
    freed(&slot, 1);
    sl_reuse_by_stream(reuse, &slot, 1, &waits);
    sl_reuse_wait(reuse, &waits, &handles[1]);
    assert_int_equal(device.wait_count, 1);
}

/* All of the last 512 bytes are the slot's, and nothing behind them. */
static void what_is_freed_ends_where_the_next_begins(void **state)
{
    (void)state;
    const struct sl_slot slot = place(100);
    struct sl_slot tail = {.address = slot.address + 511, .bytes = 1},
                   behind = {.address = slot.address + 512, .bytes = 512};
    struct sl_reuse_waits waits;
    freed(&slot, 0);
    sl_reuse_by_stream(reuse, &behind, 1, &waits);
    assert_int_equal(waits.waits.count, 0);
    sl_reuse_by_stream(reuse, &tail, 1, &waits);
    assert_int_equal(waits.waits.count, 1);
    sl_reuse_wait(reuse, &waits, &handles[1]);
}

/* Of all chunks that it lies in the newest discard, while that is not known to be done. */
static void an_owner_waits_for_the_discard_of_its_chunks(void **state)
{
    (void)state;
    const struct sl_slot slot = place(3 * CHUNK);
    struct sl_slot second = {.address = slot.address + CHUNK, .bytes = CHUNK},
                   third = {.address = slot.address + 2 * CHUNK, .bytes = CHUNK};
    struct sl_reuse_waits waits;
    uint64_t newest = discard(&third), older = newest;
    newest = discard(&second);
    sl_reuse_by_stream(reuse, &slot, 0, &waits);
    assert_int_equal(waits.discard_sequence, newest);
    sl_reuse_wait(reuse, &waits, &handles[0]);
    sl_event_handle event = sl_link_direction_event(&migrator.out, newest);
    assert_int_equal(noted_stream_waits(&device, &handles[0], event), 1);
    sl_link_direction_set_done(&migrator.out, older);
    sl_reuse_by_stream(reuse, &third, 0, &waits);
    assert_int_equal(waits.discard_sequence, 0);
    sl_reuse_by_stream(reuse, &slot, 0, &waits);
    assert_int_equal(waits.discard_sequence, newest);
}

/* --- an owner on any stream --- */

static void join(uint32_t s, sl_stream stream)
{
    struct sl_joining joining = {0};
    sl_joins_collect(reuse, s, &joining);
    if (sl_joins_any(&joining)) sl_joins_wait(reuse, s, &joining, stream, false);
}

static void every_stream_waits_once(void **state)
{
    (void)state;
    const struct sl_slot slot = place(1000);
    sl_event_handle event = freed(&slot, 0);
    sl_reuse_by_all(reuse, &slot);
    for (int launch = 0; launch < 3; launch++)
        for (uint32_t s = 0; s < 3; s++) join(s, &handles[s]);
    assert_int_equal(noted_stream_waits(&device, &handles[0], event), 0); /* it was freed there */
    assert_int_equal(noted_stream_waits(&device, &handles[1], event), 1);
    assert_int_equal(noted_stream_waits(&device, &handles[2], event), 1);
    assert_int_equal(device.wait_count, 2);
}

/* Which of the streams that share a number waits is not known. */
static void those_that_share_a_number_wait_each_time(void **state)
{
    (void)state;
    const struct sl_slot slot = place(1000);
    sl_event_handle event = freed(&slot, 0);
    uint64_t sequence = discard(&slot);
    sl_reuse_by_all(reuse, &slot);
    for (int launch = 0; launch < 3; launch++) join(SL_SHARED_STREAM, &handles[9]);
    assert_int_equal(noted_stream_waits(&device, &handles[9], event), 3);
    event = sl_link_direction_event(&migrator.out, sequence);
    assert_int_equal(noted_stream_waits(&device, &handles[9], event), 3);
    sl_link_direction_set_done(&migrator.out, sequence);
    join(SL_SHARED_STREAM, &handles[9]);
    assert_int_equal(noted_stream_waits(&device, &handles[9], event), 3);
}

/* A thread that launches on the stream before the other one's wait is there must wait itself. */
static void a_stream_has_waited_only_when_it_does(void **state)
{
    (void)state;
    const struct sl_slot slot = place(1000);
    struct sl_joining one = {0}, other = {0};
    sl_event_handle event = freed(&slot, 0);
    sl_reuse_by_all(reuse, &slot);
    sl_joins_collect(reuse, 1, &one);
    sl_joins_collect(reuse, 1, &other);
    assert_true(sl_joins_any(&one) && sl_joins_any(&other));
    sl_joins_wait(reuse, 1, &one, &handles[1], false);
    sl_joins_wait(reuse, 1, &other, &handles[1], false);
    assert_int_equal(noted_stream_waits(&device, &handles[1], event), 2);
}

/* What was freed later on the same stream lies behind: it alone is waited for, by those that have waited
 * already as well. */
static void a_later_free_takes_the_place_of_an_earlier(void **state)
{
    (void)state;
    const struct sl_slot first = place(1000), second = place(1000);
    sl_event_handle earlier = freed(&first, 0);
    sl_reuse_by_all(reuse, &first);
    join(1, &handles[1]);
    sl_event_handle later = freed(&second, 0);
    sl_reuse_by_all(reuse, &second);
    join(1, &handles[1]);
    join(2, &handles[2]);
    assert_int_equal(reuse->join_count, 1);
    assert_ptr_not_equal(earlier, later);
    assert_int_equal(noted_stream_waits(&device, &handles[1], later), 1);
    assert_int_equal(noted_stream_waits(&device, &handles[2], later), 1);
    assert_int_equal(noted_stream_waits(&device, &handles[2], earlier), 0);
}

static void every_stream_waits_for_a_discard(void **state)
{
    (void)state;
    const struct sl_slot slot = place(CHUNK), other = place(CHUNK);
    uint64_t sequence = discard(&slot);
    sl_reuse_by_all(reuse, &slot);
    for (int launch = 0; launch < 2; launch++)
        for (uint32_t s = 0; s < 2; s++) join(s, &handles[s]);
    sl_event_handle event = sl_link_direction_event(&migrator.out, sequence);
    assert_int_equal(noted_stream_waits(&device, &handles[0], event), 1);
    assert_int_equal(noted_stream_waits(&device, &handles[1], event), 1);
    sl_reuse_by_all(reuse, &other); /* which was not discarded */
    join(0, &handles[0]);
    assert_int_equal(device.wait_count, 2);
    assert_int_equal(reuse->join_out, sequence);
}

/* Beyond as many as can be kept none is forgotten. */
static void where_there_are_too_many_the_host_waits(void **state)
{
    (void)state;
    for (uint32_t i = 0; i <= SL_MOST_JOINS; i++) {
        const struct sl_slot slot = place(1000);
        struct sl_free_stream on = {&handles[i % SL_STREAMS], 1000 + i};
        sl_reuse_freed(reuse, slot.address, slot.bytes, sl_points_record(&reuse->frees, &on, 1));
        sl_reuse_by_all(reuse, &slot);
        assert_int_equal(device.wait_count, i == SL_MOST_JOINS);
    }
    assert_int_equal(noted_host_waits(&device, device.last), 1);
    join(0, &handles[0]);
    assert_int_equal(device.wait_count, SL_MOST_JOINS + 1);
}

/* The events serve again: as many frees as before make no new ones. */
static void what_the_host_has_waited_for_is_over(void **state)
{
    (void)state;
    uint64_t made = 0;
    for (int round = 0; round < 3; round++) {
        for (uint32_t s = 0; s < 3; s++) {
            const struct sl_slot slot = place(1000);
            freed(&slot, s);
            sl_reuse_by_all(reuse, &slot);
        }
        sl_joins_end(reuse);
        join(0, &handles[0]);
        assert_int_equal(device.wait_count, 0);
        if (round) assert_int_equal(device.made, made);
        made = device.made;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_owner_waits_for_frees_on_other_streams, start, stop),
        cmocka_unit_test_setup_teardown(what_is_freed_ends_where_the_next_begins, start, stop),
        cmocka_unit_test_setup_teardown(an_owner_waits_for_the_discard_of_its_chunks, start, stop),
        cmocka_unit_test_setup_teardown(every_stream_waits_once, start, stop),
        cmocka_unit_test_setup_teardown(those_that_share_a_number_wait_each_time, start, stop),
        cmocka_unit_test_setup_teardown(a_stream_has_waited_only_when_it_does, start, stop),
        cmocka_unit_test_setup_teardown(a_later_free_takes_the_place_of_an_earlier, start, stop),
        cmocka_unit_test_setup_teardown(every_stream_waits_for_a_discard, start, stop),
        cmocka_unit_test_setup_teardown(where_there_are_too_many_the_host_waits, start, stop),
        cmocka_unit_test_setup_teardown(what_the_host_has_waited_for_is_over, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
