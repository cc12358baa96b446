#include "core/planning.h"

#include <string.h>

#include "base/check.h"
#include "base/test_hooks.h"
#include "core/core.h"
#include "move/move_valid.h"
#include "move/steps.h"

enum { MOST_SYMBOLS = 512 }; /* predicted symbols searched for launches */
enum { SURE_CONTEXT = 16 };  /* symbols of matching context that make a place certain */
/* A plan begun so many launches ago may be replaced before its end. */
enum { LEAST_AGE = 16 };
/* After so many launches without a match, the program is not expected to continue the plan. */
enum { MOST_ASTRAY = 32 };
/* A launch that came before so many planned ones is a reason to plan again. */
enum { FAR_EARLY = 16 };
enum { LEAVES = 1, COMES, IS_COMING };
#define PARTS 16

/* --- where the program is in a plan */

static size_t predicted_launches(const struct sl_predictor *predictor, const struct sl_symbols *symbols,
                                 sl_symbol launches[SL_DELAY_LAUNCHES])
{
    struct sl_predictor_walk walk = sl_predictor_walk(predictor);
    size_t count = 0;
    if (sl_predictor_expected(predictor) == SL_NONE) return 0;
    for (int i = 0; i < MOST_SYMBOLS && count < SL_DELAY_LAUNCHES; i++) {
        sl_symbol symbol = sl_predictor_step(predictor, &walk);
        if (symbol == SL_NONE) break;
        if (symbols->records[symbol].kind == SL_SYMBOL_LAUNCH) launches[count++] = symbol;
    }
    return count;
}

/* Tick 0 is not a launch, so a plan cannot begin before tick 1. */
static bool are_at(const struct sl_steps *steps, sl_tick next, int64_t delay, const sl_symbol *launches,
                   size_t count)
{
    int64_t at = (int64_t)(next - steps->first_tick) - delay;
    if ((int64_t)steps->first_tick + delay < 1) return false;
    if (at < 0 || (uint64_t)at + count > steps->window) return false;
    for (size_t i = 0; i < count; i++)
        if (steps->symbols[(size_t)at + i] != launches[i]) return false;
    return true;
}

bool sl_plan_delay(const struct sl_predictor *predictor, const struct sl_symbols *symbols,
                   const struct sl_steps *steps, sl_tick next, int64_t *delay)
{
    sl_symbol launches[SL_DELAY_LAUNCHES];
    size_t count = predicted_launches(predictor, symbols, launches);
    if (count < SL_DELAY_LEAST) return false;
    for (int64_t by = 0; by <= SL_DELAY_MOST; by++)
        for (int sign = 1; sign >= -1; sign -= 2)
            if (are_at(steps, next, sign * by, launches, count)) {
                *delay = sign * by;
                return true;
            }
    return false;
}

/* --- the active plan */

void sl_planning_cancel(struct sl_planning *planning, enum sl_cancel_reason why)
{
    const struct sl_schedule *schedule = &planning->core->schedule;
    sl_tick now = planning->core->history.ticks.now;
    planning->mispredictions++;
    planning->cancelled++;
    planning->astray_at = 0;
    if (atomic_load(&schedule->active) && why == SL_CANCEL_MISPREDICTED)
        SL_COUNT(&planning->core->stats, mispredictions, 1);
    if (atomic_load(&schedule->active))
        sl_decision_plan_discarded(why, schedule->steps.first_tick,
                                   schedule->end_tick > now ? schedule->end_tick - now : 0, true);
    sl_schedule_cancel(&planning->core->schedule);
}

void sl_planning_mispredicted(struct sl_planning *planning, bool alike)
{
    planning->mispredictions++;
    if (alike) return;
    if (!atomic_load_explicit(&planning->core->schedule.active, memory_order_relaxed)) return;
    if (!planning->core->schedule.steps.symbols || !SL_HAS(GOES_ON))
        sl_planning_cancel(planning, SL_CANCEL_MISPREDICTED);
    else if (!planning->astray_at)
        planning->astray_at = planning->core->history.ticks.now;
}

void sl_planning_lacks(struct sl_planning *planning)
{
    if (planning->astray_at) {
        planning->lacked_astray = true;
        return;
    }
    planning->lacked = true;
    if (planning->lacked_astray) sl_planning_hasten(planning);
}

/* Where a long context matches, a misprediction need not be waited out until enough symbols were predicted
 * again. */
bool sl_planning_knows_place(const struct sl_planning *planning)
{
    return planning->core->history.streak >= SL_STEADY_STREAK ||
           sl_predictor_match(planning->core->history.predictor) >= SURE_CONTEXT;
}

