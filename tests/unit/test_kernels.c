/* What is known of kernels: breaks if parameters are read where there are none, if pointers are missed, or if
 * a kernel is taken for another. */
#include "launch/kernels.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "plan_check.h"

enum { HANDLES = 100, MOST_PARAMETERS = 6 };

/* A driver that knows the kernels of these handles. */
static struct described {
    const char *name; /* NULL: its layout is not known */
    uint32_t count, offsets[MOST_PARAMETERS], sizes[MOST_PARAMETERS];
    uint64_t module;
} described[HANDLES];
static int asked;

static enum sl_status kernel_layout(void *self, uint64_t handle, struct sl_kernel_layout *out)
{
    (void)self;
    const struct described *kernel = &described[handle];
    asked++;
    if (!kernel->name) return SL_ERR_UNSUPPORTED;
    strcpy(out->name, kernel->name);
    out->parameter_count = kernel->count;
    memcpy(out->offsets, kernel->offsets, sizeof kernel->offsets);
    memcpy(out->sizes, kernel->sizes, sizeof kernel->sizes);
    out->module = kernel->module;
    return SL_OK;
}

static const struct sl_backend backend = {.kernel_layout = kernel_layout};
static struct sl_kernels kernels;

static int start(void **state)
{
    (void)state;
    memset(described, 0, sizeof described);
    asked = 0;
    sl_kernels_init(&kernels, &backend);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    sl_kernels_close(&kernels);
    sl_kernels_close(&kernels); /* zeroed by then */
    return 0;
}

static const struct sl_kernel *kernel_of(uint64_t handle)
{
    uint32_t number = sl_kernels_find(&kernels, handle);
    assert_int_not_equal(number, 0);
    return &kernels.kernels[number];
}

static void a_handle_is_asked_for_once(void **state)
{
    (void)state;
    described[1] = (struct described){"one", 1, {0}, {8}, 42};
    uint32_t number = sl_kernels_find(&kernels, 1);
    for (int i = 0; i < 3; i++) assert_int_equal(sl_kernels_find(&kernels, 1), number);
    for (int i = 0; i < 3; i++) assert_int_equal(sl_kernels_find(&kernels, 2), 0); /* nobody knows it */
    assert_int_equal(asked, 2);
    assert_int_equal(kernel_of(1)->module, 42);
    assert_string_equal(kernel_of(1)->name, "one");
}

/* A module that is loaded again has other handles for the same kernels; the signatures of their launches
 * contain the number. Handles of a module that is gone are given to other kernels. */
static void the_number_is_the_kernels_not_the_handles(void **state)
{
    (void)state;
    described[1] = (struct described){"one", 1, {0}, {8}, 42};
    described[2] = (struct described){"two", 1, {0}, {8}, 42};
    uint32_t one = sl_kernels_find(&kernels, 1), two = sl_kernels_find(&kernels, 2);
    assert_int_not_equal(one, two);
    uint64_t version = kernels.version;
    sl_kernels_forget(&kernels);
    assert_int_not_equal(kernels.version, version);
    described[1] = (struct described){"two", 1, {0}, {8}, 43};
    described[2] = (struct described){"one", 1, {0}, {8}, 43};
    assert_int_equal(sl_kernels_find(&kernels, 1), two);
    assert_int_equal(sl_kernels_find(&kernels, 2), one);
    assert_int_equal(kernel_of(1)->module, 43);
}

/* Reading one's parameters by the other's layout would go beyond them. */
static void kernels_of_one_name_differ_by_layout(void **state)
{
    (void)state;
    static const struct described variants[] = {
        {"jit", 2, {0, 8}, {8, 8}}, {"jit", 2, {0, 16}, {8, 8}},       {"jit", 2, {0, 8}, {8, 4}},
        {"jit", 1, {0}, {8}},       {"jit", 3, {0, 8, 16}, {8, 8, 8}}, {"jit", 0}};
    enum { VARIANTS = sizeof variants / sizeof *variants };
    memcpy(&described[1], variants, sizeof variants);
    for (uint32_t v = 1; v <= VARIANTS; v++)
        for (uint32_t w = 1; w < v; w++) {
            uint32_t one = sl_kernels_find(&kernels, v), other = sl_kernels_find(&kernels, w);
            assert_int_not_equal(one, other);
            /* It is in the signatures of their launches. */
            assert_true(kernels.kernels[one].name_hash != kernels.kernels[other].name_hash);
        }
    assert_int_equal(asked, VARIANTS);
}

/* A profile knows kernels before their modules are loaded. */
static void what_was_known_before_is_found_when_it_comes(void **state)
{
    (void)state;
    uint32_t offsets[] = {0, 8}, sizes[] = {8, 4};
    struct sl_kernel_layout layout = {
        .name = "later", .parameter_count = 2, .offsets = offsets, .sizes = sizes};
    uint32_t number = sl_kernels_know(&kernels, &layout);
    assert_int_not_equal(number, 0);
    assert_int_equal(sl_kernels_know(&kernels, &layout), number);
    described[5] = (struct described){"later", 2, {0, 8}, {8, 4}, 9};
    offsets[1] = 4; /* it keeps a copy */
    assert_int_equal(sl_kernels_find(&kernels, 5), number);
    assert_int_equal(kernel_of(5)->module, 9);
}

