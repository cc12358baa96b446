/* Who may have how much: what one process is promised another does not take, and what a page says, whatever
 * it is, makes no sum wrap round. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "node/page.h"

static struct sl_node_table table;

static void set(const struct sl_node_entry *entries, uint32_t count)
{
    memset(&table, 0, sizeof(table));
    if (count) memcpy(table.entries, entries, count * sizeof(*entries));
}

/* What a rank of a job that has just started is given. */
static uint64_t part(uint64_t job, uint64_t size, uint64_t rank, uint64_t total_bytes)
{
    struct sl_node_entry self = {.process = 99, .job = job, .size = size, .rank = rank};
    sl_shares_join_job(&table, &self, total_bytes);
    return self.part_bytes;
}

/* What a process without a job may claim. */
static uint64_t left(uint64_t total_bytes)
{
    return sl_shares_most(&table, SL_NODE_SLOTS, &(struct sl_node_entry){.process = 99}, total_bytes);
}

static uint64_t most(uint32_t slot, uint64_t total_bytes)
{
    return sl_shares_most(&table, slot, &table.entries[slot], total_bytes);
}

static void each_of_a_job_gets_the_same(void **state)
{
    (void)state;
    uint64_t total = 100 * SL_MIB, share = 24 * SL_MIB;
    set(NULL, 0);
    assert_int_equal(part(7, 4, 3, total), share); /* whole blocks */
    /* The second finds less available, and has the same all the same. */
    set(&(struct sl_node_entry){.process = 1, .job = 7, .size = 4, .part_bytes = share}, 1);
    assert_int_equal(part(7, 4, 3, 60 * SL_MIB), share);
    assert_int_equal(part(7, 4, 3, 10 * SL_MIB), 10 * SL_MIB);
    /* Those who have not come count, too; of what nobody has claimed yet, half. */
    assert_int_equal(left(total), total - 4 * share / 2);
    for (uint64_t i = 0; i < 4; i++) {
        table.entries[i] = table.entries[0];
        table.entries[i].rank = i;
    }
    assert_int_equal(left(total), total - 4 * share / 2);
    assert_int_equal(part(8, 2, 3, total), 26 * SL_MIB); /* a second job runs, too */
    table.entries[2].claimed_bytes = share;
    assert_int_equal(left(total), total - share - 3 * share / 2);
    for (uint32_t i = 0; i < 4; i++) assert_int_equal(most(i, total), share);
    for (int i = 0; i < 4; i++) table.entries[i].claimed_bytes = share;
    assert_int_equal(left(total), total - 4 * share);
    assert_int_equal(part(8, 1, 3, total), total - 4 * share);
    for (uint32_t i = 0; i < 4; i++) assert_int_equal(most(i, total), share);
}

/* What others claimed of it is divided among all of its ranks. */
static void a_job_that_has_less_than_its_part_divides_it(void **state)
{
    (void)state;
    struct sl_node_entry rank = {.process = 1, .job = 7, .size = 2, .part_bytes = 50 * SL_MIB};
    set(&rank, 1);
    table.entries[1] = rank;
    table.entries[1].rank = 1;
    table.entries[2] = (struct sl_node_entry){.process = 3, .claimed_bytes = 40 * SL_MIB};
    assert_int_equal(most(0, 100 * SL_MIB), 30 * SL_MIB);
    table.entries[0].claimed_bytes = 50 * SL_MIB; /* before the other came */
    assert_int_equal(most(1, 100 * SL_MIB), 10 * SL_MIB);
    assert_int_equal(left(100 * SL_MIB), 0);
}

/* Started by hand, without a port or a number that would distinguish them: neither takes all from those who
 * come after, nor from the other. */
static void a_job_of_the_same_name_is_another_one(void **state)
{
    (void)state;
    uint64_t total = 96 * SL_MIB;
    struct sl_node_entry first = {.process = 1, .job = 7, .size = 2, .rank = 0}, second = first, last = first;
    set(NULL, 0);
    sl_shares_join_job(&table, &first, total);
    assert_int_equal(first.part_bytes, 48 * SL_MIB);
    set(&first, 1);
    sl_shares_join_job(&table, &second, total);
    assert_int_equal(second.part_bytes, 24 * SL_MIB);
    assert_int_not_equal(second.job, first.job);
    /* The second one's first came before the first one's last. */
    last.rank = 1;
    table.entries[1] = second;
    sl_shares_join_job(&table, &last, total);
    assert_int_equal(last.part_bytes, first.part_bytes);
    assert_int_equal(last.job, first.job);
    table.entries[2] = last;
    last = (struct sl_node_entry){.process = 4, .job = 7, .size = 2, .rank = 1};
    sl_shares_join_job(&table, &last, total);
    assert_int_equal(last.part_bytes, second.part_bytes);
    assert_int_equal(last.job, second.job);
    table.entries[3] = last;
    assert_int_equal(left(total), 24 * SL_MIB); /* kept: half of 2 * 48 and of 2 * 24 */
    assert_int_equal(part(9, 3, 0, total), 8 * SL_MIB);
}

