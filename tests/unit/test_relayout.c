/* Allocations come to lie beside what is used when they are, once a period was predicted from its first
 * symbol to its last; what is predicted to be used is where they then lie. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/forecast.h"
#include "core/planning.h"
#include "core/relayout.h"
#include "core_fixture.h"

#define LISTS 2
#define ENTRIES 12 /* of a third of a chunk each */
#define LAUNCHES 20
#define LASTING 30 /* of a chunk each */

static const uint32_t offsets[] = {0}, sizes[] = {8};
static const struct sl_host_kernel kernels[] = {{"one", 1, offsets, sizes}, {"other", 1, offsets, sizes}};
static uint64_t lasting[LASTING], lists[LISTS][ENTRIES];

static void launch(uint64_t *address, unsigned kernel)
{
    void *parameters[] = {address};
    core_launch(core_kernel(&kernels[kernel], parameters, 1));
}

static void take_lists_of(uint64_t bytes)
{
    for (int e = 0; e < ENTRIES; e++)
        for (int l = 0; l < LISTS; l++) lists[l][e] = core_take_at(100, bytes);
}

static void take_lists(void)
{
    take_lists_of(2 * SL_MIB / 3 & ~(uint64_t)511);
}

static void use_lists(void)
{
    for (int l = 0; l < LISTS; l++) {
        for (int i = 0; i < LAUNCHES; i++) launch(&lists[l][i % ENTRIES], (unsigned)l);
        for (int i = 0; i < LASTING / LISTS; i++) launch(&lasting[l * LASTING / LISTS + i], 0);
    }
}

static void free_lists(void)
{
    for (int e = 0; e < ENTRIES; e++)
        for (int l = 0; l < LISTS; l++) assert_int_equal(sl_runtime_free(lists[l][e], NULL), SL_OK);
}

/* Two lists are allocated in turn, in one loop; then one is used, and then the other. */
static void run_period(void)
{
    take_lists();
    use_lists();
    free_lists();
}

static bool shares_a_chunk(int e, int list, int other)
{
    const struct sl_arena *arena = &sl_core_running()->arena;
    for (int k = 0; k < ENTRIES; k++)
        if (sl_arena_chunk(arena, lists[list][e]) == sl_arena_chunk(arena, lists[other][k])) return true;
    return false;
}

static int mixed(void)
{
    int count = 0;
    for (int e = 0; e < ENTRIES; e++) count += shares_a_chunk(e, 0, 1);
    return count;
}

static struct sl_relayout relayout;

/* The core itself plans nothing: what its plans leave on the device would depend on how fast the machine is.
 */
static struct sl_core *without_plans(void)
{
    struct sl_core *core = sl_core_running();
    core->policy = sl_policy_traits(SL_POLICY_DEMAND);
    return core;
}

static void begin_and_end(struct sl_forecast *forecast)
{
    enum sl_status status = SL_OK;
    struct sl_core *core = forecast->core = sl_core_running();
    core->policy = sl_policy_traits(SL_POLICY_PLAN);
    if (sl_relayout_is_due(&relayout, &core->history)) sl_relayout(&relayout, core, NULL);
    assert_int_equal(sl_forecast_begin(forecast), SL_OK);
    while (!sl_forecast_step(forecast, SIZE_MAX, &status)) {
    }
    assert_int_equal(status, SL_OK);
    without_plans();
}

/* Launches take equally long, whatever the machine does meanwhile. Copies take so long that an entry stays
 * from one use to the next, and not so long that it does while the other list is used. */
static void set_speeds(struct sl_core *core)
{
    enum { LAUNCH_NS = 100 * SL_DURATION_STEP_NS };
    sl_symbol symbols[1000];
    uint64_t ns = 1;
    size_t count = sl_predictor_next(core->history.predictor, symbols, NULL, 1000);
    size_t period = sl_predictor_period(core->history.predictor);
    assert_in_range(period, 1, count);
    for (size_t i = 0; i < period; i++) {
        if (core->symbols.records[symbols[i]].kind != SL_SYMBOL_LAUNCH) continue;
        for (int n = 0; n < SL_DURATION_SAMPLES; n++)
            sl_durations_note(&core->sampling.durations, symbols[i], 0, 0, LAUNCH_NS);
        ns += LAUNCH_NS;
    }
    core->migrator.link_in_bytes_per_s = core->migrator.link_out_bytes_per_s =
        2 * 2 * SL_MIB * UINT64_C(1000000000) / (ns * 3 / 10);
}

