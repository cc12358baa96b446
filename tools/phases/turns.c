/* A window is a forward pass, perhaps a backward pass, perhaps an update: F B U, of which only the two turns
 * are unknown. Names of kernels are not used; the launches that touch each piece of memory show enough.
 * Every program touches memory in few patterns:
 *
 *   F B U, F U   parameters: used, and changed at the end
 *   B U          gradients
 *     U          the optimizer's state, if it is kept beyond the window
 *   F B          activations
 *   F, B         memory that serves one pass alone
 *
 * Other patterns make no sense: memory that is not kept is not touched by both ends of the window, and the
 * update does not touch the batch. Each pair of turns gives every segment a pattern; its worth is the sum of
 * the worths of these patterns over all segments, and the best pair wins. A turn that is too early or too
 * late breaks patterns: the backward pass would not touch the last layer's weights, only one pass would touch
 * its activations, and only the update the first layer's gradients. Segments that a window touches very often
 * are scratch memory and count little.
 *
 * There is one more difference. In the passes, each launch uses the results of one of the few launches before
 * it. In the update, launches are independent, one for each tensor, and touch memory that has not been used
 * for long. A launch on the wrong side of the update's turn costs half a pattern.
 *
 * All pairs are evaluated at once: between two touches of a segment its pattern is constant, so each segment
 * adds constants to rectangles of the plane of pairs, and two running sums give the plane. Windows with many
 * launches are searched twice, first coarsely, then finely around the best pair. */
#include "tools/phases/turns.h"

#include <stdlib.h>
#include <string.h>

enum {
    GRID = 512,            /* number of turns of each kind that are compared at once */
    TOUCHES_MAX = 1 << 24, /* of a window */
    FEW = 6,               /* touches of memory other than scratch memory */
    RECENT = 4,            /* launches */
    COMMON_MIN = 16,  /* touches of memory that may be common to all launches, like a counter of steps: */
    COMMON_SHARE = 3, /* and more than one of this many */
    SIDE_COST = 8,
};

/* The window's launches, and (segment, position) pairs sorted by position. */
struct pairs {
    struct pair {
        uint32_t segment, position;
    } * at;
    size_t count, room;
};

static bool add_pair(struct pairs *pairs, uint32_t segment, uint32_t position)
{
    if (pairs->count == pairs->room) {
        size_t room = pairs->room ? 2 * pairs->room : 1024;
        struct pair *larger = room <= TOUCHES_MAX ? realloc(pairs->at, room * sizeof(*larger)) : NULL;
        if (!larger) return false;
        pairs->at = larger;
        pairs->room = room;
    }
    pairs->at[pairs->count++] = (struct pair){segment, position};
    return true;
}

/* Sorts the pairs by segment into out; `index_of` is scratch memory: one zero for each segment. */
static bool group(const struct pairs *pairs, uint32_t *index_of, struct touches *out)
{
    for (size_t i = 0; i < pairs->count; i++)
        if (!index_of[pairs->at[i].segment]) index_of[pairs->at[i].segment] = ++out->segment_count;
    out->segments = malloc((out->segment_count + 1) * sizeof(*out->segments));
    out->first = calloc(out->segment_count + 2, sizeof(*out->first));
    out->at = malloc((pairs->count + 1) * sizeof(*out->at));
    if (!out->segments || !out->first || !out->at) return false;
    for (size_t i = 0; i < pairs->count; i++) out->first[index_of[pairs->at[i].segment] + 1]++;
    for (uint32_t s = 2; s <= out->segment_count + 1; s++) out->first[s] += out->first[s - 1];
    for (size_t i = 0; i < pairs->count; i++) {
        uint32_t index = index_of[pairs->at[i].segment];
        out->segments[index - 1] = pairs->at[i].segment;
        out->at[out->first[index]++] = pairs->at[i].position;
    }
    return true;
}

static bool find_goes_on(struct touches *touches)
{
    touches->goes_on = calloc(touches->positions + 1, 1);
    if (!touches->goes_on) return false;
    touches->goes_on[0] = 1;
    for (uint32_t s = 0; s < touches->segment_count; s++) {
        const uint32_t *at = touches->at + touches->first[s];
        uint32_t count = touches->first[s + 1] - touches->first[s];
        if (count > COMMON_MIN && count > touches->positions / COMMON_SHARE) continue;
        for (uint32_t i = 1; i < count; i++)
            if (at[i] - at[i - 1] <= RECENT) touches->goes_on[at[i]] = 1;
    }
    return true;
}

