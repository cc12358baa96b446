#include "tools/views/decisions.h"

#include <inttypes.h>

#include "trace/events.h"

static uint64_t count_of(const struct model *model, enum sl_decision decision)
{
    uint64_t count = 0;
    for (unsigned r = 0; r < MODEL_REASONS; r++) count += model->decisions[decision][r];
    return count;
}

/* "(misprediction 2, made too late 1)" */
static void print_reasons(const struct model *model, enum sl_decision decision)
{
    const char *before = " (";
    for (unsigned r = 0; r < MODEL_REASONS; r++) {
        uint64_t count = model->decisions[decision][r];
        if (!count) continue;
        printf("%s%s %" PRIu64, before, sl_decision_reason_text(decision, r), count);
        before = ", ";
    }
    if (count_of(model, decision)) putchar(')');
}

void print_decisions(const struct model *model)
{
    uint64_t begun = count_of(model, SL_DECISION_BEGIN), wrong = count_of(model, SL_DECISION_MISPREDICT);
    if (begun) {
        printf("%-20s %" PRIu64 " begun, %" PRIu64 " carried out, %" PRIu64 " discarded", "plans", begun,
               count_of(model, SL_DECISION_SWITCH), count_of(model, SL_DECISION_DISCARD));
        print_reasons(model, SL_DECISION_DISCARD);
        putchar('\n');
    }
    if (wrong) {
        printf("%-20s %" PRIu64, "mispredictions", wrong);
        print_reasons(model, SL_DECISION_MISPREDICT);
        putchar('\n');
    }
}

static void json_reasons(struct json *json, const char *key, const struct model *model,
                         enum sl_decision decision)
{
    json_object(json, key, false);
    for (unsigned r = 0; r < MODEL_REASONS; r++)
        if (model->decisions[decision][r])
            json_number(json, sl_decision_reason_text(decision, r), model->decisions[decision][r]);
    json_close(json);
}

void json_decisions(struct json *json, const struct model *model)
{
    json_object(json, "decisions", true);
    json_reasons(json, "plans_begun", model, SL_DECISION_BEGIN);
    json_number(json, "plans_carried_out", count_of(model, SL_DECISION_SWITCH));
    json_reasons(json, "plans_discarded", model, SL_DECISION_DISCARD);
    json_reasons(json, "mispredictions", model, SL_DECISION_MISPREDICT);
    json_number(json, "searches_for_victims", count_of(model, SL_DECISION_VICTIMS));
    json_close(json);
}
