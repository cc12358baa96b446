/* The core on the host backend, driven as the shim drives it: a training loop whose memory exceeds the
 * budget. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/core.h"
#include "core/runtime.h"
#include "tests/host/backend_host.h"

#define LAYERS 12
#define PARTS 3 /* chunks for each layer's tensors */
#define STEPS 8

static const uint32_t offsets[] = {0, 8, 16, 24}, sizes[] = {8, 8, 8, 8};
static const struct sl_host_kernel forward_kernel = {"forward", 3, offsets, sizes};
static const struct sl_host_kernel backward_kernel = {"backward", 4, offsets, sizes};
static const struct sl_host_kernel update_kernel = {"update", 4, offsets, sizes};

struct model {
    uint64_t bytes;
    uint64_t *weights[LAYERS], *grads[LAYERS], *first[LAYERS], *second[LAYERS], *activations[LAYERS];
};

static uint64_t *take(uint64_t bytes, uint64_t site)
{
    uint64_t address;
    assert_int_equal(sl_runtime_alloc(bytes, site, 0, NULL, &address), SL_OK);
    return (uint64_t *)address;
}

/* Runs `body` as one launch. Its memory is touched between begin and end, as a device would. */
static void launch(const struct sl_host_kernel *kernel, uint64_t *a, uint64_t *b, uint64_t *c, uint64_t *d)
{
    void *parameters[] = {&a, &b, &c, &d};
    struct sl_launch l = {.kind = SL_LAUNCH_KERNEL,
                          .function = (uint64_t)kernel,
                          .grid = {1, 1, 1},
                          .block = {32, 1, 1},
                          .parameters = parameters};
    sl_runtime_launch_begin(&l);
    uint64_t *all[] = {a, b, c, d};
    for (uint32_t i = 0; i < kernel->parameter_count; i++)
        for (uint32_t j = 0; j < kernel->parameter_count; j++) all[i][j] = all[i][j] * 31 + all[j][i] + i;
    sl_runtime_launch_end(&l, true);
}

/* Only what the program wrote counts: new memory is set before it is used. */
static void set(uint64_t *address, int value)
{
    struct sl_launch l = {
        .kind = SL_LAUNCH_MEMSET, .spans = {{(uint64_t)address, 64, true}}, .span_count = 1};
    sl_runtime_launch_begin(&l);
    memset(address, value, 64);
    sl_runtime_launch_end(&l, true);
}

static void step(struct model *model, bool evaluate)
{
    for (int l = 0; l < LAYERS; l++) {
        model->activations[l] = take(model->bytes, 100);
        set(model->activations[l], l);
        launch(&forward_kernel, model->weights[l], model->activations[l],
               l ? model->activations[l - 1] : model->weights[0], NULL);
    }
    for (int l = LAYERS; l-- > 0 && !evaluate;)
        launch(&backward_kernel, model->weights[l], model->activations[l], model->grads[l],
               model->weights[l]);
    for (int l = 0; l < LAYERS; l++)
        assert_int_equal(sl_runtime_free((uint64_t)model->activations[l], NULL), SL_OK);
    for (int l = 0; l < LAYERS && !evaluate; l++)
        launch(&update_kernel, model->weights[l], model->grads[l], model->first[l], model->second[l]);
}

static uint64_t train(uint64_t bytes, int evaluate_every)
{
    static struct model model;
    model.bytes = bytes;
    for (int l = 0; l < LAYERS; l++) {
        uint64_t **tensors[] = {&model.weights[l], &model.grads[l], &model.first[l], &model.second[l]};
        for (int t = 0; t < 4; t++) {
            *tensors[t] = take(bytes, (uint64_t)t + 1);
            set(*tensors[t], t + l);
        }
    }
    for (int s = 0; s < STEPS; s++) {
        step(&model, false);
        if (evaluate_every && s % evaluate_every == 0) step(&model, true);
    }
    uint64_t hash = 0;
    for (int l = 0; l < LAYERS; l++)
        for (int i = 0; i < 4; i++) hash = sl_hash_word(hash, model.weights[l][i] + model.second[l][i]);
    return hash;
}

struct outcome {
    uint64_t hash, peak, wrong, calls_in_last_step, misses_last, stats_iterations, bytes_in;
    uint64_t ahead, late, late_prefetches; /* bytes fetched by plans, and how often late */
};

