#include "plan_internal.h"

#include <stdlib.h>

/* Runs the actions against launches that follow each other without a break: releases leave through one queue,
 * in order, copies at the link's speed; fetches come in their order, each once its frame is free. */
enum sl_status sl_plan_time(const struct sl_plan_input *in, struct sl_plan *plan)
{
    double *ready = calloc(in->launch_count + 1, sizeof *ready); /* when a launch's chunks are there */
    double *done = malloc((plan->action_count + 1) * sizeof *done);
    if (!ready || !done) {
        free(ready);
        free(done);
        return SL_ERR_NO_MEMORY;
    }
    double now = 0, busy = 0, link_in = 0, link_out = 0;
    size_t next = 0;
    for (size_t t = 0; t < in->launch_count; t++) {
        for (; next < plan->action_count && plan->actions[next].after < in->first_tick + t; next++) {
            const struct sl_plan_action *action = &plan->actions[next];
            double bytes = (double)in->chunk_bytes[action->chunk];
            if (action->kind == SL_ACTION_EVICT || action->kind == SL_ACTION_DROP) {
                if (link_out < now) link_out = now;
                if (action->kind == SL_ACTION_EVICT) link_out += bytes / (double)in->out_bytes_per_s * 1e9;
                done[next] = link_out;
                continue;
            }
            double at = action->frame_from == SL_NO_ACTION ? 0 : done[action->frame_from];
            if (action->kind == SL_ACTION_FETCH) {
                if (at < link_in) at = link_in;
                link_in = at += bytes / (double)in->in_bytes_per_s * 1e9;
            }
            double *due = &ready[action->deadline - in->first_tick];
            if (*due < at) *due = at;
        }
        if (now < ready[t]) now = ready[t];
        now += (double)in->launches[t].duration_ns;
        busy += (double)in->launches[t].duration_ns;
    }
    free(done);
    free(ready);
    plan->seconds_ns = (uint64_t)now;
    plan->stall_ns = (uint64_t)(now - busy);
    return SL_OK;
}
