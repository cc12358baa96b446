#include "predict/predictor.h"

#include <stdlib.h>
#include <string.h>

/* Hash chains over the last 1, 8, 64 and 512 symbols find earlier occurrences. The chains of the longest
 * contexts are searched first, because a match of 512 symbols is longer than most matches that a shorter hash
 * finds. */
enum { LEVELS = 4, LEVEL_SHIFT = 3, POWERS = 32 };

/* Each feed adds credit, and each candidate that is examined takes one. So a long random string costs little,
 * while a rare misprediction in a regular string may search far. */
enum { CREDIT_PER_FEED = 16, CREDIT_MOST = 8192 };

/* After a symbol too many or too few, the string most likely continues near the place where a match of
 * STRONG_MATCH symbols was lost. That counts more than a new match shorter than WEAK_MATCH. */
enum { STRONG_MATCH = 16, WEAK_MATCH = 2, RESUME_WINDOW = 64 };

/* Where the string went another way than a strong match predicted; the last ones are known. */
enum { FORKS = 8 };

/* Two stretches are nearly the same if at most MOST_ODD symbols at a place differ. What is nearly the same is
 * looked for once ANCHOR_MATCH symbols came as before, by the chain of contexts of that length. */
enum { ANCHOR_LEVEL = 2, ANCHOR_MATCH = 1 << ANCHOR_LEVEL * LEVEL_SHIFT, MOST_ODD = 32, MOST_LONGER = 8 };

/* The chains are needed only after a misprediction, and symbols predicted meanwhile have entries from a
 * period before. So the chains catch up with only so many boundaries, or one period. */
enum { CATCH_UP = 4096 };

#define HASH_BASE UINT64_C(0x9e3779b97f4a7c15)
#define SLOT_FACTOR UINT64_C(0xd6e8feb86659fd93)

/* Positions count symbols from the start and never wrap; rings are indexed by their low bits. Boundary b lies
 * before the symbol at position b, and hash[b] covers everything before it. So the hash of a stretch is a
 * difference of two, and a common suffix of two positions is found by bisection. */
struct chain_links {
    uint32_t prev[LEVELS]; /* the low bits of the previous boundary in each chain */
};

/* A stretch of the primed past with one period. */
struct steady_stretch {
    uint64_t from, end, period; /* symbols [from, end) have this period */
};
#define NEVER UINT64_MAX

/* At position `at` the string went another way than from `instead`, although `common` symbols before both are
 * the same. Unless more than these speak for it, it was an exception. */
struct fork {
    uint64_t at, instead, common;
};

struct sl_predictor {
    uint64_t mask, count;
    uint64_t entered; /* the last boundary in the chains */
    sl_symbol *symbol;
    uint64_t *note; /* by position, like `symbol` */
    uint64_t *hash;
    struct chain_links *links; /* by boundary */
    uint32_t *head[LEVELS];    /* by hash: low bits of the latest boundary */
    int head_shift;
    uint64_t power[POWERS]; /* HASH_BASE to the power 2^i */
    bool following;
    uint64_t cursor;  /* position of the predicted symbol */
    uint64_t match;   /* symbols before the cursor that equal the last ones fed */
    uint64_t resume;  /* the cursor when the last strong match was lost */
    uint64_t lost_at; /* `count` at that time; 0: never */
    uint64_t credit;
    struct fork forks[FORKS]; /* a ring */
    uint64_t fork_count;      /* since the start */
    uint64_t next_fork;       /* the first one from the cursor on; NEVER: there is none */
    struct fork *left;        /* the cursor is where it leads instead; or NULL */
    bool prefers_near;
    uint64_t near;          /* the length of a step, although the cursor may be several back; 0: not known */
    uint32_t longer;        /* how often in a row the distance was much longer */
    uint64_t look_again_at; /* `count` at which what is near is looked for */
    struct sl_predictor_counts counts;

    /* The primed past: symbols [0, given). */
    uint64_t given, given_period;     /* the period at its end; 0: none */
    struct steady_stretch *stretches; /* its stretches */
    size_t stretch_count, stretch_capacity;
    uint64_t mark;   /* cursor position at which the period changes; NEVER outside the primed past */
    uint64_t period; /* at the cursor */
};

