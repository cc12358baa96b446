#include "plan/plan_prices.h"

#include "plan/plan_choose.h"
#include "plan/plan_outlook.h"
#include "plan/plan_schedule.h"

/* The critical path is followed from the end back to the beginning: a launch that waited waited for its last
 * fetch; a fetch for the one before it on the link, or for a frame; a frame's release for the one before it
 * on the link, or for the launch that used it last. */
struct path {
    const struct sl_plan_input *in;
    const double *launch_ns;
    const struct sl_choice *choice;
    const struct sl_course *course;
    struct sl_prices *prices;
    double rate;
    uint32_t in_raised, out_raised; /* whose price was raised last: each only once */
};

#define SAME_NS 1.0 /* times that differ by less are one */

static double end_of_launch(const struct path *p, uint32_t t)
{
    return p->course->start[t] + p->launch_ns[t];
}

static double in_begin(const struct path *p, uint32_t request)
{
    const struct sl_request *r = &p->choice->requests[request];
    double bytes = r->copy ? (double)p->in->chunk_bytes[r->chunk] : 0;
    return p->course->in_end[request] - bytes * 1e9 / (double)p->in->in_bytes_per_s;
}

static void raise(double *price, uint32_t at, uint32_t *raised, double by)
{
    if (*raised != at) price[at] += by;
    *raised = at;
}

/* From a request that a launch waited for to what it waited for in turn: a release's place, or SL_NONE,
 * nothing within the window. */
static uint32_t follow_in(struct path *p, uint32_t request)
{
    for (;; request--) {
        double begin = in_begin(p, request);
        uint32_t frame = p->course->frame[request];
        raise(p->prices->in, p->choice->requests[request].launch, &p->in_raised, p->rate);
        if (request && p->course->in_end[request - 1] >= begin - SAME_NS) continue;
        return frame != SL_NONE && p->course->out_end[frame] >= begin - SAME_NS ? frame : SL_NONE;
    }
}

/* From a release to the moment whose launches it waited for. */
static uint32_t follow_out(struct path *p, uint32_t place)
{
    for (;; place--) {
        uint32_t moment = p->course->out_moment[place];
        double issued = moment ? end_of_launch(p, moment - 1) : 0;
        raise(p->prices->out, moment, &p->out_raised, p->rate);
        if (!place || p->course->out_begin[place] <= issued + SAME_NS) return moment;
    }
}

void sl_prices_learn(struct sl_prices *prices, const struct sl_plan_input *in, const double *launch_ns,
                     const struct sl_choice *choice, const struct sl_course *course, double rate)
{
    uint32_t request = choice->request_count, moment = (uint32_t)in->launch_count;
    struct path p = {in, launch_ns, choice, course, prices, rate, SL_NONE, SL_NONE};
    for (uint32_t t = 0; t <= moment; t++) {
        prices->in[t] *= 1 - rate;
        prices->out[t] *= 1 - rate;
    }
    while (moment > 0) {
        uint32_t t = --moment;
        while (request && choice->requests[request - 1].launch > t) request--;
        bool asked = request && choice->requests[request - 1].launch == t;
        bool waited = course->start[t] > (t ? end_of_launch(&p, t - 1) : 0) + SAME_NS;
        if (!asked || !waited) continue;
        uint32_t place = follow_in(&p, request - 1);
        if (place == SL_NONE) return;
        moment = follow_out(&p, place);
    }
}
