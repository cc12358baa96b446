/* The linear program of a period: its solution is compared with what is known of sweeps, and with real plans,
 * which cannot wait less. Breaks if the relaxation would have the wrong chunks leave, because the program is
 * not that of the launches. */
#include "plan/plan_program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "plan_check.h"
#include "plan_scene.h"

#define COPY_NS 1000.0 /* of a chunk */
#define NO_LIMIT 1e9   /* bytes */

static void assert_near(double value, double expected, double by)
{
    if (value < expected - by || value > expected + by) print_error("%g instead of %g\n", value, expected);
    assert_true(value >= expected - by && value <= expected + by);
}

static struct sl_program make(const struct scene *s, size_t period, double most_bytes)
{
    struct sl_program program;
    assert_int_equal(sl_program_make(&s->in, s->launch_ns, period, most_bytes, &program), SL_OK);
    for (int i = 0; i < 2000 && !sl_linear_is_solved(program.linear); i++)
        sl_linear_improve(program.linear, 64);
    return program;
}

static void begin(struct scene *s, size_t chunks, uint64_t frames)
{
    scene_begin(s, chunks, frames);
    s->in.in_bytes_per_s = s->in.out_bytes_per_s = (uint64_t)(1e9 / COPY_NS);
    for (size_t c = 0; c < chunks; c++) s->content[c] = SL_CONTENT_HOST;
}

/* Each launch writes one chunk, in turn, and takes next to no time. */
static void make_sweep(struct scene *s, uint32_t chunks, uint64_t frames)
{
    begin(s, chunks, frames);
    for (sl_chunk c = 0; c < chunks; c++) {
        scene_launch(s, 1);
        scene_use(s, c);
    }
    scene_repeat(s, 2);
}

/* How many chunks come in a period, at best (Belady): one frame is spare, so that whole chunks have room. */
static double coming(double chunks, double frames)
{
    return (chunks - (frames - 1)) * chunks / (chunks - 1);
}

static const struct {
    uint32_t chunks, frames;
} sweeps[] = {{12, 5}, {12, 6}, {16, 9}, {16, 4}, {5, 3}};
enum { SWEEPS = sizeof sweeps / sizeof *sweeps };

static void a_sweep_waits_for_what_must_come(void **state)
{
    (void)state;
    for (int i = 0; i < SWEEPS; i++) {
        struct scene s;
        make_sweep(&s, sweeps[i].chunks, sweeps[i].frames);
        struct sl_program program = make(&s, sweeps[i].chunks, NO_LIMIT);
        double copies = coming(sweeps[i].chunks, (double)sweeps[i].frames);
        assert_near(sl_program_wait_ns(&program), copies * COPY_NS, 0.01 * copies * COPY_NS);
        sl_program_free(&program);
        sl_program_free(&program); /* zeroed by then */
    }
}

/* Where fewer bytes may be copied than must be, the rest is counted. As much leaves as comes. */
static void what_is_copied_beyond_the_limit_is_counted(void **state)
{
    (void)state;
    for (int i = 0; i < SWEEPS; i++) {
        struct scene s;
        make_sweep(&s, sweeps[i].chunks, sweeps[i].frames);
        double bytes = 2 * coming(sweeps[i].chunks, (double)sweeps[i].frames);
        struct sl_program program = make(&s, sweeps[i].chunks, 0.75 * bytes);
        double more = sl_linear_value(program.linear, program.more) * program.unit_bytes;
        assert_near(more, 0.25 * bytes, 0.02 * bytes);
        sl_program_free(&program);
    }
}

/* Larger chunks are so many units, and a chunk's unit is the largest one's. */
static void chunks_of_two_sizes_are_so_many_units(void **state)
{
    (void)state;
    struct scene s;
    make_sweep(&s, 12, 0);
    for (sl_chunk c = 0; c < 12; c++) s.bytes[c] = c % 2 ? 8 : 4;
    s.in.budget_bytes = 40;
    struct sl_program program = make(&s, 12, NO_LIMIT);
    assert_true(program.unit_bytes == 8 && program.units[0] == 0.5 && program.units[1] == 1);
    assert_near(program.unit_ns, 8 * COPY_NS, 1e-6);
    sl_program_free(&program);
}

static void the_dead_are_not_copied(void **state)
{
    (void)state;
    struct scene s;
    begin(&s, 12, 4);
    for (sl_chunk c = 0; c < 12; c++) {
        scene_launch(&s, 1);
        scene_use(&s, c);
        scene_die(&s, c);
    }
    scene_repeat(&s, 2);
    struct sl_program program = make(&s, 12, NO_LIMIT);
    assert_near(sl_program_wait_ns(&program), 0, 0.01 * COPY_NS);
    sl_program_free(&program);
}

/* --- against plans --- */

enum { LEAST_PERIODS = 8 };

