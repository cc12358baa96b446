#include "base/defuse.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The length in bytes of the UTF-8 character at `at`; 0: invalid. */
static unsigned utf8_length(const unsigned char *at)
{
    static const struct {
        unsigned char low, high, second_low, second_high, length;
    } forms[] = {/* Unicode 15, table 3-7 */
                 {0x00, 0x7f, 0x00, 0xff, 1}, {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
                 {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
                 {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};
    for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
        if (at[0] < forms[i].low || at[0] > forms[i].high) continue;
        if (forms[i].length > 1 && (at[1] < forms[i].second_low || at[1] > forms[i].second_high)) return 0;
        for (unsigned j = 2; j < forms[i].length; j++)
            if ((at[j] & 0xc0) != 0x80) return 0;
        return forms[i].length;
    }
    return 0;
}

static uint32_t character_at(const unsigned char *at, unsigned length)
{
    static const unsigned char leads[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t character = at[0] & leads[length];
    for (unsigned i = 1; i < length; i++) character = character << 6 | (at[i] & 0x3f);
    return character;
}

/* Control characters, separators of lines, and what makes text run in the other direction, by which a name
 * can look like another and hide what follows it. */
static bool controls(uint32_t character)
{
    static const struct {
        uint32_t first, last;
    } ranges[] = {{0x00, 0x1f},     {0x7f, 0x9f},     {0x61c, 0x61c},
                  {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069}};
    for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges); i++)
        if (character >= ranges[i].first && character <= ranges[i].last) return true;
    return false;
}

void sl_defuse(char *text)
{
    unsigned char *at = (unsigned char *)text;
    for (unsigned length; *at; at += length) {
        length = utf8_length(at);
        if (length && !controls(character_at(at, length))) continue;
        if (!length) length = 1;
        memset(at, '?', length);
    }
}
