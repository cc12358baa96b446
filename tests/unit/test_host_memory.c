/* How much host memory there is, as the kernel's files have it. They are ones of ours here: whoever opens one
 * of the kernel's gets that of the same name below a folder. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/host_memory.h"

static char folder[] = "/tmp/sluice-host-XXXXXX";

/* The linker gives host_memory.c these for open(). */
int __wrap_open(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);

int __wrap_open(const char *path, int flags, ...)
{
    char ours[1024];
    if (snprintf(ours, sizeof(ours), "%s%s", folder, path) >= (int)sizeof(ours)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return openat(AT_FDCWD, ours, flags);
}

int __wrap_open64(const char *path, int flags, ...)
{
    return __wrap_open(path, flags);
}

static void put(const char *path, const char *text)
{
    char ours[1024];
    snprintf(ours, sizeof(ours), "%s%s", folder, path);
    for (char *slash = ours + strlen(folder) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = 0;
        assert_true(mkdir(ours, 0700) == 0 || errno == EEXIST);
    }
    FILE *file = fopen(ours, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static int remove_one(const char *path, const struct stat *at, int type, struct FTW *walk)
{
    (void)at, (void)type, (void)walk;
    return remove(path);
}

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static struct sl_host_memory read_memory(void)
{
    struct sl_host_memory memory = {77, 77, 77};
    sl_host_memory_read(&memory);
    return memory;
}

static void nothing_is_known_where_nothing_can_be_read(void **state)
{
    (void)state;
    struct sl_host_memory memory = read_memory();
    assert_int_equal(memory.available_bytes, 0);
    assert_int_equal(memory.cgroup_bytes, UINT64_MAX);
    assert_int_equal(sl_host_memory_limit(&memory, SL_GIB), UINT64_MAX);
    assert_false(sl_host_has_nodes("/sys"));
}

static void what_is_available_is_read(void **state)
{
    (void)state;
    put("/proc/meminfo", "MemTotal:       16384 kB\nMemFree:         1000 kB\nMemAvailable:    5000 kB\n");
    assert_int_equal(read_memory().available_bytes, 5000 * SL_KIB);
    put("/proc/meminfo", "MemTotal:       16384 kB\nMemFree:         1000 kB\n"); /* an old kernel */
    assert_int_equal(read_memory().available_bytes, 0);
}

static void the_tightest_cgroup_up_to_the_root_counts(void **state)
{
    (void)state;
    put("/proc/self/cgroup", "0::/job/step\n");
    put("/sys/fs/cgroup/job/step/memory.max", "9000\n");
    put("/sys/fs/cgroup/job/step/memory.current", "1000\n");
    assert_int_equal(read_memory().cgroup_bytes, 8000);
    put("/sys/fs/cgroup/job/memory.max", "7000\n");
    put("/sys/fs/cgroup/job/memory.current", "2000\n");
    assert_int_equal(read_memory().cgroup_bytes, 5000);
    put("/sys/fs/cgroup/memory.max", "6000\n");
    put("/sys/fs/cgroup/memory.current", "2500\n");
    assert_int_equal(read_memory().cgroup_bytes, 3500);
    put("/sys/fs/cgroup/memory.max", "max\n");
    put("/sys/fs/cgroup/job/memory.max", "max\n");
    assert_int_equal(read_memory().cgroup_bytes, 8000);
}

/* Else a process would count what another limit lets others have as taken from its own. */
static void what_limits_the_memory_is_distinguished(void **state)
{
    (void)state;
    put("/proc/meminfo", "MemAvailable:    5 kB\n");
    put("/sys/fs/cgroup/job/memory.max", "7000\n");
    put("/sys/fs/cgroup/job/memory.current", "5000\n");
    put("/proc/self/cgroup", "0::/job/one\n");
    struct sl_host_memory one = read_memory();
    put("/proc/self/cgroup", "0::/job/two\n");
    struct sl_host_memory two = read_memory();
    put("/sys/fs/cgroup/job/two/memory.max", "1000\n");
    put("/sys/fs/cgroup/job/two/memory.current", "0\n");
    struct sl_host_memory own = read_memory();
    assert_true(sl_host_memory_limited_by(&one));
    assert_int_equal(sl_host_memory_limited_by(&one), sl_host_memory_limited_by(&two));
    assert_int_not_equal(sl_host_memory_limited_by(&one), sl_host_memory_limited_by(&own));
    put("/sys/fs/cgroup/job/memory.max", "70000\n");
    put("/proc/self/cgroup", "0::/job/one\n");
    one = read_memory();
    assert_int_equal(sl_host_memory_limited_by(&one), 0); /* the machine */
}

/* In a cgroup that reads files all is in use; but what is only cached may be had. */
static void inactive_cache_counts_as_free(void **state)
{
    (void)state;
    put("/proc/self/cgroup", "0::/job\n");
    put("/sys/fs/cgroup/job/memory.max", "9000\n");
    put("/sys/fs/cgroup/job/memory.current", "9000\n");
    assert_int_equal(read_memory().cgroup_bytes, 0);
    put("/sys/fs/cgroup/job/memory.stat",
        "anon 1\ntotal_inactive_file 8000\ninactive_file 300\nactive_file 50\n");
    assert_int_equal(read_memory().cgroup_bytes, 300);
    put("/sys/fs/cgroup/job/memory.stat", "anon 1\ninactive_file 9500\n"); /* read at another moment */
    assert_int_equal(read_memory().cgroup_bytes, 9000);
    put("/sys/fs/cgroup/job/memory.stat", "anon 1\n");
    put("/sys/fs/cgroup/job/memory.current", "9500\n"); /* a limit that was lowered */
    assert_int_equal(read_memory().cgroup_bytes, 0);
}

static void version_1_has_a_memory_controller(void **state)
{
    (void)state;
    put("/proc/self/cgroup", "12:cpu:/other\n11:memory:/job\n0::/\n");
    put("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9000\n");
    put("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "1000\n");
    put("/sys/fs/cgroup/memory/other/memory.limit_in_bytes", "10\n"); /* not its own */
    put("/sys/fs/cgroup/memory/other/memory.usage_in_bytes", "0\n");
    put("/sys/fs/cgroup/job/memory.max", "20\n"); /* of the other version */
    put("/sys/fs/cgroup/job/memory.current", "0\n");
    assert_int_equal(read_memory().cgroup_bytes, 8000);
}

/* A container's own view of cgroups may be anything: what makes no sense is no limit. */
static void what_makes_no_sense_is_no_limit(void **state)
{
    (void)state;
    static const char *const lists[] = {"", "\n\n", "0", "0:", "0::", "::", "0:memory\n", "no colons at all"};
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
        put("/proc/self/cgroup", lists[i]);
        assert_int_equal(read_memory().cgroup_bytes, UINT64_MAX);
    }
    put("/proc/self/cgroup", "0::/job\n");
    put("/sys/fs/cgroup/job/memory.max", "9000\n");
    assert_int_equal(read_memory().cgroup_bytes, UINT64_MAX); /* what is used is not known */
    put("/sys/fs/cgroup/job/memory.current", "\n");
    assert_int_equal(read_memory().cgroup_bytes, UINT64_MAX);

    /* A name that is longer than what is read of the list, and than any path. */
    static char list[9000];
    memset(list, 'n', sizeof(list) - 1);
    memcpy(list, "0::/", 4);
    put("/proc/self/cgroup", list);
    assert_int_equal(read_memory().cgroup_bytes, UINT64_MAX);
}

static void the_smaller_of_both_less_the_reserve_is_the_limit(void **state)
{
    (void)state;
    static const struct {
        struct sl_host_memory memory;
        uint64_t reserve_bytes, limit;
    } cases[] = {
        {{100, UINT64_MAX, 0}, 30, 70},
        {{100, 80, 0}, 30, 50},
        {{100, 120, 0}, 30, 70},
        {{0, 80, 0}, 30, 50},
        {{100, 30, 0}, 30, 0},
        {{100, 20, 0}, 30, 0},
        {{100, 0, 0}, 0, 0},
        {{100, 80, 0}, 0, 80},
        {{0, UINT64_MAX, 0}, 30, UINT64_MAX},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_int_equal(sl_host_memory_limit(&cases[i].memory, cases[i].reserve_bytes), cases[i].limit);
}

static void nodes_are_counted(void **state)
{
    (void)state;
    static const struct {
        const char *online;
        bool several;
    } cases[] = {{"0\n", false}, {"0-1\n", true}, {"0,4\n", true}, {"12\n", false}, {"", false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        put("/sys/devices/system/node/online", cases[i].online);
        assert_int_equal(sl_host_has_nodes("/sys"), cases[i].several);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_is_known_where_nothing_can_be_read, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(what_is_available_is_read, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(the_tightest_cgroup_up_to_the_root_counts, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(what_limits_the_memory_is_distinguished, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(inactive_cache_counts_as_free, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(version_1_has_a_memory_controller, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(what_makes_no_sense_is_no_limit, make_folder, remove_folder),
        cmocka_unit_test(the_smaller_of_both_less_the_reserve_is_the_limit),
        cmocka_unit_test_setup_teardown(nodes_are_counted, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
