#include "plan_internal.h"

#include <stdlib.h>

/* Who leaves is decided by rank, the highest first. A rank is in ns of the launches' durations, one more for
 * each launch so that even empty ones have an order. A chunk whose next use nobody knows is taken to be used
 * when the window repeats, one that is not used at all a window later. A death in between counts only if the
 * policy wants it: the frame of a chunk that dies soon is free soon anyway. */
struct chunk {
    uint32_t next;            /* while planning backwards: its next use, then kept for the first launch */
    uint32_t first, last;     /* the first and the last launch that use it */
    uint32_t moment;          /* after its last use or its death, so far */
    uint32_t since;           /* when it last died or came to life without a frame */
    uint32_t release;         /* its last release; SL_NONE */
    uint32_t place;           /* in the heap; SL_NONE */
    uint32_t prev, next_dead; /* neighbours in the list of the dead, which is in the order of their deaths */
    uint8_t content;
    bool clean;   /* the copy in host memory is good, too */
    bool written; /* in host memory, by a launch that a fetch does not wait for */
};

/* Instead of a launch, for the next use. */
enum { UNUSED = 0x7ffffffd, DIES, AGAIN };

struct candidate {
    double rank;
    sl_chunk chunk;
};

struct chooser {
    const struct sl_plan_input *in;
    const double *launch_ns;
    const struct sl_policy *policy;
    struct sl_choice *choice;
    struct chunk *chunk;
    uint32_t *next_use;     /* for each access */
    double *start;          /* of each launch, and the end of the last */
    struct candidate *heap; /* the content-bearing resident chunks, but for those in use */
    size_t heap_count;
    uint32_t dead_first, dead_last;
    uint64_t resident_bytes;
};

static double rank_of(const struct chooser *c, const struct chunk *x, uint32_t next, double last)
{
    double window = c->start[c->in->launch_count], due = 0;
    if (next == UNUSED)
        due = 2 * window;
    else if (next == DIES)
        due = 3 * window;
    else if (next == AGAIN)
        due = window + c->start[x->first];
    else
        due = c->start[next];
    return due - c->policy->weight_of_rest * last;
}

static bool before(const struct candidate *a, const struct candidate *b)
{
    return a->rank > b->rank || (a->rank == b->rank && a->chunk > b->chunk);
}

static void heap_put(struct chooser *c, size_t at, const struct candidate *entry)
{
    c->heap[at] = *entry;
    c->chunk[entry->chunk].place = (uint32_t)at;
}

static void heap_up(struct chooser *c, size_t at, struct candidate entry)
{
    for (; at > 0 && before(&entry, &c->heap[(at - 1) / 2]); at = (at - 1) / 2)
        heap_put(c, at, &c->heap[(at - 1) / 2]);
    heap_put(c, at, &entry);
}

static void heap_down(struct chooser *c, size_t at, struct candidate entry)
{
    for (size_t child = 2 * at + 1; child < c->heap_count; at = child, child = 2 * at + 1) {
        if (child + 1 < c->heap_count && before(&c->heap[child + 1], &c->heap[child])) child++;
        if (!before(&c->heap[child], &entry)) break;
        heap_put(c, at, &c->heap[child]);
    }
    heap_put(c, at, &entry);
}

static void heap_add(struct chooser *c, sl_chunk chunk, double rank)
{
    if (c->chunk[chunk].place == SL_NONE) heap_up(c, c->heap_count++, (struct candidate){rank, chunk});
}

static void heap_remove(struct chooser *c, sl_chunk chunk)
{
    uint32_t place = c->chunk[chunk].place;
    if (place == SL_NONE) return;
    struct candidate last = c->heap[--c->heap_count];
    c->chunk[chunk].place = SL_NONE;
    if (place == c->heap_count) return;
    if (place > 0 && before(&last, &c->heap[(place - 1) / 2]))
        heap_up(c, place, last);
    else
        heap_down(c, place, last);
}

static void dead_append(struct chooser *c, sl_chunk chunk)
{
    struct chunk *x = &c->chunk[chunk];
    x->prev = c->dead_last;
    x->next_dead = SL_NONE;
    *(c->dead_last == SL_NONE ? &c->dead_first : &c->chunk[c->dead_last].next_dead) = chunk;
    c->dead_last = chunk;
}

static void dead_remove(struct chooser *c, sl_chunk chunk)
{
    const struct chunk *x = &c->chunk[chunk];
    *(x->prev == SL_NONE ? &c->dead_first : &c->chunk[x->prev].next_dead) = x->next_dead;
    *(x->next_dead == SL_NONE ? &c->dead_last : &c->chunk[x->next_dead].prev) = x->prev;
}