struct sl_predictor *sl_predictor_new(size_t capacity)
{
    size_t size = 1024;
    while (size <= capacity && size < (size_t)1 << 30) size *= 2;
    struct sl_predictor *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    p->mask = size - 1;
    p->credit = CREDIT_MOST;
    p->mark = p->next_fork = NEVER;
    p->symbol = malloc(size * sizeof *p->symbol);
    p->note = calloc(size, sizeof *p->note);
    p->hash = calloc(size, sizeof *p->hash);
    p->links = calloc(size, sizeof *p->links);
    bool complete = p->symbol && p->note && p->hash && p->links;
    /* A repetitive string has fewer contexts than the ring has places, so small tables suffice and stay in
     * the cache. */
    p->head_shift = 64 - __builtin_ctzll(size / 4);
    for (int i = 0; i < LEVELS; i++) {
        p->head[i] = calloc(size / 4, sizeof *p->head[i]);
        complete = complete && p->head[i];
    }
    if (!complete) {
        sl_predictor_delete(p);
        return NULL;
    }
    p->power[0] = HASH_BASE;
    for (int i = 1; i < POWERS; i++) p->power[i] = p->power[i - 1] * p->power[i - 1];
    return p;
}

void sl_predictor_delete(struct sl_predictor *p)
{
    if (!p) return;
    for (int i = 0; i < LEVELS; i++) free(p->head[i]);
    free(p->stretches);
    free(p->links);
    free(p->hash);
    free(p->note);
    free(p->symbol);
    free(p);
}

void sl_predictor_clear(struct sl_predictor *p)
{
    for (int i = 0; i < LEVELS; i++) memset(p->head[i], 0, (p->mask + 1) / 4 * sizeof *p->head[i]);
    p->hash[0] = 0;
    p->count = p->entered = 0;
    p->cursor = p->match = p->resume = p->lost_at = 0;
    p->following = false;
    p->credit = CREDIT_MOST;
    p->look_again_at = p->near = p->fork_count = 0;
    p->next_fork = NEVER;
    p->left = NULL;
    p->given = p->given_period = 0;
    p->stretch_count = 0;
    p->mark = NEVER;
}

/* The oldest boundary still in the ring. */
static uint64_t oldest(const struct sl_predictor *p)
{
    return p->count <= p->mask ? 0 : p->count - p->mask;
}

/* The hash of the 2^exponent symbols that end at boundary `end`. */
static uint64_t stretch(const struct sl_predictor *p, uint64_t end, int exponent)
{
    uint64_t begin = end - ((uint64_t)1 << exponent);
    return p->hash[end & p->mask] - p->hash[begin & p->mask] * p->power[exponent];
}

static uint64_t slot_of(const struct sl_predictor *p, uint64_t end, int level)
{
    return stretch(p, end, level * LEVEL_SHIFT) * SLOT_FACTOR >> p->head_shift;
}

/* The number of symbols before boundary `end` that equal those before the later boundary `own`. */
static uint64_t common_before(const struct sl_predictor *p, uint64_t end, uint64_t own)
{
    uint64_t most = end - oldest(p), length = 0;
    int exponent = 0;
    while (exponent < POWERS - 1 && length + ((uint64_t)1 << exponent) <= most &&
           stretch(p, end - length, exponent) == stretch(p, own - length, exponent)) {
        length += (uint64_t)1 << exponent;
        exponent++;
    }
    while (exponent-- > 0) {
        uint64_t step = (uint64_t)1 << exponent;
        if (length + step <= most && stretch(p, end - length, exponent) == stretch(p, own - length, exponent))
            length += step;
    }
    return length;
}

/* The number of symbols before boundary `end` that equal the last ones fed. */
static uint64_t common_suffix(const struct sl_predictor *p, uint64_t end)
{
    return common_before(p, end, p->count);
}

