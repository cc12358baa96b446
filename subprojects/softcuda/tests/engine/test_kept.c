/* Buffers that are kept from one launch to the next. */
#include "engine/kept.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ptx.h"

static void test_a_buffer_is_used_again(void **state)
{
    (void)state;
    struct sc_kept first = sc_kept_take(100000), second = sc_kept_take(300000);
    unsigned char *small = first.memory, *large = second.memory;
    assert_non_null(small);
    assert_non_null(large);
    assert_true(first.bytes >= 100000 && second.bytes >= 300000);
    assert_int_equal((uintptr_t)small % 4096, 0);
    memset(small, 1, first.bytes);
    sc_kept_give(&first);
    sc_kept_give(&second);
    assert_null(first.memory);
    first = sc_kept_take(50000); /* the smallest that is large enough */
    assert_ptr_equal(first.memory, small);
    second = sc_kept_take(100000);
    assert_ptr_equal(second.memory, large);
    struct sc_kept third = sc_kept_take(1);
    assert_true(third.memory && third.memory != small && third.memory != large);
    sc_kept_give(&first);
    sc_kept_give(&second);
    sc_kept_give(&third);
    sc_kept_give(&third);
}

static void test_only_a_few_are_kept(void **state)
{
    struct sc_kept taken[6];
    unsigned char *memory[6];
    unsigned again = 0;
    (void)state;
    for (size_t i = 0; i < 6; i++) {
        taken[i] = sc_kept_take((i + 1) << 20);
        memory[i] = taken[i].memory;
        assert_non_null(memory[i]);
    }
    for (size_t i = 0; i < 6; i++) sc_kept_give(&taken[i]);
    for (size_t i = 6; i-- > 0;) {
        taken[i] = sc_kept_take((i + 1) << 20);
        again += i >= 2 && taken[i].memory == memory[i];
    }
    assert_int_equal(again, 4); /* the largest */
    for (size_t i = 0; i < 6; i++) sc_kept_give(&taken[i]);
}

static void test_what_cannot_be_had(void **state)
{
    (void)state;
    struct sc_kept none = sc_kept_take(SIZE_MAX - 100);
    assert_null(none.memory);
    sc_kept_give(&none);
}

/* Launches of growing grids in one buffer: nothing of the last launch is left in registers or shared memory.
 */
static void test_cooperative_launches(void **state)
{
    static const char text[] = PTX_HEAD
        ".visible .entry k(.param .u64 out) {\n.reg .b32 %r<5>;\n.reg .b64 %d<3>;\n.shared .b32 s[64];\n"
        "ld.param.u64 %d1, [out];\nmov.u32 %r1, %ctaid.x;\nmad.wide.u32 %d1, %r1, 4, %d1;\n"
        "ld.shared.u32 %r2, [s];\nadd.u32 %r2, %r2, %r1;\nadd.u32 %r2, %r2, 1;\n"
        "st.shared.u32 [s], %r2;\nst.global.u32 [%d1], %r2;\nret;\n}\n";
    (void)state;
    struct sc_module *module = ptx_load(text);
    uint32_t *out = ptx_allocate(64 * 4, SC_RANGE_DEVICE);
    for (uint32_t blocks = 1; blocks <= 64; blocks += 21) {
        ptx_good(module, &(struct ptx_launch){.kernel = "k", .grid = blocks, .block = 1, .cooperative = true},
                 (void *[]){&out});
        for (uint32_t b = 0; b < blocks; b++) assert_int_equal(out[b], b + 1);
    }
    sc_module_unload(module);
    ptx_reset();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_buffer_is_used_again),
        cmocka_unit_test(test_only_a_few_are_kept),
        cmocka_unit_test(test_what_cannot_be_had),
        cmocka_unit_test(test_cooperative_launches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
