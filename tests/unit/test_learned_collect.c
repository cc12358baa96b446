/* From what the core knows to a profile: breaks if the profile names what its string does not, if it names
 * something by a number that the next run counts otherwise, if a life at the program's end counts as short,
 * or if it is larger than a reader accepts. Each test is a process of its own, since the core runs once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/learned.h"
#include "core_fixture.h"
#include "profile/profile.h"

#define LAYERS 3
#define LAYER_BYTES (4 * SL_MIB)
enum { SETUP = LAYERS + 1, STEP = LAYERS + 2, STEPS = 4 }; /* symbols */

static const uint32_t offsets[] = {0, 16}, sizes[] = {8, 8};
static const struct sl_host_kernel unused = {"unused", 2, offsets, sizes}, fill = {"fill", 1, offsets, sizes},
                                   forward = {"forward", 2, offsets, sizes};
static uint64_t layers[LAYERS], scratch;

static void launch(const struct sl_host_kernel *kernel, uint64_t a, uint64_t b, uint32_t blocks)
{
    void *parameters[] = {&a, &b};
    core_launch(core_kernel(kernel, parameters, blocks));
}

static void set_up(void)
{
    for (int l = 0; l < LAYERS; l++) layers[l] = core_take_at(1, LAYER_BYTES);
    launch(&fill, layers[LAYERS - 1], 0, 8);
}

static void step(void)
{
    scratch = core_take_at(2, SL_MIB);
    for (int l = 0; l < LAYERS; l++) launch(&forward, layers[l], scratch, 8);
    assert_int_equal(sl_runtime_free(scratch, NULL), SL_OK);
}

/* The profile of `count` symbols from the program's first on. It can be read again, as it is. */
static struct sl_profile collect(size_t count, size_t steady)
{
    struct sl_profile profile, again;
    struct sl_core *core = sl_core_running();
    uint8_t *bytes;
    size_t size;
    sl_symbol *head = malloc(count * sizeof *head);
    assert_non_null(head);
    assert_int_equal(sl_predictor_begun(core->history.predictor, head, count), count);
    assert_int_equal(sl_learned_collect(core, head, count, steady, &profile), SL_OK);
    free(head);
    assert_int_equal(sl_profile_encode(&profile, &bytes, &size), SL_OK);
    assert_int_equal(sl_profile_decode(bytes, size, &again), SL_OK);
    assert_int_equal(again.string_count, profile.string_count);
    assert_memory_equal(again.string, profile.string, profile.string_count * sizeof *profile.string);
    sl_profile_free(&again);
    free(bytes);
    return profile;
}

static const struct sl_profile_symbol *at(const struct sl_profile *profile, size_t i)
{
    assert_in_range(i, 0, profile->string_count - 1);
    assert_in_range(profile->string[i], 0, profile->symbol_count - 1);
    return &profile->symbols[profile->string[i]];
}

/* A launch of kernel number `kernel` + 1 that uses these slots; SL_NONE: none. */
static void check_launch(const struct sl_profile *profile, size_t i, uint32_t kernel, uint32_t a, uint32_t b)
{
    const struct sl_profile_symbol *symbol = at(profile, i);
    const struct sl_profile_access *access = &profile->accesses[symbol->first_access];
    assert_int_equal(symbol->kind, SL_SYMBOL_LAUNCH);
    assert_int_equal(symbol->kernel, kernel);
    assert_int_equal(symbol->access_count, b == SL_NONE ? 1 : 2);
    assert_int_equal(access[0].slot, a);
    assert_int_equal(access[0].kernel, kernel);
    assert_int_equal(access[0].threads, 8 * 32);
    if (b != SL_NONE) assert_int_equal(access[1].slot, b);
}

static void check_life(const struct sl_profile *profile, size_t i, enum sl_symbol_kind kind, uint32_t slot)
{
    assert_int_equal(at(profile, i)->kind, kind);
    assert_int_equal(at(profile, i)->slot, slot);
}

