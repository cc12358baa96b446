#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { WORD_MAX = 64 };

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
    unsigned m = a < b ? a : b;
    return m < c ? m : c;
}

unsigned sl_edit_distance(const char *one, const char *other)
{
    size_t n = strlen(one), m = strlen(other);
    if (n >= WORD_MAX || m >= WORD_MAX) return WORD_MAX;
    unsigned char rows[3][WORD_MAX];
    unsigned char *before = rows[0], *above = rows[1], *row = rows[2];
    for (size_t j = 0; j <= m; j++) above[j] = (unsigned char)j;
    for (size_t i = 1; i <= n; i++) {
        row[0] = (unsigned char)i;
        for (size_t j = 1; j <= m; j++) {
            int a = tolower((unsigned char)one[i - 1]), b = tolower((unsigned char)other[j - 1]);
            unsigned cost = min3(above[j] + 1u, row[j - 1] + 1u, above[j - 1] + (a != b));
            if (i > 1 && j > 1 && a == tolower((unsigned char)other[j - 2]) &&
                b == tolower((unsigned char)one[i - 2]) && before[j - 2] + 1u < cost)
                cost = before[j - 2] + 1u;
            row[j] = (unsigned char)cost;
        }
        unsigned char *oldest = before;
        before = above, above = row, row = oldest;
    }
    return above[m];
}

bool sl_is_near(const char *word, unsigned distance)
{
    size_t length = strlen(word);
    return distance <= (length < 4 ? 1 : length < 8 ? 2 : 3);
}

const char *sl_bytes_text(uint64_t bytes, char out[SL_BYTES_TEXT])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    unsigned unit = 0;
    while (unit < 6 && bytes >> (10 * (unit + 1))) unit++;
    uint64_t one = (uint64_t)1 << (10 * unit), whole = bytes >> (10 * unit), rest = bytes & (one - 1);
    if (!rest) {
        snprintf(out, SL_BYTES_TEXT, "%llu %s", (unsigned long long)whole, units[unit]);
    } else {
        /* Uses integers because printf's decimal point depends on the locale. A tie in the last digit rounds
         * to even. */
        bool two = whole < 100;
        uint64_t scale = two ? 100 : 10, size = unit < 6 ? one : one >> 10;
        uint64_t part = (unit < 6 ? rest : rest >> 10) * scale, figure = whole * scale + part / size;
        uint64_t left = part % size;
        figure += 2 * left > size || (2 * left == size && figure % 2);
        unsigned before = (unsigned)(figure / scale) % 10000, behind = (unsigned)(figure % scale);
        snprintf(out, SL_BYTES_TEXT, two ? "%u.%02u %s" : "%u.%u %s", before, behind, units[unit]);
    }
    return out;
}

/* --- text that others chose */

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
