#include "plan/plan_parts.h"

#include <stdlib.h>
#include <string.h>

/* The schedule is the result of a simulation: launches one after the other, evictions in order through one
 * queue, requests through another, each once its frame is free. An eviction in the queue is "queued".
 *
 * A discard must not wait behind copies that have time. So the queue is filled only a little further than the
 * link gets while a launch runs, and discards go first. All requests, with or without content, are in the
 * order of their deadlines, so one queue serves them. */
struct scheduler {
    const struct sl_plan_input *in;
    const double *launch_ns;
    const struct sl_choice *choice;
    struct sl_plan *plan;
    uint32_t *order; /* indices of evictions by moment: discards first, copies from order[drop_count] on */
    uint32_t drop_count, next_discard, next_copy;
    uint32_t *queued; /* by eviction of the choice: its place in the queue; SL_NONE */
    uint32_t *action; /* by place in the queue: its action */
    struct sl_course *course;
    uint32_t queue_count;
    uint32_t taken;      /* frames in the queue that requests were given */
    int64_t room, cover; /* bytes that requests may still take: of all queued frames; of the given ones */
    uint32_t next_request;
    double *out_end; /* by place in the queue: the end of its copy */
    double *ready;   /* by launch: when its chunks are there */
    double now, link_in, link_out;
    uint32_t next_remote;
    uint64_t remote_bytes_used;
};

static double copy_ns(uint64_t bytes, uint64_t bytes_per_s)
{
    return (double)bytes / (double)bytes_per_s * 1e9;
}

static struct sl_plan_action *append(struct scheduler *s, enum sl_action_kind kind, sl_chunk chunk,
                                     uint32_t moment, uint32_t launch)
{
    struct sl_plan_action *action = &s->plan->actions[s->plan->action_count++];
    *action = (struct sl_plan_action){kind, chunk, s->in->first_tick + moment - 1, s->in->first_tick + launch,
                                      SL_NONE};
    return action;
}

static void queue_release(struct scheduler *s, uint32_t index, uint32_t moment)
{
    const struct sl_eviction *release = &s->choice->evictions[index];
    uint64_t bytes = s->in->chunk_bytes[release->chunk];
    if (s->link_out < s->now) s->link_out = s->now;
    if (release->kind == SL_ACTION_EVICT) {
        s->link_out += copy_ns(bytes, s->in->out_bytes_per_s);
        s->plan->bytes_out += bytes;
    }
    s->action[s->queue_count] = (uint32_t)s->plan->action_count;
    s->out_end[s->queue_count] = s->link_out;
    s->queued[index] = s->queue_count++;
    s->room += (int64_t)bytes;
    append(s, release->kind, release->chunk, moment, release->launch);
}

static bool copy_waits(const struct scheduler *s, uint32_t moment)
{
    return s->next_copy < s->choice->eviction_count &&
           s->choice->evictions[s->order[s->next_copy]].moment <= moment;
}

static bool can_start(const struct scheduler *s, const struct sl_request *request, uint32_t moment)
{
    return s->room >= (int64_t)s->in->chunk_bytes[request->chunk] && request->moment <= moment &&
           (request->release == SL_NONE || s->queued[request->release] != SL_NONE);
}

/* The eviction that the request waits for. Frames are given out in the order of the deadlines: each request
 * waits for as many evictions as all requests up to it need, and for its own chunk's. So the frames that
 * started requests take are always free. */
static uint32_t take_frame(struct scheduler *s, const struct sl_request *request)
{
    int64_t bytes = (int64_t)s->in->chunk_bytes[request->chunk];
    s->room -= bytes;
    s->cover -= bytes;
    while (s->cover < 0) {
        struct sl_plan_action *release = &s->plan->actions[s->action[s->taken++]];
        release->deadline = s->in->first_tick + request->launch;
        s->cover += (int64_t)s->in->chunk_bytes[release->chunk];
    }
    uint32_t last = s->taken ? s->taken - 1 : SL_NONE;
    uint32_t own = request->release == SL_NONE ? SL_NONE : s->queued[request->release];
    return last == SL_NONE || (own != SL_NONE && own > last) ? own : last;
}

