/* Pinned memory: the rules, and where allocations that they name lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/backing.h"
#include "tests/host/backend_host.h"
#include "memory/placement.h"

#define CHUNK (4 * SL_MIB)

struct world {
    struct sl_backend backend;
    struct sl_arena arena;
    struct sl_placement placement;
};

static struct world *open_world(uint64_t limit, const char *rules)
{
    struct world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    assert_int_equal(sl_backend_host_new(SL_GIB, &world->backend), SL_OK);
    sl_arena_init(&world->arena, &world->backend, CHUNK);
    sl_placement_init(&world->placement, &world->arena, limit);
    assert_true(sl_backing_parse(rules, &world->placement.backing));
    return world;
}

static void close_world(struct world *world)
{
    const struct sl_host_books *books = sl_backend_host_books(&world->backend);
    sl_placement_close(&world->placement);
    sl_arena_close(&world->arena, false);
    assert_int_equal(books->pinned_bytes, 0);
    world->backend.close(world->backend.self);
    free(world);
}

static uint64_t place(struct world *world, uint64_t bytes, uint64_t site)
{
    uint32_t slot;
    assert_int_equal(sl_place(&world->placement, bytes, site, &slot), SL_OK);
    return world->placement.slots[slot].address;
}

static void unplace(struct world *world, uint64_t address)
{
    uint32_t slot;
    assert_int_equal(sl_unplace(&world->placement, address, &slot), SL_OK);
}

static bool is_pinned(const struct world *world, uint64_t address)
{
    return sl_arena_record(&world->arena, sl_arena_chunk(&world->arena, address))->pinned;
}

static void the_first_rule_that_fits_decides(void **state)
{
    (void)state;
    struct sl_backing backing;
    assert_true(sl_backing_parse("", &backing));
    assert_int_equal(sl_backing_of(&backing, 1, UINT64_MAX), SL_BACKING_UNIFIED);
    assert_true(
        sl_backing_parse("site:0xAb=unified,from:1G=unified,from:64M=pinned,site:1=pinned", &backing));
    assert_int_equal(sl_backing_of(&backing, 0xab, 64 * SL_MIB), SL_BACKING_UNIFIED);
    assert_int_equal(sl_backing_of(&backing, 2, SL_GIB), SL_BACKING_UNIFIED);
    assert_int_equal(sl_backing_of(&backing, 2, SL_GIB - 1), SL_BACKING_PINNED);
    assert_int_equal(sl_backing_of(&backing, 2, 64 * SL_MIB), SL_BACKING_PINNED);
    assert_int_equal(sl_backing_of(&backing, 2, 64 * SL_MIB - 1), SL_BACKING_UNIFIED);
    assert_int_equal(sl_backing_of(&backing, 1, 1), SL_BACKING_PINNED);
}

static void device_memory_goes_before_other_wishes(void **state)
{
    (void)state;
    struct sl_backing backing, learned;
    assert_true(sl_backing_parse("site:1=pinned,from:64M=pinned", &backing));
    assert_true(sl_backing_parse("site:5=device,site:6=pinned,from:1G=device", &learned));
    assert_int_equal(sl_backing_of(&learned, 5, 1), SL_BACKING_DEVICE);
    sl_backing_add_device(&backing, &learned);
    assert_int_equal(backing.count, 4); /* not the pinned one */
    assert_int_equal(sl_backing_of(&backing, 5, 1), SL_BACKING_DEVICE);
    assert_int_equal(sl_backing_of(&backing, 1, 1), SL_BACKING_PINNED);
    assert_int_equal(sl_backing_of(&backing, 7, SL_GIB), SL_BACKING_PINNED); /* what was asked for first */
    sl_backing_put_device(&backing, 1);
    assert_int_equal(sl_backing_of(&backing, 1, 1), SL_BACKING_DEVICE);
    for (uint64_t site = 100; site < 100 + 2 * SL_MOST_BACKING_RULES; site++)
        sl_backing_put_device(&backing, site);
    assert_int_equal(backing.count, SL_MOST_BACKING_RULES);
    assert_int_equal(sl_backing_of(&backing, 99 + 2 * SL_MOST_BACKING_RULES, 1), SL_BACKING_DEVICE);
    sl_backing_add_device(&backing, &learned); /* there is no room */
    assert_int_equal(backing.count, SL_MOST_BACKING_RULES);
}

static void what_is_no_rule_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"pinned",
                                      "from:1G",
                                      "from:1G=",
                                      "from:1G=pinned,",
                                      ",from:1G=pinned",
                                      "from:=pinned",
                                      "from:1X=pinned",
                                      "to:1G=pinned",
                                      "site:=pinned",
                                      "site:0x=pinned",
                                      "site:xyz=pinned",
                                      "site:12345678901234567=pinned",
                                      "from:1G=host",
                                      "from:1G=pinned from:2G=pinned",
                                      "site:00000000000000000000000000000000000000000000000000000001=pinned"};
    struct sl_backing backing = {.count = 7};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_false(sl_backing_parse(bad[i], &backing));
    assert_int_equal(backing.count, 7);
    char many[8192] = "";
    for (int i = 0; i <= SL_MOST_BACKING_RULES; i++) strcat(many, "from:1G=pinned,");
    many[strlen(many) - 1] = 0;
    assert_false(sl_backing_parse(many, &backing));
}

