#include "plan_internal.h"

#include <stdlib.h>

/* A chunk whose next use nobody knows is ranked behind all that have one in the window. With n launches:
 * n + k: used first in launch k, so if the window is what repeats that is when it is used again; 2 n: not
 * used at all. A death in between counts for nothing: the frame of a chunk that dies soon is free soon
 * anyway. */
struct chunk {
    uint32_t next;            /* while planning backwards: its next use, then kept for the first launch */
    uint32_t first;           /* the first launch that uses it */
    uint32_t moment;          /* after its last use or its death, so far */
    uint32_t since;           /* when it last died or came to life without a frame */
    uint32_t release;         /* its last release; SL_NONE */
    uint32_t place;           /* in the heap; SL_NONE */
    uint32_t prev, next_dead; /* neighbours in the list of the dead, which is in the order of their deaths */
    uint8_t content;
};

struct chooser {
    const struct sl_plan_input *in;
    struct sl_choice *choice;
    struct chunk *chunk;
    uint32_t *next_use; /* for each access */
    uint64_t *heap;     /* rank << 32 | chunk: the content-bearing resident chunks, furthest use first */
    size_t heap_count;
    uint32_t dead_first, dead_last;
    uint64_t resident_bytes;
};

static void heap_put(struct chooser *c, size_t at, uint64_t entry)
{
    c->heap[at] = entry;
    c->chunk[(uint32_t)entry].place = (uint32_t)at;
}

static void heap_up(struct chooser *c, size_t at, uint64_t entry)
{
    for (; at > 0 && c->heap[(at - 1) / 2] < entry; at = (at - 1) / 2) heap_put(c, at, c->heap[(at - 1) / 2]);
    heap_put(c, at, entry);
}

static void heap_down(struct chooser *c, size_t at, uint64_t entry)
{
    for (size_t child = 2 * at + 1; child < c->heap_count; at = child, child = 2 * at + 1) {
        if (child + 1 < c->heap_count && c->heap[child + 1] > c->heap[child]) child++;
        if (c->heap[child] <= entry) break;
        heap_put(c, at, c->heap[child]);
    }
    heap_put(c, at, entry);
}

static void heap_set(struct chooser *c, sl_chunk chunk, uint32_t rank)
{
    uint64_t entry = (uint64_t)rank << 32 | chunk;
    uint32_t place = c->chunk[chunk].place;
    if (place == SL_NONE)
        heap_up(c, c->heap_count++, entry);
    else if (entry > c->heap[place])
        heap_up(c, place, entry);
    else
        heap_down(c, place, entry);
}