static void what_is_kept_for_others_is_not_shared_out(void **state)
{
    (void)state;
    const struct sl_node_entry others[] = {
        {.process = 1, .claimed_bytes = 20 * SL_MIB},
        {.process = 2, .job = 7, .size = 2, .part_bytes = 10 * SL_MIB},
        {.process = 3, .pool = 5, .claimed_bytes = 1000 * SL_MIB}, /* of another limit */
    };
    set(others, 3);
    assert_int_equal(left(100 * SL_MIB), 70 * SL_MIB);
    assert_int_equal(part(8, 2, 3, 100 * SL_MIB), 34 * SL_MIB);
    assert_int_equal(part(8, 2, 3, 30 * SL_MIB), 0);
    assert_int_equal(most(0, 100 * SL_MIB), 90 * SL_MIB); /* what it has itself is not kept */
}

static void what_others_have_was_there_before(void **state)
{
    (void)state;
    const struct sl_node_entry others[] = {
        {.process = 1, .total_bytes = 100, .claimed_bytes = 30},
        {.process = 2, .total_bytes = 90, .claimed_bytes = 20},
        {.process = 3, .pool = 5, .total_bytes = 1, .claimed_bytes = 1000},
    };
    set(others, 0);
    assert_int_equal(sl_shares_total(&table, SL_NODE_SLOTS, 0, 40, UINT64_MAX), 40);
    assert_int_equal(sl_shares_total(&table, SL_NODE_SLOTS, 0, UINT64_MAX, 30), 30);
    set(others, 1);
    assert_int_equal(sl_shares_total(&table, SL_NODE_SLOTS, 0, 40, UINT64_MAX), 70); /* others took some */
    assert_int_equal(sl_shares_total(&table, 0, 0, 40, UINT64_MAX), 40);
    set(others, 3);
    assert_int_equal(sl_shares_total(&table, SL_NODE_SLOTS, 0, 60, UINT64_MAX), 90); /* not yet touched */
}

static void no_number_makes_a_sum_wrap_round(void **state)
{
    (void)state;
    const struct sl_node_entry wild[] = {
        {.process = 1, .claimed_bytes = UINT64_MAX, .total_bytes = 1},
        {.process = 2, .claimed_bytes = 5},
        {.process = 3, .job = UINT64_MAX, .size = UINT64_MAX, .part_bytes = UINT64_MAX / 2},
    };
    set(wild, 3);
    assert_int_equal(left(UINT64_MAX), 0);
    assert_int_equal(sl_shares_total(&table, SL_NODE_SLOTS, 0, 100, UINT64_MAX), 1);
    assert_int_equal(part(8, 2, 3, 100 * SL_MIB), 0);
    assert_int_equal(part(UINT64_MAX, 2, 3, 100 * SL_MIB), 100 * SL_MIB);
    assert_int_equal(part(UINT64_MAX, 2, 0, 100 * SL_MIB), 0); /* the next job: nothing is left */
}

static void a_device_has_users(void **state)
{
    (void)state;
    set((const struct sl_node_entry[]){{.process = 1, .device = {7, 0, 10}},
                                       {.process = 2, .device = {7, 30, 20}},
                                       {.process = 0, .device = {7, 0, 1000}}, /* has ended */
                                       {.process = 4, .device = {8, 0, 1000}},
                                       {.process = 5, .device = {7, 0, 40}}},
        5);
    struct sl_device_users users = sl_shares_on_device(&table, 4, 7);
    assert_int_equal(users.count, 2);
    assert_int_equal(users.sharing, 1);
    assert_int_equal(users.given_bytes, 30);
    assert_int_equal(users.held_bytes, 30);
    assert_int_equal(sl_shares_on_device(&table, SL_NODE_SLOTS, 7).count, 3);
    table.entries[0].device.held_bytes = table.entries[1].device.given_bytes = UINT64_MAX;
    users = sl_shares_on_device(&table, SL_NODE_SLOTS, 7);
    assert_int_equal(users.given_bytes, UINT64_MAX);
    assert_int_equal(users.held_bytes, UINT64_MAX);
    set((const struct sl_node_entry[]){{.process = 1}, {.process = 2}}, 2);
    assert_int_equal(sl_shares_on_device(&table, SL_NODE_SLOTS, 0).count, 0); /* unknown devices */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_device_has_users),
        cmocka_unit_test(each_of_a_job_gets_the_same),
        cmocka_unit_test(a_job_that_has_less_than_its_part_divides_it),
        cmocka_unit_test(a_job_of_the_same_name_is_another_one),
        cmocka_unit_test(what_is_kept_for_others_is_not_shared_out),
        cmocka_unit_test(what_others_have_was_there_before),
        cmocka_unit_test(no_number_makes_a_sum_wrap_round),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
