#include "timing.h"

#include <math.h>
#include <string.h>

#include "matrix_share.h"
#include "moves.h"
#include "transfers.h"

/* Pageable copies pass through a staging buffer: they use half of the link's bandwidth. */
#define PAGEABLE_FACTOR 0.5
/* Migrations by faults use half of the link's bandwidth. */
#define FAULT_FACTOR 0.5

void sc_timing_init(struct sc_timing *timing, const struct sc_machine *machine)
{
    memset(timing, 0, sizeof *timing);
    timing->machine = *machine;
    sc_managed_init(&timing->managed, machine->memory_bytes);
}

void sc_timing_destroy(struct sc_timing *timing)
{
    sc_managed_destroy(&timing->managed);
    sc_footprint_destroy(&timing->footprint);
    sc_footprint_destroy(&timing->allocated);
    for (int i = 0; i < SC_ENGINES; i++) sc_timeline_destroy(&timing->engines[i].busy);
    sc_timeline_destroy(&timing->meetings);
}

void sc_timing_forget(struct sc_timing *timing, uint64_t before_ns)
{
    for (int i = 0; i < SC_ENGINES; i++) sc_timeline_forget(&timing->engines[i].busy, before_ns);
    sc_timeline_forget(&timing->meetings, before_ns);
    for (size_t i = 0; i < timing->managed.range_count; i++)
        sc_timeline_forget(&timing->managed.ranges[i]->page_tables, before_ns);
}

size_t sc_timing_remembered(const struct sc_timing *timing)
{
    size_t count = timing->meetings.count;
    for (int i = 0; i < SC_ENGINES; i++) count += timing->engines[i].busy.count;
    return count;
}

void sc_effect_add(struct sc_effect *sum, const struct sc_effect *effect)
{
    for (int i = 0; i < SC_CAUSES; i++) {
        sum->in[i] += effect->in[i];
        sum->out[i] += effect->out[i];
    }
    sum->faults += effect->faults;
    sum->host_faults += effect->host_faults;
    sum->collapses += effect->collapses;
    sum->collapsed_bytes += effect->collapsed_bytes;
    sum->unmapped_bytes += effect->unmapped_bytes;
    sum->gained_bytes += effect->gained_bytes;
    sum->lost_bytes += effect->lost_bytes;
    sum->evicted_bytes += effect->evicted_bytes;
}

uint64_t sc_effect_in(const struct sc_effect *effect)
{
    uint64_t sum = 0;
    for (int i = 0; i < SC_CAUSES; i++) sum += effect->in[i];
    return sum;
}

uint64_t sc_effect_out(const struct sc_effect *effect)
{
    uint64_t sum = 0;
    for (int i = 0; i < SC_CAUSES; i++) sum += effect->out[i];
    return sum;
}

static uint64_t duration(double bytes, double bytes_per_ns)
{
    return bytes > 0 ? (uint64_t)ceil(bytes / bytes_per_ns) : 0;
}

/* The part of the faults that does not depend on the link. A collapse removes the CPU's page-table entries.
 */
static uint64_t handling_ns(const struct sc_timing *timing, const struct sc_effect *effect)
{
    double unmapped_blocks = (double)effect->unmapped_bytes / (double)SC_BLOCK_BYTES;
    return effect->faults * timing->machine.fault_ns +
           (uint64_t)((double)timing->machine.driver.unmap_ns * unmapped_blocks);
}

/* The duration of an operation on the compute engine that takes `alone_ns` without migrations and remote
 * accesses. */
static uint64_t with_links(const struct sc_timing *timing, const struct sc_effect *effect, uint64_t alone_ns)
{
    const struct sc_machine *machine = &timing->machine;
    uint64_t in_ns = duration((double)effect->in[SC_CAUSE_REMOTE], machine->link_in_bytes_per_ns);
    uint64_t out_ns = duration((double)effect->out[SC_CAUSE_REMOTE], machine->link_out_bytes_per_ns);
    uint64_t longest = alone_ns > in_ns ? alone_ns : in_ns;
    if (out_ns > longest) longest = out_ns;
    longest += handling_ns(timing, effect);
    longest += duration((double)effect->in[SC_CAUSE_FAULT], FAULT_FACTOR * machine->link_in_bytes_per_ns);
    longest +=
        duration((double)effect->out[SC_CAUSE_EVICTION], FAULT_FACTOR * machine->link_out_bytes_per_ns);
    return longest;
}

