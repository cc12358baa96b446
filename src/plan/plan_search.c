#include "plan/plan_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/test_hooks.h"

/* --- cost of copies */

#define MOST_ONCE 1.25 /* like SL_MOST_BYTES, over two thirds */
#define REMEMBERED 0.8 /* of an excess, in the next plan: transitions need not be made up for */
#define WORTH 0.5
#define LEAST_SAVED 0.02 /* part of the time that all excess copies together must save */

static double largest(double a, double b, double c)
{
    double ab = a > b ? a : b;
    return ab > c ? ab : c;
}

double sl_over_bytes(double over_before, struct sl_copied by, struct sl_copied least)
{
    double over = REMEMBERED * over_before + by.first - SL_MOST_BYTES * (least.most - least.first);
    return over > 0 ? over : 0;
}

double sl_excess_bytes(struct sl_copied by, struct sl_copied least)
{
    double all_through =
        largest(0, (by.most - SL_MOST_BYTES * least.most) / 2, (by.all - SL_MOST_BYTES * least.all) / 3);
    double once = largest((by.most - MOST_ONCE * least.most) / 2,
                          by.most - by.first - SL_MOST_BYTES * (least.most - least.first),
                          (by.all - by.first - SL_MOST_BYTES * (least.all - least.first)) / 2);
    if (once < 0) once = 0;
    return all_through < once ? all_through : once;
}

double sl_plan_cost_ns(double most_ns, double excess_bytes, double bytes_per_s)
{
    if (excess_bytes <= 0) return most_ns;
    return (1 + LEAST_SAVED) * most_ns + WORTH * 2 * excess_bytes / bytes_per_s * 1e9;
}

/* --- search */

/* Belady's choice copies least: see plan_parts.h. Other choices are tried while launches stall for more than
 * this part of the time. */
#define LEAST_WAIT 0.01
#define MORE_FOR_OVERSIZE 0.25 /* of a period's bytes, if a launch uses fetchable bytes remotely */
#define SAME_END 1.002         /* limit on the whole window's time, relative to the best plan */
#define FASTER 0.998           /* relative to the best plan so far: less counts as an improvement */
/* After so many plans in a row without an improvement, only one plan in so many searches. */
enum { MOST_IDLE = 16, ONE_OF_IDLE = 64 };

/* Parts of the missing chunks for launches beyond the budget. Their victims have to come back over the link
 * as well, so only as many pay as the link has time for beside the other launches. */
static const double parts_of_lacking[] = {1, 0.5, 0.25, 0.125};
enum { PARTS = sizeof parts_of_lacking / sizeof *parts_of_lacking };

/* Parts of the budget that are tried as slack. */
static const double slacks[] = {1.0 / 64, 1.0 / 32, 1.0 / 16, 1.0 / 8};
enum { SLACKS = sizeof slacks / sizeof *slacks };
#define MOST_FOR_SLACK 1.15 /* times the bytes without */

/* Relative to moving: less counts as no improvement, since loads and copies get in each other's way on the
 * link more than the schedule says. Where the last plan used chunks in place, any improvement counts: else a
 * program near the limit would change between the two, and pay for each change. */
#define FASTER_IN_PLACE 0.97

static const double least_prices[] = {0.05, 0.1, 0.3, 1, 3};
enum { LEAST_PRICES = sizeof least_prices / sizeof *least_prices };
static const struct sl_way first_way = {.weight_of_rest = 0, .least_price = 0.1};

/* Rows of prices by launch: those of the best plan, and those being tried. */
enum { BEST_IN, BEST_OUT, IN, OUT, ROWS };

struct search {
    const struct sl_plan_input *in;
    const double *launch_ns;
    struct sl_outlook outlook;
    struct sl_choice choice; /* of the last attempt */
    struct sl_course course; /* of the last attempt */
    uint32_t length;         /* of each row: number of launches + 1 */
    double *rows[ROWS];
    double part_of_lacking;           /* the best part without prices; or 1 */
    double slack;                     /* the best one without prices */
    enum sl_in_place_choice in_place; /* the same */
    bool was_in_place;                /* in the last plan */
    struct sl_way best_way;
    double over_bytes; /* what counts of the previous plans' excess bytes */
    unsigned idle;     /* previous plans in a row without an improvement */
    uint64_t random;
    struct sl_plan best;
    double best_cost_ns;
    struct sl_copied best_copied, belady;
};

/* The cost of the last attempt; infinite if it copies too much. Chunks fetched for a launch beyond the budget
 * replace remote use, so their copies have no cost of their own. */
