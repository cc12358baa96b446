#include "times.h"

#include "element.h"

void sc_series_post(struct sc_series *series, const struct sc_time *time)
{
    uint64_t posted = __atomic_load_n(&series->posted, __ATOMIC_RELAXED);
    struct sc_time *to = &series->times[posted % SC_TIMES];
    __atomic_store_n(&to->first, time->first, __ATOMIC_RELAXED);
    __atomic_store_n(&to->last, time->last, __ATOMIC_RELAXED);
    __atomic_store_n(&to->ready_ns, time->ready_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&to->busy_ns, time->busy_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&series->posted, posted + 1, __ATOMIC_SEQ_CST);
}

static void raise(uint64_t *value, uint64_t to)
{
    if (*value < to) *value = to;
}

bool sc_series_read(const struct sc_series *series, uint64_t first, uint64_t last, uint64_t *ready_ns,
                    uint64_t *busy_ns)
{
    uint64_t posted = __atomic_load_n(&series->posted, __ATOMIC_ACQUIRE);
    uint64_t have = posted < SC_TIMES ? posted : SC_TIMES;
    uint64_t told = first; /* works before this one were published, or are too old */
    uint64_t ready = 0, busy = 0;
    for (uint64_t i = posted - have; i < posted; i++) {
        const struct sc_time *from = &series->times[i % SC_TIMES];
        struct sc_time time = {__atomic_load_n(&from->first, __ATOMIC_RELAXED),
                               __atomic_load_n(&from->last, __ATOMIC_RELAXED),
                               __atomic_load_n(&from->ready_ns, __ATOMIC_RELAXED),
                               __atomic_load_n(&from->busy_ns, __ATOMIC_RELAXED)};
        if (time.last > told) told = time.last;
        if (time.last <= first || time.first >= last) continue;
        raise(&ready, time.ready_ns);
        raise(&busy, time.busy_ns);
    }
    if (told < last) return false;
    raise(ready_ns, ready);
    raise(busy_ns, busy);
    return true;
}

static double ring_ns(const struct sc_link *link, double bytes, double hops)
{
    return bytes / link->bytes_per_ns + hops * (double)link->latency_ns;
}

static double collective_ns(const struct sc_link *link, const struct sc_work *work, unsigned ranks)
{
    double bytes = (double)work->count * (double)sc_type_bytes(work->type), others = ranks - 1;
    switch (work->kind) {
    case SC_WORK_ALL_REDUCE:
        return ring_ns(link, 2 * others / ranks * bytes, 2 * others);
    case SC_WORK_ALL_GATHER:
    case SC_WORK_REDUCE_SCATTER:
        return ring_ns(link, others * bytes, others);
    case SC_WORK_BROADCAST:
    case SC_WORK_REDUCE:
        return ring_ns(link, bytes, others);
    default: /* direct messages: time of the busiest rank */
        return ring_ns(link, others * bytes, 1);
    }
}

uint64_t sc_link_ns(const struct sc_link *link, const struct sc_work *works, uint32_t count, unsigned rank,
                    unsigned ranks)
{
    double ns = 0, out = 0, in = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct sc_work *work = &works[i];
        double bytes = (double)work->count * (double)sc_type_bytes(work->type);
        bool other = (unsigned)work->peer != rank;
        if (work->kind < SC_WORK_COLLECTIVES)
            ns += ranks > 1 ? collective_ns(link, work, ranks) : 0;
        else if (work->kind == SC_WORK_SEND && other)
            out += bytes + (out == 0) * link->bytes_per_ns * (double)link->latency_ns;
        else if (other)
            in += bytes + (in == 0) * link->bytes_per_ns * (double)link->latency_ns;
    }
    ns += (out > in ? out : in) / link->bytes_per_ns;
    return (uint64_t)(ns + 0.5);
}
