#include "tools/text/defuse.h"

#include <stdbool.h>
#include <stddef.h>
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

void defuse_text(char *text)
{
    unsigned char *at = (unsigned char *)text;
    for (unsigned length; *at; at += length) {
        length = utf8_length(at);
        bool control = length == 1 ? *at < ' ' || *at == 0x7f : at[0] == 0xc2 && at[1] < 0xa0;
        if (length && !control) continue;
        memset(at, '?', length ? length : 1);
        if (!length) length = 1;
    }
}
