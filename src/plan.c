#include "plan.h"

#include <stdlib.h>
#include <string.h>

#include "plan_internal.h"

/* Belady's choice copies least. Others are tried while it waits for more than a hundredth of the time, and
 * may copy a fiftieth more. */
#define LEAST_WAIT 0.01
#define MOST_BYTES 1.015
/* What the end of the window saves may be due right after it: the first half must not get slower. */
#define SAME_HALF 1.002
#define LEARNING_RATE 0.3
#define MOST_GUESSED 0.1 /* of the time, for a comparison of ways to mean anything */

static bool valid(const struct sl_plan_input *input)
{
    if (!input->first_tick) return false;
    if (input->launch_count >= UINT32_MAX / 4 || input->chunk_count >= UINT32_MAX / 4) return false;
    if (input->budget_bytes > INT64_MAX || !input->in_bytes_per_s || !input->out_bytes_per_s) return false;
    if ((unsigned)input->when > SL_PLAN_ON_DEMAND) return false;
    for (size_t i = 0; i < input->chunk_count; i++)
        if ((unsigned)input->content[i] > SL_CONTENT_RESIDENT_DEAD ||
            input->chunk_bytes[i] > UINT32_MAX * SL_KIB)
            return false;
    uint64_t accesses = 0;
    for (size_t i = 0; i < input->launch_count; i++) {
        const struct sl_plan_launch *launch = &input->launches[i];
        accesses += launch->access_count;
        for (uint32_t k = 0; k < launch->access_count; k++)
            if (input->accesses[launch->first_access + k].chunk >= input->chunk_count) return false;
        for (uint32_t k = 0; k < launch->death_count; k++)
            if (input->deaths[launch->first_death + k] >= input->chunk_count) return false;
    }
    return accesses < UINT32_MAX / 4;
}

static uint64_t used_bytes(const struct sl_plan_input *input, const struct sl_plan_launch *launch)
{
    uint64_t bytes = 0;
    for (uint32_t k = 0; k < launch->access_count; k++)
        bytes += input->chunk_bytes[input->accesses[launch->first_access + k].chunk];
    return bytes;
}

/* How long each launch runs. One whose duration nobody knows is taken to go through its chunks at the speed
 * of the others, or, if there are none, at a few times the link's: rarely right, but it tells long launches
 * from short ones and lets none look free. Returns the share of the time that was guessed. */
static double estimate(const struct sl_plan_input *input, double *launch_ns)
{
    double bytes = 0, known_ns = 0, guessed_ns = 0;
    for (size_t t = 0; t < input->launch_count; t++) {
        const struct sl_plan_launch *launch = &input->launches[t];
        launch_ns[t] = (double)launch->duration_ns;
        bytes += launch->duration_ns ? (double)used_bytes(input, launch) : 0;
        known_ns += launch_ns[t];
    }
    double ns_per_byte = bytes > 0 ? known_ns / bytes : 1e9 / (4 * (double)input->in_bytes_per_s);
    for (size_t t = 0; t < input->launch_count; t++) {
        if (input->launches[t].duration_ns) continue;
        launch_ns[t] = (double)used_bytes(input, &input->launches[t]) * ns_per_byte;
        guessed_ns += launch_ns[t];
    }
    return guessed_ns > 0 ? guessed_ns / (guessed_ns + known_ns) : 0;
}

static const double weights_of_rest[] = {0, 0.5, 1, 0.25}, least_prices[] = {0.1, 0.3, 1, 0.05, 3};
enum {
    WEIGHTS = sizeof weights_of_rest / sizeof *weights_of_rest,
    WAYS = WEIGHTS * sizeof least_prices / sizeof *least_prices,
    MORE_WAYS = 4, /* that are tried where there are lessons */
};

/* What is learned, launch by launch: the prices and the launches' distances that led to the best plan, and
 * the prices as they are now. */
enum { BEST_IN, BEST_OUT, BEST_STEP, IN, OUT, ROWS };

