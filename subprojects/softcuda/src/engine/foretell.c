#include "foretell.h"

#include "worker.h"

#define COUNTER_PART 50    /* counters are affine if they differ by no more than one part in so many */
#define ADDRESS_PART 16    /* addresses, if by no more than one part in so many of what the grid spans */
#define ADDRESS_LEAST 4096 /* or by so many bytes */
#define TRAFFIC_BYTES (INT64_C(1) << SC_TRAFFIC_SHIFT)
#define MOST_PIECES (1 << 20) /* ranges that an instruction's traffic is counted in */

/* A function of a block, as the executed blocks have it: by role. */
struct values {
    double at[SC_MOST_EXECUTED];
};

static void coordinates(const struct sc_sample *sample, uint64_t block, double out[3])
{
    const uint32_t *grid = sample->launch->grid;
    out[0] = (double)(block % grid[0]);
    out[1] = (double)(block / grid[0] % grid[1]);
    out[2] = (double)(block / grid[0] / grid[1]);
}

/* By how much it grows from one block to the next in dimension `d`. */
static double slope(const struct sc_sample *sample, const struct values *values, int d)
{
    uint32_t middle = sample->launch->grid[d] / 2;
    return middle && sc_is_executed(sample, SC_MIDDLE_X + (uint32_t)d)
               ? (values->at[SC_MIDDLE_X + d] - values->at[SC_BASE]) / middle
               : 0;
}

/* Its affine continuation. */
static double predict(const struct sc_sample *sample, const struct values *values, const double at[3])
{
    double sum = values->at[SC_BASE];
    for (int d = 0; d < 3; d++) sum += slope(sample, values, d) * at[d];
    return sum;
}

static double deviation(const struct sc_sample *sample, const struct values *values, uint32_t role)
{
    double at[3];
    coordinates(sample, sample->block[role], at);
    return values->at[role] - predict(sample, values, at);
}

static double size_of(double value)
{
    return value < 0 ? -value : value;
}

/* Whether a counter of the block is what the others foretell, of which the largest has `largest`. */
static bool counts_as_foretold(const struct sc_sample *sample, const struct values *values, uint32_t role)
{
    double largest = 0;
    for (uint32_t r = 0; r <= role; r++)
        if (sc_is_executed(sample, r) && values->at[r] > largest) largest = values->at[r];
    return !sc_is_executed(sample, role) ||
           size_of(deviation(sample, values, role)) * COUNTER_PART <= largest;
}

/* Of the blocks inside a piece. */
static double inside(const struct sc_sample *sample, const struct sc_piece *piece)
{
    return (double)(sample->block[piece->last] - sample->block[piece->first] - 1);
}

static double total_of_pieces(const struct sc_sample *sample, const struct values *values)
{
    double sum = 0;
    for (uint32_t r = 0; r < sample->end; r++)
        if (sc_is_first_of_block(sample, r)) sum += values->at[r];
    for (uint32_t p = 0; p < sample->linear_count; p++) {
        const struct sc_piece *piece = &sample->linear[p];
        sum += inside(sample, piece) * (values->at[piece->first] + values->at[piece->last]) / 2;
    }
    return sum;
}

/* The sum over the grid. */
static double total(const struct sc_sample *sample, const struct values *values)
{
    const uint32_t *grid = sample->launch->grid;
    double blocks = (double)sample->blocks, sum = 0;
    if (sample->in_pieces) return total_of_pieces(sample, values);
    if (sample->spread) {
        for (uint32_t r = SC_FIRST_SPREAD; r < SC_FIRST_SPREAD + SC_SPREAD; r++) sum += values->at[r];
        return sum / SC_SPREAD * blocks;
    }
    double center[3];
    for (int d = 0; d < 3; d++) center[d] = (grid[d] - 1) / 2.0;
    sum = predict(sample, values, center) * blocks;
    bool edges = false;
    for (int d = 0; d < 3; d++) {
        uint32_t role = SC_LAST_X + (uint32_t)d;
        edges |= role < sample->end && sc_is_executed(sample, role);
        if (role < sample->end && sc_is_executed(sample, role))
            sum += deviation(sample, values, role) * blocks / grid[d];
    }
    if (!edges && sc_is_executed(sample, SC_LAST)) sum += deviation(sample, values, SC_LAST);
    return sum > 0 ? sum : 0;
}

