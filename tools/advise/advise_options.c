/* The options other than the budget. All values are tried at once, and then the best of them together. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "tools/advise/advise_settings.h"
#include "tools/analyses/sites.h"
#include "tools/text/messages.h"

enum {
    LEAST_CHUNKS = 8, /* a chunk size is tried only if the budget is at least this many chunks */
    LARGEST_CHUNK_MIB = 64,
    CHUNKS = 6,
    MANY_ATTEMPTS = 32,
    SITES = 4,             /* allocation sites that are tried in pinned memory */
    SITE_PERCENT = 2,      /* of the memory: smaller sites are not tried */
    SITE_GAIN_PERCENT = 1, /* of a step: what a site has to bring to be combined with others */
    FLOOR_PERCENT = 94,    /* of a step, see link_is_the_floor */
    RULES = 64 * SITES,    /* bytes of SLUICE_BACKING */
    MOST_TRIALS = CHUNKS + 3 + SITES,
};

struct search {
    const struct situation *situation;
    struct trial trials[MOST_TRIALS];
    const char *kinds[MOST_TRIALS];
    size_t count;
    char rules[MOST_TRIALS][64]; /* of the sites */
};

/* The least traffic is that of the last step, and in whole chunks. It says nothing about other steps, nor
 * where launches use chunks in place, of which less may cross the link. */
bool link_is_the_floor(const struct situation *s)
{
    const struct replay_iteration *step = &s->now.steady;
    bool alike = s->now.least_in_bytes <= step->bytes_in;
    return !s->fits && alike && !step->remote_bytes_used && s->link_ns > s->resident_ns &&
           s->link_ns >= situation_step(s) / 100 * FLOOR_PERCENT;
}

static struct replay_setting *add(struct search *search, const char *kind)
{
    struct trial *trial = &search->trials[search->count];
    trial->setting = search->situation->setting;
    search->kinds[search->count++] = kind;
    return &trial->setting;
}

static void add_chunks(struct search *search)
{
    const struct replay_setting *now = &search->situation->setting;
    for (uint64_t chunk = SL_BLOCK_BYTES; chunk <= LARGEST_CHUNK_MIB * SL_MIB; chunk *= 2)
        if (chunk != now->chunk_bytes && chunk * LEAST_CHUNKS <= now->budget_bytes)
            add(search, "chunk")->chunk_bytes = chunk;
}

/* The sites with the most memory. False: an error was printed. */
static bool add_sites(struct search *search)
{
    const struct situation *s = search->situation;
    struct sites sites;
    if (s->setting.backing || s->job->count > 1) return true; /* a site has another hash in each program */
    if (!sites_find(s->job->models[0], &sites)) return failure("out of memory"), false;
    for (size_t i = 0, tried = 0; i < sites.count && tried < SITES; i++) {
        const struct site_figures *site = &sites.at[i];
        if (!site->site || site->peak_bytes < s->need_bytes / 100 * SITE_PERCENT) continue;
        char *rule = search->rules[search->count];
        snprintf(rule, sizeof(search->rules[0]), "site:0x%" PRIx64 "=pinned", site->site);
        struct replay_setting *setting = add(search, "pinned");
        setting->backing = rule;
        setting->rereads = true;
        tried++;
    }
    sites_free(&sites);
    return true;
}

/* The fastest trial of a kind; SIZE_MAX: none succeeded. */
static size_t fastest(const struct search *search, const char *kind)
{
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < search->count; i++) {
        const struct replay_result *result = &search->trials[i].result;
        if (strcmp(search->kinds[i], kind) != 0 || result->status != SL_OK || !result->steady.took_ns)
            continue;
        if (best == SIZE_MAX || result->steady.took_ns < search->trials[best].result.steady.took_ns) best = i;
    }
    return best;
}

static struct advice *note(const struct situation *s, const struct trial *trial, const char *kind,
                           struct advice_list *list)
{
    struct advice *advice = advice_add(list, kind, ADVICE_SIMULATED);
    advice->before_ns = situation_step(s);
    advice->after_ns = trial->result.steady.took_ns;
    advice->before_moved = moved_bytes(&s->now);
    advice->after_moved = moved_bytes(&trial->result);
    return advice;
}

