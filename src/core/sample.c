#include "core/sample.h"

#include <stdlib.h>

#include "base/clock.h"
#include "core/core.h"
#include "trace/trace_write.h"

#define SAMPLES 512
#define FIRST_EVERY 2 /* one of so many launches is timed for the trace until each symbol was once */

/* For plans: launches between two samples of symbols measured before, and of well-known symbols; and between
 * two questions to the driver about finished samples. */
enum { BETWEEN_AGAIN = 8, BETWEEN_RARE = 1024, BETWEEN_QUESTIONS = 64 };
/* Samples begun of a symbol that other threads always disturb, before it is timed as rarely as a well-known
 * one. */
#define TRIES 16
#define RECENT 8 /* marks */

enum sample_state { OPEN, RUNNING, DROPPED };

struct sl_sample {
    sl_event_handle before, after;
    sl_stream stream;
    enum sample_state state;
    bool traced; /* the trace gets the duration */
    bool idle;   /* the stream was idle when the launch was enqueued */
    sl_symbol symbol;
    uint32_t kernel;
    sl_tick tick;
    uint64_t in_place_bytes; /* that the launch used in host memory by choice */
};

/* A ring of samples in the order of their begin: `count` from `first` on. */
struct sl_sampler {
    uint32_t every, every_first; /* sampling strides of the trace; 0: the trace gets no samples */
    uint32_t since;              /* launches since the last sample for the trace */
    uint32_t searched; /* of these, launches skipped because their symbol had its turn in this round */
    uint32_t round;
    sl_tick again_at, rare_at; /* ticks from which samples for plans are allowed again */
    sl_tick asked_at;          /* tick of the last question which samples are done */
    bool refused;              /* the driver refused events */
    uint32_t first, count;
    struct sl_sample samples[SAMPLES];
};

void sl_sampler_open(struct sl_sampling *sampling, uint32_t trace_sample)
{
    uint32_t every = sampling->core->recorder.trace ? trace_sample : 0;
    if (sampling->sampler) return;
    sampling->sampler = calloc(1, sizeof *sampling->sampler);
    if (!sampling->sampler) return;
    sampling->sampler->every = every;
    sampling->sampler->every_first = every > FIRST_EVERY ? FIRST_EVERY : every;
    sampling->sampler->round = 1;
}

void sl_sampler_close(struct sl_sampling *sampling, bool device_gone)
{
    const struct sl_backend *backend = &sampling->core->backend;
    struct sl_sampler *sampler = sampling->sampler;
    sampling->sampler = NULL;
    for (int i = 0; sampler && !device_gone && i < SAMPLES; i++) {
        if (sampler->samples[i].before) backend->event_delete(backend->self, sampler->samples[i].before);
        if (sampler->samples[i].after) backend->event_delete(backend->self, sampler->samples[i].after);
    }
    free(sampler);
}

/* Counts a launch for the trace. Returns whether it gets a sample of this symbol now. */
static bool count_for_trace(struct sl_sampling *sampling, const struct sl_symbol_record *symbol,
                            bool resident)
{
    struct sl_sampler *sampler = sampling->sampler;
    if (!sampler->every || ++sampler->since < sampler->every_first || !resident) return false;
    if (sampler->every == 1) return true;
    if (sampling->core->history.streak < SL_STEADY_STREAK) return false;
    if (!symbol->sampled) return true;
    if (sampler->since < sampler->every) return false;
    if (symbol->sampled < sampler->round) return true;
    if (++sampler->searched > sl_history_period(&sampling->core->history)) {
        sampler->searched = 0;
        sampler->round++;
    }
    return false;
}

/* Returns whether planning needs a sample of this symbol, and counts it as begun. The distance between
 * samples of well-known symbols is random, so that they do not hit the same launches in each iteration. */
static bool begin_for_plan(struct sl_sampling *sampling, sl_symbol symbol)
{
    struct sl_sampler *sampler = sampling->sampler;
    const struct sl_core *core = sampling->core;
    if (!core->budget.pressure || !core->policy->plans || core->history.streak < SL_STEADY_STREAK)
        return false;
    struct sl_duration *known = sl_durations_of(&sampling->durations, symbol);
    if (!known || known->begun_in == sampling->core->history.iterations + 1) return false;
    bool well = known->confirmed || known->count >= SL_DURATION_SAMPLES || known->begun >= TRIES;
    if (known->begun && sampling->core->history.ticks.now < (well ? sampler->rare_at : sampler->again_at))
        return false;
    known->begun++;
    known->begun_in = sampling->core->history.iterations + 1;
    sampler->again_at = sampling->core->history.ticks.now + BETWEEN_AGAIN;
    sampler->rare_at = sampling->core->history.ticks.now + BETWEEN_RARE +
                       sl_mix(sampling->core->history.ticks.now) % BETWEEN_RARE;
    return true;
}