enum counter { INSTRUCTIONS, FLOPS };

static struct values values_of(const struct sc_sample *sample, enum counter which)
{
    struct values values;
    for (uint32_t r = 0; r < SC_MOST_EXECUTED; r++)
        values.at[r] =
            (double)(which == FLOPS ? sample->counters[r].flops : sample->counters[r].instructions);
    return values;
}

enum field { READ, WRITTEN };

static struct values field_of(const struct sc_footprint *slot, enum field which)
{
    struct values values;
    for (uint32_t r = 0; r < SC_MOST_EXECUTED; r++) values.at[r] = (double)slot[r].bytes[which];
    return values;
}

/* Which blocks execute the instruction: every one that was executed inside the grid; those at its end only;
 * the first one only; some. */
enum presence { EVERYWHERE, AT_THE_END, FIRST_ONLY, SOMEWHERE };

static enum presence presence(const struct sc_sample *sample, const struct sc_footprint *slot)
{
    uint32_t executed = 0, there = 0;
    for (uint32_t r = 0; r < sample->end; r++) {
        if (r == SC_LAST || (r >= SC_LAST_X && r <= SC_LAST_Z) || !sc_is_executed(sample, r)) continue;
        executed++;
        there += slot[r].end != 0;
    }
    if (there == executed) return EVERYWHERE;
    if (!there) return AT_THE_END;
    return there == 1 && slot[SC_BASE].end ? FIRST_ONLY : SOMEWHERE;
}

/* The most bytes between its least and greatest address in a block. */
static double extent(const struct sc_sample *sample, const struct sc_footprint *slot)
{
    uint64_t most = 0;
    for (uint32_t r = 0; r < sample->end; r++)
        if (slot[r].end - slot[r].begin > most) most = slot[r].end - slot[r].begin;
    return (double)most;
}

/* Where the instruction's least address lies: at `origin` for the first block, and so many bytes further for
 * each next one. */
struct line {
    double origin, slope[3];
    double tolerance;
    bool fits; /* all blocks that were executed lie there, within the tolerance */
};

enum { UNKNOWNS = 4 };

/* Solves the symmetric positive definite system by elimination. */
static void solve(double m[UNKNOWNS][UNKNOWNS + 1], double out[UNKNOWNS])
{
    for (int c = 0; c < UNKNOWNS; c++)
        for (int r = c + 1; r < UNKNOWNS; r++) {
            double factor = m[r][c] / m[c][c];
            for (int k = c; k <= UNKNOWNS; k++) m[r][k] -= factor * m[c][k];
        }
    for (int r = UNKNOWNS - 1; r >= 0; r--) {
        out[r] = m[r][UNKNOWNS];
        for (int k = r + 1; k < UNKNOWNS; k++) out[r] -= m[r][k] * out[k];
        out[r] /= m[r][r];
    }
}

static double off_line(const struct sc_sample *sample, const struct line *line,
                       const struct sc_footprint *slot, uint32_t role)
{
    double at[3], expected = line->origin;
    coordinates(sample, sample->block[role], at);
    for (int d = 0; d < 3; d++) expected += line->slope[d] * at[d];
    return size_of((double)slot[role].begin - expected);
}

/* Addresses are whole numbers: where whole slopes meet all blocks exactly, they are it. */
static void make_whole(const struct sc_sample *sample, const struct sc_footprint *slot, struct line *line)
{
    struct line whole = *line;
    double at[3], off = 0;
    uint32_t first = 0;
    while (!slot[first].end) first++;
    coordinates(sample, sample->block[first], at);
    whole.origin = (double)slot[first].begin;
    for (int d = 0; d < 3; d++) {
        whole.slope[d] = (double)(int64_t)(line->slope[d] + (line->slope[d] < 0 ? -0.5 : 0.5));
        whole.origin -= whole.slope[d] * at[d];
    }
    for (uint32_t r = 0; r < sample->end; r++)
        if (slot[r].end) off += off_line(sample, &whole, slot, r);
    if (off == 0) *line = whole;
}

