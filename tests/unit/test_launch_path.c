/* What is done for a launch before the driver gets it and after: breaks if a launch runs without its chunks,
 * or beyond the budget, without a wait for what is on its way, or with one each time; if one that is captured
 * is touched; or if one is taken for submitted that is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core_fixture.h"

#define CHUNK (2 * SL_MIB) /* the budget holds 32 */
#define FEW_CHUNKS 64      /* of a launch: with more, its context needs memory of its own */

static const uint32_t offsets[] = {0, 8}, sizes[] = {8, 8};
static const struct sl_host_kernel kernel = {"kernel", 2, offsets, sizes};

static struct sl_launch launch_of(void **parameters)
{
    return core_kernel(&kernel, parameters, 1);
}

static bool is_resident(uint64_t address)
{
    const struct sl_arena *arena = &sl_core_running()->arena;
    return atomic_load(&sl_arena_record(arena, sl_arena_chunk(arena, address))->content) ==
           SL_CONTENT_RESIDENT;
}

/* Before the start and after the stop. */
static void without_a_core_launches_are_left_alone(void **state)
{
    (void)state;
    int anything;
    void *parameters[] = {&anything, &anything};
    struct sl_launch launch = launch_of(parameters);
    launch.tick = 5; /* what the shim left there */
    launch.state = &anything;
    sl_runtime_launch_begin(&launch);
    assert_int_equal(launch.tick, 0);
    assert_null(launch.state);
    sl_runtime_launch_end(&launch, true);
    assert_null(sl_runtime_footprint(&launch));
}

static void what_it_uses_is_there_before_the_driver_gets_it(void **state)
{
    (void)state;
    enum { MANY = 48 };
    if (!core_in_child("inline")) return;
    uint64_t many[MANY];
    for (int i = 0; i < MANY; i++) many[i] = core_take(CHUNK);
    for (uint64_t i = 0, chance = 1; i < 10 * MANY; i++) {
        chance = chance * UINT64_C(6364136223846793005) + 1442695040888963407;
        uint64_t random = i < 5 * MANY ? chance >> 40 : i, *a = &many[random % MANY],
                 *b = &many[random * 7 % MANY];
        void *parameters[] = {a, b};
        struct sl_launch launch = launch_of(parameters);
        sl_runtime_launch_begin(&launch);
        assert_int_equal(launch.tick, i + 1);
        assert_true(is_resident(*a) && is_resident(*b));
        sl_runtime_launch_end(&launch, i % 3 > 0); /* one that is refused is no other */
    }
    core_end_child(core_misses() > MANY && sl_core_running()->stats.plans > 0);
}

/* More chunks than find room on the launching thread's stack. */
static void launches_of_many_chunks_are_no_others(void **state)
{
    (void)state;
    core_say_nothing = true;
    setenv("SLUICE_DEVICE_BUDGET", "512M", 1);
    setenv("SLUICE_CHUNK", "2M", 1);
    bool in_child = core_in_child("inline");
    core_say_nothing = false;
    if (!in_child) return;
    uint64_t large[] = {core_take(300 * SL_MIB), core_take(400 * SL_MIB)};
    for (int i = 0; i < 4; i++) {
        void *parameters[] = {&large[i % 2], &large[i % 2]};
        struct sl_launch launch = launch_of(parameters);
        sl_runtime_launch_begin(&launch);
        for (uint64_t at = 0; at < (i % 2 ? 400 : 300) * SL_MIB; at += CHUNK)
            assert_true(is_resident(large[i % 2] + at));
        sl_runtime_launch_end(&launch, true);
    }
    core_end_child(core_misses() > 2 * FEW_CHUNKS);
}

/* What the program takes past the core is not for chunks any more: not for those that are there already, nor
 * for those of a launch that uses more than what is left. */
static void chunks_give_way_to_what_is_charged(void **state)
{
    (void)state;
    for (int beyond = 0; beyond < 2; beyond++) {
        if (!core_in_child("inline")) continue;
        struct sl_core *core = sl_core_running();
        uint64_t large = core_take(64 * SL_MIB), bytes = (beyond ? 64 : 4) * SL_MIB;
        struct sl_launch whole = {
            .kind = SL_LAUNCH_MEMSET, .spans = {{large, 64 * SL_MIB, true}}, .span_count = 1};
        struct sl_launch part = {.kind = SL_LAUNCH_MEMSET, .spans = {{large, bytes, true}}, .span_count = 1};
        core_launch(whole);
        assert_int_equal(core->migrator.occupied_bytes, 64 * SL_MIB);
        sl_runtime_charge((int64_t)(40 * SL_MIB));
        assert_false(core->budget.pressure);
        core_launch(part);
        assert_true(core->budget.pressure);
        assert_int_equal(core->stats.oversize_launches, beyond);
        assert_true(core->migrator.occupied_bytes <= 24 * SL_MIB);
        sl_runtime_charge(-(int64_t)(40 * SL_MIB));
        core_launch(whole);
        core_end_child(core->migrator.occupied_bytes == 64 * SL_MIB);
    }
}