/* What the search for the best plan works with. */
struct search {
    const struct sl_plan_input *in;
    const double *launch_ns;
    struct sl_outlook outlook;
    struct sl_choice choice; /* of the last way tried */
    struct sl_course course; /* and what came of it */
    double *rows[ROWS];
    double *start; /* of the launches, as the attempt before had it */
    unsigned best_way, next_way;
    struct sl_plan best;
    double best_half_ns, most_bytes;
};

static void search_free(struct search *s)
{
    sl_outlook_free(&s->outlook);
    sl_choice_free(&s->choice);
    sl_course_free(&s->course);
    free(s->rows[0]);
}

static double bytes_of(const struct sl_plan *plan)
{
    return (double)plan->bytes_in + (double)plan->bytes_out;
}

static enum sl_status try(struct search *s, const struct sl_policy *policy, struct sl_plan *out)
{
    struct sl_plan plan = {0};
    sl_choice_free(&s->choice);
    enum sl_status status = sl_plan_choose(s->in, &s->outlook, policy, &s->choice);
    if (status) return status;
    sl_choice_hold_back(&s->choice, s->in->when);
    status = sl_plan_schedule(s->in, s->launch_ns, &s->choice, &plan, &s->course);
    if (status == SL_OK)
        *out = plan;
    else
        sl_plan_free(&plan);
    return status;
}

static bool is_better(const struct search *s, const struct sl_plan *plan)
{
    return bytes_of(plan) <= s->most_bytes && plan->seconds_ns < s->best.seconds_ns &&
           s->course.half_ns <= SAME_HALF * s->best_half_ns;
}

static uint32_t row_length(const struct search *s)
{
    return (uint32_t)s->in->launch_count + 1;
}

/* The rows of the last plan by tick. Beyond their end they are those of the launches before, as if what was
 * carried out of the last plan came again and again. */
static void recall(struct search *s, const struct sl_plan_lessons *lessons)
{
    size_t old = lessons->launch_count, shift = (size_t)(s->in->first_tick - lessons->first_tick);
    for (size_t t = 0; t < row_length(s); t++) {
        size_t at = t + shift;
        if (at >= old) at = shift && shift < old ? at - ((at - old) / shift + 1) * shift : t % (old + 1);
        for (int r = 0; r < ROWS; r++) s->rows[r][t] = lessons->rows[(size_t)r * (old + 1) + at];
    }
}

static void remember(const struct search *s, struct sl_plan_lessons *lessons)
{
    size_t length = row_length(s);
    double *rows = realloc(lessons->rows, ROWS * length * sizeof *rows);
    if (!rows) return;
    memcpy(rows, s->rows[0], ROWS * length * sizeof *rows);
    *lessons =
        (struct sl_plan_lessons){rows, s->in->launch_count, s->in->first_tick, s->best_way, s->next_way};
}

/* Learned from an attempt that was the best so far. */
static void keep_way(struct search *s, unsigned way)
{
    size_t bytes = row_length(s) * sizeof *s->start;
    s->best_way = way;
    memcpy(s->rows[BEST_IN], s->rows[IN], bytes);
    memcpy(s->rows[BEST_OUT], s->rows[OUT], bytes);
    for (uint32_t t = 0; t + 1 < row_length(s); t++) s->rows[BEST_STEP][t] = s->start[t + 1] - s->start[t];
}

/* Plans in a way with prices from row `prices` and the next, and the launches' starts. False when there is no
 * memory: what there is will do. */
static bool try_way(struct search *s, unsigned way, int prices, bool *is_best)
{
    struct sl_plan plan;
    struct sl_prices p = {s->rows[prices], s->rows[prices + 1]};
    struct sl_policy policy = {.prices = &p,
                               .start = s->start,
                               .weight_of_rest = weights_of_rest[way % WEIGHTS],
                               .least_price = least_prices[way / WEIGHTS]};
    if (try(s, &policy, &plan)) return false;
    *is_best = is_better(s, &plan);
    sl_plan_free(*is_best ? &s->best : &plan);
    if (!*is_best) return true;
    s->best = plan;
    s->best_half_ns = s->course.half_ns;
    return true;
}

