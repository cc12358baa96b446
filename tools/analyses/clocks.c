#include "tools/analyses/clocks.h"

#include <math.h>
#include <stdlib.h>

#define DRIFT_MOST 1e-3 /* ten times the difference between quartz clocks */

enum {
    PAIRS_MOST = 1 << 16,            /* per rank; if there are more, they are sampled at equal distances */
    DEVICE_CLOCK_ERROR_NS = 1000000, /* a launch may appear to begin too early by this much */
    EARLY_SHARE = 20,                /* one in this many launches may be early */
};

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), by_value);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* The difference of two times, exact even if both are large. */
static double from_to(uint64_t from_ns, uint64_t to_ns)
{
    return to_ns >= from_ns ? (double)(to_ns - from_ns) : -(double)(from_ns - to_ns);
}

/* A foreign trace may have figures that exceed 64 bits. */
static uint64_t whole_ns(double ns)
{
    return fabs(ns) < 9e18 ? (uint64_t)fabs(ns) : (uint64_t)9e18;
}

static double find_drift(const uint64_t *own_ns, const uint64_t *first_ns, size_t count, double *values)
{
    size_t half = count / 2, used = 0;
    for (size_t i = 0; i + half < count; i++) {
        double own = from_to(own_ns[i], own_ns[i + half]);
        if (own > 0) values[used++] = from_to(first_ns[i], first_ns[i + half]) / own - 1;
    }
    double drift = used ? median(values, used) : 0;
    return fabs(drift) <= DRIFT_MOST ? drift : 0;
}

bool clock_fit(const uint64_t *own_ns, const uint64_t *first_ns, size_t count, struct clock *out)
{
    double *values = count ? calloc(count, sizeof(*values)) : NULL;
    if (!values) return false;
    struct clock clock = {.origin_ns = own_ns[0], .pairs = count, .basis = CLOCK_BY_COLLECTIVES};
    if (count >= CLOCK_DRIFT_PAIRS) clock.drift = find_drift(own_ns, first_ns, count, values);
    for (size_t i = 0; i < count; i++)
        values[i] = from_to(own_ns[i], first_ns[i]) - clock.drift * from_to(clock.origin_ns, own_ns[i]);
    clock.offset_ns = median(values, count);
    for (size_t i = 0; i < count; i++) values[i] = fabs(values[i] - clock.offset_ns);
    clock.error_ns = whole_ns(median(values, count));
    free(values);
    *out = clock;
    return true;
}

static uint64_t shifted(uint64_t ns, double shift)
{
    uint64_t by = whole_ns(shift);
    if (shift < 0) return ns > by ? ns - by : 0;
    return ns < UINT64_MAX - by ? ns + by : UINT64_MAX;
}

uint64_t clock_on_first(const struct clock *clock, uint64_t own_ns)
{
    return shifted(own_ns, clock->offset_ns + clock->drift * from_to(clock->origin_ns, own_ns));
}

uint64_t clock_from_first(const struct clock *clock, uint64_t first_ns)
{
    /* first without the drift, then corrected by the drift since the origin */
    uint64_t about_ns = shifted(first_ns, -clock->offset_ns);
    double drifted = from_to(clock->origin_ns, about_ns) * clock->drift / (1 + clock->drift);
    return shifted(about_ns, -drifted);
}

uint64_t clock_arrived(const struct clock *clock, const struct meeting_entry *entry)
{
    return entry->timed && entry->began_ns && !clock->own_device_clock ? entry->began_ns : entry->launched_ns;
}

/* Whether launches begin on the device before they were launched, which is impossible with a common clock. */
static bool has_own_device_clock(const struct meeting_rank *rank)
{
    size_t timed = 0, early = 0;
    for (size_t i = 0; i < rank->count; i++) {
        const struct meeting_entry *entry = &rank->entries[i];
        if (!entry->timed || !entry->began_ns) continue;
        timed++;
        early += entry->launched_ns > DEVICE_CLOCK_ERROR_NS &&
                 entry->began_ns < entry->launched_ns - DEVICE_CLOCK_ERROR_NS;
    }
    return early * EARLY_SHARE > timed;
}

/* The ends of a rank's collectives, each paired with the end on a rank whose clock is known, as a time of the
 * first rank's clock. */
struct pairs {
    struct pair {
        uint64_t own_ns, first_ns;
    } * at;
    size_t seen, count, stride;
};

struct finding {
    const struct meetings *meetings;
    struct clock *clocks;
    bool *known;
    struct pairs *pairs; /* of each rank */
};

/* The collective's end on the device; 0: unknown. Those of a message may differ: a send need not wait for its
 * receive. */
static uint64_t end_of(const struct finding *finding, const struct meeting_member *member)
{
    const struct meeting_entry *entry = meeting_entry(finding->meetings, member);
    bool usable = entry->timed && entry->began_ns && !entry->messages &&
                  !finding->clocks[member->rank].own_device_clock &&
                  entry->took_ns < UINT64_MAX - entry->began_ns;
    return usable ? entry->began_ns + entry->took_ns : 0;
}

