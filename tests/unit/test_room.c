/* What cuMemGetInfo calls free can be had: of host memory, and of the device beyond it. Several cores of a
 * process share what the process may have of the machine's memory. */
#include "core/room.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "core_fixture.h"
#include "memory/arena.h"

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
    while (sl_runtime_alloc(CHUNK, 1, 0, NULL, &addresses[count]) == SL_OK) count++;
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
    for (int i = 0; i < 4; i++)
        assert_int_equal(sl_runtime_alloc(CHUNK, 1, 0, NULL, &addresses[0][i]), SL_OK);
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
    assert_int_equal(sl_runtime_alloc(CHUNK, 1, 0, NULL, addresses), SL_OK);
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
        else if (count < LIMIT / CHUNK && sl_runtime_alloc(CHUNK, 1, 0, NULL, &addresses[count]) == SL_OK)
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

/* --- Which memory has host pages: found by samples, of arenas and of what the program pins. */

#define PAGES_CHUNK (4 * SL_MIB)

static void *reserved;

static enum sl_status slab_new(void *self, uint64_t bytes, uint64_t *address)
{
    (void)self;
    reserved = mmap(NULL, bytes + SL_GIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                    -1, 0);
    assert_ptr_not_equal(reserved, MAP_FAILED);
    madvise(reserved, bytes + SL_GIB, MADV_NOHUGEPAGE);
    *address = ((uint64_t)reserved + SL_GIB - 1) & ~(SL_GIB - 1);
    return SL_OK;
}

static void slab_delete(void *self, uint64_t address, uint64_t bytes)
{
    (void)self, (void)address;
    assert_int_equal(munmap(reserved, bytes + SL_GIB), 0);
}

static struct sl_host_pages pages_of(const struct sl_arena *arena)
{
    struct sl_host_pages pages = {0};
    sl_host_pages_add(arena, 0, &pages);
    return pages;
}

static void pages_of_an_arena(void **state)
{
    (void)state;
    struct sl_backend backend = {.slab_new = slab_new, .slab_delete = slab_delete};
    struct sl_arena *arena = calloc(1, sizeof(*arena));
    sl_chunk first;
    sl_arena_init(arena, &backend, PAGES_CHUNK);
    assert_int_equal(pages_of(arena).bytes, 0);
    assert_int_equal(sl_arena_take(arena, 4 * PAGES_CHUNK, &first), SL_OK);
    struct sl_chunk_record *chunk = sl_arena_record(arena, first);
    assert_int_equal(pages_of(arena).bytes, 0);
    *(volatile char *)chunk->address = 1; /* by blocks of 2 MiB */
    assert_int_equal(pages_of(arena).bytes, PAGES_CHUNK / 2);
    memset((void *)chunk->address, 1, 2 * PAGES_CHUNK);
    assert_int_equal(pages_of(arena).bytes, 2 * PAGES_CHUNK);
    assert_false(pages_of(arena).of_device);
    atomic_store(&chunk->content, SL_CONTENT_RESIDENT);
    assert_true(pages_of(arena).of_device);
    atomic_store(&sl_arena_record(arena, first + 3)->out_sequence, 1); /* not known to be done */
    assert_int_equal(pages_of(arena).bytes, 2 * PAGES_CHUNK);
    sl_arena_give(arena, first); /* memory that is free keeps its pages */
    assert_int_equal(pages_of(arena).bytes, 2 * PAGES_CHUNK);
    sl_arena_close(arena, false);
    free(arena);
}