/* Finds the latest of the longest earlier occurrences of the current suffix, as far as the credit allows.
 * Precondition: the current boundary is not in the chains yet. */
static void find_longest(struct sl_predictor *p)
{
    uint64_t best = 0, cursor = 0;
    for (int i = LEVELS - 1; i >= 0 && !best; i--) {
        uint64_t least = (uint64_t)1 << i * LEVEL_SHIFT, seen = 0;
        if (p->count - oldest(p) <= least) continue;
        uint32_t at = p->head[i][slot_of(p, p->count, i)];
        for (;;) {
            uint64_t distance = (uint32_t)p->count - at;
            /* Distances grow along a chain; a smaller one is an overwritten entry. */
            if (distance <= seen || distance >= p->count - oldest(p) || p->credit == 0) break;
            seen = distance;
            p->credit--;
            uint64_t length = common_suffix(p, p->count - distance);
            /* Nothing followed the end of the primed past. */
            if (length >= least && length > best && p->count - distance != p->given) {
                best = length;
                cursor = p->count - distance;
            }
            at = p->links[at & p->mask].prev[i];
        }
    }
    p->following = best > 0;
    p->cursor = cursor;
    p->match = best;
}

static void resume_context(struct sl_predictor *p, sl_symbol symbol)
{
    if (p->count - p->lost_at > RESUME_WINDOW || p->resume < oldest(p)) return;
    for (uint64_t at = p->resume; at < p->resume + RESUME_WINDOW && at + 1 < p->count; at++) {
        if (p->symbol[at & p->mask] != symbol) continue;
        p->following = true;
        p->cursor = at + 1;
        p->match = common_suffix(p, p->cursor);
        return;
    }
}

/* Finds the fewest symbols before both boundaries without which at least STRONG_MATCH of those before them
 * are equal, and leaves them out. False: there are no such. */
static bool leave_out_odd(const struct sl_predictor *p, uint64_t *end, uint64_t *own)
{
    for (uint64_t both = 1; both <= 2 * MOST_ODD; both++)
        for (uint64_t left = both > MOST_ODD ? both - MOST_ODD : 0; left <= both && left <= MOST_ODD;
             left++) {
            uint64_t at = *end - left, own_at = *own - (both - left);
            if (at < oldest(p) + STRONG_MATCH || at >= own_at) continue;
            if (p->symbol[(at - 1) & p->mask] != p->symbol[(own_at - 1) & p->mask] ||
                common_before(p, at, own_at) < STRONG_MATCH)
                continue;
            *end = at;
            *own = own_at;
            return true;
        }
    return false;
}

/* Like common_suffix, but up to MOST_ODD symbols at a place may be odd on either side. At most `most`. */
static uint64_t nearly_common_suffix(const struct sl_predictor *p, uint64_t end, uint64_t most)
{
    uint64_t own = p->count;
    do {
        uint64_t length = common_before(p, end, own);
        end -= length;
        own -= length;
    } while (p->count - own < most && leave_out_odd(p, &end, &own));
    uint64_t length = p->count - own;
    return length < most ? length : most;
}

/* The distance to the latest earlier occurrence of the last ANCHOR_MATCH symbols before which two periods are
 * nearly the same; 0: none is nearer than `within`. Precondition: the boundaries are in the chains. */
static uint64_t nearest(struct sl_predictor *p, uint64_t within)
{
    uint64_t seen = 0;
    if (p->count - oldest(p) <= ANCHOR_MATCH) return 0;
    uint32_t at = p->head[ANCHOR_LEVEL][slot_of(p, p->count, ANCHOR_LEVEL)];
    for (;;) {
        uint64_t distance = (uint32_t)p->count - at;
        if (distance <= seen || distance >= within || p->count - distance <= p->given || p->credit == 0)
            return 0;
        seen = distance;
        p->credit--;
        if (common_suffix(p, p->count - distance) >= ANCHOR_MATCH &&
            nearly_common_suffix(p, p->count - distance, 2 * distance) == 2 * distance)
            return distance;
        at = p->links[at & p->mask].prev[ANCHOR_LEVEL];
    }
}

