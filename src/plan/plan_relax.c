#include "plan/plan_relax.h"

#include <stdlib.h>

#include "plan/plan_program.h"

#define MOST_ITERATIONS 40000               /* by then it is solved, or nearly */
#define STEPS_FOR_ATTEMPT ((size_t)1 << 20) /* multiplications by a coefficient */
/* Copies beyond the bound do not pay if they use the link for less than a twentieth of the period. If half as
 * many again are wanted, that is because fractions of chunks take turns in ways that whole chunks cannot: the
 * copies would be made, but save little. */
#define LEAST_MORE 0.05
#define MOST_MORE 0.5
#define NEARLY 0.05 /* values that differ by less count as equal */
#define MAY_LEAVE 0.05
#define LEAVES 0.5

/* The conditions it was made for, besides the launches. */
struct terms_of_trade {
    double run_ns, in_per_s, out_per_s, most_bytes;
};

struct sl_relaxation {
    struct sl_program program;
    size_t iterations;
    struct terms_of_trade terms;
    uint8_t *by_access, *by_chunk;
    struct sl_guide guide;
};

void sl_relaxation_delete(struct sl_relaxation *r)
{
    if (!r) return;
    sl_program_free(&r->program);
    free(r->by_access);
    free(r);
}

static struct terms_of_trade terms_of(const struct sl_plan_input *in, const double *launch_ns, size_t period,
                                      double most_bytes)
{
    struct terms_of_trade terms = {0, (double)in->in_bytes_per_s, (double)in->out_bytes_per_s, most_bytes};
    for (size_t t = 0; t < period; t++) terms.run_ns += launch_ns[t];
    return terms;
}

static bool is_near(double a, double b)
{
    return a > b * (1 - NEARLY) && a < b * (1 + NEARLY);
}

bool sl_relaxation_fits(const struct sl_relaxation *r, const struct sl_plan_input *in,
                        const double *launch_ns, double most_bytes)
{
    if (!sl_uses_fit(&r->program.uses, in)) return false;
    struct terms_of_trade now = terms_of(in, launch_ns, r->program.uses.period, most_bytes), then = r->terms;
    return is_near(now.run_ns, then.run_ns) && is_near(now.in_per_s, then.in_per_s) &&
           is_near(now.out_per_s, then.out_per_s) && is_near(now.most_bytes, then.most_bytes);
}

struct sl_relaxation *sl_relaxation_new(const struct sl_plan_input *in, const double *launch_ns,
                                        size_t period, double most_bytes)
{
    struct sl_program program;
    if (sl_program_make(in, launch_ns, period, most_bytes, &program)) return NULL;
    size_t accesses = program.uses.access_count, chunks = program.uses.chunk_count;
    struct sl_relaxation *r = calloc(1, sizeof *r);
    uint8_t *leavings = calloc(accesses + chunks + 1, 1);
    if (!r || !leavings) {
        sl_program_free(&program);
        free(leavings);
        free(r);
        return NULL;
    }
    *r = (struct sl_relaxation){.program = program,
                                .terms = terms_of(in, launch_ns, period, most_bytes),
                                .by_access = leavings,
                                .by_chunk = leavings + accesses,
                                .guide = {leavings, leavings + accesses, program.uses.access_count}};
    return r;
}

/* Of chunks with the same events, the first ones are evicted, so the same ones after each use. */
static enum sl_leaving leaving(const struct sl_relaxation *r, sl_chunk chunk, uint32_t leaves, double unit)
{
    double amount = leaves == SL_NONE ? 0 : sl_linear_value(r->program.linear, leaves);
    double part = amount / unit - r->program.uses.rank_of[chunk];
    return part > LEAVES ? SL_LEAVES : part > MAY_LEAVE ? SL_MAY_LEAVE : SL_STAYS;
}

static void renew_guide(struct sl_relaxation *r)
{
    const struct sl_uses *uses = &r->program.uses;
    for (uint32_t first = 0; first < uses->chunk_count; first++) {
        sl_chunk chunk = uses->order[first], like = uses->order[first - uses->rank_of[chunk]];
        const struct sl_chunk_event *own = uses->events + uses->first_event[chunk],
                                    *theirs = uses->events + uses->first_event[like];
        uint32_t count = uses->first_event[chunk + 1] - uses->first_event[chunk];
        r->by_chunk[chunk] = SL_STAYS;
        for (uint32_t e = 0; e < count; e++) {
            if (own[e].kind == SL_EVENT_DEATH) continue;
            r->by_access[own[e].access] =
                (uint8_t)leaving(r, chunk, r->program.leaves[theirs[e].access], r->program.units[chunk]);
            r->by_chunk[chunk] = r->by_access[own[e].access];
        }
    }
}

bool sl_relaxation_is_solved(const struct sl_relaxation *r)
{
    return r->iterations >= MOST_ITERATIONS || sl_linear_is_solved(r->program.linear);
}

void sl_relaxation_improve(struct sl_relaxation *r, unsigned attempts)
{
    size_t iterations = attempts * STEPS_FOR_ATTEMPT / (sl_linear_size(r->program.linear) + 1) + 1;
    if (sl_relaxation_is_solved(r)) return;
    r->iterations += iterations;
    sl_linear_improve(r->program.linear, (unsigned)iterations);
    renew_guide(r);
}

const struct sl_guide *sl_relaxation_guide(const struct sl_relaxation *r)
{
    return &r->guide;
}

double sl_relaxation_more_bytes(const struct sl_relaxation *r)
{
    double more = sl_linear_value(r->program.linear, r->program.more);
    bool worth_it = more * r->program.unit_ns > LEAST_MORE * (r->terms.run_ns + sl_relaxation_wait_ns(r)) &&
                    more * r->program.unit_bytes < MOST_MORE * r->terms.most_bytes;
    return sl_relaxation_is_solved(r) && worth_it ? more * r->program.unit_bytes : 0;
}

double sl_relaxation_wait_ns(const struct sl_relaxation *r)
{
    return sl_program_wait_ns(&r->program);
}
