/* Memory that the program places itself: breaks if a mapping is not an allocation at its address, if anything
 * else lies among reserved addresses, if more is promised than there is, or if what is mapped exceeds the
 * budget on the device. Each test with a core is a process of its own, since the core runs once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "core_fixture.h"
#include "move/move_valid.h"
#include "trace_file.h"

#define PIECE (20 * SL_MIB)
#define PIECES 8 /* two and a half times the budget of 64 MiB */

static const uint32_t offsets[] = {0}, sizes[] = {8};
static const struct sl_host_kernel kernel = {"one", 1, offsets, sizes};

static void launch_on(uint64_t address)
{
    void *parameters[] = {&address};
    core_launch(core_kernel(&kernel, parameters, 1));
}

static uint64_t reserve(uint64_t bytes)
{
    uint64_t address = 0;
    assert_int_equal(sl_runtime_reserve(bytes, &address), SL_OK);
    assert_int_equal(address % SL_GIB, 0);
    return address;
}

static void map(uint64_t address, uint64_t bytes)
{
    assert_int_equal(sl_runtime_promise(bytes), SL_OK);
    assert_int_equal(sl_runtime_map(address, bytes, bytes, 7, 5), SL_OK);
}

static uint64_t free_now(void)
{
    uint64_t free_bytes = 0, total_bytes = 0;
    assert_true(sl_runtime_memory_info(&free_bytes, &total_bytes));
    return free_bytes;
}

static void without_a_core_nothing_is_given(void **state)
{
    (void)state;
    uint64_t address = 77;
    assert_int_equal(sl_runtime_reserve(SL_GIB, &address), SL_ERR_UNSUPPORTED);
    assert_int_equal(address, 77);
    assert_int_equal(sl_runtime_promise(PIECE), SL_ERR_UNSUPPORTED);
    assert_int_equal(sl_runtime_map(SL_GIB, PIECE, PIECE, 1, 0), SL_ERR_UNSUPPORTED);
    sl_runtime_unpromise(PIECE);
    sl_runtime_unreserve(SL_GIB, SL_GIB);
}

static void a_mapping_is_an_allocation_at_its_address(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    uint64_t base = reserve(3 * SL_GIB), before = free_now();
    struct sl_allocation found = {0}, freed = {0};
    assert_true(sl_runtime_owns(base) && !sl_runtime_find(base, &found));
    map(base + SL_GIB - PIECE / 2, PIECE); /* across a slab's end */
    assert_int_equal(free_now(), before - PIECE);
    assert_true(sl_runtime_find(base + SL_GIB + PIECE / 2 - 1, &found));
    assert_int_equal(found.address, base + SL_GIB - PIECE / 2);
    assert_int_equal(found.bytes, PIECE);
    assert_int_equal(found.tag, 5);
    assert_false(sl_runtime_find(base + SL_GIB + PIECE / 2, &found));
    assert_int_equal(sl_runtime_map(base + SL_GIB, PIECE, 0, 7, 5), SL_ERR_INVALID);
    assert_int_equal(sl_runtime_map(base + 3 * SL_GIB - PIECE / 2, PIECE, 0, 7, 5), SL_ERR_INVALID);
    assert_int_equal(sl_runtime_free_everywhere(found.address, SL_FREE_NOW, &freed), SL_ERR_INVALID);
    assert_int_equal(sl_runtime_free_async(found.address, (sl_stream)16, &freed), SL_ERR_INVALID);
    assert_int_equal(sl_runtime_free(found.address, &freed), SL_OK);
    assert_int_equal(freed.bytes, PIECE);
    assert_int_equal(free_now(), before);
    sl_runtime_unreserve(base, 3 * SL_GIB);
    core_end_child(reserve(3 * SL_GIB) == base); /* the addresses are used again */
}

static void nothing_else_lies_among_reserved_addresses(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    uint64_t first = core_take(PIECE), base = reserve(SL_GIB), other = reserve(SL_GIB);
    assert_int_not_equal(base, other);
    map(base, PIECE);
    for (int i = 0; i < 100; i++) {
        uint64_t address = core_take(i % 2 ? PIECE : 4096);
        assert_int_not_equal(address & ~(SL_GIB - 1), base);
        assert_int_not_equal(address & ~(SL_GIB - 1), other);
    }
    core_end_child((first & ~(SL_GIB - 1)) != base);
}

