#include "plan_relax.h"

#include <stdlib.h>

#include "linear.h"
#include "plan_internal.h"
#include "plan_uses.h"

enum {
    BLOCKS = 256,       /* of about the same time, into which launches are put together, */
    MOST_BLOCKS = 1024, /* where not those of large ones, by whose number their room is limited */
    LEAST_PARTS = 4,    /* of the budget, that the chunks of a block exceed only if one launch does */
    MOST_ACCESSES = 1 << 18,
    MOST_ITERATIONS = 40000, /* by then it is solved, or nearly */
    SPARE_CHUNKS = 1,        /* of room that whole chunks need, and parts do not */
};
/* Of a copy that makes nobody wait, against one that does: what need not leave stays. */
#define COPY_COST 1e-3
/* Of one beyond the fewest: it has to save more than a quarter of the time that it takes on the link. */
#define MORE_COST 0.25
/* Of a copy's time, at most, that each chunk's leaving costs by chance: of those that could leave in each
 * other's stead whole ones do, instead of a part of each. */
#define TIE_COST 0.05
#define LEAST_MORE 0.05 /* of the period that they take on the link, or they are not worth it */
#define STEPS_FOR_ATTEMPT ((size_t)1 << 20) /* of a coefficient each */
#define NEARLY 0.05                         /* as long, as fast, as many: the same */
#define MAY_LEAVE 0.05
#define LEAVES 0.5

/* Chunks that are used alike count as one. A gap: what lies between two uses of theirs, or a use and their
 * death. */
struct gap {
    uint32_t clean, dirty; /* variables, how many of them leave as which; SL_NONE */
};

/* Variables of a block: before it, a time of waiting in which copies go over the link, then its launches'
 * run. */
struct block {
    uint32_t away, leaving_before, leaving_behind, early_before, early_behind;
    uint32_t wait, in_wait, in_run, out_wait, out_run;
    /* Rows: */
    uint32_t away_row, leaving_row, early_row; /* from the block before it to this one */
    double ns, live;
};

/* What it was made for, beside the launches. */
struct terms_of_trade {
    double run_ns, in_per_s, out_per_s, most_bytes;
};

struct sl_relaxation {
    struct sl_linear *linear;
    size_t iterations;
    struct sl_uses uses;
    struct terms_of_trade terms;
    struct gap *gaps; /* by access: the gap behind it, of all chunks used alike */
    double *units;    /* by chunk: its bytes */
    uint32_t block_count;
    uint32_t *block_of; /* by launch */
    struct block *blocks;
    uint32_t away_first_row, more; /* a row; a variable: copies beyond the fewest */
    double unit_bytes, unit_ns;    /* of the largest chunk, and of its copy in */
    uint8_t *by_access, *by_chunk;
    struct sl_guide guide;
};

void sl_relaxation_delete(struct sl_relaxation *r)
{
    if (!r) return;
    sl_linear_delete(r->linear);
    sl_uses_free(&r->uses);
    free(r->gaps);
    free(r->units);
    free(r->block_of);
    free(r->blocks);
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
    if (!sl_uses_fit(&r->uses, in)) return false;
    struct terms_of_trade now = terms_of(in, launch_ns, r->uses.period, most_bytes), then = r->terms;
    return is_near(now.run_ns, then.run_ns) && is_near(now.in_per_s, then.in_per_s) &&
           is_near(now.out_per_s, then.out_per_s) && is_near(now.most_bytes, then.most_bytes);
}

/* --- blocks of launches */

/* `seen`: for each chunk, in which block it was used last. */
static uint32_t divide_into_blocks(struct sl_relaxation *r, const struct sl_plan_input *in,
                                   const double *launch_ns, uint32_t *seen)
{
    double total_ns = 0, ns = 0;
    uint64_t used = 0;
    uint32_t block = 0;
    for (size_t t = 0; t < r->uses.period; t++) total_ns += launch_ns[t];
    for (uint32_t c = 0; c < r->uses.chunk_count; c++) seen[c] = SL_NONE;
    for (uint32_t t = 0; t < r->uses.period; t++) {
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
        r->block_of[t] = block;
    }
    return block + 1;
}