/* It runs partly in host memory, and that is no miss. */
static void a_launch_beyond_the_budget_is_counted_and_keeps_it(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    const struct sl_stats *stats = &sl_core_running()->stats;
    uint64_t large = core_take(96 * SL_MIB), whole = core_take(64 * SL_MIB);
    struct sl_launch beyond = {
        .kind = SL_LAUNCH_MEMSET, .spans = {{large, 96 * SL_MIB, true}}, .span_count = 1};
    struct sl_launch fits = {
        .kind = SL_LAUNCH_MEMSET, .spans = {{whole, 64 * SL_MIB, true}}, .span_count = 1};
    for (uint64_t i = 1; i <= 3; i++) {
        core_launch(beyond);
        assert_int_equal(stats->oversize_launches, i);
        assert_int_equal(stats->total.remote_bytes, i * 32 * SL_MIB); /* what the budget lacks */
    }
    assert_int_equal(core_misses(), 0);
    core_launch(fits);
    assert_int_equal(stats->oversize_launches, 3);
    core_end_child(is_resident(whole) && is_resident(whole + 62 * SL_MIB));
}

/* Of a chunk that it uses in place, no more counts than what it uses. */
static void what_is_used_in_place_is_counted_exactly(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    const struct sl_stats *stats = &sl_core_running()->stats;
    uint64_t large = core_take(96 * SL_MIB);
    struct sl_launch whole = {
        .kind = SL_LAUNCH_MEMSET, .spans = {{large, 96 * SL_MIB, true}}, .span_count = 1};
    struct sl_launch beyond = {
        .kind = SL_LAUNCH_MEMSET, .spans = {{large, 64 * SL_MIB + 1536, true}}, .span_count = 1};
    core_launch(whole); /* its first 64 MiB come */
    uint64_t before = stats->total.remote_bytes;
    core_launch(beyond);
    core_end_child(stats->oversize_launches == 2 && stats->total.remote_bytes - before == 1536);
}

static sl_stream capturing;
static int questions;

static struct sl_answer stream_capturing(void *self, sl_stream stream)
{
    (void)self;
    questions++;
    return sl_answer_of(stream == capturing);
}

static void launches_that_are_captured_are_left_alone(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    struct sl_core *core = sl_core_running();
    core->backend.stream_capturing = stream_capturing;
    capturing = (sl_stream)16;
    uint64_t block = core_take(CHUNK);
    void *parameters[] = {&block, &block};
    struct sl_launch captured = launch_of(parameters), other = captured;
    captured.stream = capturing;
    other.stream = (sl_stream)32;
    core_launch(other);
    assert_int_equal(questions, 0); /* nobody captures */
    sl_runtime_capture(1);
    uint64_t fed = core->history.fed;
    core_launch(captured);
    sl_runtime_launch_begin(&captured);
    assert_int_equal(captured.tick, 0);
    sl_runtime_launch_end(&captured, true);
    assert_int_equal(core->history.fed, fed);
    assert_int_equal(core->history.ticks.now, 1);
    core_launch(other);
    assert_int_equal(core->history.ticks.now, 2);
    sl_runtime_capture(-1);
    core_launch(captured);
    core_end_child(core->history.ticks.now == 3 && core->history.fed == fed + 2);
}

/* What leaves behind a launch must not leave before the driver has it. */
static void a_launch_is_submitted_when_it_ends(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    const struct sl_ticks *ticks = &sl_core_running()->history.ticks;
    uint64_t block = core_take(CHUNK);
    void *parameters[] = {&block, &block};
    struct sl_launch open[SL_OPEN_LAUNCHES + 1];
    for (int i = 0; i <= SL_OPEN_LAUNCHES; i++) {
        open[i] = launch_of(parameters);
        sl_runtime_launch_begin(&open[i]);
        if (i < SL_OPEN_LAUNCHES) assert_int_equal(sl_ticks_submitted(ticks), 0);
    }
    /* The last one has the place of the first, whose end is not its own. */
    sl_runtime_launch_end(&open[0], true);
    for (int i = SL_OPEN_LAUNCHES - 1; i > 0; i--) {
        assert_int_equal(sl_ticks_submitted(ticks), 1);
        sl_runtime_launch_end(&open[i], i % 2 == 0);
    }
    assert_int_equal(sl_ticks_submitted(ticks), SL_OPEN_LAUNCHES);
    sl_runtime_launch_end(&open[SL_OPEN_LAUNCHES], false);
    core_end_child(sl_ticks_submitted(ticks) == SL_OPEN_LAUNCHES + 1);
}

