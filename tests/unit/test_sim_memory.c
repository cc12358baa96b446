/* The simulated device's memory: what is copied, what is used where it is, and what leaves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* clang-format off */
#include <cmocka.h>
/* clang-format on */

#include "tools/sim/sim_memory.h"

static struct sl_sim_memory memory;

static uint64_t new_slab(uint64_t device_bytes)
{
    uint64_t address;
    sl_sim_memory_close(&memory);
    sl_sim_memory_init(&memory, device_bytes);
    assert_int_equal(sl_sim_slab_new(&memory, SL_GIB, false, &address), SL_OK);
    assert_int_equal(address % SL_GIB, 0);
    return address;
}

static void test_only_content_is_copied(void **state)
{
    (void)state;
    uint64_t at = new_slab(SL_GIB), block = SL_BLOCK_BYTES;
    assert_int_equal(sl_sim_fetch(&memory, at, 4 * block, NULL), 0); /* nothing in it yet */
    assert_int_equal(memory.resident_bytes, 4 * block);
    assert_int_equal(sl_sim_fetch(&memory, at, 4 * block, NULL), 0);
    assert_int_equal(sl_sim_evict(&memory, at, 2 * block, NULL), 2 * block);
    assert_int_equal(sl_sim_evict(&memory, at, 4 * block, NULL), 2 * block);
    assert_int_equal(sl_sim_fetch(&memory, at, block, NULL), block);
    sl_sim_discard(&memory, at, 2 * block);
    assert_int_equal(sl_sim_fetch(&memory, at, 4 * block, NULL), 2 * block);
    sl_sim_memory_close(&memory);
}

/* What was evicted has entries for the CPU until it comes back or is discarded; what is used in place has
 * none. */
static void test_page_tables(void **state)
{
    (void)state;
    uint64_t at = new_slab(SL_GIB), block = SL_BLOCK_BYTES;
    struct sl_sim_moved moved;
    struct sl_span used = {.address = at + 3 * block, .bytes = block, .write = true};
    struct sl_sim_use use = {0};
    sl_sim_fetch(&memory, at, 3 * block, &moved); /* nothing in it yet */
    assert_int_equal(moved.copied + moved.mapped + moved.unmapped + moved.remapped, 0);
    sl_sim_use_remote(&memory, &used, &use);
    sl_sim_evict(&memory, at, 2 * block, &moved);
    assert_int_equal(moved.copied, 2);
    assert_int_equal(moved.mapped, 2);
    sl_sim_evict(&memory, at, 5 * block,
                 &moved); /* two there, one copied, one used in place, one never used */
    assert_int_equal(moved.copied, 1);
    assert_int_equal(moved.mapped, 2);
    assert_int_equal(moved.remapped, 2);
    sl_sim_use_remote(&memory, &used, &use); /* keeps its entries */
    sl_sim_discard(&memory, at, block);
    sl_sim_fetch(&memory, at, 5 * block, &moved);
    assert_int_equal(moved.copied, 3);
    assert_int_equal(moved.unmapped, 3);
    sl_sim_fetch(&memory, at, 5 * block, &moved);
    assert_int_equal(moved.copied + moved.unmapped, 0);
    sl_sim_memory_close(&memory);
}

static void test_use_in_place(void **state)
{
    (void)state;
    uint64_t at = new_slab(SL_GIB), block = SL_BLOCK_BYTES;
    struct sl_sim_use use = {0};
    sl_sim_fetch(&memory, at, block, NULL);
    struct sl_span span = {.address = at + block - 100, .bytes = 300, .write = true};
    sl_sim_use_remote(&memory, &span, &use); /* 100 on the device, 200 new */
    assert_int_equal(use.in, 0);
    assert_int_equal(use.out, 200);
    span.write = false;
    sl_sim_use_remote(&memory, &span, &use);
    assert_int_equal(use.in, 200);
    assert_int_equal(use.out, 200);
    assert_int_equal(use.faults, 0);
    sl_sim_memory_close(&memory);
}

static void test_pinned_slabs_have_whole_gib_of_addresses(void **state)
{
    (void)state;
    uint64_t first = new_slab(SL_GIB), pinned;
    assert_int_equal(sl_sim_slab_new(&memory, SL_BLOCK_BYTES, true, &pinned), SL_OK);
    assert_int_equal(pinned, first + SL_GIB);
    assert_true(sl_sim_is_pinned(&memory, pinned) && !sl_sim_is_pinned(&memory, first));
    assert_int_equal(sl_sim_slab_new(&memory, SL_GIB, false, &first), SL_OK);
    assert_int_equal(first, pinned + SL_GIB);
    sl_sim_memory_close(&memory);
}

/* What came first leaves first, however often it is used. */
static void test_pages_leave_in_the_order_in_which_they_came(void **state)
{
    (void)state;
    uint64_t at = new_slab(2 * SL_BLOCK_BYTES), block = SL_BLOCK_BYTES;
    struct sl_span spans[] = {{at, block, true}, {at + block, block, true}, {at + 2 * block, block, true}};
    struct sl_sim_use use = {0};
    for (int i = 0; i < 2; i++) assert_true(sl_sim_use_paged(&memory, &spans[i], &use));
    assert_true(sl_sim_use_paged(&memory, &spans[0], &use));
    assert_int_equal(use.faults, 2);
    assert_true(sl_sim_use_paged(&memory, &spans[2], &use)); /* in place of the first */
    assert_int_equal(use.out, block);
    assert_true(sl_sim_use_paged(&memory, &spans[1], &use));
    assert_int_equal(use.faults, 3);
    assert_true(sl_sim_use_paged(&memory, &spans[0], &use));
    assert_int_equal(use.faults, 4);
    assert_int_equal(use.in, block);
    assert_int_equal(memory.resident_bytes, 2 * block);
    sl_sim_memory_close(&memory);
}