/* Memory of another stream's would have to be waited for. */
static void streams_share_no_places(void **state)
{
    (void)state;
    struct sl_core *core = without_plans();
    struct sl_forecast forecast = {0};
    relayout = (struct sl_relayout){0};
    for (int l = 0; l < LASTING; l++) lasting[l] = core_take(2 * SL_MIB);
    for (int i = 0; i < 6; i++) run_period();
    set_speeds(core);
    sl_symbol next = sl_predictor_expected(core->history.predictor);
    assert_int_equal(core->symbols.records[next].kind, SL_SYMBOL_ALLOC);
    struct sl_slot *slot = &core->placement.slots[core->symbols.records[next].slot];
    uint64_t moves = core->placement.moves;
    slot->home = 2;
    begin_and_end(&forecast);
    assert_int_equal(relayout.tries, 1);
    assert_int_equal(relayout.done, 0);
    slot->home = 0;
    run_period();
    assert_int_equal(core->placement.moves, moves);
    sl_forecast_close(&forecast);
}

/* The forecast that moves them says already where launches will find them. */
static void what_is_used_together_comes_to_lie_together(void **state)
{
    (void)state;
    struct sl_core *core = without_plans();
    struct sl_forecast forecast = {0};
    relayout = (struct sl_relayout){0};
    assert_true(mixed() > ENTRIES / 2);
    assert_true(sl_relayout_is_due(&relayout, &core->history));
    set_speeds(core);
    begin_and_end(&forecast);
    assert_int_equal(relayout.tries, 1);
    assert_int_equal(relayout.done, 1);
    assert_false(sl_relayout_is_due(&relayout, &core->history));
    uint64_t strays = core->history.strays;
    run_period();
    assert_int_equal(mixed(), 0);
    assert_int_equal(core->history.strays, strays);
    for (int i = 0; i < LAUNCHES; i++) {
        sl_chunk chunk = forecast.window.accesses[forecast.window.launches[i].first_access].chunk;
        assert_int_equal(chunk, sl_arena_chunk(&core->arena, lists[0][i % ENTRIES]));
    }
    run_period();
    assert_int_equal(mixed(), 0);
    assert_int_equal(core->history.strays, strays);
    sl_forecast_close(&forecast);
}

/* Memory that is allocated keeps its place, so a forecast in the midst of a period waits until the lists are
 * freed. */
static void it_begins_where_the_least_is_allocated(void **state)
{
    (void)state;
    struct sl_core *core = without_plans();
    struct sl_forecast forecast = {0};
    relayout = (struct sl_relayout){0};
    take_lists();
    begin_and_end(&forecast);
    assert_int_equal(relayout.tries, 0);
    uint64_t due_at = relayout.due_at;
    use_lists();
    assert_false(sl_relayout_is_due(&relayout, &core->history));
    free_lists();
    assert_int_equal(core->history.fed, due_at);
    assert_true(sl_relayout_is_due(&relayout, &core->history));
    begin_and_end(&forecast);
    assert_int_equal(relayout.tries, 1);
    sl_forecast_close(&forecast);
}

static void it_is_tried_less_and_less(void **state)
{
    (void)state;
    struct sl_core *core = without_plans();
    struct sl_forecast forecast = {0};
    relayout = (struct sl_relayout){0};
    int tries = 0;
    for (int i = 0; i < 200; i++) {
        run_period();
        tries += sl_relayout_is_due(&relayout, &core->history);
        begin_and_end(&forecast);
        assert_int_equal(relayout.tries, tries);
    }
    assert_in_range(tries, 4, 8);
    sl_relayout_forget(&relayout);
    assert_true(sl_relayout_is_due(&relayout, &core->history));
    sl_forecast_close(&forecast);
}

