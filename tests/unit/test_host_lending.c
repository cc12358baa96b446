/* Several cores of one process share what the process may have of the machine's memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/host_lending.h"
#include "core_fixture.h"

#define CHUNK (2 * SL_MIB)
#define LIMIT (64 * SL_MIB)

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
    assert_false(sl_host_lending_more(sl_core_running(), CHUNK)); /* there is nobody */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(together_they_have_no_more_than_one),
        cmocka_unit_test(a_device_that_is_gone_gives_it_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