/* After a launch that did not match: whether the launches match the plan again, or the plan was cancelled. */
bool sl_planning_find_way(struct sl_planning *planning)
{
    struct sl_schedule *schedule = &planning->core->schedule;
    const struct sl_history *history = &planning->core->history;
    int64_t delay;
    if (!planning->astray_at) return true;
    bool active = atomic_load(&schedule->active);
    if (active && !sl_planning_knows_place(planning)) {
        if (planning->core->history.ticks.now - planning->astray_at < MOST_ASTRAY) return false;
    } else if (active && sl_plan_delay(history->predictor, planning->core->scanner.symbols, &schedule->steps,
                                       planning->core->history.ticks.now + 1, &delay)) {
        if (!sl_schedule_delay(schedule, delay)) return false; /* the next launch tries again */
        sl_decision_plan_goes_on(planning->core->history.ticks.now, delay);
        planning->astray_at = 0;
        return true;
    }
    planning->astray_at = 0;
    if (active) sl_planning_cancel(planning, SL_CANCEL_MISPREDICTED);
    return true;
}

void sl_planning_hasten(struct sl_planning *planning)
{
    struct sl_schedule *schedule = &planning->core->schedule;
    if (SL_HAS(HASTEN) && planning->core->history.ticks.now >= planning->begun_at + LEAST_AGE &&
        planning->core->history.ticks.now < schedule->end_tick)
        schedule->end_tick = planning->core->history.ticks.now;
}

/* Notes a launch that comes before the plan in work is carried out. */
static void note_came(struct sl_planning *planning, uint8_t history)
{
    if (planning->stage == SL_PLANNING_IDLE) return;
    if (planning->came_count < SL_PLANNING_CAME)
        planning->came[planning->came_count++] = history;
    else
        planning->mispredictions++; /* no room to note it: the plan in work will be discarded */
}

bool sl_planning_knows(struct sl_planning *planning, uint8_t history)
{
    struct sl_schedule *schedule = &planning->core->schedule;
    size_t early;
    note_came(planning, history);
    if (!atomic_load_explicit(&schedule->active, memory_order_relaxed)) return true;
    if (!schedule->steps.histories ||
        !sl_schedule_pull(schedule, planning->core->history.ticks.now, history, &early))
        return false;
    if (early >= FAR_EARLY) sl_planning_hasten(planning);
    return true;
}

/* --- a plan that takes over */

struct plan_switch {
    const struct sl_planning *planning;
    struct sl_plan_job *job;
    const enum sl_chunk_content *planned;
    size_t launch; /* index in the plan of the next launch */
    uint32_t out_count, in_count, coming;
    sl_tick submitted;
};

/* The content that the plan expects now. Runs the laid-out steps instead of the plan's launches, because they
 * are already in the real order of streams that interleave by chance. */
static void run_steps(const struct plan_switch *t, enum sl_chunk_content *content)
{
    const struct sl_plan_input *input = &t->job->input;
    const struct sl_steps *steps = &t->job->steps;
    memcpy(content, input->content, input->chunk_count * sizeof *content);
    for (uint32_t o = 0, i = 0;;) {
        bool out = o < steps->out_count && steps->out[o].after < t->planning->core->history.ticks.now;
        bool in = i < steps->in_count && steps->in[i].after < t->planning->core->history.ticks.now;
        if (!out && !in) return;
        if (out && (!in || steps->out[o].after <= steps->in[i].after))
            content[steps->out[o++].chunk] = SL_CONTENT_HOST;
        else
            content[steps->in[i++].chunk] = SL_CONTENT_RESIDENT;
    }
}

static void let_go(struct plan_switch *t, sl_chunk c, sl_tick after)
{
    t->job->marks[c] = LEAVES;
    t->job->out[t->out_count++] = (struct sl_step){.chunk = c, .after = after};
}

/* Evictions that the active schedule was about to issue keep their order and their fences. */
static void keep_evictions(struct plan_switch *t)
{
    const struct sl_schedule *schedule = &t->planning->core->schedule;
    if (!atomic_load(&schedule->active)) return;
    for (uint32_t i = atomic_load(&schedule->next_out); i < schedule->steps.out_count; i++) {
        const struct sl_step *step = &schedule->steps.out[i];
        sl_chunk c = step->chunk;
        if (step->after >= t->planning->core->history.ticks.now || !SL_CHECK(c < t->job->input.chunk_count))
            return;
        bool leaves =
            sl_content_is_resident(atomic_load(&sl_arena_record(&t->planning->core->arena, c)->content)) &&
            !sl_content_is_resident(t->planned[c]) && !t->job->marks[c];
        if (leaves) let_go(t, c, step->after);
    }
}

