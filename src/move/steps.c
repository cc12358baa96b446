#include "move/steps.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "move/move_valid.h"

/* How many fetches are searched for an unused one. */
enum { LOOK_BACK = 32 };

/* --- uses */

static void free_uses(struct sl_planned_uses *uses)
{
    free(uses->first);
    free(uses->launch);
    *uses = (struct sl_planned_uses){0};
}

static const struct sl_plan_access *accesses_of(const struct sl_plan_input *input, size_t launch)
{
    return &input->accesses[input->launches[launch].first_access];
}

/* Counting sort by chunk, which keeps the order of launches. */
static enum sl_status note_uses(const struct sl_plan_input *input, struct sl_planned_uses *out)
{
    struct sl_planned_uses uses = {.chunk_count = input->chunk_count};
    size_t count = 0;
    for (size_t l = 0; l < input->launch_count; l++) count += input->launches[l].access_count;
    uses.first = calloc(input->chunk_count + 2, sizeof *uses.first);
    uses.launch = malloc((count + 1) * sizeof *uses.launch);
    if (!uses.first || !uses.launch) {
        free_uses(&uses);
        return SL_ERR_NO_MEMORY;
    }
    uint32_t *next = uses.first + 1; /* in the end, the index where each chunk's launches end */
    for (size_t l = 0; l < input->launch_count; l++)
        for (uint32_t k = 0; k < input->launches[l].access_count; k++)
            next[accesses_of(input, l)[k].chunk + 1]++;
    for (size_t c = 1; c <= input->chunk_count; c++) next[c] += next[c - 1];
    for (size_t l = 0; l < input->launch_count; l++)
        for (uint32_t k = 0; k < input->launches[l].access_count; k++)
            uses.launch[next[accesses_of(input, l)[k].chunk]++] = (uint32_t)l;
    *out = uses;
    return SL_OK;
}

uint32_t sl_planned_uses_next(const struct sl_planned_uses *uses, sl_chunk chunk, size_t launch)
{
    if (!uses->first || chunk >= uses->chunk_count) return UINT32_MAX;
    uint32_t low = uses->first[chunk], high = uses->first[chunk + 1], end = high;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (uses->launch[middle] < launch)
            low = middle + 1;
        else
            high = middle;
    }
    return low < end ? uses->launch[low] : UINT32_MAX;
}

/* --- laid out, replaced, shifted */

void sl_steps_free(struct sl_steps *steps)
{
    free(steps->out_space);
    free(steps->in_space);
    free(steps->ready_out);
    free(steps->ready_in);
    free(steps->need_in);
    free(steps->in_place);
    free(steps->histories);
    free(steps->symbols);
    free_uses(&steps->uses);
    *steps = (struct sl_steps){0};
}

static bool is_out(const struct sl_plan_action *action)
{
    return action->kind != SL_ACTION_FETCH && action->kind != SL_ACTION_POPULATE;
}

static bool reserve(struct sl_steps *steps, size_t actions, size_t room)
{
    size_t window = steps->window;
    steps->out_space = calloc(room + actions + 1, sizeof *steps->out_space);
    steps->in_space = calloc(room + actions + 1, sizeof *steps->in_space);
    steps->ready_out = calloc(window + 1, sizeof *steps->ready_out);
    steps->ready_in = calloc(window + 1, sizeof *steps->ready_in);
    steps->need_in = calloc(window + 1, sizeof *steps->need_in);
    return steps->out_space && steps->in_space && steps->ready_out && steps->ready_in && steps->need_in;
}

/* Counts a step for every launch from `tick` on: adds it at that launch; the caller sums up. Clamped to the
 * window. */
static void count_from(const struct sl_steps *steps, uint32_t *table, sl_tick tick)
{
    size_t at = tick <= steps->first_tick ? 0 : (size_t)(tick - steps->first_tick);
    if (at <= steps->window) table[at]++;
}

static void fill_tables(struct sl_steps *steps)
{
    uint32_t *tables[] = {steps->ready_out, steps->ready_in, steps->need_in};
    for (int i = 0; i < 3; i++) memset(tables[i], 0, (steps->window + 1) * sizeof *tables[i]);
    for (uint32_t i = 0; i < steps->out_count; i++)
        count_from(steps, steps->ready_out, steps->out[i].after + 1);
    for (uint32_t i = 0; i < steps->in_count; i++) {
        count_from(steps, steps->ready_in, steps->in[i].after + 1);
        count_from(steps, steps->need_in, steps->in[i].deadline);
    }
    for (int i = 0; i < 3; i++)
        for (size_t t = 1; t <= steps->window; t++) tables[i][t] += tables[i][t - 1];
}

enum { NOBODY = UINT8_MAX, MANY = UINT8_MAX - 1 };

