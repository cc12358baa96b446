/* What the program gets, frees and may ask: breaks if an allocation is not what was asked for, if something
 * else is freed than what starts at an address, if a refused call leaves anything behind, or if anything is
 * taken for ours that is not. Each test with a core is a process of its own, since the core runs once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "core_fixture.h"

#define CHUNK (2 * SL_MIB) /* the budget holds 32 */

static const uint32_t offsets[] = {0}, sizes[] = {8};
static const struct sl_host_kernel kernel = {"one", 1, offsets, sizes};
static const struct sl_allocation untouched = {1, 2, 3, 4};

static void launch_on(uint64_t address, sl_stream stream)
{
    void *parameters[] = {&address};
    struct sl_launch launch = core_kernel(&kernel, parameters, 1);
    launch.stream = stream;
    core_launch(launch);
}

static bool is_same(const struct sl_allocation *a, const struct sl_allocation *b)
{
    return a->address == b->address && a->bytes == b->bytes && a->number == b->number && a->tag == b->tag;
}

static struct sl_allocation found_at(uint64_t address)
{
    struct sl_allocation found = {0};
    if (!sl_runtime_find(address, &found)) return (struct sl_allocation){0};
    assert_in_range(address, found.address, found.address + found.bytes - 1);
    return found;
}

/* Before the start. */
static void without_a_core_nothing_is_ours(void **state)
{
    (void)state;
    uint64_t address = 77, free_bytes = 5, total_bytes = 6;
    struct sl_allocation freed = untouched;
    struct sl_noted noted = {7, 8, 9};
    assert_int_equal(sl_runtime_alloc(4096, 1, 0, NULL, &address), SL_ERR_UNSUPPORTED);
    assert_int_equal(sl_runtime_alloc(4096, 1, 0, &(sl_stream){NULL}, &address), SL_ERR_UNSUPPORTED);
    assert_int_equal(address, 77);
    assert_int_equal(sl_runtime_free(SL_GIB, &freed), SL_OK);
    assert_int_equal(sl_runtime_free_async(SL_GIB, NULL, &freed), SL_OK);
    assert_false(sl_runtime_find(SL_GIB, &freed));
    assert_true(is_same(&freed, &untouched));
    sl_runtime_note_alloc(SL_GIB, 4096, 1);
    assert_false(sl_runtime_note_free(SL_GIB, &noted));
    sl_runtime_note_unmap(SL_GIB, 4096);
    assert_int_equal(noted.site, 9);
    assert_false(sl_runtime_owns(SL_GIB));
    assert_false(sl_runtime_owns_part(0, UINT64_MAX));
    assert_false(sl_runtime_tag(SL_GIB, 0, 1));
    assert_false(sl_runtime_memory_info(&free_bytes, &total_bytes));
    assert_true(free_bytes == 5 && total_bytes == 6);
}

/* All succeeds then, as the memory goes with the process; what lived can be asked for while the device is
 * there. */
static void after_the_stop_nothing_is_given_or_freed(void **state)
{
    (void)state;
    for (int device_gone = 0; device_gone < 2; device_gone++) {
        if (!core_in_child("thread")) continue;
        uint64_t address = core_take(4096), other = 77;
        struct sl_allocation before = found_at(address), freed = untouched;
        sl_runtime_stop(device_gone);
        assert_int_equal(sl_runtime_alloc(4096, 1, 0, NULL, &other), SL_ERR_UNSUPPORTED);
        assert_int_equal(other, 77);
        assert_int_equal(sl_runtime_free(address, &freed), SL_OK);
        assert_int_equal(sl_runtime_free_async(address, NULL, &freed), SL_OK);
        assert_true(is_same(&freed, &untouched));
        assert_false(sl_runtime_tag(address, 0, 1));
        assert_int_equal(sl_runtime_owns(address), !device_gone);
        assert_int_equal(sl_runtime_find(address, &freed), !device_gone);
        assert_true(device_gone || is_same(&freed, &before));
        _exit(0);
    }
}

