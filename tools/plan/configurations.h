/* The configurations of `sluice plan`, and their predicted costs. */
#ifndef SLUICE_TOOL_CONFIGURATIONS_H
#define SLUICE_TOOL_CONFIGURATIONS_H

#include "tools/replay/replay.h"

enum {
    PLAN_LIST_MAX = 16,
    PLAN_TOLERANCE_PERCENT = 5, /* accepted slowdown of a step with the least budget */
};

/* The requested configurations: each list has at least one value, except `chunks`, which is empty if the
 * sizes are to be searched. */
struct plan_wish {
    struct plan_budget {
        double share; /* of the need; 0: the budget is in bytes */
        uint64_t bytes;
    } budgets[PLAN_LIST_MAX];
    uint64_t chunks[PLAN_LIST_MAX];
    const char *policies[PLAN_LIST_MAX];
    struct plan_link {
        uint64_t in_bytes_per_s, out_bytes_per_s;
        bool meets;                /* see struct replay_setting */
    } links[PLAN_LIST_MAX], given; /* given: speeds for all links; 0: none */
    unsigned budget_count, chunk_count, policy_count, link_count;
    struct sl_sim_driver driver;
    bool as_measured; /* `driver` is for traces that say nothing */
    uint64_t transfer_ns;
    unsigned plan_attempts;
    const char *backing; /* see struct replay_setting */
    bool plans_beside;   /* the same */
    unsigned movers;     /* the same */
    bool bound;          /* the least traffic of each prediction is sought, but not of plan_least_budget */
};

struct prediction {
    struct replay_setting setting;
    unsigned budget; /* index in the wish */
    uint64_t
        need_bytes; /* bytes of chunks of this size that the program needs, on the rank that needs most */
    uint64_t resident_ns; /* a step with all of it on the device */
    bool best;            /* no other chunk size is faster with this budget, policy and link */
    struct replay_result result;
    struct replay_result *of_rank; /* of several ranks, which `result` sums up; else NULL */
};

struct predictions {
    struct prediction *at;
    size_t count;
};

/* The candidate chunk sizes, including `recorded` if it is valid. PatrickStar also searches all of them. */
void plan_seek_chunks(struct plan_wish *wish, uint64_t peak_bytes, uint64_t recorded);

/* The default budgets, as shares of the need. */
void plan_default_budgets(struct plan_wish *wish);

/* All combinations, by link, policy, budget and chunk size. False: an error was printed on stderr. */
bool predictions_make(const struct replay_job *job, const struct plan_wish *wish, struct predictions *out);
void predictions_free(struct predictions *predictions);

/* The successful prediction with the shortest step; NULL: none. */
const struct prediction *predictions_fastest(const struct predictions *predictions);

/* Elixir's question: the least budget with which a step takes at most PLAN_TOLERANCE_PERCENT longer than with
 * all data on the device, for the policy `plan` and the first link. The budgets and policies of the wish do
 * not matter: shares of the need are tried from the largest one down, until one is too little. `known`:
 * predictions that are not replayed again. False: an error was printed on stderr. out->of_rank is NULL.
 * out->setting.budget_bytes is 0 if nothing less than the whole need suffices. */
bool plan_least_budget(const struct replay_job *job, const struct plan_wish *wish,
                       const struct predictions *known, struct prediction *out);

#endif
