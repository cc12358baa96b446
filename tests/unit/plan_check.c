#include "plan_check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

uint32_t random_below(uint64_t *state, uint32_t n)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)((*state >> 33) % n);
}

static bool is_eviction(const struct sl_plan_action *action)
{
    return action->kind != SL_ACTION_FETCH && action->kind != SL_ACTION_POPULATE;
}

static bool is_oversize(const struct sl_plan_input *in, size_t t)
{
    uint64_t bytes = 0;
    for (uint32_t k = 0; k < in->launches[t].access_count; k++)
        bytes += in->chunk_bytes[in->accesses[in->launches[t].first_access + k].chunk];
    return bytes > in->budget_bytes;
}

void check_actions(const struct sl_plan_input *in, const struct sl_plan *plan)
{
    uint64_t bytes_in = 0, bytes_out = 0;
    sl_tick served = 0, end = in->first_tick + in->launch_count;
    for (size_t i = 0; i < plan->action_count; i++) {
        const struct sl_plan_action *action = &plan->actions[i];
        assert_true(action->after + 1 >= in->first_tick && action->after < end);
        assert_true(i == 0 || action->after >= action[-1].after);
        if (in->launch_count) assert_true(action->deadline >= in->first_tick && action->deadline < end);
        bytes_in += action->kind == SL_ACTION_FETCH ? in->chunk_bytes[action->chunk] : 0;
        bytes_out += action->kind == SL_ACTION_EVICT ? in->chunk_bytes[action->chunk] : 0;
        if (is_eviction(action)) continue;
        assert_true(action->after < action->deadline && action->deadline >= served);
        served = action->deadline;
        if (action->frame_from == SL_NONE) continue;
        assert_true(action->frame_from < i);
        assert_true(is_eviction(&plan->actions[action->frame_from]));
    }
    assert_int_equal(bytes_in, plan->bytes_in);
    assert_int_equal(bytes_out, plan->bytes_out);
    size_t oversize = 0;
    for (size_t t = 0; t < in->launch_count; t++) oversize += is_oversize(in, t);
    assert_int_equal(oversize, plan->oversize_launches);
}

enum progress { WAITING, RUNNING, COMPLETE };

struct device {
    const struct sl_plan_input *in;
    const struct sl_plan *plan;
    enum sl_chunk_content *content;       /* as the device has it; RESIDENT only when it has arrived */
    bool *busy;                           /* chunks being moved */
    enum progress *progress;              /* for each action */
    size_t submitted, launched, finished; /* launches; submitted may be far ahead */
    size_t release;                       /* the release that is next to start or to complete */
    uint64_t bytes;
};

static size_t next_eviction(const struct sl_plan *plan, size_t from)
{
    while (from < plan->action_count && !is_eviction(&plan->actions[from])) from++;
    return from;
}

static bool may_begin(const struct device *d, size_t i)
{
    return d->plan->actions[i].after < d->in->first_tick + d->submitted;
}

static bool content_lives_after(const struct sl_plan_input *in, sl_chunk chunk, size_t launches)
{
    bool lives = in->content[chunk] == SL_CONTENT_HOST || in->content[chunk] == SL_CONTENT_RESIDENT;
    for (size_t t = 0; t < launches; t++) {
        const struct sl_plan_launch *launch = &in->launches[t];
        for (uint32_t k = 0; k < launch->access_count; k++)
            lives = lives || in->accesses[launch->first_access + k].chunk == chunk;
        for (uint32_t k = 0; k < launch->death_count; k++)
            lives = lives && in->deaths[launch->first_death + k] != chunk;
    }
    return lives;
}

static bool is_in_use(const struct device *d, sl_chunk chunk)
{
    if (d->launched == d->finished || is_oversize(d->in, d->finished)) return false;
    const struct sl_plan_launch *launch = &d->in->launches[d->finished];
    for (uint32_t k = 0; k < launch->access_count; k++)
        if (d->in->accesses[launch->first_access + k].chunk == chunk) return true;
    return false;
}

/* Releases: one queue, in order, each after the launch it is keyed to. */
static bool step_evict(struct device *d)
{
    size_t i = d->release;
    if (i == d->plan->action_count) return false;
    const struct sl_plan_action *action = &d->plan->actions[i];
    if (d->progress[i] == WAITING) {
        size_t launches = action->after + 1 - d->in->first_tick;
        if (!may_begin(d, i) || d->finished < launches) return false;
        assert_true(d->content[action->chunk] >= SL_CONTENT_RESIDENT && !d->busy[action->chunk]);
        assert_false(is_in_use(d, action->chunk));
        bool lives = content_lives_after(d->in, action->chunk, launches);
        if (action->kind == SL_ACTION_DISCARD) assert_false(lives);
        d->busy[action->chunk] = true;
        d->progress[i] = RUNNING;
        return true;
    }
    d->busy[action->chunk] = false;
    d->content[action->chunk] = SL_CONTENT_HOST;
    d->bytes -= d->in->chunk_bytes[action->chunk];
    d->progress[i] = COMPLETE;
    d->release = next_eviction(d->plan, i + 1);
    return true;
}

