#include "plan/plan_parts.h"

#include <stdlib.h>

#include "base/grow.h"

/* --- victims */

#define NONE UINT32_MAX

/* The prices of the classes are powers of STEP, 1 in the middle. Prices beyond them belong to the first or
 * last class. */
#define STEP 1.18

enum sl_status sl_victims_new(size_t count, double weight, struct sl_victims *out)
{
    struct sl_victims v = {.weight = weight, .dead_first = SL_NONE, .dead_last = SL_NONE};
    v.of = malloc((count + 1) * sizeof *v.of);
    if (!v.of) return SL_ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++) v.of[i].place = NONE;
    v.price[SL_PRICE_CLASSES / 2] = 1;
    for (int c = SL_PRICE_CLASSES / 2; c > 0; c--) v.price[c - 1] = v.price[c] / STEP;
    for (int c = SL_PRICE_CLASSES / 2 + 1; c < SL_PRICE_CLASSES; c++) v.price[c] = v.price[c - 1] * STEP;
    *out = v;
    return SL_OK;
}

void sl_victims_free(struct sl_victims *v)
{
    for (int c = 0; c < SL_PRICE_CLASSES; c++) free(v->heaps[c].at);
    free(v->of);
    *v = (struct sl_victims){0};
}

/* The highest class whose price is not above `price`. Without branches, because prices differ. */
static uint32_t class_of(const struct sl_victims *v, double price)
{
    uint32_t class = 0;
    _Static_assert(SL_PRICE_CLASSES <= 64, "steps of 32 and less reach each class");
    for (uint32_t step = 32; step; step /= 2) {
        uint32_t next = class + step < SL_PRICE_CLASSES ? class + step : class;
        class = v->price[next] <= price ? next : class;
    }
    return class;
}

static bool before(const struct sl_candidate *a, const struct sl_candidate *b)
{
    return a->merit > b->merit || (a->merit == b->merit && a->chunk > b->chunk);
}

static void put(struct sl_victims *v, struct sl_victim_heap *heap, size_t at, struct sl_candidate entry)
{
    heap->at[at] = entry;
    v->of[entry.chunk].place = (uint32_t)at;
}

static void up(struct sl_victims *v, struct sl_victim_heap *heap, size_t at, struct sl_candidate entry)
{
    for (; at > 0 && before(&entry, &heap->at[(at - 1) / 2]); at = (at - 1) / 2)
        put(v, heap, at, heap->at[(at - 1) / 2]);
    put(v, heap, at, entry);
}

static void down(struct sl_victims *v, struct sl_victim_heap *heap, size_t at, struct sl_candidate entry)
{
    for (size_t child = 2 * at + 1; child < heap->count; at = child, child = 2 * at + 1) {
        if (child + 1 < heap->count && before(&heap->at[child + 1], &heap->at[child])) child++;
        if (!before(&heap->at[child], &entry)) break;
        put(v, heap, at, heap->at[child]);
    }
    put(v, heap, at, entry);
}

bool sl_victims_add(struct sl_victims *v, sl_chunk chunk, double deadline, double last, double price)
{
    if (v->of[chunk].place != NONE) return true;
    uint32_t class = class_of(v, price);
    struct sl_victim_heap *heap = &v->heaps[class];
    if (!sl_grow(&heap->at, &heap->room, heap->count, sizeof *heap->at)) return false;
    v->of[chunk].price = class;
    up(v, heap, heap->count++, (struct sl_candidate){deadline - v->weight * last, chunk});
    return true;
}

void sl_victims_remove(struct sl_victims *v, sl_chunk chunk)
{
    uint32_t place = v->of[chunk].place;
    if (place == NONE) return;
    struct sl_victim_heap *heap = &v->heaps[v->of[chunk].price];
    struct sl_candidate last = heap->at[--heap->count];
    v->of[chunk].place = NONE;
    if (place == heap->count) return;
    if (place > 0 && before(&last, &heap->at[(place - 1) / 2]))
        up(v, heap, place, last);
    else
        down(v, heap, place, last);
}