/* What an operation uses in place takes its part of the link, beside copies. Returns when all has crossed it.
 */
static uint64_t cross_links(struct sc_timing *timing, const struct sc_effect *effect, uint64_t ready_ns)
{
    uint64_t start_ns;
    uint64_t in_ns =
        sc_transfer(timing, SC_ENGINE_COPY_IN, NULL, ready_ns, effect->in[SC_CAUSE_REMOTE], 1, &start_ns);
    uint64_t out_ns =
        sc_transfer(timing, SC_ENGINE_COPY_OUT, NULL, ready_ns, effect->out[SC_CAUSE_REMOTE], 1, &start_ns);
    return in_ns > out_ns ? in_ns : out_ns;
}

static void place_on_compute(struct sc_timing *timing, const struct sc_work *work, uint64_t alone_ns,
                             struct sc_placed *out)
{
    uint64_t fixed_ns = work->in_graph ? timing->machine.node_ns : timing->machine.launch_ns;
    uint64_t total_ns = fixed_ns + with_links(timing, &out->effect, alone_ns);
    out->start_ns = sc_engine_gap(timing, SC_ENGINE_COMPUTE, work->order, work->ready_ns, total_ns);
    uint64_t crossed_ns = cross_links(timing, &out->effect, out->start_ns + fixed_ns);
    if (crossed_ns > out->start_ns + total_ns) {
        total_ns = crossed_ns - out->start_ns;
        out->start_ns = sc_engine_gap(timing, SC_ENGINE_COMPUTE, work->order, out->start_ns, total_ns);
    }
    out->end_ns = out->start_ns + total_ns;
    sc_engine_book(timing, SC_ENGINE_COMPUTE, work->order, out->start_ns, out->end_ns);
}

/* Touches the managed memory that a kernel uses. Returns the bytes that move in device memory. */
static uint64_t touch_managed(struct sc_timing *timing, const struct sc_cost *cost, struct sc_effect *effect)
{
    for (size_t i = 0; i < cost->block_count; i++)
        sc_managed_touch(&timing->managed, cost->blocks[i].block << SC_BLOCK_SHIFT,
                         cost->blocks[i].bytes_read, cost->blocks[i].bytes_written, effect);
    uint64_t remote = effect->in[SC_CAUSE_REMOTE] + effect->out[SC_CAUSE_REMOTE];
    uint64_t bytes = cost->bytes_read + cost->bytes_written;
    return bytes > remote ? bytes - remote : 0;
}

/* The duration of a kernel without its link traffic. */
static uint64_t alone_ns(const struct sc_timing *timing, const struct sc_cost *cost, uint64_t local_bytes)
{
    const struct sc_machine *machine = &timing->machine;
    double peak = machine->matrix_flops_per_ns[cost->product.rate];
    double rate =
        peak > 0 ? peak * sc_matrix_share(&cost->product, machine->processors) : machine->flops_per_ns;
    uint64_t compute_ns = duration((double)cost->flops, rate);
    uint64_t memory_ns = duration((double)local_bytes, timing->machine.device_bytes_per_ns);
    return compute_ns > memory_ns ? compute_ns : memory_ns;
}

static void count_launch(struct sc_timing *timing, const struct sc_cost *cost, uint64_t local_bytes)
{
    timing->launches++;
    timing->flops += cost->flops;
    timing->blocks += cost->grid_blocks;
    timing->executed_blocks += cost->executed_blocks;
    timing->device_bytes += local_bytes;
}

static void place_kernel(struct sc_timing *timing, const struct sc_work *work, struct sc_placed *out)
{
    uint64_t local = touch_managed(timing, work->cost, &out->effect);
    place_on_compute(timing, work, alone_ns(timing, work->cost, local), out);
    count_launch(timing, work->cost, local);
}

