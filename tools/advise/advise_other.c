#include "tools/advise/advise_other.h"

#include <stdio.h>

#include "tools/advise/command_words.h"
#include "tools/analyses/info.h"
#include "tools/text/messages.h"

enum { SAME_INPUT_PERCENT = 1 };

/* Whether a step of the other run has another amount of input, as with another batch size. */
static bool is_other_batch(const struct step_profile *own, const struct step_profile *other)
{
    uint64_t a = own->input_bytes, b = other->input_bytes, more = a > b ? a - b : b - a;
    return a && b && more > a / 100 * SAME_INPUT_PERCENT && more;
}

bool advise_other(const struct situation *s, const struct step_profile *profile, const struct plan_job *other,
                  struct advice_list *list)
{
    struct trial trial = {.setting = s->setting};
    struct step_profile its;
    char words[ADVICE_TEXT / 2];
    if (!step_profile_find(&other->programs[0], &its) || !trials_run(&other->job, &trial, 1)) return false;
    if (trial.result.status != SL_OK)
        return failure("%s: the replay failed: %s", other->paths[0], sl_status_text(trial.result.status)),
               false;
    const char *own_command = model_metadata(s->job->models[0], "command"),
               *its_command = model_metadata(other->models[0], "command");
    other_words(own_command ? own_command : "", its_command ? its_command : "", words, sizeof(words));
    bool batch = is_other_batch(profile, &its);
    uint64_t after_ns = trial.result.steady.took_ns;
    if (batch)
        after_ns = (uint64_t)((double)after_ns * (double)profile->input_bytes / (double)its.input_bytes);
    struct advice *advice = advice_add(list, "other", ADVICE_SIMULATED);
    advice->before_ns = situation_step(s);
    advice->after_ns = after_ns;
    advice->before_bytes = s->need_bytes;
    advice->after_bytes = trial.result.need_bytes;
    advice->before_moved = moved_bytes(&s->now);
    advice->after_moved = moved_bytes(&trial.result);
    bool pays = advice_pays(advice->before_ns, after_ns);
    snprintf(advice->what, sizeof(advice->what), "%s %s%s", pays ? "Run it as in" : "Do not run it as in",
             other->paths[0],
             batch ? "; the time is that for as much input as a step has now" : ", with the same budget");
    snprintf(advice->line, sizeof(advice->line), "%s",
             words[0] ? words : "what differs is not in the command line");
    return true;
}