static double rank_of(const struct sl_victims *v, const struct sl_candidate *candidate, uint32_t class,
                      double now)
{
    return (candidate->merit - (1 - v->weight) * now) / v->price[class];
}

static double rank(const struct sl_victims *v, sl_chunk chunk, double now)
{
    const struct sl_victim_place *x = &v->of[chunk];
    return rank_of(v, &v->heaps[x->price].at[x->place], x->price, now);
}

sl_chunk sl_victims_best(const struct sl_victims *v, double now)
{
    sl_chunk best = SL_NONE;
    double most = 0;
    for (uint32_t c = 0; c < SL_PRICE_CLASSES; c++) {
        if (!v->heaps[c].count) continue;
        const struct sl_candidate *first = &v->heaps[c].at[0];
        double its = rank_of(v, first, c, now);
        if (best != SL_NONE && its <= most) continue;
        best = first->chunk;
        most = its;
    }
    return best;
}

void sl_victims_add_dead(struct sl_victims *v, sl_chunk chunk)
{
    v->of[chunk].prev = v->dead_last;
    v->of[chunk].next = SL_NONE;
    *(v->dead_last == SL_NONE ? &v->dead_first : &v->of[v->dead_last].next) = chunk;
    v->dead_last = chunk;
}

void sl_victims_remove_dead(struct sl_victims *v, sl_chunk chunk)
{
    const struct sl_victim_place *x = &v->of[chunk];
    *(x->prev == SL_NONE ? &v->dead_first : &v->of[x->prev].next) = x->next;
    *(x->next == SL_NONE ? &v->dead_last : &v->of[x->next].prev) = x->prev;
}

/* --- choice */

/* Simulates the launches in order: a missing chunk is requested, and while there is no room, the best victim
 * is evicted. If the window has no further use of a chunk, the window is assumed to repeat; a chunk that is
 * never used is assumed to be used one window later still. */
struct chunk {
    uint32_t moment;  /* after its last use, which may not have ended, or death so far */
    uint32_t since;   /* when it last died, or became alive without a frame */
    uint32_t release; /* its last eviction; SL_NONE: none */
    uint32_t access;  /* its last use, in the outlook */
    uint8_t content;
    bool waits; /* it is in `waiting` */
};

struct chooser {
    const struct sl_plan_input *in;
    const struct sl_outlook *outlook;
    const struct sl_choose_options *policy;
    struct sl_choice *choice;
    struct chunk *chunk;
    double *start; /* of each launch, and end of the last; 1 ns more for each, so that all differ */
    double in_share, out_share; /* parts of the link time of a byte's round trip */
    struct sl_victims victims;
    sl_chunk *waiting; /* used, but not yet among the victims: most are used again before one is needed */
    uint32_t waiting_count;
    uint64_t resident_bytes;
    bool lacks_memory;
};

/* The future of a chunk. */
struct prospect {
    uint32_t next, death; /* as in the outlook */
    uint32_t moment;      /* from which it may be evicted */
    double last;          /* time of its last use */
};

static double deadline_of(const struct chooser *c, sl_chunk chunk, const struct prospect *p)
{
    double window = c->start[c->in->launch_count];
    uint32_t first = c->outlook->first[chunk];
    /* Without prices, an earlier death does not matter: the frame becomes free soon anyway. */
    if (c->policy->prices && p->death != SL_NONE) return c->start[p->death + 1];
    if (p->next != SL_NONE) return c->start[p->next];
    return first != SL_NONE ? window + c->start[first] : 2 * window;
}

