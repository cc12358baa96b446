/* The budget: what is decided at the start, and what is left of it when others take memory of the device. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "broken.h"
#include "core/core.h"
#include "core_fixture.h"

#define DEVICE (64 * SL_MIB)
#define CHUNK (2 * SL_MIB)
enum { MOST_CHUNKS = 64, ITERATIONS = 60, MOST_ITERATIONS = 20000 };

static const uint32_t offsets[] = {0}, sizes[] = {8};
static const struct sl_host_kernel kernel = {"kernel", 1, offsets, sizes};

static uint64_t others; /* have so much of the device */
static bool keeps;      /* the device keeps the frames of what left */
static uint64_t least_free;
static unsigned asked;
static struct sl_backend host;

static enum sl_status memory_info(void *self, uint64_t *free_bytes, uint64_t *total_bytes)
{
    uint64_t free_now;
    asked++;
    enum sl_status status = host.memory_info(self, &free_now, total_bytes);
    if (keeps && free_now < least_free) least_free = free_now;
    if (keeps) free_now = least_free;
    *free_bytes = free_now > others ? free_now - others : 0;
    return status;
}

static void start(const char *policy, const char *daemon, const char *budget)
{
    setenv("SLUICE_POLICY", policy, 1);
    setenv("SLUICE_DAEMON", daemon, 1);
    if (budget) setenv("SLUICE_DEVICE_BUDGET", budget, 1);
    setenv("SLUICE_CHUNK", "2M", 1);
    sl_runtime_load();
    assert_int_equal(sl_backend_host_new(DEVICE, &host), SL_OK);
    least_free = DEVICE;
    struct sl_backend backend = host;
    backend.memory_info = memory_info;
    assert_int_equal(sl_runtime_start(&backend), SL_OK);
}

static void take(uint64_t *chunks, int count)
{
    for (int c = 0; c < count; c++) chunks[c] = core_take(CHUNK);
}

static void use(const uint64_t *chunks, int count)
{
    for (int c = 0; c < count; c++) {
        uint64_t address = chunks[c];
        void *parameters[] = {&address};
        core_launch(core_kernel(&kernel, parameters, 1));
    }
}

static void look_twice(void)
{
    for (int i = 0; i < 2; i++) sl_core_look(sl_core_running(), true);
}

static uint64_t budget(void)
{
    return sl_budget_bytes(&sl_core_running()->budget);
}

static void what_fits_is_kept(void **state)
{
    (void)state;
    assert_int_equal(sl_budget_beside(8 * SL_GIB, 80 * SL_GIB, 60 * SL_GIB), 8 * SL_GIB);
    assert_int_equal(sl_budget_beside(20 * SL_GIB, 80 * SL_GIB, 60 * SL_GIB), 20 * SL_GIB);
    assert_int_equal(sl_budget_beside(24 * SL_GIB, 80 * SL_GIB, 60 * SL_GIB), 19 * SL_GIB);
    assert_int_equal(sl_budget_beside(24 * SL_GIB, 80 * SL_GIB, 90 * SL_GIB), SL_LEAST_BUDGET);
}

static void beyond_the_device(void)
{
    char said[256] = "";
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    start("plan", "inline", "2G");
    assert_int_equal(budget(), DEVICE);
    assert_true(read(ends[0], said, sizeof said - 1) > 0);
    assert_non_null(strstr(said, "a budget of 2 GiB is more than the device has free: it is 64 MiB"));
}

static void a_budget_beyond_the_device_is_capped(void **state)
{
    (void)state;
    core_run_in_child(beyond_the_device);
}

/* What was written since the last time, at most. */
static const char *said_to(int end)
{
    static char said[512];
    ssize_t bytes = read(end, said, sizeof said - 1);
    said[bytes > 0 ? bytes : 0] = 0;
    return said;
}

static void past_us(void)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
    assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    start("plan", "inline", "32M");
    sl_runtime_charge(24 * SL_MIB);
    for (int i = 0; i < 8; i++) core_take(CHUNK); /* they have 8 MiB */
    assert_string_equal(said_to(ends[0]), "");
    sl_runtime_charge(1);
    assert_non_null(strstr(said_to(ends[0]), "past sluice (managed memory of its own, "));
    sl_runtime_charge(-1);
    sl_runtime_charge(20 * SL_MIB);
    assert_string_equal(said_to(ends[0]), "");
}

static void past_us_then_ours(void)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
    assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    start("plan", "inline", "32M");
    sl_runtime_charge(30 * SL_MIB);
    core_take(CHUNK);
    assert_string_equal(said_to(ends[0]), "");
    core_take(CHUNK);
    assert_non_null(strstr(said_to(ends[0]), "the budget of 32 MiB is exceeded"));
}