static void an_allocation_is_what_was_asked_for(void **state)
{
    (void)state;
    static const uint64_t bytes[] = {1, 511, 512, 513, 4096, CHUNK, CHUNK - 1, 2 * CHUNK + 1, 9 * SL_MIB};
    enum { COUNT = sizeof bytes / sizeof *bytes };
    if (!core_in_child("inline")) return;
    uint64_t address[2 * COUNT], number = 0;
    for (int round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < 2 * COUNT; i++) {
            enum sl_status status =
                i % 2 ? sl_runtime_alloc(bytes[i / 2], 9, i, &(sl_stream){(sl_stream)16}, &address[i])
                      : sl_runtime_alloc(bytes[i / 2], 9, i, NULL, &address[i]);
            assert_int_equal(status, SL_OK);
            struct sl_allocation found = found_at(address[i]), last = found_at(address[i] + bytes[i / 2] - 1);
            assert_int_equal(address[i] % 512, 0);
            assert_int_equal(found.address, address[i]);
            assert_int_equal(found.bytes, bytes[i / 2]);
            assert_int_equal(found.tag, i);
            assert_true(found.number > number); /* none had it before */
            assert_true(is_same(&found, &last));
            assert_int_not_equal(found_at(address[i] + bytes[i / 2]).number, found.number);
            assert_true(sl_runtime_owns(address[i]));
            number = found.number;
        }
        for (uint32_t i = 0; i < 2 * COUNT; i++) /* nobody took a part of it */
            assert_int_equal(found_at(address[i]).tag, i);
        for (uint32_t i = 0; i < 2 * COUNT; i++) {
            struct sl_allocation freed = {0}, before = found_at(address[i]);
            assert_int_equal(i % 3 ? sl_runtime_free(address[i], &freed)
                                   : sl_runtime_free_async(address[i], (sl_stream)16, &freed),
                             SL_OK);
            assert_true(is_same(&freed, &before));
            assert_false(sl_runtime_find(address[i], &freed));
        }
    }
    core_end_child(sl_core_running()->placement.live_count == 0);
}

static void only_what_starts_there_is_freed(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    uint64_t address = core_take(8192), gone = core_take(8192);
    launch_on(address, (sl_stream)16); /* there is work, so that frees have something to wait for */
    assert_int_equal(sl_runtime_free(gone, NULL), SL_OK);
    const uint64_t wrong[] = {address + 1, address + 4096, address - 512, gone, address + 512 * SL_MIB};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct sl_allocation freed = untouched;
        assert_int_equal(sl_runtime_free(wrong[i], &freed), SL_ERR_INVALID);
        assert_int_equal(sl_runtime_free_async(wrong[i], (sl_stream)16, &freed), SL_ERR_INVALID);
        assert_true(is_same(&freed, &untouched));
    }
    assert_int_equal(found_at(address).bytes, 8192);
    sl_runtime_finish(); /* the same where there is no work */
    assert_int_equal(sl_runtime_free(address + 1, NULL), SL_ERR_INVALID);
    assert_int_equal(sl_runtime_free(address, NULL), SL_OK);
    core_end_child(sl_runtime_free(address, NULL) == SL_ERR_INVALID);
}

static void what_may_only_be_freed_without_work_lives_on_beside_it(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    uint64_t address = core_take(8192);
    struct sl_allocation before = found_at(address), freed = untouched;
    launch_on(address, (sl_stream)16);
    assert_int_equal(sl_runtime_free_everywhere(address, SL_FREE_IDLE, &freed), SL_ERR_UNSUPPORTED);
    assert_true(is_same(&freed, &before)); /* so the caller knows what it is */
    freed = found_at(address);
    assert_true(is_same(&freed, &before));
    assert_int_equal(sl_runtime_free_everywhere(address + 512, SL_FREE_IDLE, &freed), SL_ERR_INVALID);
    assert_int_equal(sl_runtime_finish(), SL_OK);
    freed = untouched;
    assert_int_equal(sl_runtime_free_everywhere(address, SL_FREE_IDLE, &freed), SL_OK);
    assert_true(is_same(&freed, &before));
    core_end_child(!sl_runtime_find(address, &freed));
}

static void what_does_not_fit_is_refused_and_leaves_nothing(void **state)
{
    (void)state;
    setenv("SLUICE_HOST_LIMIT", "128M", 1);
    setenv("SLUICE_VIRTUAL_SIZE", "128M", 1); /* else the device keeps some more: test_device_room.c */
    bool in_child = core_in_child("inline");
    unsetenv("SLUICE_HOST_LIMIT");
    unsetenv("SLUICE_VIRTUAL_SIZE");
    if (!in_child) return;
    const struct sl_core *core = sl_core_running();
    static const uint64_t too_much[] = {129 * SL_MIB, SL_GIB + 1, UINT64_C(1) << 47, UINT64_MAX - 511,
                                        UINT64_MAX};
    uint64_t kept = core_take(SL_MIB), address = 77, fed = core->history.fed;
    for (size_t i = 0; i < sizeof too_much / sizeof *too_much; i++) {
        assert_int_equal(sl_runtime_alloc(too_much[i], 5, 0, NULL, &address), SL_ERR_NO_MEMORY);
        assert_int_equal(sl_runtime_alloc(too_much[i], 5, 0, &(sl_stream){(sl_stream)16}, &address),
                         SL_ERR_NO_MEMORY);
        assert_int_equal(address, 77);
    }
    assert_int_equal(core->placement.live_count, 1);
    assert_int_equal(core->placement.live_bytes, SL_MIB);
    assert_int_equal(core->history.fed, fed); /* it is no part of what repeats */
    assert_int_equal(sl_runtime_free(kept, NULL), SL_OK);
    uint64_t all = core_take(128 * SL_MIB); /* so much fits, and no more */
    assert_int_equal(sl_runtime_alloc(1, 5, 0, NULL, &address), SL_ERR_NO_MEMORY);
    assert_int_equal(sl_runtime_free(all, NULL), SL_OK);
    core_end_child(sl_runtime_alloc(1, 5, 0, NULL, &address) == SL_OK);
}