static void place_set(struct sc_timing *timing, const struct sc_work *work, struct sc_placed *out)
{
    const struct sc_span *span = &work->destination;
    uint64_t remote = 0;
    if (work->to == SC_SIDE_MANAGED) {
        for (uint64_t at = span->address; at < span->address + span->bytes;) {
            uint64_t next = (at | (SC_BLOCK_BYTES - 1)) + 1;
            if (next > span->address + span->bytes) next = span->address + span->bytes;
            sc_managed_touch(&timing->managed, at, 0, next - at, &out->effect);
            at = next;
        }
        remote = out->effect.out[SC_CAUSE_REMOTE];
    } else if (work->to != SC_SIDE_DEVICE) {
        remote = out->effect.out[SC_CAUSE_REMOTE] = span->bytes;
    }
    uint64_t local_ns = duration((double)(span->bytes - remote), timing->machine.device_bytes_per_ns);
    place_on_compute(timing, work, local_ns, out);
}

static uint64_t on_device(struct sc_timing *timing, const struct sc_span *span, enum sc_side side)
{
    if (side == SC_SIDE_DEVICE) return span->bytes;
    return side == SC_SIDE_MANAGED ? sc_managed_resident(&timing->managed, span->address, span->bytes) : 0;
}

static void place_copy(struct sc_timing *timing, const struct sc_work *work, struct sc_placed *out)
{
    struct sc_effect *effect = &out->effect;
    uint64_t bytes = work->destination.bytes;
    out->start_ns = out->end_ns = work->ready_ns;
    if (!bytes) return;
    if (work->to == SC_SIDE_MANAGED)
        sc_managed_populate(&timing->managed, work->destination.address, bytes, effect);
    /* If both sides are partly resident, their resident parts are assumed to be statistically independent. */
    double to = (double)on_device(timing, &work->destination, work->to) / (double)bytes;
    double from = (double)on_device(timing, &work->source, work->from) / (double)bytes;
    uint64_t in = (uint64_t)llround(to * (1 - from) * (double)bytes);
    uint64_t outward = (uint64_t)llround(from * (1 - to) * (double)bytes);
    uint64_t local = (uint64_t)llround(to * from * (double)bytes);
    uint64_t host = bytes > in + outward + local ? bytes - in - outward - local : 0;
    double factor = work->to == SC_SIDE_PAGEABLE || work->from == SC_SIDE_PAGEABLE ? PAGEABLE_FACTOR : 1;
    effect->in[SC_CAUSE_COPY] += in;
    effect->out[SC_CAUSE_COPY] += outward;
    /* The driver collapses what the copy writes to before it moves a byte. */
    uint64_t ready_ns = work->ready_ns + handling_ns(timing, effect), start_ns;
    if (effect->out[SC_CAUSE_EVICTION])
        ready_ns = sc_transfer(timing, SC_ENGINE_COPY_OUT, work->order, ready_ns,
                               effect->out[SC_CAUSE_EVICTION], 1, &start_ns);
    if (local) {
        uint64_t local_ns = duration(2.0 * (double)local, timing->machine.device_bytes_per_ns);
        out->start_ns = sc_engine_gap(timing, SC_ENGINE_COMPUTE, work->order, ready_ns, local_ns);
        ready_ns = out->start_ns + local_ns;
        sc_engine_book(timing, SC_ENGINE_COMPUTE, work->order, out->start_ns, ready_ns);
    }
    /* The device accesses managed memory that stayed on the host over the link. */
    if (host && work->to == SC_SIDE_MANAGED) {
        effect->out[SC_CAUSE_REMOTE] += host;
        outward += host;
    } else if (host && work->from == SC_SIDE_MANAGED) {
        effect->in[SC_CAUSE_REMOTE] += host;
        in += host;
    }
    if (outward) {
        ready_ns = sc_transfer(timing, SC_ENGINE_COPY_OUT, work->order, ready_ns, outward, factor, &start_ns);
        if (!local) out->start_ns = start_ns;
    }
    if (in) {
        ready_ns = sc_transfer(timing, SC_ENGINE_COPY_IN, work->order, ready_ns, in, factor, &start_ns);
        if (!local && !outward) out->start_ns = start_ns;
    }
    out->end_ns = ready_ns;
}

