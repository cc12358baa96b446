/* What cuMemGetInfo calls free can be had: of host memory, and of the device beyond it. Several cores of a
 * process share what the process may have of the machine's memory. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/host_room.h"
#include "core_fixture.h"

#define CHUNK (2 * SL_MIB)
#define LIMIT (64 * SL_MIB)

static void free_memory_is_what_host_and_device_have(void **state)
{
    (void)state;
    uint64_t free_bytes = 1, total_bytes = 1;
    assert_false(sl_runtime_memory_info(&free_bytes, &total_bytes));
    assert_true(sl_runtime_take_pinnable(UINT64_MAX));
    setenv("SLUICE_HOST_LIMIT", "80M", 1);
    setenv("SLUICE_VIRTUAL_SIZE", "100M", 1);
    if (!core_in_child("inline")) return;
    struct sl_core *core = sl_core_running();
    bool good = sl_runtime_memory_info(&free_bytes, &total_bytes) && total_bytes == 100 * SL_MIB &&
                free_bytes == 100 * SL_MIB;
    core->budget.virtual_size_bytes = SL_GIB;
    good = good && sl_runtime_memory_info(&free_bytes, &total_bytes) && free_bytes == 112 * SL_MIB;
    for (uint64_t c = 0; c < 40; c++) core_take(CHUNK);
    good = good && sl_runtime_memory_info(&free_bytes, &total_bytes) && free_bytes == 32 * SL_MIB;
    atomic_store(&core->budget.charged_bytes, 40 * SL_MIB);
    good = good && sl_runtime_memory_info(&free_bytes, &total_bytes) && free_bytes == 0;
    atomic_store(&core->budget.charged_bytes, 0);
    core->host.share->of_device = true; /* the device's memory takes host memory, which there is none of */
    good = good && sl_runtime_memory_info(&free_bytes, &total_bytes) && free_bytes == 0;
    core_end_child(good);
}

static void only_memory_of_this_machine_is_watched(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    core_end_child(sl_runtime_take_pinnable(UINT64_MAX) && sl_runtime_take_registrable(1, 1000));
}

/* Takes chunks until there is no more: how many. */
static uint32_t fill(uint64_t *addresses)
{
    uint32_t count = 0;
    while (sl_runtime_alloc(CHUNK, 1, 0, &addresses[count]) == SL_OK) count++;
    return count;
}

static uint64_t taken(void)
{
    uint64_t bytes = 0;
    for (uint32_t c = 0; c < sl_cores_started(); c++)
        bytes += sl_arena_host_bytes(&sl_core_started(c)->arena);
    return bytes;
}

static void start(void)
{
    static struct sl_backend backends[2];
    uint32_t number;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(sl_backend_host_new(SL_GIB, &backends[i]), SL_OK);
        assert_int_equal(sl_runtime_start_another(&backends[i], &number), SL_OK);
    }
}

static void together_they_have_no_more_than_one(void **state)
{
    static uint64_t addresses[3][LIMIT / CHUNK + 64];
    (void)state;
    setenv("SLUICE_HOST_LIMIT", "64M", 1);
    setenv("SLUICE_DEVICE_BUDGET", "8M", 1);
    setenv("SLUICE_VIRTUAL_SIZE", "1G", 1);
    core_say_nothing = true;
    if (!core_in_child("inline")) return;
    assert_false(sl_host_room_collect(sl_core_running())); /* there is nobody */
    start();
    for (int i = 0; i < 4; i++) assert_int_equal(sl_runtime_alloc(CHUNK, 1, 0, &addresses[0][i]), SL_OK);
    sl_cores_turn_to(1);
    uint32_t second = fill(addresses[1]);
    assert_int_equal(taken(), LIMIT);
    for (uint32_t i = 0; i < second; i++) assert_int_equal(sl_runtime_free(addresses[1][i], NULL), SL_OK);
    sl_cores_turn_to(2); /* what the second does not use any more */
    uint32_t third = fill(addresses[2]);
    assert_int_equal(third, second);
    for (uint32_t i = 0; i < third; i++) assert_int_equal(sl_runtime_free(addresses[2][i], NULL), SL_OK);
    sl_cores_turn_to(0);
    assert_int_equal(fill(addresses[0]) + 4, LIMIT / CHUNK);
    assert_int_equal(taken(), LIMIT);
    core_end_child(true);
}

static void a_device_that_is_gone_gives_it_back(void **state)
{
    static uint64_t addresses[LIMIT / CHUNK + 64];
    (void)state;
    if (!core_in_child("inline")) return;
    start();
    sl_cores_turn_to(1);
    fill(addresses);
    sl_cores_turn_to(2);
    assert_int_equal(fill(addresses), 0);
    sl_runtime_stop_one(1, true);
    assert_in_range(fill(addresses), LIMIT / CHUNK - 1, LIMIT / CHUNK);
    sl_runtime_stop_one(0, true); /* the process's share stays */
    assert_true(sl_runtime_free(addresses[0], NULL) == SL_OK);
    assert_int_equal(sl_runtime_alloc(CHUNK, 1, 0, addresses), SL_OK);
    sl_runtime_stop(false);
    _exit(0);
}

/* Takes and frees chunks of one core; another thread's core may lack what this one has. */
static void *take_and_free(void *number)
{
    uint64_t addresses[LIMIT / CHUNK];
    uint32_t count = 0;
    unsigned random = 5 + (unsigned)(uintptr_t)number;
    sl_cores_turn_to((uint32_t)(uintptr_t)number);
    for (int i = 0; i < 3000; i++) {
        random = random * 1103515245u + 12345u;
        if (random >> 16 & 1 && count)
            assert_int_equal(sl_runtime_free(addresses[--count], NULL), SL_OK);
        else if (count < LIMIT / CHUNK && sl_runtime_alloc(CHUNK, 1, 0, &addresses[count]) == SL_OK)
            count++;
    }
    while (count) assert_int_equal(sl_runtime_free(addresses[--count], NULL), SL_OK);
    return NULL;
}

static void side_by_side_they_have_no_more_either(void **state)
{
    (void)state;
    setenv("SLUICE_HOST_LIMIT", "16M", 1);
    if (!core_in_child("inline")) return;
    start();
    pthread_t threads[3];
    for (uintptr_t t = 0; t < 3; t++)
        assert_int_equal(pthread_create(&threads[t], NULL, take_and_free, (void *)t), 0);
    for (int t = 0; t < 3; t++) pthread_join(threads[t], NULL);
    struct sl_host_share *share = sl_core_running()->host.share;
    uint64_t parts = 0;
    for (uint32_t c = 0; c < 3; c++) {
        sl_host_part_trim(&sl_core_started(c)->host);
        parts += sl_core_started(c)->placement.live_chunk_bytes_limit;
    }
    core_end_child(share->entry.claimed_bytes == parts && parts <= 16 * SL_MIB && taken() == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(free_memory_is_what_host_and_device_have),
        cmocka_unit_test(only_memory_of_this_machine_is_watched),
        cmocka_unit_test(together_they_have_no_more_than_one),
        cmocka_unit_test(a_device_that_is_gone_gives_it_back),
        cmocka_unit_test(side_by_side_they_have_no_more_either),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