/* Fills next_use, start, and the chunks' next, first and last. */
static void look_ahead(struct chooser *c)
{
    const struct sl_plan_input *in = c->in;
    uint32_t n = (uint32_t)in->launch_count, access = 0;
    for (size_t i = 0; i < in->chunk_count; i++) {
        c->chunk[i].next = UNUSED;
        c->chunk[i].last = SL_NONE;
    }
    c->start[0] = 0;
    for (uint32_t t = 0; t < n; t++) {
        access += in->launches[t].access_count;
        c->start[t + 1] = c->start[t] + c->launch_ns[t] + 1;
    }
    for (uint32_t t = n; t-- > 0;) {
        const struct sl_plan_launch *launch = &in->launches[t];
        for (uint32_t k = 0; k < launch->death_count && c->policy->doomed_first; k++)
            c->chunk[in->deaths[launch->first_death + k]].next = DIES;
        for (uint32_t k = launch->access_count; k-- > 0;) {
            struct chunk *x = &c->chunk[in->accesses[launch->first_access + k].chunk];
            c->next_use[--access] = x->next == UNUSED ? AGAIN : x->next;
            x->next = x->first = t;
            if (x->last == SL_NONE) x->last = t;
        }
    }
}

/* `request`: the one that needs the room. */
static void release_one(struct chooser *c, uint32_t launch, uint32_t request)
{
    bool alive = c->dead_first == SL_NONE;
    sl_chunk victim = alive ? c->heap[0].chunk : c->dead_first;
    struct chunk *x = &c->chunk[victim];
    enum sl_action_kind kind = !alive ? SL_ACTION_DROP : x->clean ? SL_ACTION_LEAVE : SL_ACTION_EVICT;
    if (alive)
        heap_remove(c, victim);
    else
        dead_remove(c, victim);
    x->content = alive ? SL_CONTENT_HOST : SL_CONTENT_DEAD;
    x->written = false;
    x->release = c->choice->release_count;
    c->resident_bytes -= c->in->chunk_bytes[victim];
    c->choice->releases[c->choice->release_count++] =
        (struct sl_release){victim, x->moment, launch, request, kind};
}

/* Chunks that the launch is about to use are not in the heap; without all others they fit. */
static void make_room(struct chooser *c, uint64_t bytes, uint32_t launch, uint32_t request)
{
    while (c->resident_bytes + bytes > c->in->budget_bytes && (c->dead_first != SL_NONE || c->heap_count))
        release_one(c, launch, request);
}

static void request_missing(struct chooser *c, uint32_t t)
{
    const struct sl_plan_launch *launch = &c->in->launches[t];
    for (uint32_t k = 0; k < launch->access_count; k++) {
        sl_chunk chunk = c->in->accesses[launch->first_access + k].chunk;
        struct chunk *x = &c->chunk[chunk];
        if (x->content == SL_CONTENT_RESIDENT) continue;
        make_room(c, c->in->chunk_bytes[chunk], t, c->choice->request_count);
        c->choice->requests[c->choice->request_count++] =
            (struct sl_request){chunk, t, x->since, x->release, x->content == SL_CONTENT_HOST};
        x->clean = c->in->clean && x->content == SL_CONTENT_HOST && !x->written;
        x->content = SL_CONTENT_RESIDENT;
        c->resident_bytes += c->in->chunk_bytes[chunk];
    }
}

/* What the launch uses is alive and cannot leave. */
static bool begin_launch(struct chooser *c, uint32_t t)
{
    const struct sl_plan_launch *launch = &c->in->launches[t];
    uint64_t bytes = 0;
    for (uint32_t k = 0; k < launch->access_count; k++) {
        sl_chunk chunk = c->in->accesses[launch->first_access + k].chunk;
        bytes += c->in->chunk_bytes[chunk];
        heap_remove(c, chunk);
        if (c->chunk[chunk].content != SL_CONTENT_RESIDENT_DEAD) continue;
        dead_remove(c, chunk);
        c->chunk[chunk].content = SL_CONTENT_RESIDENT;
        c->chunk[chunk].clean = false;
    }
    return bytes <= c->in->budget_bytes;
}

