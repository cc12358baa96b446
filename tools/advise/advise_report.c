#include "tools/advise/advise_report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tools/model/site_title.h"
#include "tools/plan/plan_driver.h"
#include "tools/text/json.h"
#include "tools/text/table.h"

static const char *const basis_names[] = {"fact", "simulated", "bound"};

/* What the replay repeats. */
static const char *unit(const struct situation *s)
{
    return s->job->programs[0].steps ? "step" : "iteration";
}

/* The change in per cent as it is printed; a small one is +0.0, never -0.0. */
static double change(double saved_percent)
{
    return saved_percent > -0.05 && saved_percent < 0.05 ? 0 : -saved_percent;
}

static void print_run(const struct situation *s, FILE *to)
{
    char budget[SL_BYTES_TEXT], need[SL_BYTES_TEXT], chunk[SL_BYTES_TEXT], step[TIME_TEXT],
        resident[TIME_TEXT];
    char doubtful[48] = "";
    if (situation_is_guessed(s))
        snprintf(doubtful, sizeof(doubtful), ", %.0f %% of it guessed,", s->guessed_percent);
    fprintf(to, "%s: %s takes %s%s with %s of device memory, chunks of %s and the policy %s; ",
            s->job->name.text, s->job->programs[0].steps ? "a step" : "an iteration",
            time_text(situation_step(s), step), doubtful, sl_bytes_text(s->setting.budget_bytes, budget),
            sl_bytes_text(s->setting.chunk_bytes, chunk), s->setting.policy);
    if (s->fits)
        fprintf(to, "the program needs %s, so nothing moves.\n", sl_bytes_text(s->need_bytes, need));
    else
        fprintf(to, "%s with all of its %s on the device.\n", time_text(s->resident_ns, resident),
                sl_bytes_text(s->need_bytes, need));
    fprintf(to, "%" PRIu32 " %ss of %" PRIu64 " launches in total were replayed; ", s->now.iteration_count,
            unit(s), s->launches);
    if (s->guessed)
        fprintf(to, "the times of %" PRIu64 " launches are guessed.\n", s->guessed);
    else
        fputs("all times are measured.\n", to);
    plan_tell_clock(to);
    const struct sl_sim_driver driver = replay_driver(&s->setting);
    plan_tell_driver(to, &driver);
    if (!s->job->programs[0].steps)
        fputs("No training steps were found: an iteration is what repeats, and may be several steps.\n", to);
    const char *doubt = replay_doubt(s->job->programs);
    if (doubt) fprintf(to, "%s\n", doubt);
    if (s->streams > 1)
        fprintf(
            to,
            "Launches of its %zu streams are replayed one after the other: the program may be faster than "
            "all figures.\n",
            s->streams);
}

static const char *basis_text(const struct situation *s, const struct advice *advice)
{
    if (advice->basis == ADVICE_BOUND) return "a bound, not a prediction: at most this much";
    if (s->guessed_percent > 50) return "simulated on this trace with guessed times";
    return s->guessed ? "simulated on this trace with times measured in part"
                      : "simulated on this trace with measured times";
}

static void print_gain(const struct situation *s, const struct advice *advice, FILE *to)
{
    char before[TIME_TEXT], after[TIME_TEXT], from[SL_BYTES_TEXT], into[SL_BYTES_TEXT];
    const char *separator = "   ";
    if (advice->before_ns) {
        fprintf(to, "%s%s %s -> %s, %+.1f %%", separator, unit(s), time_text(advice->before_ns, before),
                time_text(advice->after_ns, after), change(advice_percent(advice)));
        separator = "; ";
    }
    if (advice->before_bytes != advice->after_bytes) {
        fprintf(to, "%sdevice memory %s -> %s, %+.1f %%", separator,
                sl_bytes_text(advice->before_bytes, from), sl_bytes_text(advice->after_bytes, into),
                change(advice_memory_percent(advice)));
        separator = "; ";
    }
    if (advice->basis == ADVICE_SIMULATED)
        fprintf(to, "%smoved in %s %s -> %s", separator,
                s->job->programs[0].steps ? "a step" : "an iteration",
                sl_bytes_text(advice->before_moved, from), sl_bytes_text(advice->after_moved, into));
    fputc('\n', to);
}

/* The next site of a line of advice, from *at on; false: there is none. */
static bool next_site(const char **at, uint64_t *site)
{
    static const char rule[] = "site:0x";
    const char *found = strstr(*at, rule);
    if (!found) return false;
    *site = strtoull(found + sizeof(rule) - 1, (char **)at, 16);
    return true;
}

static void print_sites(struct site_titles *titles, const struct advice *advice, FILE *to)
{
    const char *at = advice->line;
    char title[SITE_TITLE];
    for (uint64_t site; next_site(&at, &site);)
        fprintf(to, "   site 0x%" PRIx64 ": %s\n", site, site_title_find(titles, site, title));
}