/* An address that no slab has is nobody's: nothing is copied for it, and nothing becomes resident. */
static void test_what_lies_in_no_slab_does_not_move(void **state)
{
    (void)state;
    uint64_t at = new_slab(SL_GIB), block = SL_BLOCK_BYTES;
    const uint64_t nowhere[] = {0, at - block, at + SL_GIB, (uint64_t)1 << 46};
    for (size_t i = 0; i < sizeof nowhere / sizeof *nowhere; i++) {
        struct sl_sim_use use = {0};
        struct sl_span span = {nowhere[i], 100, true};
        assert_int_equal(sl_sim_fetch(&memory, nowhere[i], 100, NULL), 0);
        sl_sim_use_remote(&memory, &span, &use);
        assert_true(sl_sim_use_paged(&memory, &span, &use));
        assert_int_equal(use.in + use.out + use.faults, 0);
        assert_false(sl_sim_is_pinned(&memory, nowhere[i]));
    }
    assert_int_equal(memory.resident_bytes, 0);
    /* What reaches beyond the last slab moves up to its end. */
    sl_sim_fetch(&memory, at + SL_GIB - block, 2 * block, NULL);
    assert_int_equal(memory.resident_bytes, block);
    sl_sim_memory_close(&memory);
}

static void test_a_slab_that_was_given_back_is_none(void **state)
{
    (void)state;
    uint64_t kept = new_slab(SL_GIB), gone, block = SL_BLOCK_BYTES;
    assert_int_equal(sl_sim_slab_new(&memory, 2 * SL_GIB, false, &gone), SL_OK);
    sl_sim_slab_delete(&memory, gone, 2 * SL_GIB);
    sl_sim_fetch(&memory, gone, block, NULL);
    sl_sim_fetch(&memory, gone + SL_GIB, block, NULL);
    assert_int_equal(memory.resident_bytes, 0);
    sl_sim_fetch(&memory, kept, block, NULL);
    assert_int_equal(memory.resident_bytes, block);
    sl_sim_memory_close(&memory);
}

static void test_slabs_run_out(void **state)
{
    (void)state;
    uint64_t first = new_slab(SL_GIB), last = 0, more = 77;
    assert_int_equal(sl_sim_slab_new(&memory, SL_MAX_SLABS * SL_GIB, false, &more), SL_ERR_NO_MEMORY);
    assert_int_equal(sl_sim_slab_new(&memory, SL_GIB, true, &last), SL_OK);
    assert_int_equal(last, first + SL_GIB);
    assert_int_equal(sl_sim_slab_new(&memory, (SL_MAX_SLABS - 3) * SL_GIB, false, &last), SL_OK);
    assert_int_equal(sl_sim_slab_new(&memory, SL_GIB, false, &last), SL_OK);
    assert_int_equal(sl_sim_slab_new(&memory, SL_GIB, true, &more), SL_ERR_NO_MEMORY);
    assert_int_equal(more, 77);
    sl_sim_fetch(&memory, last + SL_GIB - SL_BLOCK_BYTES, 2 * SL_BLOCK_BYTES, NULL);
    assert_int_equal(memory.resident_bytes, SL_BLOCK_BYTES);
    sl_sim_memory_close(&memory);
}

static uint64_t use_block(uint64_t at)
{
    struct sl_sim_use use = {0};
    struct sl_span span = {at, SL_BLOCK_BYTES, false};
    assert_true(sl_sim_use_paged(&memory, &span, &use));
    return use.faults;
}

/* The ring of the blocks' order has turned, and has blocks that left otherwise, when it has to grow. */
static void test_the_order_of_pages_survives_growth(void **state)
{
    (void)state;
    enum { ON_DEVICE = 1000, TURNED = 10, EVICTED = 500 };
    uint64_t block = SL_BLOCK_BYTES, at = new_slab(ON_DEVICE * block), more;
    for (int i = 1; i < 3; i++) assert_int_equal(sl_sim_slab_new(&memory, SL_GIB, false, &more), SL_OK);
    for (uint64_t i = 0; i < ON_DEVICE + TURNED; i++) assert_int_equal(use_block(at + i * block), 1);
    assert_int_equal(memory.resident_bytes, ON_DEVICE * block);
    assert_int_equal(sl_sim_evict(&memory, at + TURNED * block, EVICTED * block, NULL), EVICTED * block);
    uint64_t next = at + (ON_DEVICE + TURNED) * block, oldest = at + (TURNED + EVICTED) * block;
    for (uint64_t i = 0; i <= EVICTED; i++) assert_int_equal(use_block(next + i * block), 1);
    assert_int_equal(memory.resident_bytes, ON_DEVICE * block);
    for (uint64_t i = 1; i < ON_DEVICE - EVICTED; i++) assert_int_equal(use_block(oldest + i * block), 0);
    assert_int_equal(use_block(oldest), 1);
    sl_sim_memory_close(&memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_content_is_copied),
        cmocka_unit_test(test_page_tables),
        cmocka_unit_test(test_use_in_place),
        cmocka_unit_test(test_pinned_slabs_have_whole_gib_of_addresses),
        cmocka_unit_test(test_pages_leave_in_the_order_in_which_they_came),
        cmocka_unit_test(test_what_lies_in_no_slab_does_not_move),
        cmocka_unit_test(test_a_slab_that_was_given_back_is_none),
        cmocka_unit_test(test_slabs_run_out),
        cmocka_unit_test(test_the_order_of_pages_survives_growth),
    };
    return cmocka_run_group_tests_name("sim memory", tests, NULL, NULL);
}
