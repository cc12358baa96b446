#include "tools/plan/link_bound.h"

const char *const link_limit_names[LINK_LIMITS] = {
    [LIMIT_COMPUTATION] = "computation", [LIMIT_LINK_IN] = "link in",
    [LIMIT_LINK_OUT] = "link out",       [LIMIT_LINK_BOTH] = "link",
    [LIMIT_THREADS_IN] = "threads in",   [LIMIT_THREADS_OUT] = "threads out",
    [LIMIT_THREADS_BOTH] = "threads",
};

static double copy_ns(const struct link_load *load, enum sl_sim_way way, uint64_t bytes)
{
    return (double)bytes * 1e9 / (double)load->bytes_per_s[way];
}

/* Out: the copies are given to the link at once, and each block is mapped when it is there. In: while a block
 * is copied, the next one is unmapped. Where page tables take longer than copies, the sum of that work
 * decides, and the one copy that nothing runs beside. */
double link_call_ns(const struct link_load *load, enum sl_sim_way way, uint64_t bytes)
{
    double blocks = (double)((bytes + SL_BLOCK_BYTES - 1) / SL_BLOCK_BYTES);
    double copy = copy_ns(load, way, bytes) / blocks;
    double table = way == SL_SIM_OUT ? load->driver.map_ns : load->driver.unmap_ns;
    return (double)load->call_ns + (copy > table ? table + blocks * copy : copy + blocks * table);
}

/* Of all threads together. The time of a call for each of its bytes is least in the largest calls. */
static double threads_ns(const struct link_load *load, enum sl_sim_way way)
{
    if (!load->bytes[way]) return 0;
    return (double)load->bytes[way] / (double)load->call_bytes * link_call_ns(load, way, load->call_bytes);
}

struct link_bound link_bound(const struct link_load *load)
{
    struct link_bound bound = {.limit = LIMIT_COMPUTATION};
    double in = copy_ns(load, SL_SIM_IN, load->bytes[SL_SIM_IN]);
    double out = copy_ns(load, SL_SIM_OUT, load->bytes[SL_SIM_OUT]);
    bound.ns[LIMIT_COMPUTATION] = load->computed_ns;
    bound.ns[LIMIT_LINK_IN] = (uint64_t)in;
    bound.ns[LIMIT_LINK_OUT] = (uint64_t)out;
    bound.ns[LIMIT_LINK_BOTH] = (uint64_t)((in + out) * 100 / (2.0 * load->driver.both_percent));
    if (load->all_threads) {
        double thread_in = threads_ns(load, SL_SIM_IN), thread_out = threads_ns(load, SL_SIM_OUT);
        bound.ns[LIMIT_THREADS_IN] = (uint64_t)(thread_in / load->threads[SL_SIM_IN]);
        bound.ns[LIMIT_THREADS_OUT] = (uint64_t)(thread_out / load->threads[SL_SIM_OUT]);
        bound.ns[LIMIT_THREADS_BOTH] = (uint64_t)((thread_in + thread_out) / load->all_threads);
    }
    for (unsigned l = 0; l < LINK_LIMITS; l++)
        if (bound.ns[l] > bound.ns[bound.limit]) bound.limit = (enum link_limit)l;
    return bound;
}
