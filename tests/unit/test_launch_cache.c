/* Launches that are recognised by comparison: breaks if another launch is taken for the one that was
 * expected, or if the chunks of the entry are not those that the launch uses now. */
#include "launch/access.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core_fixture.h"

/* A pointer, a number, and a block with a pointer in the middle. */
struct arguments {
    uint64_t a, count;
    struct {
        uint32_t before;
        uint32_t padding;
        uint64_t b;
        uint32_t behind;
    } block;
};
static const uint32_t offsets[] = {0, 8, 16}, sizes[] = {8, 8, 20};
static const struct sl_host_kernel kernel = {"kernel", 3, offsets, sizes}, twin = {"twin", 3, offsets, sizes},
                                   swaps = {"swaps", 3, offsets, sizes}, *launched = &kernel;
static struct sl_core *core;
static struct sl_scanner *scanner;
static uint64_t first, second;

static int start(void **state)
{
    if (core_start(state)) return -1;
    core = sl_core_running();
    scanner = &core->scanner;
    first = core_take_at(1, SL_MIB);
    second = core_take_at(2, SL_MIB);
    return 0;
}

static struct sl_launch launch_of(struct arguments *arguments, void **parameters)
{
    parameters[0] = &arguments->a;
    parameters[1] = &arguments->count;
    parameters[2] = &arguments->block;
    return core_kernel(launched, parameters, 4);
}

/* Repeats the launch until it is expected and has an entry. Its symbol. */
static sl_symbol expect(struct arguments arguments)
{
    void *parameters[3];
    struct sl_launch launch = launch_of(&arguments, parameters);
    sl_symbol symbol = 0;
    for (int i = 0; i < 64; i++) {
        core_launch(launch);
        symbol = core_scan(&launch);
        if (i >= 8 && scanner->usage.cached) return symbol;
    }
    fail();
    return 0;
}

static const struct sl_launch_cache_entry *match(const struct sl_launch *launch, sl_symbol symbol)
{
    return sl_launch_cache_match(scanner, launch, symbol);
}

static const struct sl_launch_cache_entry *match_arguments(struct arguments arguments, sl_symbol symbol)
{
    void *parameters[3];
    struct sl_launch launch = launch_of(&arguments, parameters);
    return match(&launch, symbol);
}

static struct arguments usual(void)
{
    return (struct arguments){.a = first, .count = 1000, .block = {.before = 1, .b = second, .behind = 3}};
}

static void the_same_launch_is_recognised(void **state)
{
    (void)state;
    sl_symbol symbol = expect(usual());
    struct arguments arguments = usual();
    scanner->usage.access_count = 0;
    const struct sl_launch_cache_entry *entry = match_arguments(arguments, symbol);
    assert_non_null(entry);
    assert_int_equal(scanner->usage.access_count, 2);
    assert_int_equal(entry->chunk_count, 1); /* both are packed in one */
    assert_int_equal(sl_launch_cache_chunks(entry)[0], sl_arena_chunk(&core->arena, first));
    /* In one buffer, as some programs pass them. */
    struct sl_launch packed = core_kernel(&kernel, NULL, 4);
    packed.packed = &arguments;
    packed.packed_bytes = sizeof arguments;
    assert_ptr_equal(match(&packed, symbol), entry);
    packed.packed_bytes = 35; /* it ends within the block */
    assert_null(match(&packed, symbol));
}

/* Numbers are no addresses: what they are makes no other launch. */
static void other_numbers_are_the_same_launch(void **state)
{
    (void)state;
    sl_symbol symbol = expect(usual());
    struct arguments arguments = usual();
    arguments.count = UINT64_MAX;
    arguments.block.before = 77;
    arguments.block.behind = 78;
    assert_non_null(match_arguments(arguments, symbol));
    arguments.count = 4096; /* an address of nobody's */
    assert_non_null(match_arguments(arguments, symbol));
}

