/* What each policy evicts and moves, and what is called late. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core_fixture.h"
#include "move/steps.h"
#include "tools/text/option_flags.h"

#define CHUNK (2 * SL_MIB)
#define FOUR_CHUNKS "8M"
#define CHUNKS 5 /* that the program has */

static const uint32_t offsets[] = {0}, sizes[] = {8};
static const struct sl_host_kernel kernel = {"kernel", 1, offsets, sizes};

static const char *daemon_mode = "inline";

/* A new core in a child: there is one core in a process. */
static pid_t start_child(const char *policy, const char *budget, struct sl_backend *backend)
{
    pid_t child = fork();
    if (child) return child;
    setenv("SLUICE_POLICY", policy, 1);
    setenv("SLUICE_DAEMON", daemon_mode, 1);
    setenv("SLUICE_DEVICE_BUDGET", budget, 1);
    setenv("SLUICE_CHUNK", "2M", 1);
    setenv("SLUICE_LOG", "/dev/null", 1);
    sl_runtime_load();
    assert_int_equal(sl_backend_host_new(SL_GIB, backend), SL_OK);
    assert_int_equal(sl_runtime_start(backend), SL_OK);
    return 0;
}

/* What the child's asserts say is its exit status. */
static void end_child(void)
{
    sl_runtime_stop(false);
    _exit(0);
}