static sl_stream waited;
static int waits;

static enum sl_status stream_wait(void *self, sl_stream stream, sl_event_handle event)
{
    (void)self;
    (void)event;
    waited = stream;
    waits++;
    return SL_OK;
}

static int waits_of(uint64_t block, sl_stream stream)
{
    void *parameters[] = {&block, &block};
    struct sl_launch launch = launch_of(parameters);
    launch.stream = stream;
    waits = 0;
    core_launch(launch);
    if (waits) assert_ptr_equal(waited, stream);
    return waits;
}

static void each_stream_waits_once_for_what_came(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    sl_core_running()->backend.stream_wait = stream_wait;
    uint64_t first = core_take(CHUNK), second = core_take(CHUNK);
    sl_stream streams[] = {(sl_stream)16, (sl_stream)32};
    assert_int_equal(waits_of(first, streams[0]), 1);
    assert_int_equal(waits_of(first, streams[0]), 0);
    assert_int_equal(waits_of(first, streams[1]), 1);
    assert_int_equal(waits_of(second, streams[1]), 1);
    assert_int_equal(waits_of(first, streams[1]), 0); /* which came before */
    assert_int_equal(waits_of(first, streams[0]), 0);
    assert_int_equal(waits_of(second, streams[0]), 1);
    core_end_child(waits_of(second, streams[1]) == 0);
}

/* What leaves waits for those that use it. */
static void chunks_know_the_streams_that_use_them(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    struct sl_core *core = sl_core_running();
    uint64_t block = core_take(CHUNK), later = core_take(CHUNK), used = 0;
    const struct sl_chunk_record *chunk = sl_arena_record(&core->arena, sl_arena_chunk(&core->arena, block));
    for (uintptr_t s = 1; s <= 5; s++) {
        sl_stream stream = (sl_stream)(16 * s);
        if (s > 1) waits_of(later, stream); /* waits for what came before, too */
        waits_of(block, stream);
        if (s == 1) waits_of(later, stream);
        used |= (uint64_t)1 << sl_stream_number(&core->streams, stream);
        assert_int_equal(atomic_load(&chunk->users), used);
    }
    core_end_child(true);
}

static void a_footprint_is_what_the_launch_would_touch(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    const struct sl_core *core = sl_core_running();
    uint64_t first = core_take(CHUNK), second = core_take(CHUNK), fed = core->history.fed;
    uint64_t inside = second + 4096;
    void *parameters[] = {&first, &inside};
    struct sl_launch launch = launch_of(parameters);
    struct sl_footprint *footprint = sl_runtime_footprint(&launch);
    assert_non_null(footprint);
    first = second = inside = 0; /* the parameters are not read any more */
    assert_int_equal(core->history.ticks.now, 0);
    assert_int_equal(core->history.fed, fed);
    assert_int_equal(footprint->count, 2);
    first = footprint->words[0].address;
    inside = footprint->words[1].address;
    assert_int_equal(inside % CHUNK, 4096);
    assert_false(is_resident(first) || is_resident(inside));
    core_launch((struct sl_launch){.kind = SL_LAUNCH_GRAPH, .footprint = footprint});
    assert_int_equal(core->history.ticks.now, 1);
    free(footprint);
    core_end_child(is_resident(first) && is_resident(inside));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_core_launches_are_left_alone),
        cmocka_unit_test(what_it_uses_is_there_before_the_driver_gets_it),
        cmocka_unit_test(launches_of_many_chunks_are_no_others),
        cmocka_unit_test(chunks_give_way_to_what_is_charged),
        cmocka_unit_test(a_launch_beyond_the_budget_is_counted_and_keeps_it),
        cmocka_unit_test(what_is_used_in_place_is_counted_exactly),
        cmocka_unit_test(launches_that_are_captured_are_left_alone),
        cmocka_unit_test(a_launch_is_submitted_when_it_ends),
        cmocka_unit_test(each_stream_waits_once_for_what_came),
        cmocka_unit_test(chunks_know_the_streams_that_use_them),
        cmocka_unit_test(a_footprint_is_what_the_launch_would_touch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
