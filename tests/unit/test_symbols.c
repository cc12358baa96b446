/* Interned signatures: breaks if what differs gets one symbol, if what is equal gets two, or if a table that
 * is full is written beyond its end. */
#include "launch/symbols.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

enum { MOST_SYMBOLS = 1 << 18, MOST_ACCESSES = 1 << 21 };

static struct sl_symbols symbols;

static int start(void **state)
{
    (void)state;
    return sl_symbols_init(&symbols) ? 0 : -1;
}

static int stop(void **state)
{
    (void)state;
    sl_symbols_close(&symbols);
    sl_symbols_close(&symbols); /* zeroed by then */
    return 0;
}

static sl_symbol intern(uint64_t signature, struct sl_symbol_record record, const struct sl_access *accesses)
{
    return sl_symbols_intern(&symbols, signature, record, accesses);
}

/* Of the n-th of many. */
static uint64_t signature(uint64_t n)
{
    return sl_mix(n + 1);
}

static void a_symbol_keeps_what_it_stands_for(void **state)
{
    (void)state;
    struct sl_access accesses[] = {{.slot = 3, .offset = 4096, .where = 1, .only_read = 1}, {.slot = 7}};
    struct sl_symbol_record record = {
        .kind = SL_SYMBOL_LAUNCH, .shape = 99, .kernel = 5, .access_count = 2, .first_access = 12345};
    sl_symbol first = intern(signature(1), record, accesses);
    sl_symbol freed =
        intern(signature(2), (struct sl_symbol_record){.kind = SL_SYMBOL_FREE, .slot = 8}, NULL);
    sl_symbol second = intern(signature(3), record, accesses);
    accesses[0].slot = 0; /* they are copies */
    assert_true(first && freed && second && first != second && freed != first && freed != second);
    const sl_symbol launches[] = {first, second};
    for (int i = 0; i < 2; i++) {
        const struct sl_symbol_record *kept = &symbols.records[launches[i]];
        assert_true(kept->kind == SL_SYMBOL_LAUNCH && kept->shape == 99 && kept->kernel == 5);
        assert_int_equal(kept->access_count, 2);
        const struct sl_access *access = &symbols.accesses[kept->first_access];
        assert_true(access[0].slot == 3 && access[0].offset == 4096 && access[0].only_read);
        assert_int_equal(access[1].slot, 7);
    }
    assert_int_equal(symbols.records[freed].slot, 8);
}

static void an_equal_signature_is_the_same_symbol(void **state)
{
    (void)state;
    struct sl_access access = {.slot = 3};
    sl_symbol symbol =
        intern(signature(1), (struct sl_symbol_record){.shape = 1, .access_count = 1}, &access);
    uint32_t count = symbols.count, accesses = symbols.access_count;
    assert_int_equal(intern(signature(1), (struct sl_symbol_record){.shape = 2, .access_count = 1}, &access),
                     symbol);
    assert_int_equal(symbols.records[symbol].shape, 1);
    assert_true(symbols.count == count && symbols.access_count == accesses);
}

static uint64_t add(uint64_t signature, const struct sl_access *access)
{
    return sl_signature_add(signature, access->where, access->name, access->offset);
}

static void what_differs_has_another_signature(void **state)
{
    (void)state;
    const struct sl_access accesses[] = {{.name = 1, .where = 2, .offset = 512},
                                         {.name = 2, .where = 1, .offset = 512},
                                         {.name = 1, .where = 2, .offset = 1024},
                                         {.name = 1, .where = 3, .offset = 512}};
    uint64_t signatures[64], launch = sl_launch_signature(77);
    size_t count = 0;
    for (uint32_t slot = 0; slot < 3; slot++) {
        signatures[count++] = sl_slot_signature(SL_SYMBOL_ALLOC, slot);
        signatures[count++] = sl_slot_signature(SL_SYMBOL_FREE, slot);
    }
    signatures[count++] = sl_launch_signature(78);
    signatures[count++] = launch;
    for (int a = 0; a < 4; a++) {
        uint64_t one = add(launch, &accesses[a]);
        signatures[count++] = one;
        for (int b = 0; b <= a; b++) signatures[count++] = add(one, &accesses[b]);
    }
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++) /* a symbol's does not use the lowest bit */
            assert_true((signatures[i] | 1) != (signatures[j] | 1));
    const struct sl_access guessed = {.name = 1, .where = 2, .offset = 512, .at_least = 9, .threads = 4};
    assert_true(add(launch, &guessed) == add(launch, &accesses[0]));
}

