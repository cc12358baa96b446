/* Names where sizes vary: breaks if the sizes of the first step count as varying, if a name depends on a
 * size, or if two live allocations share one. */
#include "memory/site_names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

enum { SITES = 40, EACH = 3 };

/* A step in which each site allocates EACH times, a new size each time. Returns the allocations by its end.
 */
static uint64_t new_sizes(struct sl_site_names *names, uint64_t allocations)
{
    for (uint32_t site = 0; site < SITES; site++)
        for (int i = 0; i < EACH; i++)
            assert_true(sl_site_names_note_size(names, site, false, allocations++));
    return allocations;
}

static void sizes_of_the_first_step_do_not_vary(void **state)
{
    (void)state;
    struct sl_site_names names = {0};
    uint64_t allocations = new_sizes(&names, 0);
    assert_false(names.vary);
    /* Nor does a later step's other batch. */
    allocations = new_sizes(&names, 10 * allocations);
    assert_false(names.vary);
    /* But a third one's, and so on: each size of a site counts from its sixth further one on. */
    allocations = new_sizes(&names, allocations);
    assert_true(names.vary);
    sl_site_names_free(&names);
}

/* Sites that had other sizes before need no new one. */
static void all_sites_begin_to_vary_at_once(void **state)
{
    (void)state;
    struct sl_site_names names = {0};
    new_sizes(&names, 0);
    for (uint32_t site = 0; site < SITES - 1; site++) sl_site_names_note_free(&names, site);
    /* Until so many sites had so many other sizes that sizes vary. */
    for (int more = 0; more < 2 * EACH - 1; more++)
        for (uint32_t site = 1; site < SITES; site++)
            assert_true(sl_site_names_note_size(&names, site, false, 4000));
    for (uint32_t site = 1; !names.vary; site++)
        assert_true(sl_site_names_note_size(&names, site, false, 4000));
    assert_true(sl_site_varies(&names, SITES - 2));
    assert_false(sl_site_varies(&names, SITES - 1)); /* freed nothing */
    assert_false(sl_site_varies(&names, 0));         /* had no other size */
    sl_site_names_free(&names);
}

static void of_many_sites_a_part_has_to_vary(void **state)
{
    (void)state;
    struct sl_site_names names = {0};
    for (uint32_t site = 0; site < 400; site++)
        assert_true(sl_site_names_note_size(&names, site, false, site));
    for (int more = 0; more < 2; more++)
        for (uint32_t site = 0; site < 100; site++)
            assert_true(sl_site_names_note_size(&names, site, false, 4000));
    assert_false(names.vary);
    assert_true(sl_site_names_note_size(&names, 0, false, 4000));
    assert_true(names.vary);
    sl_site_names_free(&names);
}

/* Site 0 varies. */
static struct sl_site_names varying(bool tiny)
{
    struct sl_site_names names = {0};
    names.vary = true;
    assert_true(sl_site_names_note_size(&names, 0, tiny, 1));
    sl_site_names_note_free(&names, 0);
    assert_true(sl_site_names_note_size(&names, 0, tiny, 2));
    assert_true(sl_site_varies(&names, 0));
    return names;
}

static void a_site_varies_once_it_freed_and_had_another_size(void **state)
{
    (void)state;
    struct sl_site_names names = {0};
    names.vary = true;
    sl_site_names_note_free(&names, 7); /* not known yet */
    assert_true(sl_site_names_note_size(&names, 0, false, 1));
    assert_true(sl_site_names_note_size(&names, 0, false, 2));
    assert_false(sl_site_varies(&names, 0)); /* weights, which all live */
    sl_site_names_note_free(&names, 0);
    assert_true(sl_site_varies(&names, 0));
    assert_true(sl_site_names_note_size(&names, 1, false, 3));
    sl_site_names_note_free(&names, 1);
    assert_false(sl_site_varies(&names, 1)); /* of one size */
    assert_false(sl_site_varies(&names, 2));
    sl_site_names_free(&names);
}