static bool saves(const struct situation *s, const struct trial *trial, uint64_t percent)
{
    return trial->result.steady.took_ns <= situation_step(s) / 100 * (100 - percent);
}

/* --- what is said of each kind */

static void say_chunk(const struct situation *s, const struct replay_setting *setting, struct advice *advice)
{
    char size[SL_BYTES_TEXT], before[SL_BYTES_TEXT];
    snprintf(advice->what, sizeof(advice->what), "Use chunks of %s instead of %s",
             sl_bytes_text(setting->chunk_bytes, size), sl_bytes_text(s->setting.chunk_bytes, before));
    snprintf(advice->line, sizeof(advice->line), "SLUICE_CHUNK=%" PRIu64 "M", setting->chunk_bytes / SL_MIB);
}

static void say_daemon(const struct situation *s, const struct replay_setting *setting, struct advice *advice)
{
    (void)s;
    snprintf(advice->what, sizeof(advice->what),
             setting->plans_beside ? "Let threads of sluice move the data and make the plans"
                                   : "Let the launching thread move the data and make the plans");
    snprintf(advice->line, sizeof(advice->line), "SLUICE_DAEMON=%s",
             setting->plans_beside ? "thread" : "inline");
    advice->unseen = "the processor's time for plans, which inline adds to launches";
}

static void say_policy(const struct situation *s, const struct replay_setting *setting, struct advice *advice)
{
    snprintf(advice->what, sizeof(advice->what),
             "Fetch data before its predicted use, instead of the policy %s", s->setting.policy);
    snprintf(advice->line, sizeof(advice->line), "SLUICE_POLICY=%s", setting->policy);
}

static void say_attempts(const struct situation *s, const struct replay_setting *setting,
                         struct advice *advice)
{
    snprintf(advice->what, sizeof(advice->what),
             "Let the planner try %u alternatives for each plan instead of %u", setting->plan_attempts,
             s->setting.plan_attempts);
    snprintf(advice->line, sizeof(advice->line), "SLUICE_PLAN_ATTEMPTS=%u", setting->plan_attempts);
    advice->unseen = "the processor's time for this";
}

static void say_pinned(const struct situation *s, const struct replay_setting *setting, struct advice *advice)
{
    (void)s;
    snprintf(
        advice->what, sizeof(advice->what),
        "Keep the tensors of these sites (sluice trace sites) in pinned host memory, which kernels use in "
        "place");
    snprintf(advice->line, sizeof(advice->line), "SLUICE_BACKING=%s", setting->backing);
    advice->unseen = "copies that are slower beside kernels which use the link";
}

static void (*const say[])(const struct situation *, const struct replay_setting *,
                           struct advice *) = {say_chunk, say_daemon, say_policy, say_attempts, say_pinned};
static const char *const kinds[] = {"chunk", "daemon", "policy", "attempts", "pinned"};
/* Of a step: what a replay is wrong by. Plans that begin elsewhere or are sought longer differ by some per
 * cent by chance; with pinned memory by a quarter, and a step that reads it often is then longer. */
static const unsigned least_percents[] = {ADVICE_LEAST_PERCENT, 10, ADVICE_LEAST_PERCENT, 5, 30};
enum { KINDS = sizeof(kinds) / sizeof(*kinds) };

static void take_over(unsigned kind, const struct replay_setting *from, struct replay_setting *to)
{
    if (kind == 0) to->chunk_bytes = from->chunk_bytes;
    if (kind == 1) to->plans_beside = from->plans_beside;
    if (kind == 2) to->policy = from->policy;
    if (kind == 3) to->plan_attempts = from->plan_attempts;
    if (kind == 4) to->backing = from->backing, to->rereads = from->rereads;
}

/* --- combinations */

