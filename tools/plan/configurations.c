#include "tools/plan/configurations.h"

#include <stdlib.h>
#include <string.h>

#include "tools/text/messages.h"

enum {
    SAME_PERCENT = 1, /* if the times of two sizes differ by less, the larger size is better: it needs fewer
                         calls */
    POINTS = 3,       /* number of budgets that are tried at once in the search for the least one */
    ROUNDS = 3,
};

void plan_default_budgets(struct plan_wish *wish)
{
    static const double shares[] = {0.8, 0.66, 0.5, 0.33, 0.25};
    wish->budget_count = 0;
    for (unsigned i = 0; i < sizeof(shares) / sizeof(*shares); i++)
        wish->budgets[wish->budget_count++] = (struct plan_budget){.share = shares[i]};
}

/* Replays the settings. *results: the results of each rank, as from replay_all; `sums`: those of the job. */
static bool replay_job(const struct replay_job *job, const struct replay_setting *settings, size_t count,
                       struct replay_result **results, struct replay_result *sums)
{
    *results = calloc(count * job->count + 1, sizeof(**results));
    if (!*results) return failure("out of memory"), false;
    if (!replay_all(job, settings, count, *results)) return false;
    for (size_t i = 0; i < count; i++) replay_sum_up(*results + i * job->count, job->count, &sums[i]);
    return true;
}

/* Replays each link and chunk size once with all data resident, to find the need and the shortest time. */
static bool run_resident(const struct replay_job *job, const struct plan_wish *wish,
                         struct replay_result *sums)
{
    size_t count = 0;
    struct replay_result *results = NULL;
    struct replay_setting *settings = calloc((size_t)PLAN_LIST_MAX * PLAN_LIST_MAX, sizeof(*settings));
    if (!settings) return failure("out of memory"), false;
    for (unsigned l = 0; l < wish->link_count; l++)
        for (unsigned c = 0; c < wish->chunk_count; c++)
            settings[count++] = (struct replay_setting){.chunk_bytes = wish->chunks[c],
                                                        .policy = "demand",
                                                        .in_bytes_per_s = wish->links[l].in_bytes_per_s,
                                                        .out_bytes_per_s = wish->links[l].out_bytes_per_s,
                                                        .driver = wish->driver,
                                                        .transfer_ns = wish->transfer_ns,
                                                        .meets_over_link = wish->links[l].meets};
    bool good = replay_job(job, settings, count, &results, sums);
    free(results);
    free(settings);
    return good;
}

/* Budgets in shares of the need are rounded to whole chunks. */
static uint64_t budget_of(const struct plan_budget *budget, uint64_t need_bytes, uint64_t chunk_bytes)
{
    uint64_t bytes = budget->bytes;
    if (budget->share > 0)
        bytes = (uint64_t)(budget->share * (double)(need_bytes / chunk_bytes)) * chunk_bytes;
    return bytes > replay_least_budget() ? bytes : replay_least_budget();
}

/* Different shares of a small need may be equal. */
static bool is_new(const struct predictions *predictions, const struct replay_setting *setting)
{
    for (size_t i = 0; i < predictions->count; i++)
        if (!memcmp(&predictions->at[i].setting, setting, sizeof(*setting))) return false;
    return true;
}

static void list(const struct plan_wish *wish, const struct replay_result *resident, struct predictions *out)
{
    for (unsigned l = 0; l < wish->link_count; l++)
        for (unsigned p = 0; p < wish->policy_count; p++)
            for (unsigned b = 0; b < wish->budget_count; b++)
                for (unsigned c = 0; c < wish->chunk_count; c++) {
                    const struct replay_result *whole = &resident[l * wish->chunk_count + c];
                    struct replay_setting setting;
                    memset(&setting, 0, sizeof(setting)); /* zeroed because settings are compared bytewise */
                    setting.budget_bytes = budget_of(&wish->budgets[b], whole->need_bytes, wish->chunks[c]);
                    setting.chunk_bytes = wish->chunks[c];
                    setting.policy = wish->policies[p];
                    setting.backing = wish->backing;
                    setting.in_bytes_per_s = wish->links[l].in_bytes_per_s;
                    setting.out_bytes_per_s = wish->links[l].out_bytes_per_s;
                    setting.driver = wish->driver;
                    setting.transfer_ns = wish->transfer_ns;
                    setting.plan_attempts = wish->plan_attempts;
                    setting.plans_beside = wish->plans_beside;
                    setting.movers = wish->movers;
                    setting.meets_over_link = wish->links[l].meets;
                    setting.find_least = wish->bound;
                    if (!is_new(out, &setting)) continue;
                    out->at[out->count++] = (struct prediction){.setting = setting,
                                                                .budget = b,
                                                                .need_bytes = whole->need_bytes,
                                                                .resident_ns = whole->steady.took_ns};
                }
}