/* Lives and uses are those of a whole period. */
static void a_period_that_was_not_seen_is_left_alone(void **state)
{
    (void)state;
    struct sl_core *core = without_plans();
    relayout = (struct sl_relayout){0};
    launch(&lasting[3], 1);
    run_period();
    assert_false(sl_relayout_is_due(&relayout, &core->history));
    for (int i = 0; i < 8 && !sl_relayout_is_due(&relayout, &core->history); i++) run_period();
    assert_true(sl_relayout_is_due(&relayout, &core->history));
    assert_true(core->history.streak >= sl_predictor_period(core->history.predictor));
}

static uint64_t scratch;

static void run_with_scratch(uint64_t *weights, int count, uint64_t *bias)
{
    scratch = core_take_at(200, SL_MIB);
    for (int w = 0; w < count; w++) {
        launch(&weights[w], 0);
        launch(bias, 1);
        launch(&scratch, 0);
    }
    assert_int_equal(sl_runtime_free(scratch, NULL), SL_OK);
}

/* The budget holds the weights and the chunk of the bias, and no third one, which the scratch had first. */
static void a_chunk_of_tiny_ones_has_room_for_others(void **state)
{
    (void)state;
    enum { WEIGHTS = 31 };
    if (!core_in_child("inline")) return;
    struct sl_core *core = without_plans();
    struct sl_forecast forecast = {0};
    relayout = (struct sl_relayout){0};
    uint64_t weights[WEIGHTS], bias = core_take(SL_TINY_BYTES);
    sl_chunk tiny = sl_arena_chunk(&core->arena, bias);
    for (int w = 0; w < WEIGHTS; w++) weights[w] = core_take(2 * SL_MIB);
    for (int i = 0; i < 6; i++) run_with_scratch(weights, WEIGHTS, &bias);
    set_speeds(core);
    assert_int_not_equal(sl_arena_chunk(&core->arena, scratch), tiny);
    begin_and_end(&forecast);
    assert_int_equal(relayout.done, 1);
    run_with_scratch(weights, WEIGHTS, &bias);
    assert_int_equal(sl_arena_chunk(&core->arena, scratch), tiny);
    assert_true(scratch >= bias + SL_TINY_BYTES + SL_TINY_BYTES / 8); /* and for more of the tiny */
    sl_forecast_close(&forecast);
    core_end_child(true);
}

/* Of a period that differs from the others in its sizes and in one launch. */
static void run_odd_period(uint32_t n)
{
    static const uint64_t lengths[] = {1250, 1000, 1310, 1200, 90};
    take_lists_of(lengths[n % 5] * 512);
    use_lists();
    launch(&lasting[n * n % LASTING], 1);
    free_lists();
}

static uint64_t *address_of; /* by symbol: of its first note that was seen; 0: none */
static int elsewhere;        /* notes with another address than that */

static uint64_t look(void *self, sl_symbol symbol, uint64_t note)
{
    (void)self;
    if (!note || sl_core_running()->symbols.records[symbol].kind != SL_SYMBOL_ALLOC) return note;
    if (!address_of[symbol]) address_of[symbol] = sl_note_address(note);
    elsewhere += address_of[symbol] != sl_note_address(note);
    return note;
}

static bool is_of_a_tiny_one(uint64_t note)
{
    return sl_core_running()->placement.slots[sl_note_slot(note)].bytes <= SL_TINY_BYTES;
}

/* Steps are predicted from any past one, so all of them get the places; and the places are for the largest
 * sizes, though the step that is predicted from was of tiny ones. */
