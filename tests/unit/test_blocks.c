/* Blocks that a framework's allocator reports: breaks if one is not an allocation by itself where it lies, if
 * what may hold data dies, if the same block at another place is another one, or if host memory is lost count
 * of. Each test is a process of its own, since the core runs once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core_fixture.h"
#include "memory/memory_valid.h"

#define PIECE (20 * SL_MIB)
#define SITE 77

static const uint32_t offsets[] = {0}, sizes[] = {8};
static const struct sl_host_kernel kernel = {"one", 1, offsets, sizes};

static void launch_on(uint64_t address)
{
    void *parameters[] = {&address};
    core_launch(core_kernel(&kernel, parameters, 1));
}

static uint64_t map_pieces(int count)
{
    uint64_t base = 0;
    assert_int_equal(sl_runtime_reserve(SL_GIB, &base), SL_OK);
    for (int i = 0; i < count; i++) {
        assert_int_equal(sl_runtime_promise(PIECE), SL_OK);
        assert_int_equal(sl_runtime_map(base + (uint64_t)i * PIECE, PIECE, PIECE, 7, 5), SL_OK);
    }
    return base;
}

static uint64_t free_now(void)
{
    uint64_t free_bytes = 0, total_bytes = 0;
    assert_true(sl_runtime_memory_info(&free_bytes, &total_bytes));
    return free_bytes;
}

static const struct sl_slot *slot_at(uint64_t address)
{
    uint32_t s = sl_place_find(&sl_core_running()->placement, address);
    return s == SL_NONE ? NULL : &sl_core_running()->placement.slots[s];
}

static uint64_t live_bytes(void)
{
    return sl_core_running()->placement.live_bytes;
}

static void without_a_core_nothing_happens(void **state)
{
    (void)state;
    sl_runtime_block_taken(SL_GIB, 512, SITE);
    sl_runtime_block_returned(SL_GIB);
}

/* Whoever asks for the memory is told of the piece, as before. */
static void a_block_is_an_allocation(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    struct sl_allocation found = {0};
    uint64_t before = free_now(), base = map_pieces(2), block = base + 512, last = base + PIECE - SL_MIB;
    sl_runtime_block_taken(block, 3 * SL_MIB + 100, SITE);
    sl_runtime_block_taken(last, 2 * SL_MIB, SITE); /* across both pieces */
    assert_int_equal(live_bytes(), 5 * SL_MIB + 100);
    assert_null(slot_at(base));
    assert_null(slot_at(block + 3 * SL_MIB + 512));
    assert_int_equal(slot_at(block + 3 * SL_MIB + 99)->address, block);
    assert_int_equal(slot_at(last + 2 * SL_MIB - 1)->site, SITE);
    assert_true(sl_runtime_find(last, &found));
    assert_int_equal(found.address, base);
    assert_int_equal(found.bytes, PIECE);
    assert_int_equal(found.tag, 5);
    assert_true(sl_runtime_tag(last + SL_MIB, 1, 8));
    assert_true(sl_runtime_find(block, &found));
    assert_int_equal(found.tag, 5);
    assert_true(sl_runtime_find(base + PIECE, &found));
    assert_int_equal(found.tag, 12);
    assert_true(sl_runtime_find(last, &found));
    assert_int_equal(free_now(), before - 2 * PIECE);
    sl_runtime_block_returned(block + 512); /* none begins there */
    assert_non_null(slot_at(block));
    sl_runtime_block_returned(block);
    assert_null(slot_at(block));
    assert_int_equal(free_now(), before - 2 * PIECE);
    assert_int_equal(sl_runtime_free(base + PIECE, NULL), SL_OK); /* with what reaches into it */
    assert_int_equal(live_bytes(), 0);
    assert_int_equal(sl_runtime_free(base, &found), SL_OK);
    assert_int_equal(found.bytes, PIECE);
    assert_int_equal(sl_runtime_free(base, NULL), SL_ERR_INVALID);
    assert_int_equal(free_now(), before);
    sl_runtime_unreserve(base, SL_GIB);
    core_end_child(sl_placement_is_valid(&sl_core_running()->placement));
}

