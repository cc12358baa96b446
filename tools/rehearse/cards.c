#include "tools/rehearse/cards.h"

#include <stdlib.h>
#include <string.h>

#include "base/options.h"

static const struct card cards[] = {
#define SC_PROFILE(...) {__VA_ARGS__},
#include "subprojects/softcuda/src/driver/profiles.def"
#undef SC_PROFILE
};
enum { CARD_COUNT = sizeof(cards) / sizeof(*cards) };

const struct card *card_find(const char *name, size_t length)
{
    for (size_t i = 0; i < CARD_COUNT; i++)
        if (strlen(cards[i].name) == length && !memcmp(cards[i].name, name, length)) return &cards[i];
    return NULL;
}

const char *card_name(size_t index)
{
    return index < CARD_COUNT ? cards[index].name : NULL;
}

uint64_t card_memory_bytes(const struct card *card)
{
    uint64_t bytes = 0;
    sl_parse_size(card->memory, &bytes);
    return bytes;
}

static uint64_t speed(const char *gbps)
{
    return (uint64_t)(strtod(gbps, NULL) * 1e9);
}

uint64_t card_link_in(const struct card *card)
{
    return speed(card->link_in_gbps);
}

uint64_t card_link_out(const struct card *card)
{
    return speed(card->link_out_gbps);
}
