#include "transfers.h"

#include <math.h>

/* A transfer has so much of the link whatever goes on. */
#define LEAST_PART 0.125

uint64_t sc_engine_behind(const struct sc_timing *timing, enum sc_timing_engine engine, uint64_t ready_ns)
{
    return sc_later(ready_ns, sc_timeline_end(&timing->engines[engine].busy));
}

/* The first moment at which the engine may take the next operation of `order`. */
static uint64_t allowed(const struct sc_timing *timing, enum sc_timing_engine engine,
                        const struct sc_order *order, uint64_t ready_ns)
{
    return order ? sc_later(ready_ns, order->end_ns[engine]) : sc_engine_behind(timing, engine, ready_ns);
}

uint64_t sc_engine_gap(const struct sc_timing *timing, enum sc_timing_engine engine,
                       const struct sc_order *order, uint64_t ready_ns, uint64_t length_ns)
{
    return sc_timeline_gap(&timing->engines[engine].busy, allowed(timing, engine, order, ready_ns),
                           length_ns);
}

static enum sc_timing_engine opposite(enum sc_timing_engine direction)
{
    return direction == SC_ENGINE_COPY_IN ? SC_ENGINE_COPY_OUT : SC_ENGINE_COPY_IN;
}

static double alone_rate(const struct sc_machine *machine, enum sc_timing_engine direction)
{
    return direction == SC_ENGINE_COPY_IN ? machine->link_in_bytes_per_ns : machine->link_out_bytes_per_ns;
}

static double shared_rate(const struct sc_machine *machine, enum sc_timing_engine direction)
{
    double alone = alone_rate(machine, direction), shared = machine->link_both_bytes_per_ns;
    if (machine->driver.is_real && shared > machine->driver.both_part * alone)
        shared = machine->driver.both_part * alone;
    return shared < alone ? shared : alone;
}

/* The rate while the other direction is busy. What was placed there does not change: with a real driver it
 * is what that leaves of the rates of both together, so that their sum is right. */
static double rate_beside(const struct sc_machine *machine, enum sc_timing_engine direction, double other)
{
    double shared = shared_rate(machine, direction), alone = alone_rate(machine, direction);
    if (!machine->driver.is_real) return shared;
    double left = shared + shared_rate(machine, opposite(direction)) - other;
    if (left < LEAST_PART * alone) left = LEAST_PART * alone;
    return left < alone ? left : alone;
}

void sc_engine_book(struct sc_timing *timing, enum sc_timing_engine engine, struct sc_order *order,
                    uint64_t start_ns, uint64_t end_ns)
{
    if (order) order->end_ns[engine] = sc_later(order->end_ns[engine], end_ns);
    if (end_ns == start_ns) return;
    timing->engines[engine].busy_ns += end_ns - start_ns;
    sc_timeline_book(&timing->engines[engine].busy, start_ns, end_ns, 0);
}

/* A transfer of `bytes` that starts at `start_ns`. It has the link's full rate when alone and the shared rate
 * while the other direction is busy. While ranks meet over the link it pauses; *still_ns is the sum of these
 * pauses. Returns its end. `engine` not NULL: it is busy with the transfer, at the rates of its parts. */
static uint64_t run(const struct sc_timing *timing, enum sc_timing_engine direction, uint64_t start_ns,
                    double bytes, double factor, struct sc_timeline *engine, uint64_t *still_ns)
{
    const struct sc_machine *machine = &timing->machine;
    double alone = factor * alone_rate(machine, direction);
    double now = (double)start_ns, rest = bytes, still = 0;
    while (rest > 0) {
        const struct sc_busy *busy =
            sc_timeline_at(&timing->engines[opposite(direction)].busy, (uint64_t)now);
        const struct sc_busy *meeting = sc_timeline_at(&timing->meetings, (uint64_t)now);
        double begin = now;
        if (meeting && (double)meeting->start_ns <= now) {
            still += (double)meeting->end_ns - now;
            now = (double)meeting->end_ns;
            if (engine) sc_timeline_book(engine, (uint64_t)begin, (uint64_t)now, 0);
            continue;
        }
        bool both = busy && (double)busy->start_ns <= now;
        double rate = both ? factor * rate_beside(machine, direction, busy->rate) : alone, until = INFINITY;
        if (busy) until = (double)(both ? busy->end_ns : busy->start_ns);
        if (meeting && (double)meeting->start_ns < until) until = (double)meeting->start_ns;
        double possible = (until - now) * rate;
        now = possible >= rest ? now + rest / rate : until;
        rest = possible >= rest ? 0 : rest - possible;
        if (engine) sc_timeline_book(engine, (uint64_t)begin, (uint64_t)ceil(now), rate);
    }
    *still_ns = (uint64_t)still;
    return (uint64_t)ceil(now);
}

uint64_t sc_transfer(struct sc_timing *timing, enum sc_timing_engine direction, struct sc_order *order,
                     uint64_t ready_ns, uint64_t bytes, double factor, uint64_t *start_ns)
{
    *start_ns = ready_ns;
    if (!bytes) return ready_ns;
    struct sc_timeline_engine *engine = &timing->engines[direction];
    uint64_t still_ns, end_ns;
    *start_ns = sc_engine_gap(timing, direction, order, ready_ns, 1);
    for (;;) {
        end_ns = run(timing, direction, *start_ns, (double)bytes, factor, NULL, &still_ns);
        const struct sc_busy *behind = sc_timeline_at(&engine->busy, *start_ns);
        if (!behind || behind->start_ns >= end_ns) break;
        *start_ns = sc_timeline_idle(&engine->busy, behind->end_ns);
    }
    /* An ideal driver's transfers do not ask for the rate of others. */
    if (timing->machine.driver.is_real)
        run(timing, direction, *start_ns, (double)bytes, factor, &engine->busy, &still_ns);
    else
        sc_timeline_book(&engine->busy, *start_ns, end_ns, 0);
    engine->busy_ns += end_ns - *start_ns - still_ns;
    if (order) order->end_ns[direction] = sc_later(order->end_ns[direction], end_ns);
    return end_ns;
}
