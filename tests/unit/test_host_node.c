/* On which node host memory is put: the wrong one costs every transfer the way between two processors, and a
 * preference where there is no choice is a call for nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "device/cuda_slabs.h"

#define BYTES ((size_t)1 << 21)
#define OF_ADDRESS 2 /* MPOL_F_ADDR */

static void the_driver_knows_best(void **state)
{
    (void)state;
    static const struct {
        int driver, kernel;
        bool several;
        int node;
    } cases[] = {{1, 0, true, 1},    {0, 1, true, 0},    {0, 1, false, -1},
                 {3, -1, false, 3},  {-1, 1, true, 1},   {-1, 0, true, 0},
                 {-1, 1, false, -1}, {-1, -1, true, -1}, {-1, -1, false, -1}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_int_equal(sl_host_node_nearest(cases[i].driver, cases[i].kernel, cases[i].several),
                         cases[i].node);
}

/* Policy and first node of the pages at the address; -1: the kernel does not say. */
static int policy_at(const void *address, unsigned long *nodes)
{
    int policy = -1;
    unsigned long mask[16] = {0};
    if (syscall(SYS_get_mempolicy, &policy, mask, 1024ul, address, OF_ADDRESS) != 0) return -1;
    *nodes = mask[0];
    return policy;
}

static void pages_are_preferred_on_the_node(void **state)
{
    (void)state;
    unsigned long nodes = 0;
    char *memory = mmap(NULL, 2 * BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    if (policy_at(memory, &nodes) != 0) {
        munmap(memory, 2 * BYTES);
        skip(); /* a kernel without NUMA, or a container that may not ask */
    }
    assert_false(sl_host_node_prefer((uint64_t)memory, BYTES, -1));
    assert_false(sl_host_node_prefer((uint64_t)memory, BYTES, 1024));
    assert_false(sl_host_node_prefer((uint64_t)memory, BYTES, 1000)); /* that the host does not have */
    assert_int_equal(policy_at(memory, &nodes), 0);
    assert_true(sl_host_node_prefer((uint64_t)memory, BYTES, 0));
    assert_int_equal(policy_at(memory, &nodes), 1);
    assert_int_equal(nodes, 1);
    assert_int_equal(policy_at(memory + BYTES, &nodes), 0); /* and no others */
    munmap(memory, 2 * BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_driver_knows_best),
        cmocka_unit_test(pages_are_preferred_on_the_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