/* Enters the boundaries before the current one into the chains. */
static void catch_up(struct sl_predictor *p, uint64_t period)
{
    uint64_t until = p->count - 1, most = period > CATCH_UP ? period : CATCH_UP;
    if (until - p->entered > most) p->entered = until - most;
    for (int i = 0; i < LEVELS; i++) {
        uint64_t least = oldest(p) + ((uint64_t)1 << i * LEVEL_SHIFT);
        for (uint64_t b = p->entered + 1 > least ? p->entered + 1 : least; b <= until; b++) {
            uint32_t *head = &p->head[i][slot_of(p, b, i)];
            p->links[b & p->mask].prev[i] = *head;
            *head = (uint32_t)b;
        }
    }
    p->entered = until;
}

/* The first fork from position `from` on; NULL: there is none. */
static struct fork *fork_from(const struct sl_predictor *p, uint64_t from)
{
    const struct fork *found = NULL;
    for (uint64_t i = 0; i < FORKS && i < p->fork_count; i++)
        if (p->forks[i].at >= from && (!found || p->forks[i].at < found->at)) found = &p->forks[i];
    return (struct fork *)found;
}

static uint64_t fork_at_or_after(const struct sl_predictor *p, uint64_t from)
{
    const struct fork *fork = fork_from(p, from);
    return fork ? fork->at : NEVER;
}

/* Whether what came at the fork is not predicted to come again after `match` symbols that are the same. */
static bool is_exception(const struct sl_predictor *p, const struct fork *fork, uint64_t match)
{
    return match <= fork->common && fork->instead >= oldest(p);
}

/* The symbol just fed was not predicted. What comes twice instead of what was predicted is no exception. */
static void note_fork(struct sl_predictor *p)
{
    if (p->left || !p->following || p->match < STRONG_MATCH || p->cursor < p->given) return;
    p->forks[p->fork_count++ % FORKS] =
        (struct fork){.at = p->count - 1, .instead = p->cursor, .common = p->match};
}

/* Call it after the cursor moved, and when it comes to a fork. */
static void find_fork(struct sl_predictor *p)
{
    p->left = NULL;
    p->next_fork = NEVER;
    if (!p->following || p->cursor < p->given) return;
    struct fork *fork = fork_from(p, p->cursor);
    if (fork && fork->at == p->cursor && is_exception(p, fork, p->match)) {
        p->left = fork;
        p->cursor = fork->instead;
        p->match = common_suffix(p, p->cursor);
        return;
    }
    p->next_fork = fork_at_or_after(p, p->cursor + 1);
}

/* The symbol just fed was predicted. */
static void pass_fork(struct sl_predictor *p)
{
    if (p->left) p->left->instead = p->count - 1; /* the latest, so that the distance stays short */
    find_fork(p);
}

/* Follows what is nearest instead of what is longest the same. */
static void follow_nearest(struct sl_predictor *p)
{
    if (!p->following || p->cursor < p->given) return;
    catch_up(p, p->count - p->cursor);
    uint64_t distance = nearest(p, p->count - p->cursor + 1);
    if (!distance) return;
    p->cursor = p->count - distance;
    p->match = common_suffix(p, p->cursor);
    find_fork(p);
    bool longer = p->near && distance >= 2 * p->near;
    p->longer = longer ? p->longer + 1 : 0;
    if (!longer || p->longer > MOST_LONGER) p->near = distance;
}

/* Call it after the cursor moved to another place. */
static void find_stretch(struct sl_predictor *p)
{
    p->mark = NEVER;
    if (!p->following || p->cursor >= p->given) return;
    size_t low = 0, high = p->stretch_count; /* the first stretch that begins behind the cursor */
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (p->stretches[middle].from <= p->cursor)
            low = middle + 1;
        else
            high = middle;
    }
    bool last = low == p->stretch_count;
    p->period = low ? p->stretches[low - 1].period : 0;
    p->mark = last ? p->given : p->stretches[low].from;
}

/* After the whole primed past has come again, the last period repeats, from this run's own symbols if there
 * are enough. */
