/* What is carried out of copies and memsets where kernels are executed in part, and what the host reads then.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "sampled_contents.h"

#define KIB UINT64_C(1024)

static struct sc_copy_work copy_of(void *to, enum sc_side to_side, enum sc_side from_side, uint64_t width,
                                   uint64_t height)
{
    return (struct sc_copy_work){.destination = (uintptr_t)to,
                                 .width = width,
                                 .height = height,
                                 .depth = 1,
                                 .destination_pitch = width,
                                 .source_pitch = width,
                                 .to = to_side,
                                 .from = from_side};
}

static uint64_t carried_out(enum sc_side to, enum sc_side from, uint64_t width, uint64_t height)
{
    struct sc_copy_work whole = copy_of(NULL, to, from, width, height), part = sc_sampled_copy(&whole);
    return part.width * part.height * part.depth;
}

static void much_is_left_out(void **state)
{
    (void)state;
    assert_int_equal(carried_out(SC_SIDE_DEVICE, SC_SIDE_MANAGED, 1024 * KIB, 1), 1024 * KIB);
    assert_int_equal(carried_out(SC_SIDE_DEVICE, SC_SIDE_MANAGED, 1025 * KIB, 1), 1024 * KIB);
    assert_int_equal(carried_out(SC_SIDE_DEVICE, SC_SIDE_DEVICE, 640 * KIB, 2), 640 * KIB);
    assert_int_equal(carried_out(SC_SIDE_DEVICE, SC_SIDE_PAGEABLE, 1024 * KIB, 1), 1024 * KIB);
    assert_int_equal(carried_out(SC_SIDE_MANAGED, SC_SIDE_PINNED, 1025 * KIB, 1), 1024 * KIB);
    assert_int_equal(carried_out(SC_SIDE_PAGEABLE, SC_SIDE_DEVICE, 4096 * KIB, 3), 1024 * KIB);
    assert_int_equal(carried_out(SC_SIDE_PINNED, SC_SIDE_PAGEABLE, 4096 * KIB, 3), 12288 * KIB);
    struct sc_set_work set = {.width = 1600 * KIB, .height = 2, .element_bytes = 4, .to = SC_SIDE_DEVICE};
    assert_int_equal(sc_sampled_set(&set).width, 256 * KIB);
    assert_int_equal(sc_sampled_set(&set).height, 1);
    set.to = SC_SIDE_PINNED;
    assert_int_equal(sc_sampled_set(&set).height, 2);
    set = (struct sc_set_work){.width = 1024 * KIB, .height = 1, .element_bytes = 1, .to = SC_SIDE_DEVICE};
    assert_int_equal(sc_sampled_set(&set).width, 1024 * KIB);
}

/* What the host gets where the device has these bytes. */
static void read(void *bytes, uint64_t width, uint64_t height)
{
    struct sc_copy_work work = copy_of(bytes, SC_SIDE_PAGEABLE, SC_SIDE_DEVICE, width, height);
    sc_sampled_make_finite(&work);
}

static void the_host_reads_finite_numbers(void **state)
{
    (void)state;
    float floats[] = {NAN, -INFINITY, 2.5f, -NAN, INFINITY, -0.0f, 1e-42f};
    read(floats, sizeof floats, 1);
    static const float finite[] = {1, 1, 2.5f, 1, 1, -0.0f, 1e-42f};
    assert_memory_equal(floats, finite, sizeof floats);
    double doubles[] = {NAN, -INFINITY, 3e300};
    read(doubles, sizeof doubles, 1);
    static const double finite_doubles[] = {1, 1, 3e300};
    assert_memory_equal(doubles, finite_doubles, sizeof doubles);
    static const uint16_t not_finite[] = {0x7f80, 0xff80, 0x7fc0, 0x7c00, 0xfc00, 0x7e00},
                          ones[] = {0x3f80, 0x3c00};
    for (int i = 0; i < 6; i++) {
        uint16_t half = not_finite[i];
        read(&half, 2, 1);
        assert_int_equal(half, ones[i / 3]);
    }
    uint32_t device_nan = 0x7fffffff;
    read(&device_nan, 4, 1);
    assert_int_equal(device_nan, 0x3f800000);
    float rows[2][2] = {{1, 2}, {INFINITY, 3}};
    read(rows, sizeof rows[0], 2);
    assert_true(rows[1][0] == 1 && rows[1][1] == 3);
}

/* The largest and the negative ones are NaNs by their bits. */
static void integers_are_left_alone(void **state)
{
    (void)state;
    int32_t ints[] = {-1, -100, INT32_MAX, INT32_MIN, 0x7f800001}, before[5];
    memcpy(before, ints, sizeof ints);
    read(ints, sizeof ints, 1);
    assert_memory_equal(ints, before, sizeof ints);
    int32_t minus = -2;
    read(&minus, 4, 1);
    assert_int_equal(minus, -2);
    int64_t longs[] = {-1, -100, INT64_MAX, INT64_MIN, 32000};
    int64_t longs_before[5];
    memcpy(longs_before, longs, sizeof longs);
    read(longs, sizeof longs, 1);
    assert_memory_equal(longs, longs_before, sizeof longs);
}

/* What the device gets is the program's own. */
static void only_what_the_device_had_is_changed(void **state)
{
    (void)state;
    float number = INFINITY;
    struct sc_copy_work work = copy_of(&number, SC_SIDE_DEVICE, SC_SIDE_PAGEABLE, 4, 1);
    sc_sampled_make_finite(&work);
    assert_true(isinf(number));
    work = copy_of(&number, SC_SIDE_PINNED, SC_SIDE_PAGEABLE, 4, 1);
    sc_sampled_make_finite(&work);
    assert_true(isinf(number));
}

static void what_is_large_is_scrap(void **state)
{
    (void)state;
    struct sc_block_traffic blocks[] = {{.bytes_written = 2048 * KIB}, {.bytes_written = 2047 * KIB}};
    struct sc_cost cost = {.bytes_written = 65 * 1024 * KIB, .blocks = blocks, .block_count = 2};
    assert_true(sc_sampled_is_scrap(&cost, 0));
    assert_false(sc_sampled_is_scrap(&cost, 1));
    cost.bytes_written = 64 * 1024 * KIB;
    assert_false(sc_sampled_is_scrap(&cost, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_large_is_scrap),
        cmocka_unit_test(much_is_left_out),
        cmocka_unit_test(the_host_reads_finite_numbers),
        cmocka_unit_test(integers_are_left_alone),
        cmocka_unit_test(only_what_the_device_had_is_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