static void end_launch(struct chooser *c, uint32_t t, const uint32_t *next_use)
{
    const struct sl_plan_launch *launch = &c->in->launches[t];
    for (uint32_t k = 0; k < launch->access_count; k++) {
        sl_chunk chunk = c->in->accesses[launch->first_access + k].chunk;
        struct chunk *x = &c->chunk[chunk];
        bool writes = c->in->accesses[launch->first_access + k].flags & SL_ACCESS_WRITE;
        /* Only a launch that exceeds the budget finds a chunk elsewhere: it writes it there. */
        if (x->content != SL_CONTENT_RESIDENT) {
            if (x->content == SL_CONTENT_DEAD) x->since = t + 1;
            x->written |= writes;
            x->content = SL_CONTENT_HOST;
            continue;
        }
        x->moment = t + 1;
        if (writes) x->clean = false;
        heap_add(c, chunk, rank_of(c, x, next_use[k], c->start[t + 1]));
    }
    for (uint32_t k = 0; k < launch->death_count; k++) {
        sl_chunk chunk = c->in->deaths[launch->first_death + k];
        struct chunk *x = &c->chunk[chunk];
        if (x->content == SL_CONTENT_HOST) {
            x->content = SL_CONTENT_DEAD;
            x->since = t + 1;
        }
        if (x->content != SL_CONTENT_RESIDENT) continue;
        heap_remove(c, chunk);
        x->content = SL_CONTENT_RESIDENT_DEAD;
        x->moment = t + 1;
        dead_append(c, chunk);
    }
}

static void take_stock(struct chooser *c)
{
    double window = c->start[c->in->launch_count];
    c->dead_first = c->dead_last = SL_NONE;
    for (uint32_t i = 0; i < c->in->chunk_count; i++) {
        struct chunk *x = &c->chunk[i];
        x->release = x->place = SL_NONE;
        x->content = (uint8_t)c->in->content[i];
        x->clean = c->in->clean && c->in->clean[i];
        /* Its last use lies before the window: where it would be if the window were what repeats. */
        double last = x->last == SL_NONE ? -window : c->start[x->last + 1] - window;
        if (x->content == SL_CONTENT_RESIDENT) heap_add(c, i, rank_of(c, x, x->next, last));
        if (x->content == SL_CONTENT_RESIDENT_DEAD) dead_append(c, i);
        if (x->content >= SL_CONTENT_RESIDENT) c->resident_bytes += c->in->chunk_bytes[i];
    }
    c->choice->room_bytes = (int64_t)c->in->budget_bytes - (int64_t)c->resident_bytes;
}

enum sl_status sl_plan_choose(const struct sl_plan_input *in, const double *launch_ns,
                              const struct sl_policy *policy, struct sl_choice *out)
{
    size_t accesses = 0;
    for (size_t t = 0; t < in->launch_count; t++) accesses += in->launches[t].access_count;
    struct sl_choice choice = {0};
    struct chooser c = {.in = in, .launch_ns = launch_ns, .policy = policy, .choice = &choice};
    c.chunk = calloc(in->chunk_count + 1, sizeof *c.chunk);
    c.heap = malloc((in->chunk_count + 1) * sizeof *c.heap);
    c.next_use = malloc((accesses + 1) * sizeof *c.next_use);
    c.start = malloc((in->launch_count + 1) * sizeof *c.start);
    choice.releases = malloc((accesses + in->chunk_count + 1) * sizeof *choice.releases);
    choice.requests = malloc((accesses + 1) * sizeof *choice.requests);
    bool complete = c.chunk && c.heap && c.next_use && c.start && choice.releases && choice.requests;
    if (complete) {
        look_ahead(&c);
        take_stock(&c);
        make_room(&c, 0, 0, SL_NONE);
        const uint32_t *next_use = c.next_use;
        for (uint32_t t = 0; t < in->launch_count; next_use += in->launches[t].access_count, t++) {
            if (begin_launch(&c, t))
                request_missing(&c, t);
            else
                choice.oversize_launches++;
            end_launch(&c, t, next_use);
        }
    }
    free(c.start);
    free(c.next_use);
    free(c.heap);
    free(c.chunk);
    if (!complete) {
        sl_choice_free(&choice);
        return SL_ERR_NO_MEMORY;
    }
    *out = choice;
    return SL_OK;
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
    for (uint32_t i = 0; i < choice->release_count; i++) {
        uint32_t request = choice->releases[i].request;
        uint32_t from = request == SL_NONE ? 0 : allowed_from(choice, request, when);
        if (choice->releases[i].moment < from) choice->releases[i].moment = from;
    }
}

void sl_choice_free(struct sl_choice *choice)
{
    free(choice->releases);
    free(choice->requests);
    *choice = (struct sl_choice){0};
}
