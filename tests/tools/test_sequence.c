/* The least traffic of a sequence of launches: what counts of chunks whose allocations change. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tools/replay/sequence.h"

#define BLOCK SL_BLOCK_BYTES

/* Two chunks take turns, and one of them grows behind its first launch of each step. */
static uint64_t least(uint64_t first, uint64_t later, uint64_t budget_bytes)
{
    struct sequence *sequence = sequence_new();
    uint64_t bytes = 0;
    assert_non_null(sequence);
    sequence_alive(sequence, 7);
    sequence_alive(sequence, 8);
    for (int launch = 0; launch < 4; launch++) {
        sequence_launch(sequence, 1000);
        if (launch % 2)
            sequence_use(sequence, 8, 4 * BLOCK, true);
        else
            sequence_use(sequence, 7, launch ? later : first, true);
    }
    assert_true(sequence_least_bytes(sequence, budget_bytes, &bytes));
    sequence_delete(sequence);
    return bytes;
}

static void a_chunk_counts_with_what_is_in_it_at_all_of_its_uses(void **state)
{
    (void)state;
    assert_int_equal(least(4 * BLOCK, 4 * BLOCK, 8 * BLOCK), 0);
    uint64_t steady = least(4 * BLOCK, 4 * BLOCK, 4 * BLOCK), small = least(BLOCK, BLOCK, 4 * BLOCK);
    assert_true(steady > small && small > 0);
    assert_int_equal(least(BLOCK, 4 * BLOCK, 4 * BLOCK), small);
    assert_int_equal(least(4 * BLOCK, BLOCK, 4 * BLOCK), small);
    assert_int_equal(least(BLOCK, 4 * BLOCK, 5 * BLOCK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chunk_counts_with_what_is_in_it_at_all_of_its_uses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
