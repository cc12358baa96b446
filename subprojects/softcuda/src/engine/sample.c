#include "foretell.h"

#include <stdlib.h>
#include <string.h>

#include "module.h"
#include "worker.h"

/* Blocks are chosen by the golden section, so that they do not all hit the same part of what repeats within
 * the grid. */
#define GOLDEN 0.6180339887498949

bool sc_sample_may(const struct sc_launch *launch)
{
    const struct sc_program *program = launch->function->program;
    uint64_t blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    bool ordered = program->ordered && (program->polls || !program->computes);
    return launch->sample_over && blocks > launch->sample_over && !launch->cooperative && !launch->touches &&
           !launch->accesses && !ordered && !program->heap;
}

static uint64_t index_of(const struct sc_sample *sample, uint64_t x, uint64_t y, uint64_t z)
{
    const uint32_t *grid = sample->launch->grid;
    return x + grid[0] * (y + grid[1] * z);
}

/* Wants the block for a role unless another has it. */
static void want(struct sc_sample *sample, uint32_t role, uint64_t block)
{
    if (!sc_sample_has(sample, block)) sample->block[role] = block;
}

struct sc_sample *sc_sample_new(const struct sc_launch *launch)
{
    const uint32_t *grid = launch->grid;
    struct sc_sample *sample = calloc(1, sizeof *sample);
    if (!sample) return NULL;
    sample->launch = launch;
    sample->blocks = (uint64_t)grid[0] * grid[1] * grid[2];
    sample->slot_of = calloc(launch->function->program->op_count + 1, sizeof *sample->slot_of);
    if (!sample->slot_of) {
        free(sample);
        return NULL;
    }
    for (uint32_t b = 0; b < SC_MOST_EXECUTED; b++) sample->block[b] = UINT64_MAX;
    want(sample, SC_BASE, 0);
    if (grid[0] > 1) want(sample, SC_MIDDLE_X, index_of(sample, grid[0] / 2, 0, 0));
    if (grid[1] > 1) want(sample, SC_MIDDLE_Y, index_of(sample, 0, grid[1] / 2, 0));
    if (grid[2] > 1) want(sample, SC_MIDDLE_Z, index_of(sample, 0, 0, grid[2] / 2));
    want(sample, SC_LAST, sample->blocks - 1);
    want(sample, SC_OTHER, index_of(sample, grid[0] / 3, grid[1] / 3, grid[2] / 3));
    if (sample->block[SC_OTHER] == UINT64_MAX) want(sample, SC_OTHER, sample->blocks / 3);
    sample->end = SC_LAST_X;
    return sample;
}

void sc_sample_free(struct sc_sample *sample)
{
    if (!sample) return;
    free(sample->slot_of);
    free(sample->slots);
    free(sample);
}

bool sc_sample_has(const struct sc_sample *sample, uint64_t block)
{
    for (uint32_t r = 0; r < sample->end || r < SC_FIRST_SPREAD; r++)
        if (sample->block[r] == block) return true;
    return false;
}

uint64_t sc_sample_count(const struct sc_sample *sample)
{
    uint64_t count = 0;
    for (uint32_t r = 0; r < sample->end; r++) count += sc_is_first_of_block(sample, r);
    return count;
}

/* --- while a block is executed */

void sc_sample_enter(struct sc_sample *sample, uint32_t op, const struct sc_worker *worker)
{
    sample->op = op;
    sample->read_before = worker->bytes_read;
    sample->written_before = worker->bytes_written;
}

/* What the instruction does in the block. NULL: no memory. */
static struct sc_footprint *footprint(struct sc_sample *sample)
{
    uint32_t *slot = &sample->slot_of[sample->op];
    if (!*slot) {
        if (sample->slot_count == sample->slot_capacity) {
            uint32_t capacity = sample->slot_capacity ? 2 * sample->slot_capacity : 32;
            void *larger = realloc(sample->slots, capacity * sizeof *sample->slots);
            sample->no_memory |= !larger;
            if (!larger) return NULL;
            sample->slots = larger;
            sample->slot_capacity = capacity;
        }
        memset(sample->slots[sample->slot_count], 0, sizeof *sample->slots);
        *slot = ++sample->slot_count;
    }
    return &sample->slots[*slot - 1][sample->role];
}