static void the_string_names_all_that_happened(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    set_up();
    for (int s = 0; s < STEPS; s++) step();
    struct sl_profile profile = collect(SETUP + STEPS * STEP, SETUP + STEPS * STEP);
    assert_int_equal(profile.string_count, SETUP + STEPS * STEP);
    assert_int_equal(profile.symbols[0].kind, SL_SYMBOL_LAUNCH); /* of which nothing is known */
    assert_int_equal(profile.symbols[0].access_count, 0);
    assert_int_equal(profile.key_count, 2);
    assert_true(profile.keys[0].site == 1 && profile.keys[0].bytes == LAYER_BYTES);
    assert_true(profile.keys[0].slots == LAYERS && !profile.keys[0].short_lived);
    assert_true(profile.keys[1].site == 2 && profile.keys[1].bytes == SL_MIB);
    assert_true(profile.keys[1].slots == 1 && profile.keys[1].short_lived);
    assert_int_equal(profile.kernel_count, 2);
    assert_string_equal(profile.kernels[0].name, "fill");
    assert_string_equal(profile.kernels[1].name, "forward");
    assert_int_equal(profile.kernels[1].parameter_count, 2);
    assert_memory_equal(profile.kernels[1].offsets, offsets, sizeof offsets);
    assert_memory_equal(profile.kernels[1].sizes, sizes, sizeof sizes);
    for (uint32_t l = 0; l < LAYERS; l++) check_life(&profile, l, SL_SYMBOL_ALLOC, l);
    check_launch(&profile, LAYERS, 1, LAYERS - 1, SL_NONE);
    for (size_t s = 0; s < STEPS; s++) {
        size_t first = SETUP + s * STEP;
        check_life(&profile, first, SL_SYMBOL_ALLOC, LAYERS);
        for (uint32_t l = 0; l < LAYERS; l++) check_launch(&profile, first + 1 + l, 2, l, LAYERS);
        check_life(&profile, first + 1 + LAYERS, SL_SYMBOL_FREE, LAYERS);
        assert_memory_equal(&profile.string[first], &profile.string[SETUP], STEP * sizeof *profile.string);
    }
    sl_profile_free(&profile);
    core_end_child(true);
}

static void what_comes_behind_the_string_is_not_named(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    launch(&unused, core_take_at(9, 512), 0, 1); /* known, but named by nobody below */
    struct sl_core *core = sl_core_running();
    set_up();
    for (int s = 0; s < STEPS; s++) step();
    sl_symbol head[2 + SETUP];
    assert_int_equal(sl_predictor_begun(core->history.predictor, head, 2 + SETUP), 2 + SETUP);
    sl_durations_note(&core->sampling.durations, head[2 + LAYERS], 0, 0, 64000);
    struct sl_profile profile;
    assert_int_equal(sl_learned_collect(core, head + 2, SETUP, SETUP, &profile), SL_OK);
    assert_int_equal(profile.string_count, SETUP);
    assert_int_equal(profile.key_count, 1);
    assert_int_equal(profile.keys[0].site, 1);
    assert_int_equal(profile.kernel_count, 1);
    assert_string_equal(profile.kernels[0].name, "fill");
    assert_int_equal(profile.symbol_count, 1 + SETUP);
    assert_int_equal(at(&profile, LAYERS)->duration_ns, 64000);
    assert_int_equal(at(&profile, 0)->duration_ns, 0);
    sl_profile_free(&profile);
    core_end_child(true);
}

/* Whatever the program asked for: a reader refuses what goes on behind the end. */
static void a_range_ends_with_its_allocation(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    uint64_t block = core_take_at(1, 4096);
    core_launch((struct sl_launch){
        .kind = SL_LAUNCH_MEMSET, .spans = {{block + 1024, 100 * SL_MIB, true}}, .span_count = 1});
    struct sl_profile profile = collect(2, 0);
    const struct sl_profile_access *access = &profile.accesses[at(&profile, 1)->first_access];
    assert_int_equal(access->offset, 1024);
    assert_int_equal(access->bytes, 3072);
    sl_profile_free(&profile);
    core_end_child(true);
}