/* Small and large, beside each other; what is freed there is used again, and its place is the same. */
static void what_a_rule_names_lies_in_pinned_slabs(void **state)
{
    (void)state;
    struct world *world = open_world(UINT64_MAX, "site:1=pinned");
    uint64_t at[6];
    for (int i = 0; i < 6; i++) {
        uint64_t bytes = i / 2 == 0 ? 1000 : i / 2 == 1 ? 3 * SL_MIB : 70 * SL_MIB;
        at[i] = place(world, bytes, (uint64_t)(i % 2));
        assert_int_equal(is_pinned(world, at[i]), i % 2);
        if (i % 2) memset((void *)at[i], i, bytes);
    }
    assert_int_equal(world->placement.pinned_live_bytes, 1000 + 73 * SL_MIB);
    assert_int_equal(world->arena.pinned_bytes_used, (4 + 70) * SL_MIB);
    assert_int_equal(sl_arena_moving_bytes(&world->arena),
                     (2 + 4 + 70) * SL_MIB); /* small ones by themselves */
    uint64_t taken = world->arena.pinned_bytes;
    assert_int_equal(taken, sl_backend_host_books(&world->backend)->pinned_bytes);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 6; i++) unplace(world, at[i]);
        assert_int_equal(world->placement.pinned_live_bytes, 0);
        assert_int_equal(world->arena.pinned_bytes_used, 0);
        for (int i = 0; i < 6; i++)
            assert_int_equal(place(world,
                                   i / 2 == 0   ? 1000
                                   : i / 2 == 1 ? 3 * SL_MIB
                                                : 70 * SL_MIB,
                                   (uint64_t)(i % 2)),
                             at[i]);
    }
    assert_int_equal(world->arena.pinned_bytes, taken);
    assert_int_equal(sl_place_find(&world->placement, at[5] + 71 * SL_MIB), SL_NONE);
    close_world(world);
}

/* A run is pinned in one piece, also where slabs follow each other in address. */
static void no_allocation_lies_in_two_pinned_slabs(void **state)
{
    (void)state;
    struct world *world = open_world(UINT64_MAX, "from:0=pinned");
    uint64_t first = place(world, SL_GIB, 1), second = place(world, SL_GIB, 2);
    assert_true(is_pinned(world, first) && is_pinned(world, second));
    unplace(world, first);
    unplace(world, second);
    uint64_t both = place(world, SL_GIB + CHUNK, 3);
    assert_int_equal(world->arena.pinned_bytes, 3 * SL_GIB + CHUNK);
    uint64_t slab = sl_arena_slab(&world->arena, both) - 1;
    assert_int_equal(world->arena.slabs[slab].reservation_bytes, SL_GIB + CHUNK);
    close_world(world);
}

/* Pinned slabs come of host memory: where that is used up, there is none for anybody. */
static void the_host_limit_holds_for_both(void **state)
{
    (void)state;
    struct world *world = open_world(50 * SL_MIB, "site:1=pinned");
    uint32_t slot;
    uint64_t pinned = place(world, 20 * SL_MIB, 1);
    assert_true(is_pinned(world, pinned));
    assert_int_equal(world->arena.pinned_bytes, 32 * SL_MIB);
    assert_int_equal(sl_place(&world->placement, 20 * SL_MIB, 2, &slot), SL_ERR_NO_MEMORY);
    place(world, 12 * SL_MIB, 2);
    uint64_t rest = place(world, 12 * SL_MIB, 1);
    assert_true(is_pinned(world, rest));
    assert_int_equal(sl_place(&world->placement, 16 * SL_MIB, 1, &slot), SL_ERR_NO_MEMORY);
    assert_false(is_pinned(world, place(world, 5 * SL_MIB, 1))); /* none left of the one, but of the other */
    close_world(world);
}

static enum sl_status refuse(void *self, uint64_t bytes, uint64_t *address)
{
    (void)self, (void)bytes, (void)address;
    return SL_ERR_UNSUPPORTED;
}

static void without_pinned_memory_the_other_will_do(void **state)
{
    (void)state;
    struct world *world = open_world(UINT64_MAX, "from:0=pinned");
    world->backend.pinned_new = refuse;
    assert_false(is_pinned(world, place(world, 1000, 1)));
    assert_false(is_pinned(world, place(world, 20 * SL_MIB, 1)));
    assert_true(world->arena.pinned_refused);
    assert_int_equal(world->placement.pinned_live_bytes, 0);
    close_world(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_rule_that_fits_decides),
        cmocka_unit_test(device_memory_goes_before_other_wishes),
        cmocka_unit_test(what_is_no_rule_is_refused),
        cmocka_unit_test(what_a_rule_names_lies_in_pinned_slabs),
        cmocka_unit_test(no_allocation_lies_in_two_pinned_slabs),
        cmocka_unit_test(the_host_limit_holds_for_both),
        cmocka_unit_test(without_pinned_memory_the_other_will_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