static void pass_mark(struct sl_predictor *p)
{
    if (p->cursor == p->given) {
        uint64_t own = p->count - p->given_period;
        p->cursor = own > p->given ? own : p->given - p->given_period;
        p->match = p->given_period ? common_suffix(p, p->cursor) : 0;
        p->following = p->match > 0;
    }
    find_stretch(p);
    find_fork(p);
}

bool sl_predictor_feed(struct sl_predictor *p, sl_symbol symbol)
{
    bool hit = p->following && p->symbol[p->cursor & p->mask] == symbol;
    uint64_t boundary = p->hash[p->count & p->mask];
    p->symbol[p->count & p->mask] = symbol;
    p->note[p->count & p->mask] = 0;
    p->count++;
    p->hash[p->count & p->mask] = boundary * HASH_BASE + symbol + 1;
    if (p->credit < CREDIT_MOST) p->credit += CREDIT_PER_FEED;
    p->counts.fed++;
    if (hit) {
        p->counts.predicted++;
        p->match++;
        if (++p->cursor == p->mark)
            pass_mark(p);
        else if (p->left || p->cursor == p->next_fork)
            pass_fork(p);
        if (p->count == p->look_again_at) follow_nearest(p);
    } else {
        p->counts.mispredictions++;
        note_fork(p);
        if (p->following && p->match >= STRONG_MATCH) {
            p->resume = p->cursor;
            p->lost_at = p->count;
        }
        catch_up(p, p->following ? p->count - 1 - p->cursor : 0);
        find_longest(p);
        if (p->match < WEAK_MATCH && p->lost_at) resume_context(p, symbol);
        if (p->given) find_stretch(p);
        find_fork(p);
        if (p->prefers_near) p->look_again_at = p->count + ANCHOR_MATCH;
    }
    return hit;
}

/* What is followed while the primed past is fed. */
struct follower {
    uint64_t from, began; /* where the repeated part begins, and where the repetition was noticed */
    uint64_t period;      /* 0: nothing is followed */
};

/* Adds the stretch that ends here, if at least half a period was repeated. Removes stretches that lie inside
 * its first period. */
static bool end_stretch(struct sl_predictor *p, const struct follower *f, uint64_t end)
{
    if (!f->period || 2 * (end - f->began) < f->period || end - f->began < STRONG_MATCH) return true;
    while (p->stretch_count && p->stretches[p->stretch_count - 1].from >= f->from) p->stretch_count--;
    if (p->stretch_count == p->stretch_capacity) {
        size_t wanted = p->stretch_capacity ? 2 * p->stretch_capacity : 16;
        struct steady_stretch *larger = realloc(p->stretches, wanted * sizeof *larger);
        if (!larger) return false;
        p->stretches = larger;
        p->stretch_capacity = wanted;
    }
    uint64_t free_from = p->stretch_count ? p->stretches[p->stretch_count - 1].end : 0;
    uint64_t from = f->from > free_from ? f->from : free_from;
    p->stretches[p->stretch_count++] = (struct steady_stretch){from, end, f->period};
    return true;
}

static bool feed_given(struct sl_predictor *p, const sl_symbol *symbols, size_t count)
{
    struct follower f = {0};
    for (size_t i = 0; i < count; i++) {
        if (sl_predictor_feed(p, symbols[i])) continue;
        if (!end_stretch(p, &f, p->count - 1)) return false;
        f.period = sl_predictor_period(p);
        f.began = p->count;
        f.from = p->cursor - p->match;
    }
    if (p->following && p->match >= STRONG_MATCH) p->given_period = p->count - p->cursor;
    return end_stretch(p, &f, p->count);
}

bool sl_predictor_prime(struct sl_predictor *p, const sl_symbol *symbols, size_t count)
{
    struct sl_predictor_counts counts = p->counts;
    sl_predictor_clear(p);
    if (count > (p->mask + 1) / 4) count = (p->mask + 1) / 4;
    if (!count) return true;
    bool fed = feed_given(p, symbols, count);
    p->counts = counts;
    if (!fed) {
        sl_predictor_clear(p);
        return false;
    }
    catch_up(p, p->count);
    memset(p->note, 0, count * sizeof *p->note);
    p->given = count;
    p->following = true;
    p->cursor = p->match = p->lost_at = p->fork_count = 0;
    p->credit = CREDIT_MOST;
    find_stretch(p);
    find_fork(p);
    return true;
}