static void the_lowest_number_is_taken_unless_another_is_wanted(void **state)
{
    (void)state;
    struct sl_site_names names = varying(false);
    for (uint32_t n = 0; n < 4; n++)
        assert_int_equal(sl_site_names_take(&names, 0, 10 + n, 100 * n, SL_NONE), n);
    for (uint32_t n = 0; n < 4; n++) sl_site_names_give_back(&names, 0, n);
    assert_int_equal(sl_site_names_take(&names, 0, 20, 350, 2), 2);
    assert_int_equal(sl_site_names_take(&names, 0, 21, 50, 2), 0);  /* 2 is in use */
    assert_int_equal(sl_site_names_take(&names, 0, 22, 50, 99), 1); /* there is no such */
    assert_int_equal(sl_site_names_take(&names, 0, 23, 50, SL_NONE), 3);
    assert_int_equal(sl_site_names_take(&names, 0, 24, 50, SL_NONE), 4);
    const struct sl_site_sizes *site = &names.sites[0];
    assert_int_equal(site->numbers[2].name, SL_NONE); /* the caller's to choose */
    assert_int_equal(site->numbers[2].live, 20);
    assert_int_equal(site->numbers[2].most_bytes, 350);
    assert_int_equal(site->numbers[1].most_bytes, 100);
    sl_site_names_free(&names);
}

/* As with the last step's batch, which is freed when the next one is there. */
static void tiny_ones_are_numbered_by_age(void **state)
{
    (void)state;
    struct sl_site_names names = varying(true);
    assert_int_equal(sl_site_names_take(&names, 0, 5, 8, SL_NONE), 0);
    for (uint32_t step = 0; step < 5; step++) {
        assert_int_equal(sl_site_names_take(&names, 0, 10 + step, 8, 0), 1);
        names.sites[0].numbers[1].name = 10;
        assert_int_equal(sl_site_names_freed(&names, 0, 0), 10); /* the youngest's */
        sl_site_names_give_back(&names, 0, 0);
        assert_int_equal(names.sites[0].numbers[0].live, 10 + step);
        assert_int_equal(names.sites[0].numbers[1].live, SL_NONE);
    }
    /* Where many are younger, the youngest takes the place. */
    for (uint32_t n = 1; n < 400; n++)
        assert_int_equal(sl_site_names_take(&names, 0, 100 + n, 8, SL_NONE), n);
    sl_site_names_give_back(&names, 0, 300);
    assert_int_equal(names.sites[0].numbers[300].live, 401);
    sl_site_names_give_back(&names, 0, 7);
    assert_int_equal(names.sites[0].numbers[7].live, 499);
    assert_int_equal(names.sites[0].numbers[8].live, 108);
    assert_int_equal(names.sites[0].numbers[398].live, SL_NONE);
    while (names.sites[0].live_count > 1) sl_site_names_give_back(&names, 0, 1);
    /* Until one is larger. */
    assert_true(sl_site_names_note_size(&names, 0, false, 0));
    assert_int_equal(sl_site_names_take(&names, 0, 30, 1 << 20, SL_NONE), 1);
    sl_site_names_give_back(&names, 0, 0);
    assert_int_equal(names.sites[0].numbers[0].live, SL_NONE);
    assert_int_equal(names.sites[0].numbers[1].live, 30);
    sl_site_names_free(&names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_of_the_first_step_do_not_vary),
        cmocka_unit_test(all_sites_begin_to_vary_at_once),
        cmocka_unit_test(of_many_sites_a_part_has_to_vary),
        cmocka_unit_test(a_site_varies_once_it_freed_and_had_another_size),
        cmocka_unit_test(the_lowest_number_is_taken_unless_another_is_wanted),
        cmocka_unit_test(tiny_ones_are_numbered_by_age),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
