#include "launch/stale_words.h"

void sl_word_note(struct sl_word_evidence *evidence, bool live)
{
    uint8_t *count = live ? &evidence->live : &evidence->other;
    if (*count < UINT8_MAX) ++*count;
}
