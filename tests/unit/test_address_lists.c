/* Of arrays of addresses that a launch fills in part, what it fills belongs to the launch, and nothing else:
 * what stands behind are live allocations, and the same ones in every step. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core_fixture.h"
#include "launch/kernels.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* PyTorch's structures, as its compiler lays them out. */
#define PLAIN(type, lists, tensors, blocks_, length_t, index_t)                                              \
    struct type {                                                                                            \
        const void *addresses[lists][tensors];                                                               \
        length_t length[tensors];                                                                            \
        index_t tensor_of_block[blocks_];                                                                    \
        int part_of_block[blocks_];                                                                          \
        int first;                                                                                           \
    }
#define SCALARS(type, lists, tensors, blocks_, scalar_t, index_t)                                            \
    struct type {                                                                                            \
        const void *addresses[lists][tensors];                                                               \
        int64_t length[tensors];                                                                             \
        scalar_t scalars[tensors];                                                                           \
        index_t tensor_of_block[blocks_];                                                                    \
        int part_of_block[blocks_];                                                                          \
    }
#define FUSED(type, lists, tensors, counters_, blocks_, length_t, index_t)                                   \
    struct type {                                                                                            \
        const void *addresses[lists][tensors];                                                               \
        length_t length[tensors];                                                                            \
        const void *counters[counters_];                                                                     \
        index_t tensor_of_block[blocks_];                                                                    \
        int part_of_block[blocks_];                                                                          \
        int first;                                                                                           \
    }
struct complex_double {
    _Alignas(16) double real;
    double imaginary;
};

PLAIN(plain_1, 1, 110, 320, int64_t, uint8_t);
PLAIN(plain_3, 3, 48, 320, int64_t, uint8_t);
PLAIN(plain_5_old, 5, 30, 320, int, uint8_t);
PLAIN(plain_2_wide, 2, 448, 2240, int64_t, uint16_t);
PLAIN(plain_4_large, 4, 256, 4044, int64_t, uint8_t);
SCALARS(scalars_1_float, 1, 96, 320, float, uint8_t);
SCALARS(scalars_3_double, 3, 48, 320, double, uint8_t);
SCALARS(scalars_2_bool, 2, 64, 320, uint8_t, uint8_t);
SCALARS(scalars_1_complex, 1, 72, 320, struct complex_double, uint8_t);
SCALARS(scalars_1_wide, 1, 672, 2240, float, uint16_t);
FUSED(fused_4, 4, 36, 36, 320, int64_t, uint8_t);
FUSED(fused_1, 1, 110, 96, 320, int64_t, uint8_t);
FUSED(fused_4_large, 4, 256, 256, 4044, int64_t, uint8_t);

static const struct sl_kernel *kernel_of(const char *name, uint32_t parameter_count, const uint32_t *each)
{
    static struct sl_kernels kernels = {.count = 1};
    uint32_t at[8] = {0}, bytes[8];
    struct sl_kernel_layout layout = {.parameter_count = parameter_count, .offsets = at, .sizes = bytes};
    for (uint32_t p = 0; p < parameter_count; p++) {
        bytes[p] = each[p];
        at[p] = p ? (at[p - 1] + bytes[p - 1] + 7) / 8 * 8 : 0;
    }
    snprintf(layout.name, sizeof layout.name, "%s", name);
    uint32_t number = sl_kernels_know(&kernels, &layout);
    assert_int_not_equal(number, 0);
    return &kernels.kernels[number];
}

static struct sl_address_lists known_lists(const char *name, uint32_t parameter_count, const uint32_t *each)
{
    return kernel_of(name, parameter_count, each)->lists;
}

static const struct sl_kernel *tensor_kernel(const char *structure, uint32_t bytes)
{
    char name[160];
    snprintf(name, sizeof name, "_ZN12_GLOBAL__N_125multi_tensor_apply_kernelINS1_%s", structure);
    const uint32_t sizes[] = {4, bytes, 1, 8};
    return kernel_of(name, COUNT(sizes), sizes);
}

static struct sl_address_lists lists_of(const char *structure, uint32_t bytes)
{
    return tensor_kernel(structure, bytes)->lists;
}

#define ASSERT_LAYOUT(text, type, lists_, tensors)                                                           \
    do {                                                                                                     \
        struct sl_address_lists found = lists_of(text, sizeof(struct type));                                 \
        assert_int_equal(found.parameter, 1);                                                                \
        assert_int_equal(found.lists, lists_);                                                               \
        assert_int_equal(found.capacity, tensors);                                                           \
        assert_int_equal(found.index_at, offsetof(struct type, tensor_of_block));                            \
        assert_int_equal(found.index_bytes, sizeof(((struct type *)0)->tensor_of_block[0]));                 \
        assert_int_equal(found.blocks, COUNT(((struct type *)0)->tensor_of_block));                          \
    } while (0)

