/* The plan: which chunks leave and come, and when, for a known sequence of launches.
 *
 * Pure: no clock, no lock, no I/O, no globals. The same function serves the daemon, `sluice plan` and the
 * tests. Victims are Belady's (1966: the furthest next use), which copies least. If launches then wait,
 * others are tried: copies get a price, which changes from attempt to attempt at random, and the chunk leaves
 * whose frame is free longest for the price of its copies (weighted caching). Half of the attempts prefer the
 * victims of a linear relaxation of a period (plan_relax.h). The fastest that copies hardly more is kept.
 * Chunks leave after their last use, in an order that keeps the link busy; fetches go in the order of their
 * deadlines, each as soon as a frame is free that no earlier deadline needs (Cao, Felten, Karlin, Li 1995).
 * The end of a plan cannot look ahead: carry out the first third of three periods, then plan again.
 */
#ifndef SLUICE_PLAN_H
#define SLUICE_PLAN_H

#include "base/types.h"
#include "memory/content.h"

struct sl_plan_access {
    sl_chunk chunk; /* each chunk at most once in a launch */
    uint64_t bytes; /* of it that the launch uses, which is what crosses the link in place; 0: all of it */
};

/* How far ahead chunks come. The others are for comparison; all three share everything else. */
enum sl_plan_when {
    SL_PLAN_AHEAD,     /* as early as a frame is free that no earlier deadline needs */
    SL_PLAN_NEXT,      /* at most one chunk ahead of what the launches so far need (Elixir) */
    SL_PLAN_ON_DEMAND, /* chunks leave and come when a launch needs them (PatrickStar) */
};

/* One launch of the future. Before it runs, dead chunks that it uses get new (undefined) content; after it,
 * its deaths are dead, whether it used them or not. Indices are into the arrays of the input. */
struct sl_plan_launch {
    uint32_t first_access, access_count;
    uint32_t first_death, death_count;
    uint64_t duration_ns; /* 0 when unknown: guessed from the bytes it uses */
};

struct sl_plan_input {
    sl_tick first_tick; /* of launches[0], at least 1 */
    const struct sl_plan_launch *launches;
    size_t launch_count;
    size_t believed; /* chunks come for so many of them; the rest only says which may leave. 0: for all */
    const struct sl_plan_access *accesses;
    const sl_chunk *deaths;
    size_t chunk_count;
    const uint64_t *chunk_bytes;          /* what a resident chunk occupies and a transfer moves */
    const enum sl_chunk_content *content; /* before launches[0] */
    /* For whoever carries the plan out: by launch, the stream history that it belongs to (see interleaver.h);
     * NULL: the order of the launches is certain. */
    const uint8_t *histories;
    const sl_symbol *symbols; /* for the same: what each launch is; NULL: not known */
    enum sl_plan_when when;
    /* How many other choices are tried where Belady's waits, if the durations are known. 0: none. */
    unsigned attempts;
    bool hurried; /* only the best way so far is tried */
    uint64_t budget_bytes;
    uint64_t in_bytes_per_s, out_bytes_per_s; /* each direction, while both run; not 0 */
};

/* Issue `kind` for `chunk` once launch `after` has been submitted (first_tick - 1: at once). FETCH and
 * POPULATE come in the order of their deadlines, name in `frame_from` the index of the last EVICT or
 * DISCARD that must be complete before they may start (with all earlier ones; SL_NONE: none), and serve
 * launch `deadline`; a POPULATE may come before the program has asked for the memory. For EVICT and
 * DISCARD `deadline` is that of the first action that needs the frame. */
struct sl_plan_action {
    enum sl_action_kind kind;
    sl_chunk chunk;
    sl_tick after, deadline;
    uint32_t frame_from;
};

struct sl_plan {
    struct sl_plan_action
        *actions; /* in the order to issue: by `after`; frame_from always points backwards */
    size_t action_count;
    size_t oversize_launches; /* launches whose own chunks exceed the budget: they use remotely what is not
                                 resident */
    uint64_t bytes_in, bytes_out;  /* FETCH, EVICT */
    uint64_t seconds_ns, stall_ns; /* predicted, from the durations and the link speeds */
};

/* What planning learned, to be handed to the next plan for the same program, whose launches go on where this
 * one's ended or repeat them: it goes on searching where the last one stopped. */
struct sl_plan_lessons {
    double *rows; /* by launch; the planner's own */
    struct sl_relaxation *relaxation;
    size_t launch_count;
    sl_tick first_tick;
    struct sl_way {
        double weight_of_rest, least_price; /* see plan_choose.h */
        bool fills;                         /* launches that exceed the budget get a part of what they lack */
        bool guided;                        /* the relaxation's victims are preferred */
    } best_way;
    unsigned idle;     /* plans in a row that found nothing better */
    double over_bytes; /* see plan_cost.h */
    uint64_t random;
};

/* Plans the whole input. Launches that exceed the budget by themselves keep what is resident, and get
 * of the rest what is worth its room, that of which they use most first. Every access of every other launch
 * is resident when the launch starts, and never more than budget_bytes are. `lessons`: of the plan before, or
 * zeroed, or NULL; what is learned is added to them. On SL_OK *out is set and is released with sl_plan_free.
 * SL_ERR_NO_MEMORY, SL_ERR_INVALID. Thread-safe. O(accesses log accesses) for each attempt. */
enum sl_status sl_plan_make(const struct sl_plan_input *input, struct sl_plan_lessons *lessons,
                            struct sl_plan *out);
void sl_plan_free(struct sl_plan *plan);                    /* accepts a zeroed plan */
void sl_plan_lessons_free(struct sl_plan_lessons *lessons); /* accepts zeroed ones */

#endif