static void start_next_request(struct scheduler *s, uint32_t moment)
{
    uint32_t index = s->next_request++;
    const struct sl_request *request = &s->choice->requests[index];
    uint64_t bytes = s->in->chunk_bytes[request->chunk];
    uint32_t frame = take_frame(s, request);
    struct sl_plan_action *action = append(s, request->copy ? SL_ACTION_FETCH : SL_ACTION_POPULATE,
                                           request->chunk, moment, request->launch);
    if (frame != SL_NONE) {
        action->frame_from = s->action[frame];
        if (s->link_in < s->out_end[frame]) s->link_in = s->out_end[frame];
    }
    if (request->copy) {
        s->link_in += copy_ns(bytes, s->in->in_bytes_per_s);
        s->plan->bytes_in += bytes;
    }
    if (s->ready[request->launch] < s->link_in) s->ready[request->launch] = s->link_in;
}

/* Starts the requests of the launch that have not started yet. */
static void serve_launch(struct scheduler *s, uint32_t t)
{
    const struct sl_choice *choice = s->choice;
    while (s->room < 0 && copy_waits(s, t)) queue_release(s, s->order[s->next_copy++], t);
    while (s->next_request < choice->request_count && choice->requests[s->next_request].launch == t) {
        while (!can_start(s, &choice->requests[s->next_request], t) && copy_waits(s, t))
            queue_release(s, s->order[s->next_copy++], t);
        start_next_request(s, t);
    }
}

/* Whether the link becomes idle soon without the next copy. Two copies in reserve allow for launches that are
 * faster than predicted. */
static bool link_gets_idle(const struct scheduler *s, double end)
{
    uint64_t bytes = s->in->chunk_bytes[s->choice->evictions[s->order[s->next_copy]].chunk];
    return s->link_out < end + 2 * copy_ns(bytes, s->in->out_bytes_per_s);
}

static void look_further(struct scheduler *s, uint32_t t, double end)
{
    const struct sl_choice *choice = s->choice;
    while (copy_waits(s, t) && link_gets_idle(s, end)) queue_release(s, s->order[s->next_copy++], t);
    while (s->next_request < choice->request_count && can_start(s, &choice->requests[s->next_request], t))
        start_next_request(s, t);
}

/* Bytes that a launch uses in place from `start` on share the link with copies in flight, which end at *lane,
 * as far as these need it. Returns when the last one has crossed it. */
static double use_link(const struct scheduler *s, double *lane, double start, double cost, uint64_t bytes,
                       uint64_t copied_bytes_per_s)
{
    uint64_t link = s->in->link_bytes_per_s;
    if (!bytes) return start;
    if (link < copied_bytes_per_s) link = copied_bytes_per_s;
    double ns = cost * copy_ns(bytes, link), copies = (double)copied_bytes_per_s / (double)link;
    double behind = *lane > start ? *lane - start : 0;
    *lane = start + behind + copies * ns;
    return start + ns + copies * (behind < ns ? behind : ns);
}

/* The end of a launch that begins at `start`. */
static double end_of(struct scheduler *s, uint32_t t, double start)
{
    double end = start + s->launch_ns[t];
    if (s->next_remote == s->choice->remote_count || s->choice->remotes[s->next_remote].launch != t)
        return end;
    const struct sl_remote *use = &s->choice->remotes[s->next_remote++];
    double cost = s->in->launches[t].in_place_cost;
    if (cost <= 0) cost = SL_IN_PLACE_COST;
    s->remote_bytes_used += use->in_bytes + use->out_bytes;
    double in = use_link(s, &s->link_in, start, cost, use->in_bytes, s->in->in_bytes_per_s);
    double out = use_link(s, &s->link_out, start, cost, use->out_bytes, s->in->out_bytes_per_s);
    if (end < in) end = in;
    return end < out ? out : end;
}

