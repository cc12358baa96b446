/* Plans made beside the launches: breaks if the thread makes another plan than the caller would, if a job
 * that failed or ended unasked spoils the next or leaves memory behind, or if what a plan needs beside its
 * actions is missing. */
#include "core/planning.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plan/plan.h"
#include "plan_check.h"

#define CHUNKS 12
#define FIT 8         /* of them */
#define PERIOD CHUNKS /* launches: each uses a chunk of its own, and the one before */
#define LAUNCHES (3 * PERIOD)
#define MS UINT64_C(1000000)

static struct sl_plan_launch launches[LAUNCHES];
static struct sl_plan_access accesses[2 * LAUNCHES];
static uint64_t bytes[CHUNKS];
static enum sl_chunk_content content[CHUNKS], at_end[CHUNKS];
static struct sl_plan_input input;
static struct sl_plan_lessons lessons;

static int begin(void **state)
{
    (void)state;
    for (uint32_t l = 0; l < LAUNCHES; l++) {
        launches[l] =
            (struct sl_plan_launch){.first_access = 2 * l, .access_count = 2, .duration_ns = MS / 8};
        accesses[2 * l] = (struct sl_plan_access){l % CHUNKS};
        accesses[2 * l + 1] = (struct sl_plan_access){(l + CHUNKS - 1) % CHUNKS, 0};
    }
    for (uint32_t c = 0; c < CHUNKS; c++) {
        bytes[c] = 2 * SL_MIB;
        content[c] = c < FIT ? SL_CONTENT_RESIDENT : SL_CONTENT_HOST;
    }
    input = (struct sl_plan_input){.first_tick = 100,
                                   .launches = launches,
                                   .launch_count = LAUNCHES,
                                   .accesses = accesses,
                                   .chunk_count = CHUNKS,
                                   .chunk_bytes = bytes,
                                   .content = content,
                                   .attempts = 4,
                                   .budget_bytes = FIT * 2 * SL_MIB,
                                   .in_bytes_per_s = 24000000000,
                                   .out_bytes_per_s = 24000000000};
    memset(at_end, 0xff, sizeof at_end);
    return 0;
}

static int end(void **state)
{
    (void)state;
    sl_plan_lessons_free(&lessons);
    return 0;
}

static struct sl_plan_job job_for(size_t serve)
{
    return (struct sl_plan_job){.input = input, .serve = serve, .lessons = &lessons, .at_end = at_end};
}

static struct sl_plan_job *wait_for(struct sl_planner *planner)
{
    while (sl_planner_is_busy(planner)) sched_yield();
    return sl_planner_job(planner);
}

/* What is promised of a job that was made. */
static void check_job(const struct sl_plan_job *job, size_t serve)
{
    static const uint8_t zeros[CHUNKS];
    enum sl_chunk_content expected[CHUNKS];
    assert_int_equal(job->status, SL_OK);
    check_actions(&job->input, &job->plan);
    check_execution(&job->input, &job->plan, 1);
    sl_plan_content(&job->input, &job->plan, serve, expected);
    assert_memory_equal(at_end, expected, sizeof expected);
    assert_int_equal(job->steps.serve, serve);
    assert_int_equal(job->steps.first_tick, job->input.first_tick);
    assert_true(job->steps.out_count > 0 && job->steps.in_count > 0);
    assert_memory_equal(job->marks, zeros, CHUNKS);
    /* Room for a step for each chunk: beyond it an address sanitizer would notice. */
    memset(job->out, 0, CHUNKS * sizeof *job->out);
    memset(job->in, 0, CHUNKS * sizeof *job->in);
    memset(job->now, 0, CHUNKS * sizeof *job->now);
}

