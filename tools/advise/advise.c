#include "tools/advise/advise.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "tools/advise/advise_other.h"
#include "tools/advise/advise_program.h"
#include "tools/advise/advise_settings.h"

/* What the rest depends on, or is limited by. */
static void add_facts(const struct situation *s, struct advice_list *list)
{
    if (situation_is_guessed(s)) {
        struct advice *advice = advice_add(list, "record", ADVICE_FACT);
        snprintf(
            advice->what, sizeof(advice->what),
            "Record again with measured times: those of %llu of %llu launches are guessed, %.0f %% of the "
            "time, and with them all figures below",
            (unsigned long long)s->guessed, (unsigned long long)s->launches, s->guessed_percent);
        snprintf(advice->line, sizeof(advice->line), "SLUICE_TRACE_SAMPLE=16");
    }
    if (link_is_the_floor(s)) {
        struct advice *advice = advice_add(list, "link", ADVICE_FACT);
        char least[SL_BYTES_TEXT];
        snprintf(advice->what, sizeof(advice->what),
                 "The link is the floor: with this budget and these chunks at least %s have to come in every "
                 "step, so no order of movements helps, only less data, more memory or a faster link",
                 sl_bytes_text(s->now.least_in_bytes, least));
    }
}

bool advise_find(const struct plan_job *job, const struct situation_wish *wish, const struct plan_job *other,
                 struct situation *situation, struct advice_list *list)
{
    struct step_profile profile;
    *list = (struct advice_list){0};
    if (!situation_find(job, wish, situation) || !step_profile_find(&job->programs[0], &profile))
        return false;
    add_facts(situation, list);
    if (!advise_budgets(situation, list) || !advise_options(situation, list)) return false;
    advise_program(situation, &profile, list);
    if (other && !advise_other(situation, &profile, other, list)) return false;
    advice_rank(list);
    return true;
}
