/* A program whose tensors have other sizes in each step: breaks if its launches are not foreseen, if what it
 * fetched ahead is not what it uses, or if a larger tensor is taken for a smaller one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/core.h"
#include "core_fixture.h"

enum { LAYERS = 24, LENGTHS = 13, LEARNED = 20, STEPS = 40 };
/* In a step that is foreseen: how long launches take decides whether other layouts are tried, after each of
 * which some chunks are missed. While the program is learned, some 15 of a step are. */
enum { MOST_MISSES = 2, MOST_OF_LARGER = 3 /* where all are larger than ever */ };

static const uint32_t offsets[] = {0, 8, 16}, sizes[] = {8, 8, 8};
static const struct sl_host_kernel forward = {"forward", 3, offsets, sizes},
                                   backward = {"backward", 3, offsets, sizes},
                                   other_backward = {"backward_of_few", 3, offsets, sizes};

static uint64_t weights[LAYERS], activations[LAYERS + 1];
static uint64_t batch; /* the last one, which is freed when the next is there; 0: none */

static void launch(const struct sl_host_kernel *kernel, uint64_t *a, uint64_t *b, uint64_t *c, uint32_t grid)
{
    void *parameters[] = {a, b, c};
    core_launch(core_kernel(kernel, parameters, grid));
}

/* `length`: of the step's batch. Libraries take another kernel for short ones. */
static void step(uint32_t length)
{
    const struct sl_host_kernel *back = length < 4 ? &other_backward : &backward;
    activations[0] = core_take_at(500, length * 512);
    if (batch) assert_int_equal(sl_runtime_free(batch, NULL), SL_OK);
    batch = activations[0];
    for (int i = 0; i < LAYERS; i++) {
        activations[i + 1] = core_take_at(501, length * 48 * SL_KIB);
        launch(&forward, &weights[i], &activations[i], &activations[i + 1], 7 * length);
    }
    for (int i = LAYERS; i-- > 0;) {
        uint64_t gradient = core_take_at(502, length * 20 * SL_KIB);
        launch(back, &weights[i], &activations[i + 1], &gradient, 7 * length);
        assert_int_equal(sl_runtime_free(gradient, NULL), SL_OK);
        assert_int_equal(sl_runtime_free(activations[i + 1], NULL), SL_OK);
    }
}

/* Twice as many bytes as the budget, half of them weights. */
static void run(uint32_t from, uint32_t to)
{
    for (uint32_t s = from; s < to; s++) step(1 + (s * UINT32_C(2654435761) >> 16) % LENGTHS);
}

static void start(void)
{
    for (uint64_t i = 0; i < LAYERS; i++) weights[i] = core_take_at(600 + i, 4 * SL_MIB);
}

static void launches_are_foreseen(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    const struct sl_core *core = sl_core_running();
    start();
    run(0, LEARNED);
    assert_true(core->placement.names.vary);
    struct sl_predictor_counts before = sl_history_counts(&core->history);
    uint64_t misses = core_misses();
    run(LEARNED, STEPS);
    struct sl_predictor_counts after = sl_history_counts(&core->history);
    assert_int_equal(after.mispredictions, before.mispredictions);
    core_end_child(core_misses() - misses <= MOST_MISSES * (STEPS - LEARNED));
}

/* What is larger than ever before fits nowhere where it lay, and is fetched by plans of where it lies now. */
static void what_strays_is_planned_anew(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    start();
    run(0, LEARNED);
    uint64_t misses = core_misses();
    for (uint32_t length = LENGTHS + 1; length <= 2 * LENGTHS; length++) step(length);
    core_end_child(core_misses() - misses <= MOST_OF_LARGER * LENGTHS);
}

static sl_symbol symbol_of(uint64_t a, uint64_t b, uint64_t c, uint32_t grid)
{
    void *parameters[] = {&a, &b, &c};
    struct sl_launch launch = core_kernel(&forward, parameters, grid);
    /* As if nothing was expected. */
    return sl_access_scan(&sl_core_running()->scanner, &launch, SL_NONE, 0)->symbol;
}