static void note_users(const struct sl_plan_input *input, uint8_t *user)
{
    memset(user, NOBODY, input->chunk_count);
    for (size_t t = 0; t < input->launch_count; t++)
        for (uint32_t k = 0; k < input->launches[t].access_count; k++) {
            sl_chunk c = input->accesses[input->launches[t].first_access + k].chunk;
            if (user[c] == NOBODY)
                user[c] = input->histories[t];
            else if (user[c] != input->histories[t])
                user[c] = MANY;
        }
}

/* Marks evictions of chunks that only one stream history uses: they can follow its launches in any order of
 * the stream histories. */
static bool note_histories(struct sl_steps *steps, const struct sl_plan_input *input)
{
    uint8_t *user = malloc(input->chunk_count + 1);
    steps->histories = malloc(input->launch_count + 1);
    if (!user || !steps->histories) {
        free(user);
        return false;
    }
    memcpy(steps->histories, input->histories, input->launch_count);
    note_users(input, user);
    for (uint32_t i = 0; i < steps->out_count; i++) {
        struct sl_step *step = &steps->out[i];
        step->own = step->after >= input->first_tick &&
                    user[step->chunk] == input->histories[step->after - input->first_tick];
    }
    free(user);
    return true;
}

static bool note_in_place(struct sl_steps *steps, const struct sl_plan *plan)
{
    if (!plan->in_place) return true;
    steps->in_place = malloc(steps->window);
    if (steps->in_place) memcpy(steps->in_place, plan->in_place, steps->window);
    return steps->in_place;
}

/* For deviations of the program from the prediction. */
static bool note_launches(struct sl_steps *steps, const struct sl_plan_input *input)
{
    if (input->histories) return note_histories(steps, input);
    if (input->symbols) {
        steps->symbols = malloc((input->launch_count + 1) * sizeof *steps->symbols);
        if (!steps->symbols) return false;
        memcpy(steps->symbols, input->symbols, input->launch_count * sizeof *steps->symbols);
    }
    return !input->launches || note_uses(input, &steps->uses) == SL_OK;
}

enum sl_status sl_steps_new(const struct sl_plan *plan, const struct sl_plan_input *input, size_t serve,
                            size_t room, struct sl_steps *out)
{
    struct sl_steps steps = {.first_tick = input->first_tick,
                             .window = input->launch_count,
                             .serve = serve,
                             .budget_bytes = input->budget_bytes};
    uint32_t *eviction_of = calloc(plan->action_count + 1, sizeof *eviction_of);
    if (!eviction_of || !reserve(&steps, plan->action_count, room)) {
        free(eviction_of);
        sl_steps_free(&steps);
        return SL_ERR_NO_MEMORY;
    }
    steps.out = steps.out_space + room;
    steps.in = steps.in_space + room;
    uint32_t waits_for = 0; /* rises only, because frames are given out in order */
    for (size_t a = 0; a < plan->action_count; a++) {
        const struct sl_plan_action *action = &plan->actions[a];
        struct sl_step step = {.chunk = action->chunk,
                               .after = action->after,
                               .deadline = action->deadline,
                               .bytes = input->chunk_bytes[action->chunk],
                               .dead =
                                   action->kind == SL_ACTION_DISCARD || action->kind == SL_ACTION_POPULATE};
        if (is_out(action)) {
            eviction_of[a] = steps.out_count;
            steps.out[steps.out_count++] = step;
        } else {
            if (action->frame_from != SL_NONE && eviction_of[action->frame_from] + 1 > waits_for)
                waits_for = eviction_of[action->frame_from] + 1;
            step.waits_for = waits_for;
            steps.in[steps.in_count++] = step;
        }
    }
    free(eviction_of);
    if (!note_in_place(&steps, plan) || !note_launches(&steps, input)) {
        sl_steps_free(&steps);
        return SL_ERR_NO_MEMORY;
    }
    fill_tables(&steps);
    *out = steps;
    return SL_OK;
}

void sl_schedule_take(struct sl_schedule *schedule, struct sl_steps *steps)
{
    struct sl_steps before = schedule->steps;
    schedule->steps = (struct sl_steps){0};
    sl_schedule_clear(schedule);
    schedule->steps = *steps;
    *steps = before;
    schedule->end_tick = schedule->steps.first_tick + schedule->steps.serve;
    schedule->begun_at = 0;
    schedule->taken_over = 0;
    atomic_store(&schedule->active, true);
    SL_CHECK_ALL(sl_schedule_is_valid(schedule));
}

/* Steps that were taken over may stand behind launches before the plan's first one; no tick is below 0. */
static sl_tick moved(sl_tick tick, int64_t launches)
{
    sl_tick back = launches < 0 ? -(sl_tick)launches : 0;
    return tick < back ? 0 : tick + (sl_tick)launches;
}

