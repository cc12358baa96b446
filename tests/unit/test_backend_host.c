/* The backend on host memory, by whose counters tests of the core judge: what breaks the contract is counted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/host/backend_host.h"

enum { DEVICE_BLOCKS = 4 };
static const uint64_t block = SL_BLOCK_BYTES;

static struct sl_backend b;
static struct sl_host_books *books;
static uint64_t at; /* a slab of 2 GiB */

static int open_backend(void **state)
{
    (void)state;
    if (sl_backend_host_new(DEVICE_BLOCKS * block, &b) || b.slab_new(b.self, 2 * SL_GIB, &at)) return -1;
    books = sl_backend_host_books(&b);
    return 0;
}

static int close_backend(void **state)
{
    (void)state;
    b.slab_delete(b.self, at, 2 * SL_GIB);
    b.close(b.self);
    return 0;
}

static void a_slab_is_aligned_and_empty(void **state)
{
    (void)state;
    assert_int_equal(at % SL_GIB, 0);
    assert_int_equal(*(volatile char *)at, 0);
    assert_int_equal(*(volatile char *)(at + 2 * SL_GIB - 1), 0);
    assert_int_equal(books->resident_bytes, 0);
    uint64_t other;
    assert_int_equal(b.slab_new(b.self, SL_GIB, &other), SL_OK);
    assert_int_equal(other % SL_GIB, 0);
    assert_true(other + SL_GIB <= at || other >= at + 2 * SL_GIB);
    b.slab_delete(b.self, other, SL_GIB);
}

static void what_is_resident_is_counted_once(void **state)
{
    (void)state;
    assert_int_equal(b.fetch(b.self, at, 2 * block, b.stream_in(b.self)), SL_OK);
    assert_int_equal(b.fetch(b.self, at + block, 2 * block, b.stream_in(b.self)), SL_OK);
    assert_int_equal(books->resident_bytes, 3 * block);
    assert_int_equal(books->bytes_in, 3 * block);
    assert_int_equal(b.evict(b.self, at + block, 2 * block, b.stream_out(b.self)), SL_OK);
    assert_int_equal(b.evict(b.self, at + block, block, b.stream_out(b.self)), SL_OK);
    assert_int_equal(books->bytes_out, 2 * block);
    assert_int_equal(books->resident_bytes, block);
    assert_int_equal(books->peak_resident_bytes, 3 * block);
    assert_int_equal(b.fetch(b.self, at + SL_GIB, block, b.stream_in(b.self)),
                     SL_OK); /* the slab's second GiB */
    assert_int_equal(books->resident_bytes, 2 * block);
    assert_int_equal(books->peak_resident_bytes, 3 * block);
    assert_int_equal(books->wrong, 0);
}

/* Whoever discards what is still needed computes with something else afterwards. */
static void a_discard_destroys_and_an_eviction_does_not(void **state)
{
    (void)state;
    unsigned char *bytes = (unsigned char *)at;
    bytes[0] = bytes[block - 1] = bytes[block] = 7;
    assert_int_equal(b.fetch(b.self, at, 2 * block, b.stream_in(b.self)), SL_OK);
    assert_int_equal(b.evict(b.self, at, block, b.stream_out(b.self)), SL_OK);
    assert_int_equal(bytes[0], 7);
    assert_int_equal(b.discard(b.self, at, block, b.stream_out(b.self)), SL_OK);
    assert_int_not_equal(bytes[0], 7);
    assert_int_not_equal(bytes[block - 1], 7);
    assert_int_equal(bytes[block], 7);
    assert_int_equal(books->bytes_discarded, block);
    assert_int_equal(books->resident_bytes, block);
    assert_int_equal(b.discard(b.self, at + block, block, b.stream_out(b.self)), SL_OK);
    assert_int_equal(books->resident_bytes, 0);
    assert_int_equal(books->bytes_out, block);
    assert_int_equal(books->wrong, 0);
}

static void movements_that_break_the_contract_are_wrong(void **state)
{
    (void)state;
    uint64_t gone;
    assert_int_equal(b.slab_new(b.self, SL_GIB, &gone), SL_OK);
    b.slab_delete(b.self, gone, SL_GIB);
    const struct {
        uint64_t address, bytes;
    } wrong[] = {
        {at + 4096, block},               /* no block's beginning */
        {at, block - 4096},               /* no whole block */
        {at, 0},                          /* nothing */
        {at - block, block},              /* no slab's */
        {at + 2 * SL_GIB, block},         /* behind the slab */
        {at + SL_GIB - block, 2 * block}, /* across a GiB, where chunks end */
        {gone, block},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        uint64_t before = books->wrong;
        b.fetch(b.self, wrong[i].address, wrong[i].bytes, b.stream_in(b.self));
        assert_int_equal(books->wrong, before + 1);
        b.evict(b.self, wrong[i].address, wrong[i].bytes, b.stream_out(b.self));
        assert_int_equal(books->wrong, before + 2);
        assert_int_equal(books->resident_bytes, 0);
    }
}