static void another_address_is_another_launch(void **state)
{
    (void)state;
    sl_symbol symbol = expect(usual());
    struct arguments arguments = usual();
    arguments.a = first + 8;
    assert_null(match_arguments(arguments, symbol));
    arguments = usual();
    arguments.block.b = first;
    assert_null(match_arguments(arguments, symbol));
    arguments = usual();
    arguments.block.b = 0;
    assert_null(match_arguments(arguments, symbol));
    arguments = usual();
    arguments.count = first; /* a number became an address of ours */
    assert_null(match_arguments(arguments, symbol));
    arguments = usual();
    memcpy(&arguments.block.before, &(uint64_t){second + 8}, 8);
    assert_null(match_arguments(arguments, symbol));
    arguments = usual();
    void *parameters[3];
    struct sl_launch lacking = launch_of(&arguments, parameters);
    parameters[0] = NULL;
    assert_null(match(&lacking, symbol));
}

/* What the stack held where the program fills nothing (test_stale_words.c). */
static void an_address_that_is_repeated_in_the_block(void **state)
{
    (void)state;
    sl_symbol symbol = expect(usual());
    struct arguments arguments = usual();
    memcpy(&arguments.block.before, &second, 8);
    assert_non_null(match_arguments(arguments, symbol));
    memcpy(&arguments.block.before, &first, 8);
    assert_non_null(match_arguments(arguments, symbol));
}

/* The entry is of one order; a launch in the other is the same one and leaves the entry as it is. */
static void addresses_that_change_places_in_the_block(void **state)
{
    (void)state;
    struct arguments arguments = usual(), swapped = usual();
    uint64_t third = core_take_at(9, SL_MIB);
    launched = &swaps; /* of which no word was seen to be stale */
    memcpy(&arguments.block.before, &third, 8);
    sl_symbol symbol = expect(arguments);
    memcpy(&swapped.block.before, &second, 8);
    swapped.block.b = third;
    void *parameters[3];
    struct sl_launch launch = launch_of(&swapped, parameters);
    assert_int_equal(core_scan(&launch), symbol);
    core_launch(launch);
    assert_non_null(match_arguments(arguments, symbol));
    assert_int_equal(sl_runtime_free(third, NULL), SL_OK);
    launched = &kernel;
}

static void a_word_of_the_block_that_is_stale(void **state)
{
    (void)state;
    sl_symbol symbol = expect(usual());
    struct arguments arguments = usual();
    memcpy(&arguments.block.before, &(uint64_t){second + 8}, 8);
    assert_null(match_arguments(arguments, symbol));
    struct sl_kernel *known = &scanner->kernels.kernels[core->symbols.records[symbol].kernel];
    for (uint32_t w = 0; w < known->word_count; w++)
        if (known->words[w].where == 2 << 16) known->words[w].live = known->words[w].other = UINT8_MAX;
    assert_non_null(match_arguments(arguments, symbol));
}

static void another_shape_is_another_launch(void **state)
{
    (void)state;
    sl_symbol symbol = expect(usual());
    struct arguments arguments = usual();
    void *parameters[3];
    const struct sl_launch right = launch_of(&arguments, parameters);
    struct sl_launch launch = right;
    assert_non_null(match(&launch, symbol));
    launch.function = (uintptr_t)&twin;
    assert_null(match(&launch, symbol));
    for (int d = 0; d < 3; d++) {
        launch = right;
        launch.grid[d]++;
        assert_null(match(&launch, symbol));
        launch = right;
        launch.block[d]++;
        assert_null(match(&launch, symbol));
    }
    launch = right;
    launch.shared_bytes = 1;
    assert_null(match(&launch, symbol));
    launch = right;
    launch.kind = SL_LAUNCH_MEMSET;
    assert_null(match(&launch, symbol));
    assert_null(match(&right, 0)); /* which has no entry */
    assert_null(match(&right, core->symbols.count));
}

