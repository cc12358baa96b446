#include "moves.h"

#include <stdlib.h>
#include <string.h>

#include "transfers.h"

/* What a call does with one block. */
struct block_move {
    struct sc_managed_range *range;
    uint32_t out_bytes, in_bytes, evicted_bytes;
    uint64_t cpu_ns; /* the thread works on page tables, alone in its range */
    uint64_t copied_ns;
};

struct call {
    struct sc_timing *timing;
    struct sc_order order; /* its own: the thread puts its calls in order */
    double factor;         /* of the link's rate */
    struct block_move *blocks;
    size_t count, capacity;
    uint64_t at_ns; /* how far the thread is */
};

/* Costs are those of a whole block. */
static uint64_t part(uint64_t cost_ns, uint64_t bytes)
{
    return (uint64_t)((double)cost_ns * (double)bytes / (double)SC_BLOCK_BYTES);
}

/* The CPU's page-table entries that a prefetch makes or removes. */
static uint64_t page_table_ns(const struct sc_driver_costs *costs, const struct sc_managed_block *block,
                              enum sc_place to, bool was_mapped, bool moved)
{
    if (to != SC_HOST) return was_mapped && moved ? part(costs->unmap_ns, block->bytes) : 0;
    return part(was_mapped ? costs->remap_ns : costs->map_ns, block->bytes);
}

static struct block_move *add_block(struct call *call)
{
    if (call->count == call->capacity) {
        size_t capacity = call->capacity ? 2 * call->capacity : 16;
        struct block_move *blocks = realloc(call->blocks, capacity * sizeof *blocks);
        if (!blocks) return NULL;
        call->blocks = blocks;
        call->capacity = capacity;
    }
    return &call->blocks[call->count++];
}

static void prefetch_block(struct call *call, struct sc_managed_range *range, uint64_t address, uint64_t end,
                           enum sc_place to, struct sc_effect *sum)
{
    struct sc_managed *managed = &call->timing->managed;
    struct sc_managed_block *block = sc_managed_find(managed, address);
    bool was_mapped = block->host_mapped;
    struct sc_effect effect = {0};
    sc_managed_prefetch(managed, address, end - address, to, &effect);
    sc_effect_add(sum, &effect);
    struct block_move *move = add_block(call);
    if (!move) return;
    *move = (struct block_move){
        .range = range,
        .out_bytes = (uint32_t)effect.out[SC_CAUSE_PREFETCH],
        .in_bytes = (uint32_t)effect.in[SC_CAUSE_PREFETCH],
        .evicted_bytes = (uint32_t)effect.out[SC_CAUSE_EVICTION],
        .cpu_ns = page_table_ns(&call->timing->machine.driver, block, to, was_mapped,
                                effect.in[SC_CAUSE_PREFETCH] > 0),
    };
}

static uint64_t block_end(uint64_t address, uint64_t limit)
{
    uint64_t end = (address | (SC_BLOCK_BYTES - 1)) + 1;
    return end < limit ? end : limit;
}

/* What the calls do to the residency of a span. Returns how many blocks it discards. */
static uint64_t apply_span(struct call *call, enum sc_work_kind kind, const struct sc_span *span,
                           struct sc_effect *sum)
{
    uint64_t end = span->address + span->bytes, discarded = 0;
    if (kind != SC_WORK_PREFETCH) {
        struct sc_effect effect = {0};
        sc_managed_discard(&call->timing->managed, span->address, span->bytes, &effect);
        effect.evicted_bytes += effect.lost_bytes; /* free before the prefetch takes frames */
        sc_effect_add(sum, &effect);
        discarded = (span->bytes + SC_BLOCK_BYTES - 1) >> SC_BLOCK_SHIFT;
    }
    call->count = 0;
    for (uint64_t at = span->address; at < end && kind != SC_WORK_DISCARD; at = block_end(at, end)) {
        struct sc_managed_range *range = sc_managed_range_of(&call->timing->managed, at);
        if (range) prefetch_block(call, range, at, block_end(at, end), span->to, sum);
    }
    return discarded;
}

static void work_on_pages(struct call *call, const struct block_move *block)
{
    if (!block->cpu_ns) return;
    struct sc_timeline *tables = &block->range->page_tables;
    uint64_t start_ns = sc_timeline_gap(tables, call->at_ns, block->cpu_ns);
    call->at_ns = start_ns + block->cpu_ns;
    sc_timeline_book(tables, start_ns, call->at_ns, 0);
}

