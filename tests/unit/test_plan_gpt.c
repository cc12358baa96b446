/* Steady training under a plan that is made anew for every step, against what an independent simulation of
 * the same policy achieves with the whole future known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "../bench/gpt_step.h"

enum { WINDOW = 3 }; /* steps that are planned at once */

#define GB_PER_S (52 * 0.92) /* a link of 52 GB/s; both directions at once cost 8 % */

struct frame {
    double free_at, bytes;
};

/* A device between two steps: what is on it, and what is still on its way out. */
struct training {
    const struct gpt_step *step;
    struct sl_plan_lessons lessons;
    const struct sl_plan_launch *known; /* the launches as the planner is told of them */
    enum sl_chunk_content *content;
    double *arrival; /* for each chunk */
    struct frame *leaving;
    size_t leaving_count;
    double now, link_in, link_out, bytes_in, bytes_out, room;
};

static double later(double a, double b)
{
    return a > b ? a : b;
}

static double run_eviction(struct training *t, const struct sl_plan_action *action)
{
    double bytes = (double)t->step->chunk_bytes[action->chunk];
    bool evict = action->kind == SL_ACTION_EVICT;
    t->link_out = later(t->link_out, t->now) + (evict ? bytes / GB_PER_S : 0);
    t->bytes_out += evict ? bytes : 0;
    t->content[action->chunk] = evict ? SL_CONTENT_HOST : SL_CONTENT_DEAD;
    return t->link_out;
}

/* A request that names no release takes room that is free, or gets free by what the last plan sent out. */
static double run_request(struct training *t, const struct sl_plan_action *action, const double *done,
                          size_t *left)
{
    double bytes = (double)t->step->chunk_bytes[action->chunk], at = 0;
    if (action->frame_from != SL_NONE) {
        at = done[action->frame_from];
    } else {
        for (t->room -= bytes; t->room < 0 && *left < t->leaving_count; ++*left)
            t->room += t->leaving[*left].bytes;
        assert_true(t->room >= 0);
        at = *left ? t->leaving[*left - 1].free_at : 0;
    }
    t->link_in = later(t->link_in, at);
    if (action->kind == SL_ACTION_FETCH) {
        t->link_in += bytes / GB_PER_S;
        t->bytes_in += bytes;
    }
    t->content[action->chunk] = SL_CONTENT_RESIDENT;
    return t->link_in;
}

static void run_launch(struct training *t, const struct sl_plan_launch *launch)
{
    for (uint32_t k = 0; k < launch->access_count; k++) {
        sl_chunk chunk = t->step->accesses[launch->first_access + k].chunk;
        assert_true(t->content[chunk] >= SL_CONTENT_RESIDENT);
        t->content[chunk] = SL_CONTENT_RESIDENT;
        t->now = later(t->now, t->arrival[chunk]);
    }
    t->now += (double)launch->duration_ns;
    for (uint32_t k = 0; k < launch->death_count; k++) {
        enum sl_chunk_content *content = &t->content[t->step->deaths[launch->first_death + k]];
        *content = *content >= SL_CONTENT_RESIDENT ? SL_CONTENT_RESIDENT_DEAD : SL_CONTENT_DEAD;
    }
}

/* Plans three steps and runs the first of them. */
static void run_step(struct training *t, uint64_t budget_bytes, size_t number)
{
    size_t launches = t->step->launch_count / WINDOW, next = 0, left = 0;
    struct sl_plan_input in = {
        .first_tick = 1 + number * launches,
        .launches = t->known,
        .launch_count = WINDOW * launches,
        .accesses = t->step->accesses,
        .deaths = t->step->deaths,
        .chunk_count = t->step->chunk_count,
        .chunk_bytes = t->step->chunk_bytes,
        .content = t->content,
        .budget_bytes = budget_bytes,
        .in_bytes_per_s = (uint64_t)(GB_PER_S * 1e9),
        .out_bytes_per_s = (uint64_t)(GB_PER_S * 1e9),
        .attempts = 8,
    };
    struct sl_plan plan;
    assert_int_equal(sl_plan_make(&in, &t->lessons, &plan), SL_OK);
    assert_int_equal(plan.oversize_launches, 0);
    t->room = (double)budget_bytes;
    for (size_t i = 0; i < t->step->chunk_count; i++)
        t->room -= t->content[i] >= SL_CONTENT_RESIDENT ? (double)t->step->chunk_bytes[i] : 0;
    for (size_t i = 0; i < t->leaving_count; i++) t->room -= t->leaving[i].bytes;
    double *done = malloc((plan.action_count + 1) * sizeof *done);
    assert_non_null(done);
    for (size_t i = 0; i < launches; i++) {
        for (; next < plan.action_count && plan.actions[next].after < in.first_tick + i; next++) {
            const struct sl_plan_action *action = &plan.actions[next];
            if (action->kind == SL_ACTION_EVICT || action->kind == SL_ACTION_DISCARD)
                done[next] = run_eviction(t, action);
            else
                t->arrival[action->chunk] = run_request(t, action, done, &left);
        }
        run_launch(t, &t->step->launches[i]);
    }
    size_t kept = 0;
    for (; left < t->leaving_count; left++) t->leaving[kept++] = t->leaving[left];
    for (size_t i = 0; i < next; i++)
        if ((plan.actions[i].kind == SL_ACTION_EVICT || plan.actions[i].kind == SL_ACTION_DISCARD) &&
            done[i] > t->now)
            t->leaving[kept++] = (struct frame){done[i], (double)t->step->chunk_bytes[plan.actions[i].chunk]};
    t->leaving_count = kept;
    free(done);
    sl_plan_free(&plan);
}