bool touches_find(const struct model *model, const struct segments *segments, const struct window *window,
                  struct touches *out)
{
    *out = (struct touches){0};
    struct pairs pairs = {0};
    uint32_t *last = calloc(segments->count + 1, sizeof(*last)), *index = NULL; /* last: position + 1 */
    out->launches = malloc((window->end - window->anchor + 1) * sizeof(*out->launches));
    bool good = last && out->launches;
    for (uint32_t l = window->anchor; good && l < window->end; l++) {
        if (!is_work(model, l)) continue;
        if (!out->positions)
            out->graph_first = model_shape_of(model, &model->launches.at[l])->kind == SL_LAUNCH_GRAPH;
        out->launches[out->positions++] = l;
        FOR_SEGMENTS(model, segments, model_shape_of(model, &model->launches.at[l]), s)
        {
            if (good && last[s] != out->positions) good = add_pair(&pairs, s, out->positions - 1);
            last[s] = out->positions;
        }
    }
    free(last);
    if (good) index = calloc(segments->count + 1, sizeof(*index));
    good = good && index && group(&pairs, index, out) && find_goes_on(out);
    free(index);
    free(pairs.at);
    return good;
}

void touches_free(struct touches *touches)
{
    free(touches->launches);
    free(touches->segments);
    free(touches->first);
    free(touches->at);
    free(touches->goes_on);
    *touches = (struct touches){0};
}

enum { IN_F = 1, IN_B = 2, IN_U = 4 };

/* The value of a pattern for a segment of which only is known whether it is kept. */
static int worth_unknown(unsigned pattern, bool input, bool zeroed, bool kept, bool dense)
{
    static const int of_zeroed[8] = {0, 0, 4, 4, 0, 0, 16, 6}; /* possibly gradients */
    static const int of_kept[8] = {0, 0, 0, 16, 14, 14, 15, 17}, of_others[8] = {0, 0, 0, 16, 0, -16, 12, -8};
    if (input) return pattern & IN_U ? -24 : 0;
    if (zeroed && kept && !dense) return of_zeroed[pattern];
    if (dense) return pattern & IN_U && pattern != IN_U ? 0 : 4;
    return (kept ? of_kept : of_others)[pattern];
}

static int worth(unsigned pattern, uint32_t segment, uint32_t count, const struct knowledge *known)
{
    /*                                              F  B  FB   U  FU  BU FBU */
    static const int of_parameter[8] = {0, 8, 0, 16, 0, 15, 16, 17};
    static const int of_gradient[8] = {0, -24, 8, -24, -8, -24, 16, -24};
    static const int of_optimizer[8] = {0, -32, -32, -32, 16, -32, -32, -32};
    static const int of_activation[8] = {0, 0, 0, 16, -24, -24, -24, -24};
    switch (known->class_of ? known->class_of[segment] : CLASS_UNKNOWN) {
    case CLASS_PARAMETER:
        return of_parameter[pattern];
    case CLASS_GRADIENT:
        return of_gradient[pattern];
    case CLASS_OPTIMIZER:
        return of_optimizer[pattern];
    case CLASS_ACTIVATION:
        return of_activation[pattern];
    default:
        return worth_unknown(pattern, known->is_input[segment], known->is_zeroed[segment],
                             known->is_kept[segment], count > FEW);
    }
}

/* Positions that are tried for each turn, ascending: at equal distances, but for the last one. */
struct candidates {
    uint32_t at[GRID], count, apart;
};

/* The first candidate of at least `position`. */
static uint32_t index_from(const struct candidates *candidates, uint32_t position)
{
    uint32_t first = candidates->at[0], last = candidates->count - 1;
    uint32_t index = position > first ? (position - first - 1) / candidates->apart + 1 : 0;
    return index < last ? index : last + (position > candidates->at[last]);
}

struct plane {
    struct candidates backward, update;
    int32_t sides[GRID];               /* by index of update: the cost of launches on the wrong side */
    int32_t worth[GRID + 1][GRID + 1]; /* by index of backward, of update; first as differences */
};

/* Adds `value` to all pairs with backward in [b0, b1] and update in [u0, u1]. */
static void add(struct plane *plane, uint32_t b0, uint32_t b1, uint32_t u0, uint32_t u1, int value)
{
    if (!value || b0 > b1 || u0 > u1) return;
    uint32_t x0 = index_from(&plane->backward, b0), x1 = index_from(&plane->backward, b1 + 1);
    uint32_t y0 = index_from(&plane->update, u0), y1 = index_from(&plane->update, u1 + 1);
    plane->worth[x0][y0] += value;
    plane->worth[x0][y1] -= value;
    plane->worth[x1][y0] -= value;
    plane->worth[x1][y1] += value;
}