static void no_more_is_promised_than_there_is(void **state)
{
    (void)state;
    setenv("SLUICE_HOST_LIMIT", "100M", 1);
    setenv("SLUICE_VIRTUAL_SIZE", "100M", 1);
    bool child = core_in_child("inline");
    unsetenv("SLUICE_HOST_LIMIT");
    unsetenv("SLUICE_VIRTUAL_SIZE");
    if (!child) return;
    uint64_t base = reserve(SL_GIB), address, before = free_now();
    for (int i = 0; i < 5; i++) assert_int_equal(sl_runtime_promise(PIECE), SL_OK);
    assert_int_equal(free_now(), before - 5 * PIECE);
    assert_int_equal(sl_runtime_promise(2 * SL_MIB), SL_ERR_NO_MEMORY);
    assert_int_equal(sl_runtime_alloc(2 * SL_MIB, 1, 0, NULL, &address), SL_ERR_NO_MEMORY);
    for (uint64_t i = 0; i < 4; i++)
        assert_int_equal(sl_runtime_map(base + i * PIECE, PIECE, PIECE, 7, 0), SL_OK);
    assert_int_equal(sl_runtime_promise(2 * SL_MIB), SL_ERR_NO_MEMORY);
    sl_runtime_unpromise(PIECE);
    assert_int_equal(free_now(), before - 4 * PIECE);
    assert_int_equal(sl_runtime_alloc(PIECE, 1, 0, NULL, &address), SL_OK);
    assert_int_equal(sl_runtime_alloc(2 * SL_MIB, 1, 0, NULL, &address), SL_ERR_NO_MEMORY);
    core_end_child(free_now() == before - 5 * PIECE);
}

/* As a caching allocator does it: grows, is used up and down, gives the end back, grows again. */
static void what_is_mapped_keeps_the_budget(void **state)
{
    (void)state;
    for (int threads = 0; threads < 2; threads++) {
        if (!core_in_child(threads ? "thread" : "inline")) continue;
        uint64_t base = reserve(2 * SL_GIB);
        for (int round = 0; round < 3; round++) {
            for (uint64_t i = round ? PIECES / 2 : 0; i < PIECES; i++) map(base + i * PIECE, PIECE);
            for (uint64_t use = 0; use < 4 * PIECES; use++) launch_on(base + use % PIECES * PIECE);
            for (uint64_t i = PIECES / 2; i < PIECES; i++)
                assert_int_equal(sl_runtime_free(base + i * PIECE, NULL), SL_OK);
        }
        assert_int_equal(sl_core_running()->arena.virtual_bytes_used, PIECES / 2 * PIECE);
        core_end_child(core_misses() > 0);
    }
}

/* How many chunks the launch uses, when it has become what is expected. */
static uint32_t chunks_used(uint64_t address)
{
    for (int i = 0; i < 64; i++) launch_on(address);
    assert_non_null(sl_core_running()->scanner.usage.cached);
    return sl_core_running()->scanner.usage.chunk_count;
}

/* A tensor that begins in a mapping may reach over those that follow it, up to the next one that begins. */
static void tensors_go_on_in_the_next_mapping(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    uint64_t base = reserve(SL_GIB), chunks = PIECE / (2 * SL_MIB);
    map(base, PIECE);
    assert_int_equal(chunks_used(base + 512), chunks);
    map(base + PIECE, PIECE);
    assert_int_equal(chunks_used(base + 512), 2 * chunks);
    map(base + 3 * PIECE, PIECE); /* behind a gap */
    assert_int_equal(chunks_used(base + 512), 2 * chunks);
    assert_int_equal(sl_runtime_free(base + PIECE, NULL), SL_OK);
    assert_int_equal(chunks_used(base + 512), chunks);
    map(base + PIECE, PIECE);
    assert_int_equal(chunks_used(base + PIECE + 2 * SL_MIB), chunks - 1); /* there begins another */
    assert_int_equal(chunks_used(base + 512), chunks + 1);
    assert_int_equal(chunks_used(base + PIECE), 1);
    assert_int_equal(chunks_used(base + 512), chunks);
    map(base + 2 * PIECE, PIECE); /* the gap: up to the end */
    core_end_child(chunks_used(base + PIECE + 2 * SL_MIB) == 3 * chunks - 1);
}