static void the_thread_makes_what_the_caller_would(void **state)
{
    (void)state;
    struct sl_planner *planner;
    struct sl_plan_lessons own = {0};
    struct sl_plan_job job = job_for(PERIOD), mine = job;
    mine.lessons = &own;
    sl_plan_job_make(&mine);
    check_job(&mine, PERIOD);
    memset(at_end, 0xff, sizeof at_end);
    assert_int_equal(sl_planner_start(false, &planner), SL_OK);
    assert_false(sl_planner_is_busy(planner));
    sl_planner_begin(planner, &job);
    const struct sl_plan_job *made = wait_for(planner);
    check_job(made, PERIOD);
    assert_int_equal(made->plan.action_count, mine.plan.action_count);
    for (size_t a = 0; a < mine.plan.action_count; a++) {
        const struct sl_plan_action *theirs = &made->plan.actions[a], *ours = &mine.plan.actions[a];
        assert_true(theirs->kind == ours->kind && theirs->chunk == ours->chunk &&
                    theirs->after == ours->after && theirs->deadline == ours->deadline &&
                    theirs->frame_from == ours->frame_from);
    }
    sl_planner_end(planner);
    sl_planner_delete(planner);
    sl_plan_job_free(&mine);
    sl_plan_lessons_free(&own);
}

static void jobs_follow_each_other(void **state)
{
    (void)state;
    struct sl_planner *planner;
    assert_int_equal(sl_planner_start(false, &planner), SL_OK);
    for (int i = 0; i < 100; i++) {
        struct sl_plan_job job = job_for(PERIOD);
        job.input.first_tick = 100 + (sl_tick)i * PERIOD;
        memset(at_end, 0xff, sizeof at_end);
        sl_planner_begin(planner, &job);
        check_job(wait_for(planner), PERIOD);
        memcpy(content, at_end, sizeof content); /* the next one goes on there */
        sl_planner_end(planner);
    }
    sl_planner_delete(planner);
}

static void a_job_that_fails_says_why_and_spoils_no_other(void **state)
{
    (void)state;
    struct sl_planner *planner;
    assert_int_equal(sl_planner_start(false, &planner), SL_OK);
    for (int i = 0; i < 3; i++) {
        struct sl_plan_job bad = job_for(PERIOD), good = job_for(PERIOD);
        bad.input.in_bytes_per_s = 0;
        sl_planner_begin(planner, &bad);
        const struct sl_plan_job *made = wait_for(planner);
        assert_int_equal(made->status, SL_ERR_INVALID);
        assert_null(made->plan.actions);
        assert_null(made->steps.out);
        sl_planner_end(planner);
        sl_planner_begin(planner, &good);
        check_job(wait_for(planner), PERIOD);
        sl_planner_end(planner);
    }
    sl_planner_delete(planner);
}

/* A leak checker sees what is left. */
static void it_stops_at_any_time(void **state)
{
    (void)state;
    sl_planner_delete(NULL);
    for (int stage = 0; stage < 4; stage++) {
        struct sl_planner *planner;
        struct sl_plan_job job = job_for(PERIOD);
        assert_int_equal(sl_planner_start(false, &planner), SL_OK);
        if (stage > 0) sl_planner_begin(planner, &job);
        if (stage > 1) wait_for(planner);
        if (stage > 2) sl_planner_end(planner);
        sl_planner_delete(planner);
    }
}

static void what_is_freed_is_zeroed(void **state)
{
    (void)state;
    static const struct sl_plan_job zeroed;
    struct sl_plan_job job = zeroed;
    sl_plan_job_free(&job);
    job = job_for(PERIOD);
    sl_plan_job_make(&job);
    assert_true(job.cpu_ns > 0);
    for (int i = 0; i < 2; i++) {
        sl_plan_job_free(&job);
        assert_memory_equal(&job, &zeroed, sizeof job);
    }
}

/* --- How much of a core planning takes. */

#define SERVED_NS 1e9
#define COSTLY_NS 100000000 /* ten times the share of that */

