/* When a plan uses each chunk: breaks if a launch is lost, or one that has been is named as the next. */
#include "move/planned_uses.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "plan_check.h"

enum { LAUNCHES = 60, CHUNKS = 20, MOST = 4, SEEDS = 50 };

static struct sl_plan_launch launches[LAUNCHES];
static struct sl_plan_access accesses[LAUNCHES * MOST];

/* Launches that use some chunks each, by chance; the last chunk is nobody's. */
static struct sl_plan_input make(uint64_t seed)
{
    uint32_t count = 0;
    for (uint32_t l = 0; l < LAUNCHES; l++) {
        launches[l] = (struct sl_plan_launch){.first_access = count,
                                              .access_count = (uint32_t)random_below(&seed, MOST + 1)};
        sl_chunk first = (sl_chunk)random_below(&seed, CHUNKS - 1);
        for (uint32_t k = 0; k < launches[l].access_count; k++)
            accesses[count++].chunk = (first + k) % (CHUNKS - 1);
    }
    return (struct sl_plan_input){
        .launches = launches, .launch_count = LAUNCHES, .accesses = accesses, .chunk_count = CHUNKS};
}

static uint32_t look(sl_chunk chunk, uint32_t from)
{
    for (uint32_t l = from; l < LAUNCHES; l++)
        for (uint32_t k = 0; k < launches[l].access_count; k++)
            if (accesses[launches[l].first_access + k].chunk == chunk) return l;
    return UINT32_MAX;
}

static void the_next_use_is_found(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sl_plan_input input = make(seed);
        struct sl_planned_uses uses;
        assert_int_equal(sl_planned_uses_new(&input, &uses), SL_OK);
        for (sl_chunk c = 0; c < CHUNKS; c++)
            for (uint32_t l = 0; l <= LAUNCHES + 1; l++)
                assert_int_equal(sl_planned_uses_next(&uses, c, l), look(c, l));
        sl_planned_uses_free(&uses);
    }
}

static void what_is_not_known_is_not_used(void **state)
{
    (void)state;
    struct sl_planned_uses uses = {0};
    assert_int_equal(sl_planned_uses_next(&uses, 0, 0), UINT32_MAX);
    struct sl_plan_input input = make(1);
    assert_int_equal(sl_planned_uses_new(&input, &uses), SL_OK);
    assert_int_equal(sl_planned_uses_next(&uses, CHUNKS, 0), UINT32_MAX); /* newer than the plan */
    sl_planned_uses_free(&uses);
    sl_planned_uses_free(&uses);
    input.launch_count = input.chunk_count = 0;
    assert_int_equal(sl_planned_uses_new(&input, &uses), SL_OK);
    assert_int_equal(sl_planned_uses_next(&uses, 0, 0), UINT32_MAX);
    sl_planned_uses_free(&uses);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_next_use_is_found),
        cmocka_unit_test(what_is_not_known_is_not_used),
    };
    return cmocka_run_group_tests_name("planned uses", tests, NULL, NULL);
}