static void where_sizes_vary_all_steps_get_them(void **state)
{
    (void)state;
    enum { LEARNED = 25 };
    if (!core_in_child("inline")) return;
    struct sl_core *core = without_plans();
    struct sl_forecast forecast = {0};
    relayout = (struct sl_relayout){0};
    for (int l = 0; l < LASTING; l++) lasting[l] = core_take(2 * SL_MIB);
    core->placement.names.vary = true;
    core->planning.relayout.tries = 1000; /* only those of this test */
    core->planning.relayout.anew_at = UINT64_MAX;
    for (uint32_t n = 0;
         n < LEARNED || !is_of_a_tiny_one(sl_predictor_expected_note(core->history.predictor)); n++)
        run_odd_period(n);
    assert_true(core->history.vary);
    assert_true(core->history.streak < sl_predictor_period(core->history.predictor));
    set_speeds(core);
    assert_true(sl_relayout_is_due(&relayout, &core->history));
    /* Not where allocations stray. */
    struct sl_history strayed = core->history;
    strayed.strayed_at[strayed.strays++ % SL_LAST_STRAYS] = strayed.fed;
    assert_false(sl_relayout_is_due(&relayout, &strayed));
    begin_and_end(&forecast);
    assert_int_equal(relayout.done, 1);
    address_of = calloc(core->symbols.count, sizeof *address_of);
    sl_predictor_renote(core->history.predictor, 4 * sl_predictor_period(core->history.predictor), look,
                        NULL);
    free(address_of);
    sl_forecast_close(&forecast);
    take_lists_of(1340 * 512); /* a little more */
    core_end_child(!elsewhere && !mixed());
}

static void begin_search(struct sl_relayout *own, struct sl_planner *planner)
{
    struct sl_core *core = sl_core_running();
    set_speeds(core);
    core->policy = sl_policy_traits(SL_POLICY_PLAN);
    sl_relayout(own, core, planner);
    without_plans();
    assert_non_null(own->job);
    assert_false(sl_relayout_is_due(own, &core->history));
    while (sl_planner_has_spare(planner)) sched_yield();
}

/* The planner's thread looks for the places while the program goes on. They are predicted from the begin of a
 * period on: if from elsewhere, allocations would stray. */
static void a_thread_looks_for_places_meanwhile(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    struct sl_core *core = without_plans();
    struct sl_relayout *own = &core->planning.relayout;
    struct sl_planner *planner;
    assert_int_equal(sl_planner_start(false, &planner), SL_OK);
    for (int l = 0; l < LASTING; l++) lasting[l] = core_take(2 * SL_MIB);
    for (int i = 0; i < 6; i++) run_period();
    /* What the program does otherwise meanwhile makes the places useless. */
    for (int forgets = 0; forgets < 2; forgets++) {
        begin_search(own, planner);
        if (forgets)
            sl_relayout_forget(own);
        else
            launch(&lasting[0], 1);
        for (int i = 0; i < 8; i++) run_period();
        sl_relayout_go_on(own, planner);
        assert_null(own->job);
        assert_int_equal(own->done, 0);
    }
    begin_search(own, planner);
    own->at_begin = false;
    uint64_t strays = core->history.strays;
    take_lists();
    sl_relayout_go_on(own, planner);
    assert_non_null(own->job);
    use_lists();
    free_lists();
    sl_relayout_go_on(own, planner);
    assert_null(own->job);
    assert_int_equal(own->done, 1);
    run_period();
    assert_int_equal(core->history.strays, strays);
    sl_planner_delete(planner);
    core_end_child(mixed() == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_share_no_places),
        cmocka_unit_test(what_is_used_together_comes_to_lie_together),
        cmocka_unit_test(it_begins_where_the_least_is_allocated),
        cmocka_unit_test(it_is_tried_less_and_less),
        cmocka_unit_test(a_period_that_was_not_seen_is_left_alone),
    };
    const struct CMUnitTest alone[] = {cmocka_unit_test(a_chunk_of_tiny_ones_has_room_for_others),
                                       cmocka_unit_test(where_sizes_vary_all_steps_get_them),
                                       cmocka_unit_test(a_thread_looks_for_places_meanwhile)};
    return cmocka_run_group_tests(alone, NULL, NULL) + cmocka_run_group_tests(tests, core_start, core_stop);
}