static double cost_ns(const struct search *s)
{
    bool oversize = s->choice.oversize_launches != 0;
    double most = oversize ? MORE_FOR_OVERSIZE * (s->belady.most - s->belady.first) : 0;
    if (sl_excess_bytes(s->course.bytes, s->belady) > most) return INFINITY;
    double once = s->over_bytes > 0 && !oversize ? sl_over_bytes(0, s->course.bytes, s->belady) : 0;
    return sl_plan_cost_ns(s->course.most_ns, once, (double)s->in->in_bytes_per_s);
}

static enum sl_status attempt(struct search *s, const struct sl_choose_options *policy, double slack,
                              struct sl_plan *out)
{
    struct sl_plan plan = {0};
    struct sl_plan_input in = *s->in;
    uint64_t slack_bytes = (uint64_t)(slack * (double)in.budget_bytes);
    in.budget_bytes -= slack_bytes;
    sl_choice_free(&s->choice);
    enum sl_status status = sl_plan_choose(&in, &s->outlook, policy, &s->choice);
    if (status) return status;
    s->choice.room_bytes += (int64_t)slack_bytes;
    sl_choice_hold_back(&s->choice, s->in->when);
    status = sl_plan_schedule(s->in, s->launch_ns, &s->choice, &plan, &s->course);
    if (status == SL_OK)
        *out = plan;
    else
        sl_plan_free(&plan);
    return status;
}

/* Plans with the prices in row `prices` and the next one, and keeps the plan if it is the best. False: no
 * memory, so the best plan so far is the result. */
static bool try_way(struct search *s, struct sl_way way, int prices, bool *is_best)
{
    struct sl_plan plan;
    struct sl_prices p = {s->rows[prices], s->rows[prices + 1]};
    struct sl_choose_options policy = {.prices = &p,
                                       .weight_of_rest = way.weight_of_rest,
                                       .least_price = way.least_price,
                                       .in_place = s->in_place,
                                       .part_of_lacking = way.fills ? s->part_of_lacking : 0};
    if (attempt(s, &policy, s->slack, &plan)) return false;
    double cost = cost_ns(s);
    *is_best = cost < s->best_cost_ns && (double)plan.seconds_ns <= SAME_END * (double)s->best.seconds_ns;
    sl_plan_free(*is_best ? &s->best : &plan);
    if (!*is_best) return true;
    s->best = plan;
    s->best_cost_ns = cost;
    s->best_copied = s->course.bytes;
    return true;
}

/* A number from 0 to 1; the sequence is the same in every run (xorshift, Marsaglia 2003). */
static double random_share(struct search *s)
{
    s->random ^= s->random << 13;
    s->random ^= s->random >> 7;
    s->random ^= s->random << 17;
    return (double)(s->random >> 11) * 0x1p-53;
}

/* Changes the prices on a random stretch of each period. */
static void change_prices(struct search *s, size_t period)
{
    size_t from = (size_t)(random_share(s) * (double)period);
    size_t length = 1 + (size_t)(random_share(s) * random_share(s) * (double)period);
    bool in = random_share(s) < 2.0 / 3, out = !in || random_share(s) < 0.5;
    double factor = random_share(s) < 0.5 ? 0.2 + 0.8 * random_share(s) : 1 + 3 * random_share(s);
    double more = random_share(s) < 0.3 ? 0.5 * random_share(s) : 0;
    for (size_t t = 0; t < s->length; t++) {
        if ((t + period - from) % period >= length) continue;
        if (in) s->rows[IN][t] = s->rows[IN][t] * factor + more;
        if (out) s->rows[OUT][t] = s->rows[OUT][t] * factor + more;
    }
}

static struct sl_way random_way(struct search *s)
{
    return (struct sl_way){.weight_of_rest = random_share(s),
                           .least_price = least_prices[(int)(random_share(s) * LEAST_PRICES)],
                           .fills = random_share(s) < 0.5};
}

/* Tries the best prices with random changes, and keeps them if the plan is faster: an evolution strategy with
 * one parent and one child (Rechenberg 1973). */
static bool try_variant(struct search *s, size_t period)
{
    bool is_best;
    size_t bytes = s->length * sizeof *s->rows[IN];
    memcpy(s->rows[IN], s->rows[BEST_IN], bytes);
    memcpy(s->rows[OUT], s->rows[BEST_OUT], bytes);
    for (double share = 1; random_share(s) < share; share /= 2) change_prices(s, period);
    struct sl_way way = random_share(s) < 0.6 ? s->best_way : random_way(s);
    if (!try_way(s, way, IN, &is_best)) return false;
    if (!is_best) return true;
    s->best_way = way;
    memcpy(s->rows[BEST_IN], s->rows[IN], bytes);
    memcpy(s->rows[BEST_OUT], s->rows[OUT], bytes);
    return true;
}