/* One core a process, so each case runs in a child and reports through a pipe. */
static struct outcome run(const char *policy, const char *daemon, const char *budget, uint64_t bytes,
                          int evaluate_every)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        setenv("SLUICE_POLICY", policy, 1);
        setenv("SLUICE_DAEMON", daemon, 1);
        setenv("SLUICE_CHUNK", "2M", 1);
        setenv("SLUICE_DEVICE_BUDGET", budget, 1);
        struct sl_backend backend;
        struct outcome outcome = {0};
        sl_runtime_load();
        assert_int_equal(sl_backend_host_new(4 * SL_GIB, &backend), SL_OK);
        struct sl_host_books *books = sl_backend_host_books(&backend);
        assert_int_equal(sl_runtime_start(&backend), SL_OK);
        outcome.hash = train(bytes, evaluate_every);
        struct sl_core *core = sl_core_running();
        outcome.stats_iterations = core->stats.iteration;
        outcome.misses_last = core->stats.iterations[core->stats.iteration - 1].demand_misses;
        outcome.bytes_in = sl_stats_bytes(core->stats.iterations[core->stats.iteration - 1].bytes_in);
        outcome.ahead = core->stats.total.bytes_in[SL_CAUSE_PLAN];
        outcome.late = core->stats.total.bytes_in[SL_CAUSE_LATE];
        outcome.late_prefetches = core->stats.total.late_prefetches;
        sl_runtime_stop(false);
        outcome.peak = books->peak_resident_bytes;
        outcome.wrong = books->wrong;
        ssize_t written = write(ends[1], &outcome, sizeof outcome);
        _exit(written == sizeof outcome ? 0 : 1);
    }
    close(ends[1]);
    struct outcome outcome = {0};
    assert_int_equal(read(ends[0], &outcome, sizeof outcome), sizeof outcome);
    close(ends[0]);
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    assert_int_equal(outcome.wrong, 0);
    return outcome;
}

/* 12 layers of 5 tensors of 3 chunks: 180 chunks, 360 MiB. */
#define TENSOR (PARTS * 2 * SL_MIB)

static void results_do_not_depend_on_the_budget(void **state)
{
    (void)state;
    static const char *const budgets[] = {"180M", "120M", "60M"}, *const daemons[] = {"inline", "thread"};
    static const char *const policies[] = {"plan", "next", "belady", "lru", "demand"};
    struct outcome whole = run("plan", "inline", "400M", TENSOR, 3);
    for (int b = 0; b < 3; b++)
        for (int d = 0; d < 2; d++)
            for (int p = 0; p < 5; p++) {
                struct outcome part = run(policies[p], daemons[d], budgets[b], TENSOR, 3);
                assert_int_equal(part.hash, whole.hash);
                assert_true(part.peak <= strtoull(budgets[b], NULL, 10) * SL_MIB);
            }
}

static void the_steady_state_has_no_misses(void **state)
{
    (void)state;
    struct outcome planned = run("plan", "inline", "180M", TENSOR, 0);
    struct outcome demand = run("demand", "inline", "180M", TENSOR, 0);
    assert_true(planned.stats_iterations >= STEPS - 2);
    assert_int_equal(planned.misses_last, 0);
    assert_true(demand.misses_last > 0);
    assert_true(planned.bytes_in <= demand.bytes_in);
}

/* All three plan the same victims, and differ in when chunks come. */
static void policies_differ_in_how_far_ahead_they_bring(void **state)
{
    (void)state;
    struct outcome plan = run("plan", "inline", "180M", TENSOR, 0);
    struct outcome next = run("next", "inline", "180M", TENSOR, 0);
    struct outcome belady = run("belady", "thread", "180M", TENSOR, 0);
    assert_int_equal(belady.ahead, 0);
    assert_true(belady.late > 0);
    assert_int_equal(belady.late_prefetches, belady.late / (2 * SL_MIB));
    assert_int_equal(next.misses_last, 0);
    assert_int_equal(belady.misses_last, 0);
    assert_true(plan.late < next.late && next.late < belady.late);
    assert_true(next.ahead > 0 && next.ahead < plan.ahead);
}

static void packed_tensors_keep_their_content(void **state)
{
    (void)state;
    struct outcome whole = run("plan", "inline", "400M", 300000, 0);
    struct outcome half = run("plan", "inline", "10M", 300000, 0);
    assert_int_equal(half.hash, whole.hash);
    assert_true(half.peak <= 10 * SL_MIB);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_do_not_depend_on_the_budget),
        cmocka_unit_test(the_steady_state_has_no_misses),
        cmocka_unit_test(policies_differ_in_how_far_ahead_they_bring),
        cmocka_unit_test(packed_tensors_keep_their_content),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