static void many_kernels_keep_their_numbers(void **state)
{
    (void)state;
    static char names[HANDLES][8];
    uint32_t numbers[HANDLES];
    for (int round = 0; round < 2; round++)
        for (uint32_t h = 1; h < HANDLES; h++) {
            snprintf(names[h], sizeof names[h], "k%u", h);
            described[h].name = names[h];
            if (round) assert_int_equal(sl_kernels_find(&kernels, h), numbers[h]);
            numbers[h] = sl_kernels_find(&kernels, h);
            assert_string_equal(kernels.kernels[numbers[h]].name, names[h]);
        }
}

/* --- where pointers may be --- */

static void the_evidence_for_a_word_is_found_by_its_place(void **state)
{
    (void)state;
    described[1] = (struct described){"found", 4, {0, 4, 16, 44}, {4, 12, 28, 8}};
    uint32_t number = sl_kernels_find(&kernels, 1);
    const struct sl_kernel *kernel = &kernels.kernels[number];
    uint64_t parameter = (uint64_t)number << 32;
    assert_int_equal(kernel->word_count, 4); /* the last one is not aligned */
    for (uint32_t w = 0; w < kernel->word_count; w++)
        assert_ptr_equal(sl_kernels_evidence(&kernels, parameter, kernel->words[w].where), &kernel->words[w]);
    assert_int_equal(kernel->words[0].where, 1 << 16 | 4);
    static const uint32_t none[] = {0,       1 << 16,     1 << 16 | 5, 2 << 16 | 24,
                                    3 << 16, 3 << 16 | 4, 4 << 16,     UINT32_MAX};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_null(sl_kernels_evidence(&kernels, parameter, none[i]));
    assert_null(sl_kernels_evidence(&kernels, 0, 1 << 16 | 4)); /* no kernel's */
}

/* Each aligned word of the block of parameters that lies in one of them. */
static void pointers_are_where_aligned_words_are(void **state)
{
    (void)state;
    uint64_t seed = 9;
    for (uint64_t h = 1; h < HANDLES; h++) {
        struct described *d = &described[h];
        *d = (struct described){.name = "words", .count = 1 + random_below(&seed, MOST_PARAMETERS)};
        uint32_t at = 0, expected = 0;
        for (uint32_t p = 0; p < d->count; p++) {
            at += random_below(&seed, 9);
            d->offsets[p] = at;
            d->sizes[p] = 1 + random_below(&seed, 40);
            at += d->sizes[p];
        }
        const struct sl_kernel *kernel = kernel_of(h);
        for (uint32_t p = 0; p < d->count; p++)
            for (uint32_t byte = 0; byte + 8 <= d->sizes[p]; byte++)
                if ((d->offsets[p] + byte) % 8 == 0)
                    assert_int_equal(kernel->words[expected++].where, p << 16 | byte);
        assert_int_equal(kernel->word_count, expected);
    }
}

static void a_word_is_read_from_either_kind_of_parameters(void **state)
{
    (void)state;
    described[1] = (struct described){"read", 2, {0, 16}, {8, 24}};
    const struct sl_kernel *kernel = kernel_of(1);
    char first[8], second[24], packed[40];
    void *const parameters[] = {first, second}, *const lacking[] = {NULL, second};
    struct sl_launch launch = {.parameters = parameters};
    assert_int_equal(kernel->word_count, 4);
    assert_ptr_equal(sl_kernel_word(&launch, kernel, 0), first);
    assert_ptr_equal(sl_kernel_word(&launch, kernel, 3), second + 16);
    launch.parameters = lacking;
    assert_null(sl_kernel_word(&launch, kernel, 0));
    assert_ptr_equal(sl_kernel_word(&launch, kernel, 1), second);
    launch = (struct sl_launch){.packed = packed, .packed_bytes = sizeof packed};
    assert_ptr_equal(sl_kernel_word(&launch, kernel, 0), packed);
    assert_ptr_equal(sl_kernel_word(&launch, kernel, 3), packed + 32);
    launch.packed_bytes = 39; /* the buffer ends within the last word */
    assert_null(sl_kernel_word(&launch, kernel, 3));
    assert_ptr_equal(sl_kernel_word(&launch, kernel, 2), packed + 24);
    launch.packed = NULL;
    assert_null(sl_kernel_word(&launch, kernel, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_handle_is_asked_for_once, start, stop),
        cmocka_unit_test_setup_teardown(the_number_is_the_kernels_not_the_handles, start, stop),
        cmocka_unit_test_setup_teardown(kernels_of_one_name_differ_by_layout, start, stop),
        cmocka_unit_test_setup_teardown(what_was_known_before_is_found_when_it_comes, start, stop),
        cmocka_unit_test_setup_teardown(many_kernels_keep_their_numbers, start, stop),
        cmocka_unit_test_setup_teardown(the_evidence_for_a_word_is_found_by_its_place, start, stop),
        cmocka_unit_test_setup_teardown(pointers_are_where_aligned_words_are, start, stop),
        cmocka_unit_test_setup_teardown(a_word_is_read_from_either_kind_of_parameters, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