static void pages_that_registration_would_add(void **state)
{
    (void)state;
    char *memory = mmap(NULL, 64 * SL_MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    madvise(memory, 64 * SL_MIB, MADV_NOHUGEPAGE);
    uint64_t address = (uint64_t)memory;
    assert_int_equal(sl_host_pages_missing(address, 100), 100);
    assert_int_equal(sl_host_pages_missing(address, 0), 0);
    assert_int_equal(sl_host_pages_missing(address, UINT64_MAX), 0);
    memset(memory, 1, 32 * SL_MIB);
    uint64_t missing = sl_host_pages_missing(address, 64 * SL_MIB);
    assert_in_range(missing, 31 * SL_MIB, 33 * SL_MIB);
    memset(memory, 1, 64 * SL_MIB);
    assert_int_equal(sl_host_pages_missing(address, 64 * SL_MIB), 0);
    munmap(memory, 64 * SL_MIB);
    assert_int_equal(sl_host_pages_missing(address, 64 * SL_MIB), 0); /* what is no memory needs none */
}

/* --- Memory that is the driver's because host memory has no room for it. */

enum { BUDGET_CHUNKS = 32, HOST_CHUNKS = 40 };

static const uint32_t offsets[] = {0}, sizes[] = {8};
static const struct sl_host_kernel kernel = {"kernel", 1, offsets, sizes};

/* What the host may hold. */
static void device_fill(void)
{
    for (int c = 0; c < HOST_CHUNKS; c++) {
        uint64_t address = core_take(CHUNK);
        void *parameters[] = {&address};
        core_launch(core_kernel(&kernel, parameters, 1));
    }
}

static enum sl_status take(uint64_t bytes)
{
    uint64_t address;
    return sl_runtime_alloc(bytes, 1, 0, NULL, &address);
}

/* Without what the tests above limit. */
static void limit_nothing(void)
{
    unsetenv("SLUICE_HOST_LIMIT");
    unsetenv("SLUICE_VIRTUAL_SIZE");
    unsetenv("SLUICE_DEVICE_BUDGET");
    core_say_nothing = false;
}

static void device_start(const char *name, const char *value)
{
    limit_nothing();
    setenv("SLUICE_HOST_LIMIT", "80M", 1);
    if (name) setenv(name, value, 1);
}

/* Else the device holds more than the budget, or the program is refused what there is. */
static void chunks_leave_for_it_until_half_of_the_budget_is_left(void **state)
{
    (void)state;
    device_start(NULL, NULL);
    if (!core_in_child("inline")) return;
    device_fill();
    struct sl_core *core = sl_core_running();
    bool good = true;
    for (int c = 0; c < BUDGET_CHUNKS / 2; c++) {
        good = good && take(CHUNK) == SL_ERR_UNSUPPORTED;
        uint64_t left = (uint64_t)(BUDGET_CHUNKS - c - 1) * CHUNK;
        good = good && sl_budget_bytes(&core->budget) == left &&
               atomic_load(&core->migrator.occupied_bytes) <= left;
        sl_runtime_charge(CHUNK);                              /* as the shim does once the driver gave it */
        good = good && sl_budget_bytes(&core->budget) == left; /* it counts once */
        sl_runtime_driver_gave();
        good = good && sl_budget_bytes(&core->budget) == left;
    }
    good = good && take(CHUNK) == SL_ERR_NO_MEMORY && take(UINT64_MAX) == SL_ERR_NO_MEMORY;
    core_end_child(good);
}

/* Else it is lost to the budget for ever. */
static void what_the_driver_refused_is_not_charged(void **state)
{
    (void)state;
    device_start(NULL, NULL);
    if (!core_in_child("thread")) return;
    device_fill();
    struct sl_core *core = sl_core_running();
    bool good = take(CHUNK) == SL_ERR_UNSUPPORTED && sl_budget_bytes(&core->budget) < core->budget.bytes;
    sl_runtime_driver_gave();
    sl_runtime_driver_gave();
    core_end_child(good && sl_budget_bytes(&core->budget) == core->budget.bytes);
}

/* Else a program that was told how large the device is gets more. */
static void the_virtual_size_bounds_it(void **state)
{
    (void)state;
    device_start("SLUICE_VIRTUAL_SIZE", "80M");
    if (!core_in_child("inline")) return;
    device_fill();
    core_end_child(take(CHUNK) == SL_ERR_NO_MEMORY);
}

/* --- Modules: chunks leave for what is expected of them before they are loaded. */

static void chunks_leave_before_a_module_comes(void **state)
{
    (void)state;
    struct sl_loading loading;
    limit_nothing();
    sl_runtime_load_begins(&loading, CHUNK);
    assert_false(loading.on);
    assert_int_equal(sl_runtime_load_ended(&loading), 0);
    if (!core_in_child("inline")) return;
    struct sl_core *core = sl_core_running();
    for (int c = 0; c < 32; c++) {
        uint64_t address = core_take(CHUNK);
        void *parameters[] = {&address};
        core_launch(core_kernel(&kernel, parameters, 1));
    }
    uint64_t budget = core->budget.bytes, occupied = atomic_load(&core->migrator.occupied_bytes);
    sl_runtime_load_begins(&loading, 8 * CHUNK);
    bool good = loading.on && occupied > budget - 8 * CHUNK &&
                sl_budget_bytes(&core->budget) == budget - 8 * CHUNK &&
                atomic_load(&core->migrator.occupied_bytes) <= budget - 8 * CHUNK;
    uint64_t took = sl_runtime_load_ended(&loading);
    good = good && took == 0 && sl_budget_bytes(&core->budget) == budget;
    sl_runtime_load_begins(&loading, budget); /* more than there is */
    good = good && loading.on && !loading.expected_bytes && sl_budget_bytes(&core->budget) == budget;
    /* Less is free, and part of that is known to be something else. */
    sl_runtime_load_begins(&loading, 0);
    loading.free_bytes += 5 * CHUNK;
    good = good && sl_runtime_load_ended(&loading) == 5 * CHUNK;
    loading.known_bytes -= 2 * CHUNK;
    good = good && sl_runtime_load_ended(&loading) == 3 * CHUNK;
    loading.known_bytes -= 9 * CHUNK;
    good = good && sl_runtime_load_ended(&loading) == 0;
    sl_runtime_capture(1); /* the driver is not asked */
    sl_runtime_load_begins(&loading, CHUNK);
    good = good && !loading.on && sl_budget_bytes(&core->budget) == budget;
    sl_runtime_capture(-1);
    core_end_child(good);
}

int main(void)
{
    const struct CMUnitTest host_room_tests[] = {
        cmocka_unit_test(free_memory_is_what_host_and_device_have),
        cmocka_unit_test(only_memory_of_this_machine_is_watched),
        cmocka_unit_test(together_they_have_no_more_than_one),
        cmocka_unit_test(a_device_that_is_gone_gives_it_back),
        cmocka_unit_test(side_by_side_they_have_no_more_either),
    };
    const struct CMUnitTest host_pages_tests[] = {
        cmocka_unit_test(pages_of_an_arena),
        cmocka_unit_test(pages_that_registration_would_add),
    };
    const struct CMUnitTest device_room_tests[] = {
        cmocka_unit_test(chunks_leave_for_it_until_half_of_the_budget_is_left),
        cmocka_unit_test(what_the_driver_refused_is_not_charged),
        cmocka_unit_test(the_virtual_size_bounds_it),
    };
    const struct CMUnitTest loaded_tests[] = {cmocka_unit_test(chunks_leave_before_a_module_comes)};
    int failed = cmocka_run_group_tests(host_room_tests, NULL, NULL);
    failed += cmocka_run_group_tests(host_pages_tests, NULL, NULL);
    failed += cmocka_run_group_tests_name("device room", device_room_tests, NULL, NULL);
    failed += cmocka_run_group_tests(loaded_tests, NULL, NULL);
    return failed;
}