static void a_launch_is_told_by_its_tensors(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    start();
    run(0, LEARNED);
    uint64_t one = core_take_at(501, 96 * SL_KIB), other = core_take_at(501, 480 * SL_KIB);
    sl_symbol known = symbol_of(weights[3], one, other, 7);
    assert_int_equal(symbol_of(weights[3], one, other, 14), known);
    assert_int_equal(symbol_of(weights[3], one, other + 512, 7), known); /* a view, by the length */
    assert_int_not_equal(symbol_of(weights[4], one, other, 7), known);
    assert_int_not_equal(symbol_of(weights[3], other, one, 7), known);
    assert_int_not_equal(symbol_of(weights[3] + 512, one, other, 7), known); /* weights have one size */
    core_end_child(true);
}

static sl_symbol symbol_of_footprint(uint64_t shape, uint64_t in_any_size, uint64_t address)
{
    struct sl_word word = {.address = address, .bytes = 4096};
    struct sl_footprint *footprint = sl_footprint_new(shape, &word, 1);
    footprint->in_any_size = in_any_size;
    struct sl_launch launch = {.kind = SL_LAUNCH_GRAPH, .footprint = footprint};
    sl_symbol symbol = sl_access_scan(&sl_core_running()->scanner, &launch, SL_NONE, 0)->symbol;
    free(footprint);
    return symbol;
}

/* A graph in another size is another graph. What is replayed as one, but is a launch, is not. */
static void a_footprint_says_whether_its_sizes_matter(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    start();
    run(0, LEARNED);
    uint64_t varies = core_take_at(501, 96 * SL_KIB);
    sl_symbol graph = symbol_of_footprint(1, 0, varies), launch = symbol_of_footprint(1, 9, varies);
    assert_int_not_equal(symbol_of_footprint(2, 0, varies), graph);
    assert_int_equal(symbol_of_footprint(2, 9, varies), launch);
    assert_int_equal(symbol_of_footprint(2, 9, varies + 512), launch);
    assert_int_not_equal(symbol_of_footprint(2, 10, varies), launch);
    core_end_child(true);
}

/* What is forgotten has its slots as names, until sizes are seen to vary again. */
static void names_are_forgotten(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    struct sl_core *core = sl_core_running();
    start();
    run(0, LEARNED);
    uint64_t kept = core_take_at(501, 96 * SL_KIB);
    uint32_t slot = sl_place_find(&core->placement, kept);
    assert_true(core->placement.slots[slot].number_of_site);
    sl_core_forget(core);
    assert_int_equal(sl_slot_name(&core->placement, slot), slot);
    assert_int_equal(sl_slot_named(&core->placement, slot), slot);
    assert_int_equal(sl_runtime_free(kept, NULL), SL_OK);
    run(0, LEARNED);
    struct sl_predictor_counts before = sl_history_counts(&core->history);
    run(LEARNED, STEPS);
    struct sl_predictor_counts after = sl_history_counts(&core->history);
    assert_int_equal(after.mispredictions, before.mispredictions);
    core_end_child(true);
}

/* What a launch uses is the tensor as large as it is now. */
static void the_present_size_counts(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    const struct sl_core *core = sl_core_running();
    start();
    run(0, STEPS);
    for (uint32_t length = 1; length < 200; length += 33) {
        uint64_t tensor = core_take_at(501, length * 48 * SL_KIB);
        launch(&forward, &weights[0], &tensor, &tensor, 7 * length);
        const struct sl_usage *usage = &core->scanner.usage;
        const struct sl_access *last = &usage->accesses[usage->access_count - 1];
        assert_int_equal(core->placement.slots[last->slot].address, tensor);
        assert_int_equal(sl_access_end(&core->placement, last), length * 48 * SL_KIB);
        assert_int_equal(sl_runtime_free(tensor, NULL), SL_OK);
    }
    core_end_child(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launches_are_foreseen),
        cmocka_unit_test(what_strays_is_planned_anew),
        cmocka_unit_test(the_present_size_counts),
        cmocka_unit_test(a_launch_is_told_by_its_tensors),
        cmocka_unit_test(names_are_forgotten),
        cmocka_unit_test(a_footprint_says_whether_its_sizes_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
