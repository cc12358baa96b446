/* The stretches of a chunk against a plain array of granules, in thousands of random steps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/map.h"
#include "memory/chunk_bitmap.h"

struct model {
    uint32_t granules;
    uint32_t *slot, *first; /* of each granule; SL_NONE: free */
};

static bool model_is_free(const struct model *model, uint32_t first, uint32_t count)
{
    if (first + count > model->granules) return false;
    for (uint32_t g = first; g < first + count; g++)
        if (model->slot[g] != SL_NONE) return false;
    return true;
}

/* Where the last free stretch of at least `count` granules begins. */
static bool model_gap(const struct model *model, uint32_t count, uint32_t *first)
{
    uint32_t end = model->granules;
    while (end > 0) {
        uint32_t begin = end;
        while (begin > 0 && model->slot[begin - 1] == SL_NONE) begin--;
        if (end - begin >= count) {
            *first = begin;
            return true;
        }
        end = begin;
        while (end > 0 && model->slot[end - 1] != SL_NONE) end--;
    }
    return false;
}

static void compare(const struct sl_chunk_bitmap *bitmap, const struct model *model, uint32_t granule)
{
    uint32_t first = SL_NONE;
    assert_int_equal(sl_chunk_bitmap_find(bitmap, granule, &first), model->slot[granule]);
    if (model->slot[granule] != SL_NONE) assert_int_equal(first, model->first[granule]);
}

static void run(uint32_t granules, int steps, uint32_t most, uint64_t seed)
{
    struct sl_chunk_bitmap *bitmap = sl_chunk_bitmap_new(granules);
    struct model model = {granules, malloc(granules * 4), malloc(granules * 4)};
    assert_non_null(bitmap);
    sl_chunk_bitmap_use(bitmap, granules);
    memset(model.slot, 0xff, granules * 4);
    uint32_t live = 0;
    for (int i = 0; i < steps; i++) {
        uint64_t r = seed = sl_mix(seed + 1);
        uint32_t count = 1 + (uint32_t)(r >> 40) % most, first = 0, wanted = 0;
        uint32_t granule = (uint32_t)(r >> 8) % granules;
        assert_int_equal(sl_chunk_bitmap_is_free(bitmap, granule, count),
                         model_is_free(&model, granule, count));
        compare(bitmap, &model, granule);
        if (r % 5 < 3) {
            bool found = model_gap(&model, count, &wanted);
            assert_int_equal(sl_chunk_bitmap_gap(bitmap, count, &first), found);
            if (!found) continue;
            assert_int_equal(first, wanted);
            if (r % 5 == 0 && model_is_free(&model, granule, count)) first = granule;
            sl_chunk_bitmap_take(bitmap, first, count, (uint32_t)i);
            for (uint32_t g = first; g < first + count; g++) {
                model.slot[g] = (uint32_t)i;
                model.first[g] = first;
            }
            live++;
        } else if (model.slot[granule] != SL_NONE) {
            uint32_t slot = model.slot[granule];
            first = model.first[granule];
            sl_chunk_bitmap_leave(bitmap, first);
            for (uint32_t g = first; g < granules && model.slot[g] == slot; g++) model.slot[g] = SL_NONE;
            live--;
        }
        assert_int_equal(bitmap->count, live);
    }
    for (uint32_t g = 0; g < granules; g++) compare(bitmap, &model, g);
    sl_chunk_bitmap_delete(bitmap);
    free(model.slot);
    free(model.first);
}

static void a_small_chunk(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) run(4096, 3000, 64, seed);
}

/* Stretches that lie words, and words of words, apart. */
static void a_large_chunk(void **state)
{
    (void)state;
    run(1 << 16, 3000, 20000, 1);
    run(1 << 19, 300, 200000, 2);
    run(1 << 16, 2000, 3, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_small_chunk), cmocka_unit_test(a_large_chunk)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
