/* From a profile to what the core knows: breaks if the same program is not predicted from its first symbol
 * on, if what was rehearsed is left behind as if it had happened, or if a profile that does not fit does
 * damage. Each test is a process of its own, since the core runs once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/learned.h"
#include "core_fixture.h"
#include "profile/profile.h"
#include "profile_sample.h"

#define LAYERS 20
#define LAYER_BYTES (4 * SL_MIB) /* 80 MiB, and the budget is 64 */
#define STEPS 4

static const uint32_t offsets[] = {0, 8}, sizes[] = {8, 8};
static const struct sl_host_kernel forward = {"forward", 2, offsets, sizes};
static char path[] = "/tmp/sluice-prime-XXXXXX";

static int make_file(void **state)
{
    (void)state;
    int fd = mkstemp(path);
    return fd < 0 || close(fd) ? -1 : 0;
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

static size_t prime(const struct sl_profile *profile)
{
    return sl_learned_prime(sl_core_running(), profile);
}

/* Lives of many sizes come and go between the layers, and each step's loss lives until the next one's.
 * `check`: all of it is predicted, and lies where it was found a place before. */
static void run(bool check)
{
    struct sl_core *core = sl_core_running();
    uint64_t layers[LAYERS], moves = core->placement.moves;
    uint64_t loss = 0;
    for (int l = 0; l < LAYERS; l++) layers[l] = core_take_at(1, LAYER_BYTES);
    for (int s = 0; s < STEPS; s++) {
        uint64_t last = loss;
        loss = core_take_at(9, 4);
        if (last && sl_runtime_free(last, NULL)) _exit(2);
        for (uint64_t l = 0; l < LAYERS; l++) {
            uint64_t scratch = core_take_at(2 + l % 3, (1 + l % 5) * 300000);
            void *parameters[] = {&layers[l], l ? &scratch : &loss};
            core_launch(core_kernel(&forward, parameters, 8));
            if (sl_runtime_free(scratch, NULL)) _exit(2);
            if (check) assert_int_equal(core->history.streak, core->history.fed);
        }
    }
    if (check) assert_int_equal(core->placement.moves, moves);
}

static void the_same_program_is_predicted_from_its_first_symbol_on(void **state)
{
    (void)state;
    if (core_in_child("inline")) {
        run(false);
        struct sl_core *core = sl_core_running();
        size_t count = core->history.fed;
        sl_symbol *head = malloc(count * sizeof *head);
        struct sl_profile profile;
        assert_int_equal(sl_predictor_begun(core->history.predictor, head, count), count);
        assert_int_equal(sl_learned_collect(core, head, count, count, &profile), SL_OK);
        assert_int_equal(sl_profile_write(path, &profile), SL_OK);
        sl_profile_free(&profile);
        free(head);
        core_end_child(true);
    }
    if (!core_in_child("inline")) return;
    struct sl_core *core = sl_core_running();
    struct sl_profile profile;
    assert_int_equal(sl_profile_read(path, &profile, NULL), SL_OK);
    assert_int_equal(prime(&profile), profile.string_count);
    assert_int_equal(core->history.fed, 0);
    assert_int_equal(core->placement.live_count, 0);
    assert_int_equal(core->placement.slot_count, sl_profile_slots(&profile));
    for (uint32_t s = 0; s < core->placement.slot_count; s++) /* the first of many that need a place */
        assert_int_not_equal(core->placement.slots[s].address, 0);
    assert_true(core->budget.pressure);
    core->planning.relayout.tries = 1000; /* no other layout is looked for */
    run(true);
    assert_int_equal(core->history.fed, profile.string_count);
    assert_int_equal(core->placement.slot_count, sl_profile_slots(&profile)); /* no others were needed */
    sl_profile_free(&profile);
    core_end_child(true);
}

static void check_access(const struct sl_access *access, const struct sl_profile_access *from)
{
    assert_int_equal(access->slot, from->slot);
    assert_int_equal(access->where, from->where);
    assert_int_equal(access->offset, from->offset);
    assert_int_equal(access->bytes, from->bytes);
    assert_int_equal(access->threads, from->threads);
    assert_int_equal(access->only_read, from->only_read);
    assert_int_equal((uint32_t)access->parameter, from->kernel ? from->where : 0);
    assert_int_equal(access->parameter >> 32 != 0, from->kernel != 0);
    assert_int_equal(access->at_least > 0, !from->bytes); /* each thread has some */
}

/* The sample: of its five slots only the first is given in its string. */
static void what_is_rehearsed_has_not_happened(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    struct sl_core *core = sl_core_running();
    struct sl_placement *placement = &core->placement;
    struct sl_profile profile = profile_sample();
    assert_int_equal(prime(&profile), 9);
    assert_int_equal(placement->slot_count, 5);
    assert_true(placement->slots[0].address != 0 && placement->slots[0].bytes == 8 * SL_MIB);
    for (uint32_t s = 1; s < 5; s++) assert_int_equal(placement->slots[s].address, 0);
    assert_true(placement->keys[1].freed && !placement->keys[0].freed);
    assert_true(placement->live_count == 0 && placement->live_bytes == 0 && placement->peak_live_bytes == 0);
    assert_true(placement->peak_placed_bytes == 0 && placement->live_at_peak == 0);
    assert_true(core->arena.peak_chunks_used == 0 && core->arena.virtual_bytes_used == 0);
    assert_int_equal(core->history.fed, 0);
    assert_int_equal(core->history.ticks.now, 0);
    assert_false(core->budget.pressure);
    assert_int_equal(placement->slots[1].interior_count, 1); /* where a launch was given a part of it */
    assert_int_equal(placement->slots[1].interior[0], 4096);
    sl_symbol next[9];
    assert_int_equal(sl_predictor_next(core->history.predictor, next, NULL, 9), 9);
    assert_int_equal(next[0], 0); /* a launch of which nothing is known */
    for (int i = 1; i < 9; i++) {
        const struct sl_symbol_record *record = &core->symbols.records[next[i]];
        const struct sl_profile_symbol *from = &profile.symbols[profile.string[i]];
        assert_int_equal(record->kind, from->kind);
        assert_int_equal(record->slot, from->slot);
        assert_int_equal(record->shape, from->shape);
        assert_int_equal(record->access_count, from->access_count);
        for (uint32_t a = 0; a < record->access_count; a++)
            check_access(&core->symbols.accesses[record->first_access + a],
                         &profile.accesses[from->first_access + a]);
    }
    assert_int_equal(core->scanner.extents.learned_symbols, core->symbols.count);
    sl_profile_free(&profile);
    core_end_child(true);
}

static void times_and_speeds_are_known_where_they_were_measured(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    struct sl_core *core = sl_core_running();
    struct sl_profile profile = profile_sample();
    uint64_t out = core->migrator.link_out_bytes_per_s;
    profile.properties.link_in_bytes_per_s = 5000000000;
    profile.properties.link_out_bytes_per_s = 0;
    profile.symbols[2].duration_ns = 64000;
    assert_int_equal(prime(&profile), 9);
    assert_int_equal(core->migrator.link_in_bytes_per_s, 5000000000);
    assert_int_equal(core->migrator.link_out_bytes_per_s, out);
    sl_symbol next[4];
    struct sl_durations *durations = &core->sampling.durations;
    assert_int_equal(sl_predictor_next(core->history.predictor, next, NULL, 4), 4);
    uint32_t kernel = core->symbols.records[next[2]].kernel;
    assert_int_equal(sl_durations_ns(durations, next[2], kernel), 64000);
    assert_int_equal(sl_durations_ns(durations, 0, kernel), 64000); /* as all launches of that kernel */
    assert_in_range(sl_durations_ns(durations, next[3], 0), 77000 - SL_DURATION_STEP_NS, 77000);
    assert_int_equal(sl_durations_of(durations, next[3])->begun, 1); /* one more time is better */
    assert_int_equal(sl_durations_ns(durations, 0, 0), 0);
    assert_int_equal(sl_durations_of(durations, 0)->begun, 0);
    sl_profile_free(&profile);
    core_end_child(true);
}

/* A string is within its bounds and nothing else: slots may be taken twice, or freed while they do not live.
 */
static void a_string_that_cannot_be_does_no_damage(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    struct sl_core *core = sl_core_running();
    struct sl_profile profile = profile_sample();
    static const uint32_t string[] = {4, 4, 1, 1, 4, 1, 1, 4, 1};
    assert_int_equal(profile.string_count, sizeof string / sizeof *string);
    memcpy(profile.string, string, sizeof string);
    assert_int_equal(prime(&profile), 9);
    assert_true(core->placement.live_count == 0 && core->placement.live_bytes == 0);
    sl_profile_free(&profile);
    uint64_t first = core_take_at(0x1234567890abcdef, 8 * SL_MIB), second = core_take_at(7, 1024);
    assert_true(first != second && core->placement.slot_count == 5);
    core_end_child(core->placement.live_count == 2);
}

/* The machine that wrote it may have had more memory. */
static void what_has_no_room_is_predicted_all_the_same(void **state)
{
    (void)state;
    setenv("SLUICE_HOST_LIMIT", "8M", 1);
    bool in_child = core_in_child("inline");
    unsetenv("SLUICE_HOST_LIMIT");
    if (!in_child) return;
    struct sl_core *core = sl_core_running();
    struct sl_profile profile = profile_sample();
    profile.keys[0].bytes = 100 * SL_MIB;
    assert_int_equal(prime(&profile), 9);
    assert_int_equal(core->placement.slots[0].address, 0);
    assert_int_equal(core->placement.live_count, 0);
    assert_int_equal(sl_history_expected(&core->history, 0), 0);
    sl_profile_free(&profile);
    uint64_t address;
    assert_int_equal(sl_runtime_alloc(100 * SL_MIB, 3, 0, NULL, &address), SL_ERR_NO_MEMORY);
    core_end_child(sl_runtime_alloc(8 * SL_MIB, 3, 0, NULL, &address) == SL_OK);
}

/* A kernel is known by its name and layout before any module with it is loaded. */
static void kernels_are_known_by_name_and_layout(void **state)
{
    (void)state;
    static const uint32_t other_offsets[] = {0, 16};
    static const struct sl_host_kernel same = {"forward", 2, offsets, sizes},
                                       longer = {"forward", 2, other_offsets, sizes};
    if (!core_in_child("inline")) return;
    struct sl_core *core = sl_core_running();
    struct sl_profile profile = profile_sample();
    assert_int_equal(prime(&profile), 9);
    uint32_t known = core->scanner.kernels.count;
    uint32_t number = sl_kernels_find(&core->scanner.kernels, (uint64_t)&same);
    assert_int_equal(core->scanner.kernels.count, known);
    sl_symbol next[3];
    assert_int_equal(sl_predictor_next(core->history.predictor, next, NULL, 3), 3);
    assert_int_equal(core->symbols.records[next[2]].kernel, number);
    const struct sl_access *access = &core->symbols.accesses[core->symbols.records[next[2]].first_access];
    assert_int_equal(access->parameter >> 32, number);
    assert_int_not_equal(sl_kernels_find(&core->scanner.kernels, (uint64_t)&longer), number);
    sl_profile_free(&profile);
    core_end_child(core->scanner.kernels.count == known + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_program_is_predicted_from_its_first_symbol_on),
        cmocka_unit_test(what_is_rehearsed_has_not_happened),
        cmocka_unit_test(times_and_speeds_are_known_where_they_were_measured),
        cmocka_unit_test(a_string_that_cannot_be_does_no_damage),
        cmocka_unit_test(what_has_no_room_is_predicted_all_the_same),
        cmocka_unit_test(kernels_are_known_by_name_and_layout),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