void sl_steps_delay(struct sl_steps *steps, int64_t launches)
{
    steps->first_tick = moved(steps->first_tick, launches);
    for (uint32_t i = 0; i < steps->out_count; i++)
        steps->out[i].after = moved(steps->out[i].after, launches);
    for (uint32_t i = 0; i < steps->in_count; i++) {
        steps->in[i].after = moved(steps->in[i].after, launches);
        steps->in[i].deadline = moved(steps->in[i].deadline, launches);
    }
}

bool sl_schedule_delay(struct sl_schedule *schedule, int64_t launches)
{
    if (!launches) return true;
    if (!sl_migrator_try_lock(schedule->migrator, SL_PATIENCE)) return false;
    sl_steps_delay(&schedule->steps, launches);
    schedule->end_tick += (sl_tick)launches;
    SL_CHECK_ALL(sl_schedule_is_valid(schedule));
    sl_migrator_unlock(schedule->migrator);
    return true;
}

static uint32_t count_before(const struct sl_step *steps, uint32_t count, sl_tick tick)
{
    uint32_t before = 0;
    while (before < count && steps[before].after < tick) before++;
    return before;
}

/* Merges by deadline, in place: the write position never passes the read position. */
static void merge(struct sl_steps *steps, const struct sl_step *in, uint32_t in_count, uint32_t left_out)
{
    struct sl_step *from = steps->in + left_out, *end = steps->in + steps->in_count, *to = from - in_count;
    steps->in = to;
    steps->in_count = steps->in_count - left_out + in_count;
    for (uint32_t i = 0; i < in_count; *to++ = in[i++])
        while (from < end && from->deadline < in[i].deadline) *to++ = *from++;
    for (uint32_t i = 1; i < steps->in_count; i++) /* frames are given out in order */
        if (steps->in[i].waits_for < steps->in[i - 1].waits_for)
            steps->in[i].waits_for = steps->in[i - 1].waits_for;
}

void sl_schedule_switch(struct sl_schedule *schedule, struct sl_steps *steps, sl_tick tick,
                        const struct sl_step *out, uint32_t out_count, const struct sl_step *in,
                        uint32_t in_count)
{
    uint32_t left_out = count_before(steps->out, steps->out_count, tick);
    uint32_t left_in = count_before(steps->in, steps->in_count, tick);
    if (!left_out && !left_in && !out_count && !in_count) {
        sl_schedule_take(schedule, steps);
        return;
    }
    for (uint32_t i = left_in; i < steps->in_count; i++) {
        uint32_t *waits_for = &steps->in[i].waits_for;
        *waits_for = (*waits_for > left_out ? *waits_for - left_out : 0) + out_count;
    }
    merge(steps, in, in_count, left_in);
    steps->out += left_out;
    steps->out -= out_count;
    steps->out_count = steps->out_count - left_out + out_count;
    if (out_count) memcpy(steps->out, out, out_count * sizeof *out);
    fill_tables(steps);
    sl_schedule_take(schedule, steps);
    schedule->begun_at = tick;
    schedule->taken_over = out_count;
    SL_CHECK_ALL(sl_schedule_is_valid(schedule));
}

/* --- reordered for streams that interleave by chance */

/* Launch `at` of the plan moves to `to`. */
struct pull {
    size_t to, at;
    sl_tick tick; /* of launch `to` */
};

/* A position in the order of fetches keeps its frame, and so its `waits_for` and `after`. */
static void swap_steps(struct sl_step *a, struct sl_step *b, bool fetches)
{
    struct sl_step was = *a;
    *a = *b;
    *b = was;
    if (!fetches) return;
    b->after = a->after, b->waits_for = a->waits_for;
    a->after = was.after, a->waits_for = was.waits_for;
}

static void reverse(struct sl_step *steps, uint32_t begin, uint32_t end, bool fetches)
{
    while (begin + 1 < end) swap_steps(&steps[begin++], &steps[--end], fetches);
}

/* Moves the steps from `middle` on to the front. */
static void rotate(struct sl_step *steps, uint32_t begin, uint32_t middle, uint32_t end, bool fetches)
{
    if (begin == middle || middle == end) return;
    reverse(steps, begin, middle, fetches);
    reverse(steps, middle, end, fetches);
    reverse(steps, begin, end, fetches);
}

/* Chunks that only the launch's own stream history uses are evicted right after it; the others after the same
 * launches as before. */