/* A launch needs the chunks of the block, and none beside it; what was taken back needs none. */
static void launches_use_blocks(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    uint64_t base = map_pieces(3);
    struct sl_core *core = sl_core_running();
    for (uint64_t i = 0; i < 12; i++) sl_runtime_block_taken(base + i * 5 * SL_MIB, 5 * SL_MIB, SITE);
    for (int round = 0; round < 40; round++)
        for (uint64_t i = 0; i < 12; i++) launch_on(base + i * 5 * SL_MIB);
    assert_in_range(core->scanner.usage.chunk_count, 3, 4);
    for (uint64_t i = 1; i < 12; i++) sl_runtime_block_returned(base + i * 5 * SL_MIB);
    sl_chunk first = sl_arena_chunk(&core->arena, base);
    for (uint32_t c = 3; c < 30; c++)
        assert_true(sl_content_is_dead(atomic_load(&sl_arena_record(&core->arena, first + c)->content)));
    assert_false(sl_content_is_dead(atomic_load(&sl_arena_record(&core->arena, first)->content)));
    core_end_child(true);
}

/* What a launch may have used keeps its content: it is divided never. */
static void data_does_not_die(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    uint64_t base = map_pieces(2);
    launch_on(base);
    sl_runtime_block_taken(base, SL_MIB, SITE);
    sl_runtime_block_returned(base);
    assert_int_equal(slot_at(base)->bytes, PIECE);
    sl_runtime_block_taken(base + PIECE, SL_MIB, SITE); /* nor is what was mapped before that launch */
    assert_int_equal(slot_at(base + PIECE)->bytes, PIECE);
    assert_int_equal(sl_runtime_free(base, NULL), SL_OK);
    uint64_t plain = core_take(4 * SL_MIB);
    sl_runtime_block_taken(plain, SL_MIB, SITE); /* not mapped */
    sl_runtime_block_returned(plain);
    core_end_child(slot_at(plain)->bytes == 4 * SL_MIB);
}

static void set_capturing(int captures)
{
    atomic_store(&sl_core_running()->streams.captures, captures);
}

/* A graph writes again to what was taken back since. */
static void what_graphs_have_lives_on(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    uint64_t base = map_pieces(2), other = base + PIECE;
    sl_runtime_block_taken(base + SL_MIB, SL_MIB, SITE);
    sl_runtime_block_returned(base + SL_MIB);
    sl_runtime_block_taken(base + 5 * SL_MIB + 512, SL_MIB, SITE);
    set_capturing(1);
    sl_runtime_block_taken(base + SL_MIB, 3 * SL_MIB, SITE);
    sl_runtime_block_taken(other, SL_MIB, SITE); /* was never divided */
    set_capturing(0);
    assert_int_equal(live_bytes(), 2 * PIECE);
    for (uint64_t at = base; at < base + 2 * PIECE; at += 512) assert_non_null(slot_at(at));
    sl_runtime_block_returned(base + SL_MIB);
    sl_runtime_block_returned(base + 5 * SL_MIB + 512);
    sl_runtime_block_returned(other);
    sl_runtime_block_taken(base + 9 * SL_MIB, SL_MIB, SITE);
    sl_runtime_block_returned(base + 9 * SL_MIB);
    assert_int_equal(live_bytes(), 2 * PIECE);
    assert_int_equal(sl_runtime_free(base, NULL), SL_OK);
    assert_int_equal(live_bytes(), PIECE);
    core_end_child(sl_placement_is_valid(&sl_core_running()->placement));
}

/* A block that reaches into such a mapping is kept with it, until that is unmapped; the other's part then
 * lives on. */
static void what_reaches_into_a_graphs_memory_lives_on(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    uint64_t base = map_pieces(2), other = base + PIECE;
    sl_runtime_block_taken(other - SL_MIB, 2 * SL_MIB, SITE);
    set_capturing(1);
    sl_runtime_block_taken(other + 4 * SL_MIB, SL_MIB, SITE);
    set_capturing(0);
    sl_runtime_block_returned(other - SL_MIB);
    assert_int_equal(live_bytes(), PIECE + SL_MIB);
    assert_int_equal(sl_runtime_free(base, NULL), SL_OK);
    assert_int_equal(live_bytes(), PIECE);
    for (uint64_t at = other; at < other + PIECE; at += 512) assert_non_null(slot_at(at));
    assert_int_equal(sl_runtime_free(other, NULL), SL_OK);
    core_end_child(live_bytes() == 0 && sl_core_running()->placement.promised_bytes == 0 &&
                   sl_placement_is_valid(&sl_core_running()->placement));
}

