/* A launch that is the expected one is recognised without a search; every other one must not be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core_fixture.h"
#include "launch/access.h"

static const uint32_t offsets[] = {0, 8}, sizes[] = {8, 8};
static const struct sl_host_kernel kernel = {"pair", 2, offsets, sizes};
static uint64_t first, second;

static int start(void **state)
{
    if (core_start(state)) return -1;
    first = core_take_at(1, SL_MIB);
    second = core_take_at(2, SL_MIB);
    return 0;
}

struct pair {
    uint64_t a, b;
    uint32_t grid;
};

static struct sl_launch launch_of(struct pair *pair, void **parameters)
{
    parameters[0] = &pair->a;
    parameters[1] = &pair->b;
    return core_kernel(&kernel, parameters, pair->grid);
}

static sl_symbol scan(struct pair pair)
{
    void *parameters[2];
    struct sl_launch launch = launch_of(&pair, parameters);
    return core_scan(&launch);
}

/* Repeats one launch until it is what is expected next. */
static sl_symbol expect(struct pair pair)
{
    struct sl_core *core = sl_core_running();
    for (int i = 0; i < 8; i++) {
        void *parameters[2];
        core_launch(launch_of(&pair, parameters));
    }
    sl_symbol symbol = scan(pair);
    assert_int_equal(symbol, sl_predictor_expected(core->history.predictor));
    assert_ptr_not_equal(core->scanner.usage.accesses, core->scanner.resolved);
    return symbol;
}

static uint64_t address_of(uint32_t access)
{
    struct sl_core *core = sl_core_running();
    return core->placement.slots[core->scanner.usage.accesses[access].slot].address +
           core->scanner.usage.accesses[access].offset;
}

static void the_expected_launch(void **state)
{
    (void)state;
    expect((struct pair){first, second + 512, 4});
    assert_int_equal(sl_core_running()->scanner.usage.access_count, 2);
    assert_int_equal(address_of(0), first);
    assert_int_equal(address_of(1), second + 512);
}

static void another_pointer(void **state)
{
    (void)state;
    sl_symbol symbol = expect((struct pair){first, second, 4});
    assert_int_not_equal(scan((struct pair){second, second, 4}), symbol);
    assert_int_equal(address_of(0), second);
    assert_int_not_equal(scan((struct pair){first, second + 8, 4}), symbol);
    assert_int_equal(address_of(1), second + 8);
}

/* The two tensors share a chunk. */
static void other_launches_use_the_same_chunks(void **state)
{
    (void)state;
    const struct sl_scanner *scanner = &sl_core_running()->scanner;
    uint64_t large = core_take(4 * SL_MIB), others = core_take(4 * SL_MIB);
    sl_symbol one = scan((struct pair){first, large, 4}), other = scan((struct pair){second, large, 4});
    assert_int_equal(sl_arena_chunk(&sl_core_running()->arena, first),
                     sl_arena_chunk(&sl_core_running()->arena, second));
    assert_int_not_equal(one, other);
    assert_true(sl_access_same_chunks(scanner, one, other));
    sl_symbol less = scan((struct pair){first, second, 4});
    assert_false(sl_access_same_chunks(scanner, one, less));
    assert_false(sl_access_same_chunks(scanner, less, one));
    assert_false(sl_access_same_chunks(scanner, one, scan((struct pair){first, others, 4})));
    assert_false(sl_access_same_chunks(scanner, one, UINT32_MAX));
    assert_false(sl_access_same_chunks(scanner, 0, 0));
}

static uint64_t least_of(sl_symbol symbol)
{
    struct sl_core *core = sl_core_running();
    return core->symbols.accesses[core->symbols.records[symbol].first_access].at_least;
}

/* A grid that depends on the data would undo the plan in every iteration. What is expected of the launch the
 * next time is the most that it was. */
static void another_grid(void **state)
{
    (void)state;
    sl_symbol symbol = expect((struct pair){first, second, 40});
    uint64_t least = least_of(symbol);
    assert_int_equal(scan((struct pair){first, second, 50}), symbol);
    assert_int_equal(least_of(symbol), least / 40 * 50);
    assert_int_equal(scan((struct pair){first, second, 30}), symbol);
    assert_int_equal(least_of(symbol), least / 40 * 50);
    assert_int_equal(sl_core_running()->scanner.usage.accesses[0].at_least, least / 40 * 30);
}

/* Where it is not expected it is another launch: a program may have both. */
static void another_grid_that_comes_alone(void **state)
{
    (void)state;
    sl_symbol symbol = scan((struct pair){second + 64, first, 7});
    assert_int_not_equal(scan((struct pair){second + 64, first, 8}), symbol);
}