static void pull_out(struct sl_steps *steps, const struct pull *pull)
{
    uint32_t *ready = steps->ready_out, begin = ready[pull->to], middle = ready[pull->at],
             end = ready[pull->at + 1];
    uint32_t moved = 0;
    for (uint32_t i = middle; i < end; i++)
        if (steps->out[i].own) rotate(steps->out, middle + moved++, i, i + 1, false);
    rotate(steps->out, begin, middle, middle + moved, false);
    for (uint32_t i = begin; i < middle + moved; i++) {
        struct sl_step *step = &steps->out[i];
        step->after = i < begin + moved ? pull->tick : step->after + 1;
    }
    memmove(&ready[pull->to + 1], &ready[pull->to], (pull->at - pull->to) * sizeof *ready);
    for (size_t x = pull->to + 1; x <= pull->at; x++) ready[x] += moved;
}

static uint32_t no_less(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* `issued`: number of issued fetches; they keep their positions. */
static void pull_in(struct sl_steps *steps, const struct pull *pull, uint32_t issued)
{
    uint32_t *need = steps->need_in, before = pull->to ? need[pull->to - 1] : 0;
    uint32_t begin = no_less(before, issued), middle = no_less(need[pull->at - 1], issued),
             end = no_less(need[pull->at], issued), moved = end - middle;
    rotate(steps->in, begin, middle, end, true);
    for (uint32_t i = begin; i < end; i++) {
        struct sl_step *step = &steps->in[i];
        step->deadline = i < begin + moved ? pull->tick : step->deadline + 1;
        if (step->after >= step->deadline) step->after = step->deadline - 1;
    }
    memmove(&need[pull->to + 1], &need[pull->to], (pull->at - pull->to) * sizeof *need);
    need[pull->to] = before;
    for (size_t x = pull->to; x <= pull->at; x++) {
        if (moved) need[x] = no_less(need[x], begin) + moved;
        steps->ready_in[x] = no_less(steps->ready_in[x], need[x]);
    }
}

/* Finds the next launch of the stream history. */
static bool find(const struct sl_steps *steps, sl_tick tick, uint8_t history, struct pull *pull)
{
    if (tick < steps->first_tick || tick - steps->first_tick >= steps->window) return false;
    *pull = (struct pull){.to = (size_t)(tick - steps->first_tick), .tick = tick};
    size_t end = pull->to + SL_SCHEDULE_REACH;
    if (end > steps->window) end = steps->window;
    for (pull->at = pull->to; pull->at < end; pull->at++)
        if (steps->histories[pull->at] == history) return true;
    return false;
}

static void put_in_front(struct sl_steps *steps, const struct pull *pull, uint32_t issued)
{
    uint8_t history = steps->histories[pull->at];
    memmove(&steps->histories[pull->to + 1], &steps->histories[pull->to], pull->at - pull->to);
    steps->histories[pull->to] = history;
    pull_out(steps, pull);
    pull_in(steps, pull, issued);
}

bool sl_steps_pull(struct sl_steps *steps, sl_tick tick, uint8_t history)
{
    struct pull pull;
    if (!find(steps, tick, history, &pull)) return false;
    if (pull.at > pull.to) put_in_front(steps, &pull, 0);
    return true;
}

bool sl_schedule_pull(struct sl_schedule *schedule, sl_tick tick, uint8_t history, size_t *early)
{
    struct sl_migrator *migrator = schedule->migrator;
    struct pull pull;
    if (!find(&schedule->steps, tick, history, &pull)) return false;
    *early = pull.at - pull.to;
    if (!*early) return true;
    if (!sl_migrator_try_lock(migrator, SL_PATIENCE)) return false;
    put_in_front(&schedule->steps, &pull, atomic_load(&schedule->next_in));
    SL_CHECK_ALL_SPARINGLY(sl_schedule_elements(schedule), sl_schedule_is_valid(schedule));
    sl_migrator_unlock(migrator);
    return true;
}

sl_chunk sl_schedule_take_back(struct sl_schedule *schedule, sl_tick tick)
{
    struct sl_step *steps = schedule->steps.in;
    uint32_t issued = atomic_load(&schedule->next_in), last = issued > LOOK_BACK ? issued - LOOK_BACK : 0;
    if (!atomic_load(&schedule->active) || !schedule->steps.histories) return SL_NONE;
    for (uint32_t i = issued; i-- > last;) {
        const struct sl_chunk_record *chunk = sl_arena_record(schedule->migrator->arena, steps[i].chunk);
        if (!atomic_load(&chunk->unused) || chunk->last_use == tick) continue;
        rotate(steps, i, i + 1, issued, true);
        atomic_store(&schedule->next_in, issued - 1);
        SL_CHECK_ALL_SPARINGLY(sl_schedule_elements(schedule), sl_schedule_is_valid(schedule));
        return steps[issued - 1].chunk;
    }
    return SL_NONE;
}