/* Once, and not before. */
static void a_budget_that_is_exceeded_past_us_is_told_of(void **state)
{
    (void)state;
    core_run_in_child(past_us);
    core_run_in_child(past_us_then_ours);
}

static void early(void)
{
    uint64_t chunks[MOST_CHUNKS];
    start("plan", "inline", NULL);
    assert_int_equal(budget(), 60 * SL_MIB);
    take(chunks, 20);
    use(chunks, 4);
    others = 32 * SL_MIB;
    look_twice();
    assert_int_equal(budget(), 30 * SL_MIB); /* of 32 MiB, less 5 % */
    assert_true(sl_core_running()->budget.pressure);
    others = 0;
    look_twice();
    assert_int_equal(budget(), 30 * SL_MIB);
    for (int i = 0; i < ITERATIONS; i++) use(chunks, 20);
    assert_in_range(atomic_load(&sl_core_running()->stats.peak_occupied_bytes), 1, 30 * SL_MIB);
}

static void what_others_take_is_lost(void **state)
{
    (void)state;
    core_run_in_child(early);
}

static void given(void)
{
    start("plan", "inline", "24M");
    others = 36 * SL_MIB;
    look_twice();
    assert_int_equal(budget(), 24 * SL_MIB);
    others = 42 * SL_MIB;
    look_twice();
    assert_int_equal(budget(), 20 * SL_MIB);
}

static void a_budget_that_still_fits_is_kept(void **state)
{
    (void)state;
    core_run_in_child(given);
}

/* Between the driver's call and the charge the program's own memory looks like that of others. */
static void charged(void)
{
    start("plan", "inline", NULL);
    sl_core_look(sl_core_running(), true);
    others = 32 * SL_MIB;
    sl_core_look(sl_core_running(), true);
    sl_runtime_charge(32 * SL_MIB);
    look_twice();
    assert_int_equal(budget(), 28 * SL_MIB);
    assert_false(sl_core_running()->budget.pressure);
    uint64_t chunks[MOST_CHUNKS];
    take(chunks, 10);
    sl_runtime_charge(12 * SL_MIB);
    sl_core_look(sl_core_running(), true);
    assert_true(sl_core_running()->budget.pressure);
}

static void what_is_charged_is_not_lost_as_well(void **state)
{
    (void)state;
    core_run_in_child(charged);
}

static void kept(void)
{
    uint64_t chunks[MOST_CHUNKS];
    keeps = true;
    start("lru", "inline", "24M");
    take(chunks, 40);
    for (int c = 0; c < 40; c++) {
        use(chunks + c, 1);
        uint64_t now = DEVICE - (uint64_t)(c + 1) * CHUNK; /* each has a frame of its own */
        least_free = c < 32 ? now : 0;
        sl_core_look(sl_core_running(), true);
    }
    look_twice();
    assert_int_equal(budget(), 24 * SL_MIB);
}

/* A driver may keep the frames of what left for what comes next, so that they are not free. */
static void what_ever_came_is_not_lost(void **state)
{
    (void)state;
    core_run_in_child(kept);
}

static void full(const char *policy, const char *daemon)
{
    uint64_t chunks[MOST_CHUNKS];
    start(policy, daemon, NULL);
    take(chunks, 20);
    for (int i = 0; i < ITERATIONS; i++) use(chunks, 20);
    struct sl_core *core = sl_core_running();
    assert_false(core->budget.pressure);
    assert_int_equal(atomic_load(&core->migrator.occupied_bytes), 40 * SL_MIB);
    others = 24 * SL_MIB;
    look_twice();
    assert_int_equal(budget(), 38 * SL_MIB);
    assert_true(core->budget.pressure);
    for (int i = 0; i < MOST_ITERATIONS && atomic_load(&core->migrator.occupied_bytes) > budget(); i++)
        use(chunks, 20);
    assert_in_range(atomic_load(&core->migrator.occupied_bytes), 1, 38 * SL_MIB);
}

static void full_inline(void)
{
    full("plan", "inline");
}
static void full_thread(void)
{
    full("plan", "thread");
}

/* All of it fitted, so nothing ever had to leave. */
static void what_is_there_makes_room(void **state)
{
    (void)state;
    core_run_in_child(full_inline);
    core_run_in_child(full_thread);
}