static void tags_are_of_one_allocation(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    uint64_t address, beside, again;
    assert_int_equal(sl_runtime_alloc(4096, 1, 5, NULL, &address), SL_OK);
    assert_int_equal(sl_runtime_alloc(4096, 1, 5, NULL, &beside), SL_OK);
    assert_true(sl_runtime_tag(address + 4095, 1, 8));
    assert_int_equal(found_at(address).tag, 12);
    assert_int_equal(found_at(beside).tag, 5);
    assert_true(sl_runtime_tag(address, 12, 12)); /* what is set last counts */
    assert_int_equal(found_at(address).tag, 12);
    struct sl_allocation freed;
    assert_int_equal(sl_runtime_free(address, &freed), SL_OK);
    assert_int_equal(freed.tag, 12);
    assert_false(sl_runtime_tag(address, 0, 1));
    assert_int_equal(sl_runtime_alloc(4096, 1, 64, NULL, &again), SL_OK);
    assert_int_equal(again, address);
    core_end_child(found_at(again).tag == 64);
}

static void a_range_is_ours_where_a_part_of_it_is(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    uint64_t slab = core_take(4096) & ~(SL_GIB - 1), end = slab + SL_GIB;
    assert_true(sl_runtime_owns(slab) && sl_runtime_owns(end - 1));
    assert_true(sl_runtime_owns_part(slab, slab) && sl_runtime_owns_part(end - 1, end - 1));
    assert_true(sl_runtime_owns_part(slab - 1, slab) && sl_runtime_owns_part(end - 1, end));
    assert_true(sl_runtime_owns_part(slab / 2, end + 5 * SL_GIB));
    assert_true(sl_runtime_owns_part(0, UINT64_MAX));
    assert_int_equal(sl_runtime_owns_part(slab - 2, slab - 1), sl_runtime_owns(slab - 1));
    assert_false(sl_runtime_owns_part(UINT64_MAX - 1, UINT64_MAX)); /* no device has such addresses */
    core_end_child(!sl_runtime_owns_part(0, SL_MIB));
}

static void free_memory_is_what_is_left_of_the_virtual_size(void **state)
{
    (void)state;
    setenv("SLUICE_VIRTUAL_SIZE", "1G", 1);
    bool in_child = core_in_child("inline");
    unsetenv("SLUICE_VIRTUAL_SIZE");
    if (!in_child) return;
    uint64_t before, after, total;
    assert_true(sl_runtime_memory_info(&before, &total));
    assert_true(total == SL_GIB && before == SL_GIB);
    uint64_t address = core_take(100 * SL_MIB);
    assert_true(sl_runtime_memory_info(&after, &total));
    assert_true(total == SL_GIB && after == SL_GIB - 100 * SL_MIB);
    sl_runtime_charge(30 * SL_MIB);
    assert_true(sl_runtime_memory_info(&after, &total));
    assert_int_equal(after, SL_GIB - 130 * SL_MIB);
    sl_runtime_charge(2 * (int64_t)SL_GIB); /* more than there is */
    assert_true(sl_runtime_memory_info(&after, &total));
    assert_true(total == SL_GIB && after == 0);
    sl_runtime_charge(-3 * (int64_t)SL_GIB); /* more came back than was taken */
    assert_int_equal(sl_runtime_free(address, NULL), SL_OK);
    core_end_child(sl_runtime_memory_info(&after, &total) && total == SL_GIB && after == SL_GIB);
}

static bool is_resident(uint64_t address)
{
    const struct sl_arena *arena = &sl_core_running()->arena;
    return atomic_load(&sl_arena_record(arena, sl_arena_chunk(arena, address))->content) ==
           SL_CONTENT_RESIDENT;
}