/* Takes the rows of the last plan, by tick. Beyond their end they repeat, as if the served part of the last
 * plan came again and again. */
static void recall(struct search *s, const struct sl_plan_lessons *lessons, size_t shift)
{
    size_t old = lessons->launch_count;
    for (size_t t = 0; t < s->length; t++) {
        size_t at = t + shift;
        if (at >= old) at = shift && shift < old ? at - ((at - old) / shift + 1) * shift : t % (old + 1);
        for (int r = 0; r < ROWS; r++) s->rows[r][t] = lessons->rows[(size_t)r * (old + 1) + at];
    }
    s->best_way = lessons->best_way;
    s->over_bytes = lessons->over_bytes;
    s->random = lessons->random;
}

static void remember(const struct search *s, struct sl_plan_lessons *lessons)
{
    double *rows = realloc(lessons->rows, ROWS * (size_t)s->length * sizeof *rows);
    if (!rows) return;
    memcpy(rows, s->rows[0], ROWS * (size_t)s->length * sizeof *rows);
    *lessons = (struct sl_plan_lessons){.rows = rows,
                                        .launch_count = s->in->launch_count,
                                        .first_tick = s->in->first_tick,
                                        .best_way = s->best_way,
                                        .slack = s->slack,
                                        .over_bytes = sl_over_bytes(s->over_bytes, s->best_copied, s->belady),
                                        .idle = s->idle,
                                        .random = s->random};
}

static bool waits(const struct search *s)
{
    return (double)s->best.stall_ns > LEAST_WAIT * (double)s->best.seconds_ns;
}

static bool searches(const struct search *s)
{
    return !s->in->hurried && (s->idle < MOST_IDLE || s->idle % ONE_OF_IDLE == 0);
}

/* Tries the best prices so far, then variants of them. */
static void improve(struct search *s, struct sl_plan_lessons *lessons)
{
    bool learned = lessons && lessons->rows && lessons->first_tick <= s->in->first_tick, is_best;
    size_t period = learned ? (size_t)(s->in->first_tick - lessons->first_tick) : 0;
    s->rows[0] = calloc(ROWS * (size_t)s->length, sizeof *s->rows[0]);
    if (!s->rows[0]) return;
    for (int r = 1; r < ROWS; r++) s->rows[r] = s->rows[0] + r * (size_t)s->length;
    s->random = UINT64_C(88172645463325252);
    s->best_way = first_way;
    if (learned) {
        recall(s, lessons, period);
        if (!try_way(s, s->best_way, BEST_IN, &is_best)) return;
    }
    double known_ns = s->best_cost_ns;
    if (!period || period > s->in->launch_count) period = s->in->launch_count;
    for (unsigned i = 0;
         SL_HAS(VARIANTS) && searches(s) && i < s->in->attempts && waits(s) && try_variant(s, period); i++) {
    }
    s->idle = s->best_cost_ns < FASTER * known_ns ? 0 : s->idle + 1;
    if (lessons && SL_HAS(LESSONS)) remember(s, lessons);
}

/* The plan of the last attempt, which is a choice without prices: if it is the best, its copies are the
 * reference for those with prices. */
static void take_or_free(struct search *s, struct sl_plan *plan, bool is_best)
{
    sl_plan_free(is_best ? &s->best : plan);
    if (!is_best) return;
    s->best = *plan;
    s->best_cost_ns = s->course.most_ns;
    s->belady = s->best_copied = s->course.bytes;
}

/* Belady's choice. */
static enum sl_status start_from_belady(struct search *s, double part_of_lacking, bool *is_best)
{
    struct sl_plan plan;
    enum sl_status status =
        attempt(s, &(struct sl_choose_options){.part_of_lacking = part_of_lacking}, 0, &plan);
    if (status) return status;
    *is_best = !s->best.actions || s->course.most_ns < s->best_cost_ns;
    take_or_free(s, &plan, *is_best);
    return SL_OK;
}

/* Belady's choice for a smaller budget. `least_ns`: the least cost so far. */
static enum sl_status try_slack(struct search *s, double slack, double belady_bytes, double *least_ns)
{
    struct sl_plan plan;
    enum sl_status status = attempt(s, &(struct sl_choose_options){0}, slack, &plan);
    if (status) return status;
    double more = s->course.bytes.most > belady_bytes ? s->course.bytes.most - belady_bytes : 0;
    double cost = s->course.most_ns + WORTH * more / (double)s->in->in_bytes_per_s * 1e9;
    bool is_best = !s->choice.oversize_launches && cost < FASTER * *least_ns &&
                   s->course.bytes.most <= MOST_FOR_SLACK * belady_bytes;
    take_or_free(s, &plan, is_best);
    if (!is_best) return SL_OK;
    *least_ns = cost;
    s->slack = slack;
    return SL_OK;
}

