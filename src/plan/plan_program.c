#include "plan/plan_program.h"

#include <stdlib.h>

enum {
    BLOCKS = 256,       /* blocks of about equal time, into which launches are combined */
    MOST_BLOCKS = 1024, /* the most, with those added because a block's chunks are limited */
    LEAST_PARTS = 4,    /* a block's chunks may exceed 1/4 of the budget only if one launch alone does */
    MOST_ACCESSES = 1 << 18,
    SPARE_CHUNKS = 1, /* chunks of room that whole chunks need, and fractions do not */
};
/* Cost of a copy that nothing waits for, relative to the wait for one: chunks that need not be evicted
 * stay. */
#define COPY_COST 1e-3
/* Cost of a copy beyond the bound: it must save more than a quarter of its time on the link. */
#define MORE_COST 0.25
/* The largest random cost of evicting a chunk, as a part of its copy's time. It breaks ties, so that of
 * equivalent chunks some are evicted whole instead of a part of each. */
#define TIE_COST 0.05

/* --- blocks of launches */

/* `seen`: by chunk, the last block that uses it. */
static uint32_t divide_into_blocks(struct sl_program *p, const struct sl_plan_input *in,
                                   const double *launch_ns, uint32_t *seen)
{
    double total_ns = 0, ns = 0;
    uint64_t used = 0;
    uint32_t block = 0;
    for (size_t t = 0; t < p->uses.period; t++) total_ns += launch_ns[t];
    for (uint32_t c = 0; c < p->uses.chunk_count; c++) seen[c] = SL_NONE;
    for (uint32_t t = 0; t < p->uses.period; t++) {
        const struct sl_plan_launch *l = &in->launches[t];
        uint64_t more = 0;
        for (uint32_t k = 0; k < l->access_count; k++) {
            sl_chunk c = in->accesses[l->first_access + k].chunk;
            if (seen[c] != block) more += in->chunk_bytes[c];
        }
        bool full = ns + launch_ns[t] > total_ns / BLOCKS || used + more > in->budget_bytes / LEAST_PARTS;
        if (t && full) {
            block++;
            ns = 0;
            used = 0;
        }
        for (uint32_t k = 0; k < l->access_count; k++) {
            sl_chunk c = in->accesses[l->first_access + k].chunk;
            if (seen[c] != block) used += in->chunk_bytes[c];
            seen[c] = block;
        }
        if (used > in->budget_bytes) return 0;
        ns += launch_ns[t];
        p->block_of[t] = block;
    }
    return block + 1;
}

static void add_blocks(struct sl_program *p, const double *launch_ns, double out_cost, double size)
{
    struct sl_linear *l = p->linear;
    for (size_t t = 0; t < p->uses.period; t++) p->blocks[p->block_of[t]].ns += launch_ns[t];
    for (uint32_t i = 0; i < p->block_count; i++) {
        struct sl_block *b = &p->blocks[i];
        double run = b->ns / p->unit_ns, longest = size * (1 + out_cost);
        uint32_t *states[] = {&b->away, &b->leaving_before, &b->leaving_behind, &b->early_before,
                              &b->early_behind};
        for (size_t k = 0; k < sizeof states / sizeof *states; k++)
            *states[k] = sl_linear_variable(l, size, 0);
        b->wait = sl_linear_variable(l, longest, 1);
        b->in_wait = sl_linear_variable(l, longest, COPY_COST);
        b->out_wait = sl_linear_variable(l, longest, COPY_COST);
        b->in_run = sl_linear_variable(l, run, COPY_COST);
        b->out_run = sl_linear_variable(l, run / out_cost, COPY_COST);
    }
}

static void add_terms(struct sl_linear *l, uint32_t row, const uint32_t *plus, const uint32_t *minus)
{
    for (; *plus != SL_NONE; plus++) sl_linear_term(l, row, *plus, 1);
    for (; *minus != SL_NONE; minus++) sl_linear_term(l, row, *minus, -1);
}

#define VARIABLES(...) ((const uint32_t[]){__VA_ARGS__, SL_NONE})

/* Amounts that are away, not copied out yet, or fetched early, from one block to the next. */
static void add_balance(struct sl_program *p)
{
    struct sl_linear *l = p->linear;
    for (uint32_t i = 0; i < p->block_count; i++) {
        struct sl_block *b = &p->blocks[i], *before = &p->blocks[(i + p->block_count - 1) % p->block_count];
        add_terms(l, sl_linear_row(l, true, 0), VARIABLES(b->leaving_behind, b->out_run),
                  VARIABLES(b->leaving_before));
        add_terms(l, sl_linear_row(l, true, 0), VARIABLES(b->early_behind),
                  VARIABLES(b->early_before, b->in_run));
        b->away_row = sl_linear_row(l, true, 0);
        b->leaving_row = sl_linear_row(l, true, 0);
        b->early_row = sl_linear_row(l, true, 0);
        if (p->block_count > 1) add_terms(l, b->away_row, VARIABLES(b->away), VARIABLES(before->away));
        add_terms(l, b->leaving_row, VARIABLES(b->leaving_before, b->out_wait),
                  VARIABLES(before->leaving_behind));
        add_terms(l, b->early_row, VARIABLES(b->early_before), VARIABLES(before->early_behind, b->in_wait));
    }
    p->away_first_row = sl_linear_row(l, true, 0);
    sl_linear_term(l, p->away_first_row, p->blocks[0].away, 1);
}

