/* How much of the device a footprint needs: breaks if chunks that several words name count twice, if what a
 * word reaches ends elsewhere than for a launch, or if freed memory counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core_fixture.h"

#define CHUNK (2 * SL_MIB)

/* In a fit, as the shim asks for it. */
static uint64_t bytes_of(const struct sl_word *words, uint32_t count)
{
    struct sl_footprint *footprint = sl_footprint_new(1, words, count);
    assert_non_null(footprint);
    struct sl_fit fit = sl_runtime_fit(footprint);
    assert_int_equal(fit.budget_bytes, sl_core_running() ? 64 * SL_MIB : UINT64_MAX);
    free(footprint);
    return fit.bytes;
}

static void without_a_core_all_fits(void **state)
{
    (void)state;
    struct sl_word word = {.address = CHUNK, .bytes = CHUNK};
    assert_int_equal(bytes_of(&word, 1), 0);
}

static void chunks_count_once(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    uint64_t a = core_take(CHUNK), b = core_take(3 * CHUNK);
    struct sl_word words[] = {{.address = b, .bytes = CHUNK + 1},
                              {.address = a, .bytes = 8},
                              {.address = a + 8, .bytes = 8},
                              {.address = b + CHUNK, .bytes = 4}};
    assert_int_equal(bytes_of(words, 4), 3 * CHUNK);
    assert_int_equal(bytes_of(words, 0), 0);
    assert_int_equal(sl_runtime_free(a, NULL), SL_OK);
    core_end_child(bytes_of(words, 4) == 2 * CHUNK);
}

/* A word of unknown length reaches to the next one that is known, whichever comes first, or as far as the
 * threads do. */
static void inner_tensors_end_where_others_begin(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    uint64_t slab = core_take(16 * CHUNK);
    struct sl_word words[] = {
        {.address = slab}, {.address = slab + 4 * CHUNK}, {.address = slab + 12 * CHUNK}};
    assert_int_equal(bytes_of(words, 1), 16 * CHUNK);
    assert_int_equal(bytes_of(words, 3), 16 * CHUNK);
    assert_int_equal(bytes_of(words, 1), 4 * CHUNK); /* from now on */
    words[0].threads = 5 * CHUNK / 4;
    assert_int_equal(bytes_of(words, 1), 5 * CHUNK);
    /* A launch of it is of the same opinion. */
    struct sl_footprint *footprint = sl_footprint_new(1, words, 1);
    core_launch((struct sl_launch){.kind = SL_LAUNCH_GRAPH, .footprint = footprint});
    core_end_child(sl_core_running()->scanner.usage.chunk_count == 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_core_all_fits),
        cmocka_unit_test(chunks_count_once),
        cmocka_unit_test(inner_tensors_end_where_others_begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
