/* The configurations that `sluice plan` looks at, and what each would cost. */
#ifndef SLUICE_TOOL_CONFIGURATIONS_H
#define SLUICE_TOOL_CONFIGURATIONS_H

#include "tools/replay/replay.h"

enum {
    PLAN_LIST_MAX = 16,
    PLAN_TOLERANCE_PERCENT = 5, /* that a step may take longer with the least budget that is worth having */
};

/* What is asked for: each list has one value at least, but for `chunks`: none means that they are sought. */
struct plan_wish {
    struct plan_budget {
        double share; /* of the need; 0: bytes are given */
        uint64_t bytes;
    } budgets[PLAN_LIST_MAX];
    uint64_t chunks[PLAN_LIST_MAX];
    const char *policies[PLAN_LIST_MAX];
    struct plan_link {
        uint64_t in_bytes_per_s, out_bytes_per_s;
        bool meets; /* see struct replay_setting */
    } links[PLAN_LIST_MAX];
    unsigned budget_count, chunk_count, policy_count, link_count;
    unsigned both_percent;
    uint64_t transfer_ns;
    unsigned plan_attempts;
    const char *backing; /* see struct replay_setting */
    bool plans_beside; /* the same */
};

struct prediction {
    struct replay_setting setting;
    unsigned budget;      /* in the wish */
    uint64_t need_bytes;  /* chunks of this size that the program needs, on the rank that needs most */
    uint64_t resident_ns; /* a step with all of it on the device */
    bool best;            /* no other chunk size is faster with this budget, policy and link */
    struct replay_result result;
    struct replay_result *of_rank; /* where there are several, which `result` sums up; else NULL */
};

struct predictions {
    struct prediction *at;
    size_t count;
};

/* The sizes that are worth a try, and `recorded` among them if it is one: PatrickStar's search goes through
 * all of them as well. */
void plan_seek_chunks(struct plan_wish *wish, uint64_t peak_bytes, uint64_t recorded);

/* The shares of the need that are looked at where no budget is asked for. */
void plan_default_budgets(struct plan_wish *wish);

/* All combinations, by link, policy, budget, chunk size. False: what went wrong was said on stderr. */
bool predictions_make(const struct replay_job *job, const struct plan_wish *wish, struct predictions *out);
void predictions_free(struct predictions *predictions);

/* The one with the shortest step, of those that went well; NULL: there is none. */
const struct prediction *predictions_fastest(const struct predictions *predictions);

/* Elixir's question: the least budget with which a step takes at most PLAN_TOLERANCE_PERCENT longer than with
 * all on the device, under the policy `plan` and with the first link. The budgets and policies of the wish
 * make no difference. `known`: what was predicted so far is not replayed again. False: something went wrong,
 * which was said on stderr. out->of_rank is NULL. (*out)->setting.budget_bytes is 0 where nothing but the
 * whole need is enough. */
bool plan_least_budget(const struct replay_job *job, const struct plan_wish *wish,
                       const struct predictions *known, struct prediction *out);

#endif