/* Calls `take` for each end on a rank with an unknown clock, in meetings that also have a rank with a known
 * clock. */
static void each_pair(struct finding *finding, void (*take)(struct pairs *, struct pair))
{
    const struct meetings *meetings = finding->meetings;
    for (size_t i = 0; i < meetings->count; i++) {
        const struct meeting_member *members = &meetings->members[meetings->at[i].first];
        uint64_t first_ns = 0;
        for (uint32_t m = 0; m < meetings->at[i].count && !first_ns; m++) {
            uint64_t end = finding->known[members[m].rank] ? end_of(finding, &members[m]) : 0;
            if (end) first_ns = clock_on_first(&finding->clocks[members[m].rank], end);
        }
        for (uint32_t m = 0; m < meetings->at[i].count && first_ns; m++) {
            uint64_t end = finding->known[members[m].rank] ? 0 : end_of(finding, &members[m]);
            if (end) take(&finding->pairs[members[m].rank], (struct pair){end, first_ns});
        }
    }
}

static void count_pair(struct pairs *pairs, struct pair pair)
{
    (void)pair;
    pairs->seen++;
}

static void keep_pair(struct pairs *pairs, struct pair pair)
{
    if (pairs->seen++ % pairs->stride == 0) pairs->at[pairs->count++] = pair;
}

static int by_own(const void *a, const void *b)
{
    uint64_t x = ((const struct pair *)a)->own_ns, y = ((const struct pair *)b)->own_ns;
    return (x > y) - (x < y);
}

static bool fit(struct pairs *pairs, struct clock *clock)
{
    uint64_t *own_ns = calloc(pairs->count, sizeof(*own_ns)),
             *first_ns = calloc(pairs->count, sizeof(*first_ns));
    bool good = own_ns && first_ns;
    qsort(pairs->at, pairs->count, sizeof(*pairs->at), by_own);
    for (size_t i = 0; good && i < pairs->count; i++) {
        own_ns[i] = pairs->at[i].own_ns;
        first_ns[i] = pairs->at[i].first_ns;
    }
    good = good && clock_fit(own_ns, first_ns, pairs->count, clock);
    free(own_ns);
    free(first_ns);
    return good;
}

/* Fits the clocks of ranks that met a rank with a known clock. *more: there were some. */
static bool fit_next(struct finding *finding, bool *more)
{
    size_t ranks = finding->meetings->rank_count;
    bool good = true;
    each_pair(finding, count_pair);
    for (size_t r = 0; r < ranks && good; r++) {
        struct pairs *pairs = &finding->pairs[r];
        pairs->stride = pairs->seen / PAIRS_MOST + 1;
        if (pairs->seen) pairs->at = calloc(pairs->seen / pairs->stride + 1, sizeof(*pairs->at));
        good = !pairs->seen || pairs->at;
        pairs->seen = 0;
    }
    if (good) each_pair(finding, keep_pair);
    *more = false;
    for (size_t r = 0; r < ranks; r++) {
        struct pairs *pairs = &finding->pairs[r];
        if (good && pairs->count) good = finding->known[r] = *more = fit(pairs, &finding->clocks[r]);
        free(pairs->at);
        *pairs = (struct pairs){0};
    }
    return good;
}

/* Converts one rank's clock to the first's by their times since 1970. */
static struct clock by_realtime(const struct model *model, const struct model *first)
{
    uint64_t own = model->header.realtime_ns - model->header.monotonic_ns,
             other = first->header.realtime_ns - first->header.monotonic_ns;
    return (struct clock){.offset_ns = (double)(int64_t)(own - other), .basis = CLOCK_BY_REALTIME};
}

bool clocks_find(const struct meetings *meetings, struct clock **out)
{
    size_t ranks = meetings->rank_count;
    struct finding finding = {.meetings = meetings,
                              .clocks = calloc(ranks, sizeof(*finding.clocks)),
                              .known = calloc(ranks, sizeof(*finding.known)),
                              .pairs = calloc(ranks, sizeof(*finding.pairs))};
    bool good = finding.clocks && finding.known && finding.pairs, more = true;
    for (size_t r = 0; r < ranks && good; r++)
        finding.clocks[r].own_device_clock = has_own_device_clock(&meetings->ranks[r]);
    if (good) finding.known[0] = true;
    while (good && more) good = fit_next(&finding, &more);
    for (size_t r = 0; r < ranks && good; r++) {
        if (finding.known[r]) continue;
        bool own = finding.clocks[r].own_device_clock;
        finding.clocks[r] = by_realtime(meetings->ranks[r].model, meetings->ranks[0].model);
        finding.clocks[r].own_device_clock = own;
    }
    free(finding.known);
    free(finding.pairs);
    if (good)
        *out = finding.clocks;
    else
        free(finding.clocks);
    return good;
}