/* A slot that is freed, or lies elsewhere, though the pointer is the same. */
static void what_lies_elsewhere_is_another_launch(void **state)
{
    (void)state;
    struct arguments arguments = usual();
    uint64_t gone = core_take_at(3, SL_MIB);
    arguments.a = gone;
    sl_symbol symbol = expect(arguments);
    uint64_t between = core_take_at(4, SL_MIB); /* changes nothing for the launch */
    assert_non_null(match_arguments(arguments, symbol));
    assert_int_equal(sl_runtime_free(gone, NULL), SL_OK);
    assert_null(match_arguments(arguments, symbol));
    assert_int_equal(core_take_at(5, SL_MIB), gone); /* another slot's */
    assert_null(match_arguments(arguments, symbol));
    uint64_t moved = core_take_at(3, SL_MIB); /* the slot lives again, and not there */
    assert_true(moved != gone);
    assert_null(match_arguments(arguments, symbol));
    assert_int_equal(sl_runtime_free(moved, NULL), SL_OK);
    assert_int_equal(sl_runtime_free(gone, NULL), SL_OK);
    assert_int_equal(sl_runtime_free(between, NULL), SL_OK);
}

/* The chunks must follow what is learned of the allocation. */
static void a_tensor_found_later(void **state)
{
    (void)state;
    uint64_t slab = core_take_at(6, 8 * SL_MIB);
    struct arguments whole = {.a = slab};
    expect(whole);
    assert_int_equal(scanner->usage.cached->chunk_count, 4);
    struct arguments inner = {.a = slab + 4 * SL_MIB};
    void *parameters[3];
    struct sl_launch launch = launch_of(&inner, parameters);
    core_scan(&launch);
    expect(whole);
    assert_int_equal(scanner->usage.cached->chunk_count, 2);
    assert_int_equal(sl_runtime_free(slab, NULL), SL_OK);
}

/* After a module is unloaded, its handle may be another kernel's. */
static void a_handle_used_again(void **state)
{
    (void)state;
    sl_symbol symbol = expect(usual());
    sl_runtime_functions_changed();
    assert_null(match_arguments(usual(), symbol));
    assert_int_equal(expect(usual()), symbol); /* it is looked up, and gets an entry again */
}

/* What a launch may touch through a table of pointers is not in its parameters, which are all that is
 * compared. */
static void what_comes_from_tables_is_not_recognised(void **state)
{
    (void)state;
    uint64_t table = core_take_at(7, 4096), target = core_take_at(8, 4096);
    core_launch((struct sl_launch){
        .kind = SL_LAUNCH_COPY, .spans = {{table, 8, true}}, .span_count = 1, .upload = {&target, table, 8}});
    struct arguments arguments = {.a = table};
    void *parameters[3];
    struct sl_launch launch = launch_of(&arguments, parameters);
    for (int i = 0; i < 8; i++) core_launch(launch);
    sl_symbol symbol = core_scan(&launch);
    assert_int_equal(scanner->usage.access_count, 2);
    assert_null(scanner->usage.cached);
    assert_null(match(&launch, symbol));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_launch_is_recognised),
        cmocka_unit_test(other_numbers_are_the_same_launch),
        cmocka_unit_test(another_address_is_another_launch),
        cmocka_unit_test(an_address_that_is_repeated_in_the_block),
        cmocka_unit_test(addresses_that_change_places_in_the_block),
        cmocka_unit_test(another_shape_is_another_launch),
        cmocka_unit_test(what_lies_elsewhere_is_another_launch),
        cmocka_unit_test(a_tensor_found_later),
        cmocka_unit_test(a_handle_used_again),
        cmocka_unit_test(what_comes_from_tables_is_not_recognised),
        cmocka_unit_test(a_word_of_the_block_that_is_stale),
    };
    return cmocka_run_group_tests(tests, start, core_stop);
}
