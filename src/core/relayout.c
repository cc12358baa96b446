#include "core/relayout.h"

#include <stdlib.h>
#include <string.h>

#include "base/test_hooks.h"
#include "core/core.h"

#define MOST_PERIOD ((size_t)1 << 16)
/* Where sizes vary: another layout is looked for so many periods after the last one, if so many allocations
 * strayed. */
enum { PERIODS_BETWEEN = 2, PART_THAT_STRAYS = 32, PART_THAT_MAY_STRAY = 128 };
#define MOST_TRIES 6 /* at intervals that double, from one period on */

#define MOST_WORK ((uint64_t)1 << 21) /* pairs of allocations and chunks; bounds the time of a step */
#define MOST_VARIANTS 200
/* Symbols and chunks, summed over all variants: a fifth of a second, or twice that if none is better at
 * first. */
#define MOST_TRIED ((size_t)1 << 20)
#define MOST_RENOTED ((size_t)1 << 18) /* symbols; bounds the delay of a launch */
/* If no layout is better by plans without attempts, which from some states take equally long whatever the
 * layout, plans with so many compare fewer layouts: each costs as much as so many plans without. */
enum { FEW_ATTEMPTS = 4, COST_OF_ATTEMPTS = 8 };
/* A layout must be better by at least one part in this. Where sizes vary, the next steps are not quite those
 * that it is made for. */
enum { PART_THAT_PAYS = 100, PART_WHERE_SIZES_VARY = 8 };

/* A search for better places of a period's allocations. Everything that it needs is read from the core at its
 * begin, so its steps may be another thread's. */
struct sl_layout_job {
    struct sl_core *core;
    struct sl_forecast forecast; /* with the places as they are */
    struct sl_period_items period;
    struct sl_period_match match;
    uint32_t *mover_of;     /* by symbol of the period: the movable item that it allocates, or SL_NONE */
    uint64_t *notes;        /* by symbol of the period: at the job's begin */
    struct sl_window other; /* with other places */
    struct sl_plan_input input;
    uint64_t chunk_bytes;
    struct sl_layout_judge judge;
    struct sl_layout *layout; /* in work; NULL: none */
    unsigned attempts;        /* of the plans that judge */
    uint64_t before_ns;       /* the predicted time with the places as they are */
    size_t variants;
    bool better, vary;
    uint32_t place;  /* in the period, of the symbol that came last */
    uint64_t breaks; /* mispredictions at the job's begin */
};

/* The predicted time by a plan. UINT64_MAX: unknown. */
static uint64_t time_ns(const struct sl_layout_job *job, const struct sl_window *window)
{
    struct sl_plan_input input = job->input;
    struct sl_plan plan;
    sl_window_fill(window, &input);
    if (input.attempts > job->attempts) input.attempts = job->attempts;
    if (sl_plan_make(&input, NULL, &plan)) return UINT64_MAX;
    uint64_t ns = plan.seconds_ns;
    sl_plan_free(&plan);
    return ns;
}

static uint64_t rate(void *self, const struct sl_layout_item *items)
{
    struct sl_layout_job *job = self;
    bool able =
        sl_window_repeat(&job->other, &job->forecast.window, items, job->period.chunk_of, job->chunk_bytes);
    return able ? time_ns(job, &job->other) : UINT64_MAX;
}

/* Accepts NULL. */
static void delete_job(struct sl_layout_job *job)
{
    if (!job) return;
    if (job->layout) sl_layout_end(job->layout);
    sl_forecast_close(&job->forecast);
    sl_period_items_close(&job->period);
    sl_period_match_close(&job->match);
    sl_window_close(&job->other);
    free(job->mover_of);
    free(job->notes);
    free(job);
}

static bool find_movers(struct sl_layout_job *job)
{
    const struct sl_period_items *period = &job->period;
    job->mover_of = malloc(period->period * sizeof *job->mover_of);
    if (!job->mover_of || !sl_period_match_init(&job->match, period->symbols, (uint32_t)period->period,
                                                job->core->symbols.count))
        return false;
    memset(job->mover_of, 0xff, period->period * sizeof *job->mover_of);
    for (uint32_t i = 0; i < period->count; i++)
        if (period->items[i].kind == SL_LAYOUT_MOVABLE) job->mover_of[period->parts[i].symbol] = i;
    return true;
}

/* The item that this symbol, the next one, allocates; SL_NONE: none that moves. */
static uint32_t next_mover(struct sl_layout_job *job, sl_symbol symbol)
{
    uint32_t place = sl_period_match_next(&job->match, symbol);
    return place == SL_NONE ? SL_NONE : job->mover_of[place];
}