/* By least squares; a dimension in which nothing varies has no slope. */
static struct line line_of(const struct sc_sample *sample, const struct sc_footprint *slot)
{
    double sums[UNKNOWNS][UNKNOWNS + 1] = {{0}}, found[UNKNOWNS];
    struct line line = {.fits = true};
    uint64_t first = 0;
    for (uint32_t r = 0; r < sample->end; r++) {
        double row[UNKNOWNS + 1] = {1};
        if (!slot[r].end) continue;
        if (!first) first = slot[r].begin;
        coordinates(sample, sample->block[r], &row[1]);
        for (int d = 0; d < 3; d++) row[1 + d] /= sample->launch->grid[d];
        row[UNKNOWNS] = (double)(int64_t)(slot[r].begin - first);
        for (int i = 0; i < UNKNOWNS; i++)
            for (int k = 0; k <= UNKNOWNS; k++) sums[i][k] += row[i] * row[k];
    }
    for (int i = 0; i < UNKNOWNS; i++) sums[i][i] += 1e-9;
    solve(sums, found);
    line.origin = (double)first + found[0];
    double span = extent(sample, slot);
    for (int d = 0; d < 3; d++) {
        line.slope[d] = found[1 + d] / sample->launch->grid[d];
        span += size_of(found[1 + d]);
    }
    line.tolerance = span / ADDRESS_PART > ADDRESS_LEAST ? span / ADDRESS_PART : ADDRESS_LEAST;
    for (uint32_t r = 0; r < sample->end; r++)
        if (slot[r].end && off_line(sample, &line, slot, r) > line.tolerance) line.fits = false;
    make_whole(sample, slot, &line);
    return line;
}

/* From the least to the greatest address in any block that was executed. */
static void hull(const struct sc_sample *sample, const struct sc_footprint *slot, uint64_t *begin,
                 uint64_t *end)
{
    *begin = UINT64_MAX;
    *end = 0;
    for (uint32_t r = 0; r < sample->end; r++) {
        if (!slot[r].end) continue;
        if (slot[r].begin < *begin) *begin = slot[r].begin;
        if (slot[r].end > *end) *end = slot[r].end;
    }
}

/* Whether the grid accesses so much that hardly anything between the instruction's least and greatest address
 * is left out, in whatever order its blocks do. */
static bool covers_all(const struct sc_sample *sample, const struct sc_footprint *slot)
{
    struct values read = field_of(slot, READ), written = field_of(slot, WRITTEN);
    uint64_t begin, end;
    if (!sample->spread) return false;
    hull(sample, slot, &begin, &end);
    uint64_t bytes = end - begin;
    return bytes <= (uint64_t)TRAFFIC_BYTES ||
           total(sample, &read) + total(sample, &written) >= (double)bytes / 2;
}

/* Whether addresses are as foretold, in all blocks that were executed. */
bool sc_lie_as_foretold(const struct sc_sample *sample)
{
    for (uint32_t s = 0; s < sample->slot_count; s++) {
        enum presence where = presence(sample, sample->slots[s]);
        if ((where == EVERYWHERE || where == SOMEWHERE) && !line_of(sample, sample->slots[s]).fits &&
            !covers_all(sample, sample->slots[s]))
            return false;
    }
    return true;
}

/* Whether a block's counters are. */
bool sc_count_as_foretold(const struct sc_sample *sample, uint32_t role)
{
    struct values instructions = values_of(sample, INSTRUCTIONS), flops = values_of(sample, FLOPS);
    if (!counts_as_foretold(sample, &instructions, role) || !counts_as_foretold(sample, &flops, role))
        return false;
    for (uint32_t s = 0; s < sample->slot_count; s++)
        for (enum field f = READ; f <= WRITTEN; f++) {
            struct values bytes = field_of(sample->slots[s], f);
            if (!counts_as_foretold(sample, &bytes, role)) return false;
        }
    return true;
}