/* Tries all of them while the search goes on, else only the last plan's. */
static enum sl_status find_slack(struct search *s, double last)
{
    enum sl_status status = SL_OK;
    double belady_bytes = s->belady.most, least_ns = s->best_cost_ns;
    bool all = searches(s);
    bool may_pay = SL_HAS(SLACK) && s->in->tries_slack && s->in->when == SL_PLAN_AHEAD;
    for (int i = 0; i < SLACKS && may_pay && waits(s) && status == SL_OK; i++)
        if (all || slacks[i] == last) status = try_slack(s, slacks[i], belady_bytes, &least_ns);
    if (status) sl_plan_free(&s->best);
    return status;
}

static bool any_in_place(const struct sl_plan_input *in)
{
    for (size_t t = 0; t < in->launch_count; t++)
        if (in->launches[t].in_place_cost > 0) return true;
    return false;
}

/* Belady's choice where launches may use memory in place. */
static enum sl_status try_in_place(struct search *s, enum sl_in_place_choice in_place, double slack)
{
    struct sl_plan plan;
    enum sl_status status = attempt(s, &(struct sl_choose_options){.in_place = in_place}, slack, &plan);
    if (status) return status;
    double least = s->in_place || s->was_in_place ? FASTER : FASTER_IN_PLACE;
    bool is_best =
        !s->choice.oversize_launches && s->choice.remote_count && s->course.most_ns < least * s->best_cost_ns;
    take_or_free(s, &plan, is_best);
    if (!is_best) return SL_OK;
    s->in_place = in_place;
    s->slack = slack;
    return SL_OK;
}

/* With the slack that was found, and without. */
static enum sl_status find_in_place(struct search *s)
{
    enum sl_status status = SL_OK;
    double slack = s->slack;
    if (!SL_HAS(IN_PLACE) || s->in->when != SL_PLAN_AHEAD || s->in->histories || !waits(s) ||
        !any_in_place(s->in))
        return SL_OK;
    for (int choice = SL_STAY_AWAY; choice <= SL_STAY_FAR_AWAY; choice++) {
        if (status == SL_OK && slack > 0) status = try_in_place(s, (enum sl_in_place_choice)choice, slack);
        if (status == SL_OK) status = try_in_place(s, (enum sl_in_place_choice)choice, 0);
    }
    if (status) sl_plan_free(&s->best);
    return status;
}

/* Starts with only what fits for launches beyond the budget or, if that is faster, with a part of their
 * missing chunks. */
static enum sl_status begin(struct search *s, const struct sl_plan_lessons *lessons)
{
    bool is_best;
    enum sl_status status = start_from_belady(s, 0, &is_best);
    s->part_of_lacking = 1;
    if (lessons) s->idle = lessons->idle;
    s->was_in_place = lessons && lessons->in_place;
    if (status || !s->in->attempts) return status;
    if (!s->choice.oversize_launches) {
        status = find_slack(s, lessons ? lessons->slack : 0);
        return status ? status : find_in_place(s);
    }
    if (!SL_HAS(FILLS)) return status;
    for (int i = 0; i < PARTS && status == SL_OK; i++) {
        status = start_from_belady(s, parts_of_lacking[i], &is_best);
        if (status == SL_OK && is_best) s->part_of_lacking = parts_of_lacking[i];
    }
    if (status) sl_plan_free(&s->best);
    return status;
}

enum sl_status sl_plan_search(const struct sl_plan_input *in, const double *launch_ns,
                              struct sl_plan_lessons *lessons, struct sl_plan *out)
{
    struct search s = {.in = in, .launch_ns = launch_ns, .length = (uint32_t)in->launch_count + 1};
    enum sl_status status = sl_outlook_make(in, launch_ns, &s.outlook);
    if (status == SL_OK) status = begin(&s, lessons);
    if (status == SL_OK && in->attempts && waits(&s))
        improve(&s, lessons);
    else if (status == SL_OK && lessons && s.slack > 0 && SL_HAS(LESSONS))
        lessons->slack = s.slack; /* nobody waits any more, thanks to it */
    if (status == SL_OK && lessons) lessons->in_place = s.in_place != SL_FETCH_ALL;
    if (status == SL_OK) *out = s.best;
    sl_outlook_free(&s.outlook);
    sl_choice_free(&s.choice);
    free(s.rows[0]);
    return status;
}