/* Precondition: all gaps have been added, so `live` is known. */
static void add_limits(struct sl_program *p, double room, double out_cost, double most_copies)
{
    struct sl_linear *l = p->linear;
    uint32_t copies = sl_linear_row(l, false, most_copies);
    p->more = sl_linear_variable(l, most_copies, MORE_COST);
    sl_linear_term(l, copies, p->more, -1);
    for (uint32_t i = 0; i < p->block_count; i++) {
        const struct sl_block *b = &p->blocks[i];
        double room_left = room < b->live ? room - b->live : 0; /* no more can be away than is alive */
        add_terms(l, sl_linear_row(l, false, room_left), VARIABLES(b->leaving_before, b->early_before),
                  VARIABLES(b->away));
        add_terms(l, sl_linear_row(l, false, room_left), VARIABLES(b->leaving_behind, b->early_behind),
                  VARIABLES(b->away));
        add_terms(l, sl_linear_row(l, false, 0), VARIABLES(b->in_wait), VARIABLES(b->wait));
        uint32_t out = sl_linear_row(l, false, 0);
        sl_linear_term(l, out, b->out_wait, out_cost);
        sl_linear_term(l, out, b->wait, -1);
        add_terms(l, copies, VARIABLES(b->in_wait, b->in_run, b->out_wait, b->out_run), VARIABLES(SL_NONE));
    }
}

/* --- gaps */

/* The amount is away for `inside` blocks from `begin` on, around the period's end. */
static void add_to_balance(struct sl_program *p, uint32_t leaves, uint32_t begin, uint32_t inside,
                           bool comes_back)
{
    struct sl_linear *l = p->linear;
    uint32_t end = (begin + inside) % p->block_count;
    sl_linear_term(l, p->blocks[begin].away_row, leaves, -1);
    sl_linear_term(l, p->blocks[end].away_row, leaves, 1);
    if (comes_back) sl_linear_term(l, p->blocks[end].early_row, leaves, 1);
    bool first = begin == 0 || begin + inside > p->block_count;
    if (first) sl_linear_term(l, p->away_first_row, leaves, -1);
    sl_linear_term(l, p->blocks[begin].leaving_row, leaves, -1);
}

/* `size`: of all chunks with the same events. `cost`: of evicting one unit. */
static void add_gap(struct sl_program *p, double size, double cost, const struct sl_chunk_event *from,
                    const struct sl_chunk_event *to)
{
    uint32_t begin = p->block_of[from->launch], end = p->block_of[to->launch], count = p->block_count;
    bool comes_back = to->kind != SL_EVENT_DEATH,
         round = comes_back ? to->launch <= from->launch : to->launch < from->launch;
    int64_t inside = (int64_t)end + (round ? count : 0) - begin - (comes_back ? 1 : 0);
    if (inside <= 0) return;
    if (inside >= count) inside = count - 1;
    uint32_t leaves = sl_linear_variable(p->linear, size, cost);
    p->leaves[from->access] = leaves;
    add_to_balance(p, leaves, (begin + 1) % count, (uint32_t)inside, comes_back);
}

/* The chunks are alive from the block of `from` to the block of `to`. */
static void add_life(struct sl_program *p, const struct sl_chunk_event *from, const struct sl_chunk_event *to,
                     double size)
{
    uint32_t begin = p->block_of[from->launch], end = p->block_of[to->launch];
    uint32_t blocks = (end + p->block_count - begin) % p->block_count + 1;
    if (to->launch < from->launch && begin == end) blocks = p->block_count;
    for (uint32_t i = 0; i < blocks; i++) p->blocks[(begin + i) % p->block_count].live += size;
}

/* The index of the first use in a life. */
static uint32_t find_first_event(const struct sl_chunk_event *events, uint32_t count, bool *dies)
{
    uint32_t first = 0;
    *dies = false;
    for (uint32_t i = 0; i < count; i++) {
        if (events[i].kind != SL_EVENT_DEATH) continue;
        first = i + 1;
        *dies = true;
    }
    return first % count;
}