static bool is_midway(double value, double first, double last, double part, double tolerance)
{
    double off = size_of(value - (first + (last - first) * part));
    double largest = first > last ? first : last;
    if (value > largest) largest = value;
    return off <= (tolerance ? tolerance : largest / COUNTER_PART);
}

static bool footprint_is_midway(const struct sc_footprint *one, const struct sc_footprint *first,
                                const struct sc_footprint *last, double part)
{
    if (!one->end != !first->end || !one->end != !last->end) return false;
    double length = (double)(one->end - one->begin),
           way = size_of((double)last->begin - (double)first->begin);
    double tolerance =
        (length + way) / ADDRESS_PART > ADDRESS_LEAST ? (length + way) / ADDRESS_PART : ADDRESS_LEAST;
    bool midway = is_midway((double)one->begin, (double)first->begin, (double)last->begin, part, tolerance);
    for (int b = 0; b < 2; b++)
        midway = midway &&
                 is_midway((double)one->bytes[b], (double)first->bytes[b], (double)last->bytes[b], part, 0);
    return midway;
}

bool sc_lies_between(const struct sc_sample *sample, const struct sc_piece *piece, uint32_t role)
{
    const struct sc_counters *one = &sample->counters[role], *first = &sample->counters[piece->first],
                             *last = &sample->counters[piece->last];
    double part = (double)(sample->block[role] - sample->block[piece->first]) /
                  (double)(sample->block[piece->last] - sample->block[piece->first]);
    bool midway = is_midway((double)one->instructions, (double)first->instructions,
                            (double)last->instructions, part, 0) &&
                  is_midway((double)one->flops, (double)first->flops, (double)last->flops, part, 0);
    for (uint32_t s = 0; s < sample->slot_count && midway; s++) {
        const struct sc_footprint *slot = sample->slots[s];
        midway = footprint_is_midway(&slot[role], &slot[piece->first], &slot[piece->last], part);
    }
    return midway;
}

/* --- traffic */

/* What an instruction accesses in the whole grid: `count` ranges in each dimension, a stride apart. */
struct pieces {
    int64_t begin, end, stride[3];
    uint32_t count[3];
    double bytes[2]; /* of all of them */
    uint64_t seen;   /* of the one range: the 2 MiB blocks modulo 64 */
    bool sparse;     /* it has others */
};

/* Joins the ranges of a dimension if no 2 MiB block lies between two of them. */
static void join(struct pieces *pieces, int d, double slope, uint32_t count)
{
    int64_t stride = (int64_t)slope, room = pieces->end - pieces->begin + TRAFFIC_BYTES;
    uint64_t ranges = (uint64_t)pieces->count[0] * pieces->count[1] * pieces->count[2];
    if ((stride > room || -stride > room) && ranges * count <= MOST_PIECES) {
        pieces->stride[d] = stride;
        pieces->count[d] = count;
        return;
    }
    double last = slope * (count - 1);
    if (last < 0)
        pieces->begin += (int64_t)last;
    else
        pieces->end += (int64_t)last;
    if (size_of(last) >= (double)TRAFFIC_BYTES) pieces->sparse = false;
}

/* Close ranges first: what they join to may reach the next ones. */
static void join_all(const struct sc_sample *sample, const double slope[3], struct pieces *pieces)
{
    bool done[3] = {false, false, false};
    for (int turn = 0; turn < 3; turn++) {
        int next = -1;
        for (int d = 0; d < 3; d++)
            if (!done[d] && (next < 0 || size_of(slope[d]) < size_of(slope[next]))) next = d;
        done[next] = true;
        join(pieces, next, slope[next], sample->launch->grid[next]);
    }
}