struct golden {
    double share, seconds, gib_in, gib_out;
};

static void check_steady(struct gpt_shape shape, bool durations_known, const struct golden *golden,
                         size_t count)
{
    struct gpt_step step;
    assert_true(gpt_step_make(&shape, WINDOW, &step));
    struct sl_plan_launch *known = calloc(step.launch_count, sizeof *known);
    assert_non_null(known);
    for (size_t i = 0; i < step.launch_count; i++) {
        known[i] = step.launches[i];
        if (!durations_known) known[i].duration_ns = 0;
    }
    for (size_t i = 0; i < count; i++) {
        struct training t = {.step = &step, .known = known};
        t.content = calloc(step.chunk_count, sizeof *t.content);
        t.arrival = calloc(step.chunk_count, sizeof *t.arrival);
        t.leaving = calloc(WINDOW * step.access_count, sizeof *t.leaving);
        assert_true(t.content && t.arrival && t.leaving);
        uint64_t budget_bytes = (uint64_t)((double)step.chunk_count * golden[i].share) * shape.chunk_bytes;
        double start = 0, in = 0, out = 0;
        for (size_t number = 0; number < 8; number++) {
            start = t.now;
            in = t.bytes_in;
            out = t.bytes_out;
            run_step(&t, budget_bytes, number);
        }
        double seconds = (t.now - start) / 1e9, gib = (double)SL_GIB;
        print_message("%.2f: %.3f s (%.3f), %.1f in (%.1f), %.1f out (%.1f)\n", golden[i].share, seconds,
                      golden[i].seconds, (t.bytes_in - in) / gib, golden[i].gib_in, (t.bytes_out - out) / gib,
                      golden[i].gib_out);
        assert_true(seconds <= golden[i].seconds * (durations_known ? 1.003 : 1.02));
        assert_true((t.bytes_in + t.bytes_out - in - out) / gib <=
                    (golden[i].gib_in + golden[i].gib_out) * 1.04 + 0.1);
        free(t.leaving);
        free(t.arrival);
        free(t.content);
        sl_plan_lessons_free(&t.lessons);
    }
    free(known);
    gpt_step_free(&step);
}

static const struct gpt_shape gpt2_xl = {
    .layers = 48,
    .accumulate = 1,
    .tokens = 8192,
    .parameters = 1.5e9,
    .activation_bytes = 12.0 * (double)SL_GIB,
    .flops_per_s = 250e12,
    .chunk_bytes = 64 * SL_MIB,
};

enum { BUDGETS = 5 };

/* The figures are those of an independent simulation that knows five steps: Belady's victims, frames taken in
 * the order of the deadlines, every access a write. */
static const struct golden one_step[BUDGETS] = {
    {0.8, 0.312, 1.4, 1.4},    {0.66, 0.348, 6.4, 6.4},   {0.5, 0.470, 12.1, 12.1},
    {0.33, 0.625, 18.6, 18.9}, {0.25, 0.789, 24.4, 27.5},
};
static const struct golden accumulation[BUDGETS] = {
    {0.8, 0.902, 7.2, 7.2},    {0.66, 0.967, 12.5, 12.5}, {0.5, 1.112, 24.1, 24.1},
    {0.33, 1.611, 42.9, 43.1}, {0.25, 2.014, 54.4, 57.5},
};
static const struct golden sweeping_optimizer[BUDGETS] = {
    {0.8, 0.329, 0.0, 0.0},    {0.66, 0.380, 2.4, 2.4},   {0.5, 0.598, 12.1, 15.2},
    {0.33, 0.930, 26.5, 32.5}, {0.25, 1.249, 33.1, 40.7},
};

static void check_all(bool durations_known)
{
    struct gpt_shape shape = gpt2_xl;
    check_steady(shape, durations_known, one_step, BUDGETS);
    shape.accumulate = 3;
    check_steady(shape, durations_known, accumulation, BUDGETS);
    shape.accumulate = 1;
    shape.sweep = true;
    check_steady(shape, durations_known, sweeping_optimizer, BUDGETS);
}

static void test_no_slower_than_the_reference(void **state)
{
    (void)state;
    check_all(true);
}

static void test_no_slower_without_durations(void **state)
{
    (void)state;
    check_all(false);
}

/* Where the link is busy at times only, choosing whose copies fall into the other times saves time, not
 * bytes.
 */
static void test_faster_where_the_link_is_busy_at_times(void **state)
{
    (void)state;
    static const struct golden golden[] = {{0.33, 1.611 * 0.93, 42.9, 43.1}};
    struct gpt_shape shape = gpt2_xl;
    shape.accumulate = 3;
    check_steady(shape, true, golden, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_slower_than_the_reference),
        cmocka_unit_test(test_no_slower_without_durations),
        cmocka_unit_test(test_faster_where_the_link_is_busy_at_times),
    };
    return cmocka_run_group_tests_name("plan-gpt", tests, NULL, NULL);
}