static double price(const struct chooser *c, sl_chunk chunk, const struct prospect *p)
{
    const struct sl_choose_options *policy = c->policy;
    if (!policy->prices) return 1;
    uint32_t next = p->next != SL_NONE ? p->next : c->outlook->first[chunk];
    double out = policy->least_price + policy->prices->out[p->moment];
    double in = p->death != SL_NONE || next == SL_NONE ? 0 : policy->least_price + policy->prices->in[next];
    return out * c->out_share + in * c->in_share;
}

static void may_leave(struct chooser *c, sl_chunk chunk, const struct prospect *p)
{
    bool added = sl_victims_add(&c->victims, chunk, deadline_of(c, chunk, p), p->last, price(c, chunk, p));
    c->lacks_memory |= !added;
}

/* The best live victim for launch `t`, or SL_NONE. */
static sl_chunk best_victim(struct chooser *c, uint32_t t)
{
    uint32_t count = c->waiting_count;
    c->waiting_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        sl_chunk chunk = c->waiting[i];
        struct chunk *x = &c->chunk[chunk];
        struct prospect p = {c->outlook->next[x->access], c->outlook->death[x->access], x->moment,
                             c->start[x->moment]};
        x->waits = x->moment == t + 1; /* the launch uses it */
        if (x->waits)
            c->waiting[c->waiting_count++] = chunk;
        else if (x->content == SL_CONTENT_RESIDENT)
            may_leave(c, chunk, &p);
    }
    return sl_victims_best(&c->victims, c->start[t]);
}

/* False: no chunk can be evicted. `request`: the one that needs the room. */
static bool evict_one(struct chooser *c, uint32_t launch, uint32_t request)
{
    bool alive = c->victims.dead_first == SL_NONE;
    sl_chunk victim = alive ? best_victim(c, launch) : c->victims.dead_first;
    if (victim == SL_NONE) return false;
    struct chunk *x = &c->chunk[victim];
    enum sl_action_kind kind = alive ? SL_ACTION_EVICT : SL_ACTION_DISCARD;
    if (alive)
        sl_victims_remove(&c->victims, victim);
    else
        sl_victims_remove_dead(&c->victims, victim);
    x->content = alive ? SL_CONTENT_HOST : SL_CONTENT_DEAD;
    x->release = c->choice->eviction_count;
    c->resident_bytes -= c->in->chunk_bytes[victim];
    c->choice->evictions[c->choice->eviction_count++] =
        (struct sl_eviction){victim, x->moment, launch, request, kind};
    return true;
}

/* Chunks that the launch uses are not victims; if all others were evicted, it would fit. */
static void make_room(struct chooser *c, uint64_t bytes, uint32_t launch, uint32_t request)
{
    while (c->resident_bytes + bytes > c->in->budget_bytes && evict_one(c, launch, request)) {
    }
}

static bool has_room(const struct chooser *c, sl_chunk chunk)
{
    return c->resident_bytes + c->in->chunk_bytes[chunk] <= c->in->budget_bytes;
}

/* The bytes of the chunk that the launch uses. */
static uint64_t used_bytes(const struct chooser *c, const struct sl_plan_access *use)
{
    uint64_t all = c->in->chunk_bytes[use->chunk];
    return use->bytes && use->bytes < all ? use->bytes : all;
}

/* Bytes used remotely cross the link while their launch waits. */
static bool costs_less_than_remote(struct chooser *c, uint32_t t, const struct sl_plan_access *use)
{
    const struct sl_choose_options *policy = c->policy;
    sl_chunk chunk = use->chunk;
    if (!policy->prices) return true;
    double cost = 0, remote = c->out_share;
    if (c->chunk[chunk].content == SL_CONTENT_HOST) {
        cost = c->in_share * (policy->least_price + policy->prices->in[t]);
        remote += c->in_share;
    }
    if (c->in->chunk_bytes[chunk])
        remote *= SL_IN_PLACE_COST * (double)used_bytes(c, use) / (double)c->in->chunk_bytes[chunk];
    if (has_room(c, chunk) || c->victims.dead_first != SL_NONE) return cost <= remote;
    sl_chunk victim = best_victim(c, t);
    return victim != SL_NONE && cost + c->victims.price[c->victims.of[victim].price] <= remote;
}