static struct pieces pieces_of(const struct sc_sample *sample, const struct sc_footprint *slot)
{
    struct values read = field_of(slot, READ), written = field_of(slot, WRITTEN);
    enum presence where = presence(sample, slot);
    struct pieces pieces = {.count = {1, 1, 1}};
    const struct sc_footprint *one = NULL;
    for (uint32_t r = 0; r < sample->end && !one; r++)
        if (slot[r].end) one = &slot[r];
    if (!one) return pieces;
    pieces.begin = (int64_t)one->begin;
    pieces.end = pieces.begin + (int64_t)extent(sample, slot);
    pieces.seen = one->seen;
    uint64_t span = ((one->end - 1) >> SC_TRAFFIC_SHIFT) - (one->begin >> SC_TRAFFIC_SHIFT) + 1;
    pieces.sparse = span <= 64 && (uint64_t)__builtin_popcountll(one->seen) < span;
    pieces.bytes[0] = where == FIRST_ONLY ? (double)one->bytes[0] : total(sample, &read);
    pieces.bytes[1] = where == FIRST_ONLY ? (double)one->bytes[1] : total(sample, &written);
    if (where == FIRST_ONLY || where == AT_THE_END) return pieces;
    struct line line = line_of(sample, slot);
    uint64_t first, last;
    hull(sample, slot, &first, &last);
    if (!line.fits) {
        pieces.begin = (int64_t)first;
        pieces.end = (int64_t)last;
        pieces.sparse = false;
        return pieces;
    }
    int64_t bytes = pieces.end - pieces.begin;
    pieces.begin = (int64_t)(line.origin + 0.5);
    pieces.end = pieces.begin + bytes;
    join_all(sample, line.slope, &pieces);
    /* What lies off the line a little ends where the blocks at the corners do. */
    int64_t off_begin = (int64_t)first - pieces.begin, off_end = pieces.end - (int64_t)last;
    if (off_begin > 0 && (double)off_begin <= line.tolerance) pieces.begin = (int64_t)first;
    if (off_end > 0 && (double)off_end <= line.tolerance) pieces.end = (int64_t)last;
    return pieces;
}

/* Spreads the bytes of one range evenly over its blocks of managed and host memory. */
static bool count_range(const struct sc_sample *sample, const struct pieces *pieces, int64_t shift,
                        const double bytes[2], struct sc_traffic *traffic)
{
    const struct sc_address_space *space = sample->launch->space;
    uint64_t begin = (uint64_t)(pieces->begin + shift), end = (uint64_t)(pieces->end + shift);
    double whole = (double)(end - begin);
    if (pieces->sparse)
        whole *= (double)__builtin_popcountll(pieces->seen) /
                 (double)(((end - 1) >> SC_TRAFFIC_SHIFT) - (begin >> SC_TRAFFIC_SHIFT) + 1);
    while (begin < end) {
        struct sc_range range;
        if (!space->find(space->context, begin, &range)) return true; /* foretold beyond the memory's end */
        uint64_t to = end < range.end ? end : range.end;
        for (; begin < to && range.kind != SC_RANGE_DEVICE;) {
            uint64_t block = begin >> SC_TRAFFIC_SHIFT, next = (block + 1) << SC_TRAFFIC_SHIFT;
            if (next > to) next = to;
            double part = (double)(next - begin) / whole;
            begin = next;
            if (pieces->sparse && !(pieces->seen >> (block & 63) & 1)) continue;
            struct sc_traffic_slot *slot = sc_traffic_slot(traffic, block);
            if (!slot) return false;
            slot->bytes_read += (uint64_t)(bytes[0] * part + 0.5);
            slot->bytes_written += (uint64_t)(bytes[1] * part + 0.5);
        }
        begin = to;
    }
    return true;
}