static struct sl_pace learned(void)
{
    struct sl_pace pace = {0};
    for (int i = 0; i < SL_PACE_FIRST_PLANS; i++) {
        assert_true(pace.owed_ns <= 0);
        sl_pace_made(&pace, COSTLY_NS, SERVED_NS, false);
    }
    return pace;
}

static void the_first_plans_are_not_hurried(void **state)
{
    (void)state;
    learned();
}

/* Of a hundred plans, those that search are as many as the share allows. */
static void then_a_share_is_kept(void **state)
{
    (void)state;
    struct sl_pace pace = learned();
    uint64_t spent_ns = 0;
    for (int i = 0; i < 100; i++) {
        uint64_t cpu_ns = pace.owed_ns > 0 ? 0 : COSTLY_NS;
        spent_ns += cpu_ns;
        sl_pace_made(&pace, cpu_ns, SERVED_NS, cpu_ns == 0);
    }
    double share = (double)spent_ns / (100 * SERVED_NS);
    assert_true(share > SL_PACE_SHARE / 2 && share <= 1.1 * SL_PACE_SHARE);
}

/* What hurried plans cost does not put the next search off. */
static void debts_are_bounded(void **state)
{
    (void)state;
    struct sl_pace pace = learned();
    int hurried = 0;
    for (int i = 0; i < 1000; i++) sl_pace_made(&pace, COSTLY_NS, SERVED_NS, false);
    while (pace.owed_ns > 0) {
        sl_pace_made(&pace, COSTLY_NS, SERVED_NS, true);
        hurried++;
    }
    assert_true(hurried > 0 && hurried <= COSTLY_NS / (SL_PACE_SHARE * SERVED_NS));
}

/* What is cheap saves nothing up for later. */
static void time_that_was_not_used_is_gone(void **state)
{
    (void)state;
    struct sl_pace pace = learned();
    for (int i = 0; i < 1000; i++) sl_pace_made(&pace, 0, SERVED_NS, true);
    sl_pace_made(&pace, COSTLY_NS, SERVED_NS, false);
    assert_true(pace.owed_ns > 0);
}

static atomic_uint spare_steps;
static atomic_bool enough;

static bool spare(void *self)
{
    assert_ptr_equal(self, &spare_steps);
    spare_steps++;
    return !enough;
}

/* Work for spare time goes on until it is done, but plans come first, and the end of the thread does not wait
 * for it. */
static void spare_time_is_used(void **state)
{
    (void)state;
    struct sl_planner *planner;
    assert_int_equal(sl_planner_start(false, &planner), SL_OK);
    for (int round = 0; round < 3; round++) {
        assert_false(sl_planner_has_spare(planner));
        enough = false;
        sl_planner_begin_spare(planner, spare, &spare_steps);
        for (int i = 0; i < 20; i++) {
            struct sl_plan_job job = job_for(PERIOD);
            sl_planner_begin(planner, &job);
            check_job(wait_for(planner), PERIOD);
            sl_planner_end(planner);
            assert_true(sl_planner_has_spare(planner));
            for (unsigned before = spare_steps; spare_steps == before;) sched_yield();
        }
        enough = round < 2;
        while (enough && sl_planner_has_spare(planner)) sched_yield();
    }
    sl_planner_delete(planner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_thread_makes_what_the_caller_would, begin, end),
        cmocka_unit_test_setup_teardown(jobs_follow_each_other, begin, end),
        cmocka_unit_test_setup_teardown(a_job_that_fails_says_why_and_spoils_no_other, begin, end),
        cmocka_unit_test_setup_teardown(it_stops_at_any_time, begin, end),
        cmocka_unit_test_setup_teardown(what_is_freed_is_zeroed, begin, end),
        cmocka_unit_test_setup_teardown(spare_time_is_used, begin, end),
        cmocka_unit_test(the_first_plans_are_not_hurried),
        cmocka_unit_test(then_a_share_is_kept),
        cmocka_unit_test(debts_are_bounded),
        cmocka_unit_test(time_that_was_not_used_is_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