static void place_migration(struct sc_timing *timing, const struct sc_work *work, struct sc_placed *out)
{
    struct sc_effect *effect = &out->effect;
    for (uint64_t i = 0; i < work->span_count; i++) {
        const struct sc_span *span = &work->spans[i];
        if (work->kind != SC_WORK_PREFETCH) {
            struct sc_effect discarded = {0};
            sc_managed_discard(&timing->managed, span->address, span->bytes, &discarded);
            /* A discarded frame is free at once, before the prefetch takes one. */
            effect->lost_bytes += discarded.lost_bytes;
            effect->evicted_bytes += discarded.lost_bytes;
        }
        if (work->kind != SC_WORK_DISCARD)
            sc_managed_prefetch(&timing->managed, span->address, span->bytes, span->to, effect);
    }
    uint64_t start_ns;
    uint64_t outward = effect->out[SC_CAUSE_EVICTION] + effect->out[SC_CAUSE_PREFETCH];
    uint64_t ready_ns =
        sc_transfer(timing, SC_ENGINE_COPY_OUT, work->order, work->ready_ns, outward, 1, &out->start_ns);
    out->end_ns = sc_transfer(timing, SC_ENGINE_COPY_IN, work->order, ready_ns, effect->in[SC_CAUSE_PREFETCH],
                              1, &start_ns);
    if (!outward) out->start_ns = start_ns;
}

void sc_timing_apply(struct sc_timing *timing, uint64_t start_ns, uint64_t end_ns,
                     const struct sc_effect *effect)
{
    sc_effect_add(&timing->totals, effect);
    sc_footprint_add(&timing->footprint, start_ns,
                     (int64_t)effect->gained_bytes - (int64_t)effect->evicted_bytes);
    sc_footprint_add(&timing->footprint, end_ns,
                     (int64_t)effect->evicted_bytes - (int64_t)effect->lost_bytes);
    if (end_ns > timing->end_ns) timing->end_ns = end_ns;
}

void sc_timing_place(struct sc_timing *timing, const struct sc_work *work, struct sc_placed *out)
{
    memset(out, 0, sizeof *out);
    out->start_ns = out->end_ns = work->ready_ns;
    switch (work->kind) {
    case SC_WORK_NONE:
        break;
    case SC_WORK_KERNEL:
        place_kernel(timing, work, out);
        break;
    case SC_WORK_COPY:
        place_copy(timing, work, out);
        break;
    case SC_WORK_SET:
        place_set(timing, work, out);
        break;
    case SC_WORK_PREFETCH:
    case SC_WORK_DISCARD:
    case SC_WORK_DISCARD_PREFETCH:
        if (timing->machine.driver.is_real)
            sc_moves_place(timing, work, out);
        else
            place_migration(timing, work, out);
        break;
    }
    sc_timing_apply(timing, out->start_ns, out->end_ns, &out->effect);
}

/* The engines that must be free for a meeting. */
static bool takes_engine(const struct sc_timing *timing, int engine)
{
    bool host_link = engine == SC_ENGINE_COPY_IN || engine == SC_ENGINE_COPY_OUT;
    return engine == SC_ENGINE_PEERS || (host_link && !timing->machine.peer_bytes_per_ns);
}

void sc_timing_arrive(struct sc_timing *timing, const struct sc_work *work, uint64_t *ready_ns,
                      uint64_t *busy_ns, struct sc_effect *effect)
{
    *ready_ns = work->ready_ns;
    for (int engine = 0; engine < SC_ENGINES; engine++)
        if (takes_engine(timing, engine)) *ready_ns = sc_engine_behind(timing, engine, *ready_ns);
    uint64_t local = touch_managed(timing, work->cost, effect);
    uint64_t fixed_ns = work->in_graph ? timing->machine.node_ns : timing->machine.launch_ns;
    *busy_ns = fixed_ns + with_links(timing, effect, alone_ns(timing, work->cost, local));
    count_launch(timing, work->cost, local);
}