/* First all copies are given to the engine, then each block is mapped when its copy is done. */
static void run_outward(struct call *call)
{
    uint64_t start_ns;
    for (size_t i = 0; i < call->count; i++)
        call->blocks[i].copied_ns = sc_transfer(call->timing, SC_ENGINE_COPY_OUT, &call->order, call->at_ns,
                                                call->blocks[i].out_bytes, call->factor, &start_ns);
    for (size_t i = 0; i < call->count; i++) {
        call->at_ns = sc_later(call->at_ns, call->blocks[i].copied_ns);
        work_on_pages(call, &call->blocks[i]);
    }
}

/* While one block is copied, the next one is unmapped. */
static void run_inward(struct call *call)
{
    uint64_t last_ns = call->at_ns, start_ns;
    for (size_t i = 0; i < call->count; i++) {
        const struct block_move *block = &call->blocks[i];
        uint64_t room_ns = sc_transfer(call->timing, SC_ENGINE_COPY_OUT, &call->order, call->at_ns,
                                       block->evicted_bytes, call->factor, &start_ns);
        work_on_pages(call, block);
        last_ns = sc_later(last_ns, sc_transfer(call->timing, SC_ENGINE_COPY_IN, &call->order,
                                                sc_later(call->at_ns, room_ns), block->in_bytes, call->factor,
                                                &start_ns));
    }
    call->at_ns = sc_later(call->at_ns, last_ns);
}

/* When a thread can begin a call that is ready at `ready_ns`: not while advice waits or is given. */
static uint64_t may_begin(const struct sc_moves *moves, uint64_t ready_ns)
{
    bool meanwhile = ready_ns >= moves->advice.begin_ns && ready_ns < moves->advice.end_ns;
    return meanwhile ? moves->advice.end_ns : ready_ns;
}

/* At least so long the call takes. */
static uint64_t least_ns(const struct sc_timing *timing, const struct sc_work *work)
{
    const struct sc_driver_costs *costs = &timing->machine.driver;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < work->span_count; i++) {
        const struct sc_span *span = &work->spans[i];
        if (work->kind != SC_WORK_PREFETCH) sum += part(costs->discard_ns, span->bytes);
        if (work->kind == SC_WORK_PREFETCH && span->to == SC_HOST) sum += part(costs->map_ns, span->bytes);
        if (work->kind == SC_WORK_PREFETCH && span->to != SC_HOST)
            sum += (uint64_t)((double)span->bytes / timing->machine.link_in_bytes_per_ns);
    }
    return sum;
}

void sc_moves_place(struct sc_timing *timing, const struct sc_work *work, struct sc_placed *out)
{
    struct sc_moves *moves = work->moves;
    const struct sc_driver_costs *costs = &timing->machine.driver;
    struct call call = {.timing = timing, .factor = costs->page_factor};
    uint64_t ready_ns = work->ready_ns;
    if (work->is_deferred) ready_ns = sc_timeline_gap(&moves->worker, ready_ns, least_ns(timing, work));
    call.at_ns = out->start_ns = may_begin(moves, ready_ns);
    for (uint64_t i = 0; i < work->span_count; i++) {
        call.at_ns += apply_span(&call, work->kind, &work->spans[i], &out->effect) * costs->discard_ns;
        if (work->spans[i].to == SC_HOST)
            run_outward(&call);
        else
            run_inward(&call);
    }
    free(call.blocks);
    out->end_ns = call.at_ns;
    if (work->is_deferred) sc_timeline_book(&moves->worker, out->start_ns, out->end_ns, 0);
    moves->calls[moves->call_count++ % SC_CALLS] = (struct sc_call){out->start_ns, out->end_ns};
}

uint64_t sc_moves_wait(struct sc_moves *moves, uint64_t at_ns)
{
    uint64_t begin_ns = at_ns;
    uint64_t known = moves->call_count < SC_CALLS ? moves->call_count : SC_CALLS;
    for (uint64_t i = 0; i < known; i++)
        if (moves->calls[i].begin_ns <= at_ns) begin_ns = sc_later(begin_ns, moves->calls[i].end_ns);
    if (begin_ns > at_ns) moves->advice = (struct sc_call){at_ns, begin_ns};
    return begin_ns;
}

void sc_moves_destroy(struct sc_moves *moves)
{
    sc_timeline_destroy(&moves->worker);
    memset(moves, 0, sizeof *moves);
}