static void add_chunks(struct sl_program *p, sl_chunk chunk, double size)
{
    const struct sl_chunk_event *events = p->uses.events + p->uses.first_event[chunk];
    uint32_t count = p->uses.first_event[chunk + 1] - p->uses.first_event[chunk];
    bool dies, is_used = false;
    for (uint32_t i = 0; i < count; i++) is_used |= events[i].kind != SL_EVENT_DEATH;
    if (!is_used) return;
    uint32_t first = find_first_event(events, count, &dies);
    double cost = TIE_COST * (double)(chunk * UINT32_C(2654435761) >> 8) / (1 << 24);
    const struct sl_chunk_event *birth = NULL, *last = NULL;
    for (uint32_t i = 0; i < count + !dies; i++) {
        const struct sl_chunk_event *event = &events[(first + i) % count];
        if (last) add_gap(p, size, cost, last, event);
        if (event->kind == SL_EVENT_DEATH) {
            if (birth) add_life(p, birth, event, size);
            birth = last = NULL;
            continue;
        }
        if (!birth) birth = event;
        last = event;
    }
    for (uint32_t i = 0; i < p->block_count && !dies; i++) p->blocks[i].live += size;
}

/* --- the whole */

static bool reserve(struct sl_program *p)
{
    size_t accesses = p->uses.access_count, chunks = p->uses.chunk_count;
    p->linear = sl_linear_new();
    p->leaves = malloc((accesses + 1) * sizeof *p->leaves);
    p->units = malloc((chunks + 1) * sizeof *p->units);
    p->block_of = malloc(p->uses.period * sizeof *p->block_of);
    if (!p->linear || !p->leaves || !p->units || !p->block_of) return false;
    for (size_t a = 0; a < accesses; a++) p->leaves[a] = SL_NONE;
    return true;
}

static bool make_blocks(struct sl_program *p, const struct sl_plan_input *in, const double *launch_ns)
{
    uint32_t *seen = malloc((p->uses.chunk_count + 1) * sizeof *seen);
    p->block_count = seen ? divide_into_blocks(p, in, launch_ns, seen) : 0;
    free(seen);
    if (!p->block_count || p->block_count > MOST_BLOCKS) return false;
    p->blocks = calloc(p->block_count, sizeof *p->blocks);
    return p->blocks;
}

/* Returns the size of all chunks in units. */
static double measure_chunks(struct sl_program *p, const struct sl_plan_input *in)
{
    double all = 0;
    for (uint32_t c = 0; c < p->uses.chunk_count; c++)
        if (p->unit_bytes < (double)in->chunk_bytes[c]) p->unit_bytes = (double)in->chunk_bytes[c];
    for (uint32_t c = 0; c < p->uses.chunk_count; c++) {
        p->units[c] = (double)in->chunk_bytes[c] / p->unit_bytes;
        all += p->units[c];
    }
    p->unit_ns = p->unit_bytes / (double)in->in_bytes_per_s * 1e9;
    return all;
}

static bool build(struct sl_program *p, const struct sl_plan_input *in, const double *launch_ns,
                  double most_bytes)
{
    double out_cost = (double)in->in_bytes_per_s / (double)in->out_bytes_per_s, all = measure_chunks(p, in);
    if (!make_blocks(p, in, launch_ns)) return false;
    add_blocks(p, launch_ns, out_cost, all);
    add_balance(p);
    for (uint32_t i = 0; i < p->uses.chunk_count; i++) {
        sl_chunk chunk = p->uses.order[i];
        if (p->uses.rank_of[chunk] == 0)
            add_chunks(p, chunk, (double)p->uses.alike_count[chunk] * p->units[chunk]);
    }
    double room = (double)in->budget_bytes / p->unit_bytes - SPARE_CHUNKS;
    add_limits(p, room, out_cost, most_bytes / p->unit_bytes);
    return sl_linear_close(p->linear) == SL_OK;
}

enum sl_status sl_program_make(const struct sl_plan_input *in, const double *launch_ns, size_t period,
                               double most_bytes, struct sl_program *out)
{
    struct sl_program p = {0};
    enum sl_status status = sl_uses_make(in, period, MOST_ACCESSES, &p.uses);
    if (status) return status;
    if (reserve(&p) && build(&p, in, launch_ns, most_bytes)) {
        *out = p;
        return SL_OK;
    }
    sl_program_free(&p);
    return SL_ERR_UNSUPPORTED;
}

void sl_program_free(struct sl_program *p)
{
    sl_linear_delete(p->linear);
    sl_uses_free(&p->uses);
    free(p->leaves);
    free(p->units);
    free(p->block_of);
    free(p->blocks);
    *p = (struct sl_program){0};
}

double sl_program_wait_ns(const struct sl_program *p)
{
    double wait = 0;
    for (uint32_t i = 0; i < p->block_count; i++) wait += sl_linear_value(p->linear, p->blocks[i].wait);
    return wait * p->unit_ns;
}
