/* Sorting of nearly sorted records: right, stable, and complete for every kind of disorder. */
#include "tools/model/sorted.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

struct element {
    uint32_t number; /* where it was */
    uint64_t key;
    uint8_t more[3];
};

static void check(struct element *elements, size_t count)
{
    for (size_t i = 0; i < count; i++) elements[i].number = (uint32_t)i;
    assert_true(sort_by_key(elements, count, sizeof(*elements), offsetof(struct element, key)));
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += elements[i].number;
        if (!i) continue;
        assert_true(elements[i - 1].key <= elements[i].key);
        if (elements[i - 1].key == elements[i].key) assert_true(elements[i - 1].number < elements[i].number);
    }
    assert_true(sum == count * (count - 1) / 2 || !count);
}

enum { MOST = 3000 };
static struct element elements[MOST];

static void test_every_disorder(void **state)
{
    (void)state;
    srand(1);
    for (size_t count = 0; count <= 40; count++) {
        for (unsigned disorder = 0; disorder < 60; disorder++) {
            for (size_t i = 0; i < count; i++)
                elements[i].key = disorder < 20   ? (uint64_t)rand() % (disorder + 1)
                                  : disorder < 40 ? i + (uint64_t)rand() % (disorder - 19)
                                                  : count - i;
            check(elements, count);
        }
    }
}

/* As blocks of several threads: each ascends, and they overlap. */
static void test_interleaved_runs(void **state)
{
    (void)state;
    for (size_t run = 1; run < 300; run += 7) {
        for (size_t i = 0; i < MOST; i++) elements[i].key = i % run * 3 + i / run * run + (UINT64_C(1) << 40);
        check(elements, MOST);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_disorder),
                                       cmocka_unit_test(test_interleaved_runs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