/* Memory of the block itself, to which generic addresses may lead, is no device memory. */
static bool is_own(const struct sc_sample *sample, uint64_t address)
{
    struct sc_range range;
    const struct sc_address_space *space = sample->launch->space;
    return !space->find(space->context, address, &range);
}

void sc_sample_note(struct sc_sample *sample, uint64_t address, uint64_t bytes)
{
    struct sc_footprint *at = footprint(sample);
    if (!at || !bytes) return;
    bool inside = at->end && address >= at->begin && address + bytes <= at->end;
    if (!inside && is_own(sample, address)) return;
    if (!at->end || address < at->begin) at->begin = address;
    if (address + bytes > at->end) at->end = address + bytes;
    uint64_t first = address >> SC_TRAFFIC_SHIFT, last = (address + bytes - 1) >> SC_TRAFFIC_SHIFT;
    for (uint64_t b = first; b <= last && b < first + 64; b++) at->seen |= UINT64_C(1) << (b & 63);
}

void sc_sample_leave(struct sc_sample *sample, const struct sc_worker *worker)
{
    uint64_t read = worker->bytes_read - sample->read_before,
             written = worker->bytes_written - sample->written_before;
    struct sc_footprint *at = read || written ? footprint(sample) : NULL;
    if (!at) return;
    at->bytes[0] += read;
    at->bytes[1] += written;
}

/* Wants the last blocks of each dimension, in the middle of the others: which of them are cut short? */
static bool want_edges(struct sc_sample *sample)
{
    const uint32_t *grid = sample->launch->grid;
    int dimensions = (grid[0] > 1) + (grid[1] > 1) + (grid[2] > 1);
    if (dimensions < 2 || sc_count_as_foretold(sample, SC_LAST)) return false;
    for (int d = 0; d < 3; d++) {
        uint64_t at[3];
        for (int e = 0; e < 3; e++) at[e] = e == d ? grid[e] - 1 : grid[e] / 2;
        if (grid[d] > 1) sample->block[SC_LAST_X + d] = index_of(sample, at[0], at[1], at[2]);
    }
    sample->end = SC_LAST_Z + 1;
    return true;
}

static bool want_spread(struct sc_sample *sample)
{
    if (sample->blocks < 4 * SC_SPREAD ||
        (sc_count_as_foretold(sample, SC_OTHER) && sc_lie_as_foretold(sample)))
        return false;
    double golden = 0;
    for (uint32_t i = 0; i < SC_SPREAD; i++) {
        golden += GOLDEN;
        golden -= (double)(uint32_t)golden;
        sample->block[SC_FIRST_SPREAD + i] = (uint64_t)((i + golden) / SC_SPREAD * (double)sample->blocks);
    }
    sample->end = SC_FIRST_SPREAD + SC_SPREAD;
    sample->spread = true;
    return true;
}

/* Parts a grid of one dimension between the blocks that were executed. */
static bool begin_pieces(struct sc_sample *sample)
{
    const uint32_t *grid = sample->launch->grid;
    uint32_t roles[SC_FIRST_OF_PIECES], count = 0;
    if (grid[1] > 1 || grid[2] > 1 || sample->blocks < SC_SPREAD) return false;
    for (uint32_t r = 0; r < sample->end; r++) {
        if (!sc_is_first_of_block(sample, r)) continue;
        uint32_t at = count++;
        for (; at > 0 && sample->block[roles[at - 1]] > sample->block[r]; at--) roles[at] = roles[at - 1];
        roles[at] = r;
    }
    for (uint32_t i = 0; i + 1 < count; i++)
        sample->open[sample->open_count++] = (struct sc_piece){roles[i], roles[i + 1]};
    sample->end = SC_FIRST_OF_PIECES;
    sample->spread = false;
    return sample->in_pieces = true;
}