/* The known prediction for the same setting of the same wish, or NULL. */
static const struct prediction *recall(const struct predictions *known, const struct replay_setting *setting)
{
    for (size_t i = 0; known && i < known->count; i++) {
        const struct replay_setting *other = &known->at[i].setting;
        if (other->budget_bytes == setting->budget_bytes && other->chunk_bytes == setting->chunk_bytes &&
            other->in_bytes_per_s == setting->in_bytes_per_s &&
            other->out_bytes_per_s == setting->out_bytes_per_s && !strcmp(other->policy, setting->policy))
            return &known->at[i];
    }
    return NULL;
}

/* A copy of the ranks' results; NULL: out of memory, or a single program. */
static struct replay_result *keep_ranks(const struct replay_job *job, const struct replay_result *results)
{
    struct replay_result *kept = job->count > 1 && results ? calloc(job->count, sizeof(*kept)) : NULL;
    if (kept) memcpy(kept, results, job->count * sizeof(*kept));
    return kept;
}

/* Fills in the results: from `known` (may be NULL) if it has them, otherwise by a replay. */
static bool run_listed(const struct replay_job *job, const struct predictions *known,
                       struct prediction *predictions, size_t count)
{
    struct replay_setting *settings = calloc(count + 1, sizeof(*settings));
    struct replay_result *sums = calloc(count + 1, sizeof(*sums)), *results = NULL;
    size_t replayed = 0, taken = 0;
    bool good = settings && sums;
    if (!good) failure("out of memory");
    for (size_t i = 0; good && i < count; i++)
        if (!recall(known, &predictions[i].setting)) settings[replayed++] = predictions[i].setting;
    good = good && replay_job(job, settings, replayed, &results, sums);
    for (size_t i = 0; good && i < count; i++) {
        const struct prediction *same = recall(known, &predictions[i].setting);
        predictions[i].result = same ? same->result : sums[taken];
        predictions[i].of_rank = keep_ranks(job, same ? same->of_rank : results + job->count * taken);
        taken += !same;
    }
    free(settings);
    free(results);
    free(sums);
    return good;
}

static bool is_rival(const struct prediction *a, const struct prediction *b)
{
    return a->setting.policy == b->setting.policy && a->budget == b->budget &&
           a->setting.in_bytes_per_s == b->setting.in_bytes_per_s &&
           a->setting.out_bytes_per_s == b->setting.out_bytes_per_s;
}

/* For each group of settings that differ in chunk size only: selects the largest size whose time is about as
 * short as the fastest. */
static void find_best(struct predictions *predictions)
{
    for (size_t i = 0; i < predictions->count; i++) {
        struct prediction *one = &predictions->at[i];
        uint64_t fastest_ns = UINT64_MAX, own_ns = one->result.steady.took_ns;
        one->best = one->result.status == SL_OK;
        for (size_t j = 0; j < predictions->count; j++) {
            const struct prediction *other = &predictions->at[j];
            if (is_rival(one, other) && other->result.status == SL_OK &&
                other->result.steady.took_ns < fastest_ns)
                fastest_ns = other->result.steady.took_ns;
        }
        uint64_t same_ns = fastest_ns / 100 * (100 + SAME_PERCENT);
        if (own_ns > same_ns && own_ns > fastest_ns) one->best = false;
        for (size_t j = 0; j < predictions->count && one->best; j++) {
            const struct prediction *other = &predictions->at[j];
            if (is_rival(one, other) && other->result.status == SL_OK &&
                other->setting.chunk_bytes > one->setting.chunk_bytes &&
                other->result.steady.took_ns <= same_ns)
                one->best = false;
        }
    }
}

static bool all_went_well(const struct replay_result *results, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (results[i].status == SL_OK) continue;
        failure("the replay failed: %s", sl_status_text(results[i].status));
        return false;
    }
    return true;
}

static bool is_enough(const struct prediction *one)
{
    return one->result.status == SL_OK &&
           one->result.steady.took_ns <= one->resident_ns / 100 * (100 + PLAN_TOLERANCE_PERCENT);
}

/* Among the best predictions for each budget: finds the least budget that suffices and is below the need, and
 * the largest that does not suffice. Precondition: the predictions differ in budget and chunk size only. */
static void bracket(const struct predictions *predictions, struct prediction *enough, uint64_t *too_little)
{
    *enough = predictions->at[0];
    enough->setting.budget_bytes = 0;
    for (size_t i = 0; i < predictions->count; i++) {
        const struct prediction *one = &predictions->at[i];
        if (!one->best || one->setting.budget_bytes >= one->need_bytes || !is_enough(one)) continue;
        if (!enough->setting.budget_bytes || one->setting.budget_bytes < enough->setting.budget_bytes)
            *enough = *one;
    }
    uint64_t most = enough->setting.budget_bytes ? enough->setting.budget_bytes : enough->need_bytes;
    *too_little = replay_least_budget();
    for (size_t i = 0; i < predictions->count; i++) {
        const struct prediction *one = &predictions->at[i];
        if (one->setting.budget_bytes < most && one->setting.budget_bytes > *too_little)
            *too_little = one->setting.budget_bytes;
    }
}