/* The bytes of the launch's chunks that are resident, or that are not. */
static uint64_t own_bytes(const struct chooser *c, uint32_t t, bool resident)
{
    const struct sl_plan_launch *launch = &c->in->launches[t];
    uint64_t bytes = 0;
    for (uint32_t k = 0; k < launch->access_count; k++) {
        sl_chunk chunk = c->in->accesses[launch->first_access + k].chunk;
        if ((c->chunk[chunk].content == SL_CONTENT_RESIDENT) == resident) bytes += c->in->chunk_bytes[chunk];
    }
    return bytes;
}

/* Precondition: the chunk fits if all chunks that the launch does not use are evicted. */
static void request(struct chooser *c, uint32_t t, sl_chunk chunk)
{
    struct chunk *x = &c->chunk[chunk];
    make_room(c, c->in->chunk_bytes[chunk], t, c->choice->request_count);
    if (!has_room(c, chunk)) return;
    c->choice->requests[c->choice->request_count++] =
        (struct sl_request){chunk, t, x->since, x->release, x->content == SL_CONTENT_HOST};
    x->content = SL_CONTENT_RESIDENT;
    c->resident_bytes += c->in->chunk_bytes[chunk];
}

/* Whether the launch uses the chunk in host memory: it would be evicted before all that could make room.
 * `access`: in the outlook. */
static bool stays_away(struct chooser *c, uint32_t t, sl_chunk chunk, uint32_t access)
{
    enum sl_in_place_choice choice = c->policy->in_place;
    if (choice == SL_FETCH_ALL || c->in->launches[t].in_place_cost <= 0 ||
        c->chunk[chunk].content != SL_CONTENT_HOST)
        return false;
    if (choice == SL_STAY_AWAY && (has_room(c, chunk) || c->victims.dead_first != SL_NONE)) return false;
    double now = c->start[t];
    sl_chunk victim = best_victim(c, t);
    if (victim == SL_NONE) return true;
    struct prospect p = {c->outlook->next[access], c->outlook->death[access], t + 1, c->start[t + 1]};
    return (deadline_of(c, chunk, &p) - now) / price(c, chunk, &p) >= rank(&c->victims, victim, now);
}

/* `access`: the launch's first one in the outlook. */
static void request_missing(struct chooser *c, uint32_t t, uint32_t access)
{
    const struct sl_plan_launch *launch = &c->in->launches[t];
    for (uint32_t k = 0; k < launch->access_count; k++) {
        sl_chunk chunk = c->in->accesses[launch->first_access + k].chunk;
        if (c->chunk[chunk].content != SL_CONTENT_RESIDENT && !stays_away(c, t, chunk, access + k))
            request(c, t, chunk);
    }
}

/* The eighth of the chunk's size in which the launch's share lies, from 0. */
static uint64_t eighth_of(const struct chooser *c, const struct sl_plan_access *use)
{
    uint64_t all = c->in->chunk_bytes[use->chunk];
    return all ? (8 * used_bytes(c, use) - 1) / all : 0;
}

/* For a launch beyond the budget: requests a part of its missing chunks, only those worth their room, the
 * ones of which it uses most first. */
static void request_part(struct chooser *c, uint32_t t)
{
    const struct sl_plan_launch *launch = &c->in->launches[t];
    double most = c->policy->part_of_lacking * (double)own_bytes(c, t, false);
    uint64_t own = own_bytes(c, t, true);
    for (uint64_t eighth = 8; eighth-- > 0 && most > 0;)
        for (uint32_t k = 0; k < launch->access_count; k++) {
            const struct sl_plan_access *use = &c->in->accesses[launch->first_access + k];
            uint64_t bytes = c->in->chunk_bytes[use->chunk];
            if (eighth_of(c, use) != eighth || c->chunk[use->chunk].content == SL_CONTENT_RESIDENT ||
                own + bytes > c->in->budget_bytes || !costs_less_than_remote(c, t, use))
                continue;
            most -= (double)bytes;
            if (most < 0) return;
            request(c, t, use->chunk);
            own += bytes;
        }
}