static void free_memory_is_what_is_not_resident(void **state)
{
    (void)state;
    uint64_t free_bytes, total_bytes;
    assert_int_equal(b.fetch(b.self, at, block, b.stream_in(b.self)), SL_OK);
    assert_int_equal(b.memory_info(b.self, &free_bytes, &total_bytes), SL_OK);
    assert_int_equal(free_bytes, (DEVICE_BLOCKS - 1) * block);
    assert_int_equal(total_bytes, DEVICE_BLOCKS * block);
    assert_int_equal(b.fetch(b.self, at, (DEVICE_BLOCKS + 1) * block, b.stream_in(b.self)),
                     SL_OK); /* the test sees it in the peak */
    assert_int_equal(b.memory_info(b.self, &free_bytes, &total_bytes), SL_OK);
    assert_int_equal(free_bytes, 0);
    assert_int_equal(books->peak_resident_bytes, (DEVICE_BLOCKS + 1) * block);
}

static void pinned_memory_is_counted_apart(void **state)
{
    (void)state;
    uint64_t pinned;
    assert_int_equal(b.pinned_new(b.self, 3 * block, &pinned), SL_OK);
    assert_int_equal(pinned % SL_GIB, 0);
    *(volatile char *)(pinned + 3 * block - 1) = 1;
    assert_int_equal(books->pinned_bytes, 3 * block);
    assert_int_equal(books->resident_bytes, 0);
    uint64_t refused = 77;
    assert_int_equal(b.pinned_new(b.self, (uint64_t)1 << 62, &refused), SL_ERR_NO_MEMORY);
    assert_int_equal(books->pinned_bytes, 3 * block);
    b.pinned_delete(b.self, pinned, 3 * block);
    assert_int_equal(books->pinned_bytes, 0);
}

/* The time of an event that has none is not asked for. */
static void only_timed_events_have_times(void **state)
{
    (void)state;
    sl_event_handle first, last, untimed;
    assert_int_equal(b.timed_event_new(b.self, &first), SL_OK);
    assert_int_equal(b.timed_event_new(b.self, &last), SL_OK);
    assert_int_equal(b.event_new(b.self, &untimed), SL_OK);
    assert_int_equal(b.event_record(b.self, first, b.stream_in(b.self)), SL_OK);
    assert_int_equal(b.event_record(b.self, last, b.stream_out(b.self)), SL_OK);
    assert_int_equal(b.event_elapsed_ns(b.self, last, first), 0);
    assert_int_equal(books->wrong, 0);
    b.event_elapsed_ns(b.self, first, untimed);
    b.event_elapsed_ns(b.self, untimed, last);
    assert_int_equal(books->wrong, 2);
    assert_ptr_not_equal(b.stream_in(b.self), b.stream_out(b.self));
    assert_non_null(b.stream_in(b.self)); /* that is the program's */
    assert_non_null(b.stream_out(b.self));
    b.event_delete(b.self, first);
    b.event_delete(b.self, last);
    b.event_delete(b.self, untimed);
}

static void a_kernel_is_what_its_handle_points_to(void **state)
{
    (void)state;
    char name[400];
    memset(name, 'k', sizeof(name) - 1);
    name[sizeof(name) - 1] = 0;
    const uint32_t its_offsets[] = {0, 8}, its_sizes[] = {8, 4};
    const struct sl_host_kernel kernel = {name, 2, its_offsets, its_sizes, 5};
    uint32_t offsets[SL_MAX_PARAMETERS], sizes[SL_MAX_PARAMETERS];
    struct sl_kernel_layout layout = {.offsets = offsets, .sizes = sizes};
    assert_int_equal(b.kernel_layout(b.self, (uint64_t)&kernel, &layout), SL_OK);
    assert_int_equal(layout.parameter_count, 2);
    assert_int_equal(layout.module, 5);
    assert_memory_equal(offsets, its_offsets, sizeof(its_offsets));
    assert_memory_equal(sizes, its_sizes, sizeof(its_sizes));
    assert_int_equal(strlen(layout.name), sizeof(layout.name) - 1);
    assert_int_equal(b.kernel_layout(b.self, 0, &layout), SL_ERR_UNSUPPORTED);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_backend, close_backend)
    const struct CMUnitTest tests[] = {
        TEST(a_slab_is_aligned_and_empty),
        TEST(what_is_resident_is_counted_once),
        TEST(a_discard_destroys_and_an_eviction_does_not),
        TEST(movements_that_break_the_contract_are_wrong),
        TEST(free_memory_is_what_is_not_resident),
        TEST(pinned_memory_is_counted_apart),
        TEST(only_timed_events_have_times),
        TEST(a_kernel_is_what_its_handle_points_to),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
