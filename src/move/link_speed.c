#include "move/link_speed.h"

void sl_link_note(struct sl_link_lane *lane, uint64_t begin_ns, uint64_t end_ns, uint64_t bytes)
{
    if (end_ns <= begin_ns || !bytes) return;
    lane->spans[lane->count++ % SL_LINK_SPANS] = (struct sl_link_span){begin_ns, end_ns, bytes};
}

static uint32_t held(const struct sl_link_lane *lane)
{
    return lane->count < SL_LINK_SPANS ? (uint32_t)lane->count : SL_LINK_SPANS;
}

/* Nanoseconds of the span in which the other direction ran as well. */
static uint64_t shared_ns(const struct sl_link_span *span, const struct sl_link_lane *other)
{
    uint64_t shared = 0;
    for (uint32_t i = 0; i < held(other); i++) {
        uint64_t begin = other->spans[i].begin_ns, end = other->spans[i].end_ns;
        if (begin < span->begin_ns) begin = span->begin_ns;
        if (end > span->end_ns) end = span->end_ns;
        if (begin < end) shared += end - begin;
    }
    uint64_t whole = span->end_ns - span->begin_ns;
    return shared < whole ? shared : whole;
}

/* The median over the movements: for some, part of the data may have been there already, and some may have
 * waited for something unknown. */
static uint64_t speed(const struct sl_link_lane *lane, const struct sl_link_lane *other)
{
    uint64_t sorted[SL_LINK_SPANS];
    if (lane->count < SL_LINK_LEAST) return 0;
    for (uint32_t i = 0; i < held(lane); i++) {
        const struct sl_link_span *span = &lane->spans[i];
        double shared = (double)shared_ns(span, other),
               alone = (double)(span->end_ns - span->begin_ns) - shared;
        uint64_t each = (uint64_t)((double)span->bytes * 1e9 / (shared + alone / SL_LINK_SHARED));
        uint32_t at = i;
        for (; at > 0 && sorted[at - 1] > each; at--) sorted[at] = sorted[at - 1];
        sorted[at] = each;
    }
    return sorted[held(lane) / 2];
}

void sl_link_speeds(const struct sl_link *link, uint64_t *in_bytes_per_s, uint64_t *out_bytes_per_s)
{
    uint64_t in = speed(&link->in, &link->out), out = speed(&link->out, &link->in);
    if (!in && !out) return;
    *in_bytes_per_s = in ? in : out;
    *out_bytes_per_s = out ? out : in;
}