/* Makes the forecast. */
static bool forecast(struct sl_layout_job *job)
{
    struct sl_forecast *forecast = &job->forecast;
    uint32_t *movers = malloc(forecast->count * sizeof *movers);
    if (!movers) return false;
    for (size_t at = 0; at < forecast->count; at++) movers[at] = next_mover(job, forecast->symbols[at]);
    sl_period_match_begin(&job->match);
    enum sl_status status = sl_forecast_record(forecast, movers);
    free(movers);
    job->input = sl_forecast_input(forecast);
    return status == SL_OK;
}

static bool read(struct sl_layout_job *job, size_t period)
{
    struct sl_core *core = job->core;
    struct sl_period_items *read = &job->period;
    job->notes = malloc(period * sizeof *job->notes);
    if (!job->notes || !sl_period_items_read(read, core, job->forecast.symbols, job->forecast.notes, period))
        return false;
    memcpy(job->notes, job->forecast.notes, period * sizeof *job->notes);
    if (!read->movable || read->mixed || (uint64_t)read->movable * read->bin_count > MOST_WORK) return false;
    job->chunk_bytes = core->arena.chunk_bytes;
    job->variants = MOST_TRIED / (job->forecast.count + sl_arena_chunk_count(&core->arena));
    return find_movers(job) && forecast(job);
}

/* `forecast`: just begun, with at least two periods; the job takes it, and leaves an empty one. NULL: nothing
 * can move, or out of memory. `seed`: of the variations that are tried. */
static struct sl_layout_job *new_job(struct sl_core *core, struct sl_forecast *forecast, size_t period,
                                     unsigned seed)
{
    struct sl_layout_job *job = malloc(sizeof *job);
    if (!job) return NULL;
    *job = (struct sl_layout_job){.core = core,
                                  .forecast = *forecast,
                                  .judge = {.cost = rate, .self = job, .seed = seed},
                                  .vary = core->history.vary,
                                  .breaks = core->history.breaks};
    *forecast = (struct sl_forecast){0};
    if (read(job, period)) return job;
    delete_job(job);
    return NULL;
}

/* --- the search: nothing of the core */

/* Begins to judge by plans of so many attempts. */
static bool begin(struct sl_layout_job *job, unsigned attempts, size_t variants)
{
    const struct sl_period_items *period = &job->period;
    job->attempts = attempts;
    job->judge.variants = (unsigned)(variants < MOST_VARIANTS ? variants : MOST_VARIANTS);
    job->before_ns = time_ns(job, &job->forecast.window);
    if (job->before_ns && job->before_ns != UINT64_MAX)
        job->layout = sl_layout_begin(period->items, period->count, period->bin_count, job->chunk_bytes,
                                      (uint32_t)period->period, &job->judge);
    return job->layout;
}

/* Tries another layout, which takes 0.1 ms to 0.1 s. False: all were tried. */
static bool step(void *self)
{
    struct sl_layout_job *job = self;
    if (!job->layout && !begin(job, 0, job->variants)) return false;
    if (sl_layout_step(job->layout)) return true;
    bool found = sl_layout_end(job->layout) == SL_OK;
    job->layout = NULL;
    uint64_t least = job->before_ns - job->before_ns / (job->vary ? PART_WHERE_SIZES_VARY : PART_THAT_PAYS);
    job->better = found && rate(job, job->period.items) < least;
    if (!found || job->better || job->attempts || !job->input.attempts) return false;
    return begin(job, FEW_ATTEMPTS, job->variants / COST_OF_ATTEMPTS);
}

/* --- meanwhile, and afterwards */

void sl_relayout_follow(struct sl_relayout *relayout, sl_symbol symbol)
{
    struct sl_layout_job *job = relayout->job;
    uint32_t place = sl_period_match_next(&job->match, symbol), period = (uint32_t)job->period.period;
    if (place == SL_NONE) return;
    relayout->at_begin |= place + 1 == period || place + period / 2 < job->place;
    job->place = place;
}

static uint64_t change_note(void *self, sl_symbol symbol, uint64_t note)
{
    struct sl_layout_job *job = self;
    uint32_t i = next_mover(job, symbol);
    if (i == SL_NONE) return note;
    const struct sl_layout_item *item = &job->period.items[i];
    uint64_t chunk = sl_arena_record(&job->core->arena, job->period.chunk_of[item->bin])->address;
    return sl_life_note(chunk + item->offset,
                        sl_note_slot(note ? note : job->notes[job->period.parts[i].symbol]));
}

/* --- when */

/* Whether many allocations came to lie elsewhere since the last try. Where sizes vary, a step of the largest
 * sizes so far leaves a layout without room behind. */
static bool has_strayed(const struct sl_relayout *relayout, const struct sl_history *history, size_t period)
{
    return history->vary && history->fed >= relayout->anew_at &&
           history->strays - relayout->strays > period / PART_THAT_STRAYS;
}

/* Whether the last period came as predicted, from one period back. Where sizes vary, nearly so, from however
 * many, and with its allocations nearly all where predicted: where they often are not, a tight layout does
 * not last. */
