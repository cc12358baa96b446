/* Which allocations tensors with names lie in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tools/model/slot_names.h"

static struct model_slot slots[] = {
    {.bytes = 100, .address = 1000}, {.bytes = 50, .address = 1100}, {.bytes = 100, .address = 1000}};
static struct model_life lives[] = {{.born_ns = 10, .died_ns = 20, .slot = 0},
                                    {.born_ns = 10, .died_ns = MODEL_ALWAYS, .slot = 1},
                                    {.born_ns = 20, .died_ns = MODEL_ALWAYS, .slot = 2}};

static struct slot_names names_of(struct model_name *names, size_t count)
{
    struct model model = {0};
    struct slot_names found;
    model.slots.at = slots, model.slots.count = 3;
    model.lives.at = lives, model.lives.count = 3;
    model.names.at = names, model.names.count = count;
    assert_true(slot_names_find(&model, &found));
    return found;
}

static void a_tensor_lies_in_what_lived_at_its_address_then(void **state)
{
    (void)state;
    struct model_name named[] = {{15, 1000, 8, "before"}, {20, 1099, 1, "after"},  {15, 1100, 50, "beside"},
                                 {5, 1100, 50, "early"},  {30, 1150, 1, "behind"}, {30, 999, 1, "in front"}};
    struct slot_names names = names_of(named, 6);
    assert_int_equal(names.count, 3);
    assert_string_equal(slot_name(&names, 0), "before");
    assert_string_equal(slot_name(&names, 1), "beside");
    assert_string_equal(slot_name(&names, 2), "after");
    assert_null(slot_name(&names, 3));
    slot_names_free(&names);
}

/* Of a segment with many tensors the largest is told; PyTorch is asked more than once. */
static void the_largest_tensor_comes_first_and_each_once(void **state)
{
    (void)state;
    struct model_name named[] = {
        {30, 1100, 8, "bias"}, {30, 1120, 20, "weight"}, {40, 1100, 8, "bias"}, {40, 1120, 20, "weight"}};
    struct slot_names names = names_of(named, 4);
    size_t count;
    const struct slot_name *of = slot_names_of(&names, 1, &count);
    assert_int_equal(count, 2);
    assert_string_equal(of[0].text, "weight");
    assert_string_equal(of[1].text, "bias");
    assert_null(slot_names_of(&names, 0, &count));
    assert_int_equal(count, 0);
    slot_names_free(&names);
}

/* A file may say anything, and still ends. */
static void millions_of_tensors_in_millions_of_allocations(void **state)
{
    (void)state;
    enum { MANY = 200000 };
    struct model model = {0};
    struct slot_names found;
    model.slots.at = slots, model.slots.count = 3;
    model.lives.at = calloc(MANY, sizeof(*model.lives.at)), model.lives.count = MANY;
    model.names.at = calloc(MANY, sizeof(*model.names.at)), model.names.count = MANY;
    assert_non_null(model.lives.at);
    assert_non_null(model.names.at);
    for (uint32_t i = 0; i < MANY; i++) {
        model.lives.at[i] = (struct model_life){.born_ns = 10, .died_ns = MODEL_ALWAYS, .slot = i % 3};
        model.names.at[i] = (struct model_name){15, 1000 + i % 150, i, "weight"};
    }
    assert_true(slot_names_find(&model, &found));
    assert_in_range(found.count, 1, 1 << 20);
    slot_names_free(&found);
    free(model.lives.at);
    free(model.names.at);
}

static void without_names_there_is_nothing(void **state)
{
    (void)state;
    struct slot_names names = names_of(NULL, 0);
    assert_null(slot_name(&names, 0));
    slot_names_free(&names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tensor_lies_in_what_lived_at_its_address_then),
        cmocka_unit_test(the_largest_tensor_comes_first_and_each_once),
        cmocka_unit_test(millions_of_tensors_in_millions_of_allocations),
        cmocka_unit_test(without_names_there_is_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