/* Compares a chunk with the plan's expectation. A chunk to evict leaves behind the launch being begun and its
 * fence. */
static void compare(struct plan_switch *t, sl_chunk c)
{
    const struct sl_chunk_record *chunk = sl_arena_record(&t->planning->core->arena, c);
    bool held = sl_content_is_resident(atomic_load_explicit(&chunk->content, memory_order_relaxed));
    if (held == sl_content_is_resident(t->planned[c]) || t->job->marks[c] || chunk->pinned) return;
    if (!held) {
        t->job->marks[c] = COMES;
        t->coming++;
    } else if (chunk->last_use <= t->submitted) {
        let_go(t, c, t->planning->core->history.ticks.now);
    }
}

/* Compares the chunks that should have been fetched by now, and a part of the others, whose differences
 * nothing else corrects. */
static void compare_some(struct plan_switch *t)
{
    const struct sl_schedule *schedule = &t->planning->core->schedule;
    size_t count = t->job->input.chunk_count;
    for (uint32_t i = atomic_load(&schedule->next_in); i < schedule->steps.in_count; i++)
        if (schedule->steps.in[i].after < t->planning->core->history.ticks.now &&
            SL_CHECK(schedule->steps.in[i].chunk < count))
            compare(t, schedule->steps.in[i].chunk);
    for (size_t c = atomic_load(&t->planning->core->stats.plans) % PARTS; c < count; c += PARTS)
        compare(t, (sl_chunk)c);
}

static void fetch(struct plan_switch *t, sl_chunk c, sl_tick deadline)
{
    if (t->job->marks[c] != COMES) return;
    t->job->marks[c] = IS_COMING;
    t->job->in[t->in_count++] = (struct sl_step){.chunk = c,
                                                 .after = t->planning->core->history.ticks.now - 1,
                                                 .deadline = deadline,
                                                 .bytes = t->job->input.chunk_bytes[c]};
}

/* Fetches the missing chunks in the order of their next uses. */
static void fetch_lacking(struct plan_switch *t)
{
    const struct sl_plan_input *input = &t->job->input;
    for (size_t l = t->launch; l < input->launch_count && t->in_count < t->coming; l++)
        for (uint32_t k = 0; k < input->launches[l].access_count; k++)
            fetch(t, input->accesses[input->launches[l].first_access + k].chunk, input->first_tick + l);
    for (size_t c = 0; c < input->chunk_count && t->in_count < t->coming; c++)
        fetch(t, (sl_chunk)c, input->first_tick + input->launch_count);
}

/* Each fetch gets a free frame, or else that of the next eviction. */
static void promise_frames(struct plan_switch *t)
{
    uint64_t occupied = atomic_load(&t->planning->core->migrator.occupied_bytes),
             budget = t->job->input.budget_bytes;
    uint32_t out = 0;
    for (uint32_t i = 0; i < t->in_count; i++) {
        struct sl_step *step = &t->job->in[i];
        occupied += step->bytes;
        while (occupied > budget && out < t->out_count)
            occupied -= atomic_load(
                &sl_arena_record(&t->planning->core->arena, t->job->out[out++].chunk)->frame_bytes);
        step->waits_for = out;
    }
}

void sl_plan_switch(const struct sl_planning *planning, struct sl_plan_job *job, bool follows)
{
    SL_TEST_DELAY(PLAN_SWITCH);
    struct plan_switch t = {.planning = planning,
                            .job = job,
                            .planned = job->input.content,
                            .submitted = sl_ticks_submitted(&planning->core->history.ticks),
                            .launch =
                                (size_t)(planning->core->history.ticks.now + 1 - job->input.first_tick)};
    if (t.launch) {
        if (job->steps.histories)
            run_steps(&t, job->now);
        else
            sl_plan_content(&job->input, &job->plan, t.launch, job->now);
        t.planned = job->now;
    }
    keep_evictions(&t);
    if (follows && !t.launch)
        compare_some(&t);
    else
        for (size_t c = 0; c < job->input.chunk_count; c++) compare(&t, (sl_chunk)c);
    fetch_lacking(&t);
    promise_frames(&t);
    sl_schedule_switch(&planning->core->schedule, &job->steps, planning->core->history.ticks.now, job->out,
                       t.out_count, job->in, t.in_count);
    sl_schedule_submitted(&planning->core->schedule, sl_ticks_submitted(&planning->core->history.ticks));
    SL_CHECK_ALL(sl_migrator_is_valid(&planning->core->migrator));
}