static void heap_remove(struct chooser *c, sl_chunk chunk)
{
    uint32_t place = c->chunk[chunk].place;
    uint64_t last = c->heap[--c->heap_count];
    c->chunk[chunk].place = SL_NONE;
    if (place == c->heap_count) return;
    if (place > 0 && c->heap[(place - 1) / 2] < last)
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

/* Fills next_use, and the chunks' next and first. */
static void look_ahead(struct chooser *c)
{
    const struct sl_plan_input *in = c->in;
    uint32_t n = (uint32_t)in->launch_count;
    for (size_t i = 0; i < in->chunk_count; i++) c->chunk[i].next = 2 * n;
    uint32_t access = 0;
    for (uint32_t t = 0; t < n; t++) access += in->launches[t].access_count;
    for (uint32_t t = n; t-- > 0;) {
        const struct sl_plan_launch *launch = &in->launches[t];
        for (uint32_t k = launch->access_count; k-- > 0;) {
            struct chunk *x = &c->chunk[in->accesses[launch->first_access + k].chunk];
            c->next_use[--access] = x->next;
            x->next = x->first = t;
        }
    }
}

static void release_one(struct chooser *c, uint32_t launch)
{
    bool copy = c->dead_first == SL_NONE;
    sl_chunk victim = copy ? (sl_chunk)c->heap[0] : c->dead_first;
    struct chunk *x = &c->chunk[victim];
    if (copy)
        heap_remove(c, victim);
    else
        dead_remove(c, victim);
    x->content = copy ? SL_CONTENT_HOST : SL_CONTENT_DEAD;
    x->release = c->choice->release_count;
    c->resident_bytes -= c->in->chunk_bytes[victim];
    c->choice->releases[c->choice->release_count++] = (struct sl_release){victim, x->moment, launch, copy};
}

/* Chunks that the launch is about to use are never among those released: ranked by this very launch they come
 * last, and without all others they fit. */
static void make_room(struct chooser *c, uint64_t bytes, uint32_t launch)
{
    while (c->resident_bytes + bytes > c->in->budget_bytes && (c->dead_first != SL_NONE || c->heap_count))
        release_one(c, launch);
}

static void request_missing(struct chooser *c, uint32_t t)
{
    const struct sl_plan_launch *launch = &c->in->launches[t];
    for (uint32_t k = 0; k < launch->access_count; k++) {
        sl_chunk chunk = c->in->accesses[launch->first_access + k].chunk;
        struct chunk *x = &c->chunk[chunk];
        if (x->content == SL_CONTENT_RESIDENT) continue;
        make_room(c, c->in->chunk_bytes[chunk], t);
        c->choice->requests[c->choice->request_count++] =
            (struct sl_request){chunk, t, x->since, x->release, x->content == SL_CONTENT_HOST};
        x->content = SL_CONTENT_RESIDENT;
        c->resident_bytes += c->in->chunk_bytes[chunk];
    }
}

/* Before the launch: what it uses is alive and ranked by it. */
static bool begin_launch(struct chooser *c, uint32_t t)
{
    const struct sl_plan_launch *launch = &c->in->launches[t];
    uint64_t bytes = 0;
    for (uint32_t k = 0; k < launch->access_count; k++) {
        sl_chunk chunk = c->in->accesses[launch->first_access + k].chunk;
        bytes += c->in->chunk_bytes[chunk];
        if (c->chunk[chunk].content != SL_CONTENT_RESIDENT_DEAD) continue;
        dead_remove(c, chunk);
        c->chunk[chunk].content = SL_CONTENT_RESIDENT;
        heap_set(c, chunk, t);
    }
    return bytes <= c->in->budget_bytes;
}

static void end_launch(struct chooser *c, uint32_t t, const uint32_t *next_use)
{
    const struct sl_plan_launch *launch = &c->in->launches[t];
    uint32_t n = (uint32_t)c->in->launch_count;
    for (uint32_t k = 0; k < launch->access_count; k++) {
        sl_chunk chunk = c->in->accesses[launch->first_access + k].chunk;
        struct chunk *x = &c->chunk[chunk];
        /* Only a launch that exceeds the budget finds a chunk elsewhere: it writes it there. */
        if (x->content != SL_CONTENT_RESIDENT) {
            if (x->content == SL_CONTENT_DEAD) x->since = t + 1;
            x->content = SL_CONTENT_HOST;
            continue;
        }
        x->moment = t + 1;
        heap_set(c, chunk, next_use[k] == 2 * n ? n + x->first : next_use[k]);
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
    c->dead_first = c->dead_last = SL_NONE;
    for (uint32_t i = 0; i < c->in->chunk_count; i++) {
        struct chunk *x = &c->chunk[i];
        x->release = x->place = SL_NONE;
        x->content = (uint8_t)c->in->content[i];
        if (x->content == SL_CONTENT_RESIDENT) heap_set(c, i, x->next);
        if (x->content == SL_CONTENT_RESIDENT_DEAD) dead_append(c, i);
        if (x->content >= SL_CONTENT_RESIDENT) c->resident_bytes += c->in->chunk_bytes[i];
    }
    c->choice->room_bytes = (int64_t)c->in->budget_bytes - (int64_t)c->resident_bytes;
}

enum sl_status sl_plan_choose(const struct sl_plan_input *in, struct sl_choice *out)
{
    size_t accesses = 0;
    for (size_t t = 0; t < in->launch_count; t++) accesses += in->launches[t].access_count;
    struct sl_choice choice = {0};
    struct chooser c = {.in = in, .choice = &choice};
    c.chunk = calloc(in->chunk_count + 1, sizeof *c.chunk);
    c.heap = malloc((in->chunk_count + 1) * sizeof *c.heap);
    c.next_use = malloc((accesses + 1) * sizeof *c.next_use);
    choice.releases = malloc((accesses + in->chunk_count + 1) * sizeof *choice.releases);
    choice.requests = malloc((accesses + 1) * sizeof *choice.requests);
    bool complete = c.chunk && c.heap && c.next_use && choice.releases && choice.requests;
    if (complete) {
        look_ahead(&c);
        take_stock(&c);
        make_room(&c, 0, 0);
        const uint32_t *next_use = c.next_use;
        for (uint32_t t = 0; t < in->launch_count; next_use += in->launches[t].access_count, t++) {
            if (begin_launch(&c, t))
                request_missing(&c, t);
            else
                choice.oversize_launches++;
            end_launch(&c, t, next_use);
        }
    }
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

void sl_choice_free(struct sl_choice *choice)
{
    free(choice->releases);
    free(choice->requests);
    *choice = (struct sl_choice){0};
}