/* A slot is the n-th of its site and size, though the others are not named. */
static void slots_are_counted_by_site_and_size(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    set_up();
    struct sl_core *core = sl_core_running();
    sl_symbol head[SETUP];
    assert_int_equal(sl_predictor_begun(core->history.predictor, head, SETUP), SETUP);
    struct sl_profile profile;
    assert_int_equal(sl_learned_collect(core, head + LAYERS, 1, 1, &profile), SL_OK);
    assert_int_equal(profile.key_count, 1);
    assert_int_equal(profile.keys[0].slots, LAYERS);
    check_launch(&profile, 0, 1, LAYERS - 1, SL_NONE);
    sl_profile_free(&profile);
    core_end_child(true);
}

/* At the end of a program all is freed. */
static void only_what_is_freed_in_an_iteration_is_short_lived(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    set_up();
    for (int s = 0; s < STEPS; s++) step();
    for (int l = 0; l < LAYERS; l++) assert_int_equal(sl_runtime_free(layers[l], NULL), SL_OK);
    size_t steady = SETUP + STEPS * STEP;
    struct sl_profile profile = collect(steady + LAYERS, steady);
    assert_true(!profile.keys[0].short_lived && profile.keys[1].short_lived);
    sl_profile_free(&profile);
    profile = collect(steady + LAYERS, steady + 1);
    assert_true(profile.keys[0].short_lived && profile.keys[1].short_lived);
    sl_profile_free(&profile);
    profile = collect(steady + LAYERS, SETUP + STEP - 1); /* just before the first free */
    assert_true(!profile.keys[0].short_lived && !profile.keys[1].short_lived);
    sl_profile_free(&profile);
    core_end_child(true);
}

static void properties_are_the_runs(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    struct sl_core *core = sl_core_running();
    set_up();
    for (int s = 0; s < STEPS; s++) step();
    size_t count = SETUP + STEPS * STEP;
    struct sl_profile profile = collect(count, count);
    assert_true(profile.sluice && profile.sluice[0] && profile.command && profile.command[0]);
    assert_true(profile.written_s > 0 && profile.object_count > 0);
    assert_int_equal(profile.properties.budget_bytes, 64 * SL_MIB);
    assert_int_equal(profile.properties.chunk_bytes, 2 * SL_MIB);
    assert_int_equal(profile.properties.need_bytes, LAYERS * LAYER_BYTES + SL_MIB);
    assert_int_equal(profile.properties.fed, count);
    assert_in_range(profile.properties.predicted, STEP, count - SETUP - STEP);
    assert_int_equal(profile.properties.iterations, core->history.iterations);
    assert_int_equal(profile.properties.link_in_bytes_per_s, 0); /* it was not measured */
    assert_int_equal(core->migrator.link_sharers, 1);
    assert_int_equal(profile.properties.link_out_bytes_per_s, 0);
    for (size_t i = 0; i < count; i++) assert_int_equal(at(&profile, i)->duration_ns, 0);
    sl_profile_free(&profile);
    core->migrator.link_in_bytes_per_s = 11000000000;
    core->migrator.link_out_bytes_per_s = 12000000000;
    sl_symbol head[SETUP + 2];
    sl_predictor_begun(core->history.predictor, head, SETUP + 2);
    sl_durations_note(&core->sampling.durations, head[SETUP + 1], 0, 0, 64000);
    profile = collect(count, count);
    assert_int_equal(profile.properties.link_in_bytes_per_s, 11000000000);
    assert_int_equal(profile.properties.link_out_bytes_per_s, 12000000000);
    assert_int_equal(at(&profile, SETUP + 1)->duration_ns, 64000);
    assert_int_equal(at(&profile, SETUP + STEP + 1)->duration_ns, 64000);
    assert_int_equal(at(&profile, SETUP)->duration_ns, 0);
    sl_profile_free(&profile);
    core_end_child(true);
}