static void each_layout_is_told_by_its_name_and_size(void **state)
{
    (void)state;
    ASSERT_LAYOUT("18TensorListMetadataILi1EEENS1_", plain_1, 1, 110);
    ASSERT_LAYOUT("18TensorListMetadataILi3EEENS1_", plain_3, 3, 48);
    ASSERT_LAYOUT("18TensorListMetadataILi5EEENS1_", plain_5_old, 5, 30);
    ASSERT_LAYOUT("18TensorListMetadataILi2ELb1EEENS1_", plain_2_wide, 2, 448);
    ASSERT_LAYOUT("18TensorListMetadataILi4EEENS1_", plain_4_large, 4, 256);
    ASSERT_LAYOUT("28TensorListScalarListMetadataIfLi1EEENS1_", scalars_1_float, 1, 96);
    ASSERT_LAYOUT("28TensorListScalarListMetadataIdLi3EEENS1_", scalars_3_double, 3, 48);
    ASSERT_LAYOUT("28TensorListScalarListMetadataIbLi2EEENS1_", scalars_2_bool, 2, 64);
    ASSERT_LAYOUT("28TensorListScalarListMetadataIN3c107complexIdEELi1EEENS1_", scalars_1_complex, 1, 72);
    ASSERT_LAYOUT("28TensorListScalarListMetadataIfLi1ELb1EEENS1_", scalars_1_wide, 1, 672);
    ASSERT_LAYOUT("32FusedOptimizerTensorListMetadataILi4EEENS1_", fused_4, 4, 36);
    ASSERT_LAYOUT("32FusedOptimizerTensorListMetadataILi1EEENS1_", fused_1, 1, 110);
    ASSERT_LAYOUT("32FusedOptimizerTensorListMetadataILi4EEENS1_", fused_4_large, 4, 256);
}

static void another_size_or_name_is_not_known(void **state)
{
    (void)state;
    assert_int_equal(lists_of("18TensorListMetadataILi1EEENS1_", sizeof(struct plain_1) + 8).capacity, 0);
    assert_int_equal(lists_of("18TensorListMetadataILi2EEENS1_", sizeof(struct plain_1)).capacity, 0);
    assert_int_equal(lists_of("18TensorListMetadataILi6EEENS1_", sizeof(struct plain_1)).capacity, 0);
    assert_int_equal(lists_of("18TensorListMetadataILi12EEENS1_", sizeof(struct plain_1)).capacity, 0);
    assert_int_equal(lists_of("18TensorListMetadataI", sizeof(struct plain_1)).capacity, 0);
    assert_int_equal(lists_of("", sizeof(struct plain_1)).capacity, 0);
    const uint32_t size = sizeof(struct plain_1);
    assert_int_equal(known_lists("_Z6kernel18TensorListMetadataILi1EE", 1, &size).capacity, 0);
    assert_int_equal(known_lists("", 0, NULL).capacity, 0);
}

static void what_has_an_entry_for_each_row_of_the_grid(void **state)
{
    (void)state;
    const uint32_t sizes[] = {8, 2000, 32, 4, 4};
    static const char name[] =
        "_ZN2at6native8Shape_cu19CatArrayBatchedCopyINS1_10OpaqueTypeILj4EEEjLi4ELi64ELi16EEEvPT_NS1_";
    struct sl_address_lists lists = known_lists(name, COUNT(sizes), sizes);
    assert_int_equal(lists.parameter, 1);
    assert_int_equal(lists.lists * lists.capacity, 64);
    assert_int_equal(sl_address_lists_used(&lists, NULL, (const uint32_t[3]){100, 3, 1}), 3);
    const uint32_t small[] = {8, 511};
    assert_int_equal(known_lists(name, COUNT(small), small).capacity, 0);
    assert_int_equal(known_lists(name, 1, sizes).capacity, 0);
    assert_int_equal(known_lists("CatArrayBatchedCopy", COUNT(sizes), sizes).capacity, 0);
    assert_int_equal(known_lists("CatArrayBatchedCopyILi64EEEv", COUNT(sizes), sizes).capacity, 0);
}

static void used_are_those_that_a_block_works_on(void **state)
{
    (void)state;
    static struct plain_3 plain;
    struct sl_address_lists lists = lists_of("18TensorListMetadataILi3EEENS1_", sizeof plain);
    memset(&plain, 0xff, sizeof plain);
    for (int b = 0; b < 7; b++) plain.tensor_of_block[b] = (uint8_t)(b / 2);
    const char *bytes = (const char *)&plain;
    assert_int_equal(sl_address_lists_used(&lists, bytes, (const uint32_t[3]){7, 1, 1}), 4);
    assert_int_equal(sl_address_lists_used(&lists, bytes, (const uint32_t[3]){2, 1, 1}), 1);
    assert_int_equal(sl_address_lists_used(&lists, bytes, (const uint32_t[3]){321, 1, 1}), 48);
    assert_int_equal(sl_address_lists_used(&lists, NULL, (const uint32_t[3]){7, 1, 1}), 48);

    static struct plain_2_wide wide;
    lists = lists_of("18TensorListMetadataILi2ELb1EEENS1_", sizeof wide);
    for (int b = 0; b < 2240; b++) wide.tensor_of_block[b] = (uint16_t)(b % 400);
    assert_int_equal(sl_address_lists_used(&lists, (const char *)&wide, (const uint32_t[3]){2240, 1, 1}),
                     400);
}