/* `at`: the segment's touches. In strip j, the turn `backward` is after touch j - 1 and at most at touch
 * j. */
static void add_segment(struct plane *plane, const uint32_t *at, uint32_t count, uint32_t positions,
                        uint32_t segment, const struct knowledge *known)
{
    uint32_t last = at[count - 1], begin = 0;
    for (uint32_t j = 0; j < count; j++) {
        unsigned f = j ? IN_F : 0;
        add(plane, begin, at[j], 0, at[j], worth(f | IN_U, segment, count, known));
        add(plane, begin, at[j], at[j] + 1, last, worth(f | IN_B | IN_U, segment, count, known));
        add(plane, begin, at[j], last + 1, positions, worth(f | IN_B, segment, count, known));
        begin = at[j] + 1;
    }
    add(plane, begin, positions, 0, positions, worth(IN_F, segment, count, known));
}

static void find_sides(struct plane *plane, const struct touches *touches)
{
    int32_t cost = 0;
    for (uint32_t p = 0; p < touches->positions; p++) cost += touches->goes_on[p];
    for (uint32_t y = 0, p = 0; y < plane->update.count; y++) {
        for (; p < plane->update.at[y]; p++) cost += touches->goes_on[p] ? -1 : 1;
        plane->sides[y] = SIDE_COST * cost;
    }
}

static void find_best(struct plane *plane, struct turns *best)
{
    for (uint32_t x = 0; x < plane->backward.count; x++) {
        for (uint32_t y = 0; y <= plane->update.count; y++) {
            if (y) plane->worth[x][y] += plane->worth[x][y - 1];
        }
        for (uint32_t y = 0; x && y <= plane->update.count; y++) plane->worth[x][y] += plane->worth[x - 1][y];
        for (uint32_t y = 0; y < plane->update.count; y++) {
            uint32_t backward = plane->backward.at[x], update = plane->update.at[y];
            /* Among equal scores: the latest backward pass, because work after the last layer that belongs to
             * no weights is the loss; and the earliest update, because it starts with the norms of the
             * gradients. */
            int64_t score = plane->worth[x][y] - plane->sides[y];
            bool better = score > best->score || (score == best->score && backward > best->backward);
            if (backward <= update && better) *best = (struct turns){backward, update, score};
        }
    }
}

/* Selects up to GRID positions in [from, to], including both ends; returns their distance. */
static uint32_t spread(struct candidates *candidates, uint32_t from, uint32_t to)
{
    uint32_t apart = (to - from) / (GRID - 1) + 1;
    candidates->count = 0;
    candidates->apart = apart;
    for (uint32_t p = from; p < to; p += apart) candidates->at[candidates->count++] = p;
    candidates->at[candidates->count++] = to;
    return apart;
}

static void spread_around(struct candidates *candidates, uint32_t centre, uint32_t apart, uint32_t least,
                          uint32_t positions)
{
    uint32_t from = centre > apart + least ? centre - apart : least;
    spread(candidates, from, positions - centre > apart ? centre + apart : positions);
}

static void compare(struct plane *plane, const struct touches *touches, const struct knowledge *known,
                    struct turns *best)
{
    memset(plane->worth, 0, sizeof(plane->worth));
    for (uint32_t s = 0; s < touches->segment_count; s++)
        add_segment(plane, touches->at + touches->first[s], touches->first[s + 1] - touches->first[s],
                    touches->positions, touches->segments[s], known);
    find_sides(plane, touches);
    *best = (struct turns){.score = INT64_MIN};
    find_best(plane, best);
}

bool turns_find(const struct touches *touches, const struct knowledge *known, uint32_t update,
                struct turns *out)
{
    struct plane *plane = malloc(sizeof(*plane));
    if (!plane) return false;
    /* The first use of the batch begins a forward pass, so it is no update. */
    uint32_t positions = touches->positions, least = touches->graph_first ? 0 : 1;
    uint32_t apart = spread(&plane->backward, least, positions);
    bool given = update <= positions;
    spread(&plane->update, given ? update : 1, given ? update : positions);
    for (;;) {
        compare(plane, touches, known, out);
        if (apart == 1) break;
        spread_around(&plane->backward, out->backward, apart, least, positions);
        if (!given) spread_around(&plane->update, out->update, apart, 1, positions);
        apart = (2 * apart) / (GRID - 1) + 1;
    }
    free(plane);
    return true;
}