/* The string ends before what there is no room for. */
static void no_more_slots_than_a_reader_accepts(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    for (uint32_t i = 0; i < SL_PROFILE_MOST_SLOTS + 100; i++) core_take_at(1 + i % 7, 512);
    struct sl_profile profile = collect(SL_PROFILE_MOST_SLOTS + 100, 0);
    assert_int_equal(profile.string_count, SL_PROFILE_MOST_SLOTS);
    sl_profile_free(&profile);
    core_end_child(true);
}

static void no_more_kernels_than_a_reader_accepts(void **state)
{
    (void)state;
    enum { COUNT = SL_PROFILE_MOST_KERNELS + 10 };
    static struct sl_host_kernel kernels[COUNT];
    static char names[COUNT][16];
    if (!core_in_child("inline")) return;
    uint64_t block = core_take_at(1, 512);
    for (uint32_t k = 0; k < COUNT; k++) {
        snprintf(names[k], sizeof names[k], "kernel%u", k);
        kernels[k] = (struct sl_host_kernel){names[k], 1, offsets, sizes};
        launch(&kernels[k], block, 0, 1);
    }
    struct sl_profile profile = collect(1 + COUNT, 0);
    assert_int_equal(profile.kernel_count, SL_PROFILE_MOST_KERNELS);
    assert_int_equal(profile.string_count, 1 + SL_PROFILE_MOST_KERNELS);
    sl_profile_free(&profile);
    core_end_child(true);
}

static void no_more_symbols_than_a_reader_accepts(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    uint64_t block = core_take_at(1, 512);
    for (uint32_t i = 0; i < SL_PROFILE_MOST_SYMBOLS + 100; i++) launch(&fill, block, 0, 1 + i);
    struct sl_profile profile = collect(SL_PROFILE_MOST_SYMBOLS + 100, 0);
    assert_int_equal(profile.string_count,
                     SL_PROFILE_MOST_SYMBOLS - 1); /* and the one of which nothing is known */
    assert_int_equal(profile.symbol_count, SL_PROFILE_MOST_SYMBOLS);
    sl_profile_free(&profile);
    core_end_child(true);
}

static void no_more_accesses_than_a_reader_accepts(void **state)
{
    (void)state;
    enum { WORDS = 128, MOST = SL_PROFILE_MOST_ACCESSES / WORDS };
    if (!core_in_child("inline")) return;
    static struct sl_word words[WORDS];
    for (uint32_t w = 0; w < WORDS; w++)
        words[w] = (struct sl_word){.address = core_take_at(1, 512), .bytes = 512, .where = w};
    for (uint64_t i = 0; i < MOST + 10; i++) {
        struct sl_footprint *footprint = sl_footprint_new(1 + i, words, WORDS);
        assert_non_null(footprint);
        core_launch((struct sl_launch){.kind = SL_LAUNCH_GRAPH, .footprint = footprint});
        free(footprint);
    }
    struct sl_profile profile = collect(WORDS + MOST + 10, 0);
    assert_int_equal(profile.access_count, SL_PROFILE_MOST_ACCESSES);
    assert_int_equal(profile.string_count, WORDS + MOST);
    sl_profile_free(&profile);
    core_end_child(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_string_names_all_that_happened),
        cmocka_unit_test(what_comes_behind_the_string_is_not_named),
        cmocka_unit_test(a_range_ends_with_its_allocation),
        cmocka_unit_test(slots_are_counted_by_site_and_size),
        cmocka_unit_test(only_what_is_freed_in_an_iteration_is_short_lived),
        cmocka_unit_test(properties_are_the_runs),
        cmocka_unit_test(no_more_slots_than_a_reader_accepts),
        cmocka_unit_test(no_more_kernels_than_a_reader_accepts),
        cmocka_unit_test(no_more_symbols_than_a_reader_accepts),
        cmocka_unit_test(no_more_accesses_than_a_reader_accepts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