size_t sl_predictor_begun(const struct sl_predictor *p, sl_symbol *out, size_t count)
{
    uint64_t fed = p->count - p->given;
    if (oldest(p) > p->given) return 0;
    if (count > fed) count = fed;
    for (size_t i = 0; i < count; i++) out[i] = p->symbol[(p->given + i) & p->mask];
    return count;
}

struct sl_predictor_walk sl_predictor_walk(const struct sl_predictor *p)
{
    if (!p->following) return (struct sl_predictor_walk){0};
    bool given = p->cursor < p->given;
    uint64_t end = given ? p->given : p->count;
    return (struct sl_predictor_walk){.at = p->cursor,
                                      .end = end,
                                      .period = given ? p->given_period : end - p->cursor,
                                      .next_fork = given ? NEVER : p->next_fork,
                                      .match = p->match};
}

/* The walk has come to a fork. */
static void walk_fork(const struct sl_predictor *p, struct sl_predictor_walk *walk)
{
    const struct fork *fork = fork_from(p, walk->at);
    if (is_exception(p, fork, walk->match)) walk->at = fork->instead;
    walk->next_fork = fork_at_or_after(p, walk->at + 1);
}

sl_symbol sl_predictor_step(const struct sl_predictor *p, struct sl_predictor_walk *walk)
{
    if (walk->at == walk->end && !walk->period) return SL_NONE;
    if (walk->at == walk->end) walk->at -= walk->period;
    if (walk->at == walk->next_fork) walk_fork(p, walk);
    walk->match++;
    return p->symbol[walk->at++ & p->mask];
}

size_t sl_predictor_next(const struct sl_predictor *p, sl_symbol *out, uint64_t *notes, size_t count)
{
    struct sl_predictor_walk walk = sl_predictor_walk(p);
    for (size_t i = 0; i < count; i++) {
        if ((out[i] = sl_predictor_step(p, &walk)) == SL_NONE) return i;
        if (notes) notes[i] = p->note[(walk.at - 1) & p->mask];
    }
    return count;
}

void sl_predictor_note(struct sl_predictor *p, uint64_t note)
{
    if (p->count) p->note[(p->count - 1) & p->mask] = note;
}

void sl_predictor_renote(struct sl_predictor *p, size_t most,
                         uint64_t (*change)(void *self, sl_symbol symbol, uint64_t note), void *self)
{
    uint64_t at = p->count - oldest(p) > most ? p->count - most : oldest(p);
    if (p->following && p->cursor < at) at = p->cursor;
    for (; at < p->count; at++)
        p->note[at & p->mask] = change(self, p->symbol[at & p->mask], p->note[at & p->mask]);
}

uint64_t sl_predictor_expected_note(const struct sl_predictor *p)
{
    return p->following ? p->note[p->cursor & p->mask] : 0;
}

sl_symbol sl_predictor_expected(const struct sl_predictor *p)
{
    return p->following ? p->symbol[p->cursor & p->mask] : SL_NONE;
}

size_t sl_predictor_match(const struct sl_predictor *p)
{
    return p->following ? p->match : 0;
}

size_t sl_predictor_distance(const struct sl_predictor *p)
{
    if (!p->following) return 0;
    return p->mark == NEVER ? p->count - p->cursor : p->period;
}

size_t sl_predictor_period(const struct sl_predictor *p)
{
    size_t distance = sl_predictor_distance(p);
    return p->near && p->near < distance && p->mark == NEVER ? p->near : distance;
}

void sl_predictor_prefer_near(struct sl_predictor *p)
{
    p->prefers_near = true;
}

struct sl_predictor_counts sl_predictor_counts(const struct sl_predictor *p)
{
    return p->counts;
}