static void note_in_place(struct sl_sampling *sampling, const struct sl_sample *sample, uint64_t ns)
{
    uint64_t link = sl_migrator_link_alone(&sampling->core->migrator);
    if (!link) link = sampling->core->migrator.link_in_bytes_per_s;
    sl_durations_note_in_place(&sampling->durations, sample->symbol, sample->kernel,
                               (uint64_t)((double)sample->in_place_bytes * 1e9 / (double)link), ns);
}

static void read_times(struct sl_sampling *sampling, const struct sl_sample *sample)
{
    const struct sl_backend *backend = &sampling->core->backend;
    uint64_t ns = backend->event_elapsed_ns(backend->self, sample->before, sample->after);
    if (!ns) return;
    if (sample->in_place_bytes)
        note_in_place(sampling, sample, ns);
    else
        sl_durations_note(
            &sampling->durations, sample->symbol, sample->kernel,
            sample->symbol == SL_NONE ? 0 : sampling->core->symbols.records[sample->symbol].shape, ns);
    if (!sample->traced) return;
    struct sl_event event = {.type = SL_EVENT_DURATION,
                             .flags = sample->idle,
                             .id = sample->kernel,
                             .tick = sample->tick,
                             .time_ns = sl_clock_ns(CLOCK_MONOTONIC),
                             .a = ns,
                             .b = sl_migrator_when(&sampling->core->migrator, sample->before)};
    sl_trace_push(sampling->core->recorder.trace, &event);
}

/* The newest recorded sample, if it is done: then all earlier ones of its stream are done, too. */
static const struct sl_sample *find_passed(const struct sl_sampling *sampling)
{
    const struct sl_backend *backend = &sampling->core->backend;
    const struct sl_sampler *sampler = sampling->sampler;
    for (uint32_t i = sampler->count; i-- > 0;) {
        const struct sl_sample *sample = &sampler->samples[(sampler->first + i) % SAMPLES];
        if (sample->state != RUNNING) continue;
        bool done = sample->stream != SL_STREAM_PER_THREAD &&
                    sl_is_yes(backend->event_done(backend->self, sample->after));
        return done ? sample : NULL;
    }
    return NULL;
}

void sl_samples_settle(struct sl_sampling *sampling)
{
    const struct sl_backend *backend = &sampling->core->backend;
    struct sl_sampler *sampler = sampling->sampler;
    if (!sampler || atomic_load(&sampling->core->streams.captures)) return;
    const struct sl_sample *passed = find_passed(sampling);
    while (sampler->count) {
        struct sl_sample *sample = &sampler->samples[sampler->first % SAMPLES];
        if (sample->state == OPEN) return;
        if (sample->state == RUNNING) {
            bool done = passed && sample->stream == passed->stream;
            if (!done && !sl_is_yes(backend->event_done(backend->self, sample->after))) return;
            read_times(sampling, sample);
        }
        sampler->first++;
        sampler->count--;
    }
}

void sl_samples_forget(struct sl_sampling *sampling)
{
    struct sl_sampler *sampler = sampling->sampler;
    sl_durations_forget(&sampling->durations);
    for (uint32_t i = 0; sampler && i < sampler->count; i++)
        sampler->samples[(sampler->first + i) % SAMPLES].symbol = SL_NONE;
}

/* Room for one more sample, or NULL. */
static struct sl_sample *next_place(struct sl_sampling *sampling, bool traced)
{
    struct sl_sampler *sampler = sampling->sampler;
    bool full = sampler->count == SAMPLES;
    if (traced ? sampler->every > 1 || full
               : full && sampling->core->history.ticks.now >= sampler->asked_at + BETWEEN_QUESTIONS) {
        sampler->asked_at = sampling->core->history.ticks.now;
        sl_samples_settle(sampling);
    }
    if (sampler->count == SAMPLES) return NULL;
    return &sampler->samples[(sampler->first + sampler->count) % SAMPLES];
}