static void another_kernel(void **state)
{
    (void)state;
    static const struct sl_host_kernel other = {"another", 2, offsets, sizes};
    sl_symbol symbol = expect((struct pair){first, second, 6});
    struct pair pair = {first, second, 6};
    void *parameters[2];
    struct sl_launch launch = launch_of(&pair, parameters);
    launch.function = (uint64_t)&other;
    assert_int_not_equal(core_scan(&launch), symbol);
}

static struct sl_launch copy_of(enum sl_launch_kind kind, uint64_t address, uint64_t bytes)
{
    return (struct sl_launch){
        .kind = kind, .spans = {{.address = address, .bytes = bytes, .write = true}}, .span_count = 1};
}

/* Of copies and memsets no kernel is known. */
static void equal_copies_use_the_same_chunks(void **state)
{
    (void)state;
    const struct sl_scanner *scanner = &sl_core_running()->scanner;
    uint64_t apart = core_take(4 * SL_MIB);
    struct sl_launch launches[] = {
        copy_of(SL_LAUNCH_COPY, first, 1000), copy_of(SL_LAUNCH_COPY, second, 1000),
        copy_of(SL_LAUNCH_COPY, apart, 1000), copy_of(SL_LAUNCH_MEMSET, second, 1000)};
    sl_symbol symbols[4];
    for (int i = 0; i < 4; i++) symbols[i] = core_scan(&launches[i]);
    assert_int_not_equal(symbols[0], symbols[1]);
    assert_true(sl_access_same_chunks(scanner, symbols[0], symbols[1]));
    assert_false(sl_access_same_chunks(scanner, symbols[0], symbols[2]));
    assert_false(sl_access_same_chunks(scanner, symbols[0], symbols[3]));
}

static void another_length(void **state)
{
    (void)state;
    struct sl_launch shorter = copy_of(SL_LAUNCH_COPY, first, 1000),
                     longer = copy_of(SL_LAUNCH_COPY, first, 3000),
                     elsewhere = copy_of(SL_LAUNCH_COPY, first + 8, 1000),
                     memset = copy_of(SL_LAUNCH_MEMSET, first, 1000);
    for (int i = 0; i < 8; i++) core_launch(shorter);
    sl_symbol symbol = core_scan(&shorter);
    assert_int_equal(symbol, sl_predictor_expected(sl_core_running()->history.predictor));
    assert_int_not_equal(core_scan(&elsewhere), symbol);
    assert_int_not_equal(core_scan(&memset), symbol);
    assert_int_equal(core_scan(&longer), symbol);
    struct sl_core *core = sl_core_running();
    assert_int_equal(core->symbols.accesses[core->symbols.records[symbol].first_access].bytes, 3000);
}

static void the_same_pointer_elsewhere(void **state)
{
    (void)state;
    sl_symbol symbol = expect((struct pair){first, 0, 4});
    assert_int_not_equal(scan((struct pair){0, first, 4}), symbol);
    assert_int_equal(sl_core_running()->scanner.usage.accesses[0].where, 1 << 16);
}

/* The slot of freed memory is remembered, but a pointer to it is no access. */
static void freed_memory(void **state)
{
    (void)state;
    uint64_t gone = core_take_at(3, SL_MIB);
    sl_symbol symbol = expect((struct pair){first, gone, 4});
    assert_int_equal(sl_runtime_free(gone, NULL), SL_OK);
    assert_int_not_equal(scan((struct pair){first, gone, 4}), symbol);
    assert_int_equal(sl_core_running()->scanner.usage.access_count, 1);
}

static struct sl_footprint *footprint_of(struct pair pair)
{
    void *parameters[2];
    struct sl_launch launch = launch_of(&pair, parameters);
    struct sl_footprint *footprint = sl_runtime_footprint(&launch);
    assert_non_null(footprint);
    return footprint;
}

static sl_symbol scan_footprint(const struct sl_footprint *footprint)
{
    struct sl_launch launch = {.kind = SL_LAUNCH_GRAPH, .footprint = footprint};
    return core_scan(&launch);
}

/* Each address of a parameter once, in the order of first mention, as far as the launch that reaches
 * farthest. */