static bool repeats(struct sl_history *history, size_t period)
{
    if (!history->vary)
        return history->streak >= period && period == sl_predictor_distance(history->predictor);
    uint64_t few_odd = history->fed - history->broken_at[history->breaks % SL_ODD_SYMBOLS];
    return few_odd >= period && sl_history_nearly_in_place(history, period / PART_THAT_MAY_STRAY) >= period &&
           sl_history_believed(history) >= period;
}

bool sl_relayout_is_due(const struct sl_relayout *relayout, struct sl_history *history)
{
    size_t period = sl_predictor_period(history->predictor);
    bool first = relayout->tries < MOST_TRIES && history->fed >= relayout->due_at;
    return SL_HAS(RELAYOUT) && !relayout->job && (first || has_strayed(relayout, history, period)) &&
           !history->interleaved && period && period <= MOST_PERIOD && repeats(history, period);
}

/* Number of symbols until the fewest bytes are alive: there the most allocations have their whole life ahead.
 */
static size_t until_least_alive(const struct sl_core *core, const sl_symbol *symbols, size_t period)
{
    int64_t alive = 0, least = 0;
    size_t until = 0;
    for (size_t at = 0; at < period; at++) {
        const struct sl_symbol_record *record = &core->symbols.records[symbols[at]];
        if (record->kind == SL_SYMBOL_LAUNCH) continue;
        int64_t bytes = (int64_t)core->placement.slots[record->slot].bytes;
        alive += record->kind == SL_SYMBOL_ALLOC ? bytes : -bytes;
        if (alive >= least) continue;
        least = alive;
        until = at + 1;
    }
    return until;
}

static uint64_t doubled(uint64_t symbols, uint32_t times)
{
    return symbols << (times < MOST_TRIES ? times : MOST_TRIES);
}

/* Whether to try now. Counts the try, or says when it is due. Until it is known to be better, it failed. */
static bool may_try(struct sl_relayout *relayout, const struct sl_core *core,
                    const struct sl_forecast *forecast, size_t period)
{
    const struct sl_history *history = &core->history;
    bool predicted = forecast->count >= 2 * period;
    bool waits = predicted && !relayout->waited && !history->vary;
    size_t wait = waits ? until_least_alive(core, forecast->symbols, period) : 0;
    relayout->waited |= predicted;
    if (wait) {
        relayout->due_at = relayout->anew_at = history->fed + wait;
        return false;
    }
    relayout->due_at = history->fed + doubled(period, relayout->tries++);
    relayout->anew_at = history->fed + doubled(PERIODS_BETWEEN * period, relayout->failed++);
    relayout->strays = history->strays;
    return predicted;
}

/* `better`: changes the places at which allocations are predicted: those of the last period, or, where sizes
 * vary, of any, as any may be predicted from next. Precondition: the next symbol is then the period's first.
 */
static void end(struct sl_relayout *relayout, bool better)
{
    struct sl_layout_job *job = relayout->job;
    if (better) {
        sl_period_match_begin(&job->match);
        sl_predictor_renote(job->core->history.predictor, job->vary ? MOST_RENOTED : job->period.period,
                            change_note, job);
        relayout->done++;
        relayout->failed = 0;
    }
    delete_job(job);
    relayout->job = NULL;
    relayout->drop = relayout->at_begin = false;
}

void sl_relayout(struct sl_relayout *relayout, struct sl_core *core, struct sl_planner *planner)
{
    struct sl_forecast forecast = {.core = core};
    size_t period = sl_predictor_period(core->history.predictor);
    if (sl_forecast_begin(&forecast) == SL_OK && may_try(relayout, core, &forecast, period))
        relayout->job = new_job(core, &forecast, period, relayout->tries);
    sl_forecast_close(&forecast);
    if (!relayout->job) return;
    if (planner && !sl_planner_is_here(planner)) {
        sl_planner_begin_spare(planner, step, relayout->job);
        return;
    }
    while (step(relayout->job)) {
    }
    end(relayout, relayout->job->better);
}

void sl_relayout_go_on(struct sl_relayout *relayout, const struct sl_planner *planner)
{
    const struct sl_layout_job *job = relayout->job;
    if (!job || !planner) return;
    const struct sl_history *history = &job->core->history;
    bool begins = relayout->at_begin;
    relayout->at_begin = false;
    if (sl_planner_has_spare(planner)) return;
    /* Whether the program did what was predicted since the job's begin, if its sizes do not vary. */
    bool holds = job->vary == history->vary && (job->vary || job->breaks == history->breaks);
    bool wanted = !relayout->drop && job->better && holds;
    if (!wanted || begins) end(relayout, wanted);
}

void sl_relayout_forget(struct sl_relayout *relayout)
{
    *relayout = (struct sl_relayout){.job = relayout->job, .drop = relayout->job};
}

void sl_relayout_close(struct sl_relayout *relayout)
{
    delete_job(relayout->job);
    relayout->job = NULL;
}
