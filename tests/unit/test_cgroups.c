/* What memory cgroups allow: both versions, ancestors, namespaces, and what of the cache the kernel gives up.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/host_memory.h"
#include "kernel_files.h"

#define V2 "/sys/fs/cgroup"
#define V1 "/sys/fs/cgroup/memory"
#define MOUNT_V2 "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
#define MOUNT_V1 "32 31 0:31 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"

static struct sl_host_memory read_them(void)
{
    struct sl_host_memory cgroups = {77, 77, 77, 77, 77};
    sl_host_memory_read(kernel_files, &cgroups);
    return cgroups;
}

static uint64_t free_bytes(void)
{
    return read_them().cgroup_bytes;
}

static void make(const char *folder, const char *limit_name, uint64_t limit, const char *usage_name,
                 uint64_t usage)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", folder, limit_name);
    put_number(path, limit);
    snprintf(path, sizeof(path), "%s/%s", folder, usage_name);
    put_number(path, usage);
}

static void make_v2(const char *folder, uint64_t limit, uint64_t usage)
{
    make(folder, "memory.max", limit, "memory.current", usage);
}

static void make_v1(const char *folder, uint64_t limit, uint64_t usage)
{
    make(folder, "memory.limit_in_bytes", limit, "memory.usage_in_bytes", usage);
}

static void the_tightest_up_to_the_root_counts(void **state)
{
    (void)state;
    put("/proc/self/cgroup", "0::/job/step\n");
    make_v2(V2 "/job/step", 9000, 1000);
    assert_int_equal(free_bytes(), 8000);
    make_v2(V2 "/job", 7000, 2000);
    assert_int_equal(free_bytes(), 5000);
    make_v2(V2, 6000, 2500);
    assert_int_equal(free_bytes(), 3500);
    assert_int_equal(read_them().cgroup_limit_bytes, 6000);
    put(V2 "/memory.max", "max\n");
    put(V2 "/job/memory.max", "max\n");
    assert_int_equal(free_bytes(), 8000);
    put_number(V2 "/job/memory.high", 4000); /* beyond it the kernel stalls the program */
    assert_int_equal(free_bytes(), 2000);
}

/* In a cgroup that reads files, all is in use; but the kernel gives its cache up before it kills. */
static void cache_is_free_memory(void **state)
{
    (void)state;
    put("/proc/self/cgroup", "0::/job\n");
    make_v2(V2 "/job", 9000, 9000);
    assert_int_equal(free_bytes(), 0);
    /* Shared memory is part of `file`, and on no list of files. */
    put(V2 "/job/memory.stat",
        "anon 1\nfile 8000\nshmem 5000\ninactive_file 300\nactive_file 50\nslab_reclaimable 7\n");
    assert_int_equal(free_bytes(), 357);
    put(V2 "/job/memory.stat", "anon 1\ninactive_file 9500\n"); /* read at another moment */
    assert_int_equal(free_bytes(), 9000);
    put(V2 "/job/memory.stat", "anon 1\n");
    put_number(V2 "/job/memory.current", 9500); /* a limit that was lowered */
    assert_int_equal(free_bytes(), 0);
    assert_int_equal(read_them().cgroup_limit_bytes, 9000);
}

static void version_1_has_a_memory_controller(void **state)
{
    (void)state;
    put("/proc/self/cgroup", "12:cpu:/other\n11:memory:/job\n0::/\n");
    make_v1(V1 "/job", 9000, 1000);
    make_v1(V1 "/other", 10, 0); /* not its own */
    make_v2(V2 "/job", 20, 0);   /* of the other version */
    assert_int_equal(free_bytes(), 8000);
    make_v1(V1, 9223372036854771712u, 1 << 30); /* no limit */
    assert_int_equal(free_bytes(), 8000);
    put("/proc/self/cgroup", "3:cpuset,memory:/job\n"); /* mounted together */
    assert_int_equal(free_bytes(), 8000);
    put("/proc/self/cgroup", "3:memoryless:/job\n");
    assert_int_equal(free_bytes(), UINT64_MAX);
}

/* Usage includes descendants, so the cache must as well. */
static void version_1_counts_descendants(void **state)
{
    (void)state;
    put("/proc/self/cgroup", "11:memory:/job/step\n");
    make_v1(V1 "/job", 9000, 8800);
    put(V1 "/job/memory.stat", "active_file 1\ninactive_file 1\nhierarchical_memory_limit "
                               "9000\ntotal_inactive_file 200\ntotal_active_file 500\n");
    assert_int_equal(free_bytes(), 900);
    put(V1 "/job/memory.use_hierarchy", "0\n"); /* the ancestor limits only its own processes */
    assert_int_equal(free_bytes(), UINT64_MAX);
    make_v1(V1 "/job/step", 9000, 1000);
    put(V1 "/job/step/memory.use_hierarchy", "0\n");
    put(V1 "/job/step/memory.stat",
        "hierarchical_memory_limit 6000\n"); /* of an ancestor that is not mounted */
    assert_int_equal(free_bytes(), 5000);
}