/* What is dead need not come again: where the chunk has left, the driver learns that. */
static void memory_that_left_is_discarded_when_nothing_lives_in_it(void **state)
{
    (void)state;
    for (int idle = 0; idle < 2; idle++) {
        if (!core_in_child("inline")) continue;
        const struct sl_host_books *books = sl_backend_host_books(&sl_core_running()->backend);
        uint64_t left = core_take(CHUNK), shared = core_take(CHUNK / 2), sharing = core_take(CHUNK / 2),
                 never = core_take(CHUNK), stays;
        launch_on(left, NULL);
        launch_on(shared, NULL);
        for (int i = 0; i < 40; i++) launch_on(stays = core_take(CHUNK), NULL);
        assert_false(is_resident(left) || is_resident(shared));
        assert_true(is_resident(stays));
        assert_int_equal(sl_arena_chunk(&sl_core_running()->arena, shared),
                         sl_arena_chunk(&sl_core_running()->arena, sharing));
        if (idle) sl_runtime_finish();
        assert_int_equal(sl_runtime_free(stays, NULL), SL_OK);
        assert_int_equal(sl_runtime_free(shared, NULL), SL_OK); /* its neighbour lives */
        assert_int_equal(sl_runtime_free(never, NULL), SL_OK);  /* nobody used it */
        assert_int_equal(books->bytes_discarded, 0);
        assert_int_equal(sl_runtime_free(left, NULL), SL_OK);
        assert_int_equal(books->bytes_discarded, CHUNK);
        assert_int_equal(sl_runtime_free(sharing, NULL), SL_OK);
        core_end_child(books->bytes_discarded == 2 * CHUNK);
    }
}

static int waits;

static enum sl_status stream_wait(void *self, sl_stream stream, sl_event_handle event)
{
    (void)self;
    (void)event;
    waits += stream == (sl_stream)32;
    return SL_OK;
}

/* Takes what was freed and launches on another stream, which uses it. Returns how often that waited. */
static int waits_for_what_was_freed(uint64_t freed)
{
    uint64_t again;
    waits = 0;
    assert_int_equal(sl_runtime_alloc(CHUNK, 3, 0, NULL, &again), SL_OK);
    assert_int_equal(again, freed);
    launch_on(again, (sl_stream)32);
    return waits;
}

static void whoever_gets_the_memory_comes_behind_what_was_issued(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    sl_core_running()->backend.stream_wait = stream_wait;
    uint64_t address = core_take_at(3, CHUNK);
    launch_on(address, (sl_stream)32); /* waits for it to come */
    launch_on(address, (sl_stream)16);
    assert_int_equal(sl_runtime_free(address, NULL), SL_OK);
    assert_int_equal(waits_for_what_was_freed(address), 1);
    sl_runtime_finish();
    assert_int_equal(sl_runtime_free(address, NULL), SL_OK);
    core_end_child(waits_for_what_was_freed(address) == 0); /* all of it is done */
}

/* Slots that are taken again and again are expected where they lay when they came like this before. */
static void places_are_expected_by_what_is_predicted(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    const struct sl_core *core = sl_core_running();
    uint64_t address[4];
    for (int round = 0; round < 10; round++)
        for (int i = 0; i < 4; i++) {
            bool known = round > 2;
            uint64_t before = address[i];
            address[i] = core_take_at((uint64_t)i, CHUNK);
            launch_on(address[i], NULL);
            assert_true(!known || core->placement.expected_address == before);
            assert_true(!known || core->placement.slots[core->placement.expected_slot].address == before);
            if (i == 3)
                for (int f = 0; f < 4; f++) assert_int_equal(sl_runtime_free(address[f], NULL), SL_OK);
        }
    core_take_at(5, CHUNK); /* nobody expected that */
    core_end_child(core->placement.slots[core->placement.expected_slot].site != 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_are_expected_by_what_is_predicted),
        cmocka_unit_test(without_a_core_nothing_is_ours),
        cmocka_unit_test(after_the_stop_nothing_is_given_or_freed),
        cmocka_unit_test(an_allocation_is_what_was_asked_for),
        cmocka_unit_test(only_what_starts_there_is_freed),
        cmocka_unit_test(what_may_only_be_freed_without_work_lives_on_beside_it),
        cmocka_unit_test(what_does_not_fit_is_refused_and_leaves_nothing),
        cmocka_unit_test(tags_are_of_one_allocation),
        cmocka_unit_test(a_range_is_ours_where_a_part_of_it_is),
        cmocka_unit_test(free_memory_is_what_is_left_of_the_virtual_size),
        cmocka_unit_test(memory_that_left_is_discarded_when_nothing_lives_in_it),
        cmocka_unit_test(whoever_gets_the_memory_comes_behind_what_was_issued),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