/* Caching allocators hand out other places in each step. */
static void the_same_block_elsewhere_is_the_same(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    struct sl_core *core = sl_core_running();
    uint64_t base = map_pieces(2);
    for (uint64_t step = 0; step < 30; step++) {
        uint64_t one = base + step % 7 * 2 * SL_MIB, other = base + PIECE + step % 3 * 4 * SL_MIB;
        uint64_t mispredictions = sl_predictor_counts(core->history.predictor).mispredictions;
        sl_runtime_block_taken(one, SL_MIB, 1);
        sl_runtime_block_taken(other, 3 * SL_MIB, 2);
        for (int i = 0; i < 5; i++) launch_on(i % 2 ? one : other);
        sl_runtime_block_returned(one);
        sl_runtime_block_returned(other);
        if (step > 4)
            assert_int_equal(sl_predictor_counts(core->history.predictor).mispredictions, mispredictions);
    }
    core_end_child(true);
}

/* Two that overlap: one of the reports is not true, and nothing dies there any more. */
static void contradictions_cost_no_data(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    uint64_t base = map_pieces(1);
    sl_runtime_block_taken(base, 2 * SL_MIB, SITE);
    sl_runtime_block_taken(base + SL_MIB, 2 * SL_MIB, SITE);
    assert_int_equal(live_bytes(), PIECE);
    sl_runtime_block_returned(base);
    sl_runtime_block_returned(base + SL_MIB);
    assert_int_equal(live_bytes(), PIECE);
    sl_runtime_block_taken(base + PIECE - SL_MIB, 2 * SL_MIB, SITE); /* beyond what is mapped */
    sl_runtime_block_taken(base + 513, 512, SITE);
    sl_runtime_block_taken(base + 4 * PIECE, 512, SITE);
    sl_runtime_block_returned(base + 4 * PIECE);
    core_end_child(live_bytes() == PIECE && sl_placement_is_valid(&sl_core_running()->placement));
}

/* Against a list of what was reported, with launches in between, in every way that data is moved. */
static void any_order_of_reports(void **state)
{
    (void)state;
    enum { BLOCKS = 40 };
    for (int threads = 0; threads < 2; threads++) {
        if (!core_in_child(threads ? "thread" : "inline")) continue;
        unsigned seed = 11;
        uint64_t base = map_pieces(6), bytes[BLOCKS] = {0}, live = 0;
        sl_runtime_block_taken(base, 6 * PIECE, 1); /* all is divided */
        sl_runtime_block_returned(base);
        for (int turn = 0; turn < 3000; turn++) {
            uint64_t i = (uint64_t)rand_r(&seed) % BLOCKS, address = base + i * 3 * SL_MIB;
            if (bytes[i]) {
                if (turn % 3) launch_on(address);
                sl_runtime_block_returned(address);
                live -= bytes[i];
                bytes[i] = 0;
            } else {
                bytes[i] = 1 + (uint64_t)rand_r(&seed) % (3 * SL_MIB);
                sl_runtime_block_taken(address, bytes[i], i);
                live += bytes[i];
                launch_on(address);
            }
            assert_int_equal(live_bytes(), live);
        }
        for (uint64_t i = 0; i < 6; i++) assert_int_equal(sl_runtime_free(base + i * PIECE, NULL), SL_OK);
        core_end_child(live_bytes() == 0 && sl_core_running()->placement.promised_bytes == 0 &&
                       sl_placement_is_valid(&sl_core_running()->placement));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_core_nothing_happens),
        cmocka_unit_test(a_block_is_an_allocation),
        cmocka_unit_test(launches_use_blocks),
        cmocka_unit_test(data_does_not_die),
        cmocka_unit_test(what_graphs_have_lives_on),
        cmocka_unit_test(what_reaches_into_a_graphs_memory_lives_on),
        cmocka_unit_test(the_same_block_elsewhere_is_the_same),
        cmocka_unit_test(contradictions_cost_no_data),
        cmocka_unit_test(any_order_of_reports),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