static void words_behind_those_are_no_addresses(void **state)
{
    (void)state;
    const struct sl_kernel *fused =
        tensor_kernel("32FusedOptimizerTensorListMetadataILi4EEENS1_", sizeof(struct fused_4));
    uint32_t words = 0;
    for (uint32_t w = 0; w < fused->word_count; w++) {
        uint32_t parameter = fused->words[w].where >> 16, at = fused->words[w].where & 0xffff;
        if (parameter != 1) {
            assert_true(sl_word_is_used(&fused->words[w], 0));
            continue;
        }
        words++;
        bool expected = at < offsetof(struct fused_4, length) && at / 8 % 36 < 5;
        expected |=
            at >= offsetof(struct fused_4, counters) && at < offsetof(struct fused_4, counters) + 5 * 8;
        assert_int_equal(sl_word_is_used(&fused->words[w], 5), expected);
    }
    assert_int_equal(words, sizeof(struct fused_4) / 8);
    const uint32_t plain = 64;
    assert_true(sl_word_is_used(&kernel_of("plain", 1, &plain)->words[1], 0));
}

/* A core that is given such launches. */
static const uint32_t offsets[] = {0, sizeof(struct plain_1)}, sizes[] = {sizeof(struct plain_1), 8};
static const struct sl_host_kernel kernel = {"multi_tensor_apply_kernel18TensorListMetadataILi1EE", 2,
                                             offsets, sizes};
static uint64_t targets[4];

static int start(void **state)
{
    if (core_start(state)) return -1;
    for (int t = 0; t < 4; t++) targets[t] = core_take_at((uint64_t)t + 1, SL_MIB);
    return 0;
}

/* Of `used` tensors in a block each; behind them is `rest`. */
static sl_symbol scan(struct plain_1 *plain, uint32_t used, uint64_t rest, bool packed)
{
    static struct {
        struct plain_1 plain;
        uint64_t last;
    } block;
    for (uint32_t t = 0; t < 110; t++) plain->addresses[0][t] = (void *)(t < used ? targets[t] : rest);
    for (uint32_t b = 0; b < 320; b++) plain->tensor_of_block[b] = (uint8_t)(b < used ? b : 109);
    uint64_t other = targets[3];
    void *parameters[] = {plain, &other};
    struct sl_launch launch = core_kernel(&kernel, parameters, used);
    if (packed) {
        block.plain = *plain;
        block.last = other;
        launch.parameters = NULL;
        launch.packed = &block;
        launch.packed_bytes = sizeof block;
    }
    sl_symbol symbol = core_scan(&launch);
    core_launch(launch);
    return symbol;
}

static void what_is_behind_them_is_not_the_launchs(void **state)
{
    (void)state;
    static struct plain_1 plain;
    struct sl_core *core = sl_core_running();
    for (int packed = 0; packed < 2; packed++)
        for (uint32_t used = 1; used <= 3; used++) {
            sl_symbol symbol = scan(&plain, used, targets[2], packed);
            const struct sl_symbol_record *record = &core->symbols.records[symbol];
            assert_int_equal(record->access_count, used + 1);
            for (uint32_t a = 0; a < used; a++)
                assert_int_equal(
                    core->placement.slots[core->symbols.accesses[record->first_access + a].slot].address,
                    targets[a]);
            assert_int_equal(scan(&plain, used, targets[0] + 512, packed), symbol);
        }
}

static void the_launch_that_repeats_is_recognised_whatever_is_behind(void **state)
{
    (void)state;
    static struct plain_1 plain;
    struct sl_core *core = sl_core_running();
    sl_symbol symbol = scan(&plain, 2, targets[2], false);
    for (int i = 0; i < 8; i++) scan(&plain, 2, targets[2], false);
    assert_non_null(core->scanner.usage.cached);
    assert_int_equal(scan(&plain, 2, targets[3] + 1024, false), symbol);
    assert_non_null(core->scanner.usage.cached); /* which has no word of them */
    assert_int_not_equal(scan(&plain, 3, targets[3] + 1024, false), symbol);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_layout_is_told_by_its_name_and_size),
        cmocka_unit_test(another_size_or_name_is_not_known),
        cmocka_unit_test(what_has_an_entry_for_each_row_of_the_grid),
        cmocka_unit_test(used_are_those_that_a_block_works_on),
        cmocka_unit_test(words_behind_those_are_no_addresses),
        cmocka_unit_test(what_is_behind_them_is_not_the_launchs),
        cmocka_unit_test(the_launch_that_repeats_is_recognised_whatever_is_behind),
    };
    return cmocka_run_group_tests_name("address lists", tests, start, core_stop);
}