static void add_blocks(struct sl_relaxation *r, const double *launch_ns, double out_cost, double size)
{
    struct sl_linear *l = r->linear;
    for (size_t t = 0; t < r->uses.period; t++) r->blocks[r->block_of[t]].ns += launch_ns[t];
    for (uint32_t i = 0; i < r->block_count; i++) {
        struct block *b = &r->blocks[i];
        double run = b->ns / r->unit_ns, longest = size * (1 + out_cost);
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

/* What is not at once before or behind its place: amounts by block, from one to the next. */
static void add_balance(struct sl_relaxation *r)
{
    struct sl_linear *l = r->linear;
    for (uint32_t i = 0; i < r->block_count; i++) {
        struct block *b = &r->blocks[i], *before = &r->blocks[(i + r->block_count - 1) % r->block_count];
        add_terms(l, sl_linear_row(l, true, 0), VARIABLES(b->leaving_behind, b->out_run),
                  VARIABLES(b->leaving_before));
        add_terms(l, sl_linear_row(l, true, 0), VARIABLES(b->early_behind),
                  VARIABLES(b->early_before, b->in_run));
        b->away_row = sl_linear_row(l, true, 0);
        b->leaving_row = sl_linear_row(l, true, 0);
        b->early_row = sl_linear_row(l, true, 0);
        if (r->block_count > 1) add_terms(l, b->away_row, VARIABLES(b->away), VARIABLES(before->away));
        add_terms(l, b->leaving_row, VARIABLES(b->leaving_before, b->out_wait),
                  VARIABLES(before->leaving_behind));
        add_terms(l, b->early_row, VARIABLES(b->early_before), VARIABLES(before->early_behind, b->in_wait));
    }
    r->away_first_row = sl_linear_row(l, true, 0);
    sl_linear_term(l, r->away_first_row, r->blocks[0].away, 1);
}

/* `live` is known when all gaps have been added. */
static void add_limits(struct sl_relaxation *r, double room, double out_cost, double most_copies)
{
    struct sl_linear *l = r->linear;
    uint32_t copies = sl_linear_row(l, false, most_copies);
    r->more = sl_linear_variable(l, most_copies, MORE_COST);
    sl_linear_term(l, copies, r->more, -1);
    for (uint32_t i = 0; i < r->block_count; i++) {
        const struct block *b = &r->blocks[i];
        double room_left = room < b->live ? room - b->live : 0; /* and no more is away than lives */
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

struct chain {
    double size;     /* of all that are used alike */
    double cost;     /* of leaving, of each unit */
    uint32_t copied; /* a variable: of how much a copy is held in host memory; SL_NONE: of nothing, */
    bool all;        /* unless of all */
};

static void add_variable_to(struct sl_linear *l, uint32_t row, uint32_t variable, double by)
{
    if (variable != SL_NONE) sl_linear_term(l, row, variable, by);
}

/* Away in so many blocks, from `begin` on, round the end. */
static void add_to_balance(struct sl_relaxation *r, const struct gap *gap, uint32_t begin, uint32_t inside,
                           bool comes_back)
{
    struct sl_linear *l = r->linear;
    uint32_t end = (begin + inside) % r->block_count;
    const uint32_t variables[] = {gap->clean, gap->dirty};
    for (int i = 0; i < 2; i++) {
        add_variable_to(l, r->blocks[begin].away_row, variables[i], -1);
        add_variable_to(l, r->blocks[end].away_row, variables[i], 1);
        if (comes_back) add_variable_to(l, r->blocks[end].early_row, variables[i], 1);
        bool first = begin == 0 || begin + inside > r->block_count;
        if (first) add_variable_to(l, r->away_first_row, variables[i], -1);
    }
    add_variable_to(l, r->blocks[begin].leaving_row, gap->dirty, -1);
}

static void add_gap(struct sl_relaxation *r, struct chain *chain, const struct sl_event *from,
                    const struct sl_event *to)
{
    struct sl_linear *l = r->linear;
    uint32_t begin = r->block_of[from->launch], end = r->block_of[to->launch], count = r->block_count;
    bool comes_back = to->kind != SL_EVENT_DEATH,
         round = comes_back ? to->launch <= from->launch : to->launch < from->launch;
    int64_t inside = (int64_t)end + (round ? count : 0) - begin - (comes_back ? 1 : 0);
    struct gap gap = {SL_NONE, SL_NONE};
    if (from->kind == SL_EVENT_WRITE) *chain = (struct chain){chain->size, chain->cost, SL_NONE, false};
    if (inside <= 0) return;
    if (inside >= count) inside = count - 1;
    bool has_copy = chain->all || chain->copied != SL_NONE;
    if (has_copy) gap.clean = sl_linear_variable(l, chain->size, chain->cost);
    if (!chain->all) gap.dirty = sl_linear_variable(l, chain->size, chain->cost);
    if (chain->copied != SL_NONE) {
        uint32_t both = sl_linear_row(l, false, chain->size), held = sl_linear_row(l, false, 0);
        add_terms(l, both, VARIABLES(gap.clean, gap.dirty), VARIABLES(SL_NONE));
        add_terms(l, held, VARIABLES(gap.clean), VARIABLES(chain->copied));
        uint32_t more = sl_linear_variable(l, chain->size, 0), sum = sl_linear_row(l, true, 0);
        add_terms(l, sum, VARIABLES(more), VARIABLES(chain->copied, gap.dirty));
        chain->copied = more;
    } else if (!chain->all) {
        chain->copied = gap.dirty;
    }
    r->gaps[from->access] = gap;
    add_to_balance(r, &gap, (begin + 1) % count, (uint32_t)inside, comes_back);
}

/* Chunks live in the blocks from that of `from` to that of `to`; all the time where these are the same use.
 */
static void add_life(struct sl_relaxation *r, const struct sl_event *from, const struct sl_event *to,
                     double size)
{
    uint32_t begin = r->block_of[from->launch], end = r->block_of[to->launch];
    uint32_t blocks = (end + r->block_count - begin) % r->block_count + 1;
    if (to->launch < from->launch && begin == end) blocks = r->block_count;
    for (uint32_t i = 0; i < blocks; i++) r->blocks[(begin + i) % r->block_count].live += size;
}

/* The event to begin with: new content, or a write, as a life's first. */
static uint32_t find_beginning(const struct sl_event *events, uint32_t count, bool *dies)
{
    uint32_t first = 0;
    bool writes = false;
    *dies = false;
    for (uint32_t i = 0; i < count; i++) {
        if (events[i].kind == SL_EVENT_DEATH) first = i + 1;
        *dies |= events[i].kind == SL_EVENT_DEATH;
    }
    for (uint32_t i = 0; i < count && !*dies && !writes; i++) {
        writes = events[i].kind == SL_EVENT_WRITE;
        first = writes ? i : 0;
    }
    return first % count;
}

static void add_chunks(struct sl_relaxation *r, sl_chunk chunk, double size)
{
    const struct sl_event *events = r->uses.events + r->uses.first_event[chunk];
    uint32_t count = r->uses.first_event[chunk + 1] - r->uses.first_event[chunk];
    bool dies, is_used = false;
    for (uint32_t i = 0; i < count; i++) is_used |= events[i].kind != SL_EVENT_DEATH;
    if (!is_used) return;
    uint32_t first = find_beginning(events, count, &dies);
    double cost = TIE_COST * (double)(chunk * UINT32_C(2654435761) >> 8) / (1 << 24);
    struct chain chain = {size, cost, SL_NONE, !dies && events[first].kind == SL_EVENT_READ};
    const struct sl_event *birth = NULL, *last = NULL;
    for (uint32_t i = 0; i < count + !dies; i++) {
        struct sl_event event = events[(first + i) % count];
        if (last) add_gap(r, &chain, last, &event);
        if (event.kind == SL_EVENT_DEATH) {
            if (birth) add_life(r, birth, &event, size);
            birth = last = NULL;
            continue;
        }
        if (!birth) birth = &events[(first + i) % count];
        last = &events[(first + i) % count];
        if (dies && last == birth)
            chain = (struct chain){size, cost, SL_NONE, false}; /* new content has no copy */
    }
    for (uint32_t i = 0; i < r->block_count && !dies; i++) r->blocks[i].live += size;
}

/* --- the whole */

static bool reserve(struct sl_relaxation *r)
{
    size_t accesses = r->uses.access_count, chunks = r->uses.chunk_count;
    r->linear = sl_linear_new();
    r->gaps = malloc((accesses + 1) * sizeof *r->gaps);
    r->units = malloc((chunks + 1) * sizeof *r->units);
    r->block_of = malloc(r->uses.period * sizeof *r->block_of);
    r->by_access = calloc(accesses + chunks + 1, 1);
    if (!r->linear || !r->gaps || !r->units || !r->block_of || !r->by_access) return false;
    r->by_chunk = r->by_access + accesses;
    r->guide = (struct sl_guide){r->by_access, r->by_chunk, r->uses.access_count};
    for (size_t a = 0; a < accesses; a++) r->gaps[a] = (struct gap){SL_NONE, SL_NONE};
    return true;
}

static bool make_blocks(struct sl_relaxation *r, const struct sl_plan_input *in, const double *launch_ns)
{
    uint32_t *seen = malloc((r->uses.chunk_count + 1) * sizeof *seen);
    r->block_count = seen ? divide_into_blocks(r, in, launch_ns, seen) : 0;
    free(seen);
    if (!r->block_count || r->block_count > MOST_BLOCKS) return false;
    r->blocks = calloc(r->block_count, sizeof *r->blocks);
    return r->blocks;
}

/* Returns the bytes of all chunks, in units. */
static double measure_chunks(struct sl_relaxation *r, const struct sl_plan_input *in)
{
    double all = 0;
    for (uint32_t c = 0; c < r->uses.chunk_count; c++)
        if (r->unit_bytes < (double)in->chunk_bytes[c]) r->unit_bytes = (double)in->chunk_bytes[c];
    for (uint32_t c = 0; c < r->uses.chunk_count; c++) {
        r->units[c] = (double)in->chunk_bytes[c] / r->unit_bytes;
        all += r->units[c];
    }
    r->unit_ns = r->unit_bytes / (double)in->in_bytes_per_s * 1e9;
    return all;
}

static bool build(struct sl_relaxation *r, const struct sl_plan_input *in, const double *launch_ns)
{
    double out_cost = (double)in->in_bytes_per_s / (double)in->out_bytes_per_s, all = measure_chunks(r, in);
    if (!make_blocks(r, in, launch_ns)) return false;
    add_blocks(r, launch_ns, out_cost, all);
    add_balance(r);
    for (uint32_t i = 0; i < r->uses.chunk_count; i++) {
        sl_chunk chunk = r->uses.order[i];
        if (r->uses.rank_of[chunk] == 0)
            add_chunks(r, chunk, (double)r->uses.alike_count[chunk] * r->units[chunk]);
    }
    double room = (double)in->budget_bytes / r->unit_bytes - SPARE_CHUNKS;
    add_limits(r, room, out_cost, r->terms.most_bytes / r->unit_bytes);
    return sl_linear_close(r->linear) == SL_OK;
}

struct sl_relaxation *sl_relaxation_new(const struct sl_plan_input *in, const double *launch_ns,
                                        size_t period, double most_bytes)
{
    struct sl_uses uses;
    if (sl_uses_make(in, period, MOST_ACCESSES, &uses)) return NULL;
    struct sl_relaxation *r = calloc(1, sizeof *r);
    if (!r) {
        sl_uses_free(&uses);
        return NULL;
    }
    r->uses = uses;
    r->terms = terms_of(in, launch_ns, period, most_bytes);
    if (reserve(r) && build(r, in, launch_ns)) return r;
    sl_relaxation_delete(r);
    return NULL;
}

/* Of those used alike the first ones leave, so that the same ones do after each use. */
static enum sl_leaving leaving(const struct sl_relaxation *r, sl_chunk chunk, const struct gap *gap,
                               double unit)
{
    double amount = 0;
    if (gap->clean != SL_NONE) amount += sl_linear_value(r->linear, gap->clean);
    if (gap->dirty != SL_NONE) amount += sl_linear_value(r->linear, gap->dirty);
    double part = amount / unit - r->uses.rank_of[chunk];
    return part > LEAVES ? SL_LEAVES : part > MAY_LEAVE ? SL_MAY_LEAVE : SL_STAYS;
}

static void renew_guide(struct sl_relaxation *r)
{
    for (uint32_t first = 0; first < r->uses.chunk_count; first++) {
        sl_chunk chunk = r->uses.order[first], like = r->uses.order[first - r->uses.rank_of[chunk]];
        const struct sl_event *own = r->uses.events + r->uses.first_event[chunk],
                              *theirs = r->uses.events + r->uses.first_event[like];
        uint32_t count = r->uses.first_event[chunk + 1] - r->uses.first_event[chunk];
        r->by_chunk[chunk] = SL_STAYS;
        for (uint32_t e = 0; e < count; e++) {
            if (own[e].kind == SL_EVENT_DEATH) continue;
            r->by_access[own[e].access] =
                (uint8_t)leaving(r, chunk, &r->gaps[theirs[e].access], r->units[chunk]);
            r->by_chunk[chunk] = r->by_access[own[e].access];
        }
    }
}

bool sl_relaxation_is_solved(const struct sl_relaxation *r)
{
    return r->iterations >= MOST_ITERATIONS || sl_linear_is_solved(r->linear);
}

void sl_relaxation_improve(struct sl_relaxation *r, unsigned attempts)
{
    size_t iterations = attempts * STEPS_FOR_ATTEMPT / (sl_linear_size(r->linear) + 1) + 1;
    if (sl_relaxation_is_solved(r)) return;
    r->iterations += iterations;
    sl_linear_improve(r->linear, (unsigned)iterations);
    renew_guide(r);
}

const struct sl_guide *sl_relaxation_guide(const struct sl_relaxation *r)
{
    return &r->guide;
}

double sl_relaxation_more_bytes(const struct sl_relaxation *r)
{
    double more = sl_linear_value(r->linear, r->more);
    bool worth_it = more * r->unit_ns > LEAST_MORE * (r->terms.run_ns + sl_relaxation_wait_ns(r));
    return sl_relaxation_is_solved(r) && worth_it ? more * r->unit_bytes : 0;
}

double sl_relaxation_wait_ns(const struct sl_relaxation *r)
{
    double wait = 0;
    for (uint32_t i = 0; i < r->block_count; i++) wait += sl_linear_value(r->linear, r->blocks[i].wait);
    return wait * r->unit_ns;
}