static void both_versions_side_by_side(void **state)
{
    (void)state;
    put("/proc/self/cgroup", "4:memory:/job\n1:name=systemd:/user.slice\n0::/user.slice\n");
    put("/proc/self/mountinfo", "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
                                "40 20 0:40 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n" MOUNT_V1
                                "33 31 0:32 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n");
    make_v1(V1 "/job", 9000, 1000);
    assert_int_equal(free_bytes(), 8000);
    make_v2(V2 "/unified/user.slice", 3000, 1000); /* not with a kernel's files, but for ours */
    assert_int_equal(free_bytes(), 2000);
}

/* A container sees its cgroup as the root, at a place of its own, or by the host's path. */
static void a_containers_view(void **state)
{
    (void)state;
    static const struct {
        const char *own, *mounts, *folder; /* of the cgroup with the limit; NULL: none is found */
    } cases[] = {
        {"0::/\n", MOUNT_V2, V2},
        {"0::/a/b\n", "31 23 0:28 /a /cg rw - cgroup2 c rw\n", "/cg/b"},
        {"0::/a/b\n", "31 23 0:28 /a/b /cg\\040two rw - cgroup2 c rw\n", "/cg two"},
        {"0::/ab\n", "31 23 0:28 /a /cg rw - cgroup2 c rw\n", V2 "/ab"}, /* another's */
        {"0::/ab\n", "31 23 0:28 /a /cg rw - cgroup2 c rw\n", V2},
        {"0::/../sibling\n", MOUNT_V2, V2}, /* the process was moved out of its namespace */
        {"0::/a/..\n", MOUNT_V2, V2},
        {"0::/..a\n", MOUNT_V2, V2 "/..a"},
        {"4:memory:/docker/1\n", "32 31 0:31 /docker/1 " V1 " ro - cgroup cgroup rw,memory\n", V1},
        {"4:memory:/docker/1\n", "32 31 0:31 / " V1 " ro - cgroup cgroup rw,memory\n",
         V1}, /* by the host's path */
        {"4:memory:/kubepods.slice/kubepods-pod1.slice/cri-2.scope\n", MOUNT_V1,
         V1 "/kubepods.slice/kubepods-pod1.slice"},
        {"0::/job\n", "not a line\n - \n1 2 - cgroup2 c rw\n31 23 0:28 / - cgroup2\n", V2 "/job"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        make_kernel_files(NULL);
        put("/proc/self/cgroup", cases[i].own);
        put("/proc/self/mountinfo", cases[i].mounts);
        if (cases[i].own[0] == '0')
            make_v2(cases[i].folder, 9000, 1000);
        else
            make_v1(cases[i].folder, 9000, 1000);
        if (free_bytes() != 8000) fail_msg("case %zu: %llu", i, (unsigned long long)free_bytes());
        remove_kernel_files(NULL);
    }
}

/* Else a process would count what another limit lets others have as taken from its own. */
static void limits_are_distinguished(void **state)
{
    (void)state;
    make_v2(V2 "/job", 7000, 5000);
    put("/proc/self/cgroup", "0::/job/one\n");
    struct sl_host_memory one = read_them();
    put("/proc/self/cgroup", "0::/job/two\n");
    struct sl_host_memory two = read_them();
    make_v2(V2 "/job/two", 1000, 0);
    struct sl_host_memory own = read_them();
    assert_true(one.cgroup);
    assert_int_equal(one.cgroup, two.cgroup);
    assert_int_not_equal(one.cgroup, own.cgroup);
}

/* A container's own view of cgroups may be anything: what makes no sense is no limit. */
static void what_makes_no_sense_is_no_limit(void **state)
{
    (void)state;
    static const char *const lists[] = {"", "\n\n", "0", "0:", "0::", "::", "0:memory\n", "no colons at all"};
    assert_int_equal(free_bytes(), UINT64_MAX);
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
        put("/proc/self/cgroup", lists[i]);
        assert_int_equal(free_bytes(), UINT64_MAX);
    }
    put("/proc/self/cgroup", "0::/job\n");
    put(V2 "/job/memory.max", "9000\n");
    assert_int_equal(free_bytes(), UINT64_MAX); /* what is used is not known */
    put(V2 "/job/memory.current", "\n");
    assert_int_equal(free_bytes(), UINT64_MAX);

    /* Names longer than a line that is read, and than any path. */
    static char list[9000];
    memset(list, 'n', sizeof(list) - 1);
    memcpy(list, "0::/", 4);
    put("/proc/self/cgroup", list);
    assert_int_equal(free_bytes(), UINT64_MAX);
    list[4090] = 0;
    put("/proc/self/cgroup", list);
    assert_int_equal(free_bytes(), UINT64_MAX);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_kernel_files, remove_kernel_files)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_tightest_up_to_the_root_counts), TEST(cache_is_free_memory),
        TEST(version_1_has_a_memory_controller),  TEST(version_1_counts_descendants),
        TEST(both_versions_side_by_side),         cmocka_unit_test(a_containers_view),
        TEST(limits_are_distinguished),           TEST(what_makes_no_sense_is_no_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