/* Makes the launch's chunks alive and unavailable as victims. Returns whether they fit the budget. */
static bool begin_launch(struct chooser *c, uint32_t t)
{
    const struct sl_plan_launch *launch = &c->in->launches[t];
    uint64_t bytes = 0;
    for (uint32_t k = 0; k < launch->access_count; k++) {
        sl_chunk chunk = c->in->accesses[launch->first_access + k].chunk;
        bytes += c->in->chunk_bytes[chunk];
        c->chunk[chunk].moment = t + 1;
        sl_victims_remove(&c->victims, chunk);
        if (c->chunk[chunk].content != SL_CONTENT_RESIDENT_DEAD) continue;
        sl_victims_remove_dead(&c->victims, chunk);
        c->chunk[chunk].content = SL_CONTENT_RESIDENT;
    }
    return bytes <= c->in->budget_bytes;
}

/* `access`: the launch's first one in the outlook. */
static void end_uses(struct chooser *c, uint32_t t, uint32_t access, bool fits)
{
    const struct sl_plan_launch *launch = &c->in->launches[t];
    struct sl_remote remote = {.launch = t, .chosen = fits};
    for (uint32_t k = 0; k < launch->access_count; k++, access++) {
        const struct sl_plan_access *use = &c->in->accesses[launch->first_access + k];
        struct chunk *x = &c->chunk[use->chunk];
        /* It is beyond the budget, or was chosen to stay away. The launch writes it in host memory. */
        if (x->content != SL_CONTENT_RESIDENT) {
            if (x->content == SL_CONTENT_HOST) remote.in_bytes += used_bytes(c, use);
            if (!use->only_read) remote.out_bytes += used_bytes(c, use);
            x->since = t + 1;
            x->content = SL_CONTENT_HOST;
            continue;
        }
        x->access = access;
        if (!x->waits) c->waiting[c->waiting_count++] = use->chunk;
        x->waits = true;
    }
    if (remote.in_bytes || remote.out_bytes) c->choice->remotes[c->choice->remote_count++] = remote;
}

static void end_lives(struct chooser *c, uint32_t t)
{
    const struct sl_plan_launch *launch = &c->in->launches[t];
    for (uint32_t k = 0; k < launch->death_count; k++) {
        sl_chunk chunk = c->in->deaths[launch->first_death + k];
        struct chunk *x = &c->chunk[chunk];
        if (x->content == SL_CONTENT_HOST) {
            x->content = SL_CONTENT_DEAD;
            x->since = t + 1;
        }
        if (x->content != SL_CONTENT_RESIDENT) continue;
        sl_victims_remove(&c->victims, chunk);
        x->content = SL_CONTENT_RESIDENT_DEAD;
        x->moment = t + 1;
        sl_victims_add_dead(&c->victims, chunk);
    }
}

static void take_stock(struct chooser *c)
{
    const struct sl_plan_input *in = c->in;
    const struct sl_outlook *o = c->outlook;
    double window = c->start[in->launch_count];
    for (uint32_t i = 0; i < in->chunk_count; i++) {
        struct chunk *x = &c->chunk[i];
        x->release = SL_NONE;
        x->content = (uint8_t)in->content[i];
        /* The last use before the window is assumed where it would be if the window repeated. */
        double last = o->last[i] == SL_NONE ? -window : c->start[o->last[i] + 1] - window;
        struct prospect p = {o->first[i], o->first_death[i], 0, last};
        if (x->content == SL_CONTENT_RESIDENT) may_leave(c, i, &p);
        if (x->content == SL_CONTENT_RESIDENT_DEAD) sl_victims_add_dead(&c->victims, i);
        if (x->content >= SL_CONTENT_RESIDENT) c->resident_bytes += in->chunk_bytes[i];
    }
    c->choice->room_bytes = (int64_t)in->budget_bytes - (int64_t)c->resident_bytes;
}