static void run(struct scheduler *s)
{
    double busy = 0;
    *s->course = (struct sl_course){0};
    for (uint32_t t = 0; t < s->in->launch_count; t++) {
        while (s->next_discard < s->drop_count && s->choice->evictions[s->order[s->next_discard]].moment <= t)
            queue_release(s, s->order[s->next_discard++], t);
        serve_launch(s, t);
        double end = end_of(s, t, s->now < s->ready[t] ? s->ready[t] : s->now);
        look_further(s, t, end);
        s->now = end;
        uint32_t third = (uint32_t)(s->in->launch_count / 3);
        double bytes = (double)s->plan->bytes_in + (double)s->plan->bytes_out + (double)s->remote_bytes_used;
        s->course->bytes.all = bytes;
        if (t < third) s->course->bytes.first = bytes;
        if (t < s->in->launch_count - third) {
            s->course->most_ns = end;
            s->course->bytes.most = bytes;
        }
        busy += s->launch_ns[t];
    }
    s->plan->seconds_ns = (uint64_t)s->now;
    s->plan->stall_ns = (uint64_t)(s->now - busy);
}

static bool is_copied(const struct sl_choice *choice, uint32_t release)
{
    return choice->evictions[release].kind == SL_ACTION_EVICT;
}

/* `bounds` has room for two counters for each moment, and one more. */
static void sort_releases(struct scheduler *s, uint32_t *bounds, size_t moments)
{
    const struct sl_choice *choice = s->choice;
    memset(bounds, 0, (2 * moments + 1) * sizeof *bounds);
    for (uint32_t i = 0; i < choice->eviction_count; i++) {
        bounds[(is_copied(choice, i) ? moments : 0) + choice->evictions[i].moment + 1]++;
        s->drop_count += !is_copied(choice, i);
        s->queued[i] = SL_NONE;
    }
    for (size_t i = 1; i <= 2 * moments; i++) bounds[i] += bounds[i - 1];
    for (uint32_t i = 0; i < choice->eviction_count; i++)
        s->order[bounds[(is_copied(choice, i) ? moments : 0) + choice->evictions[i].moment]++] = i;
    s->next_copy = s->drop_count;
}

/* False: no memory. */
static bool note_in_place(const struct sl_choice *choice, size_t launch_count, struct sl_plan *plan)
{
    for (uint32_t r = 0; r < choice->remote_count; r++) {
        if (!choice->remotes[r].chosen) continue;
        if (!plan->in_place) plan->in_place = calloc(launch_count, sizeof *plan->in_place);
        if (!plan->in_place) return false;
        plan->in_place[choice->remotes[r].launch] = true;
    }
    return true;
}

enum sl_status sl_plan_schedule(const struct sl_plan_input *in, const double *launch_ns,
                                const struct sl_choice *choice, struct sl_plan *plan,
                                struct sl_course *course)
{
    size_t moments = in->launch_count + 1, evictions = choice->eviction_count,
           requests = choice->request_count;
    struct scheduler s = {.in = in, .launch_ns = launch_ns, .choice = choice, .plan = plan, .course = course};
    uint32_t *words = malloc((3 * evictions + 2 * moments + 1) * sizeof *words);
    s.ready = calloc(moments + evictions, sizeof *s.ready);
    plan->actions = malloc((evictions + requests + 1) * sizeof *plan->actions);
    bool complete = words && s.ready && plan->actions && note_in_place(choice, in->launch_count, plan);
    if (complete) {
        s.out_end = s.ready + moments;
        s.order = words;
        s.queued = s.order + evictions;
        s.action = s.queued + evictions;
        s.room = s.cover = choice->room_bytes;
        sort_releases(&s, s.action + evictions, moments);
        run(&s);
        plan->oversize_launches = choice->oversize_launches;
    }
    free(s.ready);
    free(words);
    return complete ? SL_OK : SL_ERR_NO_MEMORY;
}