struct sl_sample *sl_sample_begin(struct sl_sampling *sampling, const struct sl_launch *launch,
                                  sl_symbol symbol, uint32_t kernel, bool resident, uint64_t in_place_bytes)
{
    const struct sl_backend *backend = &sampling->core->backend;
    struct sl_sampler *sampler = sampling->sampler;
    struct sl_symbol_record *known = &sampling->core->symbols.records[symbol];
    /* All collectives are traced: they are few and long, and ranks are compared by them. */
    bool collective = sampler->every && launch->kind == SL_LAUNCH_COLLECTIVE;
    bool in_turn = !collective && count_for_trace(sampling, known, resident), traced = collective || in_turn;
    bool wanted = in_place_bytes
                      ? sl_durations_lack_in_place(&sampling->durations, symbol, kernel, launch->tick)
                      : resident && begin_for_plan(sampling, symbol);
    if (sampler->refused || (!traced && !wanted)) return NULL;
    if (atomic_load_explicit(&sampling->core->streams.captures, memory_order_relaxed)) return NULL;
    if (sl_ticks_submitted(&sampling->core->history.ticks) != launch->tick - 1)
        return NULL; /* another thread's launch may come between the events */
    struct sl_sample *sample = next_place(sampling, traced);
    if (!sample) return NULL;
    if (in_turn) {
        sampler->since = sampler->searched = 0;
        known->sampled = sampler->round;
    }
    if (!sl_backend_has_timed_event(backend, &sample->before) ||
        !sl_backend_has_timed_event(backend, &sample->after)) {
        sampler->refused = true;
        return NULL;
    }
    sample->traced = traced;
    sample->symbol =
        resident || in_place_bytes ? symbol : SL_NONE; /* uses the link: too slow a measure for plans */
    sample->kernel = kernel;
    sample->in_place_bytes = in_place_bytes;
    sample->tick = launch->tick;
    sample->stream = launch->stream;
    sample->state = OPEN;
    sampler->count++;
    return sample;
}

void sl_sample_record(struct sl_sampling *sampling, const struct sl_sample *sample, sl_stream stream)
{
    const struct sl_backend *backend = &sampling->core->backend;
    if (sample->traced) sl_migrator_tie_clock(&sampling->core->migrator);
    if (backend->event_record(backend->self, sample->before, stream) == SL_OK) return;
    sl_lock(&sampling->core->order);
    if (sampling->sampler) sampling->sampler->refused = true;
    sl_unlock(&sampling->core->order);
}

void sl_sample_end(struct sl_sampling *sampling, struct sl_sample *sample, const struct sl_launch *launch,
                   bool ok)
{
    const struct sl_backend *backend = &sampling->core->backend;
    sl_lock(&sampling->core->order);
    /* Another thread's launch meanwhile may lie between the events. */
    bool alone = sampling->core->history.ticks.now == launch->tick &&
                 !atomic_load(&sampling->core->streams.captures) && !sampling->sampler->refused;
    sl_unlock(&sampling->core->order);
    bool idle =
        ok && alone && sample->traced && sl_is_yes(backend->event_done(backend->self, sample->before));
    bool recorded =
        ok && alone && backend->event_record(backend->self, sample->after, launch->stream) == SL_OK;
    sl_lock(&sampling->core->order);
    sample->idle = idle;
    sample->state = recorded ? RUNNING : DROPPED;
    sl_unlock(&sampling->core->order);
}

/* --- stall */

/* Returns how long it was, 0 if that is not known. */
static uint64_t settle(struct sl_sampling *sampling, struct sl_stall *stall)
{
    const struct sl_backend *backend = &sampling->core->backend;
    struct sl_link_direction *in = &sampling->core->migrator.in;
    uint64_t sequence = stall->in_sequence;
    stall->in_sequence = 0;
    if (!sl_link_direction_has_event(in, sequence)) return 0;
    uint64_t ns =
        backend->event_elapsed_ns(backend->self, stall->reached, sl_link_direction_event(in, sequence));
    if (!ns) return 0;
    struct sl_counts *counts[] = {&sampling->core->stats.total,
                                  &sampling->core->stats.iterations[stall->iteration]};
    for (int i = 0; i < 2; i++) {
        atomic_fetch_add(&counts[i]->stall_ns, ns);
        atomic_fetch_add(&counts[i]->stalls, 1);
    }
    sl_record(&sampling->core->recorder,
              (struct sl_event){.type = SL_EVENT_STALL, .a = ns, .b = 1, .c = stall->tick});
    return ns;
}

/* Makes the first stall of a step the mark, unless the mark is newer. The stall's entry gets the event of the
 * mark before. *steps: between the two. */
static bool set_mark(struct sl_sampling *sampling, struct sl_stall *stall, uint32_t *steps)
{
    struct sl_stalls *stalls = &sampling->stalls;
    const struct sl_backend *backend = &sampling->core->backend;
    struct sl_step_mark *mark = &stalls->mark;
    sl_event_handle before = mark->reached;
    if (before && stall->step <= mark->step) return false;
    uint64_t ns = before ? backend->event_elapsed_ns(backend->self, before, stall->reached) : 0;
    *steps = stall->step - mark->step;
    stalls->step_ns = ns / *steps;
    mark->reached = stall->reached;
    mark->step = stall->step;
    stall->reached = before;
    return true;
}