static void seldom(void)
{
    uint64_t chunks[MOST_CHUNKS];
    start("plan", "inline", NULL);
    take(chunks, 20);
    asked = 0;
    for (int i = 0; i < 1000; i++) sl_runtime_waited();
    assert_int_equal(asked, 0);
    for (int i = 0; i < 4; i++) use(chunks, 20);
    sl_runtime_capture(1);
    sl_runtime_waited();
    assert_int_equal(asked, 0);
    sl_runtime_capture(-1);
    sl_runtime_waited();
    assert_int_equal(asked, 1);
    for (int i = 0; i < 1000; i++) sl_runtime_waited();
    assert_int_equal(asked, 1);
}

static void the_driver_is_asked_seldom_and_never_beside_a_capture(void **state)
{
    (void)state;
    core_run_in_child(seldom);
}

/* Where it fails, SL_CHECK_ALL would not see that. */
static void broken_budgets_are_found(void **state)
{
    (void)state;
    static struct sl_core core;
    core.policy = sl_policy_traits(SL_POLICY_PLAN);
    struct sl_budget budget = {.core = &core, .bytes = 32 * SL_MIB, .watch.free_at_start = 40 * SL_MIB};
    assert_true(sl_budget_is_valid(&budget));
    assert_breaks(budget.bytes, SL_LEAST_BUDGET - SL_BLOCK_BYTES, sl_budget_is_valid(&budget));
    assert_breaks(budget.bytes, 42 * SL_MIB, sl_budget_is_valid(&budget));
    assert_breaks(budget.watch.lost_bytes, 26 * SL_MIB, sl_budget_is_valid(&budget));
    budget.charged_bytes =
        100 * SL_MIB; /* what the program takes past us has no limit, and may not be there */
    assert_true(sl_budget_is_valid(&budget));
    budget.charged_bytes = -1;
    assert_true(sl_budget_is_valid(&budget));
    core.policy = sl_policy_traits(SL_POLICY_DRIVER);
    budget.bytes = 42 * SL_MIB; /* the driver's budget is its own */
    assert_true(sl_budget_is_valid(&budget));
}

/* A warning without a remedy leaves its reader where they were. */
static void a_remedy_is_the_budget_that_is_enough(void **state)
{
    (void)state;
    struct sl_budget budget = {.bytes = 32 * SL_MIB, .watch.free_at_start = 100 * SL_MIB};
    char text[SL_BUDGET_REMEDY];
    assert_string_equal(sl_budget_remedy(&budget, 40 * SL_MIB, text),
                        "SLUICE_DEVICE_BUDGET=40M (sluice run --budget 40M) lets it fit");
    assert_string_equal(sl_budget_remedy(&budget, 100 * SL_MIB + 1, text),
                        "the device has not so much: smaller batches or tensors let it fit");
    budget.charged_bytes = 10 * SL_MIB; /* which the launch cannot have either */
    assert_string_equal(sl_budget_remedy(&budget, 40 * SL_MIB + 1, text),
                        "SLUICE_DEVICE_BUDGET=51M (sluice run --budget 51M) lets it fit");
    atomic_store(&budget.watch.lost_bytes, 20 * SL_MIB); /* no budget brings back what others took */
    assert_string_equal(sl_budget_remedy(&budget, 70 * SL_MIB, text),
                        "SLUICE_DEVICE_BUDGET=80M (sluice run --budget 80M) lets it fit");
    assert_string_equal(sl_budget_remedy(&budget, 70 * SL_MIB + 1, text),
                        "the device has not so much: smaller batches or tensors let it fit");
}

static void chunks_grow_with_the_budget(void **state)
{
    (void)state;
    assert_int_equal(sl_budget_chunk(SL_LEAST_BUDGET), 2 * SL_MIB);
    assert_int_equal(sl_budget_chunk(2 * SL_GIB), 16 * SL_MIB);
    assert_int_equal(sl_budget_chunk(80 * SL_GIB), 32 * SL_MIB);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_fits_is_kept),
        cmocka_unit_test(a_remedy_is_the_budget_that_is_enough),
        cmocka_unit_test(a_budget_beyond_the_device_is_capped),
        cmocka_unit_test(a_budget_that_is_exceeded_past_us_is_told_of),
        cmocka_unit_test(what_others_take_is_lost),
        cmocka_unit_test(a_budget_that_still_fits_is_kept),
        cmocka_unit_test(what_is_charged_is_not_lost_as_well),
        cmocka_unit_test(what_ever_came_is_not_lost),
        cmocka_unit_test(what_is_there_makes_room),
        cmocka_unit_test(the_driver_is_asked_seldom_and_never_beside_a_capture),
        cmocka_unit_test(broken_budgets_are_found),
        cmocka_unit_test(chunks_grow_with_the_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