/* When all of it has happened before, nothing else says that what is known of the launch is old. */
static void what_is_unmapped_and_mapped_again_is_seen(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    uint64_t base = reserve(SL_GIB), chunks = PIECE / (2 * SL_MIB);
    map(base, PIECE);
    for (int round = 0; round < 3; round++) {
        map(base + PIECE, PIECE);
        assert_int_equal(chunks_used(base + 512), 2 * chunks);
        assert_int_equal(sl_runtime_free(base + PIECE, NULL), SL_OK);
        assert_int_equal(chunks_used(base + 512), chunks);
    }
    core_end_child(true);
}

static char path[] = "/tmp/sluice-mapped-XXXXXX";

static void the_trace_has_both_mappings(void **state)
{
    (void)state;
    close(mkstemp(path));
    setenv("SLUICE_TRACE", path, 1);
    bool child = core_in_child("inline");
    unsetenv("SLUICE_TRACE");
    if (!child) {
        unlink(path);
        return;
    }
    uint64_t base = reserve(SL_GIB), accesses = 0;
    map(base, PIECE);
    map(base + PIECE, PIECE);
    launch_on(base + SL_MIB);
    core_stop(NULL);
    struct trace_content content = trace_read_file(path);
    assert_int_equal(content.problem.status, SL_OK);
    for (size_t i = 0; i < content.count; i++) {
        const struct sl_event *event = &content.records[i].event;
        if (event->type != SL_EVENT_ACCESS) continue;
        assert_int_equal(event->a, accesses ? 0 : SL_MIB);
        assert_int_equal(event->b, accesses ? PIECE : PIECE - SL_MIB);
        accesses++;
    }
    trace_content_free(&content);
    _exit(accesses == 2 ? 0 : 3);
}

static void copies_reach_over_mappings(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    uint64_t base = reserve(SL_GIB), chunks = PIECE / (2 * SL_MIB);
    map(base, PIECE);
    map(base + PIECE, PIECE);
    struct sl_launch copy = {.kind = SL_LAUNCH_COPY, .span_count = 1};
    copy.spans[0] = (struct sl_span){base + PIECE / 2, PIECE, true};
    core_launch(copy);
    assert_int_equal(sl_core_running()->scanner.usage.chunk_count, chunks);
    copy.spans[0].bytes = 3 * PIECE; /* no further than what is mapped, whatever it says */
    core_launch(copy);
    core_end_child(sl_core_running()->scanner.usage.chunk_count == chunks / 2 * 3);
}

/* Beside work that moves other chunks; what was resident there is so no longer. */
static void addresses_are_given_up(void **state)
{
    (void)state;
    for (int threads = 0; threads < 2; threads++) {
        if (!core_in_child(threads ? "thread" : "inline")) continue;
        uint64_t base = reserve(SL_GIB), other = reserve(SL_GIB);
        struct sl_core *core = sl_core_running();
        for (uint64_t i = 0; i < PIECES; i++) map((i % 2 ? base : other) + i * PIECE, PIECE);
        for (uint64_t use = 0; use < 6 * PIECES; use++)
            launch_on((use % 2 ? base : other) + use % PIECES * PIECE);
        for (uint64_t i = 1; i < PIECES; i += 2)
            assert_int_equal(sl_runtime_free(base + i * PIECE, NULL), SL_OK);
        sl_runtime_give_up(base, SL_GIB);
        assert_false(sl_runtime_owns(base));
        assert_true(sl_runtime_owns(other));
        sl_migrator_lock(&core->migrator);
        assert_true(sl_migrator_is_valid(&core->migrator));
        sl_migrator_unlock(&core->migrator);
        for (uint64_t use = 0; use < 2 * PIECES; use += 2) launch_on(other + use % PIECES * PIECE);
        core_end_child(core->arena.virtual_bytes_used == PIECES / 2 * PIECE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_core_nothing_is_given),
        cmocka_unit_test(a_mapping_is_an_allocation_at_its_address),
        cmocka_unit_test(nothing_else_lies_among_reserved_addresses),
        cmocka_unit_test(no_more_is_promised_than_there_is),
        cmocka_unit_test(what_is_mapped_keeps_the_budget),
        cmocka_unit_test(tensors_go_on_in_the_next_mapping),
        cmocka_unit_test(what_is_unmapped_and_mapped_again_is_seen),
        cmocka_unit_test(the_trace_has_both_mappings),
        cmocka_unit_test(copies_reach_over_mappings),
        cmocka_unit_test(addresses_are_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