static void choose(struct chooser *c)
{
    uint32_t access = 0;
    double now = 0;
    for (size_t t = 0; t <= c->in->launch_count; t++) {
        c->start[t] = now + (double)t;
        now += t < c->in->launch_count ? c->outlook->launch_ns[t] : 0;
    }
    take_stock(c);
    make_room(c, 0, 0, SL_NONE);
    for (uint32_t t = 0; t < c->in->launch_count; access += c->in->launches[t].access_count, t++) {
        bool fits = begin_launch(c, t);
        c->choice->oversize_launches += !fits;
        if (fits)
            request_missing(c, t, access);
        else
            request_part(c, t);
        end_uses(c, t, access, fits);
        end_lives(c, t);
    }
}

enum sl_status sl_plan_choose(const struct sl_plan_input *in, const struct sl_outlook *outlook,
                              const struct sl_choose_options *policy, struct sl_choice *out)
{
    size_t accesses = outlook->access_count;
    struct sl_choice choice = {0};
    double both = (double)in->in_bytes_per_s + (double)in->out_bytes_per_s;
    struct chooser c = {.in = in,
                        .outlook = outlook,
                        .policy = policy,
                        .choice = &choice,
                        .in_share = (double)in->out_bytes_per_s / both,
                        .out_share = (double)in->in_bytes_per_s / both};
    enum sl_status status = sl_victims_new(in->chunk_count, policy->weight_of_rest, &c.victims);
    c.chunk = calloc(in->chunk_count + 1, sizeof *c.chunk);
    c.waiting = malloc((in->chunk_count + 1) * sizeof *c.waiting);
    c.start = malloc((in->launch_count + 1) * sizeof *c.start);
    choice.evictions = malloc((accesses + in->chunk_count + 1) * sizeof *choice.evictions);
    choice.requests = malloc((accesses + 1) * sizeof *choice.requests);
    choice.remotes = malloc((in->launch_count + 1) * sizeof *choice.remotes);
    if (!choice.remotes || !c.chunk || !c.waiting || !c.start || !choice.evictions || !choice.requests)
        status = SL_ERR_NO_MEMORY;
    if (status == SL_OK) choose(&c);
    if (c.lacks_memory) status = SL_ERR_NO_MEMORY;
    sl_victims_free(&c.victims);
    free(c.chunk);
    free(c.waiting);
    free(c.start);
    if (status)
        sl_choice_free(&choice);
    else
        *out = choice;
    return status;
}

/* The moment from which request `i` may start. */
static uint32_t allowed_from(const struct sl_choice *choice, uint32_t i, enum sl_plan_when when)
{
    if (when == SL_PLAN_NEXT) return i ? choice->requests[i - 1].launch : 0;
    return choice->requests[i].launch;
}

void sl_choice_hold_back(struct sl_choice *choice, enum sl_plan_when when)
{
    if (when == SL_PLAN_AHEAD) return;
    for (uint32_t i = 0; i < choice->request_count; i++) {
        uint32_t from = allowed_from(choice, i, when);
        if (choice->requests[i].moment < from) choice->requests[i].moment = from;
    }
    for (uint32_t i = 0; i < choice->eviction_count; i++) {
        uint32_t request = choice->evictions[i].request;
        uint32_t from = request == SL_NONE ? 0 : allowed_from(choice, request, when);
        if (choice->evictions[i].moment < from) choice->evictions[i].moment = from;
    }
}

void sl_choice_free(struct sl_choice *choice)
{
    free(choice->evictions);
    free(choice->requests);
    free(choice->remotes);
    *choice = (struct sl_choice){0};
}