static void await(pid_t child)
{
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void use(uint64_t address)
{
    void *parameters[] = {&address};
    core_launch(core_kernel(&kernel, parameters, 1));
}

static bool is_resident(uint64_t address)
{
    const struct sl_core *core = sl_core_running();
    sl_chunk chunk = sl_arena_chunk(&core->arena, address);
    return atomic_load(&sl_arena_record(&core->arena, chunk)->content) == SL_CONTENT_RESIDENT;
}

static void the_table_is_that_of_the_options(void **state)
{
    (void)state;
    for (size_t i = 0; sl_options_flag(i); i++) {
        const struct sl_option_row *row = &sl_option_rows[i];
        if (strcmp(row->flag, "policy")) continue;
        char name[64];
        int count = 1;
        for (const char *at = row->names; *at; at++) count += *at == '|';
        for (int policy = 0; policy < count; policy++) {
            sl_option_describe_number(row, (uint64_t)policy, name, sizeof name);
            assert_string_equal(sl_policy_traits(policy)->name, name);
        }
        return;
    }
    fail();
}

/* Four chunks come, the first is used again, and a fifth needs room. */
static void check_victim(const char *policy, int victim)
{
    struct sl_backend backend;
    pid_t child = start_child(policy, FOUR_CHUNKS, &backend);
    if (!child) {
        uint64_t chunks[CHUNKS];
        for (int c = 0; c < CHUNKS; c++) chunks[c] = core_take(CHUNK);
        for (int c = 0; c < 4; c++) use(chunks[c]);
        use(chunks[0]);
        use(chunks[4]);
        for (int c = 0; c < CHUNKS; c++) assert_int_equal(is_resident(chunks[c]), c != victim);
        end_child();
    }
    await(child);
}

static void each_policy_has_its_victim(void **state)
{
    (void)state;
    check_victim("lru", 1);
    check_victim("demand", 0);
    check_victim("plan", 1); /* nothing is predicted yet */
}

/* A chunk that no allocation lies in leaves before any other, whatever the policy. */
static void the_dead_leave_first(void **state)
{
    (void)state;
    static const char *const policies[] = {"lru", "demand"};
    for (int p = 0; p < 2; p++) {
        struct sl_backend backend;
        pid_t child = start_child(policies[p], FOUR_CHUNKS, &backend);
        if (!child) {
            uint64_t chunks[CHUNKS];
            for (int c = 0; c < CHUNKS; c++) chunks[c] = core_take(CHUNK);
            for (int c = 0; c < 4; c++) use(chunks[c]);
            assert_int_equal(sl_runtime_free(chunks[2], NULL), SL_OK);
            use(chunks[4]);
            assert_true(is_resident(chunks[0]) && is_resident(chunks[1]) && is_resident(chunks[3]));
            assert_int_equal(sl_stats_bytes(sl_core_running()->stats.total.bytes_out), 0);
            end_child();
        }
        await(child);
    }
}

static void the_driver_is_left_alone(void **state)
{
    (void)state;
    struct sl_backend backend;
    pid_t child = start_child("driver", FOUR_CHUNKS, &backend);
    if (!child) {
        const struct sl_host_books *books = sl_backend_host_books(&backend);
        const struct sl_core *core = sl_core_running();
        uint64_t free_bytes, total_bytes, chunks[CHUNKS];
        for (int c = 0; c < CHUNKS; c++) chunks[c] = core_take(CHUNK);
        for (int round = 0; round < 100; round++) {
            for (int c = 0; c < CHUNKS; c++) use(chunks[c]);
            assert_int_equal(sl_runtime_free(chunks[round % CHUNKS], NULL), SL_OK);
            chunks[round % CHUNKS] = core_take_at(7, CHUNK);
        }
        assert_int_equal(books->bytes_in + books->bytes_out + books->bytes_discarded, 0);
        assert_int_equal(books->resident_bytes, 0);
        const struct sl_counts *total = &core->stats.total;
        assert_int_equal(total->launches, 100 * CHUNKS);
        assert_int_equal(total->demand_misses + total->remote_bytes + core->stats.plans, 0);
        assert_true(core->budget.bytes > 8 * SL_MIB); /* the device's: the budget cannot be held */
        assert_true(sl_runtime_memory_info(&free_bytes, &total_bytes));
        assert_int_equal(total_bytes - free_bytes, CHUNKS * CHUNK);
        uint64_t calls = books->calls;
        use(chunks[1]);
        assert_int_equal(books->calls, calls); /* nor does a launch cost anything */
        end_child();
    }
    await(child);
}

/* Two chunks that lie in host memory, and a plan that brings one for the next launch, the other for the one
 * after.
 */
static void plan_two(struct sl_core *core, const uint64_t *chunks)
{
    struct sl_plan_action actions[2];
    uint64_t bytes[64] = {0};
    sl_tick now = core->history.ticks.now;
    sl_lock(&core->migrator.out.lock);
    sl_lock(&core->migrator.in.lock);
    for (int i = 0; i < 2; i++) {
        sl_chunk c = sl_arena_chunk(&core->arena, chunks[i]);
        assert_true(c < 64);
        bytes[c] = CHUNK;
        assert_true(sl_migrator_evict(&core->migrator, c, NULL, SL_CAUSE_DEMAND) != 0);
        actions[i] = (struct sl_plan_action){SL_ACTION_FETCH, c, now, now + 1 + (sl_tick)i, SL_NONE};
    }
    struct sl_plan plan = {.actions = actions, .action_count = 2};
    struct sl_plan_input input = {
        .first_tick = now + 1, .launch_count = 2, .chunk_bytes = bytes, .budget_bytes = SL_GIB};
    struct sl_steps steps;
    assert_int_equal(sl_steps_new(&plan, &input, 2, 0, &steps), SL_OK);
    sl_schedule_take(&core->schedule, &steps);
    sl_steps_free(&steps);
    sl_schedule_submitted(&core->schedule, now);
    sl_unlock(&core->migrator.in.lock);
    sl_unlock(&core->migrator.out.lock);
}

/* What a launch issues for itself is late; what it, or a thread of the daemon, issues ahead is not. */
static void check_late(bool everything)
{
    struct sl_backend backend;
    pid_t child = start_child("plan", FOUR_CHUNKS, &backend);
    if (!child) {
        struct sl_core *core = sl_core_running();
        uint64_t chunks[2] = {core_take(CHUNK), core_take(CHUNK)};
        struct sl_pending pending;
        for (int c = 0; c < 2; c++) use(chunks[c]);
        plan_two(core, chunks);
        struct sl_schedule_batch batch;
        sl_schedule_begin(&core->schedule, core->history.ticks.now + 1, everything, &batch);
        sl_schedule_issue(&core->schedule, &batch);
        assert_true(is_resident(chunks[0]));
        assert_int_equal(is_resident(chunks[1]), everything);
        if (sl_schedule_peek(&core->schedule, false, &pending))
            sl_schedule_issue_pending(&core->schedule, false, &pending);
        assert_true(is_resident(chunks[1]));
        assert_int_equal(core->stats.total.bytes_in[SL_CAUSE_LATE], CHUNK);
        assert_int_equal(core->stats.total.bytes_in[SL_CAUSE_PLAN], CHUNK);
        assert_int_equal(core->stats.total.late_prefetches, 1);
        assert_int_equal(sl_stats_bytes(core->stats.total.bytes_in), 2 * CHUNK);
        end_child();
    }
    await(child);
}

/* What lives has room, and yet a chunk left and came again: from then on there are plans. What comes for the
 * first time is no sign of that. */
static void what_comes_again_shows_that_memory_is_short(void **state)
{
    (void)state;
    struct sl_backend backend;
    pid_t child = start_child("plan", FOUR_CHUNKS, &backend);
    if (!child) {
        struct sl_core *core = sl_core_running();
        uint64_t chunks[2] = {core_take(CHUNK), core_take(CHUNK)};
        for (int c = 0; c < 2; c++) use(chunks[c]);
        assert_false(core->budget.pressure);
        sl_migrator_lock(&core->migrator);
        assert_int_not_equal(sl_migrator_evict(&core->migrator, sl_arena_chunk(&core->arena, chunks[0]), NULL,
                                               SL_CAUSE_DEMAND),
                             0);
        sl_migrator_unlock(&core->migrator);
        use(chunks[1]);
        assert_false(core->budget.pressure);
        use(chunks[0]);
        assert_true(core->budget.pressure);
        end_child();
    }
    await(child);
}

static const uint32_t four_offsets[] = {0, 8, 16, 24}, four_sizes[] = {8, 8, 8, 8};
static const struct sl_host_kernel with_four = {"with_four", 4, four_offsets, four_sizes};

static void use_four(uint64_t first, uint64_t *others)
{
    void *parameters[] = {&first, &others[0], &others[1], &others[2]};
    core_launch(core_kernel(&with_four, parameters, 4));
}

/* Each launch needs all of the budget: what the second one lacks can only come into the frame of what the
 * program frees in front of it. It comes with the free, not with the launch. A daemon's thread may take the
 * free's eviction first and a plan may begin between the two: then the launch may be earlier than the fetch.
 */
static void check_frame_of_a_free(const char *daemon, bool async)
{
    struct sl_backend backend;
    daemon_mode = daemon;
    pid_t child = start_child("plan", FOUR_CHUNKS, &backend);
    daemon_mode = "inline";
    if (!child) {
        const struct sl_core *core = sl_core_running();
        uint64_t kept[4], in = 0, late = 0;
        for (int c = 0; c < 4; c++) kept[c] = core_take_at(1 + (uint64_t)c, CHUNK);
        for (int step = 0; step < 80; step++) {
            if (step == 40)
                in = sl_stats_bytes(core->stats.total.bytes_in),
                late = core->stats.total.bytes_in[SL_CAUSE_LATE];
            uint64_t passing = core_take_at(9, CHUNK);
            use_four(passing, kept);
            if (async)
                assert_int_equal(sl_runtime_free_async(passing, NULL, NULL), SL_OK);
            else
                assert_int_equal(sl_runtime_free(passing, NULL), SL_OK);
            use_four(kept[3], kept);
        }
        assert_int_equal(sl_stats_bytes(core->stats.total.bytes_in) - in, 40 * CHUNK);
        uint64_t late_again = core->stats.total.bytes_in[SL_CAUSE_LATE] - late;
        assert_true(late_again <= (strcmp(daemon, "inline") ? 40 / 2 * CHUNK : 0));
        end_child();
    }
    await(child);
}

static void what_a_free_makes_room_for_comes_with_it(void **state)
{
    (void)state;
    check_frame_of_a_free("inline", false);
    check_frame_of_a_free("inline", true);
    check_frame_of_a_free("thread", false);
    check_frame_of_a_free("thread", true);
}

/* A budget of sixteen chunks; half of them again find no room, in an order that was never seen. */
static uint64_t occupied_after_misses(const char *policy, int chunks)
{
    uint64_t *occupied =
        mmap(NULL, sizeof *occupied, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct sl_backend backend;
    assert_true(occupied != MAP_FAILED);
    pid_t child = start_child(policy, "32M", &backend);
    if (!child) {
        uint64_t addresses[24];
        for (int c = 0; c < chunks; c++) addresses[c] = core_take(CHUNK);
        for (int c = 0; c < chunks; c++) use(addresses[c]);
        *occupied = atomic_load(&sl_core_running()->migrator.occupied_bytes) / CHUNK;
        end_child();
    }
    await(child);
    uint64_t result = *occupied;
    munmap(occupied, sizeof *occupied);
    return result;
}

/* Else each launch that lacks something waits for copies in both directions. */
static void there_is_room_for_what_nobody_foresees(void **state)
{
    (void)state;
    assert_int_equal(occupied_after_misses("lru", 24), 16);
    assert_int_equal(occupied_after_misses("plan", 24), 14);
    assert_int_equal(occupied_after_misses("plan", 16), 16); /* all that lives fits */
}

static void what_a_launch_issues_for_itself_is_late(void **state)
{
    (void)state;
    check_late(true);
    check_late(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_is_that_of_the_options),
        cmocka_unit_test(each_policy_has_its_victim),
        cmocka_unit_test(the_dead_leave_first),
        cmocka_unit_test(the_driver_is_left_alone),
        cmocka_unit_test(there_is_room_for_what_nobody_foresees),
        cmocka_unit_test(what_a_launch_issues_for_itself_is_late),
        cmocka_unit_test(what_a_free_makes_room_for_comes_with_it),
        cmocka_unit_test(what_comes_again_shows_that_memory_is_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