void sc_timing_meet(struct sc_timing *timing, uint64_t start_ns, uint64_t end_ns,
                    const struct sc_effect *effect)
{
    sc_engine_book(timing, SC_ENGINE_PEERS, NULL, start_ns, end_ns);
    if (!timing->machine.peer_bytes_per_ns && start_ns < end_ns) {
        timing->engines[SC_ENGINE_COPY_IN].busy_ns += end_ns - start_ns;
        timing->engines[SC_ENGINE_COPY_OUT].busy_ns += end_ns - start_ns;
        sc_timeline_book(&timing->meetings, start_ns, end_ns, 0);
    }
    sc_timing_apply(timing, start_ns, end_ns, effect);
}

uint64_t sc_timing_bring_home(struct sc_timing *timing, uint64_t ready_ns, uint64_t bytes,
                              const struct sc_effect *effect)
{
    uint64_t start_ns;
    uint64_t end_ns = sc_transfer(timing, SC_ENGINE_COPY_OUT, NULL, ready_ns, bytes, FAULT_FACTOR, &start_ns);
    sc_timing_apply(timing, start_ns, end_ns, effect);
    return end_ns;
}

uint64_t sc_timing_host_fault(struct sc_timing *timing, uint64_t at_ns, uint64_t address)
{
    struct sc_managed_block *block = sc_managed_find(&timing->managed, address);
    struct sc_effect effect = {.host_faults = 1};
    sc_managed_take_home(&timing->managed, address, &effect);
    block->host_mapped = true;
    uint64_t home_ns = sc_timing_bring_home(timing, at_ns + timing->machine.fault_ns, block->bytes, &effect);
    double blocks = (double)block->bytes / (double)SC_BLOCK_BYTES;
    return home_ns + (uint64_t)((double)timing->machine.driver.map_ns * blocks);
}

void sc_timing_place_between(struct sc_timing *from, struct sc_timing *to, uint64_t ready_ns, uint64_t bytes,
                             struct sc_placed *out)
{
    const struct sc_machine *machine = &from->machine;
    bool linked = machine->peer_bytes_per_ns > 0;
    enum sc_timing_engine leaving = linked ? SC_ENGINE_PEERS : SC_ENGINE_COPY_OUT;
    enum sc_timing_engine coming = linked ? SC_ENGINE_PEERS : SC_ENGINE_COPY_IN;
    double slower = machine->link_in_bytes_per_ns < machine->link_out_bytes_per_ns
                        ? machine->link_in_bytes_per_ns
                        : machine->link_out_bytes_per_ns;
    memset(out, 0, sizeof *out);
    ready_ns = sc_engine_behind(from, SC_ENGINE_PEERS, ready_ns); /* meetings */
    ready_ns = sc_engine_behind(to, SC_ENGINE_PEERS, ready_ns);
    out->start_ns = sc_engine_behind(to, coming, sc_engine_behind(from, leaving, ready_ns));
    out->end_ns = out->start_ns + machine->peer_ns +
                  duration((double)bytes, linked ? machine->peer_bytes_per_ns : slower);
    sc_engine_book(from, leaving, NULL, out->start_ns, out->end_ns);
    sc_engine_book(to, coming, NULL, out->start_ns, out->end_ns);
    sc_timing_apply(from, out->start_ns, out->end_ns, &out->effect);
}

void sc_timing_charge(struct sc_timing *timing, uint64_t at_ns, int64_t bytes)
{
    struct sc_effect effect = {0};
    sc_managed_charge(&timing->managed, bytes, &effect);
    uint64_t start_ns, end_ns = sc_transfer(timing, SC_ENGINE_COPY_OUT, NULL, at_ns,
                                            effect.out[SC_CAUSE_EVICTION], 1, &start_ns);
    sc_timing_apply(timing, end_ns, end_ns, &effect);
    sc_footprint_add(&timing->allocated, at_ns, bytes);
}
