/* Where devices hang, read from a folder like /sys: who is taken to share a link that is his own plans with
 * too little, and who does not know of the others with too much. */
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "node/topology.h"

static char folder[] = "/tmp/sluice-sysfs-XXXXXX";

static void make(const char *path)
{
    char whole[512];
    snprintf(whole, sizeof(whole), "%s/%s/", folder, path);
    for (char *slash = whole + strlen(folder) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = 0;
        mkdir(whole, 0700);
    }
}

static void hang(const char *device, const char *below, const char *node)
{
    char path[512], target[512];
    make("bus/pci/devices");
    snprintf(path, sizeof(path), "devices/%s%s", below, device);
    make(path);
    snprintf(target, sizeof(target), "../../../devices/%s%s", below, device);
    snprintf(path, sizeof(path), "%s/bus/pci/devices/%s", folder, device);
    assert_int_equal(symlink(target, path), 0);
    strcat(path, "/numa_node");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(node, file);
    fclose(file);
}

static int remove_one(const char *path, const struct stat *at, int type, struct FTW *walk)
{
    (void)at, (void)type, (void)walk;
    return remove(path);
}

static int set_up(void **state)
{
    (void)state;
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void devices_behind_one_port_share_it(void **state)
{
    (void)state;
    /* Two behind a switch, one behind another port, one at the same port of another root, two at a root. */
    hang("0000:03:00.0", "pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0/", "0");
    hang("0000:04:00.0", "pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:08.0/", "0");
    hang("0000:3b:00.0", "pci0000:00/0000:00:02.0/", "1");
    hang("0001:03:00.0", "pci0001:00/0001:00:01.0/", "1");
    hang("0002:00:05.0", "pci0002:00/", "-1");
    hang("0002:00:06.0", "pci0002:00/", "-1");
    uint64_t link = sl_topology_link(folder, 0, 3, 0);
    assert_true(link);
    assert_int_equal(sl_topology_link(folder, 0, 4, 0), link);
    assert_int_not_equal(sl_topology_link(folder, 0, 0x3b, 0), link);
    assert_int_not_equal(sl_topology_link(folder, 1, 3, 0), link);
    assert_int_not_equal(sl_topology_link(folder, 2, 0, 5), sl_topology_link(folder, 2, 0, 6));
}

static void what_is_not_there_is_not_known(void **state)
{
    (void)state;
    assert_int_equal(sl_topology_link(folder, 0, 3, 0), 0);
    assert_int_equal(sl_topology_node(folder, 0, 3, 0), -1);
    hang("0000:03:00.0", "somewhere/else/", "");
    assert_int_equal(sl_topology_link(folder, 0, 3, 0), 0);
    hang("0000:04:00.0", "pci0000:00/", "");
    assert_true(sl_topology_link(folder, 0, 4, 0));
}

static void the_nearest_node_is_read(void **state)
{
    (void)state;
    static const struct {
        const char *device, *text;
        int node;
    } cases[] = {
        {"0000:03:00.0", "1\n", 1}, {"0000:04:00.0", "-1\n", -1},         {"0000:05:00.0", "", -1},
        {"0000:06:00.0", "x", -1},  {"0000:07:00.0", "999999999999", -1}, {"0000:08:00.0", "0\n", 0}};
    for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        hang(cases[i].device, "pci0000:00/0000:00:01.0/", cases[i].text);
        assert_int_equal(sl_topology_node(folder, 0, 3 + i, 0), cases[i].node);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(devices_behind_one_port_share_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_not_there_is_not_known, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_nearest_node_is_read, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