/* `stall_ns`: of the launches between the last two marks. What else was counted meanwhile is near to that. */
static void note_recent(struct sl_stalls *stalls, const struct sl_counts *counts, uint32_t steps,
                        uint64_t stall_ns)
{
    struct sl_counts total, since;
    sl_words_copy(&total, counts, sizeof total);
    sl_counts_since(&since, &total, &stalls->mark.total);
    stalls->mark.total = total;
    since.stall_ns = stall_ns;
    stalls->step_stall_ns = stalls->step_ns ? stall_ns / steps : 0;
    if (!stalls->step_ns) return; /* it is the first mark */
    uint64_t *sums = (uint64_t *)&stalls->recent;
    const uint64_t *more = (const uint64_t *)&since;
    for (size_t w = 0; w < sizeof since / sizeof *sums; w++) sums[w] += more[w] - sums[w] / RECENT;
    stalls->recent_ns += stalls->step_ns * steps - stalls->recent_ns / RECENT;
}

/* Begins with the newest stall: if a stream has passed that, it has passed its earlier ones, so the driver is
 * not asked about them. */
void sl_stalls_settle(struct sl_sampling *sampling)
{
    struct sl_stalls *stalls = &sampling->stalls;
    const struct sl_backend *backend = &sampling->core->backend;
    sl_stream passed = NULL;
    bool any = false, marked = false;
    uint32_t steps = 0;
    uint64_t ns[2] = {0, 0}; /* of launches by whether they come before the new mark */
    for (uint32_t i = 1; i <= SL_STALLS; i++) {
        struct sl_stall *stall = &stalls->at[(stalls->next - i) % SL_STALLS];
        if (!stall->in_sequence) continue;
        bool reached = any && stall->stream == passed && stall->stream != SL_STREAM_PER_THREAD;
        if (!reached && !sl_is_yes(backend->event_done(backend->self, stall->reached))) continue;
        if (!reached) passed = stall->stream;
        any = true;
        if (!sl_migrator_done(&sampling->core->migrator, &sampling->core->migrator.in, stall->in_sequence))
            continue;
        ns[marked] += settle(sampling, stall);
        if (stall->first && !marked) marked = set_mark(sampling, stall, &steps);
    }
    if (marked) {
        note_recent(stalls, &sampling->core->stats.total, steps, stalls->behind_mark_ns + ns[true]);
        stalls->behind_mark_ns = 0;
    }
    stalls->behind_mark_ns += ns[false];
}

void sl_stalls_step(struct sl_sampling *sampling)
{
    sampling->stalls.steps++;
}

void sl_stalls_close(struct sl_sampling *sampling, bool device_gone)
{
    struct sl_stalls *stalls = &sampling->stalls;
    const struct sl_backend *backend = &sampling->core->backend;
    for (uint32_t i = 0; i < SL_STALLS && !device_gone; i++)
        if (stalls->at[i].reached) backend->event_delete(backend->self, stalls->at[i].reached);
    if (stalls->mark.reached && !device_gone) backend->event_delete(backend->self, stalls->mark.reached);
}

struct sl_stall *sl_stall_new(struct sl_sampling *sampling)
{
    struct sl_stalls *stalls = &sampling->stalls;
    struct sl_stall *stall = &stalls->at[stalls->next % SL_STALLS];
    if (stalls->next % SL_STALLS == 0 && stall->in_sequence) sl_stalls_settle(sampling);
    stalls->next++;
    bool given = atomic_load(&stall->given); /* its thread has not enqueued its wait yet */
    if (given || stall->in_sequence) SL_COUNT(&sampling->core->stats, unmeasured_stalls, 1);
    if (given) return NULL;
    stall->in_sequence = 0;
    if (!sl_backend_has_timed_event(&sampling->core->backend, &stall->reached)) return NULL;
    stall->tick = sampling->core->history.ticks.now;
    stall->iteration = (uint32_t)atomic_load(&sampling->core->stats.iteration);
    stall->step = stalls->steps;
    stall->first = stalls->last_first != stalls->steps;
    stalls->last_first = stalls->steps;
    atomic_store(&stall->given, true);
    return stall;
}

void sl_stall_wait(struct sl_sampling *sampling, struct sl_stall *stall, sl_stream stream, uint64_t sequence)
{
    const struct sl_backend *backend = &sampling->core->backend;
    if (stall) stall->stream = stream;
    bool measured = stall && backend->event_record(backend->self, stall->reached, stream) == SL_OK;
    sl_migrator_wait(&sampling->core->migrator, &sampling->core->migrator.in, sequence, stream);
    if (measured) atomic_store(&stall->in_sequence, sequence);
    if (stall) atomic_store(&stall->given, false);
}
