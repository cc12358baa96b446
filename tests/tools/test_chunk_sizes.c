/* The chunk sizes that `sluice plan` compares: breaks if a need leaves none, or only one where there is a
 * choice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tools/plan/configurations.h"

static void assert_sizes(uint64_t need_bytes, uint64_t recorded, const unsigned *mib, unsigned count)
{
    struct plan_wish wish = {.chunk_count = 0};
    plan_seek_chunks(&wish, need_bytes, recorded);
    assert_int_equal(wish.chunk_count, count);
    for (unsigned i = 0; i < count; i++) assert_int_equal(wish.chunks[i], mib[i] * SL_MIB);
}

static void sizes_follow_the_need(void **state)
{
    (void)state;
    assert_sizes(10 * SL_MIB, 0, (const unsigned[]){2}, 1);
    assert_sizes(100 * SL_MIB, 0, (const unsigned[]){2, 4}, 2);
    assert_sizes(6 * SL_GIB, 0, (const unsigned[]){8, 16, 32, 64}, 4);
    assert_sizes(6 * SL_GIB, 2 * SL_MIB, (const unsigned[]){2, 8, 16, 32, 64}, 5);
}

/* Of a need of 126 GiB even the largest chunks are many. */
static void however_large_the_need_two_sizes_are_compared(void **state)
{
    (void)state;
    assert_sizes(40 * SL_GIB, 0, (const unsigned[]){32, 64}, 2);
    assert_sizes(126 * SL_GIB, 32 * SL_MIB, (const unsigned[]){32, 64}, 2);
    assert_sizes(2048 * SL_GIB, 16 * SL_MIB, (const unsigned[]){16, 32, 64}, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_follow_the_need),
        cmocka_unit_test(however_large_the_need_two_sizes_are_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
