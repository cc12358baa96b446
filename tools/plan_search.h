/* The configurations that `sluice plan` looks at, and what each would cost. */
#ifndef SLUICE_TOOL_PLAN_SEARCH_H
#define SLUICE_TOOL_PLAN_SEARCH_H

#include "replay.h"

enum { PLAN_LIST_MAX = 16 };

/* What is asked for: each list has one value at least. */
struct plan_wish {
    struct plan_budget {
        double share; /* of the need; 0: bytes are given */
        uint64_t bytes;
    } budgets[PLAN_LIST_MAX];
    uint64_t chunks[PLAN_LIST_MAX];
    const char *policies[PLAN_LIST_MAX];
    struct plan_link {
        uint64_t in_bytes_per_s, out_bytes_per_s;
    } links[PLAN_LIST_MAX];
    unsigned budget_count, chunk_count, policy_count, link_count;
    unsigned both_percent;
};

struct prediction {
    struct replay_setting setting;
    uint64_t need_bytes;  /* chunks of this size that the program needs */
    uint64_t resident_ns; /* a step with all of it on the device */
    struct replay_result result;
};

struct predictions {
    struct prediction *at;
    size_t count;
};

/* All combinations, by link, policy, budget, chunk size. False: what went wrong was said on stderr. */
bool predictions_make(const struct replay_program *program, const struct plan_wish *wish,
                      struct predictions *out);
void predictions_free(struct predictions *predictions);

#endif