static bool count_traffic(const struct sc_sample *sample, const struct pieces *pieces,
                          struct sc_traffic *traffic)
{
    uint64_t ranges = (uint64_t)pieces->count[0] * pieces->count[1] * pieces->count[2];
    const double bytes[2] = {pieces->bytes[0] / (double)ranges, pieces->bytes[1] / (double)ranges};
    if (pieces->begin >= pieces->end) return true;
    for (uint64_t i = 0; i < ranges; i++) {
        int64_t x = (int64_t)(i % pieces->count[0]), y = (int64_t)(i / pieces->count[0] % pieces->count[1]),
                z = (int64_t)(i / pieces->count[0] / pieces->count[1]);
        int64_t shift = x * pieces->stride[0] + y * pieces->stride[1] + z * pieces->stride[2];
        if (!count_range(sample, pieces, shift, bytes, traffic)) return false;
    }
    return true;
}

/* Of one range. */
static bool count_one(const struct sc_sample *sample, uint64_t begin, uint64_t end, const double bytes[2],
                      struct sc_traffic *traffic)
{
    const struct pieces one = {
        .begin = (int64_t)begin, .end = (int64_t)end, .bytes = {bytes[0], bytes[1]}, .count = {1, 1, 1}};
    return count_traffic(sample, &one, traffic);
}

/* `sum`: the bytes that the instruction reads and writes in the whole grid. */
static bool count_whole(const struct sc_sample *sample, const struct sc_footprint *slot, double sum[2],
                        struct sc_traffic *traffic)
{
    struct pieces pieces = pieces_of(sample, slot);
    sum[0] = pieces.bytes[0];
    sum[1] = pieces.bytes[1];
    return count_traffic(sample, &pieces, traffic);
}

/* The same, of the blocks that were executed, and of those between them. */
static bool count_pieces(const struct sc_sample *sample, const struct sc_footprint *slot, double sum[2],
                         struct sc_traffic *traffic)
{
    struct values read = field_of(slot, READ), written = field_of(slot, WRITTEN);
    bool ok = true;
    sum[0] = total(sample, &read);
    sum[1] = total(sample, &written);
    for (uint32_t r = 0; r < sample->end && ok; r++) {
        const double bytes[2] = {(double)slot[r].bytes[0], (double)slot[r].bytes[1]};
        if (sc_is_first_of_block(sample, r) && slot[r].end)
            ok = count_one(sample, slot[r].begin, slot[r].end, bytes, traffic);
    }
    for (uint32_t p = 0; p < sample->linear_count && ok; p++) {
        const struct sc_piece *piece = &sample->linear[p];
        const struct sc_footprint *a = &slot[piece->first], *b = &slot[piece->last];
        double half = inside(sample, piece) / 2;
        const double bytes[2] = {half * (double)(a->bytes[0] + b->bytes[0]),
                                 half * (double)(a->bytes[1] + b->bytes[1])};
        if (half > 0 && a->end && b->end)
            ok = count_one(sample, a->begin < b->begin ? a->begin : b->begin,
                           a->end > b->end ? a->end : b->end, bytes, traffic);
    }
    return ok;
}

uint64_t sc_instructions_foretold(const struct sc_sample *sample)
{
    struct values instructions = values_of(sample, INSTRUCTIONS);
    return (uint64_t)(total(sample, &instructions) + 0.5);
}

bool sc_sample_cost(const struct sc_sample *sample, struct sc_cost *cost)
{
    struct values flops = values_of(sample, FLOPS);
    struct sc_traffic traffic = {0};
    bool ok = true;
    cost->instructions = sc_instructions_foretold(sample);
    cost->flops = (uint64_t)(total(sample, &flops) + 0.5);
    cost->bytes_read = cost->bytes_written = 0;
    for (uint32_t s = 0; s < sample->slot_count && ok; s++) {
        double bytes[2];
        ok = sample->in_pieces ? count_pieces(sample, sample->slots[s], bytes, &traffic)
                               : count_whole(sample, sample->slots[s], bytes, &traffic);
        cost->bytes_read += (uint64_t)(bytes[0] + 0.5);
        cost->bytes_written += (uint64_t)(bytes[1] + 0.5);
    }
    ok = ok && sc_traffic_blocks(&traffic, cost);
    sc_traffic_free(&traffic);
    return ok;
}
