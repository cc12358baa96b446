/* What the driver says to a question that it may fail to answer. A structure, because C has no condition on
 * one: no caller can take a missing answer for yes or for no. What is not known counts as in use, and as
 * capturing; nothing is enqueued for it, and nothing that it may use is given out, discarded or freed. */
#ifndef SLUICE_ANSWER_H
#define SLUICE_ANSWER_H

#include <stdbool.h>

struct sl_answer {
    enum { SL_UNKNOWN, SL_NO, SL_YES } is;
};

static inline struct sl_answer sl_answer_of(bool yes)
{
    return (struct sl_answer){yes ? SL_YES : SL_NO};
}
static inline struct sl_answer sl_no_answer(void)
{
    return (struct sl_answer){SL_UNKNOWN};
}
static inline bool sl_is_yes(struct sl_answer answer)
{
    return answer.is == SL_YES;
}
static inline bool sl_is_no(struct sl_answer answer)
{
    return answer.is == SL_NO;
}

#endif
