#include "launch/stale_words.h"

bool sl_word_note(struct sl_word_evidence *evidence, bool live)
{
    bool stale = sl_word_is_stale(evidence);
    uint8_t *count = live ? &evidence->live : &evidence->other;
    if (*count < UINT8_MAX) ++*count;
    return sl_word_is_stale(evidence) && !stale;
}
