#include "sample.h"

#include <stdlib.h>

#include "clock.h"

#define SAMPLES 512
#define FIRST_FASTER 8 /* a symbol's first sample comes so many times as early */

enum sample_state { OPEN, RUNNING, DROPPED };

struct sl_sample {
    sl_event_handle before, after;
    enum sample_state state;
    bool idle; /* the stream had nothing to do when the launch came */
    uint32_t kernel;
    sl_tick tick;
};

/* Samples are in the order in which they began: `count` from `first` on. */
struct sl_sampler {
    uint32_t every, every_first;
    uint32_t since;    /* launches since the last sample */
    uint32_t searched; /* of these, that might have been one but for the round */
    uint32_t round;
    uint32_t first, count;
    struct sl_sample samples[SAMPLES];
};

void sl_sampler_open(struct sl_core *core)
{
    uint32_t every = (uint32_t)core->options->trace_sample;
    if (!core->trace || !every) return;
    core->sampler = calloc(1, sizeof *core->sampler);
    if (!core->sampler) return;
    core->sampler->every = every;
    core->sampler->every_first = every > FIRST_FASTER ? every / FIRST_FASTER : 1;
    core->sampler->round = 1;
}

void sl_sampler_close(struct sl_core *core, bool device_gone)
{
    const struct sl_backend *backend = &core->backend;
    struct sl_sampler *sampler = core->sampler;
    core->sampler = NULL;
    for (int i = 0; sampler && !device_gone && i < SAMPLES; i++) {
        if (sampler->samples[i].before) backend->event_delete(backend->self, sampler->samples[i].before);
        if (sampler->samples[i].after) backend->event_delete(backend->self, sampler->samples[i].after);
    }
    free(sampler);
}

/* Whether it is the turn of this symbol. */
static bool is_due(struct sl_core *core, struct sl_symbol_record *symbol)
{
    struct sl_sampler *sampler = core->sampler;
    if (sampler->every == 1) return true;
    if (core->streak < SL_STEADY_STREAK) return false;
    if (!symbol->sampled) return true;
    if (sampler->since < sampler->every) return false;
    if (symbol->sampled < sampler->round) return true;
    if (++sampler->searched > sl_predictor_period(core->predictor)) {
        sampler->searched = 0;
        sampler->round++;
    }
    return false;
}

void sl_samples_settle(struct sl_core *core)
{
    const struct sl_backend *backend = &core->backend;
    struct sl_sampler *sampler = core->sampler;
    if (!sampler || atomic_load(&core->captures)) return;
    while (sampler->count) {
        struct sl_sample *sample = &sampler->samples[sampler->first % SAMPLES];
        if (sample->state == OPEN) return;
        if (sample->state == RUNNING) {
            if (!backend->event_done(backend->self, sample->after)) return;
            uint64_t ns = backend->event_elapsed_ns(backend->self, sample->before, sample->after);
            struct sl_event event = {.type = SL_EVENT_DURATION,
                                     .flags = sample->idle,
                                     .id = sample->kernel,
                                     .tick = sample->tick,
                                     .time_ns = sl_clock_ns(CLOCK_MONOTONIC),
                                     .a = ns,
                                     .b = sl_mover_when(&core->mover, sample->before)};
            if (ns) sl_trace_push(core->trace, &event);
        }
        sampler->first++;
        sampler->count--;
    }
}

struct sl_sample *sl_sample_begin(struct sl_core *core, const struct sl_launch *launch, sl_symbol symbol,
                                  uint32_t kernel, bool resident)
{
    const struct sl_backend *backend = &core->backend;
    struct sl_sampler *sampler = core->sampler;
    struct sl_symbol_record *known = &core->symbols.records[symbol];
    if (++sampler->since < sampler->every_first || !resident || !is_due(core, known)) return NULL;
    if (atomic_load_explicit(&core->captures, memory_order_relaxed)) return NULL;
    if (sl_core_submitted(core) != launch->tick - 1) return NULL; /* another's may come between the events */
    if (sampler->every > 1 || sampler->count == SAMPLES) sl_samples_settle(core);
    if (sampler->count == SAMPLES) return NULL;
    struct sl_sample *sample = &sampler->samples[(sampler->first + sampler->count) % SAMPLES];
    sampler->since = sampler->searched = 0;
    known->sampled = sampler->round;
    if (!sl_backend_has_event(backend, &sample->after) ||
        !sl_backend_record(backend, &sample->before, launch->stream)) {
        sampler->every_first = UINT32_MAX; /* the driver does not want it: no more */
        return NULL;
    }
    sample->kernel = kernel;
    sample->tick = launch->tick;
    sample->state = OPEN;
    sampler->count++;
    return sample;
}

void sl_sample_end(struct sl_core *core, struct sl_sample *sample, const struct sl_launch *launch, bool ok)
{
    const struct sl_backend *backend = &core->backend;
    /* What another thread launched meanwhile may lie between the events. */
    bool alone = core->tick == launch->tick && !atomic_load(&core->captures);
    sample->state = DROPPED;
    if (!ok || !alone) return;
    sample->idle = backend->event_done(backend->self, sample->before);
    if (backend->event_record(backend->self, sample->after, launch->stream) == SL_OK) sample->state = RUNNING;
}
