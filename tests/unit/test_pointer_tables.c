/* Kernels that are given a table of pointers touch what it points to. Breaks if tables are missed, outlive
 * what they held, or if reading them trusts the program's addresses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "core_fixture.h"
#include "launch/access.h"

static const uint32_t offsets[] = {0}, sizes[] = {8};
static const struct sl_host_kernel plain = {"plain", 1, offsets, sizes};
static const struct sl_host_kernel of_module = {"of_module", 0, offsets, sizes, 77};
static uint64_t table, other, first, second;

static int start(void **state)
{
    if (core_start(state)) return -1;
    table = core_take(4096);
    other = core_take(4096);
    first = core_take(4 * SL_MIB);
    second = core_take(4 * SL_MIB);
    return 0;
}

static void copy(uint64_t to, const void *from, uint64_t bytes)
{
    core_launch((struct sl_launch){
        .kind = SL_LAUNCH_COPY, .spans = {{to, bytes, true}}, .span_count = 1, .upload = {from, to, bytes}});
}

/* Launches the kernel as often as it takes to be expected; says whether it may touch `wanted`. */
static bool kernel_touches(const struct sl_host_kernel *kernel, uint64_t address, uint64_t wanted)
{
    struct sl_core *core = sl_core_running();
    void *parameters[] = {&address};
    struct sl_launch launch = core_kernel(kernel, parameters, 1);
    for (int i = 0; i < 8; i++) core_launch(launch);
    core_scan(&launch);
    for (uint32_t a = 0; a < core->scanner.usage.access_count; a++) {
        const struct sl_access *access = &core->scanner.usage.accesses[a];
        if (core->placement.slots[access->slot].address + access->offset == wanted) return true;
    }
    return false;
}

/* The same of a kernel that is given `address` */
static bool touches(uint64_t address, uint64_t wanted)
{
    return kernel_touches(&plain, address, wanted);
}

static void what_a_table_points_to(void **state)
{
    (void)state;
    uint64_t pointers[] = {1, first, 2, second + 512};
    assert_false(touches(table, first));
    copy(table, pointers, sizeof pointers);
    assert_true(touches(table, first));
    assert_true(touches(table, second + 512));
    assert_true(touches(table + 8, first));
    assert_false(touches(other, first));
}

static void what_the_table_holds_now(void **state)
{
    (void)state;
    copy(table, &first, 8);
    assert_true(touches(table, first));
    assert_false(touches(table, second));
    copy(table, &second, 8);
    assert_true(touches(table, second));
    assert_false(touches(table, first));
    uint64_t number = 7;
    copy(table, &number, 8);
    assert_false(touches(table, second));
}

static void tables_of_tables_that_point_back(void **state)
{
    (void)state;
    uint64_t outer[] = {other, table}, inner[] = {table, second};
    copy(table, outer, sizeof outer);
    copy(other, inner, sizeof inner);
    assert_true(touches(table, second));
}

static void a_set_ends_a_table(void **state)
{
    (void)state;
    copy(table, &first, 8);
    struct sl_launch set = {.kind = SL_LAUNCH_MEMSET, .spans = {{table, 4096, true}}, .span_count = 1};
    sl_runtime_launch_begin(&set);
    sl_runtime_launch_end(&set, true);
    assert_false(touches(table, first));
}

static void a_batch_of_copies_ends_a_table(void **state)
{
    (void)state;
    copy(table, &first, 8);
    struct sl_span spans[] = {{other, 8, true}, {other, 8, true}, {table, 8, true}};
    struct sl_launch batch = {.kind = SL_LAUNCH_COPY,
                              .spans = {spans[0], spans[1]},
                              .span_count = 2,
                              .more_spans = &spans[2],
                              .more_span_count = 1};
    sl_runtime_launch_begin(&batch);
    sl_runtime_launch_end(&batch, true);
    assert_false(touches(table, first));
}

static void a_source_that_cannot_be_read(void **state)
{
    (void)state;
    char *pages = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    copy(table, pages, 4096);
    copy(table, NULL, 8);
    copy(table + 3, &first, 5); /* no whole word */
    assert_false(touches(table, first));
    munmap(pages, 4096);
}

static void variables_of_the_kernels_module(void **state)
{
    (void)state;
    uint64_t variable = 0x1000, pointers[] = {first};
    copy(variable, pointers, 8); /* nobody knows of a variable there */
    assert_false(kernel_touches(&of_module, 0, first));
    sl_runtime_variable(variable - 8, 64, 77);
    copy(variable, pointers, 8);
    assert_true(kernel_touches(&of_module, 0, first));
    assert_false(touches(other, first));
    copy(variable, &second, 8);
    assert_true(kernel_touches(&of_module, 0, second));
    assert_false(kernel_touches(&of_module, 0, first));
}

/* Tables that graphs are given: as they are when the graph is launched, not when it was made. Noting a node
 * that sets a table does not set it. */
static void tables_of_graphs(void **state)
{
    (void)state;
    struct sl_core *core = sl_core_running();
    uint64_t given = core_take(4096), pointers[] = {first};
    void *parameters[] = {&given};
    struct sl_launch kernel = {.kind = SL_LAUNCH_KERNEL,
                               .function = (uintptr_t)&plain,
                               .grid = {1, 1, 1},
                               .block = {32, 1, 1},
                               .parameters = parameters};
    struct sl_launch set = {.kind = SL_LAUNCH_MEMSET, .spans = {{given, 64, true}}, .span_count = 1};
    struct sl_footprint *noted = sl_runtime_footprint(&kernel);
    copy(given, pointers, sizeof pointers);
    struct sl_footprint *not_done = sl_runtime_footprint(&set);
    struct sl_launch graph = {.kind = SL_LAUNCH_GRAPH, .footprint = noted};
    core_scan(&graph);
    assert_int_equal(core->scanner.usage.access_count, 2);
    assert_int_equal(core->placement.slots[core->scanner.usage.accesses[1].slot].address, first);
    free(noted);
    free(not_done);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_table_points_to),           cmocka_unit_test(what_the_table_holds_now),
        cmocka_unit_test(tables_of_tables_that_point_back), cmocka_unit_test(a_set_ends_a_table),
        cmocka_unit_test(a_batch_of_copies_ends_a_table),   cmocka_unit_test(a_source_that_cannot_be_read),
        cmocka_unit_test(variables_of_the_kernels_module),  cmocka_unit_test(tables_of_graphs),
    };
    return cmocka_run_group_tests(tests, start, core_stop);
}
