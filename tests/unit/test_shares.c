/* Who may have how much: what one process is promised another does not take, and what a page says, whatever
 * it is, makes no sum wrap round. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "node/shares.h"

static uint64_t fair(const struct sl_node_entry *others, uint32_t count, uint64_t job, uint64_t size,
                     uint64_t rank, uint64_t total_bytes)
{
    struct sl_node_entry self = {.job = job, .size = size, .rank = rank};
    return sl_shares_fair(others, count, &self, total_bytes);
}

static void each_of_a_job_gets_the_same(void **state)
{
    (void)state;
    struct sl_node_entry others[4] = {0};
    uint64_t total = 100 * SL_MIB, share = fair(others, 0, 7, 4, 3, total);
    assert_int_equal(share, 24 * SL_MIB); /* whole blocks */
    /* The second finds less available, and has the same all the same. */
    others[0] = (struct sl_node_entry){.process = 1, .job = 7, .size = 4, .promised_bytes = share};
    assert_int_equal(fair(others, 1, 7, 4, 3, 60 * SL_MIB), share);
    assert_int_equal(fair(others, 1, 7, 4, 3, 10 * SL_MIB), 10 * SL_MIB);
    /* Those who have not come count, too; of what nobody has taken yet, half. */
    assert_int_equal(sl_shares_kept(others, 1, 0, 0), 4 * share / 2);
    others[1] = others[2] = others[3] = others[0];
    for (uint64_t i = 0; i < 4; i++) others[i].rank = i;
    assert_int_equal(sl_shares_kept(others, 4, 0, 0), 4 * share / 2);
    others[2].taken_bytes = share;
    assert_int_equal(sl_shares_kept(others, 4, 0, 0), share + 3 * share / 2);
    for (int i = 0; i < 4; i++) others[i].taken_bytes = share;
    assert_int_equal(sl_shares_kept(others, 4, 0, 0), 4 * share);
    assert_true(fair(others, 4, 8, 1, 3, total) < share);
    others[0].taken_bytes = others[1].taken_bytes = others[2].taken_bytes = others[3].taken_bytes = 0;
    assert_int_equal(fair(others, 4, 8, 2, 3, total), 26 * SL_MIB); /* a second job runs, too */
    assert_int_equal(sl_shares_kept(others, 4, 0, 7), 0);
}

/* Started by hand, without a port or a number that would distinguish them: neither takes all from those who
 * come after, nor from the other. */
static void a_job_of_the_same_name_is_another_one(void **state)
{
    (void)state;
    uint64_t total = 96 * SL_MIB, first = fair(NULL, 0, 7, 2, 0, total);
    struct sl_node_entry others[4] = {
        {.process = 1, .job = 7, .size = 2, .rank = 0, .promised_bytes = first},
        {.process = 2, .job = 7, .size = 2, .rank = 1, .promised_bytes = first},
    };
    assert_int_equal(first, 48 * SL_MIB);
    uint64_t second = fair(others, 2, 7, 2, 0, total);
    assert_int_equal(second, 24 * SL_MIB);
    others[2] =
        (struct sl_node_entry){.process = 3, .job = 7, .size = 2, .rank = 0, .promised_bytes = second};
    assert_int_equal(sl_shares_kept(others, 3, 0, 0), 72 * SL_MIB); /* half of 2 * 48 and of 2 * 24 */
    assert_int_equal(fair(others, 3, 7, 2, 1, total), second);
    others[3] = others[2];
    others[3].rank = 1;
    assert_int_equal(sl_shares_kept(others, 4, 0, 0), 72 * SL_MIB);
    assert_int_equal(fair(others, 4, 8, 3, 0, total), 8 * SL_MIB);
    /* The second one's first came before the first one's last. */
    assert_int_equal(fair((struct sl_node_entry[]){others[0], others[2], others[1]}, 3, 7, 2, 1, total),
                     second);
}

static void what_is_kept_for_others_is_not_shared_out(void **state)
{
    (void)state;
    const struct sl_node_entry others[] = {
        {.process = 1, .promised_bytes = 20 * SL_MIB},
        {.process = 2, .job = 7, .size = 2, .promised_bytes = 10 * SL_MIB},
        {.process = 3, .pool = 5, .promised_bytes = 1000 * SL_MIB}, /* of another limit */
    };
    assert_int_equal(sl_shares_kept(others, 3, 0, 0), 30 * SL_MIB);
    assert_int_equal(fair(others, 3, 8, 2, 3, 100 * SL_MIB), 34 * SL_MIB);
    assert_int_equal(fair(others, 3, 8, 2, 3, 30 * SL_MIB), 0);
}

static void what_others_have_was_there_before(void **state)
{
    (void)state;
    const struct sl_node_entry others[] = {
        {.process = 1, .total_bytes = 100, .taken_bytes = 30},
        {.process = 2, .total_bytes = 90, .taken_bytes = 20},
        {.process = 3, .pool = 5, .total_bytes = 1, .taken_bytes = 1000},
    };
    assert_int_equal(sl_shares_total(others, 0, 0, 40), 40);
    assert_int_equal(sl_shares_total(others, 1, 0, 40), 70); /* others than we took some meanwhile */
    assert_int_equal(sl_shares_total(others, 3, 0, 60), 90); /* they have not touched all of it yet */
}

static void no_number_makes_a_sum_wrap_round(void **state)
{
    (void)state;
    const struct sl_node_entry wild[] = {
        {.process = 1, .promised_bytes = UINT64_MAX, .taken_bytes = UINT64_MAX, .total_bytes = 1},
        {.process = 2, .promised_bytes = 5, .taken_bytes = 5},
        {.process = 3, .job = 9, .size = UINT64_MAX, .promised_bytes = UINT64_MAX / 2},
    };
    assert_int_equal(sl_shares_kept(wild, 3, 0, 0), UINT64_MAX);
    assert_int_equal(sl_shares_total(wild, 3, 0, 100), 1);
    assert_int_equal(fair(wild, 3, 8, 2, 3, 100 * SL_MIB), 0);
    assert_int_equal(fair(wild, 3, 9, 2, 3, 100 * SL_MIB), 100 * SL_MIB);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_of_a_job_gets_the_same),
        cmocka_unit_test(a_job_of_the_same_name_is_another_one),
        cmocka_unit_test(what_is_kept_for_others_is_not_shared_out),
        cmocka_unit_test(what_others_have_was_there_before),
        cmocka_unit_test(no_number_makes_a_sum_wrap_round),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