/* A block inside a piece was executed: is the piece linear? */
static void divide(struct sc_sample *sample)
{
    struct sc_piece halves[] = {{sample->divided.first, sample->role}, {sample->role, sample->divided.last}};
    bool linear = sc_lies_between(sample, &sample->divided, sample->role);
    for (int h = 0; h < 2; h++)
        if (linear)
            sample->linear[sample->linear_count++] = halves[h];
        else
            sample->open[sample->open_count++] = halves[h];
}

/* Wants a block inside the next piece that is not known to be linear. False: all are, or too many blocks were
 * executed. */
static bool want_inside(struct sc_sample *sample)
{
    uint64_t most = sample->blocks / 2 < SC_MOST_EXECUTED ? sample->blocks / 2 : SC_MOST_EXECUTED;
    while (sample->open_count) {
        struct sc_piece piece = sample->open[sample->open_count - 1];
        uint64_t first = sample->block[piece.first], last = sample->block[piece.last];
        if (last - first > 1 && (sample->end == SC_MOST_EXECUTED || sc_sample_count(sample) >= most))
            return false;
        sample->open_count--;
        if (last - first < 2) continue;
        sample->divided = piece;
        sample->block[sample->end++] = first + 1 + (uint64_t)((double)(last - first - 1) * GOLDEN);
        return true;
    }
    return false;
}

/* What was executed for an earlier role counts for this one, too. */
static void copy_role(struct sc_sample *sample, uint32_t from, uint32_t to)
{
    sample->counters[to] = sample->counters[from];
    for (uint32_t s = 0; s < sample->slot_count; s++) sample->slots[s][to] = sample->slots[s][from];
}

/* Goes on to the next role whose block has to be executed. False: there is none. */
static bool find_role(struct sc_sample *sample)
{
    for (; sample->role < sample->end; sample->role++) {
        if (!sc_is_executed(sample, sample->role)) continue;
        uint32_t same = sc_same_block(sample, sample->role);
        if (same == sample->role) return true;
        copy_role(sample, same, sample->role);
    }
    return false;
}

/* More blocks are wanted after those that are always executed. */
static bool want_more(struct sc_sample *sample)
{
    if (sample->in_pieces) return want_inside(sample);
    if (!sample->judged) {
        sample->judged = true;
        if (want_spread(sample) || want_edges(sample)) return true;
    }
    sample->fits = sc_lie_as_foretold(sample) && (sample->spread || sc_count_as_foretold(sample, SC_OTHER));
    return !sample->fits && begin_pieces(sample) && want_inside(sample);
}

bool sc_sample_next(struct sc_sample *sample, const struct sc_worker *worker, uint64_t *block)
{
    if (sample->begun) {
        struct sc_counters *counters = &sample->counters[sample->role];
        *counters = (struct sc_counters){worker->instructions - sample->before.instructions,
                                         worker->flops - sample->before.flops};
        if (sample->in_pieces) divide(sample);
        sample->role++;
    }
    sample->begun = true;
    while (!find_role(sample))
        if (!want_more(sample)) {
            if (sample->in_pieces) sample->fits = !sample->open_count;
            sample->fits = sample->fits && !sample->no_memory &&
                           sc_instructions_foretold(sample) > sample->launch->sample_instructions;
            return false;
        }
    sample->before = (struct sc_counters){worker->instructions, worker->flops};
    *block = sample->block[sample->role];
    return true;
}

bool sc_sample_fits(const struct sc_sample *sample)
{
    return sample->fits;
}

#define SCRAP_LEAST 8192 /* bytes of a piece; each costs a call of the system */
#define SCRAP_PART 4     /* of the piece was written, at least: other memory may lie in between */

void sc_sample_scrap(const struct sc_sample *sample)
{
    void (*scrap)(uint64_t, uint64_t) = sample->launch->scrap;
    for (uint32_t s = 0; scrap && s < sample->slot_count; s++)
        for (uint32_t r = 0; r < sample->end; r++) {
            const struct sc_footprint *at = &sample->slots[s][r];
            uint64_t bytes = at->end - at->begin;
            if (sc_is_first_of_block(sample, r) && bytes >= SCRAP_LEAST && at->bytes[1] >= bytes / SCRAP_PART)
                scrap(at->begin, bytes);
        }
}
