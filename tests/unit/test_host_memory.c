/* How much host memory there is, as the kernel's files have it, and how much of it is left to others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/host_memory.h"
#include "kernel_files.h"

static struct sl_host_memory read_memory(void)
{
    struct sl_host_memory memory = {77, 77, 77, 77, 77};
    sl_host_memory_read(kernel_files, &memory);
    return memory;
}

static void nothing_is_known_where_nothing_can_be_read(void **state)
{
    (void)state;
    struct sl_host_memory memory = read_memory();
    assert_int_equal(memory.available_bytes, 0);
    assert_int_equal(memory.machine_bytes, 0);
    assert_int_equal(memory.cgroup_bytes, UINT64_MAX);
    assert_int_equal(sl_host_memory_limit(&memory, SL_GIB), UINT64_MAX);
    assert_int_equal(sl_host_memory_reserve(&memory, 0), SL_GIB);
    assert_false(sl_host_has_nodes(kernel_files));
}

static void what_is_available_is_read(void **state)
{
    (void)state;
    put("/proc/meminfo", "MemTotal:       16384 kB\nMemFree:         1000 kB\nMemAvailable:    5000 kB\n");
    assert_int_equal(read_memory().available_bytes, 5000 * SL_KIB);
    assert_int_equal(read_memory().machine_bytes, 16384 * SL_KIB);
    put("/proc/meminfo", "MemTotal:       16384 kB\nMemFree:         1000 kB\n"); /* an old kernel */
    assert_int_equal(read_memory().available_bytes, 0);
}

static uint64_t total_kib(const char *meminfo)
{
    put("/proc/meminfo", meminfo);
    return read_memory().machine_bytes / SL_KIB;
}

static void a_number_stands_behind_its_name(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t kib; /* 0: none */
    } cases[] = {
        {"MemTotal:Swap: 5 kB\n\nMemTotal: 7 kB\n", 7},
        {"xMemTotal: 5 kB\n", 0},
        {"MemTotal:5 kB\n", 0},
        {"MemTotal: -5 kB\n", 0},
        {"MemTotal:    9 kB\nMemTotal: 10 kB\n", 9},
        {"MemFree: 1 kB\nMemTotal: 12", 12}, /* the last line has no end */
        {"MemTotal: max\n", 0},
        {"MemTotal:\n", 0},
        {"MemTotal:", 0},
        {"\n", 0},
        {"", 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_int_equal(total_kib(cases[i].text), cases[i].kib);
}

/* The line is longer than what is read at once, or nearly; its rest is no line. */
static void a_line_that_is_too_long_is_left_out(void **state)
{
    (void)state;
    enum { BUFFER = 8192 };
    static const size_t lengths[] = {3,         BUFFER - 20, BUFFER - 3, BUFFER - 2,     BUFFER - 1,
                                     BUFFER,    BUFFER + 1,  2 * BUFFER, 2 * BUFFER - 2, 2 * BUFFER - 1,
                                     5 * BUFFER};
    static const char next[] = "\nMemTotal: 7 kB\n", rest[] = "MemTotal: 5 kB\nMemTotal: 7 kB\n";
    char *text = malloc(6 * BUFFER);
    for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
        memset(text, 'a', lengths[i]);
        strcpy(text + lengths[i], next);
        assert_int_equal(total_kib(text), 7);
        strcpy(text + lengths[i], rest);
        assert_int_equal(total_kib(text), 7);
    }
    free(text);
}

static void a_cgroup_or_the_machine_limits(void **state)
{
    (void)state;
    put("/proc/meminfo", "MemTotal: 16 kB\nMemAvailable:    5 kB\n");
    put("/proc/self/cgroup", "0::/job\n");
    put("/sys/fs/cgroup/job/memory.max", "7000\n");
    put("/sys/fs/cgroup/job/memory.current", "5000\n");
    struct sl_host_memory memory = read_memory();
    assert_int_equal(memory.cgroup_bytes, 2000);
    assert_true(sl_host_memory_limited_by(&memory));
    assert_int_equal(sl_host_memory_reserve(&memory, 0), 7000 / 8);
    assert_int_equal(sl_host_memory_limit(&memory, 875), 1125);
    put("/sys/fs/cgroup/job/memory.max", "70000\n");
    memory = read_memory();
    assert_int_equal(sl_host_memory_limited_by(&memory), 0);
    assert_int_equal(sl_host_memory_reserve(&memory, 0), 2 * SL_KIB);
}

static void the_reserve_is_an_eighth_and_at_most_1_gib(void **state)
{
    (void)state;
    static const struct {
        struct sl_host_memory memory;
        uint64_t given_bytes, reserve_bytes;
    } cases[] = {
        {{.available_bytes = 3 * SL_GIB, .machine_bytes = 64 * SL_GIB, .cgroup_bytes = UINT64_MAX},
         0,
         SL_GIB},
        {{.available_bytes = 3 * SL_GIB, .machine_bytes = 4 * SL_GIB, .cgroup_bytes = UINT64_MAX},
         0,
         SL_GIB / 2},
        {{.available_bytes = 3 * SL_GIB,
          .machine_bytes = 64 * SL_GIB,
          .cgroup_bytes = SL_GIB,
          .cgroup_limit_bytes = 2 * SL_GIB},
         0,
         SL_GIB / 4},
        {{.available_bytes = 3 * SL_GIB, .machine_bytes = 4 * SL_GIB, .cgroup_bytes = UINT64_MAX},
         7 * SL_GIB,
         7 * SL_GIB},
        {{.cgroup_bytes = SL_GIB, .cgroup_limit_bytes = 100 * SL_GIB}, 0, SL_GIB},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_int_equal(sl_host_memory_reserve(&cases[i].memory, cases[i].given_bytes),
                         cases[i].reserve_bytes);
}

static void the_smaller_of_both_less_the_reserve_is_the_limit(void **state)
{
    (void)state;
    static const struct {
        uint64_t available_bytes, cgroup_bytes, reserve_bytes, limit;
    } cases[] = {
        {100, UINT64_MAX, 30, 70},
        {100, 80, 30, 50},
        {100, 120, 30, 70},
        {0, 80, 30, 50},
        {100, 30, 30, 0},
        {100, 20, 30, 0},
        {100, 0, 0, 0},
        {100, 80, 0, 80},
        {0, UINT64_MAX, 30, UINT64_MAX},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct sl_host_memory memory = {.available_bytes = cases[i].available_bytes,
                                        .cgroup_bytes = cases[i].cgroup_bytes};
        assert_int_equal(sl_host_memory_limit(&memory, cases[i].reserve_bytes), cases[i].limit);
    }
}

static void nodes_are_counted(void **state)
{
    (void)state;
    static const struct {
        const char *online;
        bool several;
    } cases[] = {{"0\n", false}, {"0-1\n", true}, {"0,4\n", true}, {"12\n", false}, {"", false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        put("/devices/system/node/online", cases[i].online);
        assert_int_equal(sl_host_has_nodes(kernel_files), cases[i].several);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_kernel_files, remove_kernel_files)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_is_known_where_nothing_can_be_read),
        TEST(what_is_available_is_read),
        TEST(a_number_stands_behind_its_name),
        TEST(a_line_that_is_too_long_is_left_out),
        TEST(a_cgroup_or_the_machine_limits),
        cmocka_unit_test(the_reserve_is_an_eighth_and_at_most_1_gib),
        cmocka_unit_test(the_smaller_of_both_less_the_reserve_is_the_limit),
        TEST(nodes_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
