#include "plan_search.h"

#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "tool.h"

/* One run with everything resident for each link and chunk size: what is needed, and how fast it could be. */
static bool run_resident(const struct replay_program *program, const struct plan_wish *wish,
                         struct replay_result *results)
{
    size_t count = 0;
    struct replay_setting *settings = calloc((size_t)PLAN_LIST_MAX * PLAN_LIST_MAX, sizeof(*settings));
    if (!settings) return failure("out of memory"), false;
    for (unsigned l = 0; l < wish->link_count; l++)
        for (unsigned c = 0; c < wish->chunk_count; c++)
            settings[count++] = (struct replay_setting){.chunk_bytes = wish->chunks[c],
                                                        .policy = "demand",
                                                        .in_bytes_per_s = wish->links[l].in_bytes_per_s,
                                                        .out_bytes_per_s = wish->links[l].out_bytes_per_s,
                                                        .both_percent = wish->both_percent};
    bool good = replay_all(program, settings, count, results);
    free(settings);
    return good;
}

/* Shares are of the need, in whole chunks. */
static uint64_t budget_of(const struct plan_budget *budget, uint64_t need_bytes, uint64_t chunk_bytes)
{
    uint64_t bytes = budget->bytes;
    if (budget->share > 0)
        bytes = (uint64_t)(budget->share * (double)(need_bytes / chunk_bytes)) * chunk_bytes;
    return bytes > SL_LEAST_BUDGET ? bytes : SL_LEAST_BUDGET;
}

/* Different shares of little may be the same. */
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
                    memset(&setting, 0, sizeof(setting)); /* compared as a whole */
                    setting.budget_bytes = budget_of(&wish->budgets[b], whole->need_bytes, wish->chunks[c]);
                    setting.chunk_bytes = wish->chunks[c];
                    setting.policy = wish->policies[p];
                    setting.in_bytes_per_s = wish->links[l].in_bytes_per_s;
                    setting.out_bytes_per_s = wish->links[l].out_bytes_per_s;
                    setting.both_percent = wish->both_percent;
                    if (!is_new(out, &setting)) continue;
                    out->at[out->count++] = (struct prediction){.setting = setting,
                                                                .need_bytes = whole->need_bytes,
                                                                .resident_ns = whole->steady.took_ns};
                }
}

static bool run_listed(const struct replay_program *program, struct predictions *predictions)
{
    struct replay_setting *settings = calloc(predictions->count + 1, sizeof(*settings));
    struct replay_result *results = calloc(predictions->count + 1, sizeof(*results));
    bool good = settings && results;
    if (!good) failure("out of memory");
    for (size_t i = 0; good && i < predictions->count; i++) settings[i] = predictions->at[i].setting;
    good = good && replay_all(program, settings, predictions->count, results);
    for (size_t i = 0; good && i < predictions->count; i++) predictions->at[i].result = results[i];
    free(settings);
    free(results);
    return good;
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

bool predictions_make(const struct replay_program *program, const struct plan_wish *wish,
                      struct predictions *out)
{
    size_t resident_count = (size_t)wish->link_count * wish->chunk_count;
    size_t count = resident_count * wish->policy_count * wish->budget_count;
    struct replay_result *resident = calloc(resident_count, sizeof(*resident));
    *out = (struct predictions){.at = calloc(count, sizeof(*out->at))};
    bool good = resident && out->at;
    if (!good) failure("out of memory");
    good = good && run_resident(program, wish, resident) && all_went_well(resident, resident_count);
    if (good) list(wish, resident, out);
    good = good && run_listed(program, out);
    free(resident);
    return good;
}

void predictions_free(struct predictions *predictions)
{
    free(predictions->at);
    *predictions = (struct predictions){0};
}