/* Fills in the results of one share after the other, the largest first. Ends when a budget is too little for
 * which all others are no larger, and drops those, which would take longest. Precondition: as above. */
static bool run_down(const struct replay_job *job, const struct predictions *known,
                     struct predictions *predictions)
{
    const struct prediction *at = predictions->at;
    size_t all = predictions->count, to = 0;
    struct prediction enough;
    uint64_t too_little = 0;
    bool good = true;
    for (size_t from = 0; good && from < all; from = to) {
        bool wanted = false;
        for (; to < all && at[to].budget == at[from].budget; to++)
            wanted |= at[to].setting.budget_bytes >= too_little;
        if (!wanted) break;
        good = run_listed(job, known, predictions->at + from, to - from);
        predictions->count = to;
        find_best(predictions);
        bracket(predictions, &enough, &too_little);
    }
    return good;
}

/* `search`: only as many shares as the search for the least budget needs. */
static bool predict(const struct replay_job *job, const struct plan_wish *wish,
                    const struct predictions *known, bool search, struct predictions *out)
{
    size_t resident_count = (size_t)wish->link_count * wish->chunk_count;
    size_t count = resident_count * wish->policy_count * wish->budget_count;
    struct replay_result *resident = calloc(resident_count, sizeof(*resident));
    *out = (struct predictions){.at = calloc(count, sizeof(*out->at))};
    bool good = resident && out->at;
    if (!good) failure("out of memory");
    good = good && run_resident(job, wish, resident) && all_went_well(resident, resident_count);
    if (good) list(wish, resident, out);
    if (search) {
        good = good && run_down(job, known, out);
    } else {
        good = good && run_listed(job, known, out->at, out->count);
        if (good) find_best(out);
    }
    free(resident);
    return good;
}

bool predictions_make(const struct replay_job *job, const struct plan_wish *wish, struct predictions *out)
{
    return predict(job, wish, NULL, false, out);
}

const struct prediction *predictions_fastest(const struct predictions *predictions)
{
    const struct prediction *fastest = NULL;
    for (size_t i = 0; i < predictions->count; i++) {
        const struct prediction *one = &predictions->at[i];
        if (one->result.status != SL_OK) continue;
        if (!fastest || one->result.steady.took_ns < fastest->result.steady.took_ns) fastest = one;
    }
    return fastest;
}

/* Searches between a sufficient budget, *out, and an insufficient one, `low`. */
static bool narrow(const struct replay_job *job, uint64_t low, struct prediction *out)
{
    struct prediction tried[POINTS];
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t chunk = out->setting.chunk_bytes;
        uint64_t high = out->setting.budget_bytes ? out->setting.budget_bytes : out->need_bytes;
        size_t count = 0;
        for (uint64_t i = 1; i <= POINTS && high > low; i++) {
            uint64_t budget = (low + (high - low) * i / (POINTS + 1)) / chunk * chunk;
            if (budget <= low || budget >= high || (count && tried[count - 1].setting.budget_bytes == budget))
                continue;
            tried[count] = *out;
            tried[count++].setting.budget_bytes = budget;
        }
        if (!count) break;
        if (!run_listed(job, NULL, tried, count)) return false;
        for (size_t i = 0; i < count; i++) {
            free(tried[i].of_rank);
            tried[i].of_rank = NULL;
        }
        for (size_t i = count; i-- > 0;) {
            if (!is_enough(&tried[i])) {
                low = tried[i].setting.budget_bytes;
                break;
            }
            *out = tried[i];
        }
    }
    return true;
}

bool plan_least_budget(const struct replay_job *job, const struct plan_wish *wish,
                       const struct predictions *known, struct prediction *out)
{
    struct plan_wish own = *wish;
    struct predictions shares = {0};
    uint64_t low;
    plan_default_budgets(&own);
    own.bound = false;
    own.policies[0] = "plan";
    own.policy_count = own.link_count = 1;
    bool good = predict(job, &own, known, true, &shares);
    if (good) {
        bracket(&shares, out, &low);
        out->of_rank = NULL;
        good = narrow(job, low, out);
    }
    predictions_free(&shares);
    return good;
}

void predictions_free(struct predictions *predictions)
{
    for (size_t i = 0; i < predictions->count; i++) free(predictions->at[i].of_rank);
    free(predictions->at);
    *predictions = (struct predictions){0};
}