static bool waits(const struct search *s)
{
    return (double)s->best.stall_ns > LEAST_WAIT * (double)s->best.seconds_ns;
}

/* Each attempt learns from the one before where the link is the bottleneck, and goes round it. */
static void explore(struct search *s, unsigned attempts)
{
    struct sl_prices prices = {s->rows[IN], s->rows[OUT]};
    for (unsigned i = 0; i < attempts && waits(s); i++) {
        unsigned way = s->next_way;
        bool is_best;
        s->next_way = (way + 1) % WAYS;
        sl_prices_learn(&prices, s->in, s->launch_ns, &s->choice, &s->course, LEARNING_RATE);
        memcpy(s->start, s->course.start, row_length(s) * sizeof *s->start);
        if (!try_way(s, way, IN, &is_best)) return;
        if (is_best) keep_way(s, way);
    }
}

static void improve(struct search *s, struct sl_plan_lessons *lessons)
{
    bool learned = lessons && lessons->rows && lessons->first_tick <= s->in->first_tick, is_best;
    uint32_t length = row_length(s);
    s->rows[0] = calloc((ROWS + 1) * (size_t)length, sizeof *s->rows[0]);
    if (!s->rows[0]) return;
    for (int r = 1; r < ROWS; r++) s->rows[r] = s->rows[0] + r * (size_t)length;
    s->start = s->rows[0] + ROWS * (size_t)length;
    if (learned) {
        s->best_way = lessons->best_way;
        s->next_way = lessons->next_way;
        recall(s, lessons);
        for (uint32_t t = 1; t < length; t++) s->start[t] = s->start[t - 1] + s->rows[BEST_STEP][t - 1];
        if (!try_way(s, s->best_way, BEST_IN, &is_best)) return;
    }
    explore(s, learned ? MORE_WAYS : WAYS);
    if (lessons) remember(s, lessons);
}

static enum sl_status search(struct search *s, bool durations_known, struct sl_plan_lessons *lessons)
{
    enum sl_status status = sl_outlook_make(s->in, s->launch_ns, &s->outlook);
    if (status == SL_OK)
        status = sl_course_new(s->in->launch_count, s->outlook.access_count, s->in->chunk_count, &s->course);
    if (status == SL_OK) status = try(s, &(struct sl_policy){0}, &s->best);
    if (status) return status;
    s->best_half_ns = s->course.half_ns;
    s->most_bytes = MOST_BYTES * bytes_of(&s->best);
    if (durations_known && s->in->when == SL_PLAN_AHEAD && waits(s)) improve(s, lessons);
    return SL_OK;
}

enum sl_status sl_plan_make(const struct sl_plan_input *input, struct sl_plan_lessons *lessons,
                            struct sl_plan *out)
{
    if (!valid(input)) return SL_ERR_INVALID;
    double *launch_ns = malloc((input->launch_count + 1) * sizeof *launch_ns);
    if (!launch_ns) return SL_ERR_NO_MEMORY;
    struct search s = {.in = input, .launch_ns = launch_ns};
    bool known = estimate(input, launch_ns) <= MOST_GUESSED;
    enum sl_status status = search(&s, known, lessons);
    search_free(&s);
    free(launch_ns);
    if (status == SL_OK && input->believed) sl_plan_cut(&s.best, input->first_tick + input->believed);
    if (status == SL_OK) *out = s.best;
    return status;
}

void sl_plan_free(struct sl_plan *plan)
{
    free(plan->actions);
    *plan = (struct sl_plan){0};
}

void sl_plan_lessons_free(struct sl_plan_lessons *lessons)
{
    free(lessons->rows);
    *lessons = (struct sl_plan_lessons){0};
}