/* Pins the best site, the best two, and so on, and keeps the fastest of these. */
static bool combine_sites(struct search *search, char rules[RULES], struct trial *out)
{
    const struct situation *s = search->situation;
    uint64_t limit = situation_step(s) - situation_step(s) / 100 * SITE_GAIN_PERCENT;
    static char lists[SITES][RULES]; /* rules of the first n sites */
    struct trial trials[SITES];
    bool taken[MOST_TRIALS] = {false};
    size_t count = 0;
    out->result.status = SL_ERR_IO;
    for (; count < SITES; count++) {
        size_t best = SIZE_MAX;
        for (size_t i = 0; i < search->count; i++) {
            const struct replay_result *result = &search->trials[i].result;
            if (taken[i] || strcmp(search->kinds[i], "pinned") != 0 || result->status != SL_OK) continue;
            if (result->steady.took_ns > limit) continue;
            if (best == SIZE_MAX || result->steady.took_ns < search->trials[best].result.steady.took_ns)
                best = i;
        }
        if (best == SIZE_MAX) break;
        taken[best] = true;
        snprintf(lists[count], RULES, "%s%s%s", count ? lists[count - 1] : "", count ? "," : "",
                 search->rules[best]);
        trials[count].setting = s->setting;
        trials[count].setting.backing = lists[count];
        trials[count].setting.rereads = true;
    }
    if (!trials_run(&s->job->job, trials, count)) return false;
    for (size_t i = 0; i < count; i++)
        if (trials[i].result.status == SL_OK &&
            (out->result.status != SL_OK || trials[i].result.steady.took_ns < out->result.steady.took_ns))
            *out = trials[i];
    if (out->result.status != SL_OK) return true;
    snprintf(rules, RULES, "%s", out->setting.backing);
    out->setting.backing = rules;
    return true;
}

static void say_together(const struct advice_list *list, size_t first, struct advice *advice)
{
    size_t length = 0;
    snprintf(advice->what, sizeof(advice->what), "Set these options together");
    for (size_t i = first; i < list->count && &list->at[i] != advice; i++) {
        int more = snprintf(advice->line + length, sizeof(advice->line) - length, "%s%s", length ? " " : "",
                            list->at[i].line);
        if (more < 0 || (size_t)more >= sizeof(advice->line) - length) {
            advice->line[length] = 0; /* an option that does not fit is left out: the list has it */
            break;
        }
        length += (size_t)more;
    }
}

/* Two options or more pay: do they together, and more than the best of them? */
static bool advise_together(const struct situation *s, const struct replay_setting *setting, size_t first,
                            struct advice_list *list)
{
    struct trial trial = {.setting = *setting};
    uint64_t best = UINT64_MAX;
    if (list->count - first < 2) return true;
    if (!trials_run(&s->job->job, &trial, 1)) return false;
    for (size_t i = first; i < list->count; i++)
        if (list->at[i].after_ns < best) best = list->at[i].after_ns;
    if (trial.result.status == SL_OK && advice_pays(best, trial.result.steady.took_ns))
        say_together(list, first, note(s, &trial, "together", list));
    return true;
}

bool advise_options(const struct situation *s, struct advice_list *list)
{
    static struct search search; /* static because results are large */
    char rules[RULES];
    struct trial pinned;
    struct replay_setting together = s->setting;
    size_t first = list->count;
    if (s->fits) return true;
    search = (struct search){.situation = s};
    bool ordered = !link_is_the_floor(s), planned = !strcmp(s->setting.policy, "plan");
    add_chunks(&search);
    if (ordered) add(&search, "daemon")->plans_beside = !s->setting.plans_beside;
    if (!planned) add(&search, "policy")->policy = "plan";
    if (ordered && planned && s->setting.plan_attempts < MANY_ATTEMPTS)
        add(&search, "attempts")->plan_attempts = MANY_ATTEMPTS;
    if (!add_sites(&search) || !trials_run(&s->job->job, search.trials, search.count) ||
        !combine_sites(&search, rules, &pinned))
        return false;
    for (unsigned k = 0; k < KINDS; k++) {
        size_t best = fastest(&search, kinds[k]);
        const struct trial *trial = k == KINDS - 1 ? &pinned : best == SIZE_MAX ? NULL : &search.trials[best];
        if (!trial || trial->result.status != SL_OK || !saves(s, trial, least_percents[k])) continue;
        say[k](s, &trial->setting, note(s, trial, kinds[k], list));
        take_over(k, &trial->setting, &together);
    }
    return advise_together(s, &together, first, list);
}