static void the_order_of_accesses_makes_no_difference(void **state)
{
    (void)state;
    const struct sl_access one = {.name = 1, .where = 2, .offset = 512}, other = {.name = 9, .where = 2};
    uint64_t launch = sl_launch_signature(77);
    assert_true(add(add(launch, &one), &other) == add(add(launch, &other), &one));
    assert_true(add(add(launch, &one), &one) != launch); /* twice is not never */
    assert_true(sl_signature_add(launch, 3, one.name, one.offset) !=
                sl_signature_add(launch, 4, one.name, one.offset));
}

static void a_symbol_follows_its_names_to_other_slots(void **state)
{
    (void)state;
    struct sl_access accesses[] = {{.slot = 1, .name = 1, .where = 2}, {.slot = 5, .name = 4, .where = 3}};
    const struct sl_symbol_record two = {.access_count = 2}, one = {.access_count = 1};
    sl_symbol symbol = intern(signature(1), two, accesses);
    struct sl_symbol_record *record = &symbols.records[symbol];
    const struct sl_access *own = &symbols.accesses[record->first_access];
    record->recorded = 7;
    assert_int_equal(intern(signature(1), two, accesses), symbol);
    assert_int_equal(record->recorded, 7);
    assert_int_equal(intern(signature(1), one, &(struct sl_access){.slot = 8, .name = 1, .where = 2}),
                     symbol);
    assert_int_equal(own[0].slot, 1); /* with fewer accesses it may be about others */
    accesses[1].slot = 4;
    assert_int_equal(intern(signature(1), two, accesses), symbol);
    assert_true(own[0].slot == 1 && own[1].slot == 4 && own[1].name == 4);
    assert_int_equal(record->recorded, 0); /* the trace has the other slot */
    struct sl_access turned[] = {{.slot = 8, .name = 4, .where = 3}, {.slot = 9, .name = 1, .where = 2}};
    assert_int_equal(intern(signature(1), two, turned), symbol);
    assert_true(own[0].slot == 1 && own[1].slot == 4);
}

static void a_narrowed_symbol_is_found_by_both_signatures(void **state)
{
    (void)state;
    const struct sl_access accesses[] = {{.slot = 3}, {.slot = 4}, {.slot = 5}};
    struct sl_symbol_record record = {.kind = SL_SYMBOL_LAUNCH, .access_count = 3};
    sl_symbol symbol = intern(signature(1), record, accesses), other = intern(signature(2), record, accesses);
    symbols.records[symbol].cached = malloc(1); /* is not true any more */
    sl_symbols_narrow(&symbols, symbol, (const bool[]){true, false, true}, signature(3));
    const struct sl_symbol_record *kept = &symbols.records[symbol];
    assert_int_equal(kept->access_count, 2);
    assert_int_equal(symbols.accesses[kept->first_access].slot, 3);
    assert_int_equal(symbols.accesses[kept->first_access + 1].slot, 5);
    assert_null(kept->cached);
    assert_int_equal(intern(signature(1), record, accesses), symbol);
    assert_int_equal(intern(signature(3), record, accesses), symbol);
    sl_symbols_narrow(&symbols, other, (const bool[]){true, false, true}, signature(3));
    assert_int_equal(intern(signature(3), record, accesses), symbol); /* whose it is already */
}

static void a_widened_symbol_has_the_most_of_each(void **state)
{
    (void)state;
    struct sl_access accesses[] = {{.slot = 3, .bytes = 10}, {.slot = 4, .at_least = 20, .threads = 5}};
    sl_symbol symbol = intern(
        signature(1), (struct sl_symbol_record){.kind = SL_SYMBOL_LAUNCH, .access_count = 2}, accesses);
    const struct sl_access *own = &symbols.accesses[symbols.records[symbol].first_access];
    symbols.records[symbol].recorded = 7;
    accesses[0].bytes = 9;
    accesses[1].at_least = 19;
    sl_symbols_widen(&symbols, symbol, accesses);
    assert_int_equal(symbols.records[symbol].recorded, 7); /* nothing is new */
    accesses[0].bytes = 11;
    accesses[1] = (struct sl_access){.slot = 4, .at_least = 24, .threads = 6};
    sl_symbols_widen(&symbols, symbol, accesses);
    assert_int_equal(own[0].bytes, 11);
    assert_int_equal(own[1].at_least, 24);
    assert_int_equal(own[1].threads, 6);
    assert_int_equal(symbols.records[symbol].recorded, 0);
}

