#include "trace/events.h"

static const char *const decisions[] = {
    [SL_DECISION_BEGIN] = "plan begun",       [SL_DECISION_SWITCH] = "plan carried out",
    [SL_DECISION_DISCARD] = "plan discarded", [SL_DECISION_MISPREDICT] = "misprediction",
    [SL_DECISION_VICTIMS] = "victims",
};

static const char *const begin_reasons[] = {
    [SL_BEGIN_ANEW] = "nothing is planned",
    [SL_BEGIN_FOLLOWS] = "the present one ends",
    [SL_BEGIN_PROFILE] = "a profile predicts it",
};

static const char *const cancel_reasons[] = {
    [SL_CANCEL_MISPREDICTED] = "misprediction",  [SL_CANCEL_LACKING] = "a launch lacked a chunk",
    [SL_CANCEL_BUDGET] = "the budget shrank",    [SL_CANCEL_FORGOTTEN] = "the history was forgotten",
    [SL_CANCEL_LATE] = "made too late",          [SL_CANCEL_STREAMS] = "streams came in another order",
    [SL_CANCEL_FAILED] = "it could not be made", [SL_CANCEL_CHECK] = "a check failed",
};

static const char *const differences[] = {
    [SL_DIFFERS_KIND] = "kind",
    [SL_DIFFERS_KERNEL] = "kernel",
    [SL_DIFFERS_SHAPE] = "grid, block or bytes",
    [SL_DIFFERS_ACCESSES] = "number of accesses",
    [SL_DIFFERS_ACCESS] = "access",
    [SL_DIFFERS_SLOT] = "allocation",
    [SL_DIFFERS_ORDER] = "order of streams",
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char *text_of(const char *const *texts, size_t count, unsigned number)
{
    return number < count ? texts[number] : "?";
}

const char *sl_decision_text(unsigned decision)
{
    return text_of(decisions, COUNT(decisions), decision);
}

const char *sl_decision_reason_text(unsigned decision, unsigned reason)
{
    switch (decision) {
    case SL_DECISION_BEGIN:
        return text_of(begin_reasons, COUNT(begin_reasons), reason);
    case SL_DECISION_DISCARD:
        return text_of(cancel_reasons, COUNT(cancel_reasons), reason);
    case SL_DECISION_MISPREDICT:
        return text_of(differences, COUNT(differences), reason);
    default:
        return NULL;
    }
}
