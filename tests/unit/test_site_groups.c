/* Which sites get chunks of their own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "memory/site_groups.h"

#define CHUNK ((uint64_t)2 << 20)

static uint32_t take(struct sl_site_groups *groups, uint64_t site, uint64_t bytes)
{
    uint32_t index = sl_site_groups_index(groups, site);
    assert_int_not_equal(index, SL_NONE);
    uint32_t group = sl_site_group(groups, index, bytes, CHUNK);
    sl_site_begins(groups, index, bytes);
    return group;
}

static void a_site_has_one_index(void **state)
{
    (void)state;
    struct sl_site_groups groups = {0};
    uint32_t first = sl_site_groups_index(&groups, 0), second = sl_site_groups_index(&groups, 77);
    assert_int_not_equal(first, second);
    for (uint64_t site = 1000; site < 2000; site++) sl_site_groups_index(&groups, site);
    assert_int_equal(sl_site_groups_index(&groups, 0), first);
    assert_int_equal(sl_site_groups_index(&groups, 77), second);
    sl_site_groups_free(&groups);
}

/* Every site that takes a little would waste most of a chunk. */
static void what_fits_into_one_chunk_shares_it(void **state)
{
    (void)state;
    struct sl_site_groups groups = {0};
    for (uint64_t site = 0; site < 100; site++) {
        assert_int_equal(take(&groups, site, CHUNK / 2), SL_NONE);
        assert_int_equal(take(&groups, site, CHUNK / 2), SL_NONE);
    }
    sl_site_groups_free(&groups);
}

/* Another site allocates, so that the next one does not follow its own. */
static void interrupt(struct sl_site_groups *groups)
{
    sl_site_begins(groups, sl_site_groups_index(groups, UINT64_MAX), 1);
}

static void what_fills_chunks_in_turns_has_its_own(void **state)
{
    (void)state;
    struct sl_site_groups groups = {0};
    take(&groups, 1, CHUNK - 1);
    take(&groups, 2, CHUNK - 1);
    assert_int_equal(take(&groups, 1, 2), 0);
    assert_int_equal(take(&groups, 2, 2), 1);
    assert_int_equal(take(&groups, 1, 1000), 0);
    sl_site_groups_free(&groups);
}

/* It lies by itself anyway. */
static void what_is_allocated_in_a_row_needs_none(void **state)
{
    (void)state;
    struct sl_site_groups groups = {0};
    take(&groups, 1, 1000);
    for (int i = 0; i < 10; i++) assert_int_equal(take(&groups, 2, CHUNK - 1), SL_NONE);
    take(&groups, 1, 1000);
    assert_int_equal(take(&groups, 2, CHUNK - 1), SL_NONE);
    sl_site_groups_free(&groups);
}

/* What lives at once counts, not what was ever allocated. */
static void what_is_freed_does_not_fill_chunks(void **state)
{
    (void)state;
    struct sl_site_groups groups = {0};
    for (int i = 0; i < 10; i++) {
        assert_int_equal(take(&groups, 1, CHUNK - 1), SL_NONE);
        interrupt(&groups);
        sl_site_ends(&groups, sl_site_groups_index(&groups, 1), CHUNK - 1);
    }
    sl_site_groups_free(&groups);
}

/* Else equal iterations would not find equal places. */
static void a_group_is_kept(void **state)
{
    (void)state;
    struct sl_site_groups groups = {0};
    take(&groups, 1, CHUNK - 1);
    interrupt(&groups);
    assert_int_equal(take(&groups, 1, CHUNK - 1), 0);
    for (int i = 0; i < 2; i++) sl_site_ends(&groups, sl_site_groups_index(&groups, 1), CHUNK - 1);
    for (int i = 0; i < 10; i++) assert_int_equal(take(&groups, 1, 1), 0);
    sl_site_groups_free(&groups);
}

static void there_are_only_so_many_groups(void **state)
{
    (void)state;
    struct sl_site_groups groups = {0};
    for (uint64_t site = 0; site < SL_SITE_GROUPS + 10; site++) {
        take(&groups, site, CHUNK - 1);
        interrupt(&groups);
        assert_int_equal(take(&groups, site, CHUNK - 1), site < SL_SITE_GROUPS ? site : SL_NONE);
    }
    sl_site_groups_free(&groups);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_site_has_one_index),
        cmocka_unit_test(what_fits_into_one_chunk_shares_it),
        cmocka_unit_test(what_fills_chunks_in_turns_has_its_own),
        cmocka_unit_test(what_is_allocated_in_a_row_needs_none),
        cmocka_unit_test(what_is_freed_does_not_fill_chunks),
        cmocka_unit_test(a_group_is_kept),
        cmocka_unit_test(there_are_only_so_many_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