static void footprints_that_are_joined(void **state)
{
    (void)state;
    struct sl_footprint *parts[] = {footprint_of((struct pair){second, first, 4}), NULL,
                                    footprint_of((struct pair){12345, first, 100})};
    struct sl_footprint *joined = sl_footprint_join((const struct sl_footprint *const *)parts, 3);
    assert_non_null(joined);
    assert_int_equal(joined->count, 2);
    assert_int_equal(joined->words[0].address, second);
    assert_int_equal(joined->words[1].address, first);
    assert_int_equal(joined->words[0].threads, 4 * 32);
    assert_int_equal(joined->words[1].threads, 100 * 32);
    sl_symbol symbol = scan_footprint(joined);
    assert_int_equal(sl_core_running()->scanner.usage.access_count, 2);
    assert_int_equal(address_of(0), second);
    assert_int_equal(sl_core_running()->scanner.usage.accesses[1].at_least, 100 * 32 * 4);
    assert_int_equal(scan_footprint(joined), symbol);
    free(parts[2]);
    parts[2] = footprint_of((struct pair){12345, first, 101});
    struct sl_footprint *other = sl_footprint_join((const struct sl_footprint *const *)parts, 3);
    assert_int_not_equal(scan_footprint(other), symbol);
    free(other);
    free(joined);
    free(parts[0]);
    free(parts[2]);
}

/* More addresses than one launch can have. */
static void a_large_footprint(void **state)
{
    (void)state;
    enum { WORDS = 3 * SL_MAX_WORDS };
    static struct sl_word words[WORDS];
    for (uint32_t w = 0; w < WORDS; w++)
        words[w] = (struct sl_word){.address = first + 8 * w, .bytes = 8, .where = w};
    struct sl_footprint *footprint = sl_footprint_new(1, words, WORDS);
    sl_symbol symbol = scan_footprint(footprint);
    assert_int_equal(sl_core_running()->scanner.usage.access_count, WORDS);
    assert_int_equal(address_of(WORDS - 1), first + 8 * (WORDS - 1));
    assert_int_equal(scan_footprint(footprint), symbol);
    free(footprint);
}

/* What a footprint names and was freed is nothing; given out again it is the new owner's. */
static void a_footprint_of_freed_memory(void **state)
{
    (void)state;
    uint64_t gone = core_take_at(4, SL_MIB);
    struct sl_footprint *footprint = footprint_of((struct pair){first, gone, 4});
    sl_symbol symbol = scan_footprint(footprint);
    assert_int_equal(sl_runtime_free(gone, NULL), SL_OK);
    assert_int_not_equal(scan_footprint(footprint), symbol);
    assert_int_equal(sl_core_running()->scanner.usage.access_count, 1);
    uint64_t other = core_take_at(5, SL_MIB);
    assert_int_equal(other, gone);
    uint64_t elsewhere = core_take_at(4, SL_MIB); /* the same slot at another address */
    scan_footprint(footprint);
    assert_int_equal(sl_core_running()->scanner.usage.access_count, 2);
    assert_int_equal(address_of(1), other);
    assert_int_equal(sl_runtime_free(other, NULL), SL_OK);
    scan_footprint(footprint);
    assert_int_equal(sl_core_running()->scanner.usage.access_count, 1);
    assert_int_equal(sl_runtime_free(elsewhere, NULL), SL_OK);
    free(footprint);
}

/* JIT compilers give many kernels one name. Reading the second one's parameter as long as the first one's
 * would go beyond it. */
static void a_name_used_by_two_kernels(void **state)
{
    (void)state;
    static const uint32_t none[] = {0}, block[] = {64}, word[] = {8};
    static const struct sl_host_kernel large = {"jit", 1, none, block}, small = {"jit", 1, none, word};
    uint64_t values[8] = {0};
    values[7] = first;
    void *parameters[] = {values};
    struct sl_launch launch = {.kind = SL_LAUNCH_KERNEL,
                               .function = (uint64_t)&large,
                               .grid = {1, 1, 1},
                               .block = {32, 1, 1},
                               .parameters = parameters};
    core_scan(&launch);
    assert_int_equal(sl_core_running()->scanner.usage.access_count, 1);
    launch.function = (uint64_t)&small;
    core_scan(&launch);
    assert_int_equal(sl_core_running()->scanner.usage.access_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_used_by_two_kernels),
        cmocka_unit_test(the_expected_launch),
        cmocka_unit_test(another_pointer),
        cmocka_unit_test(other_launches_use_the_same_chunks),
        cmocka_unit_test(equal_copies_use_the_same_chunks),
        cmocka_unit_test(another_grid),
        cmocka_unit_test(another_grid_that_comes_alone),
        cmocka_unit_test(another_kernel),
        cmocka_unit_test(another_length),
        cmocka_unit_test(the_same_pointer_elsewhere),
        cmocka_unit_test(freed_memory),
        cmocka_unit_test(footprints_that_are_joined),
        cmocka_unit_test(a_large_footprint),
        cmocka_unit_test(a_footprint_of_freed_memory),
    };
    return cmocka_run_group_tests(tests, start, core_stop);
}