static void print_item(const struct situation *s, struct site_titles *titles, size_t number,
                       const struct advice *advice, FILE *to)
{
    fprintf(to, "\n%zu. %s.\n", number, advice->what);
    if (advice->line[0]) fprintf(to, "   %s\n", advice->line);
    if (advice->basis == ADVICE_FACT) return;
    print_gain(s, advice, to);
    fprintf(to, "   %s%s%s\n", basis_text(s, advice), advice->unseen ? "; not included: " : "",
            advice->unseen ? advice->unseen : "");
    if (titles) print_sites(titles, advice, to);
}

/* Why there is no advice. */
static const char *reason(const struct situation *s)
{
    if (s->fits) return "everything is on the device, and less of it would cost more than 2 % of time";
    return "no option and no other budget brings 3 % of a step";
}

void advise_print_text(const struct advise_report *report, size_t most, FILE *to)
{
    const struct advice_list *list = report->list;
    struct site_titles *titles = site_titles_new(report->situation->job->models[0]);
    print_run(report->situation, to);
    for (size_t i = 0; i < list->count && i < most; i++)
        print_item(report->situation, titles, i + 1, &list->at[i], to);
    if (!list->count) fprintf(to, "\nNothing to advise: %s.\n", reason(report->situation));
    if (list->count > most) fprintf(to, "\n%zu more: sluice advise TRACE\n", list->count - most);
    site_titles_free(titles);
}

static void print_json_sites(struct json *json, struct site_titles *titles, const struct advice *advice)
{
    const char *at = advice->line;
    char title[SITE_TITLE];
    json_array(json, "sites", false);
    for (uint64_t site; next_site(&at, &site);) {
        json_object(json, NULL, false);
        json_address(json, "site", site);
        json_text(json, "title", site_title_find(titles, site, title));
        json_close(json);
    }
    json_close(json);
}

static void print_json_item(struct json *json, struct site_titles *titles, const struct advice *advice)
{
    json_object(json, NULL, false);
    json_text(json, "kind", advice->kind);
    json_text(json, "basis", basis_names[advice->basis]);
    json_text(json, "what", advice->what);
    json_text(json, "line", advice->line);
    if (advice->before_ns) {
        json_number(json, "step_before_ns", advice->before_ns);
        json_number(json, "step_after_ns", advice->after_ns);
        json_real(json, "step_percent", change(advice_percent(advice)), 1);
    }
    if (advice->before_bytes != advice->after_bytes) {
        json_number(json, "memory_before_bytes", advice->before_bytes);
        json_number(json, "memory_after_bytes", advice->after_bytes);
        json_real(json, "memory_percent", change(advice_memory_percent(advice)), 1);
    }
    if (advice->basis == ADVICE_SIMULATED) {
        json_number(json, "moved_before_bytes", advice->before_moved);
        json_number(json, "moved_after_bytes", advice->after_moved);
    }
    json_text(json, "unseen", advice->unseen);
    if (titles) print_json_sites(json, titles, advice);
    json_close(json);
}

void advise_print_json(const struct advise_report *report, FILE *to)
{
    const struct situation *s = report->situation;
    struct site_titles *titles = site_titles_new(s->job->models[0]);
    struct json json = {.to = to};
    json_object(&json, NULL, true);
    json_bool(&json, "complete", report->complete);
    json_text(&json, "program", s->job->name.text);
    json_number(&json, "ranks", s->job->count);
    json_number(&json, "steps", s->now.iteration_count);
    json_bool(&json, "training_steps", s->job->programs[0].steps);
    json_text(&json, "doubt", replay_doubt(s->job->programs));
    json_number(&json, "launches", s->launches);
    json_number(&json, "guessed", s->guessed);
    json_number(&json, "streams", s->streams);
    json_number(&json, "budget_bytes", s->setting.budget_bytes);
    json_number(&json, "chunk_bytes", s->setting.chunk_bytes);
    json_text(&json, "policy", s->setting.policy);
    json_text(&json, "daemon", s->daemon_inline ? "inline" : "thread");
    json_number(&json, "need_bytes", s->need_bytes);
    json_number(&json, "link_in", s->setting.in_bytes_per_s);
    json_number(&json, "link_out", s->setting.out_bytes_per_s);
    const struct sl_sim_driver driver = replay_driver(&s->setting);
    plan_print_driver(&json, &driver);
    json_number(&json, "step_ns", situation_step(s));
    json_number(&json, "resident_ns", s->resident_ns);
    json_number(&json, "link_ns", s->link_ns);
    json_number(&json, "least_in_bytes", s->now.least_in_bytes);
    json_number(&json, "bytes_in", s->now.steady.bytes_in);
    json_number(&json, "bytes_out", s->now.steady.bytes_out);
    json_array(&json, "advice", true);
    for (size_t i = 0; i < report->list->count; i++) print_json_item(&json, titles, &report->list->at[i]);
    json_close(&json);
    if (!report->list->count) json_text(&json, "reason", reason(s));
    json_close(&json);
    site_titles_free(titles);
}