/* The first symbol stands for all that finds no place: nothing must be known of it. */
static void check_full(void)
{
    assert_true(symbols.full);
    assert_int_equal(symbols.records[0].access_count, 0);
    assert_int_equal(intern(signature(MOST_ACCESSES + 5), (struct sl_symbol_record){.access_count = 1},
                            &(struct sl_access){0}),
                     0);
}

static void beyond_the_most_symbols_there_is_none(void **state)
{
    (void)state;
    for (uint64_t n = 1; n < MOST_SYMBOLS; n++)
        assert_int_equal(intern(signature(n), (struct sl_symbol_record){.shape = n}, NULL), n);
    assert_false(symbols.full);
    assert_int_equal(intern(signature(MOST_SYMBOLS), (struct sl_symbol_record){0}, NULL), 0);
    check_full();
    for (uint64_t n = 1; n < MOST_SYMBOLS; n++) { /* all others are as they were */
        assert_int_equal(intern(signature(n), (struct sl_symbol_record){0}, NULL), n);
        assert_int_equal(symbols.records[n].shape, n);
    }
}

static void beyond_the_most_accesses_there_is_none(void **state)
{
    (void)state;
    enum { EACH = 1 << 15 };
    struct sl_access *accesses = calloc(EACH, sizeof *accesses);
    struct sl_symbol_record record = {.access_count = EACH};
    for (uint64_t n = 1; n <= MOST_ACCESSES / EACH; n++)
        assert_int_equal(intern(signature(n), record, accesses), n);
    assert_int_equal(symbols.access_count, MOST_ACCESSES);
    assert_false(symbols.full);
    assert_int_equal(intern(signature(MOST_ACCESSES), (struct sl_symbol_record){.access_count = 1}, accesses),
                     0);
    check_full();
    sl_symbol without = intern(signature(MOST_SYMBOLS), (struct sl_symbol_record){0}, NULL);
    assert_int_not_equal(without, 0); /* there is place for what needs none */
    free(accesses);
}

static void what_is_cleared_is_forgotten(void **state)
{
    (void)state;
    struct sl_access access = {.slot = 3};
    for (uint64_t round = 1; round <= 3; round++) {
        for (uint64_t n = 0; n < 3; n++) { /* in another order each time */
            sl_symbol symbol =
                intern(signature((round + n) % 3), (struct sl_symbol_record){.access_count = 1}, &access);
            assert_int_equal(symbol, 1 + n);
            assert_int_equal(symbols.records[symbol].first_access, n);
        }
        symbols.records[1].cached = malloc(1); /* freed with it */
        symbols.full = true;
        sl_symbols_clear(&symbols);
        assert_true(symbols.count == 1 && !symbols.access_count && !symbols.full);
    }
    assert_null(symbols.records[0].cached);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_symbol_keeps_what_it_stands_for, start, stop),
        cmocka_unit_test_setup_teardown(an_equal_signature_is_the_same_symbol, start, stop),
        cmocka_unit_test_setup_teardown(what_differs_has_another_signature, start, stop),
        cmocka_unit_test_setup_teardown(the_order_of_accesses_makes_no_difference, start, stop),
        cmocka_unit_test_setup_teardown(a_widened_symbol_has_the_most_of_each, start, stop),
        cmocka_unit_test_setup_teardown(a_symbol_follows_its_names_to_other_slots, start, stop),
        cmocka_unit_test_setup_teardown(a_narrowed_symbol_is_found_by_both_signatures, start, stop),
        cmocka_unit_test_setup_teardown(beyond_the_most_symbols_there_is_none, start, stop),
        cmocka_unit_test_setup_teardown(beyond_the_most_accesses_there_is_none, start, stop),
        cmocka_unit_test_setup_teardown(what_is_cleared_is_forgotten, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
