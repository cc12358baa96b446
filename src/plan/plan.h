/* The plan: which chunks are evicted and fetched, and when, for a known sequence of launches.
 *
 * Pure: no clock, lock, I/O or globals. The same function serves the core, `sluice plan` and the tests. It
 * starts with Belady's victims (1966: the furthest next use), which need the fewest copies. If launches then
 * stall, other choices are tried: copies have prices, which change at random from attempt to attempt, and the
 * victim is the chunk whose frame becomes free longest for the price of its copies (weighted caching). The
 * fastest plan that does not copy much more is kept. Chunks are evicted after their last use, in an order
 * that keeps the link busy. Fetches are issued in the order of their deadlines, each as soon as a frame is
 * free that no earlier deadline needs (Cao, Felten, Karlin, Li 1995). A plan does not know what follows its
 * end: carry out the first third of a plan for three periods, then plan again.
 */
#ifndef SLUICE_PLAN_H
#define SLUICE_PLAN_H

#include "base/types.h"
#include "memory/content.h"

struct sl_plan_access {
    sl_chunk chunk; /* a launch lists each chunk at most once */
    uint64_t bytes; /* the part of it that the launch uses, which crosses the link if it is used in place; 0:
                       all of it */
    bool only_read; /* known not to be written by the launch */
};

/* How early chunks are moved. The last two are for comparison; everything else is the same. */
enum sl_plan_when {
    SL_PLAN_AHEAD,     /* as soon as a frame is free that no earlier deadline needs */
    SL_PLAN_NEXT,      /* at most one chunk ahead of the launches' needs (Elixir) */
    SL_PLAN_ON_DEMAND, /* when a launch needs the chunk (PatrickStar) */
};

/* A predicted launch. Before it runs, dead chunks that it uses get new (undefined) content. After it, its
 * deaths are dead, whether it used them or not. Indices are into the input's arrays. */
struct sl_plan_launch {
    uint32_t first_access, access_count;
    uint32_t first_death, death_count;
    uint64_t duration_ns; /* 0: unknown, and estimated from the bytes it uses */
    double in_place_cost; /* of what it uses in host memory, as a multiple of its time on the link; 0: that is
                             not to be chosen */
};

struct sl_plan_input {
    sl_tick first_tick; /* tick of launches[0], at least 1 */
    const struct sl_plan_launch *launches;
    size_t launch_count;
    size_t believed; /* chunks are fetched for so many launches; later ones only affect the choice of victims.
                        0: all */
    const struct sl_plan_access *accesses;
    const sl_chunk *deaths;
    size_t chunk_count;
    const uint64_t *chunk_bytes;          /* size of a resident chunk and of its transfer */
    const enum sl_chunk_content *content; /* before launches[0] */
    /* Not used for planning: stream history of each launch (interleaver.h); NULL: the order is certain. */
    const uint8_t *histories;
    const sl_symbol *symbols; /* not used for planning: symbol of each launch; NULL: unknown */
    enum sl_plan_when when;
    /* The number of other choices to try if launches stall with Belady's and durations are known; 0: none. */
    unsigned attempts;
    bool hurried;     /* tries only the best prices so far */
    bool tries_slack; /* see plan_parts.h: pays where threads move data both ways at once, and steps repeat */
    uint64_t budget_bytes;
    uint64_t in_bytes_per_s, out_bytes_per_s; /* of each direction, while both run; not 0 */
    uint64_t link_bytes_per_s;                /* of a direction, if a kernel uses it; 0: as copies */
};

/* Issue `kind` for `chunk` once launch `after` has been submitted (first_tick - 1: at once). FETCH and
 * POPULATE are for launch `deadline`, and in the order of their deadlines. `frame_from` is the index of the
 * last EVICT or DISCARD that must be done before they start, with all earlier ones; SL_NONE: none. A POPULATE
 * may precede the program's allocation. For EVICT and DISCARD, `deadline` is that of the first action that
 * needs the frame. */
struct sl_plan_action {
    enum sl_action_kind kind;
    sl_chunk chunk;
    sl_tick after, deadline;
    uint32_t frame_from;
};

struct sl_plan {
    struct sl_plan_action
        *actions; /* in the order to issue, by `after`; frame_from always points backwards */
    size_t action_count;
    uint8_t *
        in_place; /* by launch: whether it fits the budget, but uses chunks in host memory; NULL: none does */
    size_t oversize_launches;      /* launches whose own chunks exceed the budget; they use the missing ones
                                      remotely */
    uint64_t bytes_in, bytes_out;  /* by FETCH; by EVICT */
    uint64_t seconds_ns, stall_ns; /* predicted: time with stalls; stalls */
};

/* What planning learned, for the program's next plan, whose launches continue or repeat this plan's: the
 * search continues where it stopped. */
struct sl_plan_lessons {
    double *rows; /* prices by launch; private to the planner */
    size_t launch_count;
    sl_tick first_tick;
    struct sl_way {
        double weight_of_rest, least_price; /* see plan_parts.h */
        bool fills; /* launches beyond the budget get a part of their missing chunks */
    } best_way;
    double slack;      /* part of the budget; see plan_parts.h */
    bool in_place;     /* the last plan left chunks in host memory for launches that use them there */
    unsigned idle;     /* consecutive plans without an improvement */
    double over_bytes; /* see plan_parts.h */
    uint64_t random;
};

/* Plans the whole input. A launch that exceeds the budget keeps its resident chunks, and gets those missing
 * chunks that are worth their room, the ones of which it uses most first. All chunks of any other launch are
 * resident when it starts, unless it is in plan.in_place, and never more than budget_bytes are. `lessons`: of
 * the previous plan, or zeroed, or NULL; they are updated. On SL_OK release *out with sl_plan_free.
 * SL_ERR_NO_MEMORY, SL_ERR_INVALID. Thread-safe. O(accesses log accesses) for each attempt. */
enum sl_status sl_plan_make(const struct sl_plan_input *input, struct sl_plan_lessons *lessons,
                            struct sl_plan *out);
void sl_plan_free(struct sl_plan *plan);                    /* accepts a zeroed plan */
void sl_plan_lessons_free(struct sl_plan_lessons *lessons); /* accepts zeroed ones */

/* Removes the actions for launches from `end` on. The plan's predictions of time and bytes stay as they are.
 */
void sl_plan_cut(struct sl_plan *plan, sl_tick end);

/* Sets content[c] of each chunk to its content before launch `launch` of the input, if all actions are issued
 * that may be issued before the previous launch is submitted: those with `after` < first_tick + launch - 1.
 * Precondition: launch <= launch_count. */
void sl_plan_content(const struct sl_plan_input *input, const struct sl_plan *plan, size_t launch,
                     enum sl_chunk_content *content);

#endif