/* Fetches and populations: any that may start, in any order. */
static bool step_request(struct device *d, size_t i)
{
    const struct sl_plan_action *action = &d->plan->actions[i];
    if (is_eviction(action) || !may_begin(d, i) || d->progress[i] == COMPLETE) return false;
    if (d->progress[i] == RUNNING) {
        d->busy[action->chunk] = false;
        d->content[action->chunk] = SL_CONTENT_RESIDENT;
        d->progress[i] = COMPLETE;
        return true;
    }
    if (action->frame_from != SL_NONE && d->progress[action->frame_from] != COMPLETE) return false;
    assert_true(d->content[action->chunk] < SL_CONTENT_RESIDENT && !d->busy[action->chunk]);
    bool lives = content_lives_after(d->in, action->chunk, action->deadline - d->in->first_tick);
    assert_int_equal(lives, action->kind == SL_ACTION_FETCH);
    d->bytes += d->in->chunk_bytes[action->chunk];
    assert_true(d->bytes <= d->in->budget_bytes);
    d->busy[action->chunk] = true;
    d->progress[i] = RUNNING;
    return true;
}

/* A launch waits for the actions that serve it, and for nothing else. */
static bool step_launch(struct device *d)
{
    if (d->launched > d->finished) {
        d->finished++;
        return true;
    }
    if (d->launched == d->submitted) return false;
    size_t t = d->launched;
    for (size_t i = 0; i < d->plan->action_count; i++)
        if (!is_eviction(&d->plan->actions[i]) && d->plan->actions[i].deadline == d->in->first_tick + t &&
            d->progress[i] != COMPLETE)
            return false;
    bool fits = !is_oversize(d->in, t) && !(d->plan->in_place && d->plan->in_place[t]);
    for (uint32_t k = 0; k < d->in->launches[t].access_count; k++) {
        const struct sl_plan_access *access = &d->in->accesses[d->in->launches[t].first_access + k];
        sl_chunk chunk = access->chunk;
        assert_true(!fits || (d->content[chunk] >= SL_CONTENT_RESIDENT && !d->busy[chunk]));
    }
    d->launched++;
    return true;
}

void check_execution(const struct sl_plan_input *in, const struct sl_plan *plan, uint64_t seed)
{
    struct device d = {.in = in, .plan = plan, .release = next_eviction(plan, 0)};
    d.content = malloc((in->chunk_count + 1) * sizeof *d.content);
    d.busy = calloc(in->chunk_count + 1, sizeof *d.busy);
    d.progress = calloc(plan->action_count + 1, sizeof *d.progress);
    assert_true(d.content && d.busy && d.progress);
    memcpy(d.content, in->content, in->chunk_count * sizeof *d.content);
    for (size_t i = 0; i < in->chunk_count; i++)
        if (in->content[i] >= SL_CONTENT_RESIDENT) d.bytes += in->chunk_bytes[i];
    /* Some schedules lean to one kind of event, so that it runs far ahead of the others or far behind. */
    uint32_t weight[4], idle = 0;
    for (int i = 0; i < 4; i++) weight[i] = 1 + random_below(&seed, 20);
    while (d.finished < in->launch_count) {
        uint32_t draw = random_below(&seed, weight[0] + weight[1] + weight[2] + weight[3]);
        bool moved = false;
        if (draw < weight[0]) {
            moved = d.submitted < in->launch_count;
            d.submitted += moved;
        } else if (draw < weight[0] + weight[1]) {
            moved = step_evict(&d);
        } else if (draw < weight[0] + weight[1] + weight[2]) {
            moved = step_launch(&d);
        } else if (plan->action_count) {
            moved = step_request(&d, random_below(&seed, (uint32_t)plan->action_count));
        }
        idle = moved ? 0 : idle + 1;
        assert_true(idle < 100000); /* nothing may move any more: a deadlock */
    }
    for (size_t i = 0; i < plan->action_count; i++)
        assert_true(is_eviction(&plan->actions[i]) || d.progress[i] == COMPLETE);
    free(d.progress);
    free(d.busy);
    free(d.content);
}