/* Small periods, and as many of them as there is room for. */
static size_t make_periodic(struct scene *s, uint64_t *seed)
{
    uint32_t chunks = 6 + random_below(seed, 4);
    size_t period = 4 + random_below(seed, SCENE_LAUNCHES / LEAST_PERIODS - 4);
    begin(s, chunks, 4 + random_below(seed, 2));
    for (size_t t = 0; t < period; t++) {
        scene_launch(s, 1 + random_below(seed, 4 * (uint32_t)COPY_NS));
        for (int k = 0; k < 2; k++) scene_use(s, random_below(seed, chunks / 2) * 2 + (sl_chunk)k);
        if (random_below(seed, 3) == 0) scene_die(s, random_below(seed, chunks));
    }
    scene_repeat(s, SCENE_LAUNCHES / period);
    return period;
}

/* No plan for a frame less waits less, but for what it saves at its ends: a plan begins and ends as it likes.
 */
static void no_plan_waits_less(void **state)
{
    (void)state;
    uint64_t seed = 81;
    double relaxed = 0, planned = 0;
    for (int i = 0; i < 80; i++) {
        struct scene s;
        struct sl_plan plan;
        size_t period = make_periodic(&s, &seed), periods = s.in.launch_count / period;
        struct sl_program program = make(&s, period, NO_LIMIT);
        double wait = sl_program_wait_ns(&program) * (double)periods;
        s.in.budget_bytes--;
        s.in.attempts = 30;
        assert_int_equal(sl_plan_make(&s.in, NULL, &plan), SL_OK);
        assert_int_equal(plan.oversize_launches, 0);
        double ends = 2 * (double)s.in.budget_bytes * COPY_NS;
        assert_true(wait <= 1.01 * ((double)plan.stall_ns + ends));
        relaxed += wait;
        planned += (double)plan.stall_ns;
        sl_plan_free(&plan);
        sl_program_free(&program);
    }
    print_message("relaxed waits are %.3f of those of plans\n", relaxed / planned);
    assert_true(relaxed > 0.4 * planned); /* which says something */
}

/* --- gaps --- */

/* A chunk that all launches use cannot leave; others can, behind each use of theirs. */
static void gaps_are_where_chunks_may_leave(void **state)
{
    (void)state;
    enum { ALWAYS, LAUNCHES = 4 };
    struct scene s;
    begin(&s, LAUNCHES, 12);
    for (uint32_t t = 0; t < LAUNCHES; t++) {
        scene_launch(&s, 1000);
        scene_use(&s, ALWAYS);
        if (t != ALWAYS) scene_use(&s, t);
    }
    scene_repeat(&s, 2);
    struct sl_program program = make(&s, LAUNCHES, NO_LIMIT);
    assert_int_equal(program.block_count, LAUNCHES);
    for (uint32_t a = 0; a < program.uses.access_count; a++)
        assert_int_equal(program.leaves[a] != UINT32_MAX, s.accesses[a].chunk != ALWAYS);
    sl_program_free(&program);
}

/* --- what has none --- */

static void assert_unsupported(const struct sl_plan_input *in, const double *launch_ns, size_t period)
{
    struct sl_program program;
    assert_int_equal(sl_program_make(in, launch_ns, period, NO_LIMIT, &program), SL_ERR_UNSUPPORTED);
}

static void some_launches_have_none(void **state)
{
    (void)state;
    struct scene s;
    make_sweep(&s, 6, 4);
    assert_unsupported(&s.in, s.launch_ns, 5);
    assert_unsupported(&s.in, s.launch_ns, 0);
    assert_unsupported(&s.in, s.launch_ns, 12);
    s.in.budget_bytes = 0; /* less than a launch needs */
    assert_unsupported(&s.in, s.launch_ns, 6);
    struct sl_program zeroed = {0};
    sl_program_free(&zeroed);
}

/* A launch of so many chunks takes too long to solve. */
static void too_many_uses_have_none(void **state)
{
    (void)state;
    enum { MANY = (1 << 18) + 1 };
    struct sl_plan_access *accesses = calloc(MANY, sizeof *accesses);
    uint64_t *bytes = calloc(MANY, sizeof *bytes);
    assert_true(accesses && bytes);
    for (uint32_t a = 0; a < MANY; a++) accesses[a].chunk = a;
    struct sl_plan_launch launches[2] = {{.access_count = MANY}, {.access_count = MANY}};
    double launch_ns[2] = {1, 1};
    struct sl_plan_input in = {.launches = launches,
                               .launch_count = 2,
                               .accesses = accesses,
                               .chunk_count = MANY,
                               .chunk_bytes = bytes,
                               .budget_bytes = MANY,
                               .in_bytes_per_s = 1,
                               .out_bytes_per_s = 1};
    assert_unsupported(&in, launch_ns, 1);
    free(accesses);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sweep_waits_for_what_must_come),
        cmocka_unit_test(what_is_copied_beyond_the_limit_is_counted),
        cmocka_unit_test(chunks_of_two_sizes_are_so_many_units),
        cmocka_unit_test(the_dead_are_not_copied),
        cmocka_unit_test(no_plan_waits_less),
        cmocka_unit_test(gaps_are_where_chunks_may_leave),
        cmocka_unit_test(some_launches_have_none),
        cmocka_unit_test(too_many_uses_have_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
